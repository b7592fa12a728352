"""Blob log: blobs, buffering, several writers, costs, and rejected arguments."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from support.blob_logs import THREE, blobs_of, entries_in, fill, log_of, messages, messages_in, minute
from tablepatterns import BlobLog, connect
from tablepatterns.errors import BadInput, LimitExceeded
from tablepatterns.recipes.blob_log.writer import BLOCK_BYTES
from tablepatterns_engine.account import Engine

# ------------------------------------------------------------------ blobs and their names


@pytest.mark.guide("G-255", "G-257", "G-262")
async def test_the_blobs_of_an_hour_are_numbered_in_the_guides_names(storage: Any, container: str) -> None:
    log = log_of(storage, container, blob_blocks=2, write_through=True)
    await fill(log, 1, 2, 3, 61)
    assert [each.name async for each in log.container.blobs()] == [
        "queue/2014/07/31/1500/000001.log",
        "queue/2014/07/31/1500/000002.log",
        "queue/2014/07/31/1600/000001.log",
    ]
    assert [await messages_in(log, f"1500/00000{number}.log") for number in (1, 2)] == [["1", "2"], ["3"]]


@pytest.mark.guide("G-262")
async def test_a_flush_appends_to_the_current_blob(storage: Any, container: str) -> None:
    log = log_of(storage, container)
    for number in (1, 2, 3):
        await fill(log, number)
        assert await log.flush() == 1
    assert await messages_in(log, "1500/000001.log") == ["1", "2", "3"]
    assert await log.flush() == 0


@pytest.mark.guide("G-260")
async def test_the_metadata_says_when_the_first_and_the_last_entry_were_logged(storage: Any, container: str) -> None:
    log = log_of(storage, container)
    await fill(log, 1, 2)
    await fill(log, 1.5, level="ERROR")
    await log.flush()
    first, last = "2014-07-31T15:01:00.000000Z", "2014-07-31T15:02:00.000000Z"
    assert await blobs_of(log) == {"1500/000001.log": {"first": first, "last": last, "levels": "ERROR,INFO"}}
    await fill(log, 7)
    await log.flush()
    last = "2014-07-31T15:07:00.000000Z"
    assert await blobs_of(log) == {"1500/000001.log": {"first": first, "last": last, "levels": "ERROR,INFO"}}


@pytest.mark.guide("G-260", "G-265", "G-266")
async def test_the_metadata_names_every_level_of_the_blob_before_a_reader_needs_it(
    storage: Any, container: str
) -> None:
    log = log_of(storage, container, write_through=True)
    levels_after = {"INFO": "INFO", "ERROR": "ERROR,INFO", "CRITICAL": "CRITICAL,ERROR,INFO"}
    for number, (level, levels) in enumerate(levels_after.items(), start=4):
        await fill(log, number, level=level)
        (metadata,) = (await blobs_of(log)).values()
        assert metadata["levels"] == levels
        span = THREE + timedelta(minutes=4), THREE + timedelta(minutes=6)
        found = [entry.level async for entry in log.between(*span, levels=["ERROR", "CRITICAL"])]
        assert found == [each for each in ("ERROR", "CRITICAL") if each in levels]


async def test_metadata_that_reaches_ahead_stays_in_the_hour_and_is_exact_once_closed(
    storage: Any, container: str
) -> None:
    log = log_of(storage, container, write_through=True, ahead=timedelta(minutes=5))
    for number, last in ((1, "15:06:00.000000"), (6, "15:06:00.000000"), (57, "15:59:59.999999")):
        await fill(log, number)
        (metadata,) = (await blobs_of(log)).values()
        assert metadata["last"] == f"2014-07-31T{last}Z"
    assert await log.close() == 0
    (metadata,) = (await blobs_of(log)).values()
    assert metadata["last"] == "2014-07-31T15:57:00.000000Z"


async def test_metadata_never_reaches_beyond_the_hour(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True, ahead=timedelta.max)
    await fill(log, 1)
    (metadata,) = (await blobs_of(log)).values()
    assert metadata["last"] == "2014-07-31T15:59:59.999999Z"


async def test_a_blob_is_full_at_its_size(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True)
    await fill(log, 10)
    size = (await log.container.facts("queue/2014/07/31/1500/000001.log")).size
    for blob_bytes, blobs in ((2 * size, [2, 1]), (2 * size + 1, [3])):
        log = log_of(storage, container, write_through=True, blob_bytes=blob_bytes)
        before = set(await blobs_of(log))
        await fill(log, 11, 12, 13)
        assert [len(await messages_in(log, name)) for name in sorted(set(await blobs_of(log)) - before)] == blobs


async def test_an_hour_has_no_number_beyond_six_digits(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True)
    await log.container.create_append("queue/2014/07/31/1500/000001.log")
    await log.container.create_append("queue/2014/07/31/1500/999999.log")
    with pytest.raises(LimitExceeded, match="999,999"):
        await fill(log, 1)


@pytest.mark.guide("G-263")
async def test_an_entry_of_an_earlier_time_goes_to_a_blob_of_its_own(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True)
    await fill(log, 5, 3, 6, 7, 4)
    assert await messages_in(log, "1500/000001.log") == ["5", "6", "7"]
    assert await messages_in(log, "1500/000002.log") == ["3", "4"]
    assert await messages(log) == ["3", "4", "5", "6", "7"]


# ------------------------------------------------------------------ buffering, or writing through


@pytest.mark.guide("G-261")
async def test_a_buffer_is_written_when_it_is_full(storage: Any, container: str) -> None:
    log = log_of(storage, container, flush_count=3)
    await fill(log, 1, 2, 3)
    assert await messages(log) == []
    await fill(log, 4)
    assert await messages(log) == ["1", "2", "3"]


@pytest.mark.guide("G-261")
async def test_a_buffer_is_full_at_its_size(storage: Any, container: str) -> None:
    line = len((await log_of(storage, container).append("INFO", "1", at=THREE)).line()) + 1
    for size, expected in ((3 * line, "123"), (3 * line - 1, "12")):
        log = log_of(storage, f"{container}-{size}", flush_bytes=size)
        await fill(log, 1, 2, 3, 4)
        await log.container.create()
        assert (await messages(log))[:3] == list(expected)
        await log.container.drop()


@pytest.mark.guide("G-261")
async def test_a_buffer_is_written_when_it_is_old(storage: Any, engine: Engine, container: str) -> None:
    engine.clock.set(THREE)
    log = log_of(storage, container, flush_age=timedelta(seconds=10))
    engine.clock.advance(1)
    await fill(log, 1)
    engine.clock.advance(8)
    await fill(log, 2)
    assert await messages(log) == []
    engine.clock.advance(2)
    await fill(log, 3)
    assert await messages(log) == ["1", "2"]


@pytest.mark.guide("G-264")
@pytest.mark.parametrize("count", [1, 3, 10])
async def test_a_crash_loses_no_more_than_the_buffer_holds(storage: Any, container: str, count: int) -> None:
    log = log_of(storage, container, flush_count=count)
    for number in range(1, 12):
        await fill(log, number)
        # A reader of another process sees what would be left if this one crashed now
        lost = number - len(await messages(log_of(storage, container)))
        assert 0 <= lost <= count
    assert "flush_count" in (BlobLog.__doc__ or "")


@pytest.mark.guide("G-261", "G-264")
async def test_a_flush_and_a_close_write_what_waits(storage: Any, container: str) -> None:
    log = log_of(storage, container)
    await fill(log, 1, 2)
    assert await log.flush() == 2
    await fill(log, 3)
    assert await log.close() == 1
    assert await messages(log) == ["1", "2", "3"]


@pytest.mark.guide("G-264")
async def test_leaving_the_block_closes_the_log(storage: Any, container: str) -> None:
    async with log_of(storage, container) as log:
        await fill(log, 1)
    assert await messages(log) == ["1"]


def test_leaving_the_block_closes_the_log_without_an_event_loop_too() -> None:
    storage = connect()
    with BlobLog(storage, "logs", "queue") as log:
        entry = log.append("INFO", "here")
    assert list(BlobLog(storage, "logs", "queue").between(entry.at)) == [entry]


async def test_a_log_that_was_closed_can_be_used_again(storage: Any, container: str) -> None:
    log = log_of(storage, container)
    await fill(log, 1)
    await log.close()
    await fill(log, 2)
    await log.close()
    assert await messages(log) == ["1", "2"]
    assert list(await blobs_of(log)) == ["1500/000001.log", "1500/000002.log"]


async def test_an_entry_is_of_now_and_has_a_new_id_unless_it_is_given(
    storage: Any, engine: Engine, container: str
) -> None:
    engine.clock.set(THREE)
    log = log_of(storage, container, write_through=True)
    entry = await log.append("INFO", "disk full", fields={"host": "a1"})
    given = await log.append("INFO", "disk full", at=minute(2), entry_id=UUID(int=7))
    assert THREE <= entry.at < minute(1)
    assert (given.at, given.id) == (minute(2), UUID(int=7))
    assert [each async for each in log.between(THREE, minute(2))] == [entry, given]


async def test_a_batch_larger_than_an_append_is_cut(storage: Any, engine: Engine, container: str) -> None:
    log = log_of(storage, container, flush_bytes=64 * BLOCK_BYTES)
    sizes = [BLOCK_BYTES // 2 - 200] * 5
    for number, size in enumerate(sizes):
        await log.append("INFO", f"{number}{'x' * size}", at=minute(number))
    with engine.ledger.span() as span:
        assert await log.flush() == 5
    assert [record.bytes_in <= BLOCK_BYTES for record in span.records] == [True] * len(span.records)
    assert span.totals.by_operation["AppendBlock"] == 3
    assert [text[0] for text in await messages(log)] == ["0", "1", "2", "3", "4"]


async def test_an_entry_is_as_long_as_an_append_and_no_longer(storage: Any, engine: Engine, container: str) -> None:
    log = log_of(storage, container, write_through=True)
    longest = BLOCK_BYTES - len((await log.append("INFO", "", at=THREE)).line()) - 1
    await log.append("INFO", "x" * longest, at=THREE)
    with engine.ledger.span() as span, pytest.raises(LimitExceeded, match="4,194,304"):
        await log.append("INFO", "x" * (longest + 1), at=THREE)
    assert span.totals.requests == 0


# ------------------------------------------------------------------ what it costs


async def test_a_flush_is_one_append_and_one_more_to_tell_of_it(storage: Any, engine: Engine, container: str) -> None:
    log = log_of(storage, container, ahead=timedelta(minutes=1))
    await log.container.create()
    costs = []
    for number in (1, 1.5, 2, 2.5, 3.5):
        await fill(log, *[number] * 50)
        with engine.ledger.span() as span:
            await log.flush()
        costs.append(dict(span.totals.by_operation))
    append, tell = {"AppendBlock": 1}, {"SetBlobMetadata": 1}
    assert costs == [{"PutBlob": 1} | append, append, append, tell | append, append]
    assert engine.ledger.totals.billable == engine.ledger.totals.requests


async def test_a_second_writer_finds_its_number_with_one_list(storage: Any, engine: Engine, container: str) -> None:
    await fill(log_of(storage, container, write_through=True, blob_blocks=1), *range(9))
    with engine.ledger.span() as span:
        await fill(log_of(storage, container, write_through=True), 10)
    assert span.totals.requests == 5
    assert span.totals.by_operation["ListBlobs"] == 1


# ------------------------------------------------------------------ several writers


@pytest.mark.guide("G-268")
async def test_two_writers_never_write_to_one_blob(storage: Any, container: str) -> None:
    ours, theirs = (log_of(storage, container, write_through=True) for _ in range(2))
    for number in range(3):
        await fill(ours, number, level="INFO")
        await fill(theirs, number + 0.5, level="ERROR")
    assert {entry.level for entry in await entries_in(ours, "1500/000001.log")} == {"INFO"}
    assert {entry.level for entry in await entries_in(ours, "1500/000002.log")} == {"ERROR"}
    assert await messages(ours) == ["0", "0.5", "1", "1.5", "2", "2.5"]


@pytest.mark.guide("G-268")
@pytest.mark.parametrize("options", [{"write_through": True}, {"flush_count": 4}], ids=str)
async def test_tasks_and_threads_share_a_log(storage: Any, container: str, options: dict[str, Any]) -> None:
    log = log_of(storage, container, **options)
    await storage.gather(*(fill(log, *(number + part / 100 for number in range(10))) for part in range(6)))
    await log.flush()
    assert await messages(log) == [f"{number + part / 100:g}" for number in range(10) for part in range(6)]


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": "a;b"},
        {"level": ""},
        {"level": "x" * 33},
        {"level": 40},
        {"message": 5},
        {"fields": {"status": 200}},
        {"fields": {5: "200"}},
        {"at": datetime(2014, 7, 31)},
        {"at": datetime(9999, 7, 31, tzinfo=THREE.tzinfo)},
    ],
    ids=str,
)
async def test_a_bad_entry_is_rejected_and_nothing_is_kept(
    storage: Any, engine: Engine, container: str, wrong: dict[str, Any]
) -> None:
    for through in (False, True):
        log = log_of(storage, container, write_through=through)
        given = {"level": "INFO", "message": "text"} | wrong
        with pytest.raises(BadInput):
            await log.append(given.pop("level"), given.pop("message"), **given)
        assert await log.flush() == 0
    assert engine.ledger.totals.requests == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"service": "a/b"},
        {"service": ""},
        {"service": "a."},
        {"flush_count": 0},
        {"flush_bytes": 0},
        {"flush_age": timedelta(seconds=-1)},
        {"ahead": timedelta(seconds=-1)},
        {"blob_bytes": 0},
        {"blob_blocks": 0},
        {"blob_blocks": 50_001},
    ],
    ids=str,
)
def test_a_log_that_cannot_work_is_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))):
        BlobLog(connect(), "logs", **({"service": "queue"} | wrong))
