"""Store single values of each supported type as a property or as part of a JSON text."""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from math import isfinite
from typing import Any, ClassVar, Final
from uuid import UUID

from ..edm import Int64, Ticks, base_value
from ..key.formats import DATE, INSTANT
from ..limits import DATETIME_MIN, INT64_MAX, INT64_MIN


class TypeMismatch(ValueError):
    """A value does not fit the type of its field; callers convert it to a public error.

    :param value: the value, or the part of it that does not fit
    :param path: the path of the part within the field
    """

    def __init__(self, value: object, rule: str, hint: str, path: str = "") -> None:
        super().__init__(rule)
        self.value = value
        self.rule = rule
        self.hint = hint
        self.path = path

    def under(self, step: str) -> TypeMismatch:
        """Return the same mismatch with a name or index put in front of its path."""
        between = "" if not self.path or self.path.startswith("[") else "."
        return TypeMismatch(self.value, self.rule, self.hint, f"{step}{between}{self.path}")


TEXT: Final = ("", "escape")
INTEGER: Final = ("06d", "+06d")


class Codec(ABC):
    """One type of a field. What is encoded decodes to an equal value; anything else is a `TypeMismatch`, both ways."""

    name: str
    """The type's name in errors."""
    is_comparable: ClassVar[bool] = True
    """Whether equal values have the same stored form, so that filters may compare them."""
    is_sorted: ClassVar[bool] = True
    """Whether the stored forms sort as the values do."""
    in_keys: Sequence[str] = ()
    """The formats in which keys hold the values in their order."""
    instead: str = "use a field of another type in the key"
    """What to do if a key cannot hold the values in their order."""

    @abstractmethod
    def encode(self, value: object) -> object:
        """Return the value as a property."""

    def decode(self, stored: object) -> object:
        """Return the value of a property; by default, it is stored unchanged."""
        return self.encode(stored)

    def to_json(self, value: object) -> object:
        """Return the value in JSON form; by default, the same as the property."""
        return self.encode(value)

    def from_json(self, part: object) -> object:
        return self.decode(part)

    def mismatch(self, value: object, hint: str = "convert it, or change the field's type") -> TypeMismatch:
        return TypeMismatch(value, f"the field must be {self.name}", hint)


_FIRST: Final = Ticks.of(DATETIME_MIN)
_MICROSECOND: Final = timedelta(microseconds=1)


class PlainCodec(Codec):
    """A type that the service stores unchanged: str, bool, bytes or UUID; in JSON as text, if it is given how."""

    instead = "use an int of 0 or 1, or a str such as the hex() of bytes"

    def __init__(
        self, kind: type, to_text: Callable[[Any], str] | None = None, parse: Callable[[str], object] | None = None
    ) -> None:
        self._kind, self._to_text, self._parse = kind, to_text, parse
        self.name = kind.__name__
        self.in_keys = {str: TEXT, UUID: ("uuid",)}.get(kind, ())

    def encode(self, value: object) -> object:
        if not isinstance(value, self._kind):
            raise self.mismatch(value)
        return base_value(value)

    def to_json(self, value: object) -> object:
        return self.encode(value) if self._to_text is None else self._to_text(self.encode(value))

    def from_json(self, part: object) -> object:
        return self.decode(part) if self._parse is None else _parse(self, part, self._parse)


class IntCodec(Codec):
    """An integer. If it was stored as Edm.Int64, it is read as `Int64`, so that a write keeps the stored type."""

    name = "int"
    in_keys = INTEGER

    def encode(self, value: object) -> int:
        number = self._number(value)
        if not INT64_MIN <= number <= INT64_MAX:
            raise TypeMismatch(value, "an integer has at most 64 bits", "use Decimal, which is stored as text")
        return number

    def to_json(self, value: object) -> int:
        return self._number(value)

    def from_json(self, part: object) -> object:
        return self._number(part)

    def _number(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, (bool, Ticks)):
            raise self.mismatch(value)
        number: int = base_value(value)
        return number


class Int64Codec(IntCodec):
    name = "Int64"

    def encode(self, value: object) -> Int64:
        return Int64(super().encode(value))

    def to_json(self, value: object) -> int:
        return int(self.encode(value))

    def from_json(self, part: object) -> Int64:
        return self.encode(part)


class FloatCodec(Codec):
    """A float; an int is accepted if a float can represent it."""

    name = "float"
    in_keys = ("float",)

    def encode(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.mismatch(value)
        try:
            number = float(value)
        except OverflowError as error:
            raise TypeMismatch(value, "a float cannot represent it", "use Decimal") from error
        if isinstance(value, int) and number != value:
            raise TypeMismatch(value, "a float cannot represent all its digits", "use Decimal")
        return number

    def to_json(self, value: object) -> object:
        number = self.encode(value)
        if not isfinite(number):
            raise TypeMismatch(value, "JSON has no such number", "use None, or a field of its own")
        return number


class DatetimeCodec(Codec):
    """An aware datetime, read back in UTC."""

    name = "an aware datetime"
    in_keys = ("ticks", "inverted", INSTANT)

    def encode(self, value: object) -> object:
        instant = self._instant(value)
        if instant < DATETIME_MIN:
            raise TypeMismatch(value, "Edm.DateTime begins at 1601-01-01T00:00:00Z", "use a date")
        return instant

    def _instant(self, value: object) -> datetime:
        if not isinstance(value, datetime):
            raise self.mismatch(value)
        if value.utcoffset() is None:
            rule = "a datetime without a time zone is not an instant"
            raise TypeMismatch(value, rule, "add tzinfo=timezone.utc, or its own time zone")
        try:
            return value.astimezone(timezone.utc)
        except OverflowError as error:
            raise TypeMismatch(value, "in UTC it is not within the years 1 to 9999", "use another instant") from error

    def decode(self, stored: object) -> object:
        if isinstance(stored, Ticks):
            return stored.datetime()
        if not isinstance(stored, datetime):
            raise self.mismatch(stored)
        # The SDK's datetime subclass would appear in the value's repr
        return datetime.combine(stored.date(), stored.time(), stored.tzinfo).astimezone(timezone.utc)

    def to_json(self, value: object) -> object:
        return self._instant(value).isoformat()

    def from_json(self, part: object) -> object:
        return self._instant(_parse(self, part, datetime.fromisoformat))


class TicksCodec(Codec):
    """An instant with the service's precision of 100 ns."""

    name = "Ticks"
    in_keys = ("ticks", "inverted")

    def encode(self, value: object) -> Ticks:
        if not isinstance(value, Ticks):
            raise self.mismatch(value, "use Ticks.of(datetime)")
        if not _FIRST <= value <= Ticks.MAX:
            rule = "Edm.DateTime goes from 1601-01-01T00:00:00Z to the end of the year 9999"
            raise TypeMismatch(value, rule, "use a date")
        return value

    def decode(self, stored: object) -> object:
        return Ticks.of(stored) if isinstance(stored, datetime) else self.encode(stored)

    def to_json(self, value: object) -> object:
        return self.encode(value).iso()

    def from_json(self, part: object) -> object:
        return _parse(self, part, Ticks.parse)


class DateCodec(Codec):
    """A date, stored as ISO text, which sorts; a key with a date format has the date itself."""

    name = "date"
    in_keys = ("", "escape", DATE)

    def encode(self, value: object) -> object:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise self.mismatch(value)
        return value.isoformat()

    def decode(self, stored: object) -> object:
        if isinstance(stored, date) and not isinstance(stored, datetime):
            return stored
        return _parse(self, stored, date.fromisoformat)


class TimedeltaCodec(Codec):
    """A length of time, stored in microseconds."""

    name = "timedelta"
    in_keys = INTEGER

    def encode(self, value: object) -> Int64:
        if not isinstance(value, timedelta):
            raise self.mismatch(value)
        try:
            return Int64(value // _MICROSECOND)
        except ValueError as error:
            raise TypeMismatch(value, "it exceeds 64 bits of microseconds", "use a shorter time") from error

    def decode(self, stored: object) -> object:
        if isinstance(stored, bool) or not isinstance(stored, int):
            raise self.mismatch(stored)
        try:
            return timedelta(microseconds=int(stored))
        except OverflowError as error:
            # JSON integers may have any size
            raise self.mismatch(stored) from error

    def to_json(self, value: object) -> object:
        return int(self.encode(value))


class DecimalCodec(Codec):
    """A decimal number, stored as text with all its digits."""

    name = "Decimal"
    is_comparable = False
    instead = "use an int of the smallest unit, such as cents"

    def encode(self, value: object) -> object:
        if not isinstance(value, Decimal):
            raise self.mismatch(value)
        if not value.is_finite():
            raise TypeMismatch(value, "only finite numbers are stored", "use None, or a field of its own")
        return str(value)

    def decode(self, stored: object) -> object:
        number = _parse(self, stored, Decimal)
        self.encode(number)
        return number


class EnumCodec(Codec):
    is_sorted = False

    def __init__(self, kind: type[Enum]) -> None:
        self._kind = kind
        self.name = kind.__name__
        self.in_keys = INTEGER if all(isinstance(member.value, int) for member in kind) else TEXT

    def encode(self, value: object) -> object:
        if not isinstance(value, self._kind):
            raise self.mismatch(value, f"use one of {self.name}'s members")
        return value.value

    def decode(self, stored: object) -> object:
        try:
            return self._kind(stored)
        except ValueError as error:
            raise self.mismatch(stored, f"use a value of {self.name}, or add it there") from error


class LiteralCodec(Codec):
    def __init__(self, values: Sequence[object], inner: Codec) -> None:
        self._values = values
        self.name = f"one of {', '.join(map(repr, values))}"
        self._inner = inner
        self.in_keys = inner.in_keys

    def encode(self, value: object) -> object:
        stored_value = self._inner.encode(value)
        if stored_value not in self._values:
            raise self.mismatch(value, "use one of them, or add it to the type")
        return stored_value


class TimeCodec(Codec):
    """A time of day without a time zone, stored as ISO text with microseconds, which sorts."""

    name = "a time without a time zone"
    in_keys = TEXT

    def encode(self, value: object) -> object:
        if not isinstance(value, time) or value.tzinfo is not None:
            raise self.mismatch(value, "use replace(tzinfo=None), and store the time zone in another field")
        return value.isoformat("microseconds")

    def decode(self, stored: object) -> object:
        time_of_day = _parse(self, stored, time.fromisoformat)
        self.encode(time_of_day)
        return time_of_day


class TextCodec(Codec):
    """A type that is stored as its text, such as an IP address or a URL."""

    is_sorted = False
    instead = "use a str in the key"

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.name = kind.__name__

    def encode(self, value: object) -> object:
        if not isinstance(value, self._kind):
            raise self.mismatch(value, f"use {self.name}(...)")
        return str(value)

    def decode(self, stored: object) -> object:
        return _parse(self, stored, self._kind)


class SecretCodec(Codec):
    """A secret of pydantic, which only an encrypted field may be."""

    is_comparable = False

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind
        self.name = kind.__name__

    def encode(self, value: object) -> object:
        if not isinstance(value, self._kind):
            raise self.mismatch(value, f"use {self.name}(...)")
        secret: Any = value
        return secret.get_secret_value()

    def decode(self, stored: object) -> object:
        if not isinstance(stored, (str, bytes)):
            raise self.mismatch(stored)
        return self._kind(stored)


def _parse(codec: Codec, text: object, parse: Callable[[str], object]) -> object:
    if not isinstance(text, str):
        raise codec.mismatch(text)
    try:
        return parse(text)
    except (ValueError, InvalidOperation, binascii.Error) as error:
        raise codec.mismatch(text) from error


SCALARS: Final[Mapping[object, Codec]] = {
    str: PlainCodec(str),
    bool: PlainCodec(bool),
    int: IntCodec(),
    Int64: Int64Codec(),
    float: FloatCodec(),
    bytes: PlainCodec(bytes, lambda data: base64.b64encode(data).decode(), partial(base64.b64decode, validate=True)),
    UUID: PlainCodec(UUID, str, UUID),
    datetime: DatetimeCodec(),
    Ticks: TicksCodec(),
    date: DateCodec(),
    time: TimeCodec(),
    timedelta: TimedeltaCodec(),
    **{kind: TextCodec(kind) for kind in (IPv4Address, IPv6Address, IPv4Network, IPv6Network)},
    Decimal: DecimalCodec(),
}
OF_PYDANTIC: Final[Mapping[str, Codec]] = {
    "EmailStr": PlainCodec(str),
    **dict.fromkeys(("AwareDatetime", "PastDatetime", "FutureDatetime"), DatetimeCodec()),
    **dict.fromkeys(("PastDate", "FutureDate"), DateCodec()),
}
