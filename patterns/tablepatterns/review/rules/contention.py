"""Contention: rows that many writers change at a time, each on condition of an ETag that the others change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...entity_set.derived import Derived
from ...figures import number, often, plural, share
from ...recipes.index_entities import IndexEntity
from ...recipes.summary import Summary
from ..design.model import DeclaredSet, Write
from ..measure.sample import names_one, values_of
from ..model import Finding, Severity
from ..zipf import Zipf
from .known import Known
from .rule import Rule
from .words import part_of

_TRIP: Final = 0.02
"""Seconds from one request of a writer to its next, near the account."""
_HARDLY: Final = 20.0
_OFTEN: Final = 5.0
CONTENTION: Final = Rule(
    name="contention",
    finds="several writers change one row often, and are in each other's way",
    severity=f"serious from {number(_HARDLY)} changes of one row a second on, a warning from {number(_OFTEN)}",
    why="Many clients that update one entity by its ETag mean high contention: all but one must begin again.",
    guide="Data series pattern; managing concurrency",
    pattern="summary",
)
RULES: Final = (CONTENTION,)


def found(known: Known) -> Iterator[Finding]:
    """Hand out the rows, primary and derived, that are changed too often."""
    for declared in known.design.sets:
        for done in known.writes_of(declared):
            if done.write.deed == "update" and done.write.writers > 1:
                yield from _entity(declared, done.write)
        for derived in declared.derived:
            if isinstance(derived, (IndexEntity, Summary)):
                yield from _shared(known, declared, derived)


def _severity(rate: float) -> Severity | None:
    if rate < _OFTEN:
        return None
    return Severity.SERIOUS if rate >= _HARDLY else Severity.WARNING


def _lost(rate: float) -> str:
    """Say how many attempts meet another's, if each reads, and writes a moment later."""
    return f"about {share(1 - 1 / (1 + 2 * rate * _TRIP))} of the attempts are refused and made again"


def _entity(declared: DeclaredSet, write: Write) -> Iterator[Finding]:
    rate = write.busiest * Zipf(max(1, declared.shape.count), write.skew).share(1)
    severity = _severity(rate)
    if severity is not None:
        says = (
            f"{write.name!r} changes one entity of {declared.name} {often(rate)}, by "
            f"{plural(write.writers, 'writer')}: {_lost(rate)}."
        )
        better = (
            "Write each change as an entity of its own and add them up (Summary elsewhere, with spread), or let one "
            "worker make the changes of an entity."
        )
        yield CONTENTION.finding(severity, part_of(declared.name, write.name), says, better)


def _shared(known: Known, declared: DeclaredSet, derived: IndexEntity | Summary) -> Iterator[Finding]:
    names, rows = _group(declared, derived), derived.spread
    writes = [each.write for each in known.writes_of(declared) if _changes(each.write, derived)]
    writers = max((each.writers for each in writes), default=1)
    rate = sum(each.busiest for each in writes) * _top(declared, names) / rows
    severity = _severity(rate)
    if severity is None or writers < 2:
        return
    kind = "list" if isinstance(derived, IndexEntity) else "total"
    says = (
        f"The busiest {kind} of {derived.name!r} in {declared.name} changes {often(rate)}, by "
        f"{plural(writers, 'writer')}: {_lost(rate)}."
    )
    wanted = max(2, round(rate * rows / _OFTEN) + 1)
    better = (
        f"Spread each {kind} over {number(wanted)} rows elsewhere (spread={wanted}), or keep no {kind} and "
        "read a range."
    )
    yield CONTENTION.finding(severity, part_of(declared.name, derived.name), says, better, pattern=_pattern(derived))


def _pattern(derived: Derived) -> str:
    return "index_entities" if isinstance(derived, IndexEntity) else "summary"


def _group(declared: DeclaredSet, derived: IndexEntity | Summary) -> list[str]:
    """Return the fields whose values say which row an entity has a part in."""
    key = derived.layout(declared.key) if isinstance(derived, IndexEntity) else derived.layout
    return [name for name in key.fields if name in declared.shape.fields]


def _changes(write: Write, derived: IndexEntity | Summary) -> bool:
    """Whether a write changes such rows: an update only if it changes what they are made of."""
    return write.deed != "update" or not write.changes or bool(set(write.changes) & set(derived.reads))


def _top(declared: DeclaredSet, names: list[str]) -> float:
    """Return the share of the changes that comes to the busiest row."""
    if names_one(declared.shape, names):
        return 1 / max(1, declared.shape.count)
    share = 1.0
    for name in names:
        share *= values_of(declared.shape, name).share(1)
    return share
