"""Format docstrings for the site: bold leads such as `Consistency:`, and Markdown tables as tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LEAD = re.compile(r"^(Consistency|Uniqueness|Guarantees|Does not|Cost|Goal|Keys|Guide|Status):(?= )")
_SENTENCE = re.compile(r"(?<=[.;] )(Consistency|Uniqueness|Guarantees|Does not|Cost|Guide):(?= )")
_BACKSLASH = re.compile(r"(?<!`)`([^`]*\\[^`]*)`(?!`)")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^[\s|:-]+$")


def shown(lines: list[str]) -> list[str]:
    """Return a docstring's lines as reStructuredText.

    >>> shown(["Guarantees: order. Cost: 1 transaction."])
    ['**Guarantees:** order. **Cost:** 1 transaction.']
    """
    return list(_trees(_tables([_line(each) for each in lines])))


def _line(text: str) -> str:
    # Code with a backslash cannot be a name to link
    text = _BACKSLASH.sub(r"``\1``", text)
    return _SENTENCE.sub(r"**\1:**", _LEAD.sub(r"**\1:**", text))


def _trees(lines: Iterator[str]) -> Iterator[str]:
    """Keep a paragraph that is a tree drawn with lines as preformatted text."""
    for is_empty, paragraph in groupby(lines, key=lambda line: not line.strip()):
        found = list(paragraph)
        if not is_empty and any("── " in line for line in found):
            yield from ("::", "")
        yield from found


def _tables(lines: list[str]) -> Iterator[str]:
    for is_row, found in groupby(lines, key=lambda line: bool(_ROW.match(line))):
        if is_row:
            yield from _list_table(found)
        else:
            yield from found


def _list_table(rows: Iterable[str]) -> Iterator[str]:
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


def shown_signature(signature: str) -> str:
    """Return a signature without the private default of an argument that may be left out.

    >>> shown_signature("(target: str | Literal[Omitted.OMITTED] = Omitted.OMITTED)")
    '(target: str = ...)'
    """
    return signature.replace(" | Literal[Omitted.OMITTED]", "").replace("= Omitted.OMITTED", "= ...")


def _process_signature(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    return shown_signature(signature) if signature else signature, returned


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to autodoc."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _process_signature)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
