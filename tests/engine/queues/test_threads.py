"""Threads on one queue: no message is lost, and none is delivered to two receivers at the same time."""

from __future__ import annotations

from collections import Counter
from threading import Lock

from support.table_states import service_error_of
from support.threads import run_together
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.queues.service import Queues

MESSAGES = 300


def test_each_message_is_received_by_one_thread_only(queues: Queues) -> None:
    for number in range(MESSAGES):
        queues.put("orders", str(number))
    received: list[str] = []

    def work() -> None:
        while messages := queues.get("orders", 3):
            received.extend(message.text for message in messages)
            for message in messages:
                queues.remove("orders", message.id, message.receipt)

    run_together(*[work] * 4)
    assert Counter(received) == Counter(str(number) for number in range(MESSAGES))
    assert queues.count("orders") == 0


def test_senders_and_receivers_lose_nothing(queues: Queues) -> None:
    received: list[str] = []

    def send(name: str) -> None:
        for number in range(MESSAGES):
            queues.put("orders", f"{name}{number}")

    def work() -> None:
        while len(received) < 2 * MESSAGES:
            for message in queues.get("orders", 32):
                changed = queues.update("orders", message.id, message.receipt, 60)
                queues.remove("orders", message.id, changed.receipt)
                received.append(message.text)

    run_together(lambda: send("a"), lambda: send("b"), work, work)
    assert len(set(received)) == len(received) == 2 * MESSAGES


def test_of_all_who_hold_the_same_receipt_one_deletes(queues: Queues) -> None:
    sent = [queues.put("orders", str(number)) for number in range(MESSAGES)]
    codes: Counter[str | None] = Counter()
    lock = Lock()

    def work() -> None:
        for message in sent:
            error = service_error_of(lambda message=message: queues.remove("orders", message.id, message.receipt))  # type: ignore[misc]
            with lock:
                codes[error.code if error else None] += 1

    run_together(*[work] * 3)
    assert codes == {None: MESSAGES, "MessageNotFound": 2 * MESSAGES}


def test_messages_that_time_out_under_receivers_come_back_once_each(queues: Queues, clock: Clock) -> None:
    for number in range(100):
        queues.put("orders", str(number))
    counts: Counter[tuple[str, int]] = Counter()
    lock = Lock()

    def work() -> None:
        for _ in range(200):
            messages = queues.get("orders", 2, 1)
            clock.advance(0.01)
            with lock:
                counts.update((message.id, message.dequeues) for message in messages)

    run_together(*[work] * 3)
    assert set(counts.values()) == {1}
    assert queues.count("orders") == 100


def test_of_threads_that_create_the_same_queue_one_made_it(queues: Queues) -> None:
    names = [f"queue-{number}" for number in range(100)]
    made: list[str] = []
    run_together(*[lambda: made.extend(name for name in names if queues.create(name))] * 3)
    assert sorted(made) == sorted(names)
