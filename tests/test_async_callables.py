"""Where a function is passed that no caller awaits, an async one is rejected, so it is never dropped silently."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tablepatterns as tp
from tablepatterns.argument_types import check_has_run, is_async, parameter_kinds
from tablepatterns.errors import BadInput, DuplicateIndexValue, LoadInterrupted


async def unawaited(*args: Any, **kwargs: Any) -> None:
    raise AssertionError("it was called")


class Unawaited:
    async def __call__(self, *args: Any) -> None:
        raise AssertionError("it was called")


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions, and the methods of public classes."""
    for name in tp.__all__:
        thing: Any = getattr(tp, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            for method in (each for each in dir(thing) if not each.startswith("_") or each == "__init__"):
                found: Any = inspect.getattr_static(thing, method)
                function = getattr(found, "_function", found)
                if inspect.isfunction(function):
                    yield f"{name}.{method}", function


def callables() -> Iterator[Any]:
    for name, function in functions():
        for parameter, kind in parameter_kinds(function).items():
            if kind is not None and kind.fits(len) and not kind.fits(0):
                yield pytest.param(kind, id=f"{name}, {parameter}")


@pytest.mark.parametrize("kind", list(callables()))
def test_an_async_function_is_rejected_where_no_caller_awaits_it(kind: Any) -> None:
    for wrong in (unawaited, functools.partial(unawaited, 1), Unawaited()):
        assert kind.fits(lambda *args: None)
        assert not kind.fits(wrong)


def test_the_walk_finds_the_parameters() -> None:
    found = {each.id for each in callables()}
    assert {"EntitySet.update, change", "BulkLoad.load, progress", "Worker.run, stopping"} <= found


def test_an_async_function_is_recognized_in_every_form() -> None:
    @functools.wraps(len)
    async def wrapped(value: Any) -> None: ...

    assert all(map(is_async, (unawaited, functools.partial(unawaited), Unawaited(), Unawaited().__call__)))
    assert not any(map(is_async, (len, print, Unawaited, functools.partial(len), 1, None, "text", lambda: unawaited())))


def test_what_a_plain_function_returns_is_not_awaited_silently(recwarn: Any) -> None:
    with pytest.raises(BadInput, match="progress = 'coroutine': it returned an awaitable"):
        check_has_run("progress", unawaited())
    check_has_run("progress", None)
    assert not recwarn.list


def test_progress_that_returns_an_awaitable_is_an_error(recwarn: Any) -> None:
    entities = tp.EntitySet(tp.connect(), "Staff", tp.Key("{Department}", "{EmployeeId:06d}"))
    for wrong in (lambda progress: unawaited(), unawaited):
        with pytest.raises((BadInput, LoadInterrupted), match="pass a function without async"):
            tp.BulkLoad(entities).load([{"Department": "Sales", "EmployeeId": 1}], progress=wrong)
    assert not recwarn.list


def yielding(*args: Any) -> Iterator[None]:
    yield


@pytest.mark.parametrize("kind", list(callables()))
def test_a_function_with_yield_is_rejected_because_a_call_does_not_run_it(kind: Any) -> None:
    assert not kind.fits(yielding)
    assert not kind.fits(functools.partial(yielding, 1))


def test_a_step_that_returns_a_generator_has_not_run() -> None:
    storage = tp.connect()
    with pytest.raises(BadInput, match="without yield"):
        tp.EventualTransaction(storage, "hiring", "hire", [yielding])
    hiring = tp.EventualTransaction(storage, "hiring", "hire", [lambda body: yielding(body)])
    hiring.start({})
    assert tp.Worker(storage, [hiring]).run_once().failed == 1


def test_two_entities_of_a_transaction_cannot_take_one_unique_value() -> None:
    storage = tp.connect()
    unique = tp.InterPartitionIndex(tp.Key("code_{code}", "code"), unique=True)
    bookings = tp.EntitySet(storage, "Bookings", tp.Key("{room}", "{hour:02d}"), derived=[unique])
    booking = bookings.insert({"room": "red", "hour": 9, "code": "c1"})
    both = [bookings.inserting({"room": "red", "hour": hour, "code": "c1"}) for hour in (10, 11)]
    with pytest.raises(DuplicateIndexValue):
        tp.EntityGroupTransaction(storage, "Bookings").commit(bookings.deleting(booking), *both)
