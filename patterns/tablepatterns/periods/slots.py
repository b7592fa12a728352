"""Slots: which points of which periods make up a stretch of time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from ..errors import BadInput
from .period import Period, instant_of


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
