"""Run a notebook in a new process and an empty folder, from the first cell to the last."""

from __future__ import annotations

from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import nbformat

from notebooks import warm
from notebooks.book import SWITCH, Book

_METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


def executed(book: Book, *, storage: str | None = None) -> Book:
    """Return the notebook with new outputs, as it is kept in git.

    :param storage: where to run it; None for where its switch says
    :raises CellError: a cell raised an error
    """
    node = deepcopy(book.node)
    if storage is not None:
        _switch(node, storage)
    cells = Book(book.name, node).code
    _fill(cells, warm.run([cell.source for cell in cells], has_threads=True).outputs)
    return Book(book.name, node)


def answered(book: Book) -> tuple[Book, float]:
    """Run the notebook, and behind it the answers to its exercises; return it, and the CPU time in seconds.

    No thread can start there, as in a browser, where readers run the notebooks too.

    :raises CellError: a cell, or an answer, raised an error
    """
    node = deepcopy(book.node)
    # The answers need what the last cells delete
    last = next((at + 1 for at, cell in enumerate(node.cells) if "## Clean up" in cell.source), len(node.cells))
    first, others = (
        [cell for cell in part if cell.cell_type == "code"] for part in (node.cells[:last], node.cells[last:])
    )
    sources = [*(cell.source for cell in first), *book.answers, *(cell.source for cell in others)]
    outputs, seconds = warm.run(sources, has_threads=False)
    del outputs[len(first) : len(first) + len(book.answers)]
    _fill([*first, *others], outputs)
    return Book(book.name, node), seconds


def save(book: Book, path: Path) -> None:
    """Write a notebook with nothing in it that differs from run to run, or from machine to machine."""
    node = deepcopy(book.node)
    node.metadata = nbformat.from_dict(_METADATA)
    node.nbformat, node.nbformat_minor = 4, 5
    taken: set[str] = set()
    for cell in node.cells:
        cell.metadata = nbformat.from_dict({})
        cell.id = _id_of(cell, taken)
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
    nbformat.validate(node)
    path.write_text(nbformat.writes(node, ensure_ascii=False) + "\n", encoding="utf-8")


def _id_of(cell: Any, taken: set[str]) -> str:
    """Return an id that stays while the text of the cell stays, so that it makes no difference in git."""
    text, number = cell.source, 0
    while (name := sha256(f"{text}{number or ''}".encode()).hexdigest()[:8]) in taken:
        number += 1
    taken.add(name)
    return name


def _fill(cells: list[Any], outputs: list[list[Any]]) -> None:
    for number, (cell, found) in enumerate(zip(cells, outputs, strict=True), 1):
        cell.execution_count = number
        cell.outputs = [nbformat.from_dict(each) for each in found]


def _switch(node: Any, storage: str) -> None:
    cell = next(cell for cell in node.cells if SWITCH in cell.source)
    cell.source = cell.source.replace(SWITCH, f"STORAGE = {storage!r}")
