"""Write the public names of recipes: a line in the stub of the package for each class of the catalog.

It comes before other pages, in a process of its own: their programs and tests import these names.
"""

from __future__ import annotations

import re
from pathlib import Path

from tablepatterns.catalog import ENTRIES
from tools import ROOT

PAGE = "patterns/tablepatterns/__init__.pyi"
RECIPES = ROOT / "patterns" / "tablepatterns" / "recipes"


def render() -> str:
    """Return the stub with the classes of all entries."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    for entry in ENTRIES:
        for name in entry.classes:
            if f" as {name}\n" not in text:
                text = with_name(text, _home(name, entry.modules), name)
    return text


def with_name(text: str, module: str, name: str) -> str:
    """Return the stub with one more name of a module of recipes, in alphabetical order."""
    line = f"from .recipes.{module} import {name} as {name}\n"
    before = [each for each in re.findall(r"^from \..+\n", text, re.MULTILINE) if each.split() < line.split()][-1]
    return text.replace(before, before + line, 1)


def _home(name: str, modules: tuple[str, ...]) -> str:
    """Return the module that defines a name, below the folder of recipes."""
    defines = re.compile(rf"^(?:class|def) {name}\b|^{name}\b.* = ", re.MULTILINE)
    for module in modules:
        for path in [RECIPES / f"{module}.py", *sorted((RECIPES / module).glob("*.py"))]:
            if path.exists() and defines.search(path.read_text(encoding="utf-8")):
                return ".".join(path.relative_to(RECIPES).with_suffix("").parts)
    raise ValueError(f"catalog.toml: no module of {', '.join(modules)} defines {name}")


if __name__ == "__main__":
    Path(ROOT, PAGE).write_text(render(), encoding="utf-8")
