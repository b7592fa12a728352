"""Name a log's blobs by hour, and find the prefixes to list for a time span."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Final

from ...errors import BadInput, LimitExceeded

HOUR: Final = timedelta(hours=1)
MAX_NUMBER: Final = 999_999
_SERVICE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?")
_NAME: Final = re.compile(rf"({_SERVICE.pattern})/(\d{{4}})/(\d\d)/(\d\d)/(\d\d)00/(\d{{6}})\.log", re.ASCII)
_MOST_YEARS: Final = 10
_LAST_HOUR: Final = datetime(9998, 12, 31, 23, tzinfo=timezone.utc)


@dataclass(frozen=True, order=True)
class LogName:
    """The name of one blob: its service, its hour, and its number in that hour.

    >>> name = LogName("queue", datetime(2014, 7, 31, 18, tzinfo=timezone.utc), 1)
    >>> str(name), name.prefix
    ('queue/2014/07/31/1800/000001.log', 'queue/2014/07/31/1800')
    >>> LogName.parse(str(name)) == name
    True

    :param service: what is logged
    :param hour: the beginning of the hour, in UTC
    :param number: 1 to 999,999
    :raises LimitExceeded: all numbers of the hour are taken
    """

    service: str
    hour: datetime
    number: int

    def __post_init__(self) -> None:
        if self.number > MAX_NUMBER:
            rule = f"an hour has {MAX_NUMBER:,} blobs at most"
            raise LimitExceeded("number of a blob", self.number, rule, "write larger batches, or log fewer writers")

    @property
    def prefix(self) -> str:
        """The common prefix of the hour's blobs."""
        return f"{self.service}/{_day(self.hour)}/{self.hour:%H}00"

    def __str__(self) -> str:
        return f"{self.prefix}/{self.number:06d}.log"

    @classmethod
    def parse(cls, text: str) -> LogName | None:
        """Parse a blob's name; return None if it does not belong to a log."""
        match = _NAME.fullmatch(text)
        if not match:
            return None
        year, month, day, hour, number = map(int, match.groups()[1:])
        try:
            begins = datetime(year, month, day, hour, tzinfo=timezone.utc)
        except ValueError:
            return None
        return cls(match[1], begins, number) if begins <= _LAST_HOUR else None


def check_service(service: str) -> str:
    """Return the name of a service, if blob names can begin with it.

    :raises BadInput: it is not 1 to 100 ASCII letters and digits, with dashes and underscores between them
    """
    if not isinstance(service, str) or not _SERVICE.fullmatch(service):
        rule = "it has 1 to 100 ASCII letters and digits, with dashes and underscores between them"
        raise BadInput("service", service, rule, "replace other characters with dashes")
    return service


def hour_of(moment: datetime) -> datetime:
    """Return the beginning of the hour of an instant in UTC."""
    return moment.replace(minute=0, second=0, microsecond=0)


def prefixes(service: str, earliest: datetime, latest: datetime) -> Iterator[str]:
    """Return the prefixes to list for a time span, in order: hours, and whole days, months and years inside it.

    >>> evening, morning = datetime(2014, 7, 31, 23, 59), datetime(2014, 8, 2, 0, 1)
    >>> list(prefixes("queue", evening, morning))
    ['queue/2014/07/31/2300', 'queue/2014/08/01/', 'queue/2014/08/02/0000']

    :param earliest: in UTC, like `latest`; both are included
    """
    if latest.year - earliest.year > _MOST_YEARS:
        yield f"{service}/"
        return
    begin = hour_of(earliest)
    end = min(hour_of(latest), _LAST_HOUR.replace(tzinfo=latest.tzinfo)) + HOUR
    while begin < end:
        part, begin = next((part, after) for part, after in _stretches(begin) if after <= end)
        yield f"{service}/{part}"


def _stretches(begin: datetime) -> Iterator[tuple[str, datetime]]:
    """Return the year, month, day and hour that start at an hour, the longest first, with the hour after each."""
    day = _day(begin)
    if begin.hour == 0:
        if begin.day == 1:
            if begin.month == 1:
                yield day[:5], begin.replace(year=begin.year + 1)
            yield day[:8], (begin + timedelta(days=31)).replace(day=1)
        yield f"{day}/", begin + timedelta(days=1)
    yield f"{day}/{begin:%H}00", begin + HOUR


def _day(moment: datetime) -> str:
    return f"{moment.year:04d}/{moment:%m/%d}"
