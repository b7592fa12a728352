"""The example programs, as modules."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def example(folder: str, name: str) -> Any:
    """Return a program of a folder, imported by its own name, which is unique among the examples."""
    path = str(EXAMPLES / folder)
    sys.path.insert(0, path)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(path)
