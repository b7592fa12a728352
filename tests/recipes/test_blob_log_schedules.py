"""Blob log, explored: two writers, a crash at every request, a lost response, and a concurrent reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from typing import Any

import pytest

from support.blob_logs import fill, log_of, minute
from support.guarantees import explore_guarantee
from tablepatterns import BlobLog, LogEntry
from tablepatterns.sdk.container import Container
from tablepatterns_engine.blobs.listing import ListBlobsQuery
from tablepatterns_explore import Counterexample, World
from tablepatterns_explore.world import SteppedStorage

Actors = Callable[[World], list[Coroutine[Any, Any, Any]]]
EXACT = timedelta(0)
AHEAD = timedelta(minutes=10)
RECIPE = "BlobLog"


def blobs(world: World) -> list[Any]:
    if not world.engine.blobs.containers.page()[0]:
        return []
    return list(world.engine.blobs.page("logs", ListBlobsQuery()).items)


def entries_in(blob: Any) -> list[LogEntry]:
    return [LogEntry.parse(line) for line in bytes(blob.content).decode().splitlines()]


def read(world: World) -> list[str]:
    """Return the messages of all entries, as a reader finds them."""

    async def collect() -> list[str]:
        log: Any = BlobLog(world.storage, "logs", "queue")
        return [entry.message async for entry in log.between(minute(0), minute(60))]

    return world.run(collect())


# -- what must hold


def every_blob_covers_its_entries(world: World) -> None:
    """No reader passes over an entry that is there."""
    for blob in blobs(world):
        moments = [f"{entry.at:%Y-%m-%dT%H:%M:%S.%f}Z" for entry in entries_in(blob)]
        assert moments == sorted(moments)
        assert all(blob.metadata["first"] <= moment <= blob.metadata["last"] for moment in moments), "not covered"
        assert {entry.level for entry in entries_in(blob)} <= set(blob.metadata["levels"].split(",")), "no such level"


def what_was_reported_is_read_once(world: World) -> None:
    found = Counter(read(world))
    for reported in world.returned.values():
        assert all(found[message] == 1 for message in reported), f"reported {reported}, read {dict(found)}"
    assert all(times == 1 for times in found.values()), f"read {dict(found)}"


def nothing_is_stored_twice(world: World) -> None:
    """As long as no writer got an error of the network, other programs find each entry once too."""
    stored = Counter(entry.id for blob in blobs(world) for entry in entries_in(blob))
    assert world.raised or all(times == 1 for times in stored.values()), "stored twice"


def all_is_well(world: World) -> None:
    every_blob_covers_its_entries(world)
    what_was_reported_is_read_once(world)
    nothing_is_stored_twice(world)


# -- who writes


async def write_through(log: Any, *minutes: float) -> list[str]:
    await fill(log, *minutes)
    return [f"{number:g}" for number in minutes]


async def write_batches(log: Any, *batches: tuple[float, ...]) -> list[str]:
    for batch in batches:
        await fill(log, *batch)
        await log.flush()
    return [f"{number:g}" for batch in batches for number in batch]


def two_through(world: World) -> list[Coroutine[Any, Any, Any]]:
    logs = [log_of(world.storage, "logs", write_through=True, ahead=AHEAD) for _ in range(2)]
    world.run(logs[0].container.create())
    return [write_through(logs[0], 1, 3), write_through(logs[1], 2)]


def two_buffered(world: World) -> list[Coroutine[Any, Any, Any]]:
    logs = [log_of(world.storage, "logs", ahead=EXACT) for _ in range(2)]
    world.run(logs[0].container.create())
    return [write_batches(logs[0], (1, 3), (5,)), write_batches(logs[1], (2, 4))]


def one_buffered(world: World) -> list[Coroutine[Any, Any, Any]]:
    log = log_of(world.storage, "logs", ahead=EXACT)
    world.run(log.container.create())
    return [write_batches(log, (1, 3), (5,))]


def the_first_of_all(world: World) -> list[Coroutine[Any, Any, Any]]:
    """Nobody has made the container yet."""
    return [write_through(log_of(world.storage, "logs", write_through=True), number) for number in (1, 2)]


def two_of_one_log(world: World) -> list[Coroutine[Any, Any, Any]]:
    """Two tasks of one process share their log."""
    log = log_of(world.storage, "logs", write_through=True, ahead=AHEAD)
    world.run(log.container.create())
    return [write_through(log, 1), write_through(log, 2)]


def a_writer_and_a_reader(world: World) -> list[Coroutine[Any, Any, Any]]:
    log, reader = log_of(world.storage, "logs", ahead=EXACT), log_of(world.storage, "logs")
    world.run(write_batches(log, (1,)))

    async def watch() -> list[str]:
        found = [entry.message async for entry in reader.between(minute(0), minute(60))]
        assert found in (["1"], ["1", "2", "3"]), found
        return found

    return [write_batches(log, (2, 3)), watch()]


# -- what is proven


@pytest.mark.guide("G-268")
@pytest.mark.guarantee(RECIPE, "an entry whose write returned is read exactly once, after any crash")
@pytest.mark.parametrize("make", [two_through, two_buffered, a_writer_and_a_reader])
def test_written_entries_are_read_once_after_any_crash(make: Actors) -> None:
    explored(make, crashes=1, preemptions=1)


@pytest.mark.guide("G-268")
@pytest.mark.guarantee(RECIPE, "an entry is stored and read once, after a lost response")
def test_written_entries_are_read_once_after_a_lost_response() -> None:
    explored(two_through, lost_responses=1, preemptions=1)


@pytest.mark.guarantee(RECIPE, "tasks that share a log never deadlock, and store each entry once")
def test_tasks_of_one_log_store_each_entry_once() -> None:
    explored(two_of_one_log, preemptions=2)
    explored(two_of_one_log, lost_responses=1, preemptions=0)


@pytest.mark.guarantee(RECIPE, "a writer stores no entry twice, after two lost responses, or one and a crash")
@pytest.mark.parametrize(
    "faults",
    [{"lost_responses": 1, "crashes": 1}, pytest.param({"lost_responses": 2}, marks=pytest.mark.nightly)],
    ids=str,
)
def test_a_writer_with_two_faults_stores_nothing_twice(faults: dict[str, int]) -> None:
    explored(one_buffered, **faults)


@pytest.mark.guarantee(RECIPE, "the first writers create one container and lose nothing")
def test_the_first_writers_lose_nothing() -> None:
    explored(the_first_of_all, preemptions=1)
    explored(the_first_of_all, lost_responses=1, preemptions=0)


def explored(make: Actors, **options: Any) -> None:
    """Explore, and tell how much there was to it."""
    explore_guarantee(make, always=every_blob_covers_its_entries, invariant=all_is_well, **options)


# -- what would be found: each of these leaves out what the log relies on


class Unpositioned(Container):
    """Appends without a position."""

    async def append(self, name: str, content: bytes, *, position: int | None = None) -> int:
        return await super().append(name, content)


class Untold(Container):
    """Leaves the metadata as it was."""

    async def describe(self, name: str, metadata: Mapping[str, str], *, etag: str | None = None) -> str:
        return ""


class Late(Container):
    """Tells of entries when they are there already."""

    _told: Mapping[str, str] | None = None

    async def describe(self, name: str, metadata: Mapping[str, str], *, etag: str | None = None) -> str:
        self._told = metadata
        return ""

    async def append(self, name: str, content: bytes, *, position: int | None = None) -> int:
        done = await super().append(name, content, position=position)
        if self._told is not None:
            await super().describe(name, self._told)
        return done


class Reckless(Container):
    """Takes a number without checking whether it is free."""

    async def create_append(self, name: str, *, metadata: Mapping[str, str] | None = None) -> bool:
        await self._client.get_blob_client(name).create_append_blob(metadata=metadata)
        return True


@pytest.mark.parametrize(
    ("kind", "make", "options", "message"),
    [
        (Unpositioned, two_through, {"lost_responses": 1}, "stored twice"),
        (Untold, one_buffered, {}, "not covered"),
        (Late, one_buffered, {"crashes": 1}, "not covered"),
        (Reckless, two_through, {}, "reported"),
    ],
)
def test_a_log_without_one_of_the_steps_fails(
    monkeypatch: pytest.MonkeyPatch, kind: type[Container], make: Actors, options: dict[str, int], message: str
) -> None:
    monkeypatch.setattr(SteppedStorage, "container", lambda world, name: kind(world.blobs.get_container_client(name)))
    with pytest.raises(Counterexample, match=message):
        explore_guarantee(make, invariant=all_is_well, preemptions=1, **options)
