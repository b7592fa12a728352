"""One request on its way through the Table service."""

from __future__ import annotations

from typing import Final

from ...edm import Ticks
from ..account import Engine
from ..tables import Tables
from .address import Address
from .call import Call
from .formats import Level, negotiate
from .message import Request
from .render import Renderer
from .routing import UNKNOWN, Target, locate
from .supported import TABLE_SUPPORT

_TUNNELLED: Final = frozenset({"MERGE", "PATCH", "PUT", "DELETE"})


class TableCall(Call):
    """A request to the Table service.

    :param target: what it is about, once its URL is read
    """

    __slots__ = ("target",)

    service = "Table"
    support = TABLE_SUPPORT

    def __init__(self, engine: Engine, request: Request, id: str, now: Ticks) -> None:  # noqa: A002
        super().__init__(engine, request, id, now)
        self.method = verb(request.method, request.headers.get("x-http-method"))
        self.target = UNKNOWN

    def locate(self) -> None:
        """Read the URL."""
        self.target = locate(self.request.url, self.engine.account_name)

    def inner(self, request: Request, target: Target) -> TableCall:
        """Return the call of a request inside this one; it has the same sender and leaves its notes here."""
        call = TableCall(self.engine, request, self.id, self.now)
        call.target = target
        call.permit = self.permit
        call.notes = self.notes
        return call

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
        """The table that it is about."""
        return self.target.table

    @property
    def tables(self) -> Tables:
        """The state that the operations work on."""
        self.reach_state()
        return self.engine.tables

    @property
    def settings(self) -> Tables:
        """The state of the service."""
        return self.tables

    @property
    def level(self) -> Level:
        """The JSON format of the answer.

        :raises Refusal: AtomFormatNotSupported where the client asks for another
        """
        return negotiate(self.request.headers.get("accept", ""), self.target.query.get("$format"))

    def renderer(self, table: str) -> Renderer:
        """Return what writes the answer about a table, or about the list of them, which is called `Tables`.

        :raises Refusal: AtomFormatNotSupported where the client asks for another format
        """
        return Renderer(self.engine.account_name, self.address.base, table, self.level)


def verb(method: str, tunnelled: str | None) -> str:
    """Return the verb that a request means: POST may carry another in the header `X-HTTP-Method`."""
    meant = (tunnelled or "").upper()
    return meant if method == "POST" and meant in _TUNNELLED else method
