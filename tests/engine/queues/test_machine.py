"""Random operations on queues, compared with a simple model: a list of messages per queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from support.examples import examples
from support.queue_states import messages_of
from support.soundness import check_queues
from support.table_states import service_error_of
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.queues.service import NEVER, Message, Queues

NAMES = st.sampled_from(["orders", "bills"])
SECONDS = st.integers(0, 3)


@dataclass
class Known:
    """A message as the model knows it; `receipts` are all it ever had, the good one last."""

    text: str
    number: int
    visible: float
    expires: float
    receipts: list[str] = field(default_factory=list[str])
    dequeues: int = 0


class QueuesMachine(RuleBasedStateMachine):
    """The engine's queues beside a model that goes through all messages each time."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock(datetime(2014, 8, 22, tzinfo=timezone.utc))
        self.queues = Queues(self.clock)
        self.now = 0.0
        self.model: dict[str, dict[str, Known]] = {}
        self.gone: list[tuple[str, str]] = [("nobody", "AAAA")]
        self.numbers = 0

    def note(self, message: Message, known: Known) -> None:
        assert message.receipt not in known.receipts
        known.receipts.append(message.receipt)
        assert (message.text, message.dequeues) == (known.text, known.dequeues)

    def drop(self, name: str, message_id: str) -> None:
        self.gone.append((message_id, self.model[name].pop(message_id).receipts[-1]))

    def visible(self, name: str, limit: int) -> list[str]:
        known = self.model[name]
        seen = [message_id for message_id, each in known.items() if each.visible <= self.now]
        return sorted(seen, key=lambda each: (known[each].visible, known[each].number))[:limit]

    def rejected_as_missing(self, name: str, call: Callable[[], Any]) -> bool:
        if name in self.model:
            return False
        error = service_error_of(call)
        assert error is not None
        assert error.code == "QueueNotFound"
        return True

    @rule(name=NAMES)
    def create_or_drop(self, name: str) -> None:
        if self.queues.create(name):
            self.model[name] = {}
        else:
            self.queues.delete(name)
            del self.model[name]

    @rule(seconds=st.sampled_from([0.5, 1, 2]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.now += seconds
        for name, known in self.model.items():
            for message_id in [message_id for message_id, each in known.items() if each.expires <= self.now]:
                self.drop(name, message_id)

    @rule(name=NAMES, text=st.text(max_size=3), visibility=SECONDS, lives=st.integers(1, 5) | st.just(NEVER))
    def put(self, name: str, text: str, visibility: int, lives: int) -> None:
        def call() -> Message:
            return self.queues.put(name, text, visibility=visibility, time_to_live=lives)

        if visibility >= lives != NEVER:
            error = service_error_of(call)
            assert error is not None
            assert error.code == "InvalidQueryParameterValue"
        elif not self.rejected_as_missing(name, call):
            message = call()
            self.numbers += 1
            expires = float("inf") if lives == NEVER else self.now + lives
            known = self.model[name][message.id] = Known(text, self.numbers, self.now + visibility, expires)
            self.note(message, known)

    @rule(name=NAMES, limit=st.integers(1, 3), visibility=st.integers(1, 3))
    def get(self, name: str, limit: int, visibility: int) -> None:
        if self.rejected_as_missing(name, lambda: self.queues.get(name, limit, visibility)):
            return
        expected = self.visible(name, limit)
        received = self.queues.get(name, limit, visibility)
        assert [message.id for message in received] == expected
        for message in received:
            known = self.model[name][message.id]
            known.visible, known.dequeues = self.now + visibility, known.dequeues + 1
            self.note(message, known)

    @rule(name=NAMES, limit=st.integers(1, 32))
    def peek(self, name: str, limit: int) -> None:
        if not self.rejected_as_missing(name, lambda: self.queues.peek(name, limit)):
            assert [message.id for message in self.queues.peek(name, limit)] == self.visible(name, limit)

    @rule(name=NAMES, which=st.integers(0, 20), stale=st.booleans(), visibility=SECONDS, text=st.none() | st.text())
    def update(self, name: str, which: int, stale: bool, visibility: int, text: str | None) -> None:
        message_id, receipt = self.chosen(name, which, stale)

        def call() -> Message:
            return self.queues.update(name, message_id, receipt, visibility, text)

        if not self.rejected_as_missing(name, call) and self.good(name, message_id, receipt, call):
            known = self.model[name][message_id]
            known.visible, known.text = self.now + visibility, known.text if text is None else text
            self.note(call(), known)

    @rule(name=NAMES, which=st.integers(0, 20), stale=st.booleans())
    def remove(self, name: str, which: int, stale: bool) -> None:
        message_id, receipt = self.chosen(name, which, stale)

        def call() -> None:
            self.queues.remove(name, message_id, receipt)

        if not self.rejected_as_missing(name, call) and self.good(name, message_id, receipt, call):
            call()
            self.drop(name, message_id)

    @rule(name=NAMES)
    def clear(self, name: str) -> None:
        if not self.rejected_as_missing(name, lambda: self.queues.clear(name)):
            self.queues.clear(name)
            for message_id in list(self.model[name]):
                self.drop(name, message_id)

    def chosen(self, name: str, which: int, stale: bool) -> tuple[str, str]:
        """Return an id and a receipt: of a message that is there, or was."""
        known = list(self.model.get(name, {}).items())
        if which >= len(known):
            return self.gone[which % len(self.gone)]
        message_id, each = known[which]
        return message_id, each.receipts[0 if stale else -1]

    def good(self, name: str, message_id: str, receipt: str, call: Callable[[], Any]) -> bool:
        """Tell whether the receipt gives power over the message; check the error if it does not."""
        known = self.model[name].get(message_id)
        if known is not None and receipt == known.receipts[-1]:
            return True
        error = service_error_of(call)
        assert error is not None
        assert error.code == ("MessageNotFound" if known is None else "PopReceiptMismatch")
        return False

    @invariant()
    def holds_what_the_model_holds_and_is_sound(self) -> None:
        check_queues(self.queues)
        assert [listed.name for listed in self.queues.page()[0]] == sorted(self.model)
        for name, known in self.model.items():
            assert self.queues.count(name) == len(known)
            held = messages_of(self.queues, name)
            assert {message_id: (message.text, message.receipt) for message_id, message in held.items()} == {
                message_id: (each.text, each.receipts[-1]) for message_id, each in known.items()
            }


TestQueuesMachine = QueuesMachine.TestCase
TestQueuesMachine.settings = settings(examples(100), stateful_step_count=40)
