"""One request on its way through a service: what is asked, what its sender may do, what the ledger will say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from ...edm import Ticks
from ..account import Engine
from ..faults import Asked, Fault
from ..resources import AccessPolicy, ServiceProperties
from .address import Address
from .message import Request
from .permissions import Need, Owner, Permit
from .supported import Support


class Settings(Protocol):
    """What the state of every service keeps beside its content."""

    def get_policies(self, name: str, /) -> Sequence[AccessPolicy]:
        """Return the stored access policies of a table, a queue or a container."""
        ...

    def set_policies(self, name: str, policies: Sequence[AccessPolicy], /) -> None:
        """Replace the stored access policies of a table, a queue or a container."""

    def get_service_properties(self) -> ServiceProperties:
        """Return the properties of the service."""
        ...

    def set_service_properties(self, properties: ServiceProperties, /) -> None:
        """Replace the properties of the service."""


class Stopped(Exception):
    """A request that meets its fault before it is carried out."""


class Notes:
    """What the operations leave for the ledger; its fields are those of `ledger.Record`.

    :param fault: what becomes of the request besides
    :param reached: whether it came as far as the state
    """

    __slots__ = (
        "error",
        "examined",
        "fault",
        "operation",
        "partition",
        "query_class",
        "reached",
        "returned",
        "table",
        "written",
    )

    def __init__(self) -> None:
        self.operation = "Unknown"
        self.table = ""
        self.partition: str | None = None
        self.query_class: str | None = None
        self.examined = 0
        self.returned = 0
        self.written = 0
        self.error: str | None = None
        self.fault: Fault | None = None
        self.reached = False


class Call(ABC):
    """A request, and what becomes known of it on the way.

    :param permit: what its sender may do, once that is known
    :param now: when it came; every moment in its answer is this one
    """

    __slots__ = ("engine", "id", "method", "notes", "now", "permit", "request")

    service: ClassVar[str]
    """The service as the names of its operations spell it."""
    support: ClassVar[Mapping[str, Support]]
    """What each operation does about conditions and options, by its name."""

    def __init__(self, engine: Engine, request: Request, id: str, now: Ticks) -> None:  # noqa: A002
        self.engine = engine
        self.request = request
        self.id = id
        self.now = now
        self.method = request.method
        self.permit: Permit = Owner()
        self.notes = Notes()

    @abstractmethod
    def locate(self) -> None:
        """Read the URL; before that the request is about nothing.

        :raises ServiceError: InvalidUri and whatever else is wrong with it
        """

    @property
    @abstractmethod
    def address(self) -> Address:
        """Where it came in."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What its URL names: with the verb this tells the operation."""

    @property
    @abstractmethod
    def resource(self) -> str:
        """The table, the queue or the container that it is about, "" where it is about none."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The state of the service."""

    def begin(self, operation: str, need: Need) -> None:
        """Note the operation, and reject it unless the sender may carry it out here, and the engine can.

        :raises ServiceError: one of the codes that begin with Authorization; NotImplemented
        """
        self.notes.operation = operation
        self.allow(need)
        self.check_support(operation)

    def check_support(self, operation: str) -> None:
        """Reject a request with a condition or an option that the operation would have to ignore.

        :raises ServiceError: NotImplemented
        """
        self.support[operation].check(self.request.headers, self.address.query)

    def allow(self, need: Need) -> None:
        """Refuse the operation unless the sender may carry it out on this resource.

        :raises ServiceError: one of the codes that begin with Authorization
        """
        self.permit.check(need, self.resource)

    @property
    def asked(self) -> Asked:
        """What it asks, as far as that is known."""
        notes = self.notes
        return Asked(self.service.lower(), notes.operation, notes.table, notes.partition)

    def reach_state(self) -> None:
        """Let the account's targets and faults decide what becomes of the request, the first time it is called.

        Whatever gives an operation the state calls this before, so no operation can miss it. What the request asks
        must be in the notes by then.

        :raises Stopped: it is not carried out
        """
        notes = self.notes
        if notes.reached:
            return
        notes.reached = True
        asked, targets = self.asked, self.engine.targets
        over = targets.meet(asked, self.engine.clock) if targets else None
        notes.fault = over or self.engine.faults.meet(asked)
        if notes.fault and not notes.fault.carried_out:
            raise Stopped
