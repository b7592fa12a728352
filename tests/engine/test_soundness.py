"""The check of the engine's state finds deliberate defects, and nothing while threads are running."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timezone
from itertools import count
from threading import Event
from typing import Any
from uuid import UUID

import pytest

from support.blob_states import HOME, ONE, TWO, latest, of, put
from support.soundness import check_blobs, check_queues, check_tables
from support.table_states import delete, insert, op
from tablepatterns.edm import Ticks
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.blob import Block, Kind
from tablepatterns_engine.blobs.leases import Acquire, Break, Lease, Release
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.tables.entities import Entity


@pytest.fixture
def engine() -> Engine:
    """An account with something of each kind in it."""
    engine = Engine(clock=Clock(datetime(2014, 8, 22, tzinfo=timezone.utc)))
    engine.tables.create("People")
    engine.tables.transact("People", [insert("p", row, Age=34) for row in "ab"])
    engine.tables.apply("People", insert("r", "a", Age=34))
    engine.queues.create("orders")
    for text in "ab":
        engine.queues.put("orders", text)
    blobs = engine.blobs
    blobs.containers.create(HOME)
    put(blobs, "b", "text")
    blobs.snapshot(HOME, "b")
    blobs.lease(HOME, "b", Acquire(15))
    blobs.stage(HOME, "blocks", ONE, of("one"))
    blobs.commit(HOME, "blocks", latest(ONE))
    blobs.stage(HOME, "blocks", TWO, of("two"))
    put(blobs, "log", kind=Kind.APPEND)
    blobs.append(HOME, "log", of("line"))
    return engine


def check(engine: Engine) -> None:
    check_tables(engine.tables)
    check_queues(engine.queues)
    check_blobs(engine.blobs)


# ------------------------------------------------------------------ what is broken is found


def entities(engine: Engine) -> Any:
    return engine.tables.table("People").partitions["p"]


def messages(engine: Engine) -> Any:
    return engine.queues._queue("orders")


def slot(engine: Engine, name: str = "b") -> Any:
    return engine.blobs.containers.find(HOME).slots[name]


def change_entity(**changes: Any) -> Callable[[Engine], None]:
    def change(engine: Engine) -> None:
        names = ("partition_key", "row_key", "properties", "timestamp")
        fields = {name: getattr(entities(engine)["b"], name) for name in names}
        made = {name: value(engine) if callable(value) else value for name, value in changes.items()}
        entities(engine)["b"] = Entity(**{**fields, **made})

    return change


def change_message(**changes: Any) -> Callable[[Engine], None]:
    def change(engine: Engine) -> None:
        queue = messages(engine)
        first, second = queue._messages.values()
        made = {name: value(first) if callable(value) else value for name, value in changes.items()}
        queue.put(second._replace(**made))

    return change


def change_blob(name: str, /, **changes: Any) -> Callable[[Engine], None]:
    def change(engine: Engine) -> None:
        home = slot(engine, name)
        home.current = replace(home.current, **changes)

    return change


def change_snapshot(**changes: Any) -> Callable[[Engine], None]:
    def change(engine: Engine) -> None:
        taken = slot(engine).earlier
        taken[0] = replace(taken[0], **changes)

    return change


def change_staged(engine_blocks: dict[str, Block]) -> Callable[[Engine], None]:
    return lambda engine: slot(engine, "blocks")._staged.update(engine_blocks)


def same_version(engine: Engine) -> None:
    home = slot(engine)
    home.current = replace(home.current, created=Ticks(0), modified=slot(engine, "log").current.modified)


BROKEN: dict[str, Callable[[Engine], Any]] = {
    "entity under another key": change_entity(row_key="c"),
    # Only requests check keys
    "entity with a key that cannot be": lambda engine: engine.tables.table("People").put(
        "p", "a/b", {"Age": 34}, engine.clock.stamp()
    ),
    "entity that is too large": change_entity(properties={"A": "x" * 40_000}),
    "two partitions of one timestamp": change_entity(
        timestamp=lambda engine: engine.tables.get("People", "r", "a").timestamp
    ),
    "table under another name": lambda engine: setattr(engine.tables.table("People"), "name", "Payroll"),
    "entity that is out of order": lambda engine: entities(engine)._order.remove("a"),
    "message of another's receipt": change_message(receipt=lambda other: other.receipt),
    "message that expired before it came": change_message(expires=Ticks(0)),
    "message that is too long": change_message(text="x" * 70_000),
    "message received fewer than no times": change_message(dequeues=-1),
    "message under another id": lambda engine: messages(engine)._messages.update(
        x=messages(engine)._messages.popitem()[1]
    ),
    "message without a visibility time": lambda engine: messages(engine)._by_visibility.pop(),
    "message that never expires": lambda engine: messages(engine)._by_expiry.pop(),
    "queue under another name": lambda engine: setattr(messages(engine), "name", "bills"),
    "blob under another name": change_blob("b", name="c"),
    "blob with bytes that are in no block": change_blob("blocks", content=of("more than one")),
    "blob that was changed before it was made": change_blob("b", modified=Ticks(1)),
    "blob of blocks that was appended to": change_blob("b", appends=1),
    "blob of blocks that is sealed": change_blob("b", sealed=True),
    "append blob with bytes without an append": change_blob("log", appends=0),
    "append blob with fewer bytes than appends": change_blob("log", appends=5),
    "append blob with blocks": change_blob("log", blocks=(Block(ONE, of("line")),)),
    "two blobs of one version": same_version,
    "lease without an end": change_blob("b", lease=Lease(UUID(int=1), 15)),
    "lease of no length": change_blob("b", lease=Lease(UUID(int=1), 5, Ticks(1))),
    "lease without an id": change_blob("b", lease=Lease(None, 15)),
    "lease of a container without an id": lambda engine: setattr(
        engine.blobs.containers.find(HOME),
        "properties",
        replace(engine.blobs.containers.get(HOME), lease=Lease(None, 15)),
    ),
    "snapshot with a lease": change_snapshot(lease=Lease(UUID(int=1), -1)),
    "snapshot of no moment": change_snapshot(snapshot=None),
    "snapshots out of order": lambda engine: slot(engine).earlier.insert(
        0, replace(slot(engine).earlier[0], snapshot=Ticks.MAX)
    ),
    "snapshot of nothing": lambda engine: setattr(slot(engine), "current", None),
    "snapshot in place of the blob": lambda engine: setattr(slot(engine), "current", slot(engine).earlier[0]),
    "block under another id": change_staged({ONE: Block(TWO, of("two"))}),
    "block with no bytes": change_staged({ONE: Block(ONE, of(""))}),
    "blocks with ids of different lengths": change_staged({"bG9uZ2Vy": Block("bG9uZ2Vy", of("x"))}),
    "blocks under an append blob": lambda engine: slot(engine, "log")._staged.update({ONE: Block(ONE, of("x"))}),
    "name of nothing": lambda engine: slot(engine, "log").__init__("log"),
    "container under another name": lambda engine: setattr(
        engine.blobs.containers.find(HOME), "properties", replace(engine.blobs.containers.get(HOME), name="others")
    ),
}


def test_what_is_sound_is_found_so(engine: Engine) -> None:
    check(engine)


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(engine: Engine, name: str) -> None:
    BROKEN[name](engine)
    with pytest.raises((AssertionError, ServiceError)):
        check(engine)


# ------------------------------------------------------------------ at every instant


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    """Let threads take turns far more often than they would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def work_on_tables(engine: Engine) -> Iterator[None]:
    for number in count():
        row = f"{number}"
        engine.tables.transact("People", [insert("q", row + each) for each in "abc"])
        engine.tables.transact("People", [op("merge", "q", row + each, "*", Age=number) for each in "ab"])
        engine.tables.transact("People", [delete("q", row + each) for each in "abc"])
        yield


def work_on_queues(engine: Engine) -> Iterator[None]:
    while True:
        sent = engine.queues.put("orders", "text")
        changed = engine.queues.update("orders", sent.id, sent.receipt, 0, "other text")
        engine.queues.peek("orders", 32)
        engine.queues.remove("orders", changed.id, changed.receipt)
        yield


def work_on_blobs(engine: Engine) -> Iterator[None]:
    for number in count():
        blobs, name = engine.blobs, f"new{number % 3}"
        blobs.stage(HOME, name, ONE, of("one"))
        blobs.commit(HOME, name, latest(ONE))
        blobs.lease(HOME, name, Acquire(15, UUID(int=1)))
        blobs.snapshot(HOME, name)
        blobs.lease(HOME, name, Break(0))
        blobs.lease(HOME, name, Release(UUID(int=1)))
        blobs.append(HOME, "log", of("x"))
        blobs.delete(HOME, name, snapshots="include")
        yield


@pytest.mark.usefixtures("impatient_threads")
@pytest.mark.parametrize("work", [work_on_tables, work_on_queues, work_on_blobs])
def test_the_state_is_sound_whenever_it_is_looked_at(engine: Engine, work: Callable[[Engine], Iterator[None]]) -> None:
    enough = Event()

    def run() -> int:
        steps = 0
        for _ in work(engine):
            steps += 1
            if enough.is_set():
                break
        return steps

    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(run)
        try:
            for _ in range(400):
                check(engine)
        finally:
            enough.set()
        assert working.result() > 1


def test_a_clock_that_goes_back_breaks_nothing(engine: Engine) -> None:
    engine.clock.set(datetime(2013, 1, 1, tzinfo=timezone.utc))
    (message,) = engine.queues.get("orders")[:1] or [engine.queues.put("orders", "c")]
    engine.queues.update("orders", message.id, message.receipt, 1)
    engine.blobs.lease(HOME, "log", Acquire(15))
    put(engine.blobs, "new", "text")
    engine.tables.apply("People", insert("p", "c"))
    check(engine)
