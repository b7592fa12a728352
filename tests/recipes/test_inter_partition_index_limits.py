"""Inter-partition indexes beyond their limits: a missing step, a stalled process, and unique keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from support.indexed_staff import (
    JONES,
    LEASE,
    REFUSED,
    a_move_and_a_delete,
    copies_are_right,
    drain,
    explored,
    prepared,
    read,
    staff_in,
    stored,
    two_inserts,
    two_moves,
)
from tablepatterns.entity import Entity
from tablepatterns.entity_set.intents import Intent, Intents, SentIntents
from tablepatterns.errors import DuplicateIndexValue
from tablepatterns.jobs import repair, verify
from tablepatterns.messages.lease import Lease
from tablepatterns_explore import Counterexample, World

RECIPE = "InterPartitionIndex"


# -- with a step left out, or in another place, the search finds what goes wrong


def test_without_an_intent_a_crash_leaves_stale_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Intents.send

    async def send_and_forget(self: Intents, intent: Intent) -> Lease:
        lease = await send(self, intent)
        await lease.complete()
        return lease

    monkeypatch.setattr(Intents, "send", send_and_forget)
    with pytest.raises(Counterexample, match="A crashes"):
        explored(two_moves, crashes=1)


def test_a_message_deleted_before_the_work_is_done_leaves_stale_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = SentIntents.complete

    async def delete_and_complete(self: SentIntents, written: Iterable[Entity]) -> None:
        for sent in self._sent:
            await sent.lease.complete()
        await complete(self, written)

    monkeypatch.setattr(SentIntents, "complete", delete_and_complete)
    with pytest.raises(Counterexample, match="A crashes"):
        explored(two_moves, crashes=1)


def test_without_reading_the_primary_again_a_late_copy_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    async def repair_once(self: Intents, lease: Lease, intent: Intent, known: Any, retry_for: float) -> None:
        for claim in intent.claims:
            now, rows = known.get(claim.row, (None, {}))
            await self._repair(lease, claim, intent.id, now or await self.rows.primary(claim.row), rows, set())

    monkeypatch.setattr(Intents, "reconcile_all", repair_once)
    with pytest.raises(Counterexample, match="final check failed"):
        explored(a_move_and_a_delete)


def test_without_its_release_a_reservation_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forget(self: SentIntents) -> None:
        for sent in self._sent:
            await sent.lease.complete()

    monkeypatch.setattr(SentIntents, "withdraw", forget)
    with pytest.raises(Counterexample, match="final check failed"):
        explored(lambda world: two_inserts(world, unique=True), unique=True)


# -- unique keys


def two_of_one_address(world: World) -> list[Any]:
    staff = prepared(world, unique=True)
    return [staff.insert({"Department": "Sales", "EmployeeId": number, "Email": "a"}) for number in (1, 2)]


def a_swap(world: World) -> list[Any]:
    """One gives an address up, and another takes it."""
    staff = prepared(world, "a", unique=True)
    return [
        staff.merge(read(world, staff), {"Email": "b"}),
        staff.insert({"Department": "Sales", "EmployeeId": 2, "Email": "a"}),
    ]


def no_two_have_one_address(world: World) -> None:
    addresses = [row["Email"] for (partition, _), row in stored(world).items() if partition == "empid_Sales"]
    assert len(set(addresses)) == len(addresses)


@pytest.mark.guarantee(
    RECIPE, "with unique, no two entities ever have the same key, and the rejected one leaves nothing behind"
)
@pytest.mark.parametrize(
    ("make", "faults"),
    [
        (two_of_one_address, {"preemptions": 2}),
        (a_swap, {"preemptions": 2}),
        (two_of_one_address, {"crashes": 1}),
        (a_swap, {"crashes": 1}),
        (two_of_one_address, {"lost_responses": 1}),
        pytest.param(a_swap, {"lost_responses": 1}, marks=pytest.mark.nightly),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_two_entities_never_have_one_unique_key(make: Any, faults: dict[str, int]) -> None:
    explored(make, always=no_two_have_one_address, expected=(DuplicateIndexValue, *REFUSED), unique=True, **faults)


# -- the limit: a process that stalls for longer than its lease, between a look at the clock and its next request


def a_move_and_a_worker(world: World) -> list[Any]:
    staff = prepared(world, "a")

    async def work() -> None:
        await world.storage.sleep(LEASE + 1)
        await staff.process_intents()
        await staff.merge(await staff.get(**JONES), {"Email": "c"})

    return [staff.merge(read(world, staff), {"Email": "b"}), work()]


def test_a_stall_beyond_the_lease_may_leave_an_orphaned_copy() -> None:
    with pytest.raises(Counterexample, match="final check failed"):
        explored(a_move_and_a_worker, crashes=1, stalls=[LEASE + 1])


@pytest.mark.guarantee(RECIPE, "verify finds what a stall beyond the lease leaves, and repair fixes it")
def test_stale_rows_after_a_long_stall_are_found_and_repaired() -> None:
    async def drain_and_repair(world: World) -> None:
        await drain(world)
        staff = staff_in(world)
        (by_email,) = staff.derived
        report = await verify(staff, by_email)
        await repair(staff, by_email, report)
        assert (await verify(staff, by_email)).is_clean

    def right_after_repair(world: World) -> None:
        world.run(drain_and_repair(world))
        copies_are_right(world)

    explored(a_move_and_a_worker, right_after_repair, stalls=[LEASE + 1])
