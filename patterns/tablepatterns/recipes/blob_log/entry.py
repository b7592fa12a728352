"""Format and parse log entries, one line of text each, and the names of the blobs that hold them, one hour each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Final
from uuid import UUID, uuid4

from ...argument_types import checked
from ...errors import BadInput, LimitExceeded, message_of

_LEVEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 _.-]{0,30}[A-Za-z0-9])?")
_SHORT: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONG: Final = {escape: plain for plain, escape in _SHORT.items()}
# The delimiter, everything that a tool may treat as a line end, and lone surrogates, which UTF-8 cannot encode
_SPECIAL: Final = re.compile("[\\\\;\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|.?)")
_LAST_YEAR: Final = 9998
"""The hour after an entry must have a valid name too."""


@dataclass(frozen=True)
class LogEntry:
    r"""One entry of a log.

    >>> moment = datetime(2014, 7, 31, 18, 5, tzinfo=timezone.utc)
    >>> entry = LogEntry(moment, "ERROR", "disk full;\nretrying", {"host": "a1"}, UUID(int=7))
    >>> print(entry.line())
    2014-07-31T18:05:00.000000Z;ERROR;00000000000000000000000000000007;disk full\u003b\nretrying;host=a1
    >>> LogEntry.parse(entry.line()) == entry
    True

    A line has no line breaks, and no semicolons except between its parts.

    :param at: when it was logged: an aware datetime, kept in UTC
    :param level: such as `ERROR`: up to 32 ASCII letters, digits, blanks, dots, dashes and underscores
    :param message: any text
    :param fields: more texts by name, in this order
    :param id: a unique id
    :raises BadInput: one of these is invalid
    """

    at: datetime
    level: str
    message: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    id: UUID = field(default_factory=uuid4)

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", in_utc("at", self.at))
        object.__setattr__(self, "fields", dict(self.fields))
        if self.at.year > _LAST_YEAR:
            raise BadInput("at", self.at, f"a log has instants up to the year {_LAST_YEAR}", "use an earlier instant")
        if not is_level(self.level):
            rule = "a level has up to 32 ASCII letters, digits, blanks, dots, dashes and underscores"
            raise BadInput("level", self.level, rule, "use such a level, or put the text into a field")
        for text in (self.message, *self.fields, *self.fields.values()):
            if not isinstance(text, str):
                raise BadInput("text of a log entry", text, "it must be a str", "convert it with str()")

    def line(self) -> str:
        """Return the entry as one line, without a line end."""
        fields = (f"{_escaped(name).replace('=', _code('='))}={_escaped(text)}" for name, text in self.fields.items())
        return ";".join((moment_text(self.at), self.level, self.id.hex, _escaped(self.message), *fields))

    @classmethod
    @checked
    def parse(cls, line: str) -> LogEntry:
        """Parse a line.

        :raises BadInput: the line is not a log entry
        """
        try:
            at, level, entry_id, message, *field_texts = line.split(";")
            fields = (text.split("=", 1) for text in field_texts)
            parsed_fields = {_unescaped(name): _unescaped(text) for name, text in fields}
            return cls(moment_of(at), level, _unescaped(message), parsed_fields, UUID(hex=entry_id))
        except ValueError as error:
            rule = f"it is not a line of a log ({message_of(error)})"
            raise BadInput("line", line, rule, "keep other content out of the log's blobs") from error


def is_level(text: object) -> bool:
    return isinstance(text, str) and _LEVEL.fullmatch(text) is not None


def in_utc(subject: str, moment: datetime) -> datetime:
    """Convert an instant to UTC; reject one without a time zone, or outside the range of datetime in UTC."""
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise BadInput(subject, moment, "a datetime without a time zone is not an instant", "give it a tzinfo")
    try:
        return moment.astimezone(timezone.utc)
    except OverflowError:
        raise BadInput(subject, moment, "in UTC it is not within the years 1 to 9999", "use another instant") from None


def moment_text(moment: datetime) -> str:
    """Format an instant in UTC so that texts sort as their instants do."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def moment_of(text: str) -> datetime:
    """Parse an instant that `moment_text` formatted; any other text is a `ValueError`."""
    moment = datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=timezone.utc)
    if moment_text(moment) != text:
        raise ValueError(f"{text!r} is not an instant in UTC with microseconds")
    return moment


def _code(character: str) -> str:
    return f"\\u{ord(character):04x}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: _SHORT.get(match[0]) or _code(match[0]), text)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[0] not in _LONG:
        raise ValueError(f"{match[0]!r} is not an escape sequence")
    return _LONG[match[0]]


HOUR: Final = timedelta(hours=1)
MAX_NUMBER: Final = 999_999
_SERVICE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?")
_NAME: Final = re.compile(rf"({_SERVICE.pattern})/(\d{{4}})/(\d\d)/(\d\d)/(\d\d)00/(\d{{6}})\.log", re.ASCII)
_MOST_YEARS: Final = 10
_LAST_HOUR: Final = datetime(9998, 12, 31, 23, tzinfo=timezone.utc)


@dataclass(frozen=True, order=True)
class LogName:
    """The name of a blob, `queue/2014/07/31/1800/000001.log`: service, hour in UTC, and number in the hour, from 1."""

    service: str
    hour: datetime
    number: int

    def __post_init__(self) -> None:
        if self.number > MAX_NUMBER:
            rule = f"an hour has {MAX_NUMBER:,} blobs at most"
            raise LimitExceeded("number of a blob", self.number, rule, "write larger batches, or log fewer writers")

    @property
    def prefix(self) -> str:
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
    """Return the name of a service; reject one that blob names cannot begin with."""
    if not isinstance(service, str) or not _SERVICE.fullmatch(service):
        rule = "it has 1 to 100 ASCII letters and digits, with dashes and underscores between them"
        raise BadInput("service", service, rule, "replace other characters with dashes")
    return service


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def prefixes(service: str, earliest: datetime, latest: datetime) -> Iterator[str]:
    """Return the prefixes to list for a span in UTC, in order: hours, and whole days, months and years inside it."""
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
