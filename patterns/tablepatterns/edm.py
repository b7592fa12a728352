"""The property types of the Table service: how they are stored, written, read and measured.

| Edm type     | in Python                                                    |
|--------------|--------------------------------------------------------------|
| Edm.String   | `str`                                                        |
| Edm.Boolean  | `bool`                                                       |
| Edm.Int32    | `int` within 32 bits                                         |
| Edm.Int64    | `Int64`, or an `int` beyond 32 bits                          |
| Edm.Double   | `float`                                                      |
| Edm.DateTime | an aware `datetime`, or `Ticks` where 100 ns matter          |
| Edm.Guid     | `uuid.UUID`                                                  |
| Edm.Binary   | `bytes`                                                      |
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from math import isfinite, isnan
from typing import Any, Final, NamedTuple
from uuid import UUID

from .argument_types import checked
from .limits import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

_EPOCH: Final = datetime(1, 1, 1, tzinfo=timezone.utc)
_MICROSECOND: Final = timedelta(microseconds=1)
_ISO: Final = re.compile(
    # `(?:…|)` is faster than `(?:…)?`
    r"(\d{4}-\d\d-\d\d)(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,7})\d*|)|)|)(Z|[+-]\d\d:\d\d|)",
    re.ASCII,
)
_DAY: Final = 864_000_000_000
"""In ticks."""
_MINUTES: Final = tuple(f"T{minute // 60:02d}:{minute % 60:02d}:" for minute in range(24 * 60))
_SECONDS: Final = tuple(f"{second:02d}" for second in range(60))
_NUMBERS: Final[Mapping[str | None, int]] = {None: 0, **{text: number for number, text in enumerate(_SECONDS)}}


class Int64(int):
    """An integer that is stored as Edm.Int64 regardless of its size, and stays one in arithmetic with integers.

    >>> Int64(5) + 1
    Int64(6)
    >>> Int64(2**63)
    Traceback (most recent call last):
        ...
    ValueError: 9223372036854775808 does not fit in 64 bits
    """

    __slots__ = ()

    def __new__(cls, value: int) -> Int64:
        if not INT64_MIN <= value <= INT64_MAX:
            raise ValueError(f"{value} does not fit in 64 bits")
        return super().__new__(cls, value)

    def __repr__(self) -> str:
        return f"Int64({int(self)})"

    def __add__(self, other: int) -> Int64:
        return Int64(int(self) + other) if isinstance(other, int) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: int) -> Int64:
        return Int64(int(self) - other) if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: int) -> Int64:
        return Int64(other - int(self)) if isinstance(other, int) else NotImplemented

    def __mul__(self, other: int) -> Int64:
        return Int64(int(self) * other) if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def __neg__(self) -> Int64:
        return Int64(-int(self))


class Ticks(int):
    """An instant as the service stores it: 100-nanosecond ticks since 0001-01-01T00:00:00Z.

    >>> Ticks.of(datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc))
    Ticks('2014-08-22T00:50:32Z')
    """

    __slots__ = ()

    MAX: int = 3155378975999999999
    """9999-12-31T23:59:59.9999999Z, the largest instant."""

    @classmethod
    @checked
    def of(cls, moment: datetime) -> Ticks:
        """Return the instant of an aware datetime; a naive one raises ValueError, since its zone is unknown."""
        if moment.tzinfo is None or moment.utcoffset() is None:
            raise ValueError(f"{moment!r} has no time zone")
        return instant_of(moment)

    @classmethod
    @checked
    def parse(cls, text: str) -> Ticks:
        """Return the instant of an ISO 8601 text; without a zone it is UTC, as on the service.

        Digits beyond the seventh of the fraction are dropped. A text that is not a date raises ValueError.
        """
        return ticks_of(text)

    def datetime(self) -> datetime:
        """Return the instant as an aware UTC datetime; the seventh digit of the fraction is lost."""
        return _EPOCH + timedelta(microseconds=self // 10)

    def iso(self) -> str:
        """Return the instant in the service's format: up to seven digits, trailing zeros trimmed."""
        seconds, fraction = divmod(self, 10_000_000)
        minutes, second = divmod(seconds, 60)
        day, minute = divmod(minutes, 24 * 60)
        # Every entity in a response has a timestamp, and formatting a datetime would take three times as long
        if not fraction:
            return f"{_date(day)}{_MINUTES[minute]}{_SECONDS[second]}Z"
        digits = str(10_000_000 + fraction)[1:].rstrip("0")
        return f"{_date(day)}{_MINUTES[minute]}{_SECONDS[second]}.{digits}Z"

    def __repr__(self) -> str:
        return f"Ticks({self.iso()!r})" if 0 <= self <= self.MAX else f"Ticks({int(self)})"


def instant_of(moment: datetime) -> Ticks:
    """Return the instant of an aware datetime, without the checks of `Ticks.of`."""
    return Ticks((moment - _EPOCH) // _MICROSECOND * 10)


def ticks_of(text: str) -> Ticks:
    """Parse an instant of the service, without the checks of `Ticks.parse`."""
    match = _ISO.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not an ISO 8601 instant")
    day, hour, minute, second, fraction, zone = match.groups()
    seconds = (_NUMBERS[hour] * 60 + _NUMBERS[minute]) * 60 + _NUMBERS[second]
    ticks = _start_of(day) + seconds * 10_000_000 + (int(fraction.ljust(7, "0")) if fraction else 0)
    if zone and zone != "Z":
        offset = int(zone[1:3]) * 60 + int(zone[4:6])
        ticks -= (offset if zone[0] == "+" else -offset) * 600_000_000
        if not 0 <= ticks <= Ticks.MAX:
            raise ValueError(f"{text!r} is outside the years 1 to 9999")
    return Ticks(ticks)


@lru_cache(maxsize=1024)
def _date(day: int) -> str:
    return date.fromordinal(day + 1).isoformat()


@lru_cache(maxsize=1024)
def _start_of(day: str) -> int:
    return (date.fromisoformat(day).toordinal() - 1) * _DAY


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 code units, which is how the service counts; outside the BMP a character is two."""
    return len(text) if text.isascii() else len(text) + sum(c > "\uffff" for c in text)


class EdmKind(NamedTuple):
    """How the values of one Python type are stored, written and read."""

    edm: str
    is_stated: bool
    """Whether JSON states the type beside the value."""
    size: int | None
    """In bytes; None if it depends on the value."""
    to_json: Callable[[Any], str]
    """Returns the text of the value in JSON."""
    from_json: Callable[[Any], Any] | None
    """Converts a value with a stated type; None if JSON has it as it is."""
    literal: Callable[[Any], str]
    """Returns the text of the value in a filter."""


def _int32_json(value: int) -> str:
    if INT32_MIN <= value <= INT32_MAX:
        return repr(value)
    raise ValueError(f"{value} does not fit in 32 bits")


def _double_json(value: float) -> str:
    if isfinite(value):
        return repr(value)
    return '"NaN"' if isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def _double_literal(value: float) -> str:
    # Python writes 1e+20; a decimal point makes it unambiguously a double
    mantissa, e, exponent = repr(value).partition("e")
    return mantissa + ("" if "." in mantissa else ".0") + e + exponent


def _instant_json(value: datetime | Ticks) -> str:
    if isinstance(value, Ticks):
        return f'"{value.iso()}"'
    # A datetime that the SDK has read keeps its text, which has one more digit
    text: object = getattr(value, "tables_service_value", None)
    if isinstance(text, str) and text:
        return encode_basestring_ascii(text)
    return f'"{value.astimezone(timezone.utc).isoformat(timespec="microseconds")[:26]}Z"'


def read_timestamp(text: str) -> datetime:
    """Return an instant of the service as a datetime, without the seventh digit of its fraction."""
    is_usual = text[-1:] == "Z" and len(text) in (20, 28)
    return datetime.fromisoformat(f"{text[:-1][:26]}+00:00") if is_usual else ticks_of(text).datetime()


def read_instant(text: str) -> datetime | Ticks:
    """Return an instant of the service as a datetime, or as `Ticks` if the seventh digit of its fraction is not 0."""
    if text[26:] == "0Z" or (len(text) == 20 and text[19] == "Z"):
        return read_timestamp(text)
    if text[-1:] != "Z":
        raise ValueError(text)
    ticks = ticks_of(text)
    return ticks if ticks % 10 else ticks.datetime()


def _text_literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _instant_literal(value: datetime | Ticks) -> str:
    return f"datetime'{(value if isinstance(value, Ticks) else instant_of(value)).iso()}'"


def _binary_json(value: bytes) -> str:
    return f'"{b2a_base64(value, newline=False).decode()}"'


def _binary_literal(value: bytes) -> str:
    return f"X'{value.hex()}'"


def _int64(text: str) -> Int64:
    return Int64(int(text))


_BOOLEANS: Final = {True: "true", False: "false"}
KINDS: Final[Mapping[type[Any], EdmKind]] = {
    str: EdmKind("Edm.String", True, None, encode_basestring_ascii, None, _text_literal),
    bool: EdmKind("Edm.Boolean", False, 1, _BOOLEANS.__getitem__, None, _BOOLEANS.__getitem__),
    int: EdmKind("Edm.Int32", False, 4, _int32_json, None, str),
    Int64: EdmKind("Edm.Int64", True, 8, '"{:d}"'.format, _int64, "{:d}L".format),
    float: EdmKind("Edm.Double", True, 8, _double_json, float, _double_literal),
    datetime: EdmKind("Edm.DateTime", True, 8, _instant_json, read_instant, _instant_literal),
    Ticks: EdmKind("Edm.DateTime", True, 8, _instant_json, read_instant, _instant_literal),
    UUID: EdmKind("Edm.Guid", True, 16, '"{}"'.format, UUID, "guid'{}'".format),
    bytes: EdmKind("Edm.Binary", True, None, _binary_json, a2b_base64, _binary_literal),
}
"""The only table of the types: everything that converts them is made from it."""
FROM_JSON: Final = {kind.edm: kind.from_json for kind in KINDS.values() if kind.from_json is not None}
SIZES: Final = {kind: row.size for kind, row in KINDS.items() if row.size is not None}
"""The size of a value of exactly these types."""


def type_of(value: object) -> type[Any]:
    """Return the type in `KINDS` of a value, which may be of a subclass."""
    return next(kind for kind in type(value).__mro__ if kind in KINDS)


_TO_BASE: Final[Mapping[type[Any], Callable[[Any], Any]]] = {
    str: str.__str__,
    bool: bool,
    int: int.__int__,
    Int64: Int64,
    Ticks: Ticks,
    float: float.__float__,
    UUID: lambda value: UUID(int=value.int),
    bytes: lambda value: memoryview(value).tobytes(),
}


def base_value(value: Any) -> Any:
    """Return a value of a subclass, such as a member of an `IntEnum`, as its base type; any other one unchanged."""
    if type(value) in _TO_BASE:
        return value
    kind = next((kind for kind in type(value).__mro__ if kind in _TO_BASE), None)
    return value if kind is None else _TO_BASE[kind](value)


def value_size(value: object) -> int:
    """Return the bytes a value of one of the eight types takes in an entity; strings are counted in UTF-16."""
    if isinstance(value, str):
        return 4 + 2 * (len(value) if value.isascii() else utf16_length(value))
    if isinstance(value, bytes):
        return 4 + len(value)
    return SIZES.get(type(value)) or next((SIZES[kind] for kind in type(value).__mro__ if kind in SIZES), 8)


def entity_size(partition_key: str, row_key: str, properties: Mapping[str, object]) -> int:
    """Return the bytes an entity takes: 4, its keys, and per property 8, its name and its value, in UTF-16.

    This is the published formula for billed capacity; how the service counts towards 1 MiB is not documented.
    """
    size = 4 + 2 * utf16_length(partition_key + row_key) + names_size(tuple(properties))
    for value in properties.values():
        if type(value) is str and value.isascii():
            size += 4 + 2 * len(value)
        else:
            size += SIZES.get(type(value)) or value_size(value)
    return size


@lru_cache(maxsize=1024)
def names_size(names: tuple[str, ...]) -> int:
    return sum(8 + 2 * utf16_length(name) for name in names)


def ordinal(text: str) -> str:
    r"""Return a text whose order in Python is the order of `text` on the service: by UTF-16 code unit.

    Python compares by code point. The two differ only for characters outside the BMP, which are spelled here as
    their two surrogates; any other text is returned as it is.
    """
    if text.isascii() or max(text) <= "\uffff":
        return text
    return "".join(c if c <= "\uffff" else _surrogates(ord(c) - 0x10000) for c in text)


def key_order(keys: tuple[str, str]) -> tuple[str, str]:
    """Return what sorts a PartitionKey and a RowKey as the service does."""
    return ordinal(keys[0]), ordinal(keys[1])


def _surrogates(offset: int) -> str:
    return chr(0xD800 + (offset >> 10)) + chr(0xDC00 + (offset & 0x3FF))
