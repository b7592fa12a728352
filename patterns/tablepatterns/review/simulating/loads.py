"""Loads: the work that the access patterns of a design bring to partitions, those of derived rows included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...deriving.derived import Derived, Index
from ...deriving.whereabouts import InBlobs
from ...filters import QueryClass
from ...key import Key
from ...recipes.denormalize import Denormalize
from ...recipes.index_entities import IndexEntities
from ...recipes.summary import Summary
from ..declaring.declared import DeclaredSet, Design, Query, Write
from ..outcome import Measured
from .day import SECONDS, day_curve
from .partitions import Partitions
from .shares import Choice

_SPREAD_BUCKETS: Final = 16
"""As many as a `PartitionSpread` has that is not told how many."""


@dataclass(frozen=True)
class Load:
    """The work of one access pattern on the partitions of one key.

    :param work: entities read and written for one call
    :param each: whether a bucket more means this work once more: a read of the first ones of a partition, which are the
        first ones of every bucket
    """

    table: str
    partitions: Partitions
    choice: Choice
    skew: float
    curve: Sequence[float]
    work: float
    each: bool = False

    def in_bucket(self, buckets: int) -> float:
        """Return the work of one call on one of so many buckets of a partition."""
        if self.each:
            return self.work
        # Whoever reads a partition asks every bucket, whatever little is in it
        return max(1.0, self.work / buckets) if self.choice == "partition" else self.work / buckets


def work_of(measured: Measured) -> float:
    """Return the work of one call, in entities: those read and those written, at least one."""
    return max(1.0, measured.examined + measured.written)


def loads_of(design: Design, measured: Measured) -> Iterator[Load]:
    """Hand out what an access pattern brings to the partitions of the set, and of what is derived from it."""
    curve = day_curve(measured.access.rate, measured.access.busiest)
    if isinstance(measured.access, Query):
        yield from _read(measured, measured.access, curve)
    else:
        yield from _written(design, measured, measured.access, curve)


def key_of(derived: Derived, primary: Key) -> Key | None:
    """Return the key of derived rows; None where they have none of their own, or are no rows of a table.

    :param primary: the key of the set's primary rows
    """
    if isinstance(derived, Index):
        return derived.key
    if isinstance(derived, IndexEntities):
        return None if isinstance(derived.whereabouts, InBlobs) else derived.layout(primary)
    if isinstance(derived, Summary):
        return derived.layout
    return derived.into if isinstance(derived, Denormalize) else None


def touches(derived: Derived, write: Write) -> bool:
    """Whether a write changes derived rows: every insert and delete, and an update of what they hold."""
    if write.deed != "update" or not write.changes:
        return True
    if isinstance(derived, Index):
        include: Iterable[str] | None = getattr(derived, "include", None)
        return include is None or not {*include, *derived.key.fields}.isdisjoint(write.changes)
    return not set(derived.reads).isdisjoint(write.changes)


def moves(derived: Derived, write: Write) -> bool:
    """Whether a write takes a derived row from one key to another."""
    return (
        isinstance(derived, Index)
        and write.deed == "update"
        and not set(derived.key.fields).isdisjoint(write.changes or derived.key.fields)
    )


def moves_away(declared: DeclaredSet, write: Write) -> bool:
    """Whether a write takes the entity itself to another partition."""
    return write.deed == "update" and not set(declared.key.partition_fields).isdisjoint(write.changes)


def partitions_of(declared: DeclaredSet, key: Key, *, buckets: int = 1) -> Partitions:
    """Return the partitions of rows of a set, or of what is derived from it."""
    inserts = sum(write.rate for write in declared.writes if write.deed == "insert")
    shape = declared.shape
    if not shape.count:
        # A set that is empty yet is looked at as it is after a year
        shape = replace(shape, count=round(shape.growth) or round(inserts * SECONDS))
    return Partitions.of(key, shape, inserts=inserts, buckets=buckets)


def primaries(declared: DeclaredSet) -> Partitions:
    """Return the partitions of the primary rows of a set."""
    buckets = 1
    if declared.pattern == "partition_spread":
        told = declared.settings.get("buckets", _SPREAD_BUCKETS)
        buckets = told if isinstance(told, int) else _SPREAD_BUCKETS
    return partitions_of(declared, declared.key, buckets=buckets)


def _read(measured: Measured, query: Query, curve: Sequence[float]) -> Iterator[Load]:
    declared, work = measured.of, work_of(measured)
    via = next((each for each in declared.derived if each.name == measured.via), None)
    choice: Choice = "partition"
    # A list is read, and each entity by a point query, but what is asked for is a value that many have
    if not isinstance(via, IndexEntities) and measured.query_class in (QueryClass.POINT, QueryClass.TABLE_SCAN):
        choice = "entity" if measured.query_class is QueryClass.POINT else "all"
    own = via.table(declared.table) if via else declared.table
    key = key_of(via, declared.key) if via else None
    if isinstance(via, IndexEntities) and via.is_elsewhere:
        if key is not None:
            yield Load(own, partitions_of(declared, key), "partition", query.skew, curve, 1.0)
            work -= 1.0
        if work > 0:
            yield Load(declared.table, primaries(declared), "all", 0.0, curve, work)
        return
    is_apart = via is not None and via.is_elsewhere and key is not None
    if isinstance(via, Index) and is_apart and _completes(via, measured):
        work -= measured.returned
        yield Load(declared.table, primaries(declared), "all", 0.0, curve, measured.returned)
    partitions = partitions_of(declared, key) if is_apart and key else primaries(declared)
    yield Load(own, partitions, choice, query.skew, curve, work, query.take is not None and choice == "partition")


def _completes(via: Index, measured: Measured) -> bool:
    """Whether the entity of each copy is read too, since a copy does not hold all that is wanted."""
    is_partial: bool = getattr(via, "include", None) is not None
    return is_partial and 0 < measured.returned < measured.examined and measured.requests > 1


def _written(design: Design, measured: Measured, write: Write, curve: Sequence[float]) -> Iterator[Load]:
    declared, left = measured.of, work_of(measured)
    choice: Choice = "new" if write.deed == "insert" else "entity"
    for table, partitions, kind, most in _besides(design, declared, write, choice):
        work = min(most, left)
        left -= work
        if work > 0:
            yield Load(table, partitions, kind, write.skew, curve, work)
    if left > 0:
        yield Load(declared.table, primaries(declared), choice, write.skew, curve, left)


def _besides(
    design: Design, declared: DeclaredSet, write: Write, choice: Choice
) -> Iterator[tuple[str, Partitions, Choice, float]]:
    """Hand out where a write works besides the partition of its entity, how it comes to be there, and how much."""
    for each in declared.derived:
        key = key_of(each, declared.key)
        if each.is_elsewhere and key is not None and touches(each, write):
            # A row that several entities share is read before it is written; one that moves is written in two places
            most = 2.0 if each.shares_rows or moves(each, write) else 1.0
            yield each.table(declared.table), partitions_of(declared, key), choice, most
    for other in design.sets:
        for belonging in other.writes:
            if belonging.name in write.together and other is not declared:
                yield other.table, primaries(other), "new" if belonging.deed == "insert" else "entity", 1.0
