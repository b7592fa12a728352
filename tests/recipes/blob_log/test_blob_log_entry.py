"""Log entries, each of one line that parses back to the same entry, and the names of a log's blobs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tablepatterns.errors import BadInput, LimitExceeded
from tablepatterns.recipes.blob_log.entry import HOUR, LogEntry, LogName, hour_of, prefixes

NOON = datetime(2014, 7, 31, 12, tzinfo=timezone.utc)
# Halves of characters too, which no file can hold
TEXTS = st.text(st.characters(codec=None, exclude_categories=())) | st.text(";=\\nu0\n\r\t\x85\u2028")
LEVELS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9 _.-]{0,30}[A-Za-z0-9])?", fullmatch=True)
MOMENTS = st.datetimes(max_value=datetime(9998, 12, 31), timezones=st.just(timezone.utc))


@pytest.mark.guide("G-259")
@example(NOON, "INFO", "", {"": "", "=": "="}, UUID(int=0))
@given(at=MOMENTS, level=LEVELS, message=TEXTS, fields=st.dictionaries(TEXTS, TEXTS, max_size=3), entry_id=st.uuids())
def test_any_entry_is_one_line_and_reads_back(
    at: datetime, level: str, message: str, fields: dict[str, str], entry_id: UUID
) -> None:
    entry = LogEntry(at, level, message, fields, entry_id)
    line = entry.line()
    assert line.splitlines() == [line]
    assert line.count(";") == 3 + len(fields)
    read = LogEntry.parse(line.encode().decode())
    assert (read, list(read.fields)) == (entry, list(fields))


@pytest.mark.guide("G-259")
def test_a_line_can_be_read_by_people_and_cut_by_programs() -> None:
    entry = LogEntry(NOON, "ERROR", "disk a;b full\r\nretry\t1 \\o/", {"k=1": "v=1"}, UUID(int=7))
    assert entry.line() == (
        "2014-07-31T12:00:00.000000Z;ERROR;00000000000000000000000000000007;"
        r"disk a\u003bb full\r\nretry\t1 \\o/;k\u003d1=v=1"
    )


@given(first=MOMENTS, second=MOMENTS)
def test_lines_sort_as_their_instants_do(first: datetime, second: datetime) -> None:
    lines = [LogEntry(at, "INFO", "", {}, UUID(int=0)).line() for at in (first, second)]
    assert (lines[0] < lines[1]) == (first < second)


def test_an_instant_of_another_zone_is_kept_in_utc() -> None:
    entry = LogEntry(NOON.astimezone(timezone(timedelta(hours=5, minutes=30))), "INFO", "")
    assert entry.line().startswith("2014-07-31T12:00:00.000000Z;")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "2014-07-31T12:00:00.000000Z;INFO;00000000000000000000000000000007",
        "2014-07-31T12:00:00Z;INFO;00000000000000000000000000000007;text",
        "2014-07-31 12:00:00.000000Z;INFO;00000000000000000000000000000007;text",
        "2014-07-31T12:00:00.000000;INFO;00000000000000000000000000000007;text",
        "2014-07-31T12:00:00.000000Z;;00000000000000000000000000000007;text",
        "2014-07-31T12:00:00.000000Z;INFO;7;text",
        "2014-07-31T12:00:00.000000Z;INFO;00000000000000000000000000000007;text;field",
        r"2014-07-31T12:00:00.000000Z;INFO;00000000000000000000000000000007;text\q",
        r"2014-07-31T12:00:00.000000Z;INFO;00000000000000000000000000000007;text\u00",
        "2014-07-31T12:00:00.000000Z;INFO;00000000000000000000000000000007;text\\",
    ],
)
def test_what_is_no_line_is_rejected(line: str) -> None:
    with pytest.raises(BadInput, match="not a line of a log"):
        LogEntry.parse(line)


def test_an_instant_beyond_the_calendar_in_utc_is_rejected() -> None:
    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))
    with pytest.raises(BadInput, match="not within the years"):
        LogEntry(early, "INFO", "")


# ------------------------------------------------------------------ names of blobs, and the prefixes of a time span


SIX = datetime(2014, 7, 31, 18, tzinfo=timezone.utc)
HOURS = st.datetimes(max_value=datetime(9998, 12, 31, 23), timezones=st.just(timezone.utc)).map(hour_of)


@pytest.mark.guide("G-255", "G-257", "G-258")
def test_the_name_is_the_guides() -> None:
    name = LogName("queue", SIX, 1)
    assert (str(name), name.prefix) == ("queue/2014/07/31/1800/000001.log", "queue/2014/07/31/1800")
    assert str(LogName("queue", SIX, 999_999)) == "queue/2014/07/31/1800/999999.log"


def test_an_hour_has_no_more_than_six_digits_of_blobs() -> None:
    with pytest.raises(LimitExceeded, match="999,999"):
        LogName("queue", SIX, 1_000_000)


@pytest.mark.guide("G-256")
@given(
    hour=HOURS, number=st.integers(1, 999_999), service=st.from_regex(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", fullmatch=True)
)
def test_a_name_parses_back(hour: datetime, number: int, service: str) -> None:
    name = LogName(service[:100].rstrip("-"), hour, number)
    assert LogName.parse(str(name)) == name


@given(names=st.lists(st.builds(LogName, st.just("queue"), HOURS, st.integers(1, 999_999))))
def test_names_sort_as_their_hours_and_numbers_do(names: list[LogName]) -> None:
    assert sorted(map(str, names)) == [str(name) for name in sorted(names)]


@pytest.mark.parametrize(
    "text",
    [
        "queue/2014/07/31/1800/000001.txt",
        "queue/2014/07/31/1800/1.log",
        "queue/2014/07/31/1830/000001.log",
        "queue/2014/07/31/2400/000001.log",
        "queue/2014/02/30/1800/000001.log",
        "2014/07/31/1800/000001.log",
        "a/queue/2014/07/31/1800/000001.log",
        "queue/2014/07/31/1800/000001.log\n",
        "queue/2014/07/31/1800/00000\u0661.log",
        "queue/9999/01/01/0000/000001.log",
    ],
)
def test_other_names_are_none_of_a_log(text: str) -> None:
    assert LogName.parse(text) is None


@pytest.mark.guide("G-267")
@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        (0, ["31/1800"]),
        (1, ["31/1800", "31/1900"]),
        (6, [f"31/{hour}00" for hour in range(18, 24)] + ["08/01/0000"]),
    ],
)
def test_a_span_within_days_lists_its_hours(hours: int, expected: list[str]) -> None:
    found = [
        prefix.removeprefix("queue/2014/").removeprefix("07/") for prefix in prefixes("queue", SIX, SIX + hours * HOUR)
    ]
    assert found == expected


def test_a_long_span_lists_days_months_and_years() -> None:
    begin, end = datetime(2013, 11, 29, 22, 30), datetime(2016, 2, 2, 1, 30)
    assert [prefix.removeprefix("queue/") for prefix in prefixes("queue", begin, end)] == [
        "2013/11/29/2200",
        "2013/11/29/2300",
        "2013/11/30/",
        "2013/12/",
        "2014/",
        "2015/",
        "2016/01/",
        "2016/02/01/",
        "2016/02/02/0000",
        "2016/02/02/0100",
    ]
    assert list(prefixes("queue", begin, datetime.max)) == ["queue/"]


@example(SIX, 0, 0)
@example(datetime(9998, 12, 31, 23, tzinfo=timezone.utc), 0, 0)
@given(begin=HOURS, length=st.integers(0, 24 * 800), hour=st.integers(-30, 24 * 800 + 30))
def test_an_hour_is_listed_once_if_it_is_in_the_span_and_never_otherwise(
    begin: datetime, length: int, hour: int
) -> None:
    try:
        end, asked = begin + timedelta(hours=length, minutes=59), begin + hour * HOUR
    except OverflowError:
        return
    if asked.year > 9998:
        return
    name = str(LogName("queue", asked, 1))
    listed = [prefix for prefix in prefixes("queue", begin, end) if name.startswith(prefix)]
    assert len(listed) == (begin <= asked <= end)
