"""Recipes: one function that runs to completion on a sync account, and is awaited on an async one."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any

import pytest

import tablepatterns.aio
from tablepatterns import EntitySet, Key, connect
from tablepatterns.recipe import Account_co, Pattern, finish, finish_each, recipe, stream

pytestmark = pytest.mark.both_sdks


class Bus:
    """Something that a recipe must not wait for."""

    def __await__(self) -> Generator[str, None, None]:
        yield "the bus"


class Counter(Pattern[Account_co]):
    """A pattern with a recipe, a recipe on a recipe, a stream, and a part that is a pattern itself."""

    def __init__(self, account: Account_co, part: Any = None) -> None:
        super().__init__(account)
        self.part = part
        self.closed: list[str] = []

    @recipe
    async def double(self, number: int, *, times: int = 1) -> int:
        """Double a number."""
        return number * 2**times

    @recipe
    async def quadruple(self, number: int) -> int:
        return await self.double(await self.double(number))

    @recipe
    async def through_its_part(self, number: int) -> int:
        return await self.part.quadruple(number)

    @recipe
    async def waits_for_something_else(self) -> None:
        await Bus()

    @stream
    async def up_to(self, end: int) -> AsyncIterator[int]:
        try:
            for number in range(end):
                yield await self.double(number)
        finally:
            self.closed.append("closed")


class Loud(Counter[Account_co]):
    @recipe
    async def double(self, number: int, *, times: int = 1) -> int:
        return await super().double(number, times=times) + 1000


def test_a_sync_account_gives_results_at_once() -> None:
    counter = Counter(connect())
    assert counter.double(3, times=2) == 12
    assert counter.quadruple(3) == 12
    assert list(counter.up_to(3)) == [0, 2, 4]


def test_an_async_account_gives_something_to_await() -> None:
    async def main() -> tuple[int, list[int]]:
        counter = Counter(tablepatterns.aio.connect())
        assert inspect.iscoroutinefunction(counter.double)
        return await counter.quadruple(3), [number async for number in counter.up_to(3)]

    assert asyncio.run(main()) == (12, [0, 2, 4])


def test_a_sync_account_works_inside_a_running_event_loop() -> None:
    async def notebook() -> int:
        return Counter(connect()).quadruple(3)

    assert asyncio.run(notebook()) == 12


def test_a_recipe_calls_the_override_of_a_subclass() -> None:
    assert Loud(connect()).quadruple(3) == 2 * (6 + 1000) + 1000


def test_a_pattern_made_of_patterns_awaits_theirs_too() -> None:
    storage = connect()
    outer = Counter(storage, part=Counter(storage))
    assert outer.through_its_part(3) == 12
    assert outer.part.quadruple(3) == 12


def test_a_recipe_that_awaits_anything_else_raises_an_error() -> None:
    with pytest.raises(RuntimeError, match="waited for 'the bus'; a recipe may await its account and nothing else"):
        Counter(connect()).waits_for_something_else()


def test_a_stream_that_is_left_early_is_closed() -> None:
    counter = Counter(connect())
    numbers = counter.up_to(100)
    assert next(numbers) == 0
    numbers.close()
    assert counter.closed == ["closed"]


def test_an_error_in_a_stream_reaches_the_caller() -> None:
    async def broken() -> AsyncIterator[int]:
        yield 1
        raise LookupError("no second")

    numbers = finish_each(broken())
    assert next(numbers) == 1
    with pytest.raises(LookupError):
        next(numbers)


def test_the_signature_and_the_docstring_are_the_recipes_own() -> None:
    bound = Counter(connect()).double
    assert str(inspect.signature(bound)) == "(number: 'int', *, times: 'int' = 1) -> 'int'"
    assert (bound.__name__, bound.__doc__) == ("double", "Double a number.")
    assert Counter.double.__doc__ == "Double a number."


# ------------------------------------------------------------------ together


@pytest.fixture(params=["sync", "aio"])
def run_together(request: pytest.FixtureRequest) -> Callable[..., list[int]]:
    """`Account.gather` of either kind of account, run to its end."""

    def run(*calls: Any, **options: Any) -> list[int]:
        if request.param == "sync":
            return finish(connect().gather(*calls, **options))

        async def main() -> list[int]:
            return await tablepatterns.aio.connect().gather(*calls, **options)

        return asyncio.run(main())

    return run


class Gate:
    """Counts how many calls are inside at once."""

    def __init__(self) -> None:
        self.inside = self.most = self.begun = 0
        self._lock = threading.Lock()

    async def call(self, number: int, *, fail: bool = False) -> int:
        with self._lock:
            self.begun += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            if fail:
                raise LookupError(str(number))
            return number
        finally:
            with self._lock:
                self.inside -= 1


@pytest.mark.guide("G-355")
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_results_come_in_the_order_of_the_calls(run_together: Any, limit: int) -> None:
    gate = Gate()
    assert run_together(*(gate.call(number) for number in range(20)), max_concurrency=limit) == list(range(20))
    assert gate.most <= limit


def test_no_calls_give_no_results(run_together: Any) -> None:
    assert run_together() == []


def test_the_first_error_is_raised_and_what_has_not_begun_never_does(run_together: Any) -> None:
    gate = Gate()
    calls = [gate.call(number, fail=number == 0) for number in range(200)]
    with pytest.raises(LookupError, match="0"):
        run_together(*calls, max_concurrency=2)
    assert gate.inside == 0
    assert gate.begun < 200
    for call in calls:
        call.close()


async def test_point_reads_together_find_what_point_reads_find(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, Key("{Group}", "{Number:03d}"))
    for number in range(12):
        await rows.insert({"Group": "all", "Number": number})
    asked = [{"Group": "all", "Number": number} for number in (7, 99, 0, 11)]
    found = await rows.get_many(asked, max_concurrency=3)
    assert [each and each["Number"] for each in found] == [7, None, 0, 11]


PATTERNS = [
    each
    for name in tablepatterns.__all__
    if isinstance(each := getattr(tablepatterns, name), type) and issubclass(each, Pattern)
]


@pytest.mark.guide("G-350")
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_every_request_of_a_pattern_is_plain_on_a_sync_account_and_awaited_on_an_async_one(pattern: type) -> None:
    words = {name: inspect.getattr_static(pattern, name) for name in dir(pattern) if not name.startswith("_")}
    of_one_form = {
        name for name, word in words.items() if inspect.iscoroutinefunction(word) or inspect.isasyncgenfunction(word)
    }
    # A worker awaits it, on either kind of account
    assert of_one_form <= {"handle"}
    assert any(isinstance(word, (recipe, stream)) for word in words.values())
