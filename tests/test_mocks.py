"""Mocks and documentation of recipes: a mock of a class is sync, one of an object is like the object."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any
from unittest.mock import AsyncMock, MagicMock, create_autospec

import pytest

import tablepatterns
import tablepatterns.aio
from tablepatterns import EntitySet, Key, connect
from tablepatterns.recipe import Pattern, recipe, stream

pytestmark = pytest.mark.both_sdks

STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
JONES = {"Department": "Sales", "EmployeeId": 223}
PATTERNS = [
    each
    for name in tablepatterns.__all__
    if inspect.isclass(each := getattr(tablepatterns, name)) and issubclass(each, Pattern)
]


def recipes_of(pattern: type[Pattern]) -> list[str]:
    return [name for name in dir(pattern) if isinstance(inspect.getattr_static(pattern, name), (recipe, stream))]


def arguments(function: Any) -> tuple[list[Any], dict[str, Any]]:
    required = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    positional = [None for each in required if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return positional, {each.name: None for each in required if each.kind is each.KEYWORD_ONLY}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_help_of_a_recipe_is_that_of_a_call(pattern: Any) -> None:
    help_of_class = pydoc.plain(pydoc.render_doc(pattern))
    for name in recipes_of(pattern):
        function = getattr(pattern, name)
        assert not inspect.iscoroutinefunction(function), name
        text = pydoc.plain(pydoc.render_doc(function))
        assert "async " not in text.split("\n\n")[1].splitlines()[0], name
        assert not {"self", "pattern"} & inspect.signature(function).parameters.keys(), name
        assert f"async {name}(" not in help_of_class


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_mock_of_a_class_checks_the_signature_and_is_sync(pattern: Any) -> None:
    mocks = create_autospec(pattern, instance=True), create_autospec(pattern).return_value
    without_signatures = MagicMock(spec=pattern)
    for name in recipes_of(pattern):
        signature = inspect.signature(getattr(pattern, name))
        args, kwargs = arguments(getattr(pattern, name))
        for method in (getattr(mock, name) for mock in mocks):
            assert not isinstance(method, AsyncMock), name
            method.return_value = "result"
            assert method(*args, **kwargs) == "result", name
            if "*" not in str(signature).replace("*,", "").replace("**", ""):
                with pytest.raises(TypeError):
                    method(*args, *[None] * 20, **kwargs)
            if args:
                with pytest.raises(TypeError):
                    method(**kwargs)
        assert not isinstance(getattr(without_signatures, name), AsyncMock), name
    with pytest.raises(AttributeError):
        _ = without_signatures.frobnicate


def test_a_mock_of_an_object_is_like_the_object() -> None:
    here, there = EntitySet(connect(), "Staff", STAFF), EntitySet(tablepatterns.aio.connect(), "Staff", STAFF)
    for make in (create_autospec, lambda spec: MagicMock(spec=spec)):
        assert isinstance(make(there).insert, AsyncMock) or inspect.iscoroutinefunction(make(there).insert)
        assert not isinstance(make(here).insert, AsyncMock)
    with pytest.raises(TypeError, match="entity"):
        create_autospec(here).insert()


async def test_a_mock_of_an_async_set_is_awaited() -> None:
    employees = create_autospec(EntitySet(tablepatterns.aio.connect(), "Staff", STAFF))
    employees.insert.return_value = JONES
    assert await employees.insert(JONES) == JONES


async def test_a_recipe_can_be_called_through_its_class() -> None:
    here, there = EntitySet(connect(), "Staff", STAFF), EntitySet(tablepatterns.aio.connect(), "Staff", STAFF)
    assert EntitySet.insert(here, JONES)["EmployeeId"] == 223
    assert EntitySet.get(here, JONES)["EmployeeId"] == 223
    assert [each["EmployeeId"] for each in EntitySet.range(here, Department="Sales")] == [223]
    await EntitySet.insert(there, JONES)
    assert [each["EmployeeId"] async for each in EntitySet.range(there, Department="Sales")] == [223]
