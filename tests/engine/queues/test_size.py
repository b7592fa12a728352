"""Operations on long queues are as fast as on short ones."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from tablepatterns_engine.clock import Clock
from tablepatterns_engine.queues.service import Queues

SHORT, LONG = 100, 20_000
ROUNDS = 100
MOST = 5
"""How many times longer it may take; going through the messages would take 200 times."""


def filled(size: int) -> Queues:
    queues = Queues(Clock())
    queues.create("orders")
    for number in range(size):
        # Half of them cannot be seen yet, between those that can
        queues.put("orders", "text", visibility=60 * (number % 2))
    return queues


def fastest(call: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(3):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def one_of_each(queues: Queues) -> Callable[[], None]:
    def call() -> None:
        for _ in range(ROUNDS):
            queues.put("orders", "text")
            queues.peek("orders")
            (message,) = queues.get("orders")
            changed = queues.update("orders", message.id, message.receipt, 30)
            queues.remove("orders", message.id, changed.receipt)
            queues.count("orders")

    return call


def test_a_long_queue_is_about_as_quick_as_a_short_one() -> None:
    assert fastest(one_of_each(filled(LONG))) < MOST * fastest(one_of_each(filled(SHORT)))
