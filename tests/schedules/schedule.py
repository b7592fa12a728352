"""The failing schedules of broken variants, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from support.declared import import_declaring, is_declared
from tablepatterns_explore import Counterexample

FOLDER = Path(__file__).parents[2] / "docs" / "patterns" / "schedules"
Explore: TypeAlias = Callable[[], object]

SCHEDULES: dict[str, Explore] = {}


def schedule(name: str) -> Callable[[Explore], Explore]:
    """Register a function that explores or replays a broken variant.

    Its checks are asserts with a message: pytest rewrites asserts without one, which would change the text.

    :param name: the name of the pattern; with a hyphen and a word appended if a page has several schedules
    """

    def add(explore: Explore) -> Explore:
        if is_declared(explore):
            if name in SCHEDULES:
                raise ValueError(f"{name} is there twice")
            SCHEDULES[name] = explore
        return explore

    return add


def all_schedules() -> dict[str, Explore]:
    """Return the broken variants of the files in this folder, and of the recipes that have them in their own tests."""
    import_declaring("schedule", "schedules")
    return SCHEDULES


def path_of(name: str) -> Path:
    """Return the path of a schedule's text."""
    return FOLDER / f"{name}.txt"


def written_schedule(name: str) -> str:
    """Return the explorer's output for a schedule."""
    try:
        SCHEDULES[name]()
    except Counterexample as found:
        return f"{found}\n"
    raise ValueError(f"{name}: nothing goes wrong within its bound, so that there is no schedule to show")
