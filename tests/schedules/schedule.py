"""A schedule by its name: a variant that was broken on purpose, and what the explorer says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tablepatterns.testing import Counterexample

FOLDER = Path(__file__).parents[2] / "docs" / "patterns" / "schedules"
Explore: TypeAlias = Callable[[], object]

SCHEDULES: dict[str, Explore] = {}


def schedule(name: str) -> Callable[[Explore], Explore]:
    """Add what explores, or replays, a variant in which something goes wrong.

    Its checks are asserts with a message: pytest rewrites those without one, and the text would not be the same.

    :param name: the pattern's, with a hyphen and a word behind it where a page has several
    """

    def add(explore: Explore) -> Explore:
        if name in SCHEDULES:
            raise ValueError(f"{name} is there twice")
        SCHEDULES[name] = explore
        return explore

    return add


def path_of(name: str) -> Path:
    """Return where the text of a schedule is kept."""
    return FOLDER / f"{name}.txt"


def written_schedule(name: str) -> str:
    """Return the explorer's text."""
    try:
        SCHEDULES[name]()
    except Counterexample as found:
        return f"{found}\n"
    raise ValueError(f"{name}: nothing goes wrong within its bound, so that there is no schedule to show")
