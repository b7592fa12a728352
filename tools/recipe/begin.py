"""Create the files of a new recipe from templates, and add its lines to existing files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Final

TEMPLATES: Final = Path(__file__).parent / "templates"
PLACES: Final = {
    "recipe.py": "patterns/tablepatterns/recipes/{name}.py",
    "test.py": "tests/recipes/test_{name}.py",
    "test_schedules.py": "tests/recipes/test_{name}_schedules.py",
    "page.md": "docs/patterns/{name}.md",
    "program.py": "docs/patterns/code/{name}.py",
}
"""The path of the file from each template."""
ENDS: Final = {"budget.py": "tests/budgets/sets.py", "limits.toml": "docs/data/limits.toml"}
"""The existing file that each text is added to."""
PUBLIC: Final = "patterns/tablepatterns/__init__.pyi"


class Unfit(ValueError):
    """A name that is not possible for a recipe."""


def begin(root: Path, name: str) -> Iterator[str]:
    """Create the files of a recipe, add its lines to other files, and yield the path of each.

    :param root: the folder of the project
    :param name: the recipe's name, which is that of its module
    :raises Unfit: the name is not a module name, or is in use
    """
    words = {"name": name, "Class": "".join(map(str.capitalize, name.split("_"))), "title": title_of(name)}
    files = {place.format(name=name): _text(template, words) for template, place in PLACES.items()}
    check(root, name, list(files))
    files |= {place: _read(root, place) + _text(template, words) for template, place in ENDS.items()}
    files[PUBLIC] = public(_read(root, PUBLIC), name, words["Class"])
    files[f"notebooks/{next_number(root):02d}_{name}.ipynb"] = notebook(words)
    for place, text in files.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text, encoding="utf-8")
        yield place


def check(root: Path, name: str, files: list[str]) -> None:
    """Reject a name that is not possible for a recipe."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise Unfit(f"{name!r} is no name of a module in small letters")
    for place in files:
        if (root / place).exists():
            raise Unfit(f"{place} is there already")


def title_of(name: str) -> str:
    """Return a name in words.

    >>> title_of("sorted_tail")
    'Sorted tail'
    """
    return name.replace("_", " ").capitalize()


def public(text: str, name: str, kind: str) -> str:
    """Return the text of the package's stub with one more public name, in alphabetical order."""
    imports = re.findall(r"^from \.recipes\.[\w.]+ import .+\n", text, re.MULTILINE)
    line = f"from .recipes.{name} import {kind} as {kind}\n"
    before = [each for each in imports if each.split()[1] < line.split()[1]][-1]
    return text.replace(before, before + line, 1)


def next_number(root: Path) -> int:
    """Return the number of the next notebook."""
    listed = [int(path.name[:2]) for path in (root / "notebooks").glob("[0-9][0-9]_*.ipynb")]
    return max(listed, default=0) + 1


def notebook(words: dict[str, str]) -> str:
    """Return an empty notebook with the headings that all notebooks have."""
    parts = re.split(r"^%% (markdown|code)\n", _text("notebook", words), flags=re.MULTILINE)[1:]
    cells = [_cell(kind, source.strip()) for kind, source in zip(parts[::2], parts[1::2], strict=True)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, source: str) -> dict[str, object]:
    cell: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _text(template: str, words: dict[str, str]) -> str:
    return Template((TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")).substitute(words)


def _read(root: Path, place: str) -> str:
    return (root / place).read_text(encoding="utf-8")
