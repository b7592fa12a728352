"""Queue, envelope and lease, which workers use, on every backend."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.queue_workers import message, queue_names
from tablepatterns import connect
from tablepatterns.errors import BadInput, BadMessage, LeaseLost, LimitExceeded
from tablepatterns.messages.envelope import Envelope
from tablepatterns.messages.lease import Lease
from tablepatterns.recipe import elapsed, run_with_heartbeat
from tablepatterns_engine.account import Engine

pytestmark = pytest.mark.both_sdks

WORK = Envelope("greet", {"Name": "Jones"})


@pytest.fixture
def name(backend: Any, storage: Any) -> Iterator[str]:
    with queue_names(backend, storage) as names:
        yield names()


@pytest.fixture
def queue(storage: Any, name: str) -> Any:
    return storage.queue(name)


async def leased(storage: Any, queue: Any, seconds: int = 30, **options: Any) -> Lease:
    """Send a message, receive it, and return the lease."""
    await queue.send(WORK.text())
    (received,) = await queue.receive(lease=seconds)
    return Lease(storage, queue, received, seconds, **options)


# ------------------------------------------------------------------ queues


async def test_a_queue_is_made_once_and_dropped_twice_without_harm(queue: Any, name: str) -> None:
    assert queue.name == name
    assert [await queue.create(), await queue.create()] == [True, False]
    await queue.drop()
    await queue.drop()


async def test_a_queue_that_does_not_exist_is_empty_until_something_is_sent(queue: Any) -> None:
    assert (await queue.receive(), await queue.peek(), await queue.length()) == ([], [], 0)
    await queue.send("4711")
    assert await queue.length() == 1


@pytest.mark.guide("G-141")
async def test_a_message_comes_as_it_was_sent_and_says_who_has_it(queue: Any) -> None:
    text = 'crème <brûlée> & "co" 🛫'
    sent = await queue.send(text)
    (received,) = await queue.receive()
    assert (received.id, received.text, received.deliveries) == (sent.id, text, 1)
    assert received.inserted_at == sent.inserted_at
    assert received.pop_receipt
    assert received.visible_at - received.inserted_at >= timedelta(seconds=29)


@pytest.mark.guide("G-142")
async def test_a_message_that_was_received_is_hidden_from_others(queue: Any) -> None:
    await queue.send("4711")
    assert len(await queue.receive()) == 1
    assert (await queue.receive(), await queue.peek()) == ([], [])
    assert await queue.length() == 1


@pytest.mark.guide("G-152")
async def test_an_undeleted_message_becomes_visible_again_after_its_timeout(queue: Any, engine: Engine) -> None:
    await queue.send("4711")
    (first,) = await queue.receive(lease=30)
    engine.clock.advance(30)
    (second,) = await queue.receive(lease=30)
    assert (second.id, second.deliveries) == (first.id, 2)


async def test_a_peek_takes_nothing_and_shows_no_receipt(queue: Any) -> None:
    await queue.send("4711")
    (seen,) = await queue.peek(32)
    assert (seen.text, seen.pop_receipt, seen.deliveries) == ("4711", None, 0)
    assert len(await queue.receive()) == 1


async def test_up_to_32_messages_come_at_once(queue: Any) -> None:
    for number in range(33):
        await queue.send(str(number))
    assert len(await queue.receive(32)) == 32
    assert len(await queue.receive(32)) == 1


@pytest.mark.parametrize("count", [0, 33])
async def test_more_or_less_than_a_request_can_have_is_rejected(queue: Any, engine: Engine, count: int) -> None:
    for word in (queue.receive, queue.peek):
        with pytest.raises(BadInput, match="1 to 32"):
            await word(count)
    assert engine.ledger.totals.requests == 0


async def test_a_sender_may_hide_its_message_and_take_it_back(queue: Any) -> None:
    hidden = await queue.send("4711", delay=60)
    assert await queue.receive() == []
    assert await queue.delete(hidden)
    assert await queue.length() == 0


async def test_a_message_that_lives_too_short_for_its_reader_is_gone(queue: Any, engine: Engine) -> None:
    await queue.send("4711", lifetime=10)
    engine.clock.advance(10)
    assert await queue.receive() == []


async def test_the_longest_text_is_taken_and_one_byte_more_is_rejected(queue: Any) -> None:
    await queue.send("x" * 65_536)
    with pytest.raises(LimitExceeded, match=r"65,536 bytes in UTF-8, and this has 65,537.*send the blob's name"):
        await queue.send("x" * 65_535 + "é")
    (received,) = await queue.receive()
    assert len(received.text) == 65_536
    with pytest.raises(LimitExceeded, match="65,537"):
        await queue.renew(received, lease=30, text="x" * 65_537)
    assert await queue.delete(received)


@pytest.mark.parametrize("seconds", [-1, 7 * 24 * 3600 + 1])
async def test_a_message_is_not_hidden_for_longer_than_seven_days(queue: Any, engine: Engine, seconds: int) -> None:
    await queue.send("4711")
    (received,) = await queue.receive()
    with engine.ledger.span() as span:
        for call in (
            lambda: queue.send("4712", delay=seconds),
            lambda: queue.receive(lease=seconds),
            lambda: queue.renew(received, lease=seconds),
        ):
            with pytest.raises(BadInput, match=r"[01] to 604,800"):
                await call()
    assert span.totals.requests == 0
    assert (await queue.renew(received, lease=7 * 24 * 3600)).text == "4711"


async def test_a_renewed_message_has_a_new_receipt_and_the_old_one_is_void(queue: Any) -> None:
    await queue.send("4711")
    (received,) = await queue.receive()
    renewed = await queue.renew(received, lease=60, text="4712")
    assert renewed.pop_receipt != received.pop_receipt
    assert (renewed.id, renewed.text) == (received.id, "4712")
    with pytest.raises(LeaseLost, match=received.id):
        await queue.renew(received, lease=60)
    assert not await queue.delete(received)
    assert await queue.delete(renewed)
    assert not await queue.delete(renewed)


async def test_a_renewal_without_a_text_leaves_it_as_it_is(queue: Any) -> None:
    await queue.send("4711")
    (received,) = await queue.receive()
    await queue.renew(received, lease=0)
    (again,) = await queue.receive()
    assert (again.text, again.deliveries) == ("4711", 2)


async def test_each_word_takes_one_transaction(queue: Any, engine: Engine) -> None:
    await queue.create()
    with engine.ledger.span() as span:
        sent = await queue.send("4711")
        await queue.peek()
        (received,) = await queue.receive()
        renewed = await queue.renew(received, lease=30)
        await queue.delete(renewed)
        await queue.length()
    assert sent.id == renewed.id
    assert [(record.operation, record.billable) for record in span.records] == [
        ("PutMessage", 1),
        ("PeekMessages", 1),
        ("GetMessages", 1),
        ("UpdateMessage", 1),
        ("DeleteMessage", 1),
        ("GetQueueMetadata", 1),
    ]


@pytest.mark.guide("G-157")
async def test_a_busy_queue_is_asked_again(queue: Any, engine: Engine) -> None:
    await queue.create()
    with engine.faults.busy(service="queue", times=2) as busy:
        await queue.send("4711")
    with engine.faults.time_out(service="queue", times=1):
        assert len(await queue.receive()) == 1
    assert busy.hits == 2


@pytest.mark.parametrize("bad", ["ab", "a" * 64, "Orders", "or_ders", "-orders", "orders-", "or--ders", ""])
def test_a_name_that_the_service_rejects_is_rejected_before(bad: str) -> None:
    with connect() as storage, pytest.raises(BadInput, match="3 to 63 lower-case letters"):
        storage.queue(bad)


# ------------------------------------------------------------------ envelopes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(kind=st.text(), body=st.dictionaries(st.text(), JSON, max_size=4), base64=st.booleans())
def test_any_work_reads_back_as_it_was_written(kind: str, body: dict[str, Any], base64: bool) -> None:
    text = Envelope(kind, body).text(base64=base64)
    assert text.isascii()
    assert Envelope.parse(text) == Envelope(kind, body)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4711",
        "not json",
        '{"v":1',
        b64encode(b"not json").decode(),
        b64encode(b"\xff\xfe").decode(),
        b64encode(message().encode()).decode()[:-1],
        "[]",
        message().replace('"v": 1', '"v": 2'),
        message().replace('"v": 1, ', ""),
        message().replace('"greet"', "7"),
        message().replace('"body": {}', '"body": []'),
    ],
)
def test_what_is_no_work_is_rejected_as_such(text: str) -> None:
    with pytest.raises(BadMessage):
        Envelope.parse(text)


@pytest.mark.parametrize("body", [{"at": object()}, {"x": float("nan")}, {"b": b"bytes"}])
def test_a_body_without_a_json_form_is_rejected_before_it_is_sent(body: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="cannot be written as JSON"):
        Envelope("greet", body).text()


# ------------------------------------------------------------------ leases


async def test_a_lease_knows_its_work_and_its_time(storage: Any, queue: Any, engine: Engine) -> None:
    lease = await leased(storage, queue)
    assert lease.work == WORK
    assert 29 < lease.remaining <= 30
    engine.clock.advance(31)
    assert lease.remaining < 0


async def test_a_lease_is_counted_from_when_it_was_asked_for(storage: Any, queue: Any, engine: Engine) -> None:
    since = elapsed(storage)
    engine.clock.advance(20)
    lease = await leased(storage, queue, requested_at=since)
    assert 9 < lease.remaining <= 10


async def test_a_renewed_lease_lasts_as_long_again(storage: Any, queue: Any, engine: Engine) -> None:
    lease = await leased(storage, queue)
    engine.clock.advance(20)
    await lease.renew()
    engine.clock.advance(20)
    assert lease.remaining > 9
    assert await queue.receive() == []
    assert await lease.complete()


@pytest.mark.parametrize(("passed", "renewals"), [(14, 0), (16, 1)])
async def test_a_lease_is_kept_when_half_of_it_is_over(
    storage: Any, queue: Any, engine: Engine, passed: int, renewals: int
) -> None:
    lease = await leased(storage, queue)
    engine.clock.advance(passed)
    with engine.ledger.span() as span:
        await lease.renew_if_due()
    assert span.totals.by_operation["UpdateMessage"] == renewals


async def test_a_rewritten_message_says_something_else_when_it_comes_again(storage: Any, queue: Any) -> None:
    lease = await leased(storage, queue)
    await lease.rewrite({"Name": "Smith"})
    assert lease.work == Envelope("greet", {"Name": "Smith"})
    await lease.release()
    (again,) = await queue.receive()
    assert Envelope.parse(again.text) == lease.work


async def test_a_message_in_base64_is_rewritten_in_base64(storage: Any, queue: Any) -> None:
    lease = await leased(storage, queue, base64=True)
    await lease.rewrite({"Name": "Smith"})
    await lease.release()
    (again,) = await queue.receive()
    assert again.text == Envelope("greet", {"Name": "Smith"}).text(base64=True)


async def test_who_lets_go_may_say_when_it_comes_again(storage: Any, queue: Any, engine: Engine) -> None:
    lease = await leased(storage, queue)
    await lease.release(60)
    engine.clock.advance(59)
    assert await queue.receive() == []
    engine.clock.advance(1)
    assert len(await queue.receive()) == 1


async def test_a_lease_that_another_worker_has_is_lost(storage: Any, queue: Any) -> None:
    lease = await leased(storage, queue)
    await queue.renew(lease.message, lease=0)
    await queue.receive()
    for word in (lease.renew(), lease.rewrite({}), lease.release()):
        with pytest.raises(LeaseLost):
            await word
    assert not await lease.complete()
    assert lease.work == WORK


async def test_a_message_sent_hidden_is_ours_from_the_start(storage: Any, queue: Any) -> None:
    lease = await Lease.on_new(storage, queue, WORK, 30)
    assert await queue.receive() == []
    assert 29 < lease.remaining <= 30
    await lease.renew()
    assert await lease.complete()
    assert await queue.length() == 0


async def test_renewals_and_rewrites_at_once_do_not_make_each_other_lose(storage: Any, queue: Any) -> None:
    lease = await leased(storage, queue)
    await storage.gather(*(lease.renew() for _ in range(4)), lease.rewrite({"Name": "Smith"}))
    await lease.release()
    (again,) = await queue.receive()
    assert json.loads(again.text)["body"] == {"Name": "Smith"}


async def test_a_message_that_is_no_work_gives_no_lease(storage: Any, queue: Any) -> None:
    await queue.send("4711")
    (received,) = await queue.receive()
    with pytest.raises(BadMessage):
        Lease(storage, queue, received, 30)


# ------------------------------------------------------------------ a beat beside some work


class Tired(Exception):
    pass


async def test_work_that_ends_at_once_needs_no_beat(storage: Any) -> None:
    async def work() -> int:
        return 42

    async def beat() -> None:
        raise Tired

    assert await run_with_heartbeat(storage, work(), beat, every=60) == 42


async def test_the_error_of_the_work_is_raised(storage: Any) -> None:
    async def work() -> None:
        raise Tired

    async def beat() -> None: ...

    with pytest.raises(Tired):
        await run_with_heartbeat(storage, work(), beat, every=60)
