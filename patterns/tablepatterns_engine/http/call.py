"""One request to a service: its target, what the sender may do, and what the ledger records about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from tablepatterns.edm import Ticks

from ..clock import Clock
from ..faults import Fault, Faults, RequestInfo
from ..ledger import Ledger
from ..resources import Settings
from ..targets import Targets
from .address import UNKNOWN, Address
from .message import Request
from .permissions import Need, Owner, Permit
from .supported import Support


class AccountContext:
    """An account's name and key, its clock, ledger, faults and scalability targets; not its services."""

    def __init__(self, name: str, key: str, clock: Clock, targets: Targets | None) -> None:
        self.account_name = name
        self.account_key = key
        self.clock = clock
        self.ledger = Ledger()
        self.faults = Faults()
        self.targets = targets


class Stopped(Exception):
    """A fault ends the request before it is executed."""


class Notes:
    """What the operations record for the ledger; the fields are those of `ledger.Record`."""

    operation: str = "Unknown"
    table: str = ""
    partition: str | None = None
    query_class: str | None = None
    examined: int = 0
    returned: int = 0
    written: int = 0
    error: str | None = None
    fault: Fault | None = None
    """What happens to the request or to its response, other than what the operation does."""
    reached: bool = False
    """Whether the request has reached the state."""


StateT = TypeVar("StateT", bound=Settings)

_OWNER: Final = Owner()


class Call(ABC, Generic[StateT]):
    """A request while it is being processed.

    :param settings: the state of the service; operations read it as `state`
    :param now: when the request arrived; every timestamp in its response is this one

    :ivar target: its target; before `locate`, an unknown one
    :ivar permit: what the sender may do, known after authentication
    """

    __slots__ = ("authorize", "context", "id", "method", "notes", "now", "permit", "request", "settings", "target")

    service: ClassVar[str]
    """The service, spelled as in the names of its operations."""
    support: ClassVar[Mapping[str, Support]]
    """The conditions and options that each operation supports, by its name."""

    def __init__(
        self,
        context: AccountContext,
        settings: StateT,
        request: Request,
        id: str,  # noqa: A002
        now: Ticks,
        authorize: Callable[[AnyCall], Permit],
    ) -> None:
        self.context = context
        self.settings = settings
        self.request = request
        self.id = id
        self.now = now
        self.authorize = authorize
        self.target = UNKNOWN
        self.method = request.method
        self.permit: Permit = _OWNER
        self.notes = Notes()

    @abstractmethod
    def locate(self) -> None:
        """Parse the URL and set the target."""

    @property
    def default_version(self) -> str:
        """The version that is assumed for a request without one."""
        return "2019-02-02"

    @property
    def version(self) -> str:
        return self.request.headers.get("x-ms-version") or self.default_version

    @property
    def address(self) -> Address:
        return self.target.address

    @property
    def kind(self) -> str:
        return self.target.kind

    @property
    def resource(self) -> str:
        return self.target.resource

    @property
    def state(self) -> StateT:
        """The state of the service; the first access applies scalability targets and faults.

        The operation and what it works on must be noted before that.
        """
        self.reach_state()
        return self.settings

    def begin(self, operation: str, need: Need) -> None:
        """Note the operation, and check that the sender may execute it and that the engine supports the request."""
        self.notes.operation = operation
        self.allow(need)
        self.check_support(operation)

    def check_support(self, operation: str) -> None:
        """Reject a condition or an option that the operation would have to ignore."""
        self.support[operation].check(self.request.headers, self.target.address.query)

    def allow(self, need: Need) -> None:
        self.permit.check(need, self.target.resource)

    @property
    def info(self) -> RequestInfo:
        notes = self.notes
        return RequestInfo(self.service.lower(), notes.operation, notes.table, notes.partition)

    def reach_state(self) -> None:
        """Apply the account's scalability targets and faults, once per request."""
        notes = self.notes
        if notes.reached:
            return
        notes.reached = True
        targets, faults = self.context.targets, self.context.faults
        if targets is None and not faults.rules:
            return
        info = self.info
        over = targets.admit(info, self.context.clock) if targets else None
        notes.fault = over or faults.match(info)
        if notes.fault and not notes.fault.executed:
            raise Stopped


AnyCall: TypeAlias = "Call[Any]"
"""A request to any of the services."""
