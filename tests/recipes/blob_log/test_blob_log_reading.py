"""Reading a blob log by time span and level, in order of time, from the necessary blobs only."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.blob_logs import THREE, blobs_of, fill, log_of, messages, minute
from support.examples import examples
from tablepatterns.errors import BadInput
from tablepatterns.recipes.blob_log import blob_log as reading
from tablepatterns_engine.account import Engine

ODD = ["", ";", "a;b", "\n", "a\r\nb", "\\", "\\n", "tab\t", '"quoted"', "=", "a=b", "\u2028", "\x85", "\ud800", "ü😀"]


def blobs_read(span: Any) -> list[str]:
    return [record.partition[-15:] for record in span.records if record.operation == "GetBlob"]


@pytest.mark.guide("G-265")
async def test_a_span_and_levels_are_read_exactly(storage: Any, container: str) -> None:
    log = log_of(storage, container)
    for number in (3.99, 4, 5, 6, 6.01):
        for level in ("INFO", "ERROR", "CRITICAL"):
            await log.append(level, f"{number} {level}", at=minute(number))
    await log.flush()
    found = await messages(log, 4, 6, levels=["ERROR", "CRITICAL"])
    assert found == [f"{number} {level}" for number in (4, 5, 6) for level in ("ERROR", "CRITICAL")]
    assert len(await messages(log, 4, 6)) == 9
    assert await messages(log, 4, 6, levels=[]) == []
    assert await messages(log, 6, 4) == []


async def test_a_level_that_comes_later_is_found_too(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True, ahead=timedelta(minutes=10))
    await fill(log, 1)
    await fill(log, 2, level="ERROR")
    assert list(await blobs_of(log)) == ["1500/000001.log"]
    assert await messages(log, levels=["ERROR"]) == ["2"]


async def test_so_many_levels_that_they_do_not_fit_are_read_all_the_same(storage: Any, container: str) -> None:
    log = log_of(storage, container)
    for number in range(50):
        await fill(log, number, level=f"a-level-of-some-length-{number}")
    await log.flush()
    (metadata,) = (await blobs_of(log)).values()
    assert set(metadata) == {"first", "last"}
    assert await messages(log, levels=["a-level-of-some-length-7"]) == ["7"]


@pytest.mark.guide("G-266")
async def test_blobs_that_miss_the_span_or_the_levels_are_not_opened(
    storage: Any, engine: Engine, container: str
) -> None:
    log = log_of(storage, container, blob_blocks=1)
    for number, level in enumerate(("INFO", "ERROR", "INFO", "ERROR", "INFO")):
        await fill(log, number, number + 0.5, level=level)
        await log.flush()
    with engine.ledger.span() as span:
        assert await messages(log, 1.5, 3) == ["1.5", "2", "2.5", "3"]
    assert span.totals.by_operation == {"ListBlobs": 1, "GetBlob": 3}
    with engine.ledger.span() as span:
        assert await messages(log, 1.5, 3, levels=["ERROR"]) == ["1.5", "3"]
    assert blobs_read(span) == ["1500/000002.log", "1500/000004.log"]


@pytest.mark.guide("G-267")
async def test_a_span_over_hours_and_days_lists_each_that_it_touches(
    storage: Any, engine: Engine, container: str
) -> None:
    log = log_of(storage, container)
    midnight = 9 * 60
    await fill(log, -1, midnight - 60.5, midnight - 1, midnight, midnight + 60)
    await log.flush()
    with engine.ledger.span() as span:
        assert await messages(log, midnight - 60, midnight + 59) == [f"{midnight - 1}", f"{midnight}"]
    assert [record.operation for record in span.records] == ["ListBlobs", "GetBlob"] * 2
    assert [name[-15:] for name in blobs_read(span)] == ["2300/000001.log", "0000/000001.log"]


async def test_a_whole_day_is_one_list(storage: Any, engine: Engine, container: str) -> None:
    log = log_of(storage, container)
    await fill(log, *range(-15 * 60, 9 * 60, 60))
    await log.flush()
    with engine.ledger.span() as span:
        found = await messages(log, -15 * 60, 9 * 60 - 1)
    assert found == [f"{number}" for number in range(-15 * 60, 9 * 60, 60)]
    assert span.totals.by_operation == {"ListBlobs": 1, "GetBlob": 24}


async def test_a_span_without_end_is_read_to_now(storage: Any, engine: Engine, container: str) -> None:
    engine.clock.set(minute(5))
    log = log_of(storage, container)
    await fill(log, 1, 4, 10)
    await log.flush()
    assert [entry.message async for entry in log.between(minute(2))] == ["4"]
    endless = datetime.max.replace(tzinfo=timezone.utc)
    assert [entry.message async for entry in log.between(minute(2), endless)] == ["4", "10"]


async def test_entries_of_many_blobs_come_in_order_of_time(storage: Any, container: str) -> None:
    logs = [log_of(storage, container) for _ in range(3)]
    for part, log in enumerate(logs):
        for begin in (0, 7, 3):
            await fill(log, *(begin + number + part / 10 for number in range(5)))
            await log.flush()
    found = [float(text) for text in await messages(logs[0])]
    assert found == sorted(found)
    assert len(found) == 45


async def test_entries_of_one_instant_come_as_they_were_appended(storage: Any, container: str) -> None:
    log = log_of(storage, container, flush_count=3)
    for number in range(10):
        await log.append("INFO", f"{number}", at=THREE)
    await log.flush()
    assert await messages(log) == [f"{number}" for number in range(10)]


async def test_a_reader_that_stops_early_reads_little(storage: Any, engine: Engine, container: str) -> None:
    log = log_of(storage, container, write_through=True, blob_blocks=1)
    await fill(log, *range(20))
    with engine.ledger.span() as span:
        async for entry in log.between(THREE, minute(60)):
            if entry.message == "2":
                break
    assert blobs_read(span) == [f"1500/00000{number}.log" for number in (1, 2, 3)]


async def test_a_blob_is_read_in_chunks_and_not_beyond_the_span(
    storage: Any, engine: Engine, container: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PIECE_BYTES", 100)
    log = log_of(storage, container)
    await fill(log, *range(60))
    await log.flush()
    size = (await log.container.facts("queue/2014/07/31/1500/000001.log")).size
    with engine.ledger.span() as span:
        assert await messages(log) == [f"{number}" for number in range(60)]
    assert len(blobs_read(span)) == -(-size // 100)
    with engine.ledger.span() as span:
        assert await messages(log, 0, 5) == [f"{number}" for number in range(6)]
    assert len(blobs_read(span)) <= 6


async def test_a_reader_meets_a_blob_as_it_was_listed(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True)
    await fill(log, 1)
    found = []
    async for entry in log.between(THREE, minute(60)):
        found.append(entry.message)
        await fill(log, 2)
    assert found == ["1"]


async def test_a_blob_that_is_dropped_while_it_is_read_ends_there(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True, blob_blocks=1)
    await fill(log, 1, 2)
    found = []
    async for entry in log.between(THREE, minute(60)):
        found.append(entry.message)
        await log.drop_before(minute(60))
    assert found == ["1"]


async def test_blobs_of_other_names_are_let_alone(storage: Any, container: str) -> None:
    log = log_of(storage, container)
    for name in ("readme.txt", "000001.log.bak", "1.log"):
        await log.container.upload(f"queue/2014/07/31/1500/{name}", b"not a log")
    await log.container.upload("queue2/2014/07/31/1500/000001.log", b"not ours")
    await fill(log, 1)
    await log.flush()
    assert await messages(log) == ["1"]
    assert await log.drop_before(minute(600)) == 1
    assert len([each async for each in log.container.blobs()]) == 4


@pytest.mark.parametrize("metadata", [{}, {"first": "soon", "last": "0"}], ids=str)
async def test_a_blob_that_does_not_say_what_it_holds_is_read(
    storage: Any, container: str, metadata: dict[str, str]
) -> None:
    log = log_of(storage, container)
    await fill(log, 1, 2)
    await log.flush()
    await log.container.describe("queue/2014/07/31/1500/000001.log", metadata)
    assert await messages(log, 2, levels=["INFO"]) == ["2"]


@pytest.mark.parametrize("content", [b"hello\n", b"\n", b"\xff\xfe\n"], ids=repr)
async def test_a_line_that_is_none_of_a_log_is_reported(storage: Any, container: str, content: bytes) -> None:
    log = log_of(storage, container)
    await log.container.upload("queue/2014/07/31/1500/000001.log", content)
    with pytest.raises(BadInput, match="not a line of a log"):
        await messages(log)


# ------------------------------------------------------------------ expiry


async def test_whole_hours_are_dropped(storage: Any, engine: Engine, container: str) -> None:
    log = log_of(storage, container, write_through=True)
    await fill(log, 1, 61, 121)
    assert await log.drop_before(minute(59)) == 0
    with engine.ledger.span() as span:
        assert await log.drop_before(minute(130)) == 2
    assert span.totals.by_operation == {"ListBlobs": 1, "DeleteBlob": 2}
    assert list(await blobs_of(log)) == ["1700/000001.log"]
    assert await messages(log, 0, 180) == ["121"]


async def test_more_blobs_are_dropped_than_fit_into_one_go(storage: Any, engine: Engine, container: str) -> None:
    log = log_of(storage, container, write_through=True, blob_blocks=1)
    await fill(log, *(number / 2 for number in range(101)))
    assert await log.drop_before(minute(60)) == 101
    assert await blobs_of(log) == {}


# ------------------------------------------------------------------ what is refused, and the law


@pytest.mark.parametrize("call", ["between", "latest", "drop_before"])
async def test_an_instant_without_a_zone_is_rejected(storage: Any, engine: Engine, container: str, call: str) -> None:
    log, naive = log_of(storage, container), datetime(2014, 7, 31)
    calls = {
        "between": lambda: collected(log.between(naive, THREE)),
        "latest": lambda: collected(log.between(THREE, naive)),
        "drop_before": lambda: log.drop_before(naive),
    }
    with pytest.raises(BadInput, match="time zone"):
        await calls[call]()
    assert engine.ledger.totals.requests == 0


async def collected(found: Any) -> list[Any]:
    return [entry async for entry in found]


async def test_levels_are_not_one_text(storage: Any, engine: Engine, container: str) -> None:
    with pytest.raises(BadInput, match="collection of str"):
        await messages(log_of(storage, container), levels="ERROR")


@pytest.mark.guide("G-259")
async def test_texts_come_back_as_they_were(storage: Any, container: str) -> None:
    log = log_of(storage, container)
    sent = [await log.append("INFO", text, at=THREE, fields={text: text, "n": "1"}) for text in ODD]
    await log.flush()
    assert [entry async for entry in log.between(THREE, THREE)] == sent


@pytest.mark.guide("G-265", "G-268")
@examples(25)
@given(
    batches=st.lists(
        st.tuples(
            st.integers(0, 1),
            st.lists(st.tuples(st.integers(-90, 90), st.sampled_from(["INFO", "ERROR"])), max_size=4),
        ),
        max_size=8,
    ),
    ahead=st.sampled_from([0, 10, 600]),
    low=st.integers(-90, 90),
    length=st.integers(0, 90),
)
async def test_whatever_two_writers_log_a_span_is_read_in_order_and_whole(
    storage: Any, new_container: Any, batches: Any, ahead: int, low: int, length: int
) -> None:
    name = new_container()
    logs = [log_of(storage, name, blob_blocks=3, ahead=timedelta(minutes=ahead)) for _ in range(2)]
    sent = []
    for writer, batch in batches:
        sent += [await logs[writer].append(level, "text", at=minute(at)) for at, level in batch]
        await logs[writer].flush()
    begin, end = minute(low), minute(low + length)
    for levels in (None, ["ERROR"]):
        found = [entry async for entry in logs[0].between(begin, end, levels=levels)]
        asked = [each for each in sent if begin <= each.at <= end and each.level in (levels or [each.level])]
        assert [entry.at for entry in found] == sorted(entry.at for entry in asked)
        assert {entry.id for entry in found} == {entry.id for entry in asked}
