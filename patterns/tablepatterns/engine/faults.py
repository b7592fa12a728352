"""Injected faults: the rules that select requests, and what a client sees of the fault."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypedDict

from azure.core.configuration import ConnectionConfiguration
from azure.core.exceptions import (
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from typing_extensions import Self, Unpack

from ..errors import BadInput
from . import errors
from .clock import Clock
from .errors import ErrorMessage
from .ledger import Operation, check_operation

Loss: TypeAlias = Literal["connection", "request", "answer"]


class Asked(NamedTuple):
    """What a request asks, in the words of the ledger.

    :param service: table, queue or blob
    :param operation: the service's name of the operation
    :param name: the table, the queue or the container, "" where it is about none
    :param partition: the partition it goes to, None where it goes to several or to none
    """

    service: str
    operation: str
    name: str
    partition: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """What becomes of a request.

    :param name: as the ledger tells it
    :param carried_out: whether what it asks is done all the same
    :param answer: what the service says in place of its own answer
    :param headers: what goes with that answer
    :param loses: what the network loses: no response arrives at all
    :param cut_at: after how many bytes of the response's body the connection breaks
    :param seconds: the delay of the response
    """

    name: str
    carried_out: bool = True
    answer: ErrorMessage | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    loses: Loss | None = None
    cut_at: int | None = None
    seconds: float = 0

    @property
    def is_billed(self) -> bool:
        """Whether the service bills the request: not if it was throttled, timed out, or never arrived."""
        return self.carried_out and self.answer is None


NO_CONNECTION: Final = Fault("no connection", carried_out=False, loses="connection")
REQUEST_LOST: Final = Fault("request lost", carried_out=False, loses="request")
ANSWER_LOST: Final = Fault("answer lost", loses="answer")
TIMED_OUT_BEFORE: Final = Fault("timed out before the commit", carried_out=False, answer=errors.OPERATION_TIMED_OUT)
TIMED_OUT_AFTER: Final = Fault("timed out after the commit", answer=errors.OPERATION_TIMED_OUT)
BUSY: Final = Fault("busy", carried_out=False, answer=errors.SERVER_BUSY)
ACCOUNT_OVER_TARGET: Final = Fault("account over its target", carried_out=False, answer=errors.OVER_ACCOUNT_LIMIT)
PARTITION_OVER_TARGET: Final = Fault("partition over its target", carried_out=False, answer=errors.SERVER_BUSY)


ServiceName: TypeAlias = Literal["table", "queue", "blob"]


class Where(TypedDict, total=False):
    """Which requests meet a fault, and how often. What is not said does not matter.

    :param service: requests to this service
    :param operation: requests for this operation, by its name in the ledger: InsertEntity, Transaction, PutMessage
    :param table: requests to this table, or one of the next two
    :param queue: requests to this queue
    :param container: requests to this container
    :param partition: requests to this partition of a table and to no other; or to this blob
    :param times: how many requests fail; all by default
    :param after: how many pass before the first one fails; none by default
    :param probability: how likely each of them fails, above 0 and up to 1; certain by default
    :param seed: what the chances are drawn with, so that a run can be repeated; 0 by default
    """

    service: ServiceName
    operation: Operation
    table: str
    queue: str
    container: str
    partition: str
    times: int
    after: int
    probability: float
    seed: int


@dataclass(frozen=True, kw_only=True)
class _Selection:
    """The values of a `Where`, checked."""

    service: ServiceName | None = None
    operation: Operation | None = None
    table: str | None = None
    queue: str | None = None
    container: str | None = None
    partition: str | None = None
    times: int | None = None
    after: int = 0
    probability: float = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.operation is not None:
            check_operation(self.operation)
        if len(self.services) > 1:
            rule = "a request goes to one service, and there to one table, queue or container"
            raise BadInput("where", sorted(self.services), rule, "make a rule for each")
        _check("times", self.times is None or self.times >= 1, self.times, "at least one request fails")
        _check("after", self.after >= 0, self.after, "no fewer than 0 requests pass")
        _check("probability", 0 < self.probability <= 1, self.probability, "it is above 0 and at most 1")

    @property
    def resources(self) -> dict[str, str]:
        """The names of what the requests are about, by the service that it belongs to."""
        named = {"table": self.table, "queue": self.queue, "blob": self.container}
        return {service: name.lower() for service, name in named.items() if name is not None}

    @property
    def services(self) -> set[str]:
        """The services that the requests go to, as far as something says so."""
        return {*self.resources, self.service} if self.service else {*self.resources}

    @property
    def asked(self) -> tuple[str | None, str | None, str | None, str | None]:
        """What a request asks that is meant, with None for whatever does not matter."""
        service, name = next(iter(self.services), None), next(iter(self.resources.values()), None)
        return service, self.operation, name, self.partition


def _check(subject: str, holds: bool, value: object, rule: str) -> None:
    if not holds:
        raise BadInput(subject, value, rule, "give such a number")


class Rule:
    """One fault and whom it meets, in force until `stop()`, or to the end of a `with` block.

    Made by the methods of `Faults`.
    """

    def __init__(self, faults: Faults, fault: Fault, selection: _Selection) -> None:
        self.fault = fault
        self.hits = 0
        """How many requests met the fault."""
        self._faults = faults
        self._selection = selection
        self._wanted = selection.asked
        self._passed = 0
        self._random = Random(selection.seed)  # noqa: S311 - chances to be repeated, not secrets

    def stop(self) -> None:
        """Let all later requests pass; stopping twice does no harm."""
        self._faults.remove(self)

    def takes(self, asked: Asked) -> bool:
        """Tell whether a request meets the fault, and count it."""
        if not self._is_meant(asked) or self.hits == self._selection.times:
            return False
        if self._passed < self._selection.after:
            self._passed += 1
            return False
        if self._random.random() >= self._selection.probability:
            return False
        self.hits += 1
        return True

    def _is_meant(self, asked: Asked) -> bool:
        seen = asked._replace(name=asked.name.lower())
        return all(wanted in (None, found) for wanted, found in zip(self._wanted, seen, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Rule {self.fault.name}, met {self.hits} times>"


class Faults:
    """An account's faults. Each method makes a rule, which is in force at once; thread-safe.

    Where several rules are for a request, the oldest one that fails it decides, and those behind it do not count it. A
    request that is malformed or forbidden is not affected. Each request is told in the ledger with
    `fault`, those that were never answered too.

    >>> from azure.core.exceptions import ResourceExistsError
    >>> from tablepatterns import connect
    >>> storage = connect()
    >>> table = storage.tables.create_table("Employees")
    >>> with storage.engine.faults.time_out(carried_out=True, operation="InsertEntity", times=1) as late:
    ...     try:
    ...         _ = table.create_entity({"PartitionKey": "Sales", "RowKey": "000223"})
    ...     except ResourceExistsError:
    ...         print("the SDK sent it again, and met what it had written itself")
    the SDK sent it again, and met what it had written itself
    >>> late.hits, [(record.status, record.fault) for record in storage.engine.ledger.records][1:]
    (1, [(500, 'timed out after the commit'), (409, None)])
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: tuple[Rule, ...] = ()

    def busy(self, *, retry_after: int | None = None, **where: Unpack[Where]) -> Rule:
        """Answer 503 ServerBusy, and do nothing.

        :param retry_after: the seconds in a header `Retry-After`; by default there is none, and the client's own
            back-off decides
        :param where: which requests, and how often
        """
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return self.add(replace(BUSY, headers=headers), **where)

    def time_out(self, *, carried_out: bool = False, **where: Unpack[Where]) -> Rule:
        """Answer 500 OperationTimedOut.

        :param carried_out: whether what was asked is done all the same; by default nothing is
        :param where: which requests, and how often
        """
        return self.add(TIMED_OUT_AFTER if carried_out else TIMED_OUT_BEFORE, **where)

    def refuse_connection(self, **where: Unpack[Where]) -> Rule:
        """Reject the connection: `ServiceRequestError`. The client knows that nothing was done.

        :param where: which requests, and how often
        """
        return self.add(NO_CONNECTION, **where)

    def lose_request(self, **where: Unpack[Where]) -> Rule:
        """Break the connection before anything is done; to the client this is no different from a lost response.

        :param where: which requests, and how often
        """
        return self.add(REQUEST_LOST, **where)

    def lose_answer(self, **where: Unpack[Where]) -> Rule:
        """Break the connection once everything is done.

        As over a real network, sync clients get `ServiceResponseError`, and aio clients `ServiceRequestError`, which
        says of itself that the request was never sent.

        :param where: which requests, and how often
        """
        return self.add(ANSWER_LOST, **where)

    def break_body(self, after_bytes: int, **where: Unpack[Where]) -> Rule:
        """Carry the request out, and break the connection within the body of the response: `IncompleteReadError`.

        A body that is not longer comes whole.

        :param after_bytes: how much of the body comes
        :param where: which requests, and how often
        """
        _check("after_bytes", after_bytes >= 0, after_bytes, "no fewer than 0 bytes come")
        return self.add(Fault("body broken", cut_at=after_bytes), **where)

    def delay(self, seconds: float, **where: Unpack[Where]) -> Rule:
        """Carry the request out, and move the clock before the response comes.

        A client that waits no longer than its `read_timeout` gets `ServiceResponseTimeoutError` then, and the clock
        moves by that time only. Nothing waits in real time.

        :param seconds: the delay of the response
        :param where: which requests, and how often
        """
        _check("seconds", seconds > 0, seconds, "an answer is late by more than 0 seconds")
        return self.add(Fault("delayed", seconds=seconds), **where)

    def add(self, fault: Fault, **where: Unpack[Where]) -> Rule:
        """Make a rule for any fault, and return it.

        :param where: which requests, and how often
        :raises BadInput: a number is out of its range, the operation is not one of a service, or the words of `where`
            contradict one another
        """
        rule = Rule(self, fault, _Selection(**where))
        with self._lock:
            self._rules += (rule,)
        return rule

    def remove(self, rule: Rule) -> None:
        """End a rule."""
        with self._lock:
            self._rules = tuple(each for each in self._rules if each is not rule)

    def clear(self) -> None:
        """End all rules."""
        with self._lock:
            self._rules = ()

    @property
    def has_rules(self) -> bool:
        """Whether there is any rule."""
        return bool(self._rules)

    def meet(self, asked: Asked) -> Fault | None:
        """Return the fault that applies to a request, or None; each request is passed here once, and counted."""
        if not self._rules:
            return None
        with self._lock:
            return next((rule.fault for rule in self._rules if rule.takes(asked)), None)


READ_TIMEOUT: Final[float] = ConnectionConfiguration().read_timeout
"""In seconds: how long azure-core's own transports wait that are not told otherwise."""


def suffer(fault: Fault, size: int, clock: Clock, options: Mapping[str, Any], *, aio: bool = False) -> None:
    """Delay a response, cut it off, or lose it.

    :param size: the length of the response's body
    :param options: those of the request, as azure-core gives them to its transport, `read_timeout` among them
    :param aio: whether the client is an aio one
    :raises AzureError: the one that azure-core's own transport raises then
    """
    if fault.loses == "connection":
        raise ServiceRequestError("no connection: refused by a fault of the engine")
    if fault.loses:
        # Over aiohttp, azure-core takes a reset for an error of the request, although it may have been carried out
        reset = ServiceRequestError if aio else ServiceResponseError
        raise reset("the connection was reset by a fault of the engine before an answer came")
    patience: float = options["read_timeout"]
    clock.sleep(min(fault.seconds, patience))
    if fault.seconds >= patience:
        raise ServiceResponseTimeoutError(f"no answer came within {patience} seconds: delayed by a fault of the engine")
    if not options.get("stream"):
        check_whole(size, fault.cut_at)


def check_whole(size: int, cut_at: int | None) -> None:
    """Reject a body that is incomplete.

    :param size: its length
    :raises IncompleteReadError: the connection broke before its end
    """
    if cut_at is not None and cut_at < size:
        text = f"{cut_at} of {size} bytes came: the connection was broken by a fault of the engine"
        raise IncompleteReadError(text)
