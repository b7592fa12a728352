"""The members of public objects: only listed and documented ones, so that no internal member becomes public."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tablepatterns
import tablepatterns.aio
from support.declared_objects import all_public_objects
from support.public_objects import made
from tablepatterns import connect
from tablepatterns.recipes.parallel_reads import Read

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LISTED: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("members.toml").read_text(encoding="utf-8"))
LISTED |= {name: sorted(each.members) for name, each in all_public_objects().items()}
RESULTS = ("Page", "Drift", "ParallelResult", "Grant", "Finding")
"""Public classes whose objects a recipe returns."""


def classes() -> dict[str, type]:
    """Return the public classes by name, and those of results that have no public name."""
    found = {name: getattr(tablepatterns, name) for name in tablepatterns.__all__}
    public = {name: each for name, each in found.items() if inspect.isclass(each) and not issubclass(each, Exception)}
    return public | {"aio.Storage": tablepatterns.aio.Storage, "Read": Read}


@pytest.fixture(scope="module")
def objects() -> Iterator[dict[str, Any]]:
    with connect() as storage:
        yield made(storage) | {"Storage": storage, "aio.Storage": tablepatterns.aio.connect()}


def base_of(kind: type) -> tuple[str, type] | None:
    """Return the nearest public class that a class extends, whose members it shares."""
    names = {each: name for name, each in classes().items()}
    return next(((names[each], each) for each in kind.__mro__[1:] if each in names), None)


def members(kind: type, example: object) -> set[str]:
    """Return what completion offers on an object, beyond what its public base class and Python's own bases have."""
    shown = set(dir(kind if example is None else example))
    if dataclasses.is_dataclass(kind):
        shown |= {field.name for field in dataclasses.fields(kind)}
    for each in kind.__mro__:
        if not each.__module__.startswith("tablepatterns"):
            shown -= set(dir(each))
    return {name for name in shown if not name.startswith("_")}


@cache
def documented(kind: type) -> frozenset[str]:
    """Return the members of a class that some docstring describes: their own, a parameter's, or an attribute's."""
    found = set[str]()
    for each in kind.__mro__:
        if not each.__module__.startswith("tablepatterns"):
            continue
        for name, member in vars(each).items():
            found |= {name} if inspect.getdoc(getattr(kind, name, member)) and not is_plain(member) else set()
        for node in ast.walk(ast.parse(inspect.cleandoc("\n" + inspect.getsource(each)))):
            found |= set(described(getattr(node, "body", None)))
        text = inspect.getdoc(each) or ""
        found |= {line.split()[1].rstrip(":") for line in text.splitlines() if line.startswith(":param")}
        found |= {word.strip("`,.;:") for word in text.split() if word.startswith("`")}
    return frozenset(found)


def is_plain(value: object) -> bool:
    """Whether a class attribute is a value, whose docstring is that of its type."""
    return isinstance(value, (str, int, float, tuple, frozenset, type(None)))


def described(body: object) -> Iterator[str]:
    """Yield the names that a class or `__init__` assigns, and describes in a string below."""
    statements = body if isinstance(body, list) else []
    for statement, following in pairwise(statements):
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            for target in targets:
                if isinstance(target, (ast.Name, ast.Attribute)):
                    yield target.id if isinstance(target, ast.Name) else target.attr


def test_every_public_class_is_listed() -> None:
    assert sorted(LISTED) == sorted(classes())


@pytest.mark.parametrize("name", sorted(classes()))
def test_an_object_has_the_members_that_are_listed(name: str, objects: dict[str, Any]) -> None:
    kind = classes()[name]
    shown = members(kind, objects.get(name))
    base = base_of(kind)
    if base is not None:
        shown -= members(base[1], objects.get(base[0]))
    assert sorted(shown) == LISTED[name]


@pytest.mark.parametrize("name", ["Entity", "Storage", "aio.Storage", *RESULTS, "Read"])
def test_each_member_of_what_users_hold_has_documentation(name: str, objects: dict[str, Any]) -> None:
    kind = classes()[name]
    assert sorted(members(kind, objects.get(name)) - documented(kind)) == []
