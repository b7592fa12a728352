"""Instants and dates in keys: ticks, inverted ticks, and dates written from the year down."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from functools import cached_property
from typing import ClassVar, Final

from ..edm import Ticks
from ..errors import BadKey
from .format import Format
from .language import DIGIT, Characters, one_of

_TICKS_WIDTH: Final = 19
_TICKS: Final = (one_of("0123"), *[DIGIT] * (_TICKS_WIDTH - 1))
"""The last instant of the year 9999 begins with a 3."""


def inverted_ticks(moment: datetime | Ticks) -> str:
    """Return the key text of an instant that puts the newest first: 19 digits, smaller for a later instant.

    A datetime without a time zone is refused. Two entities of one tick need something more to tell them apart.

    >>> inverted_ticks(datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc))
    '2519936321679999999'

    :param moment: an aware datetime, or Ticks
    :raises BadKey: where the instant has no time zone or lies outside the years 1 to 9999

    Guide: log tail.
    """
    return InvertedTicks("moment").write(moment)


def from_inverted_ticks(text: str) -> Ticks:
    """Return the instant of an inverted tick count, exactly.

    >>> from_inverted_ticks("2519936321679999999").datetime()
    datetime.datetime(2014, 8, 22, 0, 50, 32, tzinfo=datetime.timezone.utc)

    :param text: what `inverted_ticks` returned
    :raises BadKey: where the text is not an inverted tick count

    Guide: log tail.
    """
    try:
        return Ticks(Ticks.MAX - _ticks(text))
    except ValueError as error:
        raise BadKey("text", text, str(error), "pass what inverted_ticks() returned") from None


class TickCount(Format):
    """An instant as its ticks of 100 nanoseconds, in 19 digits."""

    @property
    def characters(self) -> Sequence[Characters]:
        return _TICKS

    def write(self, value: object) -> str:
        return f"{_instant(self, value):0{_TICKS_WIDTH}d}"

    def read(self, text: str) -> datetime | Ticks:
        return _value(_ticks(text))


class InvertedTicks(Format):
    """An instant as the ticks that are left until the end of the year 9999: the newest first."""

    descending: ClassVar[bool] = True

    @property
    def characters(self) -> Sequence[Characters]:
        return _TICKS

    def write(self, value: object) -> str:
        return f"{Ticks.MAX - _instant(self, value):0{_TICKS_WIDTH}d}"

    def read(self, text: str) -> datetime | Ticks:
        return _value(Ticks.MAX - _ticks(text))


def _instant(field: Format, value: object) -> int:
    if not isinstance(value, (datetime, Ticks)):
        raise field.refusal(value, f"it must be a datetime or Ticks, not {type(value).__name__}", "convert it")
    if isinstance(value, datetime):
        value = Ticks.of(_aware(field, value))
    if not 0 <= value <= Ticks.MAX:
        raise field.refusal(int(value), "it lies outside the years 1 to 9999", "use another instant")
    return int(value)


def _aware(field: Format, moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise field.refusal(moment, "a datetime without a time zone names no instant", "give it a tzinfo")
    return moment


def _ticks(text: str) -> int:
    if not re.fullmatch("[0-9]{19}", text) or int(text) > Ticks.MAX:
        raise ValueError("an instant is 19 digits, up to the end of the year 9999")
    return int(text)


def _value(ticks: int) -> datetime | Ticks:
    """Return a datetime where one holds the instant exactly."""
    return Ticks(ticks) if ticks % 10 else Ticks(ticks).datetime()


_UNITS: Final = {
    "Y": ("year", 4),
    "m": ("month", 2),
    "d": ("day", 2),
    "H": ("hour", 2),
    "M": ("minute", 2),
    "S": ("second", 2),
    "f": ("microsecond", 6),
}
_EARLIEST: Final = ("1", "1", "1", "0", "0", "0", "0")
_DIRECTIVE: Final = re.compile("%(.)")


@dataclass(frozen=True)
class Calendar(Format):
    """A date, or an instant in UTC, written by a pattern of strftime directives from the year down.

    >>> Calendar("Day", "%Y-%m-%d").write(date(2014, 7, 31))
    '2014-07-31'
    """

    pattern: str

    @staticmethod
    def allows(pattern: str) -> bool:
        """Whether the pattern starts at %Y and leaves out no unit down to its last: only that sorts, and reads back."""
        directives = "".join(_DIRECTIVE.findall(pattern))
        return bool(directives) and "".join(_UNITS).startswith(directives) and "%" not in _DIRECTIVE.sub("", pattern)

    @cached_property
    def characters(self) -> Sequence[Characters]:
        literals = _DIRECTIVE.split(self.pattern)
        # Literal text and letters of directives take turns
        digits = [[DIGIT] * _UNITS[each][1] for each in literals[1::2]] + [[]]
        return [each for text, unit in zip(literals[::2], digits, strict=True) for each in (*map(one_of, text), *unit)]

    def write(self, value: object) -> str:
        moment = self._instant(value) if "%H" in self.pattern else self._date(value)
        text = self._spelling.format(moment)
        if not self._is_finest and self.read(text) != moment:
            raise self.refusal(value, f"{self.pattern} would drop a part of it", "round it, or use a finer pattern")
        return text

    def read(self, text: str) -> date | datetime:
        found = self._expression.fullmatch(text)
        if not found:
            raise ValueError(f"{text!r} does not look like {self.pattern}")
        parts = found.groups()
        year, month, day, hour, minute, second, micro = map(int, parts + _EARLIEST[len(parts) :])
        moment = datetime(year, month, day, hour, minute, second, micro, tzinfo=timezone.utc)
        return moment if "%H" in self.pattern else moment.date()

    @cached_property
    def _is_finest(self) -> bool:
        """Whether the pattern has every unit of its values."""
        return "%f" in self.pattern or ("%d" in self.pattern and "%H" not in self.pattern)

    @cached_property
    def _spelling(self) -> str:
        """The pattern as `str.format` takes it: `{0.year:04d}` for `%Y`."""
        literal = self.pattern.replace("{", "{{").replace("}", "}}")
        return _DIRECTIVE.sub(lambda found: "{{0.{}:0{}d}}".format(*_UNITS[found[1]]), literal)

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        """The pattern with a group of digits for each unit."""
        return re.compile(_DIRECTIVE.sub(lambda found: f"([0-9]{{{_UNITS[found[1]][1]}}})", re.escape(self.pattern)))

    def _instant(self, value: object) -> datetime:
        if not isinstance(value, datetime):
            raise self.refusal(value, f"it must be a datetime, not {type(value).__name__}", "convert it")
        try:
            return _aware(self, value).astimezone(timezone.utc)
        except OverflowError:
            raise self.refusal(value, "in UTC it lies outside the years 1 to 9999", "use another instant") from None

    def _date(self, value: object) -> date:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise self.refusal(value, f"it must be a date, not {type(value).__name__}", "convert it")
        return value
