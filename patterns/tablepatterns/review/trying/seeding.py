"""Seeding: the rows that entities and their derived data are kept in, worked out without a request.

They are the rows that the recipes would write, which a test holds together. Values that stand elsewhere, in blobs or
encrypted, are written by the recipes themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any, Final, TypeAlias

from ...deriving.derived import Derived, Index, Keys, Shape
from ...deriving.whereabouts import InBlobs
from ...edm import Ticks
from ...entity import WRITE_ID
from ...entity_set import EntitySet
from ...recipes.index_entities import IndexEntities
from ...recipes.summary import Summary
from ...storage import Storage

_ID: Final = bytes(16)
"""As many bytes as the id of a write takes, which every row has."""

Row: TypeAlias = tuple[str, str, str, dict[str, Any]]
"""Table, PartitionKey, RowKey and properties."""


def rows_of(entities: EntitySet[Storage], made: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Hand out the rows of these entities, and of what is derived from them in tables.

    :param entities: the set that keeps them
    :param made: the fields of each entity
    """
    table = entities.table.name
    for fields in made:
        yield _row(table, entities.primary, fields)
    for derived in entities.derived:
        yield from _derived_rows(entities, derived, made)


def _derived_rows(entities: EntitySet[Storage], derived: Derived, made: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    table = derived.table(entities.table.name)
    match derived:
        case Index():
            shape = derived.shape(entities.key)
            yield from (_row(table, shape, fields) for fields in made if shape.has_row(fields))
        case IndexEntities() if not isinstance(derived.whereabouts, InBlobs):
            for keys, members in _groups(entities, derived, made).items():
                entries = {entities.key.format(_key_of(entities, fields)): "" for fields in members}
                yield (table, *keys, _stored(derived.roster.properties(keys[0], entries)))
        case Summary():
            for keys, members in _groups(entities, derived, made).items():
                yield (table, *keys, _stored(_totals(entities, derived, keys, members)))
        case _:
            return


def _groups(
    entities: EntitySet[Storage], derived: Derived, made: Iterable[Mapping[str, Any]]
) -> Mapping[Keys, list[Mapping[str, Any]]]:
    groups = defaultdict[Keys, list[Mapping[str, Any]]](list)
    for fields in made:
        for keys in derived.keys(entities.key, fields):
            groups[keys].append(fields)
    return groups


def _totals(
    entities: EntitySet[Storage], derived: Summary, keys: Keys, members: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    parts = {entities.key.format(_key_of(entities, fields)): derived.part(entities.key, fields) for fields in members}
    numbers = {row: part[keys] for row, part in parts.items()}
    totals = derived.named([sum(each) for each in zip(*numbers.values(), strict=True)])
    if not derived.is_elsewhere:
        return totals
    notes = {row: ",".join(map(str, each)) for row, each in numbers.items()}
    return {**totals, **derived.roster.properties(keys[0], notes)}


def _key_of(entities: EntitySet[Storage], fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in entities.key.fields}


def _row(table: str, shape: Shape, fields: Mapping[str, Any]) -> Row:
    properties = shape.row(fields)
    partition_key, row_key = properties.pop("PartitionKey"), properties.pop("RowKey")
    return table, partition_key, row_key, _stored(properties)


def _stored(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in properties.items()} | {WRITE_ID: _ID}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return Ticks.of(value)
    if isinstance(value, date):
        return Ticks.of(datetime(value.year, value.month, value.day, tzinfo=timezone.utc))
    return value


def fill(storage: Storage, rows: Iterable[Row]) -> None:
    """Put rows into the tables of an account in memory, past all requests."""
    tables = defaultdict[str, list[tuple[str, str, dict[str, Any]]]](list)
    for table, partition_key, row_key, properties in rows:
        tables[table].append((partition_key, row_key, properties))
    for table, each in tables.items():
        if storage.engine is not None:
            storage.engine.tables.fill(table, each)
