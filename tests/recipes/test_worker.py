"""Workers process every message, or move it to the poison queue; none is lost."""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from azure.core.exceptions import ServiceRequestError

from support.queue_workers import RecordingHandler, failing, message, poison_of, worker_of
from tablepatterns import connect
from tablepatterns.errors import BadDesign, BadInput, BadMessage, LeaseLost
from tablepatterns.messages.poison import PoisonMessage
from tablepatterns.recipes.worker import Report, Worker
from tablepatterns_engine.account import Engine


@pytest.fixture
def name(new_queue: Callable[[], str]) -> str:
    return new_queue()


@pytest.fixture
def queue(storage: Any, name: str) -> Any:
    return storage.queue(name)


# ------------------------------------------------------------------ work that succeeds


@pytest.mark.guide("G-142", "G-146")
async def test_a_message_is_deleted_once_its_work_is_done(storage: Any, name: str, queue: Any) -> None:
    handler = RecordingHandler()
    await queue.send(message(Name="Jones"))
    assert await worker_of(storage, name, handler).run_once() == Report(received=1, handled=1)
    assert handler.bodies == [{"Name": "Jones"}]
    assert await queue.length() == 0


async def test_an_idle_round_finds_nothing(storage: Any, name: str) -> None:
    assert await worker_of(storage, name, RecordingHandler()).run_once() == Report()


async def test_messages_are_read_plain_and_in_base64(storage: Any, name: str, queue: Any) -> None:
    handler = RecordingHandler()
    await queue.send(message(Name="Jones"))
    await queue.send(b64encode(message(Name="Smith").encode()).decode())
    assert (await worker_of(storage, name, handler).drain()).handled == 2
    assert handler.bodies == [{"Name": "Jones"}, {"Name": "Smith"}]


async def test_each_kind_has_its_handler(storage: Any, name: str, queue: Any) -> None:
    greet, part = RecordingHandler(kind="greet"), RecordingHandler(kind="part")
    for kind in ("part", "greet", "part"):
        await queue.send(message(kind))
    await worker_of(storage, name, greet, part).drain()
    assert (len(greet.bodies), len(part.bodies)) == (1, 2)


@pytest.mark.guide("G-160")
async def test_several_queues_are_served(storage: Any, new_queue: Callable[[], str]) -> None:
    names = [new_queue(), new_queue()]
    handlers = [RecordingHandler(), RecordingHandler()]
    for number, name in enumerate(names):
        await storage.queue(name).send(message(Number=number))
    worker: Any = Worker(storage, {name: [handler] for name, handler in zip(names, handlers, strict=True)})
    assert worker.queues == tuple(names)
    assert await worker.run_once() == Report(received=2, handled=2)
    assert [handler.bodies for handler in handlers] == [[{"Number": 0}], [{"Number": 1}]]


async def test_messages_are_worked_on_at_once_up_to_the_given_number(storage: Any, name: str, queue: Any) -> None:
    for number in range(5):
        await queue.send(message(Number=number))
    worker = worker_of(storage, name, RecordingHandler(), max_concurrency=3)
    assert [(await worker.run_once()).received for _ in range(3)] == [3, 2, 0]


# ------------------------------------------------------------------ work that fails


@pytest.mark.guide("G-152", "G-155")
async def test_a_failed_message_comes_again_after_twice_the_wait_each_time(
    storage: Any, name: str, queue: Any, engine: Engine
) -> None:
    worker = worker_of(storage, name, RecordingHandler(failing(*[ValueError()] * 9)), retry_after=10, max_deliveries=9)
    await queue.send(message())
    for wait in (10, 20, 40, 80):
        assert await worker.run_once() == Report(received=1, failed=1)
        engine.clock.advance(wait - 1)
        assert await worker.run_once() == Report()
        engine.clock.advance(1)


@pytest.mark.guide("G-153", "G-154", "G-155")
async def test_a_message_that_fails_each_time_goes_to_poison_with_its_text_and_the_reason(
    storage: Any, name: str, queue: Any
) -> None:
    text = message(Name="Jönes 🛫", Quote='"')
    handler = RecordingHandler(failing(KeyError("Age"), ValueError("no such age"), ValueError("still none")))
    worker = worker_of(storage, name, handler, max_deliveries=3, retry_after=0)
    sent = await queue.send(text)
    assert await worker.drain() == Report(received=3, failed=2, poisoned=1)
    assert await queue.length() == 0
    (found,) = await worker.poisoned(name)
    assert (found.queue, found.text, found.id) == (name, text, sent.id)
    assert (found.error, found.reason, found.deliveries) == ("ValueError", found.reason, 3)
    assert re.fullmatch(r"at \w+\.py:\d+ in \w+", found.reason)
    assert found.first == sent.inserted_at.isoformat()
    assert found.last is not None
    assert found.last >= found.first
    assert await poison_of(storage, name) == [found]


@pytest.mark.guide("G-153")
async def test_a_message_that_crashed_too_many_workers_is_moved_to_the_poison_queue(
    storage: Any, name: str, queue: Any
) -> None:
    await queue.send(message())
    for _ in range(2):
        (received,) = await queue.receive()
        await queue.renew(received, lease=0)
    handler = RecordingHandler()
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
        # Deeper than any reader of JSON goes, which is no ValueError; and over 64 KiB once the reason is beside it
        pytest.param('{"v":1,"kind":"greet","body":' + "[" * 20_000, "BadMessage", id="deep"),
    ],
)
async def test_an_unreadable_message_is_moved_to_the_poison_queue_at_once(
    storage: Any, name: str, queue: Any, text: str, error: str
) -> None:
    await queue.send(text)
    assert await worker_of(storage, name, RecordingHandler()).run_once() == Report(received=1, poisoned=1)
    (found,) = await poison_of(storage, name)
    assert (found.text, found.error, found.deliveries) == (text, error, 1)


async def test_a_handler_may_say_that_no_repetition_helps(storage: Any, name: str, queue: Any) -> None:
    refusal = BadMessage("Age", -1, "nobody is that young", "send an age")
    await queue.send(message())
    assert await worker_of(storage, name, RecordingHandler(failing(refusal))).run_once() == Report(
        received=1, poisoned=1
    )
    (found,) = await poison_of(storage, name)
    assert found.reason == "Age: nobody is that young; send an age"


async def test_the_poison_queue_can_be_named_and_shared(storage: Any, new_queue: Callable[[], str]) -> None:
    one, other, poison = new_queue(), new_queue(), new_queue()
    worker: Any = Worker(storage, {one: [RecordingHandler()], other: [RecordingHandler()]}, poison=poison)
    await storage.queue(one).send("1")
    await storage.queue(other).send("2")
    assert (await worker.run_once()).poisoned == 2
    assert {(found.queue, found.text) for found in await worker.poisoned(one)} == {(one, "1"), (other, "2")}
    assert [await worker.requeue(one), await worker.requeue(one)] == [1, 0]
    assert [found.text for found in await storage.queue(one).peek(32)] == ["1"]


async def test_the_longest_message_goes_to_poison_whole_and_its_reason_follows(
    storage: Any, name: str, queue: Any
) -> None:
    text = "x" * 65_536
    await queue.send(text)
    worker = worker_of(storage, name, RecordingHandler())
    await worker.run_once()
    whole, note = await poison_of(storage, name)
    assert whole == PoisonMessage(None, text)
    assert (note.queue, note.text, note.error) == (name, None, "BadMessage")
    assert await worker.requeue(name) == 1
    assert (await queue.peek())[0].text == text
    assert await storage.queue(f"{name}-poison").length() == 0


async def test_poison_messages_are_requeued_unchanged_after_the_handler_is_fixed(
    storage: Any, name: str, queue: Any
) -> None:
    handler = RecordingHandler(failing(ValueError()))
    worker = worker_of(storage, name, handler, max_deliveries=1)
    await queue.send(message(Name="Jones"))
    assert (await worker.run_once()).poisoned == 1
    assert await worker.requeue(name) == 1
    assert await worker.drain() == Report(received=1, handled=1)
    assert handler.bodies == [{"Name": "Jones"}] * 2
    assert await poison_of(storage, name) == []


async def test_a_poison_message_of_another_program_is_requeued_unchanged(storage: Any, name: str, queue: Any) -> None:
    await storage.queue(f"{name}-poison").send(message(Name="Jones"))
    handler = RecordingHandler()
    worker = worker_of(storage, name, handler)
    assert await worker.poisoned(name) == [PoisonMessage(None, message(Name="Jones"))]
    await worker.requeue(name)
    await worker.run_once()
    assert handler.bodies == [{"Name": "Jones"}]


@pytest.mark.parametrize("field", ["queue", "text"])
async def test_an_invalid_poison_note_is_requeued_unchanged(storage: Any, name: str, queue: Any, field: str) -> None:
    forged = message("poison", **{**asdict(PoisonMessage(name, message())), field: 7})
    await storage.queue(f"{name}-poison").send(forged)
    assert await worker_of(storage, name, RecordingHandler()).requeue(name) == 1
    assert (await queue.peek())[0].text == forged


async def test_a_message_that_cannot_go_to_poison_stays(storage: Any, name: str, queue: Any, engine: Engine) -> None:
    await queue.send("not json")
    worker = worker_of(storage, name, RecordingHandler())
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
    await worker_of(storage, name, RecordingHandler(failing(ValueError(text))), max_deliveries=1).run_once()
    (found,) = await poison_of(storage, name)
    for shown in (found.reason, caplog.text):
        assert "c2Vj" not in shown


async def test_the_log_contains_no_content_of_a_message(
    storage: Any, name: str, queue: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tablepatterns.worker")
    sent = await queue.send(message(Password="hunter2"))
    await queue.send('{"Password": "hunter2"}')
    worker = worker_of(storage, name, RecordingHandler(failing(ValueError("no"))), retry_after=0)
    await worker.drain()
    records = [record for record in caplog.records if getattr(record, "message_id", None) == sent.id]
    facts = [(record.levelname, vars(record)["deliveries"], vars(record)["error"]) for record in records]
    assert facts == [("WARNING", 1, "ValueError"), ("INFO", 2, None)]
    assert {(vars(record)["queue"], vars(record)["kind"]) for record in records} == {(name, "greet")}
    assert "hunter2" not in caplog.text


# ------------------------------------------------------------------ designs that cannot work


@pytest.mark.guide("G-155")
@pytest.mark.parametrize(
    "options",
    [
        {"lease": 0},
        {"lease": 604_801},
        {"max_deliveries": 0},
        {"max_concurrency": 0},
        {"max_concurrency": 33},
        {"retry_after": -1},
        {"idle": 0},
        {"poison": "{queue}"},
    ],
)
def test_a_number_out_of_range_is_rejected(options: dict[str, Any]) -> None:
    with connect() as storage, pytest.raises(BadDesign, match=next(iter(options))):
        Worker(storage, {"orders": [RecordingHandler()]}, **options)


def test_two_handlers_of_one_kind_are_rejected() -> None:
    with connect() as storage, pytest.raises(BadDesign, match="two handlers of queue 'orders'"):
        Worker(storage, {"orders": [RecordingHandler(), RecordingHandler()]})


def test_a_worker_without_handlers_is_rejected() -> None:
    with connect() as storage, pytest.raises(BadDesign, match="at least one queue"):
        Worker(storage, {})


def test_a_queue_that_is_not_polled_is_rejected_by_name() -> None:
    with connect() as storage, pytest.raises(BadInput, match="polls orders"):
        Worker(storage, {"orders": [RecordingHandler()]}).requeue("odrers")


async def test_a_message_whose_handler_lost_its_lease_is_not_poison(storage: Any, name: str, queue: Any) -> None:
    await queue.send(message())
    worker = worker_of(storage, name, RecordingHandler(failing(LeaseLost("it ended"))))
    assert await worker.run_once() == Report(received=1, lost=1)
