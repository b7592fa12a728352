"""Execute the requests of schedules, each once for all schedules in which it finds the same."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, NamedTuple

from tablepatterns_engine.faults import RESPONSE_LOST, TIMED_OUT_AFTER, Fault
from tablepatterns_engine.ledger import Record

from .choice import Kind
from .request_points import Call, ResponseOrError
from .snapshot import Saved

if TYPE_CHECKING:
    from .world import World

FAULTS: Final[Mapping[Kind, Fault]] = {"lose": RESPONSE_LOST, "time out": TIMED_OUT_AFTER}
"""What happens to the response to a request that is executed."""


class Executed(NamedTuple):
    """The result of a request, what the ledger says of it, and the account after it."""

    response: ResponseOrError
    records: tuple[Record, ...]
    account: Saved


class Executions:
    """Executes requests in a world.

    A request is executed again only where the account differs. Everything else about it follows from the place in the
    code of the actor that sends it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._results: dict[tuple[object, ...], Executed] = {}

    def execute(self, account: Saved, call: Call, sender: str, kind: Kind) -> Executed:
        """Return the result of a request, and the account after it; `kind` is what becomes of the response."""
        key = call, sender, kind, account.exact_digest
        execution = self._results.get(key)
        if execution is None:
            execution = self._results[key] = self._execute(account, call, sender, kind)
        return execution

    def _execute(self, account: Saved, call: Call, sender: str, kind: Kind) -> Executed:
        world = self._world
        world.snapshots.go_to(account)
        world.snapshots.fill()
        world.turn_to(sender)
        with world.engine.faults.add(FAULTS[kind]) if kind in FAULTS else nullcontext(), world.ledger.span() as span:
            response = call.execute()
        return Executed(response, tuple(span.records), world.snapshots.save())
