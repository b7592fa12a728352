"""The buffer of a log: when it is flushed, and that no entry is lost."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from tablepatterns.recipes.blob_log.writer import Buffer, Line

NOON = datetime(2014, 7, 31, 12, tzinfo=timezone.utc)


def line(content: bytes = b"12345", seconds: float = 0) -> Line:
    return Line(NOON, "INFO", content, NOON + timedelta(seconds=seconds))


def buffer_of(*lines: Line, count: int = 100, size: int = 1000, age: float = 100) -> Buffer:
    buffer = Buffer(count, size, timedelta(seconds=age))
    for each in lines:
        buffer.add(each)
    return buffer


@pytest.mark.parametrize("limits", [{"count": 1}, {"size": 1}, {"age": 0}], ids=str)
def test_an_empty_buffer_is_never_due(limits: dict[str, int]) -> None:
    assert not buffer_of(**limits).is_due(line())


def test_a_buffer_is_due_when_one_more_line_would_be_too_much() -> None:
    two = (line(), line())
    assert [buffer_of(*two, count=count).is_due(line()) for count in (2, 3)] == [True, False]
    assert [buffer_of(*two, size=size).is_due(line()) for size in (14, 15)] == [True, False]
    assert [buffer_of(*two, age=10).is_due(line(seconds=seconds)) for seconds in (10, 9.99)] == [True, False]


def test_what_is_taken_counts_no_more_and_what_is_put_back_counts_again() -> None:
    buffer = buffer_of(line(b"1"), line(b"2"), size=3, age=10)
    taken = buffer.take()
    assert not buffer.is_due(line(b"xx"))
    buffer.add(line(b"3", seconds=5))
    buffer.put_back(taken)
    assert buffer.is_due(line(b"4"))
    assert buffer.is_due(line(b"", seconds=10))
    assert [each.content for each in buffer.take()] == [b"1", b"2", b"3"]
    assert buffer.take() == []
