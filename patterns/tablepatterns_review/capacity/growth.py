"""Bytes stored per set, and the service limits that a design approaches as it grows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple

from tablepatterns import limits
from tablepatterns.entity_set.derived import Derived
from tablepatterns.filters import QueryClass

from ..design.distribution import busiest_share, names_one, values_in
from ..design.model import DeclaredSet, Design, Query, Shape, part_of
from ..design.writes import archive_write, moves, moves_away, touched
from ..kinds import kind_of
from ..plans.estimate import pages
from ..plans.sizes import archived_size, derived_sizes, entry_size, key_units, list_size, primary_sizes, rows_of
from ..result import LimitUse, Measured
from .hot_partitions import partitions_of


class Volume(NamedTuple):
    """Bytes by service."""

    tables: float
    blobs: float


def grown(shape: Shape, years: float) -> float:
    count, most = max(0.0, shape.count + shape.net_growth * years), shape.moves.most
    return count if most is None else min(count, max(most, shape.count))


def volume_of(declared_set: DeclaredSet, years: float) -> Volume:
    count = grown(declared_set.shape, years)
    sizes = primary_sizes(declared_set)
    tables, blobs = sizes.row * rows_of(declared_set) * count, sizes.blobs * count
    for derived in declared_set.derived:
        copies = derived_sizes(declared_set, derived)
        size = _lists(declared_set, derived, count) if copies is None else copies.row * count
        if declared_set.profile(derived).in_table:
            tables += size
        else:
            blobs += size
    if declared_set.archive is not None and declared_set.archive.container is not None:
        # No more are archived than there are
        shape, archived = declared_set.shape, declared_set.shape.moves.archived
        moved = max(0.0, min(archived * years, shape.count + (shape.net_growth + archived) * years))
        blobs += archived_size(declared_set) * (declared_set.archive.count + moved)
    return Volume(tables, blobs)


def _lists(declared_set: DeclaredSet, derived: Derived, count: float) -> float:
    """Return the bytes of rows that several entities share, and of their lists."""
    profile = declared_set.profile(derived)
    if not profile.is_shared or not count:
        return 0.0
    shape = replace(declared_set.shape, count=math.ceil(count))
    rows = min(count, values_in(shape, profile.groups) * profile.spread)
    return rows * list_size(declared_set, derived) + count * entry_size(declared_set, derived)


IN_SIGHT: Final = 0.25
"""The share of a limit from which it is reported."""
_WIDE_ROWS: Final = 49
_WIDE_PROPERTIES: Final = 250
_WIDE_BYTES: Final = 960 * limits.KIB
"""The number of rows of a wide entity, and the size of each."""
_LIST_ROOM: Final = 256
"""The bytes of a list's row that are reserved for the properties of every row."""
_SEVERAL: Final = 1.5
# The entities that a partition serves before a page of a query ends
_ENTITIES_IN_TIME: Final = limits.PARTITION_ENTITIES_PER_SECOND * limits.MAX_QUERY_TIME.total_seconds()


def in_sight(design: Design, measured_sets: Iterable[Measured]) -> tuple[LimitUse, ...]:
    """Return the limits that are nearly or completely used after the declared growth, the most used first."""
    uses = chain(
        *(_of_set(declared_set, design.years) for declared_set in design.sets),
        *(_of_query(call, design.years) for call in measured_sets),
        *map(_of_messages, design.sets),
        _of_account(design),
    )
    near = [use for use in uses if max(use.now, use.then) >= IN_SIGHT * use.most]
    near.sort(key=lambda use: (-use.then / use.most, use.limit, use.subject))
    return tuple(replace(use, reached=_reached(use, design.years)) for use in near)


def _use(limit: str, subject: str, most: float, now: float, then: float | None = None) -> LimitUse:
    """Return the use of a limit; `then` is None if it does not grow."""
    return LimitUse(limit, subject, float(now), float(now if then is None else then), float(most), None)


def _reached(use: LimitUse, years: float) -> float | None:
    """Return the number of years until a limit is exceeded, by linear growth; None if it is not exceeded."""
    if use.now > use.most:
        return 0.0
    return None if use.then <= use.most else years * (use.most - use.now) / (use.then - use.now)


def grown_call(call: Measured, years: float) -> Measured:
    """Return what a call takes after so many years: a query that finds more entities takes more pages."""
    factor, shape, via = grows(call, years), call.of.shape, call.derived
    pages = factor
    if factor != 1 and (via is None or call.of.profile(via).finder != "find_all"):
        pages = _pages(call, factor) / _pages(call, 1)
    return replace(
        call,
        of=replace(call.of, shape=replace(shape, count=round(grown(shape, years)))),
        requests=call.requests * pages,
        transactions=call.transactions * pages,
        examined=call.examined * factor,
        returned=call.returned * factor,
        queue_operations=call.queue_operations * pages,
        blob_reads=call.blob_reads * pages,
        blob_writes=call.blob_writes * pages,
        blob_deletes=call.blob_deletes * pages,
    )


def _pages(call: Measured, factor: float) -> float:
    """Return the number of pages of a query whose results have grown by a factor.

    A page of a table scan continues in the next partition; otherwise, each partition starts a new page.
    """
    partitions = 1.0 if call.query_class is QueryClass.TABLE_SCAN else max(1.0, call.partitions)
    return pages(call.returned * factor / partitions, call.examined * factor / partitions)


def grows(call: Measured, years: float) -> float:
    """Return the factor by which the rows that a query reads grow in a number of years.

    A scan and a list of entities read more as the number of entities grows. So does an open range, unless new entities
    are in new partitions.
    """
    if not isinstance(call.access, Query) or not call.of.shape.count:
        return 1.0
    shape, via = call.of.shape, call.derived
    factor = grown(shape, years) / shape.count
    if via is not None and call.of.profile(via).finder == "find_all":
        return 1.0 if names_one(shape, call.of.profile(via).groups) else factor
    if call.query_class is QueryClass.TABLE_SCAN:
        return factor
    has_end = call.access.take is not None and call.query_class is QueryClass.RANGE
    if call.query_class in (None, QueryClass.POINT) or has_end:
        return 1.0
    return 1.0 if partitions_of(call.of, via).multiply else factor


def _of_set(declared_set: DeclaredSet, years: float) -> Iterator[LimitUse]:
    set_name, sizes, is_wide = declared_set.name, primary_sizes(declared_set), kind_of(declared_set).is_wide
    rows, properties = (_WIDE_ROWS, _WIDE_ROWS * _WIDE_PROPERTIES) if is_wide else (1, limits.MAX_CUSTOM_PROPERTIES)
    yield _use("bytes of an entity", set_name, rows * _WIDE_BYTES if is_wide else limits.MAX_ENTITY_BYTES, sizes.most)
    yield _use("properties of an entity", set_name, properties, sizes.properties)
    yield _use("bytes of a property", set_name, limits.MAX_STRING_BYTES, sizes.value)
    keys = [(part_of(set_name, derived.name), profile.table_key) for derived, profile in declared_set.profiles()]
    for name, key in [(set_name, declared_set.key), *keys]:
        if key is not None:
            partition, row = key_units(key, declared_set.shape.fields, largest=True)
            yield _use("characters of a PartitionKey", name, key.max_units, partition)
            yield _use("characters of a RowKey", name, key.max_units, row)
    counts = declared_set.shape.count, grown(declared_set.shape, years)
    for derived in declared_set.derived:
        now, then = (_longest(declared_set, derived, count) for count in counts)
        if then:
            name, room = part_of(set_name, derived.name), limits.MAX_ENTITY_BYTES - _LIST_ROOM
            yield _use("bytes of a list of entities", name, room, now, then)
    for write in () if is_wide else declared_set.writes:
        local = [derived for derived in touched(declared_set, write) if not derived.is_eventual]
        operations = 1 + sum(2 if moves(declared_set, derived, write) else 1 for derived in local)
        name = part_of(set_name, write.name)
        yield _use("operations of a transaction", name, limits.MAX_TRANSACTION_OPERATIONS, operations)
        now, then = (
            sizes.payload + sum(_payload(declared_set, derived, count) for derived in local) for count in counts
        )
        yield _use("bytes of a transaction", name, limits.MAX_TRANSACTION_BYTES, now, then)


def _longest(declared_set: DeclaredSet, derived: Derived, count: float) -> float:
    """Return the bytes of the list of the most frequent value; 0 if there is none, or it has no limit."""
    entry, profile, shape = entry_size(declared_set, derived), declared_set.profile(derived), declared_set.shape
    if not entry or not profile.in_table:
        return 0.0
    share = 0.0 if names_one(shape, profile.groups) else busiest_share(shape, profile.groups)
    return list_size(declared_set, derived) + entry * max(1.0, count * share / profile.spread)


def _payload(declared_set: DeclaredSet, derived: Derived, count: float) -> float:
    sizes = derived_sizes(declared_set, derived)
    # A list is sent as UTF-8, but stored as UTF-16
    return sizes.payload if sizes else _longest(declared_set, derived, count) / 2


def _of_query(call: Measured, years: float) -> Iterator[LimitUse]:
    """Yield the use of a page's time limit by a query that mostly reads one partition."""
    if isinstance(call.access, Query) and call.partitions < _SEVERAL:
        name, then = call.subject, call.examined * grows(call, years)
        yield _use("entities that a partition serves in 5 s", name, _ENTITIES_IN_TIME, call.examined, then)


def _of_messages(declared_set: DeclaredSet) -> Iterator[LimitUse]:
    """Yield the use of a queue by messages at the busiest time; each is deleted when it is processed."""
    most = limits.QUEUE_MESSAGES_PER_SECOND
    intents = sum(
        write.busiest
        for write in declared_set.writes
        if moves_away(declared_set, write) or any(derived.is_eventual for derived in touched(declared_set, write))
    )
    yield _use("messages of a queue in a second", declared_set.name, most, 2 * intents)
    archive = archive_write(declared_set)
    if archive is not None:
        name = part_of(declared_set.name, archive.name)
        yield _use("messages of an archive in a second", name, most, 2 * archive.busiest)


def _of_account(design: Design) -> Iterator[LimitUse]:
    now, then = (sum(sum(volume_of(part, years)) for part in design.sets) for years in (0.0, design.years))
    yield _use("bytes of the account", design.name, limits.ACCOUNT_CAPACITY_BYTES, now, then)
