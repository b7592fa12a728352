"""Store single values of each supported type as a property or as part of a JSON text."""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from enum import Enum
from math import isfinite
from typing import Final
from uuid import UUID

from ...edm import Int64, Ticks
from ...limits import DATETIME_MIN, INT64_MAX, INT64_MIN


class Misfit(ValueError):
    """A value that is not of its field's type; whoever knows the field, or the row, makes an error of it.

    :param value: the value, or the part of it that does not fit
    :param rule: the rule that it breaks
    :param hint: what to do instead
    :param path: where in the field the part is
    """

    def __init__(self, value: object, rule: str, hint: str, path: str = "") -> None:
        super().__init__(rule)
        self.value = value
        self.rule = rule
        self.hint = hint
        self.path = path

    def under(self, step: str) -> Misfit:
        """Return the same of the value that holds this one, under a name or a position."""
        between = "" if not self.path or self.path.startswith("[") else "."
        return Misfit(self.value, self.rule, self.hint, f"{step}{between}{self.path}")


class Codec(ABC):
    """One type of a field. What is encoded decodes to an equal value; anything else is a `Misfit`, both ways."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The type's name, as errors use it."""

    @abstractmethod
    def encode(self, value: object) -> object:
        """Return the value as a property."""

    @abstractmethod
    def decode(self, stored: object) -> object:
        """Return the value of a property."""

    def to_json(self, value: object) -> object:
        """Return the value as a part of JSON: unless told otherwise, what the property would be."""
        return self.encode(value)

    def from_json(self, part: object) -> object:
        """Return the value of a part of JSON."""
        return self.decode(part)

    def misfit(self, value: object, hint: str = "convert it, or change the field's type") -> Misfit:
        """Return what is wrong with a value of another type."""
        return Misfit(value, f"the field wants {self.name}", hint)


_FIRST: Final = Ticks.of(DATETIME_MIN)
_MICROSECOND: Final = timedelta(microseconds=1)


class Plain(Codec):
    """Text, bytes, truth values and UUIDs: the service stores them as they are."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    @property
    def name(self) -> str:
        return self._kind.__name__

    def encode(self, value: object) -> object:
        if not isinstance(value, self._kind) or isinstance(value, Enum):
            raise self.misfit(value)
        return value

    def decode(self, stored: object) -> object:
        return self.encode(stored)


class Integer(Codec):
    """An integer. One that was stored as Edm.Int64 stays an `Int64`, and so keeps its type when it is written back."""

    @property
    def name(self) -> str:
        return "int"

    def encode(self, value: object) -> object:
        found = self.to_json(value)
        if not INT64_MIN <= found <= INT64_MAX:
            raise Misfit(value, "an integer has at most 64 bits", "use Decimal, which is stored as text")
        return found

    def decode(self, stored: object) -> object:
        return self.encode(stored)

    def to_json(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, (bool, Enum, Ticks)):
            raise self.misfit(value)
        return value

    def from_json(self, part: object) -> object:
        return self.to_json(part)


class Wide(Integer):
    """An integer that is always stored as Edm.Int64."""

    @property
    def name(self) -> str:
        return "Int64"

    def encode(self, value: object) -> Int64:
        try:
            return Int64(super().to_json(value))
        except ValueError as error:
            if isinstance(error, Misfit):
                raise
            raise Misfit(value, "an Int64 has 64 bits", "use Decimal, which is stored as text") from error

    def to_json(self, value: object) -> int:
        return int(self.encode(value))

    def from_json(self, part: object) -> Int64:
        return self.encode(part)


class Real(Codec):
    """A number with a fraction; an integer will do, if a float holds it."""

    @property
    def name(self) -> str:
        return "float"

    def encode(self, value: object) -> float:
        if isinstance(value, (bool, Enum)) or not isinstance(value, (int, float)):
            raise self.misfit(value)
        try:
            found = float(value)
        except OverflowError as error:
            raise Misfit(value, "a float does not hold it", "use Decimal") from error
        if isinstance(value, int) and found != value:
            raise Misfit(value, "a float does not hold all its digits", "use Decimal")
        return found

    def decode(self, stored: object) -> object:
        return self.encode(stored)

    def to_json(self, value: object) -> object:
        found = self.encode(value)
        if not isfinite(found):
            raise Misfit(value, "JSON has no such number", "use None, or a field of its own")
        return found


class Moment(Codec):
    """An instant: it has a time zone, and comes back in UTC."""

    @property
    def name(self) -> str:
        return "an aware datetime"

    def encode(self, value: object) -> object:
        found = self._instant(value)
        if found < DATETIME_MIN:
            raise Misfit(value, "Edm.DateTime begins at 1601-01-01T00:00:00Z", "use a date, which is stored as text")
        return found

    def _instant(self, value: object) -> datetime:
        if not isinstance(value, datetime):
            raise self.misfit(value)
        if value.utcoffset() is None:
            rule = "a datetime without a time zone names no instant"
            raise Misfit(value, rule, "add tzinfo=timezone.utc, or the zone it was taken in")
        try:
            return value.astimezone(timezone.utc)
        except OverflowError as error:
            raise Misfit(value, "in UTC it lies outside the years 1 to 9999", "use another instant") from error

    def decode(self, stored: object) -> object:
        if isinstance(stored, Ticks):
            return stored.datetime()
        if not isinstance(stored, datetime):
            raise self.misfit(stored)
        # The SDK's own kind of datetime would show in the value's repr
        return datetime.combine(stored.date(), stored.time(), stored.tzinfo).astimezone(timezone.utc)

    def to_json(self, value: object) -> object:
        return self._instant(value).isoformat()

    def from_json(self, part: object) -> object:
        return self._instant(_parsed(self, part, datetime.fromisoformat))


class Exactly100ns(Codec):
    """An instant to the last of the service's seven digits."""

    @property
    def name(self) -> str:
        return "Ticks"

    def encode(self, value: object) -> Ticks:
        if not isinstance(value, Ticks):
            raise self.misfit(value, "use Ticks.of(datetime)")
        if not _FIRST <= value <= Ticks.MAX:
            rule = "Edm.DateTime goes from 1601-01-01T00:00:00Z to the end of the year 9999"
            raise Misfit(value, rule, "use a date, which is stored as text")
        return value

    def decode(self, stored: object) -> object:
        return Ticks.of(stored) if isinstance(stored, datetime) else self.encode(stored)

    def to_json(self, value: object) -> object:
        return self.encode(value).iso()

    def from_json(self, part: object) -> object:
        return _parsed(self, part, Ticks.parse)


class Day(Codec):
    """A day of the calendar, as text that sorts; a key with a date's own format holds the day itself."""

    @property
    def name(self) -> str:
        return "date"

    def encode(self, value: object) -> object:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise self.misfit(value)
        return value.isoformat()

    def decode(self, stored: object) -> object:
        if isinstance(stored, date) and not isinstance(stored, datetime):
            return stored
        return _parsed(self, stored, date.fromisoformat)


class Span(Codec):
    """A length of time, in microseconds."""

    @property
    def name(self) -> str:
        return "timedelta"

    def encode(self, value: object) -> Int64:
        if not isinstance(value, timedelta):
            raise self.misfit(value)
        try:
            return Int64(value // _MICROSECOND)
        except ValueError as error:
            raise Misfit(value, "64 bits hold some 290,000 years in microseconds", "use a shorter one") from error

    def decode(self, stored: object) -> object:
        if isinstance(stored, bool) or not isinstance(stored, int):
            raise self.misfit(stored)
        try:
            return timedelta(microseconds=int(stored))
        except OverflowError as error:
            # JSON has integers of any size
            raise self.misfit(stored) from error

    def to_json(self, value: object) -> object:
        return int(self.encode(value))


class Exact(Codec):
    """A decimal number, as text: no digit is lost, and none is added."""

    @property
    def name(self) -> str:
        return "Decimal"

    def encode(self, value: object) -> object:
        if not isinstance(value, Decimal):
            raise self.misfit(value)
        if not value.is_finite():
            raise Misfit(value, "only finite numbers are stored", "use None, or a field of its own")
        return str(value)

    def decode(self, stored: object) -> object:
        found = _parsed(self, stored, Decimal)
        self.encode(found)
        return found


class Choice(Codec):
    """A member of an enumeration, as its value."""

    def __init__(self, kind: type[Enum]) -> None:
        self._kind = kind

    @property
    def name(self) -> str:
        return self._kind.__name__

    def encode(self, value: object) -> object:
        if not isinstance(value, self._kind):
            raise self.misfit(value, f"use one of {self.name}'s members")
        found: object = value.value
        return found

    def decode(self, stored: object) -> object:
        try:
            return self._kind(stored)
        except ValueError as error:
            raise self.misfit(stored, f"use a value that {self.name} has, or add it there") from error


class Bytes(Plain):
    """Bytes, which JSON holds as Base64."""

    def __init__(self) -> None:
        super().__init__(bytes)

    def to_json(self, value: object) -> object:
        found = self.encode(value)
        return base64.b64encode(found).decode() if isinstance(found, bytes) else found

    def from_json(self, part: object) -> object:
        return _parsed(self, part, lambda text: base64.b64decode(text, validate=True))


class Guid(Plain):
    """A UUID, which JSON holds as text."""

    def __init__(self) -> None:
        super().__init__(UUID)

    def to_json(self, value: object) -> object:
        return str(self.encode(value))

    def from_json(self, part: object) -> object:
        return _parsed(self, part, UUID)


def _parsed(codec: Codec, text: object, parse: Callable[[str], object]) -> object:
    """Return the value that a text spells."""
    if not isinstance(text, str):
        raise codec.misfit(text)
    try:
        return parse(text)
    except (ValueError, InvalidOperation, binascii.Error) as error:
        raise codec.misfit(text) from error
