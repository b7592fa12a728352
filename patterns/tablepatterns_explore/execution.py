"""Execute the requests of schedules, each once for all schedules in which it finds the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, NamedTuple

from tablepatterns.edm import Ticks
from tablepatterns_engine.dispatch import service_of
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.faults import RESPONSE_LOST, TIMED_OUT_AFTER, Fault
from tablepatterns_engine.http.address import Target, absolute
from tablepatterns_engine.http.message import Request
from tablepatterns_engine.ledger import Record
from tablepatterns_engine.queues.call import locate as locate_queue
from tablepatterns_engine.tables.call import locate as locate_table

from .choice import Kind
from .request_points import Call, ResponseOrError, operations_of
from .snapshot import Changes, Saved, Scope

if TYPE_CHECKING:
    from .world import World

FAULTS: Final[Mapping[Kind, Fault]] = {"lose": RESPONSE_LOST, "time out": TIMED_OUT_AFTER}
"""What happens to the response to a request that is executed."""


def scope_of(request: Request, account: str) -> Scope:
    """Return what a request can read or change.

    >>> url = "https://contoso.table.core.windows.net/Employees(PartitionKey='Sales',RowKey='empid_000223')"
    >>> scope_of(Request("GET", url, {}), "contoso")
    Scope(service='table', resource='employees')
    >>> scope_of(Request("POST", "https://contoso.table.core.windows.net/Tables", {}), "contoso")
    Scope(service='table', resource=None)
    >>> scope_of(Request("GET", "https://contoso.queue.core.windows.net/orders/messages", {}), "contoso")
    Scope(service='queue', resource='orders')
    """
    service = service_of(request.url)
    try:
        resources = set(_RESOURCES[service](request, account)) if service in _RESOURCES else {None}
    except (ServiceError, ValueError):
        resources = {None}
    return Scope(service, resources.pop() if len(resources) == 1 else None)


def _tables(request: Request, account: str) -> Iterator[str | None]:
    target = locate_table(request.url, account)
    if target.kind != "batch":
        yield _table(target)
        return
    for part in operations_of(request):
        yield _table(locate_table(absolute(part.url, target.address.base), account))


def _table(target: Target) -> str | None:
    return target.resource.lower() if target.kind in ("table", "entity") else None


def _queues(request: Request, account: str) -> Iterator[str | None]:
    target = locate_queue(request.url, account)
    yield target.resource if target.kind in ("messages", "message") else None


_RESOURCES: Final[Mapping[str, Callable[[Request, str], Iterator[str | None]]]] = {"table": _tables, "queue": _queues}


class Executed(NamedTuple):
    """The result of a request, what the ledger says of it, and the time after it."""

    response: ResponseOrError
    records: tuple[Record, ...]
    changes: Changes
    now: Ticks


class Executions:
    """Executes requests in a world.

    A request is executed again only where the account differs in what it can reach: its table or queue, or all of its
    service. Everything else about it follows from the place in the code of the actor that sends it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._scopes: dict[Call, Scope] = {}
        self._results: dict[tuple[object, ...], Executed] = {}

    def execute(self, account: Saved, call: Call, sender: str, kind: Kind) -> tuple[Executed, Saved]:
        """Return the result of a request, and the account after it; `kind` is what becomes of the response."""
        scope = self._scopes.get(call)
        if scope is None:
            scope = self._scopes[call] = scope_of(call.message, self._world.engine.account_name)
        key = call, sender, kind, account.exact(scope)
        execution = self._results.get(key)
        if execution is None:
            execution = self._results[key] = self._execute(account, call, scope, sender, kind)
        return execution, account.changed(execution.now, execution.changes)

    def _execute(self, account: Saved, call: Call, scope: Scope, sender: str, kind: Kind) -> Executed:
        world = self._world
        snapshots, faults = world.snapshots, world.engine.faults
        snapshots.go_to(account)
        snapshots.fill(scope)
        world.turn_to(sender)
        with faults.add(FAULTS[kind]) if kind in FAULTS else nullcontext(), world.ledger.span() as span:
            response = call.execute()
        return Executed(response, tuple(span.records), snapshots.changes(scope), world.stamps.now())
