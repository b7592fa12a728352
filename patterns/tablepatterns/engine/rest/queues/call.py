"""One request on its way through the Queue service."""

from __future__ import annotations

from ....edm import Ticks
from ...account import Engine
from ...queues import Queues
from ..address import Address
from ..call import Call
from ..message import Request
from ..supported import QUEUE_SUPPORT
from .routing import UNKNOWN, locate


class QueueCall(Call):
    """A request to the Queue service.

    :param target: what it is about, once its URL is read
    """

    __slots__ = ("target",)

    service = "Queue"
    support = QUEUE_SUPPORT

    def __init__(self, engine: Engine, request: Request, id: str, now: Ticks) -> None:  # noqa: A002
        super().__init__(engine, request, id, now)
        self.target = UNKNOWN

    def locate(self) -> None:
        """Read the URL."""
        self.target = locate(self.request.url, self.engine.account_name)

    @property
    def address(self) -> Address:
        """Where it came in."""
        return self.target.address

    @property
    def kind(self) -> str:
        """What its URL names."""
        return self.target.kind

    @property
    def resource(self) -> str:
        """The queue that it is about."""
        return self.target.queue

    @property
    def queues(self) -> Queues:
        """The state that the operations work on."""
        self.reach_state()
        return self.engine.queues

    @property
    def settings(self) -> Queues:
        """The state of the service."""
        return self.queues
