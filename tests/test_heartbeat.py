"""Heartbeats: called at intervals while work runs."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from tablepatterns import connect
from tablepatterns.recipe import finish, run_with_heartbeat
from tablepatterns.storage import heartbeats

OFTEN = 0.001


def test_heartbeats_come_while_the_work_runs_and_not_after_it() -> None:
    beats = threading.Semaphore(0)
    with heartbeats(beats.release, OFTEN):
        for _ in range(3):
            assert beats.acquire(timeout=10)
    while beats.acquire(blocking=False):
        pass
    assert not beats.acquire(timeout=20 * OFTEN)


def test_a_heartbeat_that_has_begun_is_waited_for() -> None:
    begun, ended = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        time.sleep(0.05)
        ended.set()

    with heartbeats(slow, OFTEN):
        assert begun.wait(10)
    assert ended.is_set()


def test_a_heartbeat_that_fails_is_the_last_and_is_raised_after_the_work() -> None:
    calls: list[int] = []
    failed, done = threading.Event(), []

    def fail() -> None:
        calls.append(1)
        failed.set()
        raise LookupError

    def work() -> None:
        with heartbeats(fail, OFTEN):
            assert failed.wait(10)
            time.sleep(20 * OFTEN)
            done.append(True)

    with pytest.raises(LookupError):
        work()
    assert (calls, done) == ([1], [True])


def used_engine() -> weakref.ref[object]:
    storage = connect()

    async def work() -> None:
        time.sleep(20 * OFTEN)

    async def beat() -> None:
        storage.now()

    finish(run_with_heartbeat(storage, work(), beat, every=OFTEN))
    return weakref.ref(storage.engine)


def test_heartbeats_do_not_keep_an_account_in_memory() -> None:
    engine = used_engine()
    gc.collect()
    assert engine() is None
