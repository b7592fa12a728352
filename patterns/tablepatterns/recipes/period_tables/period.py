"""Periods of time, the names of their tables, and their retention."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Final

from azure.core.exceptions import HttpResponseError

from ...edm import Ticks
from ...entity import Entity
from ...errors import BadDesign, BadInput, BadKey, TableBeingDeleted
from ...filters import Filter
from ...sdk.errors import code_of
from ...sdk.operation import Operation
from ...sdk.table import Page, Table

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


class PeriodTable(Table):
    """A table that asks before each write whether it may still be written, and that holds nothing once it is deleted.

    It asks right before each request, that which makes a missing table included.

    :param table: the table
    :param check: refuses the operations that must not be sent now; none of them stands for making the table
    :param check_drop: refuses to have the table dropped now
    """

    def __init__(
        self, table: Table, check: Callable[[Sequence[Operation]], None], check_drop: Callable[[], None]
    ) -> None:
        super().__init__(table._client, table._hook)
        self._check = check
        self._check_drop = check_drop

    async def create(self) -> bool:
        """Create the table, unless its period has expired; return False if it existed. Cost: 1 transaction.

        :raises PeriodExpired: the period has expired
        :raises TableBeingDeleted: the table was deleted a moment ago
        """
        self._check(())
        try:
            return await super().create()
        except HttpResponseError as error:
            if not _being_deleted(error):
                raise
            raise self._refusal(error) from error

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Carry out all operations in one entity group transaction, unless the period has expired.

        :raises PeriodExpired: the period has expired
        :raises BadKey: an entity is of another period
        :raises TableBeingDeleted: the table was deleted a moment ago

        The rest is as for any table.
        """
        self._check(operations)
        try:
            return await super().submit(*operations)
        except HttpResponseError as error:
            if code_of(error) == "TableNotFound":
                # It may have been dropped on the way, which is then the reason
                self._check(())
            if not _being_deleted(error) or isinstance(error, TableBeingDeleted):
                raise
            raise self._refusal(error) from error

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        """Read one entity by its keys, or None. Cost: 1 transaction, a point query."""
        try:
            return await super().get(partition_key, row_key, select)
        except HttpResponseError as error:
            if not _being_deleted(error):
                raise
            return None

    async def page(
        self, where: Filter | None, *, size: int, token: str | None = None, select: Sequence[str] | None = None
    ) -> Page[Entity]:
        """Read one page of a query. Cost: 1 transaction."""
        try:
            return await super().page(where, size=size, token=token, select=select)
        except HttpResponseError as error:
            if not _being_deleted(error):
                raise
            return Page((), None)

    async def drop(self) -> None:
        """Delete the table with everything in it; one that is deleted already is fine. Cost: 1 transaction.

        :raises BadInput: the period has not expired
        """
        self._check_drop()
        try:
            await super().drop()
        except HttpResponseError as error:
            if not _being_deleted(error):
                raise

    def _refusal(self, error: HttpResponseError) -> TableBeingDeleted:
        text = (
            f"the table {self.name!r} is being deleted, and nothing has changed; write to the table of another period"
        )
        return TableBeingDeleted(text, error)


def _being_deleted(error: HttpResponseError) -> bool:
    return code_of(error) == "TableBeingDeleted"


def slots_before(period: Period, points: int, count: int, until: datetime) -> list[tuple[datetime, range]]:
    """Return the periods, and the slots of each, of the last `count` points up to that of an instant; oldest first.

    >>> noon = datetime(2014, 8, 22, 12, 30, tzinfo=timezone.utc)
    >>> [(start.day, slots) for start, slots in slots_before(Period.DAY, 24, 24, noon)]
    [(21, range(13, 24)), (22, range(0, 13))]

    :param period: what has a series of its own
    :param points: how many points divide it
    :param count: how many points to return
    :param until: the instant of the last one
    :raises BadInput: there is no such stretch
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise BadInput("count", count, "it is a number of points, at least 1", "give 1 or more")
    start = period.start(until)
    length = period.shifted(start, 1) - start
    if period is Period.MONTH:
        raise BadInput("period", period, "months differ in length, so points do not divide them evenly", "use days")
    if length % timedelta(microseconds=points):
        rule = f"{points} points do not divide a {period.value} evenly"
        raise BadInput("points", points, rule, "use a number such as 24 for a day")
    last = (instant_of(until).astimezone(timezone.utc) - start) // (length // points)
    found: list[tuple[datetime, range]] = []
    try:
        while count > 0:
            first = max(0, last + 1 - count)
            found.append((start, range(first, last + 1)))
            count -= last + 1 - first
            start, last = period.shifted(start, -1), points - 1
    except OverflowError:
        rule = "it reaches back to before the year 1"
        raise BadInput("count", count, rule, "ask for fewer points") from None
    return found[::-1]
