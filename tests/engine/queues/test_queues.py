"""What only the state of the engine's queues shows; `tests/conformance` has all that a request shows."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from support.queue_states import texts_of
from support.table_states import Rejected
from tablepatterns.edm import Ticks
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.queues.service import Queues


def test_a_bad_name_is_rejected_by_every_method(queues: Queues, rejected: Rejected) -> None:
    for call in (queues.delete, queues.count, queues.get, queues.peek, queues.clear, queues.get_policies):
        with rejected("InvalidResourceName", "The specifed resource name contains invalid characters."):
            call("Orders")


@given(
    names=st.sets(st.text("ab1", min_size=3, max_size=5)),
    prefix=st.text("ab1", max_size=3),
    limit=st.integers(1, 4),
)
def test_pages_laid_end_to_end_are_the_whole_list(names: set[str], prefix: str, limit: int) -> None:
    queues = Queues(Clock())
    for name in names:
        queues.create(name)
    listed_names: list[str] = []
    start: str | None = ""
    while start is not None:
        page, start = queues.page(prefix, start, limit)
        assert len(page) <= limit
        listed_names += [listed.name for listed in page]
    assert listed_names == sorted(name for name in names if name.startswith(prefix))


def test_returned_metadata_does_not_change(queues: Queues) -> None:
    metadata = {"colour": "red"}
    queues.set_metadata("orders", metadata)
    before = queues.get_metadata("orders")
    metadata["colour"] = "blue"
    queues.set_metadata("orders", {})
    assert before == {"colour": "red"}


def test_a_returned_message_does_not_change(queues: Queues) -> None:
    message = queues.put("orders", "text")
    copy = message._replace()
    queues.update("orders", message.id, message.receipt, 60, "other")
    assert message == copy


def test_a_message_is_hidden_and_is_gone_when_its_time_is_over(queues: Queues, clock: Clock) -> None:
    queues.put("orders", "hidden", visibility=5)
    queues.put("orders", "short", time_to_live=5)
    clock.advance(4.9999999)
    assert texts_of(queues.peek("orders", 32)) == ["short"]
    clock.advance(0.0000001)
    assert texts_of(queues.peek("orders", 32)) == ["hidden"]
    assert queues.count("orders") == 1


def test_a_message_that_comes_back_comes_behind_those_that_waited(queues: Queues, clock: Clock) -> None:
    queues.put("orders", "first")
    queues.get("orders", visibility=10)
    clock.advance(5)
    queues.put("orders", "second")
    clock.advance(5)
    assert texts_of(queues.get("orders", 2)) == ["second", "first"]


@pytest.mark.parametrize("call", ["update", "remove"])
def test_a_receipt_stays_good_after_the_time_was_up(queues: Queues, clock: Clock, call: str) -> None:
    queues.put("orders", "text")
    (message,) = queues.get("orders")
    clock.advance(3600)
    getattr(queues, call)("orders", message.id, message.receipt, *([0] if call == "update" else []))


def test_a_time_to_live_beyond_the_last_timestamp_never_ends(queues: Queues) -> None:
    assert queues.put("orders", "text", time_to_live=2**62).expires == Ticks.MAX


@pytest.mark.parametrize("receipt", ["invalid", "AgAA AMAA", "AgAAAAMAAAAAAAAA0Qhw7TYp1QE", "é"])
def test_a_malformed_receipt_is_rejected_before_the_message_is_looked_up(
    queues: Queues, rejected: Rejected, receipt: str
) -> None:
    text = "Value for one of the query parameters specified in the request URI is invalid."
    with rejected("InvalidQueryParameterValue", text):
        queues.update("orders", "nobody", receipt, 0)
    with rejected("InvalidQueryParameterValue", text):
        queues.remove("orders", "nobody", receipt)
