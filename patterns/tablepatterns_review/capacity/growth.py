"""Bytes stored per set, and the service limits that a design approaches as it grows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from tablepatterns import limits
from tablepatterns.entity_set.derived import Derived
from tablepatterns.filters import QueryClass
from tablepatterns.recipes.blob_log.blob_log import BLOCK_BYTES, MAX_NUMBER

from ..design.archives import archive_write
from ..design.model import DeclaredLog, DeclaredSet, Design, Query, Shape, Write
from ..estimate import pages
from ..kinds import kind_of
from ..measure.log_pace import blobs_an_hour, entries_of, line_bytes
from ..measure.sample import names_one, values_in, values_of
from ..model import LimitUse, Measured
from .load import key_of, moves, moves_away, partitions_of, primaries, touched
from .sizes import archived_size, derived_sizes, entry_size, key_units, list_size, primary_sizes, rows_of


@dataclass(frozen=True)
class Volume:
    """Bytes by service."""

    tables: float
    blobs: float


def grown(shape: Shape, years: float) -> float:
    """Return the number of entities after a number of years."""
    count, most = max(0.0, shape.count + shape.net_growth * years), shape.moves.most
    return count if most is None else min(count, max(most, shape.count))


def volume_of(declared_part: DeclaredSet | DeclaredLog, years: float) -> Volume:
    """Return the size of a set or a blob log after a number of years.

    :param declared_part: the set or the log
    :param years: how many years from now
    """
    if isinstance(declared_part, DeclaredLog):
        return Volume(0.0, entries_of(declared_part, years) * line_bytes(declared_part))
    count = grown(declared_part.shape, years)
    sizes = primary_sizes(declared_part)
    tables, blobs = sizes.row * rows_of(declared_part) * count, sizes.blobs * count
    for derived in declared_part.derived:
        copies = derived_sizes(declared_part, derived)
        if copies is not None:
            tables += copies.row * count
            continue
        lists = _lists(declared_part, derived, count)
        if not declared_part.profile(derived).in_table:
            blobs += lists
        else:
            tables += lists
    if declared_part.archive is not None and declared_part.archive.container is not None:
        blobs += archived_size(declared_part) * (declared_part.archive.count + _archived(declared_part.shape, years))
    return Volume(tables, blobs)


def _archived(shape: Shape, years: float) -> float:
    """Return the number of entities that are archived in a number of years: no more than there are."""
    archived = shape.moves.archived
    return max(0.0, min(archived * years, shape.count + (shape.net_growth + archived) * years))


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
# The entities that a partition serves before a page of a query ends
_ENTITIES_IN_TIME: Final = limits.PARTITION_ENTITIES_PER_SECOND * limits.MAX_QUERY_TIME.total_seconds()


@dataclass(frozen=True)
class _Use:
    """The use of a limit."""

    limit: str
    subject: str
    now: float
    then: float
    most: float


def in_sight(design: Design, measured_sets: Iterable[Measured]) -> tuple[LimitUse, ...]:
    """Return the limits that are nearly or completely used after the declared growth, the most used first.

    :param design: the design
    :param measured_sets: the cost of one call of each access pattern

    Guide: limits per entity; capacity; entity group transactions; scalability targets.
    """
    uses = _uses(design, measured_sets)
    near = [use for use in uses if max(use.now, use.then) >= IN_SIGHT * use.most]
    near.sort(key=lambda use: (-use.then / use.most, use.limit, use.subject))
    return tuple(
        LimitUse(use.limit, use.subject, use.now, use.then, use.most, _reached(use, design.years)) for use in near
    )


def _uses(design: Design, measured_sets: Iterable[Measured]) -> list[_Use]:
    uses = [use for declared_set in design.sets for use in _of_set(declared_set, design.years)]
    uses += [use for measured_set in measured_sets for use in _of_query(measured_set, design.years)]
    uses += [use for declared_set in design.sets for use in _of_messages(declared_set)]
    uses += [use for log in design.logs for use in _of_log(log)]
    return [*uses, *_of_account(design)]


def _grown_shape(shape: Shape, years: float) -> Shape:
    return replace(shape, count=round(grown(shape, years)))


def grown_call(measured_set: Measured, years: float) -> Measured:
    """Return what a call takes after so many years: a query that finds more entities takes more pages."""
    if isinstance(measured_set.of, DeclaredLog):
        # A span of a log has as many entries in each year
        return measured_set
    factor = grows(measured_set, years)
    of = replace(measured_set.of, shape=_grown_shape(measured_set.of.shape, years))
    if factor == 1:
        return replace(measured_set, of=of)
    via = next((derived for derived in measured_set.of.derived if derived.name == measured_set.via), None)
    calls = factor
    if via is None or measured_set.of.profile(via).finder != "find_all":
        calls = _pages(measured_set, factor) / _pages(measured_set, 1)
    return replace(
        measured_set,
        of=of,
        requests=measured_set.requests * calls,
        transactions=measured_set.transactions * calls,
        examined=measured_set.examined * factor,
        returned=measured_set.returned * factor,
        queue_operations=measured_set.queue_operations * calls,
        blob_reads=measured_set.blob_reads * calls,
        blob_writes=measured_set.blob_writes * calls,
        blob_deletes=measured_set.blob_deletes * calls,
    )


def _pages(measured_set: Measured, factor: float) -> float:
    """Return the number of pages of a query whose results have grown by a factor.

    A page of a table scan continues in the next partition; otherwise, each partition starts a new page.
    """
    partitions = 1.0 if measured_set.query_class is QueryClass.TABLE_SCAN else max(1.0, measured_set.partitions)
    return pages(measured_set.returned * factor / partitions, measured_set.examined * factor / partitions)


def grows(measured_set: Measured, years: float) -> float:
    """Return the factor by which the rows that a query reads grow in a number of years.

    A scan and a list of entities read more as the number of entities grows. So does an open range, unless new entities
    are in new partitions.
    """
    if isinstance(measured_set.of, DeclaredLog):
        return 1.0
    query, shape = measured_set.access, measured_set.of.shape
    if not isinstance(query, Query) or not shape.count:
        return 1.0
    factor = grown(shape, years) / shape.count
    via = next((derived for derived in measured_set.of.derived if derived.name == measured_set.via), None)
    if via is not None and measured_set.of.profile(via).finder == "find_all":
        return 1.0 if names_one(measured_set.of.shape, measured_set.of.profile(via).groups) else factor
    if measured_set.query_class is QueryClass.TABLE_SCAN:
        return factor
    if measured_set.query_class in (None, QueryClass.POINT):
        return 1.0
    if query.take is not None and measured_set.query_class is QueryClass.RANGE:
        return 1.0
    key = key_of(via, measured_set.of.key) if via else None
    partitions = partitions_of(measured_set.of, key) if key else primaries(measured_set.of)
    return 1.0 if partitions.multiply else factor


def _reached(use: _Use, years: float) -> float | None:
    """Return the number of years until a limit is reached, by linear growth; None if it is not reached."""
    if use.now >= use.most:
        return 0.0
    if use.then < use.most:
        return None
    return years * (use.most - use.now) / (use.then - use.now)


def _of_set(declared_set: DeclaredSet, years: float) -> Iterator[_Use]:
    sizes, fields = primary_sizes(declared_set), declared_set.shape.fields
    is_wide = kind_of(declared_set).is_wide
    rows, properties = (_WIDE_ROWS, _WIDE_ROWS * _WIDE_PROPERTIES) if is_wide else (1, limits.MAX_CUSTOM_PROPERTIES)
    most = rows * _WIDE_BYTES if is_wide else limits.MAX_ENTITY_BYTES
    yield _fixed("bytes of an entity", declared_set.name, sizes.most, most)
    yield _fixed("properties of an entity", declared_set.name, sizes.properties, properties)
    yield _fixed("bytes of a property", declared_set.name, sizes.value, limits.MAX_STRING_BYTES)
    keys = [(declared_set.name, declared_set.key)]
    for derived in declared_set.derived:
        key = key_of(derived, declared_set.key)
        keys += [(_derived_name(declared_set, derived), key)] if key else []
    for name, key in keys:
        partition, row = key_units(key, fields, largest=True)
        yield _fixed("characters of a PartitionKey", name, partition, key.max_units)
        yield _fixed("characters of a RowKey", name, row, key.max_units)
    for derived in declared_set.derived:
        yield from _of_list(declared_set, derived, years)
    for write in declared_set.writes:
        yield from _of_write(declared_set, write, years)


def _fixed(limit: str, subject: str, used: float, most: float) -> _Use:
    return _Use(limit, subject, float(used), float(used), float(most))


def _derived_name(declared_set: DeclaredSet, derived: Derived) -> str:
    return f"{declared_set.name}: {derived.name}"


def _of_list(declared_set: DeclaredSet, derived: Derived, years: float) -> Iterator[_Use]:
    """Yield the use of the longest list of entities."""
    now, then = (
        _longest(declared_set, derived, count) for count in (declared_set.shape.count, grown(declared_set.shape, years))
    )
    if then:
        room = limits.MAX_ENTITY_BYTES - _LIST_ROOM
        yield _Use("bytes of a list of entities", _derived_name(declared_set, derived), now, then, room)


def _longest(declared_set: DeclaredSet, derived: Derived, count: float) -> float:
    """Return the bytes of the list of the most frequent value; 0 if there is none, or it has no limit."""
    entry = entry_size(declared_set, derived)
    profile = declared_set.profile(derived)
    if not entry or not profile.in_table:
        return 0.0
    fields = profile.groups
    share = (
        0.0
        if names_one(declared_set.shape, fields)
        else math.prod(_largest_share(declared_set, name) for name in fields)
    )
    return list_size(declared_set, derived) + entry * max(1.0, count * share / profile.spread)


def _largest_share(declared_set: DeclaredSet, name: str) -> float:
    return values_of(declared_set.shape, name).share(1)


def _of_write(declared_set: DeclaredSet, write: Write, years: float) -> Iterator[_Use]:
    """Yield the use of a transaction by a write, including derived rows."""
    if kind_of(declared_set).is_wide:
        return
    name = f"{declared_set.name}: {write.name}"
    local = [derived for derived in touched(declared_set, write) if not derived.is_eventual]
    operations = 1 + sum(2 if moves(declared_set, derived, write) else 1 for derived in local)
    yield _fixed("operations of a transaction", name, operations, limits.MAX_TRANSACTION_OPERATIONS)
    now, then = (
        primary_sizes(declared_set).payload + sum(_payload(declared_set, derived, count) for derived in local)
        for count in (float(declared_set.shape.count), grown(declared_set.shape, years))
    )
    yield _Use("bytes of a transaction", name, now, then, limits.MAX_TRANSACTION_BYTES)


def _payload(declared_set: DeclaredSet, derived: Derived, count: float) -> float:
    """Return the payload bytes of a derived row in a transaction."""
    sizes = derived_sizes(declared_set, derived)
    # A list is sent as UTF-8, but stored as UTF-16
    return sizes.payload if sizes else _longest(declared_set, derived, count) / 2


def _of_query(measured_set: Measured, years: float) -> Iterator[_Use]:
    """Yield the use of a page's time limit by a query of one partition."""
    if (
        isinstance(measured_set.access, Query)
        and isinstance(measured_set.of, DeclaredSet)
        and measured_set.partitions <= 1
    ):
        name = f"{measured_set.of.name}: {measured_set.access.name}"
        then = measured_set.examined * grows(measured_set, years)
        yield _Use("entities that a partition serves in 5 s", name, measured_set.examined, then, _ENTITIES_IN_TIME)


def _of_messages(declared_set: DeclaredSet) -> Iterator[_Use]:
    """Yield the use of a queue by intent messages at the busiest time; each is deleted when it is processed."""
    announced = [
        write
        for write in declared_set.writes
        if moves_away(declared_set, write) or any(derived.is_eventual for derived in touched(declared_set, write))
    ]
    used = 2 * sum(write.busiest for write in announced)
    yield _fixed("messages of a queue in a second", declared_set.name, used, limits.QUEUE_MESSAGES_PER_SECOND)
    archive = archive_write(declared_set)
    if archive is not None:
        subject, used = f"{declared_set.name}: {archive.name}", 2 * archive.busiest
        yield _fixed("messages of an archive in a second", subject, used, limits.QUEUE_MESSAGES_PER_SECOND)


def _of_log(log: DeclaredLog) -> Iterator[_Use]:
    yield _fixed("bytes of a log entry", log.name, line_bytes(log), BLOCK_BYTES)
    yield _fixed("blobs of a log in an hour", log.name, blobs_an_hour(log), MAX_NUMBER)


def _of_account(design: Design) -> Iterator[_Use]:
    def total(years: float) -> float:
        volumes = [volume_of(declared_part, years) for declared_part in design.parts]
        return sum(volume.tables + volume.blobs for volume in volumes)

    yield _Use("bytes of the account", design.name, total(0.0), total(design.years), limits.ACCOUNT_CAPACITY_BYTES)
