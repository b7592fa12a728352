"""Log entries: each is one line, whatever its texts, and parses back to the same entry."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tablepatterns.errors import BadInput
from tablepatterns.recipes.blob_log.entry import LogEntry

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
