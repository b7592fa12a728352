"""Eventual transactions: every step runs at least once, in order, or the message is poisoned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import tablepatterns.aio
from support.queue_workers import message, queue_names
from tablepatterns import EntitySet, EventualTransaction, Key, Observer, Worker, connect
from tablepatterns.errors import BadDesign, BadInput, BadMessage, LeaseLost, LimitExceeded, StepFailed
from tablepatterns.messages.lease import Envelope
from tablepatterns.recipes.eventual_transaction import DONE
from tablepatterns.recipes.worker import Report
from tablepatterns_engine.account import Engine

ORDER = {"Order": "4711", "Amount": 3}


@pytest.fixture
def name(backend: Any, storage: Any) -> Iterator[str]:
    with queue_names(backend, storage) as names:
        yield names()


class Steps:
    """Steps that note the order in which they are taken, and fail as they are told.

    :param failures: how often each fails before it succeeds
    """

    def __init__(self, **failures: int) -> None:
        self.taken: list[str] = []
        self._failures = failures

    def __getitem__(self, name: str) -> Callable[[Any], None]:
        def take(body: Any) -> None:
            assert body == ORDER
            self.taken.append(name)
            if self._failures.get(name):
                self._failures[name] -= 1
                raise ValueError(f"no {name} today")

        return take

    def named(self) -> dict[str, Callable[[Any], None]]:
        return {name: self[name] for name in ("pay", "ship", "tell")}


def order_of(storage: Any, name: str, steps: Any, **options: Any) -> Any:
    return EventualTransaction(storage, name, "order", steps, **options)


# ------------------------------------------------------------------ to the end


@pytest.mark.guide("G-141")
async def test_to_start_is_to_send_one_message(storage: Any, name: str, engine: Engine) -> None:
    await storage.queue(name).create()
    with engine.ledger.span() as span:
        sent = await order_of(storage, name, Steps().named()).start(ORDER)
    assert [(record.operation, record.billable) for record in span.records] == [("PutMessage", 1)]
    (seen,) = await storage.queue(name).peek()
    assert (seen.id, seen.text) == (sent, '{"v":1,"kind":"order","body":{"Order":"4711","Amount":3}}')


async def test_a_worker_takes_all_steps_in_their_order(storage: Any, name: str) -> None:
    steps = Steps()
    order = order_of(storage, name, steps.named())
    await order.start(ORDER)
    worker: Any = Worker(storage, [order])
    assert await worker.drain() == Report(received=1, handled=1)
    assert steps.taken == ["pay", "ship", "tell"]


async def test_steps_may_be_async_and_use_recipes(storage: Any, name: str, table_name: str) -> None:
    employees: Any = EntitySet(storage, table_name, Key("{Department}", "{Name}"))

    async def hire(body: Any) -> None:
        await employees.insert_or_replace(body)

    hiring = order_of(storage, name, [hire])
    await hiring.start({"Department": "Sales", "Name": "Jones"})
    worker: Any = Worker(storage, [hiring])
    await worker.drain()
    assert await employees.get(Department="Sales", Name="Jones") == {"Department": "Sales", "Name": "Jones"}


def test_on_a_sync_account_steps_are_plain_functions_that_use_recipes() -> None:
    with connect() as storage:
        employees = EntitySet(storage, "Employees", Key("{Department}", "{Name}"))

        def hire(body: Any) -> None:
            employees.insert_or_replace(body)
            assert employees.get(**body) == body

        hiring = EventualTransaction(storage, "hiring", "hire", [hire])
        hiring.start({"Department": "Sales", "Name": "Jones"})
        assert Worker(storage, [hiring]).run_once().handled == 1


async def test_a_start_may_be_for_later_and_in_base64(storage: Any, name: str, engine: Engine) -> None:
    steps = Steps()
    order = order_of(storage, name, steps.named(), base64=True)
    worker: Any = Worker(storage, [order], base64=True)
    await order.start(ORDER, delay=60)
    assert await worker.drain() == Report()
    engine.clock.advance(60)
    (seen,) = await storage.queue(name).peek()
    assert not seen.text.startswith("{")
    assert (await worker.drain()).handled == 1


async def test_a_step_cannot_change_what_the_next_one_is_given(storage: Any, name: str) -> None:
    seen = []

    def first(body: Any) -> None:
        body.clear()

    order = order_of(storage, name, [first, seen.append])
    await order.start(ORDER)
    worker: Any = Worker(storage, [order])
    await worker.drain()
    assert seen == [ORDER]


@pytest.mark.guide("G-162", "G-163")
async def test_an_entity_a_blob_a_file_and_an_index_of_ones_own_come_to_agree(
    storage: Any, name: str, table_name: str, tmp_path: Any
) -> None:
    entities: Any = EntitySet(storage, table_name, Key("{Order}", ""))
    container, index = storage.container(name), dict[str, str]()

    async def to_table(body: Any) -> None:
        await entities.insert_or_replace(body)

    async def to_blob(body: Any) -> None:
        await container.upload(body["Order"], b"paid")

    def to_file(body: Any) -> None:
        (tmp_path / body["Order"]).write_bytes(b"paid")

    def to_index(body: Any) -> None:
        index[body["Order"]] = "paid"

    order = order_of(storage, name, [to_table, to_blob, to_file, to_index])
    worker: Any = Worker(storage, [order])
    for _ in range(2):
        await order.start(ORDER)
    assert (await worker.drain()).handled == 2
    assert await entities.get(Order="4711") == ORDER
    assert await container.download("4711") == (tmp_path / "4711").read_bytes() == b"paid"
    assert index == {"4711": "paid"}
    await container.drop()


# ------------------------------------------------------------------ failures


@pytest.mark.guide("G-152")
async def test_after_a_failure_it_starts_again_with_the_first_step(storage: Any, name: str) -> None:
    steps = Steps(ship=1)
    order = order_of(storage, name, steps.named())
    worker: Any = Worker(storage, [order], retry_after=0)
    await order.start(ORDER)
    assert await worker.drain() == Report(received=2, failed=1, handled=1)
    assert steps.taken == ["pay", "ship", "pay", "ship", "tell"]


async def test_what_the_message_remembers_is_not_done_again(storage: Any, name: str, engine: Engine) -> None:
    steps = Steps(ship=1)
    order = order_of(storage, name, steps.named(), remember=True)
    worker: Any = Worker(storage, [order], retry_after=0)
    await order.start(ORDER)
    with engine.ledger.span() as span:
        assert await worker.run_once() == Report(received=1, failed=1)
        assert await worker.run_once() == Report(received=1, handled=1)
    assert steps.taken == ["pay", "ship", "ship", "tell"]
    written = [record.operation for record in span.records]
    first = ["GetMessages", "UpdateMessage", "UpdateMessage"]
    assert written == [*first, "GetMessages", "UpdateMessage", "DeleteMessage"]


async def test_a_step_that_is_new_in_this_version_is_done_though_the_message_began_before(
    storage: Any, name: str
) -> None:
    steps = Steps(tell=1)
    before = order_of(storage, name, {"pay": steps["pay"], "tell": steps["tell"]}, remember=True)
    await before.start(ORDER)
    worker: Any = Worker(storage, [before], retry_after=0)
    await worker.run_once()
    worker = Worker(storage, [order_of(storage, name, steps.named(), remember=True)])
    assert (await worker.drain()).handled == 1
    assert steps.taken == ["pay", "tell", "ship", "tell"]


@pytest.mark.guide("G-153", "G-154")
async def test_a_poison_message_names_the_failed_step_and_is_resumed_there(storage: Any, name: str) -> None:
    steps = Steps(ship=2)
    order = order_of(storage, name, steps.named(), remember=True)
    worker: Any = Worker(storage, [order], retry_after=0, max_deliveries=2)
    await order.start(ORDER)
    assert await worker.drain() == Report(received=2, failed=1, poisoned=1)
    (found,) = await worker.poisoned(name)
    assert found.error == "StepFailed"
    assert found.reason.startswith("order: the step 'ship' failed: ValueError at test_eventual_transaction.py:")
    await worker.requeue(name)
    assert (await worker.drain()).handled == 1
    assert steps.taken == ["pay", "ship", "ship", "ship", "tell"]


async def test_a_step_may_say_that_no_repetition_helps(storage: Any, name: str) -> None:
    def refuse(_: Any) -> None:
        raise BadMessage("Amount", 3, "none is left", "order something else")

    order = order_of(storage, name, [refuse])
    worker: Any = Worker(storage, [order])
    await order.start(ORDER)
    assert await worker.drain() == Report(received=1, poisoned=1)
    assert (await worker.poisoned(name))[0].error == "BadMessage"


async def test_who_stalled_beyond_the_lease_does_not_go_on(storage: Any, name: str, engine: Engine) -> None:
    taken = []

    async def stall(_: Any) -> None:
        taken.append("stall")
        # A heartbeat between the two renews the lease
        while not await storage.queue(name).receive(lease=30):
            engine.clock.advance(31)

    order = order_of(storage, name, {"stall": stall, "ship": lambda _: taken.append("ship")})
    worker: Any = Worker(storage, [order], lease=30)
    await order.start(ORDER)
    assert await worker.run_once() == Report(received=1, lost=1)
    assert taken == ["stall"]


async def test_a_host_that_received_the_message_hears_of_the_failure(storage: Any, name: str) -> None:
    steps = Steps(ship=1)
    worker: Any = Worker(storage, [order_of(storage, name, steps.named(), remember=True)])
    text = message("order", **ORDER)
    with pytest.raises(StepFailed, match="'ship' failed: ValueError at ") as caught:
        await worker.handle_text(text)
    assert isinstance(caught.value.__cause__, ValueError)
    await worker.handle_text(text)
    assert steps.taken == ["pay", "ship", "pay", "ship", "tell"]


# ------------------------------------------------------------------ what is refused


async def test_a_body_with_the_reserved_field_is_rejected(storage: Any, name: str) -> None:
    with pytest.raises(BadInput, match="_done"):
        await order_of(storage, name, Steps().named()).start({"_done": []})


async def test_a_body_that_is_too_long_or_not_json_is_rejected_before_it_is_sent(
    storage: Any, name: str, engine: Engine
) -> None:
    order = order_of(storage, name, [Steps()["pay"]])
    with pytest.raises(LimitExceeded, match="65,536 bytes"):
        await order.start({"Text": "x" * 65_536})
    with pytest.raises(BadInput, match="cannot be written as JSON"):
        await order.start({"At": object()})
    assert engine.ledger.totals.requests == 0


@pytest.mark.parametrize("base64", [False, True])
async def test_a_body_without_room_for_completed_steps_is_rejected_before_it_is_sent(
    storage: Any, name: str, engine: Engine, base64: bool
) -> None:
    taken: list[int] = []
    steps = {step: lambda body: taken.append(len(body["Text"])) for step in ("pay", "ship", "tell")}
    order = order_of(storage, name, steps, remember=True, base64=base64)
    without = len(Envelope("order", {"Text": "", DONE: ["pay", "ship"]}).text())
    room = (65_536 // 4 * 3 if base64 else 65_536) - without
    with pytest.raises(LimitExceeded, match="65,536 bytes"):
        await order.start({"Text": "x" * (room + 1)})
    assert engine.ledger.totals.requests == 0
    await order.start({"Text": "x" * room})
    worker: Any = Worker(storage, [order], base64=base64)
    assert await worker.drain() == Report(received=1, handled=1)
    assert taken == [room] * 3


async def test_an_invalid_list_of_completed_steps_is_poison(storage: Any, name: str) -> None:
    worker: Any = Worker(storage, [order_of(storage, name, Steps().named())])
    for position in (7, {"pay": True}, [7]):
        await storage.queue(name).send(message("order", _done=position))
    assert await worker.drain() == Report(received=3, poisoned=3)


def test_steps_without_unique_names_are_rejected() -> None:
    with connect() as storage:
        with pytest.raises(BadDesign, match=r"two steps have this name.*a dict of steps by name"):
            EventualTransaction(storage, "orders", "order", [lambda _: None, lambda _: None])
        with pytest.raises(BadDesign, match="at least one step"):
            EventualTransaction(storage, "orders", "order", [])


async def test_a_step_that_loses_a_lease_of_its_own_counts_as_lost(storage: Any, name: str) -> None:
    def lose(_: Any) -> None:
        raise LeaseLost("it ended")

    order = order_of(storage, name, [lose])
    worker: Any = Worker(storage, [order])
    await order.start(ORDER)
    assert await worker.run_once() == Report(received=1, lost=1)


# ------------------------------------------------------------------ async functions on a sync account


async def step(body: Any) -> None:
    """A step that must be awaited."""


class AsyncStep:
    __name__ = "object"

    async def __call__(self, body: Any) -> None: ...


@pytest.mark.parametrize("wrong", [step, partial(step), AsyncStep(), AsyncStep().__call__])
def test_an_async_step_on_a_sync_account_is_rejected_at_construction(wrong: Any) -> None:
    with pytest.raises(BadDesign, match=r"step = 'charge': it is an async function.*tablepatterns\.aio"):
        EventualTransaction(connect(), "orders", "order", {"charge": wrong})


@pytest.mark.parametrize("wrong", [lambda body: step(body), lambda body: asyncio.sleep(0)])
def test_a_step_that_returns_an_awaitable_goes_to_the_poison_queue(wrong: Any, recwarn: Any) -> None:
    storage = connect()
    orders = EventualTransaction(storage, "orders", "order", {"charge": wrong})
    orders.start(ORDER)
    worker = Worker(storage, [orders], max_deliveries=2, retry_after=0)
    assert [worker.run_once().failed, worker.run_once().poisoned] == [1, 1]
    (message,) = worker.poisoned("orders")
    assert "the step 'charge' has not run" in str(message)
    assert not recwarn.list


class Waiting:
    """A handler that waits for something else than its account."""

    kind, queue = "order", "orders"

    def __init__(self) -> None:
        self.handled: list[object] = []

    async def handle(self, lease: Any) -> None:
        if lease.work.body == ORDER:
            await asyncio.sleep(0)
        self.handled.append(lease.work.body)


def test_one_message_whose_handler_waits_does_not_end_a_sync_worker() -> None:
    storage, handler = connect(), Waiting()
    for body in (ORDER, {"Order": "4712"}):
        EventualTransaction(storage, "orders", "order", [print]).start(body)
    worker = Worker(storage, [handler], max_deliveries=1)
    assert worker.drain() == Report(received=2, handled=1, poisoned=1)
    assert handler.handled == [{"Order": "4712"}]
    (message,) = worker.poisoned("orders")
    assert "connect with tablepatterns.aio" in str(message)


async def test_an_async_account_takes_both_kinds_of_steps() -> None:
    storage = tablepatterns.aio.connect()
    taken: list[str] = []

    async def charge(body: Any) -> None:
        await asyncio.sleep(0)
        taken.append("charge")

    orders = EventualTransaction(
        storage, "orders", "order", {"charge": charge, "ship": lambda body: taken.append("ship")}
    )
    await orders.start(ORDER)
    assert (await Worker(storage, [orders]).run_once()).handled == 1
    assert taken == ["charge", "ship"]


def test_an_observer_with_an_async_method_is_rejected() -> None:
    class Counting(Observer):
        async def handled(self, queue: str, kind: str, seconds: float) -> None: ...  # type: ignore[override]

    with pytest.raises(BadDesign, match="`handled` is async"):
        Worker(connect(), [Waiting()], observer=Counting())
