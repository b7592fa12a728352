"""The parts of the README that follow from elsewhere: the table of patterns, and the figures on how it is tested."""

from __future__ import annotations

import re
from pathlib import Path

from proof.markdown import between, table
from tablepatterns.catalogue import ENTRIES, CatalogueEntry

PAGE = "README.md"
ROOT = Path(__file__).parents[2]
FIGURES = {
    "recipes": ("docs/guarantees.md", r"each of these ([\d,]+) recipes"),
    "schedules": ("docs/guarantees.md", r"([\d,]+) schedules came to their end"),
    "broken": ("docs/guarantees.md", r"would have been found, ([\d,]+) variants"),
    "tables": ("tests/differential/record.md", r"## Tables: ([\d,]+) operations"),
    "queues": ("tests/differential/record.md", r"## Queues: ([\d,]+) operations"),
    "blobs": ("tests/differential/record.md", r"## Blobs: ([\d,]+) operations"),
    "behaviours": ("docs/fidelity.md", r"Of ([\d,]+) behaviours"),
    "alike": ("docs/fidelity.md", r"the engine does ([\d,]+) as the service does"),
    "budgets": ("docs/budgets.md", r"Each of these ([\d,]+) rows"),
}
"""Where each figure stands."""
TESTED = """\
- One body of a test runs on the account in memory and on a real Azurite, through the sync and the async SDK. There are
  more than 20,000 tests.
- {tables} random operations on tables, {queues} on queues and {blobs} on blobs were asked of the account in memory and
  of Azurite, and the answers compared: [the record](tests/differential/record.md), with every known difference.
- Of {behaviours} [behaviours of the service](docs/fidelity.md), listed with what is known of each and from where, the
  account in memory does {alike} alike; for the others the page says what it does instead.
- {recipes} recipes of more than one request were stepped through every order of their requests, with deaths and lost
  answers at each, within stated bounds: {schedules} schedules, and nothing found. {broken} variants that are broken on
  purpose are all found: [what is guaranteed](docs/guarantees.md).
- [{budgets} rows of costs](docs/budgets.md) are measured by the ledger of the account; a call that takes one request
  more fails its test. [What works together](docs/compositions.md) was put together, two by two and all at once."""


def render() -> str:
    """Return the README with these parts as they should be."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return between(between(text, "patterns", patterns()), "tested", TESTED.format(**figures()))


def patterns() -> str:
    """Return a row for each pattern that is there to be used, with a link to its page."""
    rows = [_cells(each) for each in ENTRIES if each.classes and each.kind not in ("anti-pattern", "guidance")]
    return table(("Pattern", "What it does", "Here"), rows)


def figures() -> dict[str, str]:
    """Return the figures, each as its page has it."""
    found = {name: re.search(pattern, _read(path)) for name, (path, pattern) in FIGURES.items()}
    return {name: match[1] for name, match in found.items() if match}


def _cells(each: CatalogueEntry) -> tuple[str, ...]:
    page = f"docs/patterns/{each.name}.md"
    title = f"[{each.title}]({page})" if (ROOT / page).exists() else each.title
    return title, each.summary, ", ".join(f"`{name}`" for name in each.classes)


def _read(path: str) -> str:
    # A sentence may go over two lines
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())
