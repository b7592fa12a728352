"""Distribute the entities that access patterns read and write over the partitions of each table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tablepatterns.entity_set.derived import Derived, RowLayout
from tablepatterns.filters import QueryClass

from ..design.archives import archive_set, is_of_archive
from ..design.distribution import equal_names, skewed_field
from ..design.model import DAY, DeclaredSet, Design, Query, Write
from ..design.writes import moves, rate_of, touched
from ..kinds import kind_of
from ..result import Measured
from .day import day_curve
from .partitions import Choice, Partitions


@dataclass(frozen=True)
class Load:
    """The load of an access pattern on the partitions of a key.

    :param work: entities read and written per call
    :param in_every_bucket: whether every bucket takes all of this work, like a read of the first entities,
        which reads the first of every bucket
    """

    table: str
    partitions: Partitions
    choice: Choice
    skew: float | None
    curve: Sequence[float]
    work: float
    in_every_bucket: bool = False

    def in_bucket(self, buckets: int) -> float:
        if self.in_every_bucket:
            return self.work
        # A read of a partition reads every bucket, even if it has few entities
        return max(1.0, self.work / buckets) if self.choice == "partition" else self.work / buckets


def work_of(measured_set: Measured) -> float:
    """Return the work of a call: the entities read and written, at least one."""
    return max(1.0, measured_set.examined + measured_set.written)


_Part: TypeAlias = tuple[str, Partitions, Choice, float]
"""A table with the partitions of rows, what a call uses, and its work there."""


def loads_of(design: Design, call: Measured) -> Iterator[Load]:
    """Yield the loads of an access pattern on the partitions of the set and of its derived rows."""
    access, curve = call.access, day_curve(call.rate, call.busiest)
    is_read_of_first = isinstance(access, Query) and access.take is not None
    if isinstance(access, Query):
        parts = _read(design, call.of, call, access)
    else:
        parts = _written(design, call.of, call, access)
    known = equal_names(access) if isinstance(access, Query) else ()
    for table, partitions, choice, work in parts:
        if work > 0:
            in_every_bucket = is_read_of_first and choice == "partition"
            # The skew of a field of the RowKey says nothing about partitions
            is_of_row = choice == "partition" and skewed_field(call.of.shape, known) not in partitions.names
            skew = None if is_of_row else access.skew
            yield Load(table, partitions, choice, skew, curve, work, in_every_bucket)


def partitions_of(declared_set: DeclaredSet, via: Derived | None = None) -> Partitions:
    """Return the partitions of a set's primary rows, or of its derived rows in a table."""
    key = None if via is None else declared_set.profile(via).table_key
    buckets = 1 if key is not None else kind_of(declared_set).buckets(declared_set)
    inserts = rate_of(declared_set, "insert")
    shape = declared_set.shape
    if not shape.count:
        # A set that is still empty is simulated as after a year
        shape = replace(shape, count=round(shape.net_growth) or round(inserts * DAY))
    return Partitions.of(key or declared_set.key, shape, inserts=inserts, buckets=buckets)


def _read(design: Design, declared_set: DeclaredSet, call: Measured, query: Query) -> Iterator[_Part]:
    work, via = work_of(call), call.derived
    if query.archived:
        target = archive_set(design, declared_set)
        if target is not None:
            yield target.table, partitions_of(target), "entity", work
        return
    profile = None if via is None else declared_set.profile(via)
    is_list = profile is not None and profile.finder == "find_all"
    is_apart = via is not None and via.is_eventual and declared_set.profile(via).table_key is not None
    own = declared_set.table if via is None else via.table(declared_set.table)
    if is_list and via is not None and via.is_eventual:
        if is_apart:
            yield own, partitions_of(declared_set, via), "partition", 1.0
            work -= 1.0
        yield declared_set.table, partitions_of(declared_set), "all", work
        return
    if profile is not None and profile.layout is not None and is_apart and _completes(profile.layout, call):
        work -= call.returned
        yield declared_set.table, partitions_of(declared_set), "all", call.returned
    choice: Choice = "partition"
    # The list and each entity are read, but the requested value is shared by many entities
    if not is_list and call.query_class in (QueryClass.POINT, QueryClass.TABLE_SCAN):
        choice = "entity" if call.query_class is QueryClass.POINT else "all"
    yield own, partitions_of(declared_set, via if is_apart else None), choice, work


def _completes(layout: RowLayout, call: Measured) -> bool:
    """Whether the entity of each copy is read too, since a copy does not have all requested fields."""
    return layout.include is not None and 0 < call.returned < call.examined and call.requests > 1


def _written(design: Design, declared_set: DeclaredSet, call: Measured, write: Write) -> Iterator[_Part]:
    remaining = work_of(call)
    choice: Choice = "new" if write.operation == "insert" else "entity"
    own = (declared_set.table, partitions_of(declared_set), choice, remaining)
    for table, partitions, kind, most in (*_besides(design, declared_set, write, choice), own):
        work = min(most, remaining)
        remaining -= work
        yield table, partitions, kind, work


def _besides(design: Design, declared_set: DeclaredSet, write: Write, choice: Choice) -> Iterator[_Part]:
    """Yield the other partitions that a write changes, with the work that there is at most."""
    for derived in touched(declared_set, write):
        if derived.is_eventual and declared_set.profile(derived).table_key is not None:
            # A shared row is read before it is written; a row that moves is written in two places
            most = 2.0 if derived.shares_rows or moves(declared_set, derived, write) else 1.0
            yield derived.table(declared_set.table), partitions_of(declared_set, derived), choice, most
    target = archive_set(design, declared_set) if is_of_archive(declared_set, write) else None
    if target is not None:
        yield target.table, partitions_of(target), "new", 1.0
        insert = replace(write, operation="insert")
        yield from _besides(design, replace(target, archive=None), insert, "new")
    for other_set in design.sets:
        for other_write in other_set.writes:
            if other_write.name in write.atomic_with and other_set is not declared_set:
                is_new = other_write.operation == "insert"
                yield other_set.table, partitions_of(other_set), "new" if is_new else "entity", 1.0
