"""Threads on one account: no write is lost, none is seen half done, and a lease has one holder."""

from __future__ import annotations

from uuid import UUID, uuid4

from support.blob_states import HOME, ONE, all_items, all_names, latest, of, put, text_of, under
from support.threads import run_together, succeeds
from tablepatterns_engine.blobs.blob import Blob, Kind
from tablepatterns_engine.blobs.conditions import Terms
from tablepatterns_engine.blobs.leases import Acquire, Release
from tablepatterns_engine.blobs.service import Blobs


def test_no_append_is_lost_and_each_returns_its_position(blobs: Blobs) -> None:
    put(blobs, "log", kind=Kind.APPEND)
    offsets: list[int] = []

    def work() -> None:
        offsets.extend(len(blobs.append(HOME, "log", of("line\n")).content) - 5 for _ in range(200))

    run_together(*[work] * 4)
    assert text_of(blobs.get(HOME, "log")) == "line\n" * 800
    assert sorted(offsets) == list(range(0, 4000, 5))


def test_conditional_writes_lose_no_increment(blobs: Blobs) -> None:
    put(blobs, "counter", "0")

    def increment() -> bool:
        before = blobs.get(HOME, "counter")
        text = str(int(text_of(before)) + 1)
        return succeeds(lambda: put(blobs, "counter", text, terms=Terms(match={before.etag})), unless="ConditionNotMet")

    def work() -> None:
        done = 0
        while done < 100:
            done += increment()

    run_together(*[work] * 3)
    assert text_of(blobs.get(HOME, "counter")) == "300"


def test_of_threads_that_create_a_blob_one_succeeds(blobs: Blobs) -> None:
    made: list[str] = []

    def claim(name: str) -> None:
        if succeeds(lambda: put(blobs, name, terms=Terms(none_match={"*"})), unless="BlobAlreadyExists"):
            made.append(name)

    names = [f"{number:03}" for number in range(200)]
    run_together(*[lambda: [claim(name) for name in names]] * 4)
    assert sorted(made) == names


def test_a_lease_has_one_holder_at_a_time(blobs: Blobs) -> None:
    put(blobs, "b", "0")
    holders: list[UUID] = []

    def work() -> None:
        done = 0
        while done < 50:
            lease = uuid4()
            if succeeds(lambda: blobs.lease(HOME, "b", Acquire(60, lease)), unless="LeaseAlreadyPresent"):  # noqa: B023
                holders.append(lease)
                put(blobs, "b", str(int(text_of(blobs.get(HOME, "b"))) + 1), terms=under(lease))
                assert holders == [lease]
                holders.remove(lease)
                blobs.lease(HOME, "b", Release(lease))
                done += 1

    run_together(*[work] * 3)
    assert text_of(blobs.get(HOME, "b")) == "150"


def test_names_that_come_and_go_under_a_list_leave_the_order_sound(blobs: Blobs) -> None:
    put(blobs, "stays")

    def churn(prefix: str) -> None:
        for _ in range(50):
            for number in range(5):
                blobs.stage(HOME, f"{prefix}/{number}", ONE, of("x"))
                blobs.commit(HOME, f"{prefix}/{number}", latest(ONE))
            for number in range(5):
                blobs.delete(HOME, f"{prefix}/{number}")

    def scan() -> None:
        for _ in range(200):
            assert all_names(blobs, delimiter="/")[-1] == "stays"

    run_together(lambda: churn("a"), lambda: churn("b"), scan)
    assert all_names(blobs) == ["stays"]


def test_writers_lose_no_version(blobs: Blobs) -> None:
    blobs.keeps_versions = True

    def work() -> None:
        for _ in range(50):
            put(blobs, "b", "x")
            blobs.set_metadata(HOME, "b", {"Owner": "Don"})

    run_together(*[work] * 4)
    ids = [item.version for item in all_items(blobs, versions=True, limit=7) if isinstance(item, Blob)]
    assert len(set(ids)) == len(ids) == 400
    assert ids == sorted(ids, key=lambda version: version or 0)
