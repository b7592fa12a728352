"""Injected faults: the rules that select requests, and what the client observes."""

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

from tablepatterns.errors import BadInput

from . import errors
from .clock import Clock
from .errors import ErrorMessage
from .ledger import Operation, check_operation

Loss: TypeAlias = Literal["connection", "request", "response"]


class RequestInfo(NamedTuple):
    """What a request is for, as the ledger records it.

    :param name: the table, queue or container; "" if there is none
    :param partition: the partition; None if there are several or none
    """

    service: str
    operation: str
    name: str
    partition: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a request.

    :param name: the name in the ledger
    :param executed: whether the service executes the request nevertheless
    :param error: the error that the service returns instead of its response
    :param headers: the headers of that error
    :param loses: what the network loses, so that no response arrives
    :param cut_at: the number of bytes of the response's body after which the connection breaks
    :param seconds: the delay of the response
    """

    name: str
    executed: bool = True
    error: ErrorMessage | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    loses: Loss | None = None
    cut_at: int | None = None
    seconds: float = 0

    @property
    def is_billed(self) -> bool:
        """Whether the service bills the request: not if it was throttled, timed out, or never arrived."""
        return self.executed and self.error is None


RESPONSE_LOST: Final = Fault("response lost", loses="response")
TIMED_OUT_BEFORE: Final = Fault("timed out before the commit", executed=False, error=errors.OPERATION_TIMED_OUT)
TIMED_OUT_AFTER: Final = Fault("timed out after the commit", error=errors.OPERATION_TIMED_OUT)
BUSY: Final = Fault("busy", executed=False, error=errors.SERVER_BUSY)
ACCOUNT_OVER_TARGET: Final = Fault("account over its target", executed=False, error=errors.OVER_ACCOUNT_LIMIT)
PARTITION_OVER_TARGET: Final = Fault("partition over its target", executed=False, error=errors.SERVER_BUSY)


ServiceName: TypeAlias = Literal["table", "queue", "blob"]


class Where(TypedDict, total=False):
    """The requests that a fault affects. Everything that is left out matches any request.

    :param service: requests to this service
    :param operation: this operation, by its name in the ledger, such as InsertEntity, Transaction or PutMessage
    :param table: requests to this table; only one of `table`, `queue` and `container`
    :param queue: requests to this queue
    :param container: requests to this container
    :param partition: requests to only this partition of a table, or to this blob
    :param times: the number of requests that fail; by default, all
    :param after: the number of requests that pass before the first one fails; by default, none
    :param probability: the probability that a request fails, above 0 and up to 1; by default, 1
    :param seed: the seed for the probability, so that runs are repeatable; by default, 0
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


def _checked(where: Where) -> tuple[str | None, str | None, str | None, str | None]:
    """Return the `RequestInfo` of the affected requests, with None for any value; reject what no request can be."""
    if unknown := where.keys() - Where.__annotations__.keys():
        raise TypeError(f"a fault has no options {sorted(unknown)}")
    if "operation" in where:
        check_operation(where["operation"])
    named = {"table": where.get("table"), "queue": where.get("queue"), "blob": where.get("container")}
    resources = {service: name.lower() for service, name in named.items() if name is not None}
    service = where.get("service")
    services = {*resources, service} if service else {*resources}
    if len(services) > 1:
        rule = "a request goes to one service, and to one table, queue or container"
        raise BadInput("where", sorted(services), rule, "create a rule for each")
    times, after, probability = where.get("times"), where.get("after", 0), where.get("probability", 1)
    _check("times", times is None or times >= 1, times, "must be at least 1")
    _check("after", after >= 0, after, "must be at least 0")
    _check("probability", 0 < probability <= 1, probability, "must be above 0 and at most 1")
    name = next(iter(resources.values()), None)
    return next(iter(services), None), where.get("operation"), name, where.get("partition")


def _check(subject: str, holds: bool, value: object, rule: str) -> None:
    if not holds:
        raise BadInput(subject, value, rule, "pass such a number")


class Rule:
    """A fault and the requests it affects, active until `stop()` or the end of a `with` block.

    The methods of `Faults` create rules.
    """

    def __init__(self, faults: Faults, fault: Fault, where: Where) -> None:
        self.fault = fault
        self.hits = 0
        """How many requests the fault affected."""
        self._faults = faults
        self._where = where
        self._wanted = _checked(where)
        self._passed = 0
        self._random = Random(where.get("seed", 0))  # noqa: S311 - chances to be repeated, not secrets

    def stop(self) -> None:
        """End the rule; stopping it twice does nothing."""
        self._faults.remove(self)

    def applies_to(self, info: RequestInfo) -> bool:
        """Return whether the fault affects a request, and count it."""
        actual = info._replace(name=info.name.lower())
        matches = all(wanted in (None, value) for wanted, value in zip(self._wanted, actual, strict=True))
        if not matches or self.hits == self._where.get("times"):
            return False
        if self._passed < self._where.get("after", 0):
            self._passed += 1
            return False
        if self._random.random() >= self._where.get("probability", 1):
            return False
        self.hits += 1
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Rule {self.fault.name}, {self.hits} hits>"


class Faults:
    """The faults of an account. Each method creates a rule, which is active immediately. Thread-safe.

    If several rules match a request, the oldest that fails it decides, and later ones do not count it. Malformed and
    forbidden requests are not affected. The ledger records every request with its `fault`, even without a response.

    >>> from azure.core.exceptions import ResourceExistsError
    >>> from tablepatterns import connect
    >>> storage = connect()
    >>> table = storage.tables.create_table("Employees")
    >>> with storage.engine.faults.time_out(executed=True, operation="InsertEntity", times=1) as late:
    ...     try:
    ...         _ = table.create_entity({"PartitionKey": "Sales", "RowKey": "000223"})
    ...     except ResourceExistsError:
    ...         print("the SDK retried, and found the entity of its first attempt")
    the SDK retried, and found the entity of its first attempt
    >>> late.hits, [(record.status, record.fault) for record in storage.engine.ledger.records][1:]
    (1, [(500, 'timed out after the commit'), (409, None)])
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.rules: tuple[Rule, ...] = ()
        """The rules, oldest first."""

    def busy(self, *, retry_after: int | None = None, **where: Unpack[Where]) -> Rule:
        """Return 503 ServerBusy, without executing the request.

        :param retry_after: the seconds in the `Retry-After` header; by default there is none, and the client's own
            backoff applies
        :param where: the affected requests
        """
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return self.add(replace(BUSY, headers=headers), **where)

    def time_out(self, *, executed: bool = False, **where: Unpack[Where]) -> Rule:
        """Return 500 OperationTimedOut.

        :param executed: whether the request is executed nevertheless
        :param where: the affected requests
        """
        return self.add(TIMED_OUT_AFTER if executed else TIMED_OUT_BEFORE, **where)

    def refuse_connection(self, **where: Unpack[Where]) -> Rule:
        """Refuse the connection: `ServiceRequestError`. The client knows that the request was not executed.

        :param where: the affected requests
        """
        return self.add(Fault("no connection", executed=False, loses="connection"), **where)

    def lose_request(self, **where: Unpack[Where]) -> Rule:
        """Break the connection before the request is executed. The client cannot tell this from a lost response.

        :param where: the affected requests
        """
        return self.add(Fault("request lost", executed=False, loses="request"), **where)

    def lose_response(self, **where: Unpack[Where]) -> Rule:
        """Break the connection after the request was executed.

        As on a real network, sync clients raise `ServiceResponseError`. Async clients raise `ServiceRequestError`,
        which claims that the request was never sent.

        :param where: the affected requests
        """
        return self.add(RESPONSE_LOST, **where)

    def break_body(self, after_bytes: int, **where: Unpack[Where]) -> Rule:
        """Execute the request, and break the connection within the response's body: `IncompleteReadError`.

        A shorter body arrives complete.

        :param after_bytes: the number of bytes that arrive
        :param where: the affected requests
        """
        _check("after_bytes", after_bytes >= 0, after_bytes, "must be at least 0")
        return self.add(Fault("body broken", cut_at=after_bytes), **where)

    def delay(self, seconds: float, **where: Unpack[Where]) -> Rule:
        """Execute the request, and advance the clock before the response arrives. Nothing waits in real time.

        If the delay exceeds the client's `read_timeout`, the clock advances by that only, and the client raises
        `ServiceResponseTimeoutError`.

        :param seconds: the delay of the response
        :param where: the affected requests
        """
        _check("seconds", seconds > 0, seconds, "must be above 0")
        return self.add(Fault("delayed", seconds=seconds), **where)

    def add(self, fault: Fault, **where: Unpack[Where]) -> Rule:
        """Create a rule for any fault, and return it.

        :param where: the affected requests
        :raises BadInput: a number is out of range, the operation is unknown, or the parts of `where` contradict each
            other
        """
        rule = Rule(self, fault, where)
        with self._lock:
            self.rules += (rule,)
        return rule

    def remove(self, rule: Rule) -> None:
        with self._lock:
            self.rules = tuple(other for other in self.rules if other is not rule)

    def clear(self) -> None:
        """End all rules."""
        with self._lock:
            self.rules = ()

    def match(self, info: RequestInfo) -> Fault | None:
        """Return the fault that affects a request, or None, and count the request: call it once for each."""
        if not self.rules:
            return None
        with self._lock:
            return next((rule.fault for rule in self.rules if rule.applies_to(info)), None)


READ_TIMEOUT: Final[float] = ConnectionConfiguration().read_timeout
"""The default read timeout of azure-core's own transports, in seconds."""


def apply_fault(fault: Fault, size: int, clock: Clock, options: Mapping[str, Any], *, aio: bool = False) -> None:
    """Delay a response, truncate it, or lose it; `options` are those of the transport, with `read_timeout`."""
    if fault.loses == "connection":
        raise ServiceRequestError("connection refused by an injected fault")
    if fault.loses:
        # Over aiohttp, azure-core reports a reset as an error of the request, which may have been executed
        reset = ServiceRequestError if aio else ServiceResponseError
        raise reset("connection reset by an injected fault before the response arrived")
    read_timeout: float = options["read_timeout"]
    clock.sleep(min(fault.seconds, read_timeout))
    if fault.seconds >= read_timeout:
        raise ServiceResponseTimeoutError(f"no response within {read_timeout} seconds: delayed by an injected fault")
    if not options.get("stream"):
        check_whole(size, fault.cut_at)


def check_whole(size: int, cut_at: int | None) -> None:
    """Reject a body that is cut before its full length."""
    if cut_at is not None and cut_at < size:
        text = f"received {cut_at} of {size} bytes: connection broken by an injected fault"
        raise IncompleteReadError(text)
