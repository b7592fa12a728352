"""Load all files of this folder with schedules, so that new ones need not be listed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

_MACHINERY = {"__init__", "__main__", "families", "schedule"}


def load() -> None:
    """Import each file, which adds its schedules."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in _MACHINERY:
            import_module(f"schedules.{path.stem}")
