"""Say where readers may not see the last write, and what a crash leaves, from the requests of simulated calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..design.model import DeclaredSet, Query, Write
from ..design.writes import ROUND_TRIP, touched
from ..kinds import kind_of
from ..result import Consistency, Measured, Simulation, Step, Walkthrough
from ..rules.usage import REPLICATED
from .simulate import COMPLETED, LEASE, UNCHANGED

RowFamily: TypeAlias = tuple[str, str | None]
"""A set and the name of its derived data; None for the rows of its entities."""

_SEES: Final = {
    "copies": "an old copy, or none",
    "lists": "a list that lacks an entity, or still has it",
    "totals": "an old total",
}
"""What a reader of derived data sees until it is updated."""


@dataclass(frozen=True)
class _SimulatedWrite:
    """A write with the requests that change rows.

    :param commit: the request that changes the entity
    :param last: the last request that writes rows of a family
    """

    walk: Walkthrough
    commit: int
    last: Mapping[RowFamily, int]

    def later(self, families: Iterable[RowFamily]) -> list[RowFamily]:
        """Return those of the families that are written after the entity."""
        return [family for family in families if self.last.get(family, -1) > self.commit]

    def steps_until(self, families: Sequence[RowFamily]) -> Sequence[Step]:
        """Return the requests after which a crash leaves the entity written, and some of the families not."""
        return self.walk.steps[self.commit : max(self.last[family] for family in families)]


def consistency(measured: Iterable[Measured], simulation: Simulation) -> tuple[Consistency, ...]:
    """Return the access patterns that may not read the last write, or whose crash leaves a partial change."""
    families = {row.number: (row.of, row.derived) for table in simulation.tables for row in table.rows}
    walks = {(walk.of.name, walk.access.name): walk for walk in simulation.walkthroughs}
    writes = list(_writes(simulation, families))
    found: list[Consistency] = []
    for call in measured:
        walk = walks[call.of.name, call.access.name]
        if isinstance(call.access, Query):
            found += _of_query(call, call.access, writes, {families[row] for step in walk.steps for row in step.read})
        else:
            found += _of_write(walk, next((write for write in writes if write.walk is walk), None))
    return tuple(found)


def _writes(simulation: Simulation, families: Mapping[int, RowFamily]) -> Iterator[_SimulatedWrite]:
    sets = [walk.of for walk in simulation.walkthroughs]
    for walk in simulation.walkthroughs:
        if not isinstance(walk.access, Write):
            continue
        commit: int | None = None
        in_blobs = [(walk.of.name, derived.name) for derived, profile in walk.of.profiles() if not profile.in_table]
        # Maybe no entity of the sample refers to the one that is written
        last = dict.fromkeys(_copied_to(walk.of, walk.access, sets), len(walk.steps))
        for at, step in enumerate(walk.steps):
            written = [families[row] for row in step.written]
            if step.service == "blob" and not step.request.startswith("Get"):
                written += in_blobs
            last.update(dict.fromkeys(written, at))
            if commit is None and (walk.of.name, None) in written:
                commit = at
        if commit is not None:
            yield _SimulatedWrite(walk, commit, last)


def _copied_to(of: DeclaredSet, write: Write, sets: Iterable[DeclaredSet]) -> Iterator[RowFamily]:
    """Yield the entities of other sets that a write updates later, since they have copies of its properties."""
    for derived in touched(of, write):
        profile = of.profile(derived)
        for other in sets if profile.copied and derived.is_eventual else ():
            if profile.key == other.key and derived.table(of.table).lower() == other.table.lower():
                yield other.name, None


def _of_query(
    call: Measured, query: Query, writes: Sequence[_SimulatedWrite], read: set[RowFamily]
) -> Iterator[Consistency]:
    if query.archived:
        # An entity that is not in the archive yet is still in the set
        return
    if (via := call.derived) is not None:
        read = {*read, (call.of.name, via.name)}
    if kind_of(call.of).is_wide:
        # Its readers recognize rows of different writes
        read = read - {(call.of.name, None)}
    late = [(write, found) for write in writes if (found := write.later(sorted(read, key=str)))]
    is_secondary = query.region == "secondary"
    if not late and not is_secondary:
        return
    steps = [step for write, found in late for step in write.steps_until(found)]
    seconds = max((len(write.steps_until(found)) for write, found in late), default=0) * ROUND_TRIP
    sees = dict.fromkeys(_sees(write, family) for write, found in late for family in found)
    if is_secondary:
        sees = {"the secondary region, which lags": None, **sees}
        seconds = max(seconds, REPLICATED)
    yield Consistency(call.of, query, "; ".join(sees), seconds, *_repairs(steps))


def _sees(write: _SimulatedWrite, family: RowFamily) -> str:
    of, derived = write.walk.of, family[1]
    if derived is None:
        name = write.walk.access.name
        moves = f"an entity in its old and its new place, while {name!r} moves it"
        return moves if family[0] == of.name else f"an entity without its part of {name!r}"
    called = next((profile.called for via, profile in of.profiles() if via.name == derived), "copies")
    return _SEES[called]


def _of_write(walk: Walkthrough, write: _SimulatedWrite | None) -> Iterator[Consistency]:
    partial = [step for step in walk.steps if step.crash is not None and step.crash != UNCHANGED]
    partial = [step for step in partial if not (step.crash or "").startswith(UNCHANGED) or step.recovery is None]
    if not partial:
        return
    after_commit = [step for step in partial if write and step in walk.steps[write.commit :]]
    leaves = (after_commit or partial)[0].crash or ""
    yield Consistency(walk.of, walk.access, leaves, None, *_repairs(partial, kind_of(walk.of).repair))


def _repairs(steps: Sequence[Step], repair: str = "") -> tuple[float | None, str]:
    """Return the seconds after which a worker repairs what a crash leaves, and what does without a worker."""
    if not steps:
        return None, ""
    if all((step.recovery or "").startswith(COMPLETED) for step in steps):
        return float(LEASE), "until a worker runs, or repair"
    return None, repair or "until collect_orphans"
