"""Every public callable rejects invalid arguments with an error of the library, before any request."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import tablepatterns
import tablepatterns.aio
from support.public_objects import (
    EXEMPT,
    EXEMPT_CALLS,
    GIVEN,
    JONES,
    MADE_FOR_THE_LIBRARY,
    USED_ALL_THE_SAME,
    Employee,
    Made,
    made,
)
from tablepatterns import Key, TablePatternsError, connect
from tablepatterns.argument_types import Kind, parameter_kinds
from tablepatterns.recipe import recipe, stream
from tablepatterns_engine import Engine


class Foreign:
    """An object that the library knows nothing of."""

    def __repr__(self) -> str:
        return "<Foreign>"


WRONG = (None, "text", b"bytes", 7, 1.5, True, math.nan, Foreign(), [Foreign()], (), {}, {1: Foreign()}, Foreign, len)
"""What is put in the place of each argument, where it is not of its type."""
MAY_BE_NEGATIVE = {"amount", "value", "slot", "at_most", "level", "flush_level", "low", "high"}


@dataclass(frozen=True)
class Call:
    """A public callable: a function, a constructor or a method."""

    owner: str
    name: str
    function: Callable[..., Any]

    @property
    def label(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


def public_calls() -> Iterator[Call]:
    seen: set[object] = set()
    # Methods that others inherit are walked where they are of
    for public in sorted(tablepatterns.__all__, key=lambda name: name != "EntitySet"):
        found = getattr(tablepatterns, public)
        if inspect.isfunction(found):
            yield Call("", public, inspect.unwrap(found))
        if not inspect.isclass(found) or public in EXEMPT:
            continue
        for name in ("__init__", *(each for each in dir(found) if not each.startswith("_"))):
            method = inspect.getattr_static(found, name)
            function = method._function if isinstance(method, (recipe, stream)) else method
            function = inspect.unwrap(getattr(function, "__func__", function))
            ours = inspect.isfunction(function) and function.__module__.startswith("tablepatterns")
            is_used = (
                name == "__init__" or public not in MADE_FOR_THE_LIBRARY or f"{public}.{name}" in USED_ALL_THE_SAME
            )
            if ours and is_used and function not in seen:
                seen.add(function)
                yield Call(public, name, function)


CALLS = [each for each in public_calls() if each.label not in EXEMPT_CALLS]
BY_CLASS: dict[str, list[Call]] = {}
for _call in CALLS:
    BY_CLASS.setdefault(_call.owner or "functions", []).append(_call)
of_each_class = pytest.mark.parametrize("calls", BY_CLASS.values(), ids=BY_CLASS)


def parameters(call: Call) -> list[inspect.Parameter]:
    found = inspect.signature(call.function).parameters.values()
    return [each for each in found if each.name not in ("self", "cls") and each.kind is not each.VAR_KEYWORD]


def target(call: Call, objects: Made) -> Callable[..., Any]:
    if not call.owner:
        return getattr(tablepatterns, call.name)  # type: ignore[no-any-return]
    owner = getattr(tablepatterns, call.owner)
    if call.name == "__init__":
        return owner  # type: ignore[no-any-return]
    if isinstance(inspect.getattr_static(owner, call.name), (classmethod, staticmethod)):
        return getattr(owner, call.name)  # type: ignore[no-any-return]
    return getattr(objects[call.owner], call.name)  # type: ignore[no-any-return]


def wrong_values(parameter: inspect.Parameter, kind: Kind | None) -> Iterator[tuple[object, bool]]:
    """Return values to put in the place of an argument, and whether each must be rejected."""
    yield from ((value, kind is not None) for value in WRONG if kind is None or not kind.fits(value))
    if kind is not None and kind.fits(-1) and parameter.name not in MAY_BE_NEGATIVE:
        yield -1, True


def with_wrong(call: Call, objects: Made, parameter: inspect.Parameter, value: object) -> Callable[[], object]:
    """Return a call with everything right but one argument."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for each in parameters(call):
        given = GIVEN.get(f"{call.label}.{each.name}", GIVEN.get(each.name))
        right = each.default if each.default is not each.empty else given(objects) if given else None
        argument = value if each.name == parameter.name else right
        if each.kind is each.KEYWORD_ONLY:
            kwargs[each.name] = argument
        elif each.kind is each.VAR_POSITIONAL:
            args += [argument] if each.name == parameter.name else []
        else:
            args.append(argument)
    return lambda: finished(target(call, objects)(*args, **kwargs))


def finished(result: Any) -> object:
    return list(result) if inspect.isgenerator(result) else result


def test_every_annotation_can_be_checked_and_has_names_that_callers_know() -> None:
    known = {*tablepatterns.__all__, "AsyncIterable", "Filter", "NaN", "None", "Path", "UUID"}
    for call in CALLS:
        for kind in parameter_kinds(call.function, strict=True).values():
            text = kind.text if kind else ""
            assert set(re.findall(r"\b_?[A-Z]\w+|\b_\w+", text)) <= known, call.label
            assert "object with" not in text, call.label


def test_every_public_class_has_an_object_or_a_reason() -> None:
    engine = Engine()
    objects = made(connect(engine))
    classes = {name for name in tablepatterns.__all__ if inspect.isclass(getattr(tablepatterns, name))}
    assert classes == {*objects, *EXEMPT}
    assert not {*objects} & {*EXEMPT}


@pytest.fixture(scope="module")
def account() -> Iterator[tuple[Engine, Made]]:
    engine = Engine()
    with connect(engine) as storage:
        yield engine, made(storage)


@of_each_class
def test_a_wrong_argument_is_rejected_before_any_request(calls: list[Call], account: tuple[Engine, Made]) -> None:
    assert [failure for call in calls for failure in wrong_arguments_accepted(call, *account)] == []


def wrong_arguments_accepted(call: Call, engine: Engine, objects: Made) -> Iterator[str]:
    """Yield the wrong arguments that a call does not reject with an error of the library before any request."""
    kinds = parameter_kinds(call.function)
    for parameter in parameters(call):
        for value, must_fail in wrong_values(parameter, kinds[parameter.name]):
            with engine.ledger.span() as span:
                outcome = outcome_of(with_wrong(call, objects, parameter, value))
            given = f"{call.label}: {parameter.name}={value!r}"
            if outcome is None and must_fail:
                yield f"{given}: accepted"
            if isinstance(outcome, TablePatternsError):
                if must_fail and span.totals.requests:
                    yield f"{given}: after {span.totals.requests} requests"
            elif outcome is not None:
                yield f"{given}: {outcome!r}"


def outcome_of(attempt: Callable[[], object]) -> Exception | None:
    try:
        attempt()
    except Exception as error:  # noqa: BLE001 - the test says which may come
        return error
    return None


AWAITED = [
    each
    for each in CALLS
    if each.owner
    and isinstance(inspect.getattr_static(getattr(tablepatterns, each.owner), each.name), (recipe, stream))
]


@pytest.fixture(scope="module")
def aio_account() -> tuple[Engine, Made]:
    engine = Engine()
    storage: Any = tablepatterns.aio.connect(engine)
    return engine, made(storage)


async def test_awaited_calls_reject_a_wrong_argument_before_any_request(aio_account: tuple[Engine, Made]) -> None:
    engine, objects = aio_account
    failures = []
    for call in AWAITED:
        kinds = parameter_kinds(call.function)
        for parameter in parameters(call):
            kind = kinds[parameter.name]
            if kind is None or kind.fits(wrong := Foreign()):
                continue
            with engine.ledger.span() as span:
                try:
                    result: Any = with_wrong(call, objects, parameter, wrong)()
                    _ = await (anext(result, None) if hasattr(result, "__anext__") else result)
                except TablePatternsError:
                    pass
                else:
                    failures.append(f"{call.label}: {parameter.name} accepted")
            if span.totals.requests:
                failures.append(f"{call.label}: {parameter.name} after {span.totals.requests} requests")
    assert failures == []


# ------------------------------------------------------------------ calls that do not fit the signature

PRIVATE = re.compile(r"(?<![\w'\"])_[A-Za-z]\w*|\b_\w+\(|Located|Storage\._")


def public_name(call: Call) -> str:
    return call.owner if call.name == "__init__" else call.label


@pytest.mark.parametrize("form", ["sync", "aio"])
@of_each_class
async def test_a_call_that_does_not_fit_names_the_public_function(
    calls: list[Call], form: str, account: tuple[Engine, Made], aio_account: tuple[Engine, Made]
) -> None:
    for call in calls:
        assert await unfit_calls_misreported(call, *(account if form == "sync" else aio_account)) == []


async def unfit_calls_misreported(call: Call, engine: Engine, objects: Made) -> list[str]:
    """Return what calls that do not fit the signature raise, or do, in place of an error with the public name."""
    function, failures = target(call, objects), []
    kinds = {each.kind for each in inspect.signature(call.function).parameters.values()}
    required = [
        each for each in parameters(call) if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
    ]
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], bool]] = [
        ((), {}, bool(required)),
        ((None,) * 20, {}, inspect.Parameter.VAR_POSITIONAL not in kinds),
        ((), {"frobnicate": 1}, inspect.Parameter.VAR_KEYWORD not in kinds),
    ]
    for args, kwargs, must_fail in wrong:
        with engine.ledger.span() as span:
            try:
                result = function(*args, **kwargs)
                _ = await (anext(result, None) if hasattr(result, "__anext__") else result)
            except TablePatternsError as error:
                text = str(error)
            except TypeError as error:
                text = str(error)
                if must_fail and not text.startswith((f"{public_name(call)}()", f"{public_name(call)}.__init__()")):
                    failures.append(text)
            else:
                text = f"{args} {kwargs} accepted" if must_fail else ""
                failures += [text] if must_fail else []
        if PRIVATE.search(text.replace("__init__", "")) or (must_fail and span.totals.requests):
            failures.append(text)
    return failures


async def test_a_misused_stream_says_what_to_do() -> None:
    staff = tablepatterns.EntitySet(tablepatterns.aio.connect(), "Staff", Key("{Department}", "{Name}"))
    for misuse in (list, sorted, lambda items: items[0], lambda items: [*items]):
        items: Any = staff.range(Department="Sales")
        with pytest.raises(TypeError, match=r"^EntitySet\.range\(\) .*use `async for item in \.\.\.`$"):
            misuse(items)
        await items.aclose()


def takes_any_name(call: Call) -> bool:
    return any(each.kind is each.VAR_KEYWORD for each in inspect.signature(call.function).parameters.values())


@pytest.mark.parametrize("call", [each for each in CALLS if takes_any_name(each)], ids=lambda each: each.label)
def test_a_name_that_a_call_does_not_know_is_not_swallowed(call: Call, account: tuple[Engine, Made]) -> None:
    engine, objects = account
    required = [
        each for each in parameters(call) if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
    ]
    right: dict[str, Any] = {}
    for each in required:
        given = GIVEN.get(f"{call.label}.{each.name}", GIVEN.get(each.name))
        right[each.name] = given(objects) if given else Employee
    kwargs = {each.name: right.pop(each.name) for each in required if each.kind is each.KEYWORD_ONLY}
    for names in ({"frobnicate": 1}, JONES | {"frobnicate": 1}, {**JONES, "max_concurency": 1}):
        with engine.ledger.span() as span, pytest.raises(TablePatternsError):
            finished(target(call, objects)(*right.values(), **kwargs, **names))
        assert span.totals.requests == 0


@pytest.mark.parametrize("name", ["connect", "aio.connect"])
def test_a_connection_swallows_no_name(name: str) -> None:
    connected: Any = connect if name == "connect" else tablepatterns.aio.connect
    for names in ({"frobnicate": 1}, {"retry_total": 1, "retry_totl": 1}):
        with pytest.raises(TablePatternsError):
            connected(**names)
