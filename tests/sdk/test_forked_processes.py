"""Forked processes: each has its own connections, and never receives a response to another's request."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from azure.core.exceptions import ServiceResponseError
from azure.core.pipeline.transport import RequestsTransport

from tablepatterns import EntitySet, Key, aio, connect
from tablepatterns.recipe import as_async, finish
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import PORTS, Listeners
from tablepatterns_engine.serving import serving
from tablepatterns_engine.transport import EngineTransport

NUMBERS = Key("all", "{Number:06d}")
READS = 50

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork processes")


def wrong_reads(read: Callable[[int], Any], start: int) -> int:
    """Return how many of some reads gave anything but the entity that was asked for."""
    wrong = 0
    for number in range(start, start + READS):
        found = None
        with suppress(Exception):
            found = read(number)
        wrong += found is None or found["Number"] != number
    return wrong


def in_child(work: Callable[[], int]) -> int:
    """Start a forked process that ends with what the work returns, and return its id."""
    process = os.fork()
    if process == 0:
        os._exit(min(work(), 255))
    return process


@forks
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_reads_its_own_entities(engine: Engine) -> None:
    with serving(engine, Listeners(ports=dict.fromkeys(PORTS, 0))) as target, connect(target) as storage:
        numbers = EntitySet(storage, "Numbers", NUMBERS)
        for number in range(3 * READS):
            EntitySet(connect(engine), "Numbers", NUMBERS).insert({"Number": number})

        def read(number: int) -> Any:
            return numbers.get(Number=number)

        # The parent has a connection open, which the children would share
        assert read(0)["Number"] == 0
        children = [in_child(partial(wrong_reads, read, start)) for start in (READS, 2 * READS)]
        assert wrong_reads(read, 0) == 0
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
        assert read(1)["Number"] == 1


@forks
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_with_an_event_loop_reads_its_own_entities(engine: Engine) -> None:
    with serving(engine, Listeners(ports=dict.fromkeys(PORTS, 0))) as target:
        EntitySet(connect(engine), "Numbers", NUMBERS).insert({"Number": 1})
        storage = aio.connect(target)
        numbers = EntitySet(storage, "Numbers", NUMBERS)

        async def read_and_close() -> int:
            found = await numbers.get(Number=1)
            await storage.close()
            return 0 if found is not None and found["Number"] == 1 else 1

        child = in_child(lambda: asyncio.run(read_and_close()))
        assert asyncio.run(read_and_close()) == 0
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Crossed(EngineTransport):
    """A transport on which each read receives the response to the read before it, as on a shared connection."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._before: Any = None

    def send(self, request: Any, **options: Any) -> Any:
        response = super().send(request, **options)
        if request.method != "GET":
            return response
        before, self._before = self._before or response, response
        return before


def get_a_word(numbers: Any, number: int) -> Any:
    return finish(as_async(numbers.account).table("Numbers").get("all", f"{number:06d}", ["Word"]))


@pytest.mark.parametrize(
    "read",
    [
        lambda numbers, number: numbers.get(Number=number),
        get_a_word,
        lambda numbers, number: list(numbers.range(Number=number)),
        lambda numbers, number: numbers.take(1, Number=number),
    ],
    ids=["get", "get of some properties", "range", "take"],
)
def test_the_response_to_another_request_is_not_taken_for_ones_own(
    engine: Engine, read: Callable[[Any, int], Any]
) -> None:
    for number in (1, 2):
        EntitySet(connect(engine), "Numbers", NUMBERS).insert({"Number": number, "Word": "a word"})
    numbers = EntitySet(connect(engine, transport=Crossed(engine)), "Numbers", NUMBERS)
    assert read(numbers, 1)
    with pytest.raises(ServiceResponseError, match=r"was not asked for; do not share a transport between processes"):
        read(numbers, 2)


def test_a_transport_of_ones_own_is_used_as_it_is(engine: Engine) -> None:
    with serving(engine, Listeners(ports=dict.fromkeys(PORTS, 0))) as target:
        own = RequestsTransport()
        with connect(target, transport=own) as storage:
            EntitySet(storage, "Numbers", NUMBERS).insert({"Number": 1})
            assert own.session is not None
