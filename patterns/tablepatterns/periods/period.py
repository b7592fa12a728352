"""Period: the stretches of time that have a table each, how their tables are called, and how long they are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Final

from ..edm import Ticks
from ..errors import BadDesign, BadKey

_EARLIEST: Final = datetime.min.replace(tzinfo=timezone.utc)
_STEPS: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_LABELS: Final = {
    "hour": r"(\d{4})(\d\d)(\d\d)(\d\d)",
    "day": r"(\d{4})(\d\d)(\d\d)",
    "week": r"(\d{4})[Ww](\d\d)",
    "month": r"(\d{4})(\d\d)",
}


class Period(Enum):
    """An hour, a day, a week from Monday on, or a month, in UTC.

    Its label is of a fixed width, made of letters and digits, and sorts as time does. The four kinds never share one.

    >>> moment = datetime(2014, 7, 31, 18, 30, tzinfo=timezone.utc)
    >>> [period.label(period.start(moment)) for period in Period]
    ['2014073118', '20140731', '2014W31', '201407']

    Guide: high volume delete pattern.
    """

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def start(self, moment: datetime | Ticks) -> datetime:
        """Return when the period begins that holds a moment, in UTC.

        :param moment: an aware datetime, or Ticks
        :raises BadKey: it has no time zone, or its period does not lie within the years 1 to 9999
        """
        at = instant_of(moment)
        try:
            found = self._floor(at.astimezone(timezone.utc))
            self.shifted(found, 1)
        except (OverflowError, ValueError):
            rule = f"its {self.value} does not lie within the years 1 to 9999"
            raise BadKey("moment", moment, rule, "use another instant") from None
        return found

    def _floor(self, at: datetime) -> datetime:
        hour = at.replace(minute=0, second=0, microsecond=0)
        if self is Period.HOUR:
            return hour
        day = hour.replace(hour=0)
        if self is Period.WEEK:
            return day - timedelta(days=day.weekday())
        return day.replace(day=1) if self is Period.MONTH else day

    def shifted(self, start: datetime, count: int) -> datetime:
        """Return when the period begins that comes `count` periods later.

        :param start: when a period begins
        :param count: how many periods later; earlier if it is negative
        :raises OverflowError: outside the years 1 to 9999
        """
        if self is not Period.MONTH:
            return start + count * _STEPS[self.value]
        year, month = divmod(start.year * 12 + start.month - 1 + count, 12)
        if not 1 <= year <= 9999:
            raise OverflowError(year)
        return start.replace(year=year, month=month + 1)

    def label(self, start: datetime) -> str:
        """Return how the period that begins at `start` is written at the end of its table's name."""
        if self is Period.WEEK:
            year, week, _ = start.isocalendar()
            return f"{year:04d}W{week:02d}"
        month = f"{start.year:04d}{start.month:02d}"
        if self is Period.MONTH:
            return month
        return f"{month}{start.day:02d}" + (f"{start.hour:02d}" if self is Period.HOUR else "")

    def read(self, label: str) -> datetime | None:
        """Return when the period of a label begins; None where it is not a label of this kind.

        >>> Period.WEEK.read("2014W31"), Period.DAY.read("20140231")
        (datetime.datetime(2014, 7, 28, 0, 0, tzinfo=datetime.timezone.utc), None)
        """
        found = re.fullmatch(_LABELS[self.value], label, re.ASCII)
        if not found:
            return None
        numbers = [int(each) for each in found.groups()]
        try:
            if self is Period.WEEK:
                return self.start(datetime.fromisocalendar(numbers[0], numbers[1], 1).replace(tzinfo=timezone.utc))
            year, month, day, hour = numbers + [1, 0][len(numbers) - 2 :]
            return self.start(datetime(year, month, day, hour, tzinfo=timezone.utc))
        except ValueError:
            return None

    def __repr__(self) -> str:
        return f"Period.{self.name}"


def instant_of(moment: datetime | Ticks) -> datetime:
    """Return a moment as an aware datetime.

    :raises BadKey: it has no time zone, or is no moment
    """
    if not isinstance(moment, (datetime, Ticks)):
        raise BadKey("moment", moment, f"a {type(moment).__name__} is no instant", "give an aware datetime")
    at = moment.datetime() if isinstance(moment, Ticks) else moment
    if at.utcoffset() is None:
        raise BadKey("moment", moment, "a datetime without a time zone names no instant", "give it a tzinfo")
    return at


@dataclass(frozen=True)
class Retention:
    """For how long periods are kept. It is the clock alone that says which of them have expired.

    >>> Retention(Period.DAY, timedelta(days=60)).first_kept(datetime(2014, 9, 29, 23, 59, tzinfo=timezone.utc))
    datetime.datetime(2014, 7, 31, 0, 0, tzinfo=datetime.timezone.utc)

    :param keep: a time, after which every entity of an expired period is older than that; a number of periods, the
        present one included; or None for always
    :raises BadDesign: it is none of these, or nothing would be kept
    """

    period: Period
    keep: timedelta | int | None

    def __post_init__(self) -> None:
        if self.keep is None:
            return
        if not isinstance(self.keep, (timedelta, int)) or isinstance(self.keep, bool):
            rule = "it is a time, or a whole number of periods"
            raise BadDesign("keep", self.keep, rule, "give a timedelta, an int or None")
        if self.keep <= timedelta(0) if isinstance(self.keep, timedelta) else self.keep < 1:
            raise BadDesign("keep", self.keep, "nothing would be kept", "give a time, or a number of periods, above 0")

    def first_kept(self, now: datetime) -> datetime:
        """Return when the oldest period begins that is kept at this moment."""
        if self.keep is None:
            return _EARLIEST
        try:
            if isinstance(self.keep, timedelta):
                return self.period.start(now - self.keep)
            return self.period.shifted(self.period.start(now), 1 - self.keep)
        except (OverflowError, BadKey):
            return _EARLIEST

    def __str__(self) -> str:
        if self.keep is None:
            return "always"
        if isinstance(self.keep, timedelta):
            return f"for {self.keep}"
        return f"for {self.keep} {self.period.value}{'' if self.keep == 1 else 's'}"
