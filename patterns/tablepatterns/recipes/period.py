"""Periods, the tables that hold them, and their retention."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from enum import Enum
from typing import Final

from azure.core.exceptions import HttpResponseError

from ..argument_types import check_least
from ..edm import Ticks
from ..entity import Entity
from ..errors import BadDesign, BadInput, BadKey, TableBeingDeleted
from ..sdk.errors import Ignored, code_of
from ..sdk.operation import Operation
from ..sdk.page_token import EntityPage, PageQuery
from ..sdk.table import Table

_BEING_DELETED: Final = "TableBeingDeleted"
_EARLIEST: Final = datetime.min.replace(tzinfo=timezone.utc)
_STEPS: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_LABELS: Final = {
    "hour": r"(\d{4})(\d\d)(\d\d)(\d\d)",
    "day": r"(\d{4})(\d\d)(\d\d)",
    "week": r"(\d{4})[Ww](\d\d)",
    "month": r"(\d{4})(\d\d)",
}


class Period(Enum):
    """An hour, a day, a week that starts on Monday, or a month, in UTC.

    A label has a fixed width, consists of letters and digits, and sorts by time. No two kinds share a label.

    >>> moment = datetime(2014, 7, 31, 18, 30, tzinfo=timezone.utc)
    >>> [period.label(period.start(moment)) for period in Period]
    ['2014073118', '20140731', '2014W31', '201407']

    Guide: high volume delete pattern.
    """

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def start(self, moment: date | Ticks) -> datetime:
        """Return the start of the period that contains an instant, in UTC.

        :param moment: an aware datetime, Ticks, or a date, which is a day in UTC
        :raises BadKey: it has no time zone, or no hour, or its period is not within the years 1 to 9999
        """
        if self is Period.HOUR and not isinstance(moment, (datetime, Ticks)) and isinstance(moment, date):
            raise BadKey("moment", moment, "a date has no hour", "pass an aware datetime")
        at = instant_of(moment)
        try:
            first_instant = self._floor(at.astimezone(timezone.utc))
            self.shifted(first_instant, 1)
        except (OverflowError, ValueError):
            rule = f"its {self.value} is not within the years 1 to 9999"
            raise BadKey("moment", moment, rule, "use another instant") from None
        return first_instant

    def _floor(self, at: datetime) -> datetime:
        hour = at.replace(minute=0, second=0, microsecond=0)
        if self is Period.HOUR:
            return hour
        day = hour.replace(hour=0)
        if self is Period.WEEK:
            return day - timedelta(days=day.weekday())
        return day.replace(day=1) if self is Period.MONTH else day

    def shifted(self, start: datetime, count: int) -> datetime:
        """Return the start of the period that is `count` periods later; earlier if it is negative.

        :raises OverflowError: outside the years 1 to 9999
        """
        if self is not Period.MONTH:
            return start + count * _STEPS[self.value]
        year, month = divmod(start.year * 12 + start.month - 1 + count, 12)
        if not 1 <= year <= 9999:
            raise OverflowError(year)
        return start.replace(year=year, month=month + 1)

    def label(self, start: datetime) -> str:
        """Return the label of the period that starts at `start`: the end of its table's name."""
        if self is Period.WEEK:
            year, week, _ = start.isocalendar()
            return f"{year:04d}W{week:02d}"
        length = {Period.HOUR: 10, Period.DAY: 8, Period.MONTH: 6}[self]
        return f"{start.year:04d}{start:%m%d%H}"[:length]

    def parse(self, label: str) -> datetime | None:
        """Return the start of a label's period, or None if it is not a label of this kind.

        >>> Period.WEEK.parse("2014W31"), Period.DAY.parse("20140231")
        (datetime.datetime(2014, 7, 28, 0, 0, tzinfo=datetime.timezone.utc), None)
        """
        match = re.fullmatch(_LABELS[self.value], label, re.ASCII)
        if not match:
            return None
        numbers = [int(group) for group in match.groups()]
        try:
            if self is Period.WEEK:
                return self.start(datetime.fromisocalendar(numbers[0], numbers[1], 1).replace(tzinfo=timezone.utc))
            year, month, day, hour = numbers + [1, 0][len(numbers) - 2 :]
            return self.start(datetime(year, month, day, hour, tzinfo=timezone.utc))
        except ValueError:
            return None

    def __repr__(self) -> str:
        return f"Period.{self.name}"


def instant_of(moment: date | Ticks) -> datetime:
    if isinstance(moment, date) and not isinstance(moment, datetime):
        return datetime.combine(moment, time(), timezone.utc)
    if not isinstance(moment, (datetime, Ticks)):
        raise BadKey("moment", moment, f"a {type(moment).__name__} is not an instant", "pass an aware datetime")
    at = moment.datetime() if isinstance(moment, Ticks) else moment
    if at.utcoffset() is None:
        raise BadKey("moment", moment, "a datetime without a time zone is not an instant", "give it a tzinfo")
    return at


@dataclass(frozen=True)
class Retention:
    """How long periods are kept. Which ones have expired depends only on the clock.

    >>> Retention(Period.DAY, timedelta(days=60)).first_kept(datetime(2014, 9, 29, 23, 59, tzinfo=timezone.utc))
    datetime.datetime(2014, 7, 31, 0, 0, tzinfo=datetime.timezone.utc)

    :param length: the minimum age of every entity of an expired period; or a number of periods, including the current
        one; or None to keep all
    """

    period: Period
    length: timedelta | int | None

    def __post_init__(self) -> None:
        if self.length is None:
            return
        if not isinstance(self.length, (timedelta, int)) or isinstance(self.length, bool):
            rule = "it must be a length of time or a whole number of periods"
            raise BadDesign("retention", self.length, rule, "pass a timedelta, an int or None")
        if self.length <= timedelta(0) if isinstance(self.length, timedelta) else self.length < 1:
            raise BadDesign("retention", self.length, "nothing would be kept", "pass a value above zero")

    def first_kept(self, now: datetime) -> datetime:
        """Return the start of the oldest period that is kept at this time."""
        if self.length is None:
            return _EARLIEST
        try:
            if isinstance(self.length, timedelta):
                return self.period.start(now.astimezone(timezone.utc) - self.length)
            return self.period.shifted(self.period.start(now), 1 - self.length)
        except (OverflowError, BadKey):
            return _EARLIEST

    def __str__(self) -> str:
        if self.length is None:
            return "indefinitely"
        if isinstance(self.length, timedelta):
            return f"for {self.length}".removesuffix(", 0:00:00")
        return f"for {self.length} {self.period.value}{'' if self.length == 1 else 's'}"


class PeriodTable(Table):
    """A table that checks its period before each write, and reads as empty while it is being deleted.

    The check runs right before each request, including the one that creates a missing table.

    :param check: raises if these operations must not be sent now; called with none before the table is created
    :param check_drop: raises if the table must not be dropped now
    """

    def __init__(
        self, table: Table, check: Callable[[Sequence[Operation]], None], check_drop: Callable[[], None]
    ) -> None:
        super().__init__(table._client, table._hook, table._requests)
        self._check = check
        self._check_drop = check_drop

    async def create(self) -> bool:
        """Create the table, unless its period has expired; return False if it existed. Cost: 1 transaction."""
        self._check(())
        try:
            return await super().create()
        except HttpResponseError as error:
            if code_of(error) != _BEING_DELETED:
                raise
            raise self._error(error) from error

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Carry out all operations in one entity group transaction, unless the period has expired."""
        self._check(operations)
        try:
            return await super().submit(*operations)
        except HttpResponseError as error:
            if code_of(error) == "TableNotFound":
                # If the period has expired and was dropped in between, that is the error to report
                self._check(())
            if code_of(error) != _BEING_DELETED or isinstance(error, TableBeingDeleted):
                raise
            raise self._error(error) from error

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        with Ignored(_BEING_DELETED):
            return await super().get(partition_key, row_key, select)
        return None

    async def read_page(self, query: PageQuery) -> EntityPage:
        with Ignored(_BEING_DELETED):
            return await super().read_page(query)
        return EntityPage((), None)

    async def drop(self) -> None:
        self._check_drop()
        with Ignored(_BEING_DELETED):
            await super().drop()

    def _error(self, error: HttpResponseError) -> TableBeingDeleted:
        text = f"the table {self.name!r} is being deleted. Nothing was written; write to the table of another period"
        return TableBeingDeleted(text, error)


def slots_before(period: Period, points: int, count: int, until: datetime) -> list[tuple[datetime, range]]:
    """Return the periods and slots of the last `count` points of a series up to an instant, oldest first.

    >>> noon = datetime(2014, 8, 22, 12, 30, tzinfo=timezone.utc)
    >>> [(start.day, slots) for start, slots in slots_before(Period.DAY, 24, 24, noon)]
    [(21, range(13, 24)), (22, range(0, 13))]
    """
    check_least("count", count, 1)
    start = period.start(until)
    length = period.shifted(start, 1) - start
    if period is Period.MONTH:
        raise BadInput("period", period, "points cannot divide months evenly, since they differ in length", "use days")
    if length % timedelta(microseconds=points):
        rule = f"{points} points do not divide a {period.value} evenly"
        raise BadInput("points", points, rule, "use a number such as 24 for a day")
    last = (instant_of(until).astimezone(timezone.utc) - start) // (length // points)
    slots: list[tuple[datetime, range]] = []
    try:
        while count > 0:
            first = max(0, last + 1 - count)
            slots.append((start, range(first, last + 1)))
            count -= last + 1 - first
            start, last = period.shifted(start, -1), points - 1
    except OverflowError:
        raise BadInput("count", count, "the first point would be before the year 1", "ask for fewer") from None
    return slots[::-1]
