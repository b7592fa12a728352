"""Run a notebook in a new kernel and an empty folder, from the first cell to the last."""

from __future__ import annotations

import os
from copy import deepcopy
from hashlib import sha256
from inspect import getsource
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

from notebooks.book import SWITCH, Book
from notebooks.warm import WarmKernels
from support.no_threads import forbid_threads

_SECONDS: Final = 120
_METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
_CPU: Final = "import time\nprint(time.process_time())"
_NO_THREADS: Final = f"""from __future__ import annotations
{getsource(forbid_threads)}
forbid_threads()"""


def executed(book: Book, *, storage: str | None = None) -> Book:
    """Return the notebook with new outputs, as it is kept in git.

    :param storage: where to run it; None for where its switch says
    :raises CellExecutionError: a cell raised an error
    """
    node = _cleared(book.node)
    if storage is not None:
        _switch(node, storage)
    _execute(node)
    return Book(book.name, node)


def answered(book: Book) -> tuple[Book, float]:
    """Run the notebook, and behind it the answers to its exercises; return it, and the seconds of its kernel's CPU.

    No thread can start there, as in a browser, where readers run the notebooks too.

    :raises CellExecutionError: a cell, or an answer, raised an error
    """
    node = _cleared(book.node)
    # The answers need what the last cells delete
    last = next((at + 1 for at, cell in enumerate(node.cells) if "## Clean up" in cell.source), len(node.cells))
    extra = [nbformat.v4.new_code_cell(each) for each in book.answers]
    node.cells[last:last] = extra
    node.cells.append(nbformat.v4.new_code_cell(_CPU))
    node.cells.insert(0, nbformat.v4.new_code_cell(_NO_THREADS))
    _execute(node)
    del node.cells[0]
    seconds = float(node.cells.pop().outputs[0].text)
    del node.cells[last : last + len(extra)]
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


def _cleared(node: Any) -> Any:
    node = deepcopy(node)
    for cell in node.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return node


def _switch(node: Any, storage: str) -> None:
    cell = next(cell for cell in node.cells if SWITCH in cell.source)
    cell.source = cell.source.replace(SWITCH, f"STORAGE = {storage!r}")


def _execute(node: Any) -> None:
    # Nothing of the repository is at hand there, as where only the notebook was downloaded
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            node,
            timeout=_SECONDS,
            kernel_name="python3",
            kernel_manager_class=WarmKernels,
            record_timing=False,
            # A kernel may hand out one print in several pieces
            coalesce_streams=True,
            # The kernel warns of its own transport
            extra_arguments=["--IPKernelApp.log_level=40"],
            resources={"metadata": {"path": folder}},
        )
        client.execute(env={**os.environ, "IPYTHONDIR": folder})
