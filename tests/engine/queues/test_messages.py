"""Messages: put, receive, peek, update, delete, visibility and expiry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from support.queue_states import texts_of
from support.table_states import Rejected, service_error_of
from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_MESSAGE_BYTES
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.queues.service import NEVER, Message, Queues

Use: TypeAlias = Callable[[Message], None]

WEEK = 7 * 24 * 3600
SECOND = 10_000_000
NOT_FOUND = ("MessageNotFound", "The specified message does not exist.")
MISMATCH = (
    "PopReceiptMismatch",
    "The specified pop receipt did not match the pop receipt for a dequeued message.",
)
TOO_LARGE = ("RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.")
OUT_OF_RANGE = (
    "OutOfRangeQueryParameterValue",
    "One of the query parameters specified in the request URI is outside the permissible range.",
)
INVALID = (
    "InvalidQueryParameterValue",
    "Value for one of the query parameters specified in the request URI is invalid.",
)


def receive(queues: Queues, visibility: int = 30) -> Message:
    (message,) = queues.get("orders", visibility=visibility)
    return message


class TestPut:
    def test_a_message_is_seen_at_once_and_lives_a_week(self, queues: Queues, clock: Clock) -> None:
        message = queues.put("orders", "text")
        assert (message.text, message.dequeues) == ("text", 0)
        assert (message.inserted, message.visible) == (clock.now(), clock.now())
        assert message.expires == clock.now() + WEEK * SECOND
        assert queues.peek("orders") == [message]

    def test_it_can_be_hidden_at_first(self, queues: Queues, clock: Clock) -> None:
        queues.put("orders", "later", visibility=60)
        clock.advance(59.9999999)
        assert queues.get("orders") == []
        clock.advance(0.0000001)
        assert receive(queues).text == "later"

    def test_it_can_be_stored_without_expiration(self, queues: Queues, clock: Clock) -> None:
        message = queues.put("orders", "text", visibility=WEEK, time_to_live=NEVER)
        assert message.expires == Ticks.MAX
        clock.advance(1000 * WEEK)
        assert receive(queues).text == "text"

    def test_a_time_to_live_beyond_the_last_timestamp_never_ends(self, queues: Queues) -> None:
        assert queues.put("orders", "text", time_to_live=2**62).expires == Ticks.MAX

    @pytest.mark.parametrize("text", ["", "<&>]]>", "a\r\n\t b ", "\U0001f6eb" * 10, "x" * MAX_MESSAGE_BYTES])
    def test_a_text_is_kept_as_it_is(self, queues: Queues, text: str) -> None:
        queues.put("orders", text)
        assert receive(queues).text == text

    @pytest.mark.parametrize("text", ["x" * MAX_MESSAGE_BYTES, "é" * (MAX_MESSAGE_BYTES // 2)])
    def test_a_text_has_64_kib_in_utf_8_and_no_byte_more(self, queues: Queues, rejected: Rejected, text: str) -> None:
        queues.put("orders", text)
        with rejected(*TOO_LARGE):
            queues.put("orders", text + "x")

    @pytest.mark.parametrize("visibility", [-1, WEEK + 1])
    def test_it_is_hidden_for_a_week_at_most(self, queues: Queues, rejected: Rejected, visibility: int) -> None:
        queues.put("orders", "text", visibility=WEEK, time_to_live=WEEK + 1)
        with rejected(*OUT_OF_RANGE):
            queues.put("orders", "text", visibility=visibility, time_to_live=NEVER)

    @pytest.mark.parametrize("time_to_live", [0, -2])
    def test_it_lives_for_a_second_at_least(self, queues: Queues, rejected: Rejected, time_to_live: int) -> None:
        queues.put("orders", "text", time_to_live=1)
        with rejected(*INVALID):
            queues.put("orders", "text", time_to_live=time_to_live)

    @pytest.mark.parametrize(("visibility", "time_to_live"), [(1, 1), (60, 59), (WEEK, WEEK)])
    def test_it_is_not_hidden_until_it_expires(
        self, queues: Queues, rejected: Rejected, visibility: int, time_to_live: int
    ) -> None:
        queues.put("orders", "text", visibility=visibility - 1, time_to_live=visibility)
        with rejected(*INVALID):
            queues.put("orders", "text", visibility=visibility, time_to_live=time_to_live)

    def test_its_receipt_is_good_at_once_even_while_it_is_hidden(self, queues: Queues) -> None:
        message = queues.put("orders", "text", visibility=60)
        changed = queues.update("orders", message.id, message.receipt, 0, "other")
        assert receive(queues).text == "other"
        assert changed.receipt != message.receipt


class TestGet:
    def test_messages_come_in_the_order_in_which_they_were_put(self, queues: Queues) -> None:
        for number in range(40):
            queues.put("orders", str(number))
        received = [queues.get("orders", 32), queues.get("orders", 32), queues.get("orders", 32)]
        assert [texts_of(part) for part in received] == [
            [str(number) for number in range(32)],
            [str(number) for number in range(32, 40)],
            [],
        ]

    def test_a_message_that_comes_back_comes_behind_those_that_waited(self, queues: Queues, clock: Clock) -> None:
        queues.put("orders", "first")
        receive(queues, visibility=10)
        clock.advance(5)
        queues.put("orders", "second")
        clock.advance(5)
        assert texts_of(queues.get("orders", 2)) == ["second", "first"]

    def test_a_received_message_is_hidden_for_the_time_asked_for(self, queues: Queues, clock: Clock) -> None:
        queues.put("orders", "text")
        message = receive(queues, visibility=2)
        assert message.visible == clock.now() + 2 * SECOND
        assert (queues.get("orders"), queues.peek("orders")) == ([], [])
        clock.advance(2)
        assert queues.peek("orders") == [message]

    def test_by_default_it_is_hidden_for_half_a_minute(self, queues: Queues, clock: Clock) -> None:
        queues.put("orders", "text")
        assert queues.get("orders")[0].visible == clock.now() + 30 * SECOND

    def test_each_receipt_counts_and_has_a_receipt_of_its_own(self, queues: Queues, clock: Clock) -> None:
        sent = queues.put("orders", "text")
        received: list[Message] = []
        for _ in range(3):
            received.append(receive(queues))
            clock.advance(30)
        assert [message.dequeues for message in received] == [1, 2, 3]
        assert len({message.receipt for message in [sent, *received]}) == 4
        assert {(message.id, message.inserted, message.expires) for message in received} == {
            (sent.id, sent.inserted, sent.expires)
        }

    def test_it_may_be_hidden_beyond_its_end(self, queues: Queues, clock: Clock) -> None:
        queues.put("orders", "text", time_to_live=5)
        message = receive(queues, visibility=WEEK)
        assert message.visible > message.expires
        clock.advance(5)
        assert queues.count("orders") == 0

    @pytest.mark.parametrize(("limit", "visibility"), [(0, 30), (33, 30), (-1, 30), (1, 0), (1, WEEK + 1), (1, -1)])
    def test_numbers_outside_their_ranges_are_rejected(
        self, queues: Queues, rejected: Rejected, limit: int, visibility: int
    ) -> None:
        queues.put("orders", "text")
        with rejected(*OUT_OF_RANGE):
            queues.get("orders", limit, visibility)
        assert len(queues.get("orders", 32, WEEK)) == 1

    def test_the_error_says_what_the_range_is(self, queues: Queues) -> None:
        error = service_error_of(lambda: queues.get("orders", 33))
        assert error is not None
        assert error.error_message.details == (
            ("QueryParameterName", "numofmessages"),
            ("QueryParameterValue", "33"),
            ("MinimumAllowed", "1"),
            ("MaximumAllowed", "32"),
        )


class TestPeek:
    def test_peeking_changes_nothing(self, queues: Queues) -> None:
        sent = [queues.put("orders", text) for text in "abc"]
        assert queues.peek("orders", 2) == queues.peek("orders", 2) == sent[:2]
        assert receive(queues).dequeues == 1

    @pytest.mark.parametrize("limit", [0, 33])
    def test_1_to_32_messages_are_peeked_at(self, queues: Queues, rejected: Rejected, limit: int) -> None:
        assert queues.peek("orders", 32) == []
        with rejected(*OUT_OF_RANGE):
            queues.peek("orders", limit)


class TestUpdate:
    def test_an_update_extends_the_visibility_timeout_and_nothing_else(self, queues: Queues, clock: Clock) -> None:
        queues.put("orders", "text")
        message = receive(queues)
        clock.advance(20)
        updated = queues.update("orders", message.id, message.receipt, 60)
        assert updated.visible == clock.now() + 60 * SECOND
        assert updated._replace(visible=message.visible, receipt=message.receipt) == message
        clock.advance(59)
        assert queues.peek("orders") == []
        clock.advance(1)
        assert queues.peek("orders") == [updated]

    def test_zero_seconds_show_it_at_once(self, queues: Queues) -> None:
        queues.put("orders", "text")
        message = receive(queues)
        queues.update("orders", message.id, message.receipt, 0, "other")
        again = receive(queues)
        assert (again.id, again.text, again.dequeues) == (message.id, "other", 2)

    def test_a_text_may_become_empty(self, queues: Queues) -> None:
        message = queues.put("orders", "text")
        assert queues.update("orders", message.id, message.receipt, 0, "").text == ""

    def test_a_text_over_64_kib_is_rejected(self, queues: Queues, rejected: Rejected) -> None:
        message = queues.put("orders", "text")
        with rejected(*TOO_LARGE):
            queues.update("orders", message.id, message.receipt, 0, "x" * (MAX_MESSAGE_BYTES + 1))
        queues.update("orders", message.id, message.receipt, 0, "x" * MAX_MESSAGE_BYTES)

    @pytest.mark.parametrize("visibility", [-1, WEEK + 1])
    def test_it_hides_for_a_week_at_most(self, queues: Queues, rejected: Rejected, visibility: int) -> None:
        message = queues.put("orders", "text")
        with rejected(*OUT_OF_RANGE):
            queues.update("orders", message.id, message.receipt, visibility)
        queues.update("orders", message.id, message.receipt, WEEK)

    def test_it_may_hide_beyond_the_end(self, queues: Queues) -> None:
        message = queues.put("orders", "text", time_to_live=6)
        assert queues.update("orders", message.id, message.receipt, 8).visible > message.expires


class TestReceipts:
    """What `update` and `remove` both ask for: the receipt of the newest version of a message that is still there."""

    @pytest.fixture(params=["update", "remove"])
    def use(self, request: pytest.FixtureRequest, queues: Queues) -> Use:
        def call(message: Message) -> None:
            if request.param == "update":
                queues.update("orders", message.id, message.receipt, 0)
            else:
                queues.remove("orders", message.id, message.receipt)

        return call

    def test_a_receipt_stays_good_after_the_time_was_up(self, queues: Queues, clock: Clock, use: Use) -> None:
        queues.put("orders", "text")
        message = receive(queues)
        clock.advance(3600)
        use(message)

    def test_receiving_again_voids_it(self, queues: Queues, clock: Clock, use: Use, rejected: Rejected) -> None:
        queues.put("orders", "text")
        first = receive(queues)
        clock.advance(30)
        second = receive(queues)
        with rejected(*MISMATCH):
            use(first)
        use(second)

    def test_updating_voids_it(self, queues: Queues, use: Use, rejected: Rejected) -> None:
        first = queues.put("orders", "text")
        second = queues.update("orders", first.id, first.receipt, 0)
        with rejected(*MISMATCH):
            use(first)
        use(second)

    def test_deleting_clearing_and_expiry_void_it(
        self, queues: Queues, clock: Clock, use: Use, rejected: Rejected
    ) -> None:
        deleted, cleared, expired = (queues.put("orders", "text", time_to_live=ttl) for ttl in (60, 60, 5))
        queues.remove("orders", deleted.id, deleted.receipt)
        clock.advance(5)
        for gone in (deleted, expired):
            with rejected(*NOT_FOUND):
                use(gone)
        queues.clear("orders")
        with rejected(*NOT_FOUND):
            use(cleared)

    def test_the_receipt_of_another_message_is_none(self, queues: Queues, use: Use, rejected: Rejected) -> None:
        one, other = queues.put("orders", "one"), queues.put("orders", "other")
        with rejected(*MISMATCH):
            use(one._replace(receipt=other.receipt))

    @pytest.mark.parametrize("receipt", ["invalid", "AgAA AMAA", "AgAAAAMAAAAAAAAA0Qhw7TYp1QE", "é"])
    def test_what_has_not_the_form_of_a_receipt_is_rejected_first(
        self, queues: Queues, use: Use, rejected: Rejected, receipt: str
    ) -> None:
        message = queues.put("orders", "text")
        with rejected(*INVALID):
            use(message._replace(id="nobody", receipt=receipt))


class TestExpiry:
    def test_a_message_is_gone_when_its_time_is_over(self, queues: Queues, clock: Clock) -> None:
        queues.put("orders", "short", time_to_live=5)
        queues.put("orders", "long", time_to_live=10)
        clock.advance(4.9999999)
        assert texts_of(queues.peek("orders", 32)) == ["short", "long"]
        clock.advance(0.0000001)
        assert texts_of(queues.peek("orders", 32)) == ["long"]
        assert queues.count("orders") == 1

    def test_the_count_is_of_all_that_is_not_over(self, queues: Queues, clock: Clock) -> None:
        queues.put("orders", "hidden", visibility=60)
        queues.put("orders", "received")
        receive(queues)
        queues.put("orders", "visible")
        queues.put("orders", "short", time_to_live=1)
        assert queues.count("orders") == 4
        clock.advance(1)
        assert queues.count("orders") == 3

    def test_clearing_takes_the_hidden_ones_too(self, queues: Queues) -> None:
        queues.put("orders", "hidden", visibility=60)
        queues.put("orders", "visible")
        queues.clear("orders")
        assert queues.count("orders") == 0


def test_a_returned_message_does_not_change(queues: Queues) -> None:
    message = queues.put("orders", "text")
    copy = message._replace()
    queues.update("orders", message.id, message.receipt, 60, "other")
    assert message == copy


def test_ids_look_like_those_of_the_service(queues: Queues) -> None:
    ids = [queues.put("orders", "text").id for _ in range(3)]
    assert len(set(ids)) == 3
    assert {tuple(map(len, each.split("-"))) for each in ids} == {(8, 4, 4, 4, 12)}
