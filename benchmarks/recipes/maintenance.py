"""Measure how fast derived data is backfilled and verified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tablepatterns import BulkLoad, EntitySet, Storage, connect
from tablepatterns.entity_set.derived import Derived
from tablepatterns.jobs import Report, backfill, verify

from ..data import RecipeScale
from .flights import BY_PLANE, ELSEWHERE, Flight, flights, january
from .runs import Run, Work

BACKFILL: Final = "backfill"
VERIFY: Final = "verify"
KINDS: Final[dict[str, Derived]] = {"index in the partition": BY_PLANE, "index elsewhere": ELSEWHERE}


def maintenance(scale: RecipeScale) -> Iterator[Run]:
    """Yield runs that backfill and verify an index of flights, in the partition and in other partitions."""
    rows = january(scale.kept)
    for case, derived in KINDS.items():
        yield Run(case, BACKFILL, len(rows), _backfill(rows, derived), _is_filled(rows, derived))
        yield Run(case, VERIFY, len(rows), _verify(rows, derived), lambda found: _is_clean(found[1], len(rows)))


Done = tuple[EntitySet[Storage], Report]


def _filled_in(rows: list[Flight], derived: Derived) -> EntitySet[Storage]:
    """Return a set with derived data that its entities still lack."""
    storage = connect()
    BulkLoad(flights(storage)).load(rows)
    return flights(storage, derived, backfilling=[] if derived.is_eventual else [derived])


def _backfill(rows: list[Flight], derived: Derived) -> Callable[[], Work]:
    def prepare() -> Work:
        into = _filled_in(rows, derived)
        return lambda: (into, backfill(into, derived))

    return prepare


def _verify(rows: list[Flight], derived: Derived) -> Callable[[], Work]:
    def prepare() -> Work:
        into = _filled_in(rows, derived)
        backfill(into, derived)
        return lambda: (into, verify(into, derived))

    return prepare


def _is_filled(rows: list[Flight], derived: Derived) -> Callable[[Done], bool]:
    def is_filled(done: Done) -> bool:
        into, report = done
        return report.entities == len(rows) and _is_clean(verify(into, derived), len(rows))

    return is_filled


def _is_clean(report: Report, entities: int) -> bool:
    return report.is_clean and report.entities == entities and report.rows > 0
