"""The formats of key fields: numbers, timestamps, dates and text, all of them order-preserving."""

from __future__ import annotations

import math
import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timezone
from functools import cached_property, partial
from itertools import chain
from typing import ClassVar, Final
from uuid import UUID

from ..edm import Ticks, instant_of
from ..errors import BadDesign, BadKey
from ..limits import FORBIDDEN_IN_KEYS
from .template_language import DIGIT, HEX, KEY_TEXT, Characters, one_of


@dataclass(frozen=True)
class Format(ABC):
    """How the values of a field are formatted into a key and parsed back, preserving their order."""

    name: str

    spec: ClassVar[str] = ""
    """The format in a template, with other numbers and patterns for some."""
    terminator: ClassVar[str] = ""
    """The terminator of the text if more of the key follows; it sorts before any continuation of the text."""
    reads_exactly: ClassVar[bool] = False
    """Whether `read` rejects every text that `write` would not have produced."""

    characters: ClassVar[Sequence[Characters] | Characters]
    """The set of each character of a text; one set for all if the length varies."""

    @property
    def descending(self) -> bool:
        return self.spec == "inverted"

    @cached_property
    def width(self) -> int | None:
        """The fixed number of characters, or None if the length varies."""
        return None if isinstance(self.characters, Characters) else len(self.characters)

    @abstractmethod
    def write(self, value: object) -> str:
        """Return the value as key text, or raise BadKey."""

    @abstractmethod
    def read(self, text: str) -> object:
        """Return the value of a key text; ValueError if it is invalid.

        Where it is not exact, the text that `write` makes of the value must be compared with this one.
        """

    def refusal(self, value: object, rule: str, hint: str) -> BadKey:
        return BadKey(self.name, value, rule, hint)


_SIGN: Final = 2**63
_ALL_BITS: Final = 2**64 - 1


def escaped_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True)
class Integer(Format):
    """An integer in a fixed number of digits: of 0 or more, or signed.

    A signed one begins with the digit 1; below zero it is the digit 0 and the complement of its digits.
    """

    digits: int
    is_signed: bool = False
    reads_exactly: ClassVar[bool] = True

    @property
    def spec(self) -> str:  # type: ignore[override]
        return "+06d" if self.is_signed else "06d"

    @property
    def characters(self) -> Sequence[Characters]:  # type: ignore[override]
        return [*([one_of("01")] if self.is_signed else ()), *[DIGIT] * self.digits]

    @cached_property
    def _beyond(self) -> int:
        """The first number that needs more digits."""
        return int(10**self.digits)

    def write(self, value: object) -> str:
        if type(value) is not int and (not isinstance(value, int) or isinstance(value, (bool, Ticks))):
            rule = f"it must be an int, not {type(value).__name__}"
            raise self.refusal(value, rule, "convert it, or specify a format")
        number = int(value)
        if number < 0 and not self.is_signed:
            hint = f"use the signed format {{{self.name}:+0{self.digits}d}}"
            raise self.refusal(value, "a padded number cannot be negative", hint)
        if abs(number) >= self._beyond:
            raise self.refusal(value, f"it does not fit in {self.digits} digits", "use a wider format")
        return f"{number + self._beyond:0{self.width}d}" if self.is_signed else f"{number:0{self.digits}d}"

    def read(self, text: str) -> int:
        number = _digits(text) - (self._beyond if self.is_signed else 0)
        if abs(number) >= self._beyond:
            raise ValueError(f"{text!r} does not fit in {self.digits} digits")
        return number


class Float(Format):
    """A double: its bits as 16 hexadecimal digits, which sort as the numbers do.

    All bits of a negative number are flipped, since their order is reversed, and of others only the sign.
    """

    spec: ClassVar[str] = "float"
    characters: ClassVar[Sequence[Characters]] = (HEX,) * 16

    def write(self, value: object) -> str:
        if not isinstance(value, float):
            raise self.refusal(value, f"it must be a float, not {type(value).__name__}", "convert it")
        if math.isnan(value):
            raise self.refusal(value, "NaN cannot be ordered", "use another value")
        # Equal numbers must have one key: adding 0.0 turns -0.0 into 0.0
        (bits,) = struct.unpack(">Q", struct.pack(">d", value + 0.0))
        return f"{bits ^ (_ALL_BITS if bits >= _SIGN else _SIGN):016x}"

    def read(self, text: str) -> float:
        if not re.fullmatch("[0-9a-f]{16}", text):
            raise ValueError(f"{text!r} is not 16 hexadecimal digits")
        bits = int(text, 16)
        (value,) = struct.unpack(">d", struct.pack(">Q", bits ^ (_ALL_BITS if bits < _SIGN else _SIGN)))
        return float(value)


def _digits(text: str) -> int:
    # Only the digits 0 to 9; str also accepts digits of other scripts
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not made of digits")
    return int(text)


_TICKS_WIDTH: Final = 19
_TICKS: Final = (one_of("0123"), *[DIGIT] * (_TICKS_WIDTH - 1))
"""The last instant of the year 9999 begins with a 3."""


def inverted_ticks(moment: datetime | Ticks) -> str:
    """Return the key text of an instant that sorts newest first: 19 digits, smaller for a later instant.

    >>> inverted_ticks(datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc))
    '2519936321679999999'
    """
    return TickCount("moment", is_inverted=True).write(moment)


@dataclass(frozen=True)
class TickCount(Format):
    """An instant as its ticks of 100 nanoseconds, in 19 digits, or newest first as those until the year 10000."""

    is_inverted: bool = False
    reads_exactly: ClassVar[bool] = True
    characters: ClassVar[Sequence[Characters]] = _TICKS

    @property
    def spec(self) -> str:  # type: ignore[override]
        return "inverted" if self.is_inverted else "ticks"

    def write(self, value: object) -> str:
        if not isinstance(value, (datetime, Ticks)):
            raise self.refusal(value, f"it must be a datetime or Ticks, not {type(value).__name__}", "convert it")
        ticks = instant_of(_aware(self, value)) if isinstance(value, datetime) else value
        if not 0 <= ticks <= Ticks.MAX:
            raise self.refusal(int(ticks), "it is outside the years 1 to 9999", "use another instant")
        return f"{Ticks.MAX - ticks if self.is_inverted else int(ticks):0{_TICKS_WIDTH}d}"

    def read(self, text: str) -> datetime | Ticks:
        number = _digits(text)
        if len(text) != _TICKS_WIDTH or number > Ticks.MAX:
            raise ValueError("an instant must be 19 digits, up to the end of the year 9999")
        ticks = Ticks(Ticks.MAX - number if self.is_inverted else number)
        # A datetime, if it can represent the instant exactly
        return ticks if ticks % 10 else ticks.datetime()


def _aware(field: Format, moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise field.refusal(moment, "a datetime without a time zone is ambiguous", "give it a tzinfo")
    return moment


_UNITS: Final = {
    "Y": ("year", 4),
    "m": ("month", 2),
    "d": ("day", 2),
    "H": ("hour", 2),
    "M": ("minute", 2),
    "S": ("second", 2),
    "f": ("microsecond", 6),
}
DATE: Final = "%Y-%m-%d"
INSTANT: Final = "%Y-%m-%dT%H"
_EARLIEST: Final = ("1", "1", "1", "0", "0", "0", "0")
_DIRECTIVE: Final = re.compile("%(.)")


@dataclass(frozen=True)
class Calendar(Format):
    """A date, or an instant in UTC, formatted with strftime directives from the year down."""

    pattern: str

    @property
    def spec(self) -> str:  # type: ignore[override]
        return INSTANT if "%H" in self.pattern else DATE

    @staticmethod
    def allows(pattern: str) -> bool:
        """Whether the pattern starts with %Y and omits no unit in between, as required to sort and to parse."""
        directives = "".join(_DIRECTIVE.findall(pattern))
        return bool(directives) and "".join(_UNITS).startswith(directives) and "%" not in _DIRECTIVE.sub("", pattern)

    @property
    def characters(self) -> Sequence[Characters]:  # type: ignore[override]
        literals = _DIRECTIVE.split(self.pattern)
        # Literal text and letters of directives take turns
        sets = [[DIGIT] * _UNITS[text][1] if index % 2 else [*map(one_of, text)] for index, text in enumerate(literals)]
        return [*chain.from_iterable(sets)]

    def write(self, value: object) -> str:
        moment = self._instant(value) if "%H" in self.pattern else self._date(value)
        text = self._spelling.format(moment)
        if not self._has_every_unit and self.read(text) != moment:
            raise self.refusal(value, f"{self.pattern} would drop part of it", "round it, or use a finer pattern")
        return text

    def read(self, text: str) -> date | datetime:
        match = self._expression.fullmatch(text)
        if not match:
            raise ValueError(f"{text!r} does not match {self.pattern}")
        parts = match.groups()
        year, month, day, hour, minute, second, micro = map(int, parts + _EARLIEST[len(parts) :])
        moment = datetime(year, month, day, hour, minute, second, micro, tzinfo=timezone.utc)
        return moment if "%H" in self.pattern else moment.date()

    @cached_property
    def _has_every_unit(self) -> bool:
        return "%f" in self.pattern or ("%d" in self.pattern and "%H" not in self.pattern)

    @cached_property
    def _spelling(self) -> str:
        """The pattern as `str.format` takes it: `{0.year:04d}` for `%Y`."""
        return _DIRECTIVE.sub(lambda match: "{{0.{}:0{}d}}".format(*_UNITS[match[1]]), escaped_braces(self.pattern))

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        """The pattern with a group of digits for each unit."""
        return re.compile(_DIRECTIVE.sub(lambda match: f"([0-9]{{{_UNITS[match[1]][1]}}})", re.escape(self.pattern)))

    def _instant(self, value: object) -> datetime:
        if not isinstance(value, datetime):
            raise self.refusal(value, f"it must be a datetime, not {type(value).__name__}", "convert it")
        try:
            return _aware(self, value).astimezone(timezone.utc)
        except OverflowError:
            raise self.refusal(value, "in UTC it is not within the years 1 to 9999", "use another instant") from None

    def _date(self, value: object) -> date:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise self.refusal(value, f"it must be a date, not {type(value).__name__}", "convert it")
        return value


def date_of(value: object) -> object:
    """Return the date of an ISO text; anything else is returned unchanged, for the key to reject."""
    with suppress(ValueError):
        if isinstance(value, str) and (parsed_date := date.fromisoformat(value)).isoformat() == value:
            return parsed_date
    return value


FORBIDDEN: Final = re.compile(FORBIDDEN_IN_KEYS)
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NO_KEY_TEXT: Final = re.compile(f"{FORBIDDEN_IN_KEYS}|{_LONE_SURROGATE.pattern}")

_RUNS: Final = {
    "!": range(0x24),
    ".": range(0x2E, 0x30),
    ">": range(0x3E, 0x40),
    "[": range(0x5B, 0x5D),
    "~": range(0x7E, 0xA0),
}
_CODES: Final = {unit: f"{leader}{unit:02x}" for leader, run in _RUNS.items() for unit in run}
_ESCAPED: Final = KEY_TEXT.without(chr(unit) for unit in _CODES if chr(unit) not in _RUNS)
"""The characters of an escaped text; an escaped character occurs only at the start of its code."""
_CODE: Final = re.compile(r"[!.>\[~]([0-9a-f]{2})")


class Text(Format):
    reads_exactly: ClassVar[bool] = True
    characters: ClassVar[Characters] = KEY_TEXT

    def write(self, value: object) -> str:
        if type(value) is str and not _NO_KEY_TEXT.search(value):
            return value
        text = _valid_text(self, value)
        match = FORBIDDEN.search(text)
        if match:
            hint = f"use the format {{{self.name}:escape}} or another value"
            raise self.refusal(value, f"a key may not contain {match[0]!r}", hint)
        return text

    def read(self, text: str) -> str:
        return self.write(text) if _NO_KEY_TEXT.search(text) else text


class Escaped(Format):
    """Any text, with forbidden characters escaped: `docs/a#1` is `docs.2fa!231`."""

    spec: ClassVar[str] = "escape"
    terminator: ClassVar[str] = " "
    characters: ClassVar[Characters] = _ESCAPED

    def write(self, value: object) -> str:
        return _valid_text(self, value).translate(_CODES)

    def read(self, text: str) -> str:
        return _CODE.sub(lambda code: chr(int(code[1], 16)), text)


def _valid_text(field: Format, value: object) -> str:
    if not isinstance(value, str):
        raise field.refusal(value, f"text must be a str, not {type(value).__name__}", "convert it, or specify a format")
    if _LONE_SURROGATE.search(value):
        raise field.refusal(value, "a lone surrogate is not a character", "use valid Unicode text")
    return str.__str__(value)


class Uuid(Format):
    """A UUID in its usual 36 characters, lower case."""

    spec: ClassVar[str] = "uuid"
    characters: ClassVar[Sequence[Characters]] = [one_of("-") if c == "-" else HEX for c in str(UUID(int=0))]

    def write(self, value: object) -> str:
        if not isinstance(value, UUID):
            raise self.refusal(value, f"it must be a UUID, not {type(value).__name__}", "convert it")
        return UUID.__str__(value)

    def read(self, text: str) -> UUID:
        return UUID(text)


_FORMATS: Final[Mapping[str, Callable[[str], Format]]] = {
    "": Text,
    "escape": Escaped,
    "float": Float,
    "ticks": TickCount,
    "inverted": partial(TickCount, is_inverted=True),
    "uuid": Uuid,
}
_INTEGER: Final = re.compile(r"(\+?)0([1-9][0-9]*)d")


def format_of(name: str, spec: str) -> Format:
    if spec in _FORMATS:
        return _FORMATS[spec](name)
    integer = _INTEGER.fullmatch(spec)
    if integer:
        return Integer(name, int(integer[2]), is_signed=bool(integer[1]))
    if Calendar.allows(spec) and not FORBIDDEN.search(spec):
        return Calendar(name, spec)
    hint = (
        "use no format, escape, 06d, +06d, float, ticks, inverted, uuid, or a date such as %Y-%m-%d from the year down"
    )
    raise BadDesign(f"the format of {{{name}}}", spec, "unknown format", hint)
