"""Entities and table names as JSON, at three levels of metadata.

Text is escaped to ASCII, so that any string a client may store can be sent back, half a surrogate pair included.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite
from typing import Any, Final, TypeAlias
from urllib.parse import quote
from uuid import UUID

from ...edm import Int64, Ticks
from ...limits import SYSTEM_PROPERTIES
from ..entities import Entity
from .formats import Level

_Writer: TypeAlias = Callable[[str, Any], str]


class Renderer:
    """Write the answers about one table, or about the list of tables.

    :param account: the account's name
    :param base: the account's endpoint
    :param table: the table's name, or `Tables`
    """

    __slots__ = ("_account", "_base", "_level", "_table")

    def __init__(self, account: str, base: str, table: str, level: Level) -> None:
        self._account = account
        self._base = base
        self._table = table
        self._level = level

    @property
    def content_type(self) -> str:
        """The content type of the answers."""
        return self._level.value

    def entity(self, entity: Entity, select: str | None = None) -> bytes:
        """Return the answer to a point query, or the echo of an insert.

        :param select: the query option `$select` as it came
        """
        return f"{{{self._metadata('/@Element', select)}{self._row(entity, _selected(select))}}}".encode()

    def entities(self, entities: Sequence[Entity], select: str | None) -> bytes:
        """Return a page of a query.

        :param select: the query option `$select` as it came
        """
        names = _selected(select)
        return self._list([self._row(entity, names) for entity in entities], select)

    def table(self, name: str) -> bytes:
        """Return the echo of a table's creation."""
        return f"{{{self._metadata('/@Element')}{self._entry(name)}}}".encode()

    def tables(self, names: Iterable[str]) -> bytes:
        """Return a page of the list of tables."""
        return self._list([self._entry(name) for name in names])

    def _list(self, rows: Sequence[str], select: str | None = None) -> bytes:
        body = f"{{{'},{'.join(rows)}}}" if rows else ""
        return f'{{{self._metadata("", select)}"value":[{body}]}}'.encode()

    def _metadata(self, suffix: str, select: str | None = None) -> str:
        if self._level is Level.NONE:
            return ""
        selection = "" if select is None else f"&$select={select.strip()}"
        return f'"odata.metadata":{quoted(f"{self._base}/$metadata#{self._table}{suffix}{selection}")},'

    def _row(self, entity: Entity, names: Sequence[str] | None) -> str:
        if names is None:
            fields = _all_fields(entity, self._level)
        else:
            fields = [_selected_field(entity, name, self._level) for name in names]
        if self._level is not Level.NONE:
            fields.insert(0, self._control(entity))
        return ",".join(fields)

    def _control(self, entity: Entity) -> str:
        etag = f'"odata.etag":{quoted(entity.etag)}'
        if self._level is Level.MINIMAL:
            return etag
        return self._links(entity_path(self._table, entity.partition_key, entity.row_key), etag + ",")

    def _entry(self, name: str) -> str:
        links = self._links(table_path(name)) + "," if self._level is Level.FULL else ""
        return f'{links}"TableName":{quoted(name)}'

    def _links(self, path: str, between: str = "") -> str:
        kind = quoted(f"{self._account}.{self._table}")
        return (
            f'"odata.type":{kind},"odata.id":{quoted(f"{self._base}/{path}")},{between}"odata.editLink":{quoted(path)}'
        )


def entity_path(table: str, partition_key: str, row_key: str) -> str:
    """Return the path of an entity below the endpoint, percent-encoded, quotes doubled."""
    return f"{quote(table)}(PartitionKey='{_key(partition_key)}',RowKey='{_key(row_key)}')"


def table_path(name: str) -> str:
    """Return the path of a table in the list of tables."""
    return f"Tables('{quote(name)}')"


def _key(key: str) -> str:
    return key if key.isalnum() and key.isascii() else quote(key.replace("'", "''"), safe="'", errors="surrogatepass")


def _selected(select: str | None) -> Sequence[str] | None:
    """Return the names that `$select` lists, None for all: without it, where it is blank, and for a star."""
    if select is None:
        return None
    names = dict.fromkeys(name.strip() for name in select.split(","))
    names.pop("", None)
    return None if not names or "*" in names else list(names)


def _all_fields(entity: Entity, level: Level) -> list[str]:
    """Return the members of an entity in the service's order: the system's properties first."""
    moment = entity.timestamp.iso()
    note = '"Timestamp@odata.type":"Edm.DateTime",' if level is Level.FULL else ""
    system = (
        f'"PartitionKey":{quoted(entity.partition_key)},"RowKey":{quoted(entity.row_key)},{note}"Timestamp":"{moment}"'
    )
    write = _BARE if level is Level.NONE else _NOTED
    return [system, *[write[type(value)](name, value) for name, value in entity.properties.items()]]


def _selected_field(entity: Entity, name: str, level: Level) -> str:
    """Return one selected member; a property that the entity lacks is null."""
    value = entity.get(name)
    if value is None:
        return f"{_label(name)}null"
    bare = level is Level.NONE or (level is Level.MINIMAL and name in SYSTEM_PROPERTIES)
    return (_BARE if bare else _NOTED)[type(value)](name, value)


@lru_cache(maxsize=4096)
def _label(name: str) -> str:
    return f"{quoted(name)}:"


@lru_cache(maxsize=4096)
def _noted_label(name: str, edm: str) -> str:
    return f'{quoted(name + "@odata.type")}:"{edm}",{quoted(name)}:'


def _bare(spell: Callable[[Any], str]) -> _Writer:
    return lambda name, value: _label(name) + spell(value)


def _noted(edm: str, spell: Callable[[Any], str]) -> _Writer:
    return lambda name, value: _noted_label(name, edm) + spell(value)


def _noted_double(name: str, value: float) -> str:
    """Return a double: a number has a point or an exponent, which tells it from an integer; the others are named."""
    return _label(name) + repr(value) if isfinite(value) else _noted_label(name, "Edm.Double") + _double(value)


def _double(value: float) -> str:
    return repr(value) if isfinite(value) else _NAMED_DOUBLES[repr(value)]


_NAMED_DOUBLES: Final = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}

# JSON has a type of its own for the first three; a value of the others is a string, so it needs a note
_PLAIN: Final[dict[type[Any], Callable[[Any], str]]] = {
    str: quoted,
    bool: lambda value: "true" if value else "false",
    int: str,
}
_SPELLED: Final[dict[type[Any], tuple[str, Callable[[Any], str]]]] = {
    Int64: ("Edm.Int64", lambda value: f'"{int(value)}"'),
    Ticks: ("Edm.DateTime", lambda value: f'"{value.iso()}"'),
    UUID: ("Edm.Guid", lambda value: f'"{value}"'),
    bytes: ("Edm.Binary", lambda value: f'"{b64encode(value).decode()}"'),
}
_BARE: Final[dict[type[Any], _Writer]] = {
    **{kind: _bare(spell) for kind, spell in _PLAIN.items()},
    **{kind: _bare(spell) for kind, (_, spell) in _SPELLED.items()},
    float: _bare(_double),
}
_NOTED: Final[dict[type[Any], _Writer]] = {
    **{kind: _bare(spell) for kind, spell in _PLAIN.items()},
    **{kind: _noted(edm, spell) for kind, (edm, spell) in _SPELLED.items()},
    float: _noted_double,
}
