"""Messages: put, receive, peek, update, delete, visibility and expiry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from conformance.deviations import QUEUE_BODIES, QUEUE_CODES, QUEUE_RECEIPTS
from conformance.queue_errors import (
    BAD_OPTION,
    BAD_XML,
    BODY_TOO_LARGE,
    MISSING_OPTION,
    NO_MESSAGE,
    NO_NODE,
    OTHER_RECEIPT,
    OUT_OF_RANGE,
)
from conformance.raw import Raw
from tablepatterns.limits import MAX_MESSAGE_BYTES, MAX_MESSAGES_PER_GET

WEEK = 7 * 24 * 3600
FOREVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
TEXT = "<QueueMessage><MessageText>text</MessageText></QueueMessage>"


async def texts(queue: Any, limit: int = MAX_MESSAGES_PER_GET) -> list[str]:
    return [message.content for message in await queue.peek_messages(limit)]


async def receive(queue: Any, **options: Any) -> Any:
    message = await queue.receive_message(**options)
    assert message is not None
    return message


# ------------------------------------------------------------------ put


async def test_a_message_is_seen_at_once_and_lives_a_week(queue: Any) -> None:
    sent = await queue.send_message("text")
    assert sent.expires_on - sent.inserted_on == timedelta(days=7)
    assert sent.next_visible_on == sent.inserted_on
    (seen,) = await queue.peek_messages()
    assert (seen.id, seen.content, seen.dequeue_count) == (sent.id, "text", 0)
    assert (seen.inserted_on, seen.expires_on) == (sent.inserted_on, sent.expires_on)


async def test_a_message_can_be_hidden_at_first(queue: Any) -> None:
    sent = await queue.send_message("text", visibility_timeout=60)
    assert sent.next_visible_on - sent.inserted_on == timedelta(minutes=1)
    assert (await texts(queue), await queue.receive_message()) == ([], None)


async def test_a_message_can_be_stored_without_expiration(queue: Any) -> None:
    sent = await queue.send_message("text", time_to_live=-1, visibility_timeout=WEEK)
    assert sent.expires_on == FOREVER


async def test_a_message_can_live_longer_than_a_week(queue: Any) -> None:
    sent = await queue.send_message("text", time_to_live=2 * WEEK)
    assert sent.expires_on - sent.inserted_on == timedelta(days=14)


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("text", ["<&>'\"", "é🛫", " a  b ", "x" * MAX_MESSAGE_BYTES, "é" * (MAX_MESSAGE_BYTES // 2)])
async def test_a_text_comes_back_as_it_was(queue: Any, text: str) -> None:
    await queue.send_message(text)
    assert await texts(queue) == [text]
    assert (await receive(queue)).content == text


async def test_a_text_may_be_empty(queue: Any) -> None:
    await queue.send_message("")
    assert not (await receive(queue)).content


@pytest.mark.parametrize("text", ["x" * (MAX_MESSAGE_BYTES + 1), "é" * (MAX_MESSAGE_BYTES // 2) + "x"])
async def test_a_text_has_64_kib_and_no_byte_more(queue: Any, queue_rejected: Any, text: str) -> None:
    async with queue_rejected(BODY_TOO_LARGE):
        await queue.send_message(text)
    sent = await queue.send_message("small")
    async with queue_rejected(BODY_TOO_LARGE):
        await queue.update_message(sent, content=text, visibility_timeout=0)


@pytest.mark.parametrize("visibility", [-1, WEEK + 1])
async def test_a_message_is_hidden_for_a_week_at_most(queue: Any, queue_rejected: Any, visibility: int) -> None:
    async with queue_rejected(OUT_OF_RANGE):
        await queue.send_message("text", visibility_timeout=visibility, time_to_live=-1)


@pytest.mark.parametrize(("visibility", "time_to_live"), [(0, 0), (30, 30), (60, 30)])
async def test_a_message_lives_longer_than_it_is_hidden(
    raw_queues: Raw, queue: Any, queue_rejected: Any, visibility: int, time_to_live: int
) -> None:
    path = f"/{queue.queue_name}/messages?visibilitytimeout={visibility}&messagettl={time_to_live}"
    async with queue_rejected(BAD_OPTION):
        await raw_queues("POST", path, body=TEXT)


@QUEUE_CODES
async def test_only_minus_one_means_that_a_message_never_expires(
    raw_queues: Raw, queue: Any, queue_rejected: Any
) -> None:
    async with queue_rejected(BAD_OPTION):
        await raw_queues("POST", f"/{queue.queue_name}/messages?messagettl=-2", body=TEXT)


@pytest.mark.parametrize("body", ["", "<Other />"], ids=["empty", "other root"])
async def test_a_body_that_is_no_message_is_rejected(
    raw_queues: Raw, queue: Any, queue_rejected: Any, body: str
) -> None:
    async with queue_rejected(BAD_XML):
        await raw_queues("POST", f"/{queue.queue_name}/messages", body=body)


@QUEUE_BODIES
@pytest.mark.parametrize(
    "body",
    [
        "text",
        "<QueueMessage><MessageText>text</QueueMessage>",
        "<QueueMessage><MessageText>&#1;</MessageText></QueueMessage>",
    ],
    ids=["no XML", "cut", "control character"],
)
async def test_so_is_one_that_is_no_xml(raw_queues: Raw, queue: Any, queue_rejected: Any, body: str) -> None:
    async with queue_rejected(BAD_XML):
        await raw_queues("POST", f"/{queue.queue_name}/messages", body=body)


@QUEUE_BODIES
async def test_a_message_has_a_text(raw_queues: Raw, queue: Any, queue_rejected: Any) -> None:
    async with queue_rejected(NO_NODE):
        await raw_queues("POST", f"/{queue.queue_name}/messages", body="<QueueMessage />")


@QUEUE_BODIES
async def test_markup_in_a_text_is_left_out(raw_queues: Raw, queue: Any) -> None:
    body = "<QueueMessage><MessageText>a<b>c</b>d</MessageText></QueueMessage>"
    await raw_queues("POST", f"/{queue.queue_name}/messages", body=body)
    assert await texts(queue) == ["acd"]


# ------------------------------------------------------------------ get and peek


async def test_messages_come_in_the_order_in_which_they_were_put(queue: Any) -> None:
    for number in range(5):
        await queue.send_message(str(number))
    assert await texts(queue, 3) == ["0", "1", "2"]
    pages = queue.receive_messages(messages_per_page=2).by_page()
    assert [[message.content async for message in page] async for page in pages] == [["0", "1"], ["2", "3"], ["4"]]


async def test_a_received_message_is_hidden_and_counted(queue: Any) -> None:
    sent = await queue.send_message("text")
    message = await receive(queue, visibility_timeout=60)
    assert (message.id, message.content, message.dequeue_count) == (sent.id, "text", 1)
    assert (message.inserted_on, message.expires_on) == (sent.inserted_on, sent.expires_on)
    assert message.pop_receipt != sent.pop_receipt
    assert message.next_visible_on > sent.next_visible_on
    assert (await texts(queue), await queue.receive_message()) == ([], None)


async def test_peeking_gives_no_power(queue: Any, queues_unchanged: Any) -> None:
    await queue.send_message("text")
    async with queues_unchanged():
        (seen,) = await queue.peek_messages()
    assert (seen.pop_receipt, seen.next_visible_on) == (None, None)


async def test_no_messages_are_an_answer(queue: Any) -> None:
    assert await queue.receive_message() is None
    assert [message async for message in queue.receive_messages()] == []
    assert await queue.peek_messages() == []


@pytest.mark.parametrize(
    "options",
    [
        "numofmessages=33",
        "numofmessages=33&peekonly=true",
        "visibilitytimeout=0",
        f"visibilitytimeout={WEEK + 1}",
        "visibilitytimeout=-1",
    ],
)
async def test_a_number_out_of_range_is_rejected(
    raw_queues: Raw, queue: Any, queue_rejected: Any, options: str
) -> None:
    await queue.send_message("text")
    async with queue_rejected(OUT_OF_RANGE):
        await raw_queues("GET", f"/{queue.queue_name}/messages?{options}")


@QUEUE_CODES
@pytest.mark.parametrize("options", ["", "&peekonly=true"], ids=["get", "peek"])
async def test_so_are_no_messages(raw_queues: Raw, queue: Any, queue_rejected: Any, options: str) -> None:
    async with queue_rejected(OUT_OF_RANGE):
        await raw_queues("GET", f"/{queue.queue_name}/messages?numofmessages=0{options}")


@QUEUE_CODES
@pytest.mark.parametrize("options", ["numofmessages=two", "visibilitytimeout=1.5", "numofmessages="])
async def test_what_is_no_number_is_rejected(raw_queues: Raw, queue: Any, queue_rejected: Any, options: str) -> None:
    async with queue_rejected(BAD_OPTION):
        await raw_queues("GET", f"/{queue.queue_name}/messages?{options}")


# ------------------------------------------------------------------ update, delete, clear


async def test_an_update_gives_a_new_receipt_and_keeps_the_rest(queue: Any) -> None:
    await queue.send_message("text")
    message = await receive(queue)
    updated = await queue.update_message(message, visibility_timeout=0)
    assert updated.pop_receipt != message.pop_receipt
    again = await receive(queue)
    assert (again.id, again.content, again.dequeue_count) == (message.id, "text", 2)
    assert (again.inserted_on, again.expires_on) == (message.inserted_on, message.expires_on)


async def test_an_update_may_replace_the_text(queue: Any) -> None:
    sent = await queue.send_message("text", visibility_timeout=60)
    await queue.update_message(sent, content="<other>", visibility_timeout=0)
    assert await texts(queue) == ["<other>"]


async def test_an_update_may_hide_beyond_the_end(queue: Any) -> None:
    sent = await queue.send_message("text", time_to_live=60)
    updated = await queue.update_message(sent, visibility_timeout=WEEK)
    assert updated.next_visible_on > sent.expires_on


@pytest.mark.parametrize("visibility", [-1, WEEK + 1])
async def test_an_update_hides_for_a_week_at_most(queue: Any, queue_rejected: Any, visibility: int) -> None:
    sent = await queue.send_message("text")
    async with queue_rejected(OUT_OF_RANGE):
        await queue.update_message(sent, visibility_timeout=visibility)


async def test_a_deleted_message_is_gone(queue: Any) -> None:
    for text in "ab":
        await queue.send_message(text)
    await queue.delete_message(await receive(queue))
    assert await texts(queue) == ["b"]


async def test_a_sender_may_delete_a_message_that_was_not_received(queue: Any) -> None:
    await queue.delete_message(await queue.send_message("text", visibility_timeout=60))
    assert (await queue.get_queue_properties()).approximate_message_count == 0


async def test_clearing_takes_all(queue: Any) -> None:
    await queue.send_message("hidden", visibility_timeout=60)
    await queue.send_message("seen")
    await queue.clear_messages()
    assert (await queue.get_queue_properties()).approximate_message_count == 0


# ------------------------------------------------------------------ receipts


@pytest.fixture(params=["update", "delete"])
def use(request: pytest.FixtureRequest, queue: Any) -> Callable[[str, str], Any]:
    """What needs the receipt of a message."""

    def call(message_id: str, receipt: str) -> Any:
        if request.param == "update":
            return queue.update_message(message_id, receipt, visibility_timeout=0)
        return queue.delete_message(message_id, receipt)

    return call


async def test_only_the_newest_receipt_is_good(queue: Any, queue_rejected: Any, use: Any) -> None:
    sent = await queue.send_message("text")
    received = await receive(queue)
    updated = await queue.update_message(received, visibility_timeout=0)
    again = await receive(queue)
    for old in (sent, received, updated):
        async with queue_rejected(OTHER_RECEIPT):
            await use(sent.id, old.pop_receipt)
    await use(sent.id, again.pop_receipt)


async def test_a_message_that_is_gone_has_no_receipt(queue: Any, queue_rejected: Any, use: Any) -> None:
    deleted, cleared = await queue.send_message("one"), await queue.send_message("two")
    await queue.delete_message(deleted)
    async with queue_rejected(NO_MESSAGE):
        await use(deleted.id, deleted.pop_receipt)
    await queue.clear_messages()
    async with queue_rejected(NO_MESSAGE):
        await use(cleared.id, cleared.pop_receipt)


async def test_the_receipt_of_another_message_is_none(queue: Any, queue_rejected: Any, use: Any) -> None:
    one = await queue.send_message("one")
    other = await queue.update_message(await queue.send_message("other"), visibility_timeout=0)
    async with queue_rejected(OTHER_RECEIPT):
        await use(one.id, other.pop_receipt)


@QUEUE_RECEIPTS
async def test_what_is_no_receipt_at_all_is_rejected(queue: Any, queue_rejected: Any, use: Any) -> None:
    sent = await queue.send_message("text")
    async with queue_rejected(BAD_OPTION):
        await use(sent.id, "invalid")


@QUEUE_CODES
@pytest.mark.parametrize(
    ("method", "options"),
    [("DELETE", ""), ("PUT", "?visibilitytimeout=0"), ("PUT", "?popreceipt=AAAA")],
    ids=["delete", "update", "visibility"],
)
async def test_an_option_that_is_needed_is_missed(
    raw_queues: Raw, queue: Any, queue_rejected: Any, method: str, options: str
) -> None:
    sent = await queue.send_message("text")
    async with queue_rejected(MISSING_OPTION):
        await raw_queues(method, f"/{queue.queue_name}/messages/{sent.id}{options}")


# ------------------------------------------------------------------ time


async def test_a_message_comes_back_when_its_time_is_up_and_goes_when_it_is_over(
    storage: Any, queue: Any, queue_rejected: Any
) -> None:
    await queue.send_message("lasting")
    short = await queue.send_message("short", time_to_live=1)
    await queue.send_message("later", visibility_timeout=1)
    first = await receive(queue, visibility_timeout=1)
    await storage.sleep(1.2)
    assert sorted(await texts(queue)) == ["lasting", "later"]
    async with queue_rejected(NO_MESSAGE):
        await queue.delete_message(short)
    # The lease has expired, but the message was not received again: the receipt is still valid
    kept = await queue.update_message(first, visibility_timeout=0)
    assert kept.id == first.id
    again = [message async for message in queue.receive_messages(messages_per_page=32)]
    assert {message.content: message.dequeue_count for message in again} == {"lasting": 2, "later": 1}
