"""Read and write entities as JSON at the three metadata levels."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby, repeat
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite, isinf
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias
from urllib.parse import quote
from uuid import UUID

from tablepatterns.edm import Int64, Ticks, ordinal, ticks_of
from tablepatterns.limits import INT32_MAX, INT32_MIN, SYSTEM_PROPERTIES

from .. import errors
from ..errors import ServiceError
from .entities import Entity, Names, Value, names_of

_NOTE: Final = "@odata.type"
_BYTE_ORDER_MARK: Final = "\ufeff"
_WHITE_SPACE: Final = " \t\r\n"
"""What JSON allows around a value."""
_INTEGER: Final = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ETAG: Final = '"odata.etag":"W/\\"datetime\'%s\'\\"",'
"""The ETag as a member; only its quotes need an escape."""
_KEYS: Final = '"PartitionKey":%s,"RowKey":%s,'
_MIN_COLUMN: Final = 8
"""From this many rows on, it is faster to write them by column."""
_NON_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Body:
    __slots__ = ("_layout", "_values")

    def __init__(self, members: Sequence[tuple[str, Any]]) -> None:
        self._values: Sequence[Any] = ()
        names: tuple[str, ...] = ()
        if members:
            # Each member is a pair, so a strict zip would only take longer
            names, self._values = zip(*members, strict=False)
        self._layout = _layout_of(names)

    def key(self, name: str) -> str:
        value = self._get(name)
        if value is None:
            raise ServiceError(errors.PROPERTIES_NEED_VALUE)
        if not isinstance(value, str) or self._get(name + _NOTE, "Edm.String") != "Edm.String":
            raise ServiceError(errors.INVALID_INPUT)
        return value

    def _get(self, name: str, default: Any = None) -> Any:
        position = self._layout.positions.get(name)
        return default if position is None else self._values[position]

    def properties(self) -> dict[str, Value]:
        """Return the user's properties as typed values; those that are null are left out."""
        values = self._values
        properties: dict[str, Value] = {}
        try:
            for name, position, note in self._layout.properties:
                value = values[position]
                if value is not None:
                    kind = value.__class__ if note is None else values[note]
                    plain, read = _READERS[kind]
                    if type(value) is not plain:
                        value = read(value)
                    properties[name] = value
            return properties
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ServiceError(errors.INVALID_INPUT) from error


def read_body(body: bytes) -> Body:
    try:
        text = body.decode().removeprefix(_BYTE_ORDER_MARK).strip(_WHITE_SPACE)
        value, end = _DECODER.raw_decode(text)
        if end < len(text):
            raise ServiceError(errors.INVALID_INPUT)
    except (ValueError, RecursionError) as error:
        raise ServiceError(errors.INVALID_INPUT) from error
    if not isinstance(value, Body):
        raise ServiceError(errors.INVALID_INPUT)
    return value


class _Layout(NamedTuple):
    """The positions of a body's members; of the user's properties, those of the value and of the note of its type."""

    positions: Mapping[str, int]
    properties: list[tuple[str, int, int | None]]


@lru_cache(maxsize=1024)
def _layout_of(names: tuple[str, ...]) -> _Layout:
    """Return the layout of a body; a program writes few sets of names, so most bodies find theirs here."""
    positions = {name: position for position, name in enumerate(names)}
    if len(positions) < len(names):
        raise ServiceError(errors.DUPLICATE_PROPERTIES)
    notes = [name for name in names if name.endswith(_NOTE) and not name.startswith("odata.")]
    if any(name.removesuffix(_NOTE) not in positions for name in notes):
        raise ServiceError(errors.INVALID_INPUT)
    properties = [
        (name, position, positions.get(name + _NOTE))
        for name, position in positions.items()
        if name not in _SYSTEM and not name.endswith(_NOTE) and not name.startswith("odata.")
    ]
    return _Layout(positions, properties)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=Body, parse_constant=_no_constant)
_SYSTEM: Final = frozenset({"PartitionKey", "RowKey", "Timestamp"})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else {"true": True, "false": False}[_text(value).lower()]


def _integer(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if type(value) is int:
        return value
    raise TypeError(value)


def _int32(value: Any) -> int:
    number = _integer(value)
    if not INT32_MIN <= number <= INT32_MAX:
        raise ValueError(value)
    return number


def _int64(value: Any) -> Int64:
    # A number in JSON may have lost digits on its way, so the service takes strings only
    return Int64(_integer(_text(value)))


def _parse_double(value: Any) -> float:
    if type(value) is float and isfinite(value):
        return value
    if isinstance(value, str):
        if value in _NON_FINITE:
            return _NON_FINITE[value]
        if not _NUMBER.fullmatch(value):
            raise ValueError(value)
    elif type(value) not in (int, float):
        raise TypeError(value)
    number = float(value)
    if isinf(number):
        raise OverflowError(value)
    return number


def _guid(value: Any) -> UUID:
    if not _GUID.fullmatch(_text(value)):
        raise ValueError(value)
    return UUID(value)


_READERS: Final[dict[Any, tuple[type | None, Callable[[Any], Value]]]] = {
    "Edm.String": (str, _text),
    "Edm.Boolean": (bool, _boolean),
    "Edm.Int32": (None, _int32),
    "Edm.Int64": (None, _int64),
    "Edm.Double": (None, _parse_double),
    "Edm.DateTime": (None, ticks_of),
    "Edm.Guid": (None, _guid),
    "Edm.Binary": (None, partial(b64decode, validate=True)),
    str: (str, _text),
    bool: (bool, _boolean),
    # Beyond 32 bits, a reader of OData takes it for a double
    int: (None, lambda value: value if INT32_MIN <= value <= INT32_MAX else _parse_double(value)),
    float: (None, _parse_double),
}
"""For each type as noted, or else of the JSON value: the JSON type whose values are used as they are, and the reader of
the others."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """How much metadata a JSON response carries."""

    content_type: str
    NONE: ClassVar[Level]
    MINIMAL: ClassVar[Level]
    FULL: ClassVar[Level]


# Not an Enum: reading the value of a member costs two calls
Level.NONE = Level("application/json;odata=nometadata;streaming=true;charset=utf-8")
Level.MINIMAL = Level("application/json;odata=minimalmetadata;streaming=true;charset=utf-8")
Level.FULL = Level("application/json;odata=fullmetadata;streaming=true;charset=utf-8")


_LEVELS: Final = {
    "application/json": Level.MINIMAL,
    "application/json;odata=nometadata": Level.NONE,
    "application/json;odata=minimalmetadata": Level.MINIMAL,
    "application/json;odata=fullmetadata": Level.FULL,
    "application/*": Level.MINIMAL,
    "*/*": Level.MINIMAL,
    "": Level.MINIMAL,
}


PROTOCOL_VERSIONS: Final = frozenset({"1.0", "2.0", "3.0"})
_PREFERENCES: Final = frozenset({"return-content", "return-no-content"})


@lru_cache(maxsize=256)
def negotiate(accept: str, option: str | None) -> Level:
    """Return the format that a client asks for: `$format` is stronger. Only JSON is left since version 2015-12-11."""
    for wish in (accept if option is None else option).split(","):
        level = _LEVELS.get(_plain(wish))
        if level is not None:
            return level
    raise ServiceError(errors.ATOM_NOT_SUPPORTED)


@lru_cache(maxsize=256)
def check_content_type(content_type: str) -> None:
    """Reject a body that is not JSON, such as Atom, which the service accepted before version 2015-12-11."""
    if "atom" in content_type.lower():
        raise ServiceError(errors.ATOM_NOT_SUPPORTED)
    if content_type and _plain(content_type).partition(";")[0] != "application/json":
        raise ServiceError(errors.MEDIA_TYPE_NOT_SUPPORTED)


def check_protocol(version: str) -> None:
    if version.partition(";")[0].strip() not in PROTOCOL_VERSIONS:
        raise ServiceError(errors.INVALID_INPUT)


def preference_of(headers: Mapping[str, str]) -> str | None:
    """Return whether a client prefers `return-content` or `return-no-content`; None if it states neither."""
    preference = headers.get("prefer")
    return preference if preference in _PREFERENCES else None


def errors_in_xml(accept: str, option: str | None) -> bool:
    """Return whether an error is answered in XML: wherever the client does not ask for JSON by name."""
    return "json" not in (accept if option is None else option).lower()


def _plain(wish: str) -> str:
    """Return a media range without blanks and without the parameters that say nothing about metadata."""
    media, *parameters = wish.lower().replace(" ", "").split(";")
    return ";".join([media, *(parameter for parameter in parameters if parameter.startswith("odata="))])


_Spell: TypeAlias = Callable[[Any], str]


class Renderer:
    """Write the answers about one table, or about the list of tables."""

    __slots__ = ("_account", "_base", "_level", "_table", "content_type")

    def __init__(self, account: str, base: str, table: str, level: Level) -> None:
        self._account = account
        self._base = base
        self._table = table
        self._level = level
        self.content_type = level.content_type

    def entity(self, entity: Entity, timestamp: str, select: str | None = None) -> bytes:
        """Return the response to a point query, or the echo of an insert; `select` is `$select` as it came."""
        return f"{{{self._metadata('/@Element', select)}{self._row(entity, timestamp, _selected(select))}}}".encode()

    def entities(self, entities: Sequence[Entity], select: str | None) -> bytes:
        """Return a page of a query; `select` is `$select` as it came."""
        return self._list(list(self._rows(entities, _selected(select))), select)

    def table(self, name: str) -> bytes:
        return f"{{{self._metadata('/@Element')}{self._entry(name)}}}".encode()

    def tables(self, names: Iterable[str]) -> bytes:
        return self._list([self._entry(name) for name in names])

    def _list(self, rows: Sequence[str], select: str | None = None) -> bytes:
        body = f"{{{'},{'.join(rows)}}}" if rows else ""
        return f'{{{self._metadata("", select)}"value":[{body}]}}'.encode()

    def _metadata(self, suffix: str, select: str | None = None) -> str:
        if self._level is Level.NONE:
            return ""
        return _metadata_field(self._base, self._table, suffix, select)

    def _rows(self, entities: Sequence[Entity], names: Sequence[str] | None) -> Iterator[str]:
        has_columns = names is None and self._level is not Level.FULL
        for shape, group in groupby(entities, names_of):
            rows = list(group)
            if has_columns and len(rows) >= _MIN_COLUMN:
                yield from _by_column(shape, rows, self._level)
            else:
                yield from [self._row(entity, entity.timestamp.iso(), names) for entity in rows]

    def _row(self, entity: Entity, timestamp: str, names: Sequence[str] | None) -> str:
        level, (partition_key, row_key, _, shape, *values) = self._level, entity
        if level is Level.NONE:
            head = ""
        else:
            head = _ETAG % timestamp.replace(":", "%3A")
            if level is Level.FULL:
                head = self._links(entity_path(self._table, partition_key, row_key), head) + ","
        if names is not None:
            return head + ",".join([_selected_field(entity, name, level) for name in names])
        texts, spells = _row_format(shape, tuple(map(type, values)), level)
        spelled = [spell(value) for spell, value in zip(spells, values, strict=True)]
        pieces = list(texts)
        pieces[1::2] = [quoted(partition_key), quoted(row_key), timestamp, *spelled]
        return head + "".join(pieces)

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
    return f"Tables('{quote(name)}')"


def _key(key: str) -> str:
    return key if key.isalnum() and key.isascii() else quote(key.replace("'", "''"), safe="'", errors="surrogatepass")


def _selected(select: str | None) -> Sequence[str] | None:
    """Return the names that `$select` lists, in the order of a response; None for all."""
    if select is None:
        return None
    # A blank list and a star select everything
    names = dict.fromkeys(name.strip() for name in select.split(","))
    names.pop("", None)
    if not names or "*" in names:
        return None
    # The system properties come first
    return sorted(names, key=lambda name: (name not in SYSTEM_PROPERTIES, ordinal(name)))


_KEPT_IN_URL: Final = ";/?:@&=+$,#[]!~*'()"


@lru_cache(maxsize=256)
def _metadata_field(base: str, table: str, suffix: str, select: str | None) -> str:
    selection = "" if select is None else f"&$select={quote(select.strip(), safe=_KEPT_IN_URL)}"
    return f'"odata.metadata":{quoted(f"{base}/$metadata#{table}{suffix}{selection}")},'


def _selected_field(entity: Entity, name: str, level: Level) -> str:
    """Return one selected member; a property that the entity lacks is null."""
    value = entity.get(name)
    if value is None:
        return f"{quoted(name)}:null"
    bare = level is Level.NONE or (level is Level.MINIMAL and name in SYSTEM_PROPERTIES)
    # The type checkers take a type for unhashable
    kind: Any = type(value)
    text, spell = _member(name, kind, bare)
    return text % spell(value)


def _by_column(shape: Names, rows: Sequence[Entity], level: Level) -> Iterator[str]:
    """Return rows with the same names; all values of a property are spelled together, which takes less time."""
    partition_keys, row_keys, moments, _, *columns = zip(*rows, strict=True)
    timestamps = [moment.iso() for moment in moments]
    members = [_column(name, column, level is Level.NONE) for name, column in zip(shape, columns, strict=True)]
    values = [map(quoted, partition_keys), map(quoted, row_keys), timestamps, *(spelled for _, spelled in members)]
    text = ",".join([f'{_KEYS}"Timestamp":"%s"', *(text for text, _ in members)])
    if level is Level.MINIMAL:
        text = _ETAG + text
        values.insert(0, "\n".join(timestamps).replace(":", "%3A").split("\n"))
    first, *separators = text.split("%s")
    pieces: list[Iterable[str]] = [repeat(first)]
    for value, separator in zip(values, separators, strict=True):
        pieces += value, repeat(separator)
    # Joining the pieces of a row takes a third of the time of formatting it
    return map("".join, zip(*pieces, strict=False))


def _column(name: str, values: Sequence[Any], bare: bool) -> tuple[str, Iterable[str]]:
    """Return the text of a member for `%`, and what is to be filled in for each row."""
    kinds: set[Any] = set(map(type, values))
    if len(kinds) == 1:
        kind = kinds.pop()
        if kind is float and all(map(isfinite, values)):
            return f"{quoted(name)}:%s", map(repr, values)
        text, spell = _member(name, kind, bare)
        return text, map(spell, values)
    members = [(*_member(name, kind, bare), value) for kind, value in zip(map(type, values), values, strict=True)]
    return "%s", [text % spell(value) for text, spell, value in members]


@lru_cache(maxsize=4096)
def _row_format(names: Names, kinds: tuple[Hashable, ...], level: Level) -> tuple[list[str], tuple[_Spell, ...]]:
    """Return the pieces of a row, empty where a value belongs, and what spells each value after the timestamp."""
    members = [_member(name, kind, level is Level.NONE) for name, kind in zip(names, kinds, strict=True)]
    note = '"Timestamp@odata.type":"Edm.DateTime",' if level is Level.FULL else ""
    text = ",".join([f'{_KEYS}{note}"Timestamp":"%s"', *(text for text, _ in members)])
    return text.replace("%s", "\0\0").split("\0"), tuple(spell for _, spell in members)


@lru_cache(maxsize=4096)
def _member(name: str, kind: Hashable, bare: bool) -> tuple[str, _Spell]:
    """Return the text of a member for `%`, and what spells its value; a `bare` one has no note of its type."""
    label, (edm, spell) = f"{quoted(name)}:", _SPELLED[kind]
    if edm is None:
        return f"{label}%s", spell
    if kind is float:
        # A number has a point or an exponent, which tells it from an integer; the others are named
        return (f"{label}%s", spell) if bare else ("%s", _noted_double(name))
    return (f'{label}"%s"' if bare else f'{quoted(name + _NOTE)}:"{edm}",{label}"%s"'), spell


def _noted_double(name: str) -> _Spell:
    """Return what spells a member that is a double: only a finite one needs no note."""
    label = f"{quoted(name)}:"
    note = f'{quoted(name + _NOTE)}:"Edm.Double",{label}'
    return lambda value: label + repr(value) if isfinite(value) else note + _format_double(value)


def _format_double(value: float) -> str:
    return repr(value) if isfinite(value) else _NON_FINITE_JSON[repr(value)]


_NON_FINITE_JSON: Final = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}

# JSON has a type of its own for the first three; a value of the others is a string between quotes, so it needs a note
_SPELLED: Final[dict[Hashable, tuple[str | None, _Spell]]] = {
    str: (None, quoted),
    bool: (None, {True: "true", False: "false"}.__getitem__),
    int: (None, int.__repr__),
    float: ("Edm.Double", _format_double),
    Int64: ("Edm.Int64", int.__repr__),
    Ticks: ("Edm.DateTime", Ticks.iso),
    UUID: ("Edm.Guid", str),
    bytes: ("Edm.Binary", lambda value: b64encode(value).decode()),
}
