"""The files of this folder that have schedules: all but its machinery, so that a new one need not be listed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

_MACHINERY = {"__init__", "__main__", "families", "schedule"}


def load() -> None:
    """Import each, which adds its schedules."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in _MACHINERY:
            import_module(f"schedules.{path.stem}")
