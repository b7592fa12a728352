"""Docstrings as the site shows them: `Guarantees:` and its like stand out, tables of Markdown are tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LEAD = re.compile(r"^(Guarantees|Does not|Cost|Goal|Guide|Status):(?= )")
_SENTENCE = re.compile(r"(?<=[.;] )(Guarantees|Does not|Cost|Guide):(?= )")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^[\s|:-]+$")


def shown(lines: list[str]) -> list[str]:
    """Return a docstring's lines as reStructuredText.

    >>> shown(["Guarantees: order. Cost: 1 transaction."])
    ['**Guarantees:** order. **Cost:** 1 transaction.']
    """
    return list(_tables([_SENTENCE.sub(r"**\1:**", _LEAD.sub(r"**\1:**", line)) for line in lines]))


def _tables(lines: list[str]) -> Iterator[str]:
    rows: list[str] = []
    for line in [*lines, ""]:
        if _ROW.match(line):
            rows.append(line)
            continue
        if rows:
            yield from _list_table(rows)
            rows = []
        yield line


def _list_table(rows: list[str]) -> Iterator[str]:
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in rows:
        if _RULE.match(row):
            continue
        first, *others = (cell.strip() for cell in row.strip().strip("|").split("|"))
        yield f"   * - {first}"
        yield from (f"     - {cell}" for cell in others)
    yield ""


def _process(_app: Sphinx, _what: str, _name: str, _object: object, _options: Any, lines: list[str]) -> None:
    lines[:] = shown(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Have autodoc ask."""
    app.connect("autodoc-process-docstring", _process)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
