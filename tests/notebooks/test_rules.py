"""Each rule finds its violations, and the runner removes output that differs from run to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from notebooks import rules
from notebooks.book import HEADINGS, SWITCH, Book, texts_of
from notebooks.running import answered, executed, save
from notebooks.shell import CellError

OPENING = (
    "# A title\n\n**Pattern:** `X`  \n**Guide:** y  \n**Reading time:** 5 minutes\n\n"
    "Before you run it: why? Before you run that: how?"
)
QUESTION = "1. Design a key of your own."
ANSWER = f"{QUESTION}\n\n<details><summary>Answer</summary>\n\n```python\nassert number == 1\n```\n\n</details>"


def cell(source: str, count: int | None = None, *outputs: Any) -> Any:
    if count is None:
        return nbformat.v4.new_markdown_cell(source)
    return nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs))


def printed(text: str, name: str = "stdout") -> Any:
    return nbformat.v4.new_output("stream", name=name, text=text)


def book() -> Book:
    """Return the smallest notebook that keeps all rules."""
    switch = f"from tablepatterns import connect\n\n{SWITCH}\nstorage = connect(STORAGE)"
    sections = [
        cell(f"## {heading}\n\n" + (f"{ANSWER}\n\n{ANSWER}" if heading == "Exercises" else "Text."))
        for heading in HEADINGS
    ]
    cells = [cell(OPENING), cell(switch, 1), cell("number = 1\nprint(number)", 2, printed("1\n")), *sections]
    return Book("00_example", nbformat.v4.new_notebook(cells=cells))


def problems(of: Book) -> list[str]:
    return [problem for rule in rules.RULES for problem in rule(of)]


def changed(at: int, old: str, new: str) -> Callable[[Book], None]:
    def change(of: Book) -> None:
        assert old in of.node.cells[at].source
        of.node.cells[at].source = of.node.cells[at].source.replace(old, new)

    return change


def with_output(output: Any) -> Callable[[Book], None]:
    return lambda of: of.node.cells[2].outputs.append(output)


def with_count(count: int | None) -> Callable[[Book], None]:
    return lambda of: of.node.cells[2].__setitem__("execution_count", count)


PICTURE = nbformat.v4.new_output("display_data", data={"image/png": "aaaa", "text/plain": "<Figure>"})
LARGE = nbformat.v4.new_output("display_data", data={"text/html": "a" * rules.MAX_BYTES})
ERROR = nbformat.v4.new_output("error", ename="KeyError", evalue="", traceback=[])


def test_a_notebook_that_keeps_all_rules_is_not_blamed() -> None:
    assert problems(book()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(0, "**Guide:** y  ", "y"), "the first cell is not"),
        (changed(0, "5 minutes", "a while"), "the first cell is not"),
        (changed(3, "## Problem", "## The problem"), "the headings are"),
        (changed(3, "## Problem", "# Problem"), "there is one title"),
        (changed(1, SWITCH, "STORAGE = None"), "has no line"),
        (changed(2, "number = 1", 'STORAGE = "azurite"'), "a second time"),
        (changed(-2, "<details>", "<p>"), "there are 0 answers"),
        (changed(-2, "assert number == 1", "number"), "asserts nothing"),
        (changed(-2, "```python", "```text"), "has no code"),
        (with_count(None), "were not run in order"),
        (with_count(3), "were not run in order"),
        (with_output(ERROR), "ended with KeyError"),
        (with_output(printed("beware", "stderr")), "a cell warns: beware"),
        (with_output(printed("File /home/me/notebook.py")), "of one machine"),
        (with_output(printed("<object at 0x7f00aa11>")), "of one machine"),
        (changed(3, "Text.", "Text \N{EM DASH} more."), "em dash"),
        (with_output(LARGE), "bytes, more than"),
        (lambda of: of.node.cells.extend([cell("more")] * 40), "cells, more than"),
        (changed(2, "number = 1", "number = 1\n" * 14), "code cell 2 has 16 lines, more than 15"),
        (changed(0, "Before you run it", "What comes"), "'Before you run' is there 1 times, not 2 or more"),
        (changed(-2, "Design a key", "Name a key"), "'Design a key of your own' is there 0 times, not 1 or more"),
        (lambda of: of.node.cells[2].outputs.clear(), "no outputs"),
        (changed(2, "number = 1", "import seaborn"), "it imports seaborn"),
        (changed(2, "number = 1", "from tablepatterns._secret import x"), "it imports tablepatterns._secret"),
        (with_output(PICTURE), "plots without"),
    ],
)
def test_a_notebook_that_breaks_a_rule_is_reported(change: Callable[[Book], None], message: str) -> None:
    broken = book()
    change(broken)
    assert any(message in problem for problem in problems(broken)), problems(broken)


def test_answers_run_after_the_cells_and_a_wrong_answer_is_found() -> None:
    assert [texts_of(each) for each in answered(book())[0].code] == [[], ["1\n"]]
    wrong = book()
    changed(-2, "number == 1", "number == 2")(wrong)
    with pytest.raises(CellError, match="AssertionError"):
        answered(wrong)


def test_the_switch_decides_where_a_notebook_runs() -> None:
    example = book()
    example.node.cells[2].source = "print(storage)"
    run = executed(example, storage="memory://elsewhere")
    assert texts_of(run.code[1]) == ["<Storage memory://elsewhere>\n"]


def test_a_notebook_that_was_run_twice_is_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(executed(book()), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
