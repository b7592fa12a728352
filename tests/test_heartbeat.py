"""Heartbeats: called at intervals while work runs, in threads that serve one piece of work after another."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from tablepatterns import connect, heartbeat
from tablepatterns.heartbeat import Heartbeats
from tablepatterns.recipe import finish, run_with_heartbeat

OFTEN = 0.001


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "tablepatterns-heartbeat"]


def test_heartbeats_come_while_the_work_runs_and_not_after_it() -> None:
    beats = threading.Semaphore(0)
    with Heartbeats().running(beats.release, OFTEN):
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

    with Heartbeats().running(slow, OFTEN):
        assert begun.wait(10)
    assert ended.is_set()


def test_a_heartbeat_that_fails_is_the_last_and_is_raised_after_the_work() -> None:
    calls: list[int] = []
    failed, done = threading.Event(), []

    def fail() -> None:
        calls.append(1)
        failed.set()
        raise LookupError

    heartbeats = Heartbeats()

    def work() -> None:
        with heartbeats.running(fail, OFTEN):
            assert failed.wait(10)
            time.sleep(20 * OFTEN)
            done.append(True)

    with pytest.raises(LookupError):
        work()
    assert (calls, done) == ([1], [True])
    with heartbeats.running(calls.clear, OFTEN):
        pass


def test_work_after_work_uses_one_thread_and_work_beside_work_another() -> None:
    before = set(threads())
    heartbeats, beats = Heartbeats(), threading.Semaphore(0)
    for _ in range(5):
        with heartbeats.running(beats.release, OFTEN):
            assert beats.acquire(timeout=10)
    assert len(set(threads()) - before) == 1
    with heartbeats.running(beats.release, 60), heartbeats.running(beats.release, 60):
        assert len(set(threads()) - before) == 2


def test_a_short_interval_is_kept_by_a_thread_that_waits_for_a_long_one() -> None:
    heartbeats, beats = Heartbeats(), threading.Event()
    with heartbeats.running(beats.set, 60):
        pass
    with heartbeats.running(beats.set, OFTEN):
        assert beats.wait(10)


def test_work_after_work_does_not_wake_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeats, woken, beats = Heartbeats(), [], threading.Event()
    with heartbeats.running(beats.set, OFTEN):
        assert beats.wait(10)
    # Until it has found nothing to do
    time.sleep(20 * OFTEN)
    monkeypatch.setattr(threading.Condition, "notify", lambda *_: woken.append(1))
    for _ in range(5):
        with heartbeats.running(lambda: None, 1):
            pass
    assert woken == []


def test_an_unused_thread_ends_and_the_next_work_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_IDLE_SECONDS", OFTEN)
    before = set(threads())
    heartbeats, beats = Heartbeats(), threading.Event()
    with heartbeats.running(beats.set, OFTEN):
        assert beats.wait(10)
    for thread in set(threads()) - before:
        thread.join(10)
    assert not set(threads()) - before
    beats.clear()
    with heartbeats.running(beats.set, OFTEN):
        assert beats.wait(10)


def used_engine() -> weakref.ref[object]:
    storage = connect()

    async def work() -> None:
        time.sleep(20 * OFTEN)

    async def beat() -> None:
        storage.now()

    finish(run_with_heartbeat(storage, work(), beat, every=OFTEN))
    return weakref.ref(storage.engine)


def test_a_waiting_thread_does_not_keep_an_account_in_memory() -> None:
    engine = used_engine()
    gc.collect()
    assert engine() is None
