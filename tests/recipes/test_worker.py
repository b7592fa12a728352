"""Worker: every message is worked on or kept where someone sees it, and none is lost."""

from __future__ import annotations

import asyncio
import logging
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError

from tablepatterns import connect
from tablepatterns.engine.account import Engine
from tablepatterns.errors import BadDesign, BadInput, BadMessage, LeaseLost
from tablepatterns.recipes.worker import Report, Worker
from tablepatterns.working.poison import Poisoned
from working import Noting, Told, failing, message, queue_names


@pytest.fixture
def new_queue(backend: Any, storage: Any) -> Iterator[Callable[[], str]]:
    with queue_names(backend, storage) as names:
        yield names


@pytest.fixture
def name(new_queue: Callable[[], str]) -> str:
    return new_queue()


@pytest.fixture
def queue(storage: Any, name: str) -> Any:
    return storage.queue(name)


def worker_of(storage: Any, name: str, *handlers: Any, **options: Any) -> Any:
    return Worker(storage, {name: handlers}, **options)


async def poison_of(storage: Any, name: str) -> list[Poisoned]:
    return [Poisoned.parse(found.text) for found in await storage.queue(f"{name}-poison").peek(32)]


# ------------------------------------------------------------------ work that succeeds


@pytest.mark.guide("G-142", "G-146")
async def test_a_message_is_deleted_once_its_work_is_done(storage: Any, name: str, queue: Any) -> None:
    handler = Told()
    await queue.send(message(Name="Jones"))
    assert await worker_of(storage, name, handler).run_once() == Report(received=1, handled=1)
    assert handler.bodies == [{"Name": "Jones"}]
    assert await queue.length() == 0


async def test_an_idle_round_finds_nothing(storage: Any, name: str) -> None:
    assert await worker_of(storage, name, Told()).run_once() == Report()


@pytest.mark.guide("G-146")
async def test_a_message_costs_two_transactions_besides_its_work(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    await queue.send(message())
    with engine.ledger.span() as span:
        await worker_of(storage, name, Told()).run_once()
    assert [record.operation for record in span.records] == ["GetMessages", "DeleteMessage"]
    assert span.totals.billable == 2


async def test_messages_are_read_plain_and_in_base64(storage: Any, name: str, queue: Any) -> None:
    handler = Told()
    await queue.send(message(Name="Jones"))
    await queue.send(b64encode(message(Name="Smith").encode()).decode())
    assert (await worker_of(storage, name, handler).drain()).handled == 2
    assert handler.bodies == [{"Name": "Jones"}, {"Name": "Smith"}]


async def test_each_kind_has_its_handler(storage: Any, name: str, queue: Any) -> None:
    greet, part = Told(kind="greet"), Told(kind="part")
    for kind in ("part", "greet", "part"):
        await queue.send(message(kind))
    await worker_of(storage, name, greet, part).drain()
    assert (len(greet.bodies), len(part.bodies)) == (1, 2)


@pytest.mark.guide("G-160")
async def test_several_queues_are_served(storage: Any, new_queue: Callable[[], str]) -> None:
    names = [new_queue(), new_queue()]
    handlers = [Told(), Told()]
    for number, name in enumerate(names):
        await storage.queue(name).send(message(Number=number))
    worker: Any = Worker(storage, {name: [handler] for name, handler in zip(names, handlers, strict=True)})
    assert worker.queues == tuple(names)
    assert await worker.run_once() == Report(received=2, handled=2)
    assert [handler.bodies for handler in handlers] == [[{"Number": 0}], [{"Number": 1}]]


@pytest.mark.guide("G-161")
async def test_several_workers_share_a_queue(backend: Any, storage: Any, name: str, queue: Any) -> None:
    handlers = [Told(), Told(), Told()]
    for number in range(20):
        await queue.send(message(Number=number))
    workers = [worker_of(backend.connect(), name, handler, parallel=4) for handler in handlers]
    reports = await storage.together(*(worker.drain() for worker in workers))
    assert sum(reports, Report()) == Report(received=20, handled=20)
    assert sorted(body["Number"] for handler in handlers for body in handler.bodies) == list(range(20))


async def test_messages_are_worked_on_at_once_up_to_the_given_number(storage: Any, name: str, queue: Any) -> None:
    for number in range(5):
        await queue.send(message(Number=number))
    worker = worker_of(storage, name, Told(), parallel=3)
    assert [(await worker.run_once()).received for _ in range(3)] == [3, 2, 0]


# ------------------------------------------------------------------ work that fails


@pytest.mark.guide("G-152", "G-155")
async def test_a_failed_message_comes_again_after_twice_the_wait_each_time(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    worker = worker_of(storage, name, Told(failing(*[ValueError()] * 9)), retry_after=10, max_deliveries=9)
    await queue.send(message())
    for wait in (10, 20, 40, 80):
        assert await worker.run_once() == Report(received=1, failed=1)
        engine.clock.advance(wait - 1)
        assert await worker.run_once() == Report()
        engine.clock.advance(1)


@pytest.mark.guide("G-152")
async def test_what_a_dead_worker_had_comes_again_after_the_lease(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    await queue.send(message())
    await queue.receive(lease=30)
    worker = worker_of(storage, name, Told())
    assert await worker.run_once() == Report()
    engine.clock.advance(30)
    assert await worker.run_once() == Report(received=1, handled=1)


@pytest.mark.guide("G-153", "G-154", "G-155")
async def test_a_message_that_fails_each_time_goes_to_poison_with_its_text_and_the_reason(
    storage: Any, name: str, queue: Any
) -> None:
    text = message(Name="Jönes 🛫", Quote='"')
    handler = Told(failing(KeyError("Age"), ValueError("no such age"), ValueError("still none")))
    worker = worker_of(storage, name, handler, max_deliveries=3, retry_after=0)
    sent = await queue.send(text)
    assert await worker.drain() == Report(received=3, failed=2, poisoned=1)
    assert await queue.length() == 0
    (found,) = await worker.poisoned(name)
    assert (found.queue, found.text, found.id) == (name, text, sent.id)
    assert (found.error, found.reason, found.deliveries) == ("ValueError", "still none", 3)
    assert found.first == sent.inserted_at.isoformat()
    assert found.last is not None
    assert found.last >= found.first
    assert await poison_of(storage, name) == [found]


@pytest.mark.guide("G-153")
async def test_a_message_whose_workers_died_too_often_goes_to_poison_untried(
    storage: Any, name: str, queue: Any
) -> None:
    await queue.send(message())
    for _ in range(2):
        (received,) = await queue.receive()
        await queue.renew(received, lease=0)
    handler = Told()
    assert await worker_of(storage, name, handler, max_deliveries=2).run_once() == Report(received=1, poisoned=1)
    assert handler.bodies == []
    ((found),) = await poison_of(storage, name)
    assert (found.error, found.deliveries) == ("TooManyDeliveries", 3)


@pytest.mark.guide("G-154")
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("not json", "BadMessage"),
        ("e30=", "BadMessage"),
        ("%%%", "BadMessage"),
        (message("unheard of"), "BadMessage"),
        (message().replace('"v": 1', '"v": 9'), "BadMessage"),
    ],
)
async def test_what_nobody_can_read_goes_to_poison_at_once(
    storage: Any, name: str, queue: Any, text: str, error: str
) -> None:
    await queue.send(text)
    assert await worker_of(storage, name, Told()).run_once() == Report(received=1, poisoned=1)
    (found,) = await poison_of(storage, name)
    assert (found.text, found.error, found.deliveries) == (text, error, 1)


async def test_a_handler_may_say_that_no_repetition_helps(storage: Any, name: str, queue: Any) -> None:
    refusal = BadMessage("Age", -1, "nobody is that young", "send an age")
    await queue.send(message())
    assert await worker_of(storage, name, Told(failing(refusal))).run_once() == Report(received=1, poisoned=1)
    (found,) = await poison_of(storage, name)
    assert found.reason == "Age: nobody is that young; send an age"


async def test_the_poison_queue_can_be_named_and_shared(storage: Any, new_queue: Callable[[], str]) -> None:
    one, other, poison = new_queue(), new_queue(), new_queue()
    worker: Any = Worker(storage, {one: [Told()], other: [Told()]}, poison=poison)
    await storage.queue(one).send("1")
    await storage.queue(other).send("2")
    assert (await worker.run_once()).poisoned == 2
    assert {(found.queue, found.text) for found in await worker.poisoned(one)} == {(one, "1"), (other, "2")}
    assert [await worker.send_back(one), await worker.send_back(one)] == [1, 0]
    assert [found.text for found in await storage.queue(one).peek(32)] == ["1"]


async def test_the_longest_message_goes_to_poison_whole_and_its_reason_follows(
    storage: Any, name: str, queue: Any
) -> None:
    text = "x" * 65_536
    await queue.send(text)
    worker = worker_of(storage, name, Told())
    await worker.run_once()
    whole, note = await poison_of(storage, name)
    assert whole == Poisoned(None, text)
    assert (note.queue, note.text, note.error) == (name, None, "BadMessage")
    assert await worker.send_back(name) == 1
    assert (await queue.peek())[0].text == text
    assert await storage.queue(f"{name}-poison").length() == 0


async def test_poison_is_sent_back_as_it_was_once_the_handler_is_mended(storage: Any, name: str, queue: Any) -> None:
    handler = Told(failing(ValueError()))
    worker = worker_of(storage, name, handler, max_deliveries=1)
    await queue.send(message(Name="Jones"))
    assert (await worker.run_once()).poisoned == 1
    assert await worker.send_back(name) == 1
    assert await worker.drain() == Report(received=1, handled=1)
    assert handler.bodies == [{"Name": "Jones"}] * 2
    assert await poison_of(storage, name) == []


async def test_poison_that_somebody_else_put_there_is_sent_back_as_it_is(storage: Any, name: str, queue: Any) -> None:
    await storage.queue(f"{name}-poison").send(message(Name="Jones"))
    handler = Told()
    worker = worker_of(storage, name, handler)
    assert await worker.poisoned(name) == [Poisoned(None, message(Name="Jones"))]
    await worker.send_back(name)
    await worker.run_once()
    assert handler.bodies == [{"Name": "Jones"}]


async def test_moving_a_message_to_poison_takes_two_transactions(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    await queue.send("not json")
    await storage.queue(f"{name}-poison").create()
    with engine.ledger.span() as span:
        await worker_of(storage, name, Told()).run_once()
    assert [record.operation for record in span.records] == ["GetMessages", "PutMessage", "DeleteMessage"]


async def test_a_message_that_cannot_go_to_poison_stays(storage: Any, name: str, queue: Any, engine: Engine) -> None:
    await queue.send("not json")
    worker = worker_of(storage, name, Told())
    with engine.faults.refuse_connection(queue=f"{name}-poison"), pytest.raises(ServiceRequestError):
        await worker.run_once()
    engine.clock.advance(3600)
    assert await worker.run_once() == Report(received=1, poisoned=1)


SECRETS = [
    "GET https://a.table.core.windows.net/T?se=2014&sig=c2Vj%2FcmV0%3D",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c2VjcmV0PT0=;EndpointSuffix=core.windows.net",
    "Authorization: SharedKey a:c2VjcmV0PT0=",
    "Authorization: Bearer c2VjcmV0.PT0.x",
]


@pytest.mark.parametrize("text", SECRETS)
async def test_neither_poison_nor_the_log_holds_a_key_or_a_signature(
    storage: Any, name: str, queue: Any, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tablepatterns.worker")
    await queue.send(message())
    await worker_of(storage, name, Told(failing(ValueError(text))), max_deliveries=1).run_once()
    (found,) = await poison_of(storage, name)
    assert "***" in found.reason
    for shown in (found.reason, caplog.text):
        assert "c2Vj" not in shown


async def test_the_log_tells_the_facts_and_never_what_a_message_holds(
    storage: Any, name: str, queue: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tablepatterns.worker")
    sent = await queue.send(message(Password="hunter2"))
    await queue.send('{"Password": "hunter2"}')
    worker = worker_of(storage, name, Told(failing(ValueError("no"))), retry_after=0)
    await worker.drain()
    told = [record for record in caplog.records if getattr(record, "message_id", None) == sent.id]
    facts = [(record.levelname, vars(record)["deliveries"], vars(record)["error"]) for record in told]
    assert facts == [("WARNING", 1, "ValueError"), ("INFO", 2, None)]
    assert {(vars(record)["queue"], vars(record)["kind"]) for record in told} == {(name, "greet")}
    assert "hunter2" not in caplog.text


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


class Renewing(Noting):
    def __init__(self, renewed: Waiting) -> None:
        super().__init__()
        self._waiting = renewed

    def renewed(self, queue: str, kind: str) -> None:
        super().renewed(queue, kind)
        self._waiting.set()


@pytest.mark.guide("G-142")
async def test_a_message_is_kept_while_its_work_goes_on(
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
    worker = worker_of(storage, name, Told(work), lease=30, observer=observer)
    assert await worker.run_once() == Report(received=1, handled=1)
    assert observer.noted == ["received 1", *["renewed greet"] * 3, "handled greet"]


async def test_a_message_that_was_lost_is_left_to_whoever_has_it(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    observer = Noting()

    async def stall(lease: Any) -> None:
        engine.clock.advance(31)
        await queue.receive(lease=30)
        await lease.renew()

    await queue.send(message())
    worker = worker_of(storage, name, Told(stall), observer=observer)
    assert await worker.run_once() == Report(received=1, lost=1)
    assert observer.noted[-1] == "lost greet"
    assert await queue.length() == 1


async def test_work_that_outlived_its_message_is_done_all_the_same(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    async def stall(_: Any) -> None:
        engine.clock.advance(31)
        await queue.receive(lease=30)

    await queue.send(message())
    assert await worker_of(storage, name, Told(stall)).run_once() == Report(received=1, handled=1)
    assert await queue.length() == 1


async def test_a_renewal_that_fails_does_not_end_the_work(
    backend: Any, storage: Any, name: str, queue: Any, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    renewed = Waiting(backend.aio)

    async def work(_: Any) -> None:
        engine.clock.advance(20)
        await renewed.wait()

    await queue.send(message())
    worker = worker_of(backend.connect(retry_total=0), name, Told(work), observer=Renewing(renewed))
    with engine.faults.busy(operation="UpdateMessage", times=1) as busy:
        assert await worker.run_once() == Report(received=1, handled=1)
    assert busy.hits == 1
    assert "could not be renewed" in caplog.text


# ------------------------------------------------------------------ observers


async def test_an_observer_hears_of_everything(storage: Any, name: str, queue: Any) -> None:
    observer = Noting()
    worker = worker_of(
        storage, name, Told(failing(KeyError(), ValueError())), max_deliveries=2, retry_after=0, observer=observer
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
    handler = Told()
    for number in range(3):
        await queue.send(message(Number=number))
    report = await worker_of(storage, name, handler).run(lambda: len(handler.bodies) == 3)
    assert report == Report(received=3, handled=3)


async def test_messages_in_hand_are_finished_and_the_rest_are_let_go(storage: Any, name: str, queue: Any) -> None:
    stop = threading.Event()
    handler = Told(lambda _: stop.set())
    for _ in range(2):
        await queue.send(message())
    observer = Noting()
    worker = worker_of(storage, name, handler, parallel=2, observer=observer)
    report = await worker.run(lambda: stop.is_set() or len(observer.noted) > 0)
    assert report == Report(received=2, let_go=2)
    assert len(await queue.receive(2)) == 2


async def test_an_idle_worker_looks_less_and_less_often(storage: Any, name: str, engine: Engine) -> None:
    before = storage.now()
    with engine.ledger.span() as span:
        await worker_of(storage, name, Told(), idle=10).run(lambda: (storage.now() - before).total_seconds() > 100)
    assert 12 <= span.totals.by_operation["GetMessages"] <= 18


async def test_a_worker_that_has_work_looks_again_at_once(storage: Any, name: str, queue: Any, engine: Engine) -> None:
    handler = Told()
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

    await worker_of(storage, name, Told(), idle=10).run(stopping)
    assert max(b - a for a, b in pairwise(moments)).total_seconds() < 1.5


@pytest.mark.guide("G-157")
async def test_a_service_that_cannot_be_reached_for_a_while_is_tried_again(
    backend: Any, name: str, queue: Any, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Told()
    await queue.send(message())
    worker = worker_of(backend.connect(retry_total=0), name, handler)
    with engine.faults.busy(operation="GetMessages", times=2), engine.faults.refuse_connection(times=2):
        assert (await worker.run(lambda: bool(handler.bodies))).handled == 1
    assert caplog.text.count("is tried again") == 4


async def test_a_service_that_refuses_for_good_ends_the_worker_on_all_queues(
    backend: Any, new_queue: Callable[[], str], engine: Engine
) -> None:
    one, other = new_queue(), new_queue()
    wrong = AzureNamedKeyCredential(engine.account_name, "bm90IHRoZSBrZXk=")
    worker: Any = Worker(backend.connect(credential=wrong), {one: [Told()], other: [Told()]})
    with pytest.raises(ClientAuthenticationError):
        await worker.run(after(1000))


def test_a_queue_that_fails_ends_the_others_too() -> None:
    class Broken(Noting):
        def received(self, queue: str, count: int) -> None:
            raise RuntimeError("the disk of the metrics is full")

    asked = iter(range(5_000))
    with connect() as storage:
        storage.queues.create_queue("one").send_message(message())
        worker = Worker(storage, {"other": [Told()], "one": [Told()]}, observer=Broken())
        with pytest.raises(RuntimeError, match="metrics"):
            worker.run(lambda: next(asked, None) is None)
    assert next(asked, None) is not None


def test_nothing_could_stop_a_worker_in_another_thread_without_a_word() -> None:
    errors: list[BadInput] = []

    def run() -> None:
        with connect() as storage:
            try:
                Worker(storage, {"orders": [Told()]}).run()
            except BadInput as error:
                errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert "only the main thread hears of signals" in str(errors[0])


# ------------------------------------------------------------------ messages that others received


async def test_a_text_that_somebody_else_received_is_worked_on(storage: Any, name: str, engine: Engine) -> None:
    handler = Told()
    with engine.ledger.span() as span:
        await worker_of(storage, name, handler).handle_text(b64encode(message(Name="Jones").encode()).decode())
    assert handler.bodies == [{"Name": "Jones"}]
    assert span.totals.requests == 0


async def test_a_lease_on_it_costs_nothing_and_never_ends(storage: Any, name: str, engine: Engine) -> None:
    async def act(lease: Any) -> None:
        engine.clock.advance(3600)
        assert lease.remaining == 30
        await lease.keep()
        await lease.renew()
        await lease.rewrite({"Name": "Smith"})
        assert lease.work.body == {"Name": "Smith"}
        assert await lease.done()

    with engine.ledger.span() as span:
        await worker_of(storage, name, Told(act)).handle_text(message())
    assert span.totals.requests == 0


async def test_what_fails_is_for_whoever_received_it(storage: Any, name: str) -> None:
    with pytest.raises(ValueError, match="no"):
        await worker_of(storage, name, Told(failing(ValueError("no")))).handle_text(message())
    for text in ("not json", message("unheard of")):
        with pytest.raises(BadMessage):
            await worker_of(storage, name, Told()).handle_text(text)


async def test_a_text_for_two_handlers_is_refused(storage: Any, new_queue: Callable[[], str]) -> None:
    worker: Any = Worker(storage, {new_queue(): [Told()], new_queue(): [Told()]})
    with pytest.raises(BadMessage, match="2 handlers"):
        await worker.handle_text(message())


# ------------------------------------------------------------------ designs that cannot work


@pytest.mark.guide("G-155")
@pytest.mark.parametrize(
    "options",
    [
        {"lease": 0},
        {"lease": 604_801},
        {"max_deliveries": 0},
        {"parallel": 0},
        {"parallel": 33},
        {"retry_after": -1},
        {"idle": 0},
        {"poison": "{queue}"},
    ],
)
def test_a_number_that_cannot_work_is_refused(options: dict[str, Any]) -> None:
    with connect() as storage, pytest.raises(BadDesign, match=next(iter(options))):
        Worker(storage, {"orders": [Told()]}, **options)


def test_two_handlers_of_one_kind_are_refused() -> None:
    with connect() as storage, pytest.raises(BadDesign, match="two handlers of the queue 'orders'"):
        Worker(storage, {"orders": [Told(), Told()]})


def test_a_worker_without_work_is_refused() -> None:
    with connect() as storage, pytest.raises(BadDesign, match="at least one queue"):
        Worker(storage, {})


def test_a_queue_that_is_not_served_is_refused_by_name() -> None:
    with connect() as storage, pytest.raises(BadInput, match="serves orders"):
        Worker(storage, {"orders": [Told()]}).send_back("odrers")


async def test_a_message_that_says_it_is_lost_is_not_poison(storage: Any, name: str, queue: Any) -> None:
    await queue.send(message())
    worker = worker_of(storage, name, Told(failing(LeaseLost("it ended"))))
    assert await worker.run_once() == Report(received=1, lost=1)
