"""Find what recipes declare: in files of a folder of their kind, or in the recipe's own test."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parents[1]


def import_declaring(decorator: str, folder: str) -> None:
    """Import each file of a folder, and each test of a recipe, that uses the decorator, which registers what it finds.

    :param decorator: the name of the decorator, such as `budget`
    :param folder: the folder in `tests` with the files that declare nothing else
    """
    uses = re.compile(rf"^@?{decorator}\(", re.MULTILINE)
    for path in [*sorted((TESTS / folder).glob("*.py")), *sorted((TESTS / "recipes").rglob("test_*.py"))]:
        if uses.search(path.read_text(encoding="utf-8")):
            import_module(".".join(path.relative_to(TESTS).with_suffix("").parts))


def is_declared(function: Callable[..., object]) -> bool:
    """Tell whether a declaration counts: pytest imports a test file a second time, under a longer name."""
    return not function.__module__.startswith(f"{TESTS.name}.")
