"""The writer of a log: the blocks of lines, its open blobs, and its buffer."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns.recipes.blob_log.entry import HOUR, LogName, hour_of
from tablepatterns.recipes.blob_log.writer import BLOCK_BYTES, Block, Buffer, Coverage, Line, Segment, Segments, blocks

NOON = datetime(2014, 7, 31, 12, tzinfo=timezone.utc)
QUARTER = BLOCK_BYTES // 4


def line(minute: float, size: int = 1) -> Line:
    return Line(NOON + timedelta(minutes=minute), "INFO", b"x" * size, NOON)


def segment(number: int, minute: float = 0, **known: int) -> Segment:
    moment = NOON + timedelta(minutes=minute)
    return Segment(
        LogName("queue", hour_of(moment), number), Coverage(moment, moment, frozenset({"INFO"})), moment, **known
    )


@given(st.lists(st.tuples(st.integers(-90, 90), st.sampled_from([1, QUARTER - 1, QUARTER, QUARTER + 1])), max_size=12))
def test_blocks_hold_all_lines_in_order_and_none_is_too_long(given: list[tuple[int, int]]) -> None:
    lines = [line(*each) for each in given]
    cut = list(blocks(lines))
    assert [each for block in cut for each in block.lines] == sorted(lines, key=lambda each: each.at)
    for block in cut:
        assert {hour_of(each.at) for each in block.lines} == {block.hour}
        assert len(block.content) <= BLOCK_BYTES
    for block, after in pairwise(cut):
        assert block.hour != after.hour or len(block.content) + len(after.lines[0].content) > BLOCK_BYTES


def test_a_full_blob_is_not_at_hand_any_more() -> None:
    at_hand = Segments(size=100, blocks=10)
    for full in ({"size": 100}, {"blocks": 10}):
        at_hand.give_back(segment(1, **full))
        assert at_hand.take_all() == []
    almost = segment(1, size=99, blocks=9)
    at_hand.give_back(almost)
    assert at_hand.take_all() == [almost]


def test_a_number_that_is_noted_late_does_not_count() -> None:
    numbers = Segments(100, 10)
    assert numbers.next_number(NOON) == 1
    for number in (5, 4):
        numbers.note_number(NOON, number)
    assert (numbers.next_number(NOON), numbers.next_number(NOON + HOUR)) == (6, 1)


def test_a_writer_of_many_hours_forgets_the_oldest() -> None:
    at_hand = Segments(100, 10)
    for number in range(200):
        at_hand.give_back(segment(1, minute=60 * number))
        at_hand.note_number(NOON + number * HOUR, 1)
    assert [at_hand.next_number(NOON + number * HOUR) for number in (135, 136, 199)] == [1, 2, 2]
    assert at_hand.take(Block([line(60 * 135 + 1)])) is None
    assert at_hand.take(Block([line(60 * 136 + 1)])) == segment(1, minute=60 * 136)
    assert len(at_hand.take_all()) == 63


# ------------------------------------------------------------------ the buffer


def buffered(content: bytes = b"12345", seconds: float = 0) -> Line:
    return Line(NOON, "INFO", content, NOON + timedelta(seconds=seconds))


def buffer_of(*lines: Line, count: int = 100, size: int = 1000, age: float = 100) -> Buffer:
    buffer = Buffer(count, size, timedelta(seconds=age))
    for each in lines:
        buffer.add(each)
    return buffer


@pytest.mark.parametrize("limits", [{"count": 1}, {"size": 1}, {"age": 0}], ids=str)
def test_an_empty_buffer_is_never_due(limits: dict[str, int]) -> None:
    assert not buffer_of(**limits).is_due(buffered())


def test_a_buffer_is_due_when_one_more_line_would_be_too_much() -> None:
    two = (buffered(), buffered())
    assert [buffer_of(*two, count=count).is_due(buffered()) for count in (2, 3)] == [True, False]
    assert [buffer_of(*two, size=size).is_due(buffered()) for size in (14, 15)] == [True, False]
    assert [buffer_of(*two, age=10).is_due(buffered(seconds=seconds)) for seconds in (10, 9.99)] == [True, False]


def test_what_is_taken_counts_no_more_and_what_is_put_back_counts_again() -> None:
    buffer = buffer_of(buffered(b"1"), buffered(b"2"), size=3, age=10)
    taken = buffer.take()
    assert not buffer.is_due(buffered(b"xx"))
    buffer.add(buffered(b"3", seconds=5))
    buffer.put_back(taken)
    assert buffer.is_due(buffered(b"4"))
    assert buffer.is_due(buffered(b"", seconds=10))
    assert [each.content for each in buffer.take()] == [b"1", b"2", b"3"]
    assert buffer.take() == []
