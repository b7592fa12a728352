"""A running worker: leases, observers, stopping, and messages that other programs received."""

from __future__ import annotations

import asyncio
import threading
from base64 import b64encode
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError

from support.queue_workers import RecordingHandler, RecordingObserver, failing, message, worker_of
from tablepatterns import connect
from tablepatterns.errors import BadInput, BadMessage
from tablepatterns.recipes.worker import Report, Worker
from tablepatterns_engine.account import Engine


@pytest.fixture
def name(new_queue: Callable[[], str]) -> str:
    return new_queue()


@pytest.fixture
def queue(storage: Any, name: str) -> Any:
    return storage.queue(name)


# ------------------------------------------------------------------ leases


class Waiting:
    """An event that both threads and tasks can wait for."""

    def __init__(self, aio: bool) -> None:
        self._event: Any = asyncio.Event() if aio else threading.Event()
        self.set = self._event.set

    async def wait(self) -> None:
        if isinstance(self._event, threading.Event):
            assert self._event.wait(10)
        else:
            await asyncio.wait_for(self._event.wait(), 10)


class Renewing(RecordingObserver):
    def __init__(self, renewed: Waiting) -> None:
        super().__init__()
        self._waiting = renewed

    def renewed(self, queue: str, kind: str) -> None:
        super().renewed(queue, kind)
        self._waiting.set()


@pytest.mark.guide("G-142")
async def test_a_lease_is_renewed_while_the_handler_runs(
    backend: Any, storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    async def work(_: Any) -> None:
        for _ in range(3):
            waiting.append(Waiting(backend.aio))
            observer._waiting = waiting[-1]
            engine.clock.advance(20)
            await waiting[-1].wait()

    waiting = [Waiting(backend.aio)]
    observer = Renewing(waiting[0])
    await queue.send(message())
    worker = worker_of(storage, name, RecordingHandler(work), lease=30, observer=observer)
    assert await worker.run_once() == Report(received=1, handled=1)
    assert observer.noted == ["received 1", *["renewed greet"] * 3, "handled greet"]


async def test_a_message_whose_lease_ended_is_left_to_the_other_worker(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    observer = RecordingObserver()

    async def stall(lease: Any) -> None:
        # A heartbeat between the two renews the lease
        while not await queue.receive(lease=30):
            engine.clock.advance(31)
        await lease.renew()

    await queue.send(message())
    worker = worker_of(storage, name, RecordingHandler(stall), observer=observer)
    assert await worker.run_once() == Report(received=1, lost=1)
    assert observer.noted[-1] == "lost greet"
    assert await queue.length() == 1


async def test_work_that_outlived_its_message_is_done_all_the_same(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    async def stall(_: Any) -> None:
        # A heartbeat between the two renews the lease
        while not await queue.receive(lease=30):
            engine.clock.advance(31)

    await queue.send(message())
    assert await worker_of(storage, name, RecordingHandler(stall)).run_once() == Report(received=1, handled=1)
    assert await queue.length() == 1


async def test_a_renewal_that_fails_does_not_end_the_work(
    backend: Any, storage: Any, name: str, queue: Any, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    renewed = Waiting(backend.aio)

    async def work(_: Any) -> None:
        engine.clock.advance(20)
        await renewed.wait()

    await queue.send(message())
    worker = worker_of(backend.connect(retry_total=0), name, RecordingHandler(work), observer=Renewing(renewed))
    with engine.faults.busy(operation="UpdateMessage", times=1) as busy:
        assert await worker.run_once() == Report(received=1, handled=1)
    assert busy.hits == 1
    assert "could not be renewed" in caplog.text


# ------------------------------------------------------------------ observers


async def test_an_observer_hears_of_everything(storage: Any, name: str, queue: Any) -> None:
    observer = RecordingObserver()
    worker = worker_of(
        storage,
        name,
        RecordingHandler(failing(KeyError(), ValueError())),
        max_deliveries=2,
        retry_after=0,
        observer=observer,
    )
    await queue.send(message())
    await worker.drain()
    await queue.send(message())
    await worker.drain()
    assert observer.noted == [
        *("received 1", "failed greet: KeyError"),
        *("received 1", "failed greet: ValueError", "poisoned: ValueError"),
        *("received 1", "handled greet"),
    ]


# ------------------------------------------------------------------ running and stopping


def after(rounds: int) -> Callable[[], bool]:
    """Say that it is time to stop once it was asked so many times."""
    left = iter(range(rounds))
    return lambda: next(left, None) is None


async def test_a_worker_runs_until_it_is_time_to_stop(storage: Any, name: str, queue: Any) -> None:
    handler = RecordingHandler()
    for number in range(3):
        await queue.send(message(Number=number))
    report = await worker_of(storage, name, handler).run(lambda: len(handler.bodies) == 3)
    assert report == Report(received=3, handled=3)


async def test_messages_in_hand_are_finished_and_the_rest_are_let_go(storage: Any, name: str, queue: Any) -> None:
    stop = threading.Event()
    handler = RecordingHandler(lambda _: stop.set())
    for _ in range(2):
        await queue.send(message())
    observer = RecordingObserver()
    worker = worker_of(storage, name, handler, max_concurrency=2, observer=observer)
    report = await worker.run(lambda: stop.is_set() or len(observer.noted) > 0)
    assert report == Report(received=2, released=2)
    assert len(await queue.receive(2)) == 2


async def test_an_idle_worker_looks_less_and_less_often(storage: Any, name: str, engine: Engine) -> None:
    before = storage.now()
    with engine.ledger.span() as span:
        await worker_of(storage, name, RecordingHandler(), idle=10).run(
            lambda: (storage.now() - before).total_seconds() > 100
        )
    assert 12 <= span.totals.by_operation["GetMessages"] <= 18


async def test_a_worker_that_has_work_looks_again_at_once(storage: Any, name: str, queue: Any, engine: Engine) -> None:
    handler = RecordingHandler()
    for _ in range(20):
        await queue.send(message())
    before = storage.now()
    await worker_of(storage, name, handler).run(lambda: len(handler.bodies) == 20)
    assert (storage.now() - before).total_seconds() < 10


async def test_it_looks_every_second_whether_to_stop(storage: Any, name: str, engine: Engine) -> None:
    moments = []

    def stopping() -> bool:
        moments.append(storage.now())
        return len(moments) > 60

    await worker_of(storage, name, RecordingHandler(), idle=10).run(stopping)
    assert max(b - a for a, b in pairwise(moments)).total_seconds() < 1.5


@pytest.mark.guide("G-157")
async def test_a_service_that_cannot_be_reached_is_retried(
    backend: Any, name: str, queue: Any, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    handler = RecordingHandler()
    await queue.send(message())
    worker = worker_of(backend.connect(retry_total=0), name, handler)
    with engine.faults.busy(operation="GetMessages", times=2), engine.faults.refuse_connection(times=2):
        assert (await worker.run(lambda: bool(handler.bodies))).handled == 1
    assert caplog.text.count("cannot be reached; retrying") == 4


async def test_a_permanent_error_stops_the_worker_on_all_queues(
    backend: Any, new_queue: Callable[[], str], engine: Engine
) -> None:
    one, other = new_queue(), new_queue()
    wrong = AzureNamedKeyCredential(engine.account_name, "bm90IHRoZSBrZXk=")
    worker: Any = Worker(backend.connect(credential=wrong), {one: [RecordingHandler()], other: [RecordingHandler()]})
    with pytest.raises(ClientAuthenticationError):
        await worker.run(after(1000))


def test_a_queue_that_fails_ends_the_others_too() -> None:
    class Broken(RecordingObserver):
        def received(self, queue: str, count: int) -> None:
            raise RuntimeError("the disk of the metrics is full")

    asked = iter(range(5_000))
    with connect() as storage:
        storage.queues.create_queue("one").send_message(message())
        worker = Worker(storage, {"other": [RecordingHandler()], "one": [RecordingHandler()]}, observer=Broken())
        with pytest.raises(RuntimeError, match="metrics"):
            worker.run(lambda: next(asked, None) is None)
    assert next(asked, None) is not None


def test_nothing_could_stop_a_worker_in_another_thread_without_a_word() -> None:
    errors: list[BadInput] = []

    def run() -> None:
        with connect() as storage:
            try:
                Worker(storage, {"orders": [RecordingHandler()]}).run()
            except BadInput as error:
                errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert "only the main thread receives" in str(errors[0])


# ------------------------------------------------------------------ messages that others received


async def test_a_text_that_another_program_received_is_processed(storage: Any, name: str, engine: Engine) -> None:
    handler = RecordingHandler()
    with engine.ledger.span() as span:
        await worker_of(storage, name, handler).handle_text(b64encode(message(Name="Jones").encode()).decode())
    assert handler.bodies == [{"Name": "Jones"}]
    assert span.totals.requests == 0


async def test_a_lease_on_it_costs_nothing_and_never_ends(storage: Any, name: str, engine: Engine) -> None:
    async def act(lease: Any) -> None:
        engine.clock.advance(3600)
        assert lease.remaining == 30
        await lease.renew_if_due()
        await lease.renew()
        await lease.rewrite({"Name": "Smith"})
        assert lease.work.body == {"Name": "Smith"}
        assert await lease.complete()

    with engine.ledger.span() as span:
        await worker_of(storage, name, RecordingHandler(act)).handle_text(message())
    assert span.totals.requests == 0


async def test_an_error_of_a_handler_is_raised_to_the_program(storage: Any, name: str) -> None:
    with pytest.raises(ValueError, match="no"):
        await worker_of(storage, name, RecordingHandler(failing(ValueError("no")))).handle_text(message())
    for text in ("not json", message("unheard of")):
        with pytest.raises(BadMessage):
            await worker_of(storage, name, RecordingHandler()).handle_text(text)


async def test_a_text_for_two_handlers_is_rejected(storage: Any, new_queue: Callable[[], str]) -> None:
    worker: Any = Worker(storage, {new_queue(): [RecordingHandler()], new_queue(): [RecordingHandler()]})
    with pytest.raises(BadMessage, match="2 handlers"):
        await worker.handle_text(message())
