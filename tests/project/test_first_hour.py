"""What a new user sees in an editor or a notebook: completion, hover texts, and readable reprs."""

from __future__ import annotations

import inspect
from typing import Any

import jedi
import pytest

import tablepatterns
from tablepatterns import EntitySet, Key, LogTail, connect

PROGRAM = """\
import tablepatterns
from tablepatterns import EntitySet, Key, connect
employees = EntitySet(connect(), "Employees", Key("{Department}", "{EmployeeId:06d}"))
"""


def completed(line: str) -> list[str]:
    """Return what an editor, which does not run the program, offers at the end of its last line."""
    script = jedi.Script(f"{PROGRAM}{line}")
    return [each.name for each in script.complete(4, len(line))]


def offered(line: str) -> list[str]:
    """Return what a notebook, which has run the program, offers."""
    names: dict[str, Any] = {}
    exec(PROGRAM, names)  # noqa: S102
    return [each.name for each in jedi.Interpreter(line, [names]).complete(1, len(line))]


@pytest.mark.parametrize("asked", [completed, offered])
def test_names_are_completed_in_an_editor_and_in_a_notebook(asked: Any) -> None:
    assert {"EntitySet", "EntityTypes"} <= set(asked("tablepatterns.Entit"))
    assert {"insert", "insert_or_merge", "insert_or_replace"} <= set(asked("employees.ins"))
    assert "aio" in asked("tablepatterns.ai")


def test_hovering_over_a_recipe_shows_its_parameters_and_what_it_does() -> None:
    (found, *_) = jedi.Script(f"{PROGRAM}employees.insert").help(4, len("employees.insert"))
    docstring = found.docstring()
    assert "entity: Mapping[str, Any], *, retry_for: float" in docstring
    assert "Create an entity with all its derived rows" in docstring
    assert "Cost: 1 transaction" in docstring


@pytest.mark.parametrize("name", [name for name in tablepatterns.__all__ if callable(getattr(tablepatterns, name))])
def test_every_public_name_and_its_methods_have_a_text(name: str) -> None:
    thing = getattr(tablepatterns, name)
    own = [each for each in vars(thing) if not each.startswith("_")] if inspect.isclass(thing) else []
    silent = [each for each in own if callable(getattr(thing, each)) and not inspect.getdoc(getattr(thing, each))]
    assert inspect.getdoc(thing)
    assert silent == []


def test_a_set_says_what_it_is_of() -> None:
    storage = connect()
    assert repr(EntitySet(storage, "Staff", Key("{Id}", "x"))) == "<EntitySet Staff Key('{Id}', 'x')>"
    assert repr(LogTail(storage, "Claims", "{Employee}")).startswith("<LogTail Claims Key(")


def test_a_misspelled_name_is_reported_with_the_correct_one() -> None:
    with pytest.raises(AttributeError) as failed:
        tablepatterns.EntitySets  # noqa: B018
    assert failed.value.obj is tablepatterns
