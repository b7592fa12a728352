"""Create the files of a new recipe from templates, and add its entry to the catalog."""

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
    "page.md": "docs/patterns/{name}.md",
}
"""The path of the file from each template."""
CATALOG: Final = "patterns/tablepatterns/catalog.toml"
NOTEBOOKS: Final = "notebooks/README.md"


class Unfit(ValueError):
    """A name that is not possible for a recipe."""


def begin(root: Path, name: str) -> Iterator[str]:
    """Create the files of a recipe, add it to the catalog and to the list of notebooks; yield their paths.

    :param root: the folder of the project
    :param name: the recipe's name, which is that of its module
    :raises Unfit: the name is not a module name, or is in use
    """
    words = {"name": name, "Class": "".join(map(str.capitalize, name.split("_"))), "title": title_of(name)}
    files = {place.format(name=name): _text(template, words) for template, place in PLACES.items()}
    check(root, name, list(files))
    files[CATALOG] = entered((root / CATALOG).read_text(encoding="utf-8"), words)
    words["number"] = f"{next_number(root):02d}"
    files[NOTEBOOKS] = listed((root / NOTEBOOKS).read_text(encoding="utf-8"), words)
    files[f"notebooks/{words['number']}_{name}.ipynb"] = notebook(words)
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


def entered(text: str, words: dict[str, str]) -> str:
    """Return the text of the catalog with an entry for a recipe and its first relation."""
    with_relation = text.replace("\n]\n", f"\n{_text('relation.toml', words)}]\n", 1)
    return with_relation + _text("catalog.toml", words)


def listed(text: str, words: dict[str, str]) -> str:
    """Return the list of notebooks with that of a recipe at the end."""
    before, last_row, after = re.split(r"^(\| \[.*\n)(?!\| \[)", text, maxsplit=1, flags=re.MULTILINE)
    return before + last_row + _text("notebook_row.md", words) + after


def next_number(root: Path) -> int:
    """Return the number of the next notebook."""
    listed = [int(path.name[:2]) for path in (root / "notebooks").glob("[0-9][0-9]_*.ipynb")]
    return max(listed, default=0) + 1


def notebook(words: dict[str, str]) -> str:
    """Return an empty notebook with the headings that all notebooks have."""
    parts = re.split(r"^%% (markdown|code)\n", _text("notebook", words), flags=re.MULTILINE)[1:]
    cells = [_cell(kind, source.strip()) for kind, source in zip(parts[::2], parts[1::2], strict=True)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:02d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, source: str) -> dict[str, object]:
    cell: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _text(template: str, words: dict[str, str]) -> str:
    return Template((TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")).substitute(words)
