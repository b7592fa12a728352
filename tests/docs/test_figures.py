"""Figures and comparisons of costs in prose: each is an output, a limit of the service, or has its source in a list.

An author who writes that something is cheaper, or how many requests it takes, adds the sentence to `figures.toml` with
the source that it comes from; better, the program beside the text prints it.
"""

from __future__ import annotations

import ast
import operator
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import nbformat
import pytest

from budgets.statements import costs_in
from tablepatterns import limits
from tablepatterns.cost import Cost
from tablepatterns_review import PriceTable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT: Final = Path(__file__).parents[2]
WRITTEN: Final = {
    "benchmarks",
    "catalog",
    "compositions",
    "errors",
    "fidelity",
    "fidelity-evidence",
    "guarantees",
    "review",
}
"""Pages that are written from data as a whole."""
PAGES: Final = sorted(
    [
        ROOT / "README.md",
        *(path for path in (ROOT / "docs").glob("*.md") if path.stem not in WRITTEN),
        *(ROOT / "docs" / "patterns").glob("*.md"),
        *(ROOT / "notebooks").glob("*.ipynb"),
    ]
)
SOURCES: Final[dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("figures.toml").read_text(encoding="utf-8")
)
_WRITTEN_PARTS: Final = re.compile(
    r"<!-- (\w+): written by make pages -->.*?<!-- end of \1 -->|<!-- make pages: .*?<!-- end -->|```.*?```", re.DOTALL
)
_FIGURE: Final = re.compile(
    r"(?<![\w.,:/])(\d[\d,]*(?:\.\d+)?)"
    r"(?: (?:(?:storage|more|further) )?(?:transactions?|requests?|ms|milliseconds|times|percent)\b| ?%)"
)
_COMPARISON: Final = re.compile(
    r"\bcheap\w*|\bdear(?:er|est)?\b|\bcosts? (?:much |hardly |a little )?(?:more|less)\b"
    r"|\b\w+ times (?:as|the|what)\b|\bfactor of\b|\ba (?:half|third|quarter|tenth|hundredth) of\b"
)
_LIMITS: Final = {f"{value:,}" for value in vars(limits).values() if isinstance(value, int)}
_SUMS: Final = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    """Return what an author wrote: no code, no output, nothing that is written from data; each line end a blank."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells: Any = nbformat.read(path, 4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return " ".join(_WRITTEN_PARTS.sub("", text).split())


def shown(path: Path) -> set[str]:
    """Return the numbers that a notebook has in its code and its outputs."""
    if path.suffix != ".ipynb":
        return set()
    cells: Any = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    outputs = [
        str(output.get("text") or output.get("data", {}).get("text/plain")) for c in cells for output in c.outputs
    ]
    text = " ".join([*(cell.source for cell in cells), *outputs])
    return {f"{int(each.replace('_', '').replace(',', '')):,}" for each in re.findall(r"\d[\d_,]*\d|\d", text)}


def statements(path: Path) -> Iterator[re.Match[str]]:
    """Give every figure that no program shows, and every comparison of costs."""
    text, known = prose(path), shown(path) | _LIMITS | {"1"}
    yield from (found for found in _FIGURE.finditer(text) if found[1] not in known)
    yield from _COMPARISON.finditer(text)


def calculated(text: str) -> float:
    """Return the result of a sum such as `200 + 1`."""

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.BinOp):
            return float(_SUMS[type(node.op)](value(node.left), value(node.right)))
        return float(ast.literal_eval(node))

    return value(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_figure_and_comparison_has_a_source(path: Path) -> None:
    text, known = prose(path), SOURCES.get(name_of(path), {})
    covered = [range(found.start(), found.end()) for says in known for found in re.finditer(re.escape(says), text)]
    missing = [
        text[max(0, found.start() - 60) : found.end() + 40]
        for found in statements(path)
        if not any(found.start() in span and found.end() - 1 in span for span in covered)
    ]
    assert missing == [], "have a program print it, or add the sentence to figures.toml with its source"


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_every_source_is_one_and_is_needed(name: str) -> None:
    text = prose(ROOT / name)
    for says, source in SOURCES[name].items():
        assert says in text, "figures.toml has a sentence that is not there any more"
        kind, _, what = source.partition(": ")
        if kind == "sum":
            assert re.search(rf"(?<![\d,]){calculated(what):,.0f}(?![\d,])", says), source
        elif kind == "file":
            assert (ROOT / what).is_file(), source
        else:
            assert kind in ("output", "data", "says nothing of amounts"), source


@pytest.mark.parametrize("path", [*PAGES, *sorted((ROOT / "patterns").rglob("*.py"))], ids=name_of)
def test_every_cost_by_service_is_as_much_as_it_says(path: Path) -> None:
    # A text of the package may be written as several literals
    text = re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
    for stated in costs_in(prose(path) if path.suffix == ".ipynb" else text):
        kinds = {
            "blob read": "blob_read",
            "blob write": "blob_write",
            "blob list": "blob_list",
            "other blob": "blob_other",
        }
        parts = re.findall(r"([\d,]+) (table|queue|blob \w+|other blob)(?= \+| trans)", stated)
        counts = {kinds.get(kind, kind.replace(" ", "_")): int(count.replace(",", "")) for count, kind in parts}
        cost = Cost(**counts)
        assert stated == str(cost) or "equivalent to" not in stated


@pytest.mark.parametrize("path", [*PAGES, *(ROOT / "docs").glob("*.md")], ids=name_of)
def test_every_file_of_the_package_that_a_page_names_is_there(path: Path) -> None:
    named = re.findall(r"(?<![\w/.-])tablepatterns(?:_\w+)?/[\w/]+\.(?:py|toml)\b", path.read_text(encoding="utf-8"))
    assert [each for each in named if not (ROOT / "patterns" / each).is_file()] == []


def test_the_figures_of_the_list_of_notebooks_are_theirs() -> None:
    contents = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^\]]+\]\((\S+\.ipynb)\) \| (.+) \|$", contents, re.MULTILINE)
    assert rows
    for name, question in rows:
        path = ROOT / "notebooks" / name
        figures = set(re.findall(r"(?<![\w:])\d[\d,]*\d(?![\w:])", question))
        assert figures <= shown(path), name


def test_a_comparison_from_an_authors_head_is_found() -> None:
    assert _COMPARISON.search("A buffer of three is cheaper than a table")
    assert _COMPARISON.search("a queue costs less")
    found = _FIGURE.search("a move takes 17 requests")
    assert found is not None
    assert found[1] not in _LIMITS
    assert calculated("200 + 1") == 201


HOURS: Final = 730
"""Of a month."""


@pytest.mark.parametrize(
    ("reads", "units"), [(10, 400), (1_000, 1_000), (1_000, 4_000)], ids=["ten", "a thousand", "uneven"]
)
def test_the_costs_of_alternatives_follow_from_the_prices(reads: int, units: int) -> None:
    prices = PriceTable.default()
    stored = 100 * prices.per_gb_month["LRS"].tables
    requested = reads * HOURS * 3600 * prices.per_10_000_operations.table_reads / 10_000
    cosmos_stored, cosmos_units = 100 * 0.25, units / 100 * HOURS * 0.008
    page = (ROOT / "docs" / "design-review.md").read_text(encoding="utf-8")
    assert f" = {stored + requested:.2f} |" in page or f"| {stored + requested:.2f} |" in page
    assert f"| {cosmos_stored:.2f} + {cosmos_units:.2f} = {cosmos_stored + cosmos_units:.2f} |" in page
