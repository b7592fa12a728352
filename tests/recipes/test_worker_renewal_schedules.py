"""Renewals of a lease in every order with the handler and another worker."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

import pytest

from support.guarantees import explore_guarantee
from support.queue_workers import message
from tablepatterns import EntitySet, Key
from tablepatterns.messages.lease import Lease
from tablepatterns.recipes.worker import Report, Worker
from tablepatterns_explore import Counterexample, World
from tablepatterns_explore.world import SteppedStorage

T = TypeVar("T")

LEASE = 30
LATENCY = 5
"""Less than a quarter of the lease: a worker that lives and does not stall keeps its message."""
PART = 35
"""Seconds of each of the two parts of the work, which outlast the lease."""


class BeatingStorage(SteppedStorage):
    """The account of a world, whose beats are stepped beside the work: they are a strand of their own."""

    async def _run_with_heartbeat(
        self, work: Coroutine[Any, Any, T], heartbeat: Callable[[], Coroutine[Any, Any, None]], every: float
    ) -> T:
        done: list[T] = []
        is_over = False

        async def working() -> None:
            nonlocal is_over
            try:
                done.append(await work)
            finally:
                is_over = True

        async def beating() -> None:
            while not is_over:
                await self.sleep(every)
                if not is_over:
                    await heartbeat()

        await self.gather(working(), beating())
        return done[0]


class Unlocked(BeatingStorage):
    """An account whose locks exclude no task."""

    def _new_lock(self) -> AbstractAsyncContextManager[object]:
        return nullcontext()


class Shift:
    """Work in two parts, with a note in between; a row says who is at it.

    :param who: the name of the worker
    """

    kind = "greet"

    def __init__(self, storage: Any, who: str) -> None:
        self._storage = storage
        self._row = {"What": "work", "Who": who}

    async def handle(self, lease: Lease) -> None:
        rows = EntitySet(self._storage, "Work", Key("{What}", "{Who}"))
        await rows.insert(self._row)
        await self._storage.sleep(PART)
        await lease.rewrite({"Part": 2})
        await self._storage.sleep(PART)
        await rows.delete(self._row, force=True)


def two_workers(kind: type[SteppedStorage]) -> Callable[[World], dict[str, Any]]:
    """Return what makes a worker with a message, and another that looks for messages now and then."""

    def make(world: World) -> dict[str, Any]:
        storage = kind(world)
        world.engine.tables.create("Work")
        world.run(storage.queue("orders").send(message(Part=1)))

        def worker(who: str) -> Any:
            return Worker(storage, {"orders": [Shift(storage, who)]}, lease=LEASE, max_concurrency=1)

        async def looks() -> Report:
            found = Report()
            for _ in range(3):
                await storage.sleep(LEASE)
                found += await worker("bob").run_once()
            return found

        return {"ann": worker("ann").run_once(), "bob": looks()}

    return make


def one_at_a_time(world: World) -> None:
    rows = world.engine.tables.query("Work").entities
    assert len(rows) <= 1, f"at work at once: {[row.row_key for row in rows]}"


def is_done_once(world: World) -> None:
    reports: list[Report] = list(world.returned.values())
    assert [sum(report.handled for report in reports), sum(report.lost for report in reports)] == [1, 0]
    assert world.engine.queues.count("orders") == 0


def explored(make: Any, preemptions: int | None = 1) -> None:
    checks = {"always": one_at_a_time, "invariant": is_done_once}
    explore_guarantee(make, **checks, latency=LATENCY, preemptions=preemptions)


@pytest.mark.guarantee(
    "Worker",
    "work that outlasts its lease is not given to another worker, if each request takes under a quarter of the lease",
)
def test_work_that_outlasts_its_lease_is_done_once_by_one_worker() -> None:
    explored(two_workers(BeatingStorage), preemptions=None)


# ------------------------------------------------------------------ broken variants, which must be found


def test_without_renewals_two_workers_process_one_message() -> None:
    with pytest.raises(Counterexample, match="at work at once"):
        explored(two_workers(SteppedStorage))


def test_a_concurrent_renewal_and_rewrite_lose_the_lease() -> None:
    with pytest.raises(Counterexample, match="PopReceiptMismatch"):
        explored(two_workers(Unlocked))
