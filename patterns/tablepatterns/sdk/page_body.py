"""Convert the JSON of a response to entities, in a fraction of the SDK's time."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import UUID

from ..edm import Int64, ticks_of
from ..entity import WRITE_ID, Entity, entity_of_row
from ..limits import INT32_MAX, INT32_MIN
from ..write_id import WriteIds, from_bytes

_TYPE: Final = "@odata.type"
_TEXT: Final = "Edm.String"
_AS_THEY_ARE: Final = frozenset({_TEXT, "Edm.Int32"})
_MAX_LAYOUTS: Final = 2048
"""A program has few layouts, unless it uses data as property names."""
_UNKNOWN: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Raised on a response of another form, or a value of another type."""

Row = dict[str, Any]
Convert = Callable[[Any], Any]


class _Layout(NamedTuple):
    """How rows with certain names and JSON types are read."""

    types: Callable[[Row], Any]
    """Returns the type names that a row states."""
    stated: Any
    """The type names of this layout."""
    names: tuple[str, ...]
    values: Callable[[Row], Any]
    converted: tuple[tuple[str, Convert], ...]
    has_ids: bool
    """Whether the row keeps the ids of its last writes."""


_layouts: Final[dict[object, _Layout]] = {}


def entities_of(page: Any) -> list[Entity] | None:
    """Return the entities of a page, as `received` makes them of what the SDK returns.

    Returns None if the SDK must read the response.

    :param page: the decoded body of a response with status 200
    """
    try:
        rows: list[Row] = page["value"]
        ids: dict[str, WriteIds] = {}
        return [_entity(row, ids) for row in rows] if type(rows) is list else None
    except _UNKNOWN:
        return None


def entity_of(row: Any) -> Entity | None:
    """Return the entity of a response to a point query, as `entities_of` does."""
    try:
        return _entity(row, {})
    except _UNKNOWN:
        return None


def _entity(row: Row, ids: dict[str, WriteIds]) -> Entity:
    # Rows of one kind have the same names and types, so most of the work is done once
    shape = (*row, *map(type, row.values()))
    layout = _layouts.get(shape)
    if layout is None or layout.types(row) != layout.stated:
        layout = _layout_of(row)
        if len(_layouts) < _MAX_LAYOUTS:
            _layouts[shape] = layout
    write_ids: WriteIds = ()
    if layout.has_ids:
        text = row[WRITE_ID]
        # A transaction stores the same ids in all its rows
        write_ids = ids.get(text) or ids.setdefault(text, from_bytes(a2b_base64(text)))
    timestamp: str | None = row.get("Timestamp")
    etag: str | None = row.get("odata.etag")
    if timestamp and not etag:
        etag = f"W/\"datetime'{quote(timestamp)}'\""
    entity = entity_of_row(zip(layout.names, layout.values(row), strict=True), etag, timestamp, write_ids)
    for name, convert in layout.converted:
        entity[name] = convert(entity[name])
    return entity


def _layout_of(row: Row) -> _Layout:
    types = tuple(name for name in row if name.endswith(_TYPE))
    names = [name for name in row if not _is_metadata(name)]
    # A property that the service does not have, but was asked for, is null
    names = [name for name in names if row[name] is not None or row.get(name + _TYPE, _TEXT) not in _AS_THEY_ARE]
    # The SDK puts the keys first
    keys = [name for name in ("PartitionKey", "RowKey") if name in names]
    names = [*keys, *(name for name in names if name not in keys)]
    stated = {name.removesuffix(_TYPE): row[name] for name in types}
    names = [name for name in names if name != WRITE_ID]
    converted = [(name, _converter(row[name], stated.get(name))) for name in names if name not in keys]
    type_names = _types_of(types)
    return _Layout(
        type_names,
        type_names(row),
        tuple(names),
        _values_of(tuple(names)),
        tuple((name, convert) for name, convert in converted if convert is not None),
        stated.get(WRITE_ID) == "Edm.Binary",
    )


def _is_metadata(name: str) -> bool:
    return name.startswith("odata.") or name.endswith(_TYPE) or name == "Timestamp"


def _types_of(names: tuple[str, ...]) -> Callable[[Row], Any]:
    return itemgetter(names[0]) if len(names) == 1 else _values_of(names)


def _values_of(names: tuple[str, ...]) -> Callable[[Row], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda row: (row[names[0]],) if names else ()


def _converter(value: object, stated: str | None) -> Convert | None:
    """Return the function that converts a JSON value to a property; None if there is nothing to convert.

    :raises KeyError: the SDK must read this type
    """
    if stated is None:
        if type(value) is int:
            return _integer
        if type(value) in (str, bool, float):
            return None
        raise KeyError(type(value))
    return None if stated in _AS_THEY_ARE else _CONVERTERS[stated]


def _integer(value: int) -> int:
    return value if INT32_MIN <= value <= INT32_MAX else Int64(value)


def _int64(value: str) -> Int64:
    return Int64(int(value))


def _moment(text: str) -> datetime | int:
    """Return a datetime, or `Ticks` if the seventh digit of the fraction is not 0."""
    if len(text) == 28 and text[26:] == "0Z":
        return datetime.fromisoformat(f"{text[:26]}+00:00")
    if len(text) == 20 and text[19] == "Z":
        return datetime.fromisoformat(f"{text[:19]}+00:00")
    if text[-1:] != "Z":
        raise ValueError(text)
    ticks = ticks_of(text)
    return ticks if ticks % 10 else ticks.datetime()


_CONVERTERS: Final[Mapping[str, Convert]] = {
    "Edm.Int64": _int64,
    "Edm.Double": float,
    "Edm.DateTime": _moment,
    "Edm.Guid": UUID,
    "Edm.Binary": a2b_base64,
}
