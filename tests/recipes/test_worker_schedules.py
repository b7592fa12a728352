"""Workers and eventual transactions in every order: crashes, lost responses and expired leases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import EntitySet, EventualTransaction, Key, Worker
from tablepatterns.messages.delivery import Delivery, Outcome
from tablepatterns.messages.poison import PoisonMessage, Reason
from tablepatterns.recipes import worker as recipe
from tablepatterns.sdk.queue import Message
from tablepatterns_explore import Counterexample, World

OVER = 31
BODY = {"Order": "4711"}


def waiting(world: World) -> int:
    """Return how many messages are on the queue, hidden ones included."""
    return world.engine.queues.count("orders")


def orders_of(world: World, *, remember: bool = False) -> Any:
    """Return a transaction of two steps, each of which writes a row of its own partition."""
    rows = EntitySet(world.storage, "Steps", Key("{Order}-{Step}", ""))

    def step(name: str) -> Callable[[Any], Any]:
        return lambda body: rows.insert_or_replace({**body, "Step": name})

    steps = {name: step(name) for name in ("1-pay", "2-ship")}
    return EventualTransaction(world.storage, "orders", "order", steps, remember=remember)


def done(world: World) -> list[str]:
    return [row.partition_key for row in world.engine.tables.query("Steps").entities]


def two_workers(*, text: str | None = None, remember: bool = False, deliveries: int = 5) -> Callable[[World], Any]:
    """Return what makes two workers, after one message was sent."""

    def make(world: World) -> dict[str, Any]:
        orders = orders_of(world, remember=remember)
        world.run(world.storage.table("Steps").create())
        world.run(world.storage.queue("orders-poison").create())
        world.run(orders.start(BODY) if text is None else world.storage.queue("orders").send(text))
        worker = Worker(world.storage, [orders], max_deliveries=deliveries)
        return {"ann": worker.run_once(), "bob": worker.run_once()}

    return make


def three_workers(world: World) -> dict[str, Any]:
    """Return three workers, after one message was sent."""
    return {**two_workers()(world), "cid": Worker(world.storage, [orders_of(world)]).run_once()}


def are_in_order(world: World) -> None:
    assert done(world) == ["4711-1-pay", "4711-2-ship"][: len(done(world))], "a step was left out"


def are_all_done(world: World) -> None:
    world.run(world.storage.sleep(3600))
    world.run(Worker(world.storage, [orders_of(world)]).drain())
    assert len(done(world)) == 2, "a step was not done"
    assert waiting(world) == 0


def explored(make: Any, **options: Any) -> None:
    explore_guarantee(make, preemptions=1, **options)


STEPS = "all steps are completed, in order"


@pytest.mark.guide("G-152", "G-161")
@pytest.mark.parametrize("remember", [False, True])
@pytest.mark.parametrize("faults", [{"crashes": 1}, {"lost_responses": 1}, {"stalls": [OVER]}], ids=str)
@pytest.mark.guarantee("EventualTransaction", f"{STEPS}, after any crash, lost response or expired lease")
def test_all_steps_run_in_order(faults: dict[str, Any], remember: bool) -> None:
    explored(two_workers(remember=remember), always=are_in_order, invariant=are_all_done, at_least=20, **faults)


@pytest.mark.guide("G-152", "G-161")
@pytest.mark.parametrize(
    "faults",
    [
        {"crashes": 1},
        {"stalls": [OVER]},
        pytest.param({"lost_responses": 1}, marks=pytest.mark.nightly),
        pytest.param({"stalls": [OVER], "crashes": 1}, marks=pytest.mark.nightly),
    ],
    ids=str,
)
@pytest.mark.guarantee(
    "EventualTransaction", f"{STEPS}, by three workers, after a crash, lost response or expired lease"
)
def test_all_steps_run_in_order_with_three_workers(faults: dict[str, Any]) -> None:
    explored(three_workers, always=are_in_order, invariant=are_all_done, at_least=50, **faults)


# ------------------------------------------------------------------ poison

UNREADABLE = "not json"


def is_kept(world: World) -> None:
    """The message is on its queue, or its text is on the poison queue, at every moment."""
    kept = [PoisonMessage.parse(message.text).text for message in world.engine.queues.peek("orders-poison", 32)]
    assert waiting(world) or UNREADABLE in kept, "the message is lost"


def is_poison(world: World) -> None:
    world.run(world.storage.sleep(3600))
    world.run(Worker(world.storage, [orders_of(world)]).drain())
    assert waiting(world) == 0
    is_kept(world)


@pytest.mark.guide("G-153", "G-154")
@pytest.mark.parametrize("faults", [{"crashes": 1}, {"lost_responses": 1}, {"stalls": [OVER]}], ids=str)
@pytest.mark.guarantee("Worker", "a message that cannot be read is never lost, and is moved to the poison queue")
def test_an_unreadable_message_is_never_lost(faults: dict[str, Any]) -> None:
    explored(two_workers(text=UNREADABLE), always=is_kept, invariant=is_poison, at_least=20, **faults)


# ------------------------------------------------------------------ broken variants, which must be found


class DeletesFirst(Delivery):
    """The message goes before its work is done."""

    async def process(self) -> Outcome:
        await self._served.queue.delete(self._message)
        return await super().process()


class DeletesBeforePoison(Delivery):
    """The message goes before its copy is on the poison queue."""

    async def _move_to_poison(self, message: Message, reason: Reason) -> Outcome:
        await self._served.queue.delete(message)
        return await super()._move_to_poison(message, reason)


@pytest.mark.parametrize(
    ("broken", "make", "checks", "what"),
    [
        (DeletesFirst, two_workers(), {"invariant": are_all_done}, "a step was not done"),
        (DeletesBeforePoison, two_workers(text=UNREADABLE), {"always": is_kept}, "the message is lost"),
    ],
    ids=["deletes first", "deletes before poison"],
)
def test_a_worker_with_a_step_missing_fails(
    monkeypatch: pytest.MonkeyPatch, broken: type[Delivery], make: Any, checks: dict[str, Any], what: str
) -> None:
    explored(make, crashes=1, **checks)
    monkeypatch.setattr(recipe, "Delivery", broken)
    with pytest.raises(Counterexample, match=what):
        explored(make, crashes=1, **checks)
