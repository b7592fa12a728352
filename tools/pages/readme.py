"""Write the generated parts of the README: the table of patterns, and the figures on how it is tested."""

from __future__ import annotations

import re

from tablepatterns.catalog import ENTRIES, CatalogEntry
from tools import ROOT
from tools.pages.benchmarks import http_share, speedup
from tools.pages.fidelity.recordings import FIGURES as RECORDED
from tools.pages.homes import page_of
from tools.pages.markdown import between, table

PAGE = "README.md"
FIGURES = {
    "recipes": ("docs/guarantees.md", r"For each of ([\d,]+) recipes"),
    "schedules": ("docs/guarantees.md", r"([\d,]+) schedules ran to the end"),
    "broken": ("docs/guarantees.md", r"would detect a failure, ([\d,]+) broken variants"),
    "tables": ("tests/differential/record.md", r"## Tables: ([\d,]+) operations"),
    "queues": ("tests/differential/record.md", r"## Queues: ([\d,]+) operations"),
    "blobs": ("tests/differential/record.md", r"## Blobs: ([\d,]+) operations"),
    "behaviours": ("docs/fidelity.md", r"Of ([\d,]+) behaviors"),
    "alike": ("docs/fidelity.md", r"the engine reproduces ([\d,]+)"),
    "budgets": ("docs/costs.md", r"has all ([\d,]+) rows"),
}
"""The source of each figure: a page, and the sentence in it."""
TESTED = """\
- More than 20,000 tests: one body runs in memory and on Azurite, sync and async.
- {tables} random operations on tables, {queues} on queues and {blobs} on blobs were compared with Azurite
  ([differences](tests/differential/record.md)).
- Of {exchanges} answers of Azure that were recorded from 2017 to 2022, the in-memory engine gives {tables_engine} on
  tables, {queues_engine} on queues and {blobs_engine} on blobs with the same status and body; Azurite gives
  {tables_azurite}, {queues_azurite} and {blobs_azurite} ([how](docs/fidelity.md#recorded-answers)).
- The in-memory engine reproduces {alike} of {behaviours} listed [behaviors of the service](docs/fidelity.md).
- {recipes} recipes were explored in every order of their requests, with crashes and lost responses, within [stated
  bounds](docs/guarantees.md): {schedules} schedules passed, and {broken} deliberately broken variants failed.
- [{budgets} costs](docs/costs.md) and [every pair](docs/compositions.md) of recipes are tested."""

SINGLE = {"read": "get", "insert": "insert", "send": "queue send"}
"""The single requests whose time the README states."""
SPEED = """\
Per second of processor time, the library sends {transactions} times as many entities as the SDK in transactions of
100, and reads {pages} times as many in pages of 1,000, over a transport that answers at once. Over HTTP, a single read
takes {read:.0%} of the SDK's processor time, an insert {insert:.0%}, and sending a queue message {send:.0%}
([measured](docs/benchmarks.md) in turn)."""


def render() -> str:
    """Return the README with its generated parts up to date."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    text = between(between(text, "patterns", patterns()), "tested", TESTED.format(**figures(), **recorded()))
    measured = {part: int(speedup(f"{part[:-1]}, constant, sync")) for part in ("transactions", "pages")}
    single = {name: http_share("http", call) for name, call in SINGLE.items()}
    return between(text, "speed", SPEED.format(**measured, **single))


def patterns() -> str:
    """Return the table of patterns, each with its main class and a link to its page."""
    rows = [_cells(each) for each in ENTRIES if each.modules and each.kind != "anti-pattern"]
    return table(("Pattern", "What it does", "Class"), rows)


def figures() -> dict[str, str]:
    """Return the figures, as their pages state them."""
    found = {name: re.search(pattern, _read(path)) for name, (path, pattern) in FIGURES.items()}
    return {name: match[1] for name, match in found.items() if match}


def recorded() -> dict[str, str]:
    """Return the share of recorded answers that the engine and Azurite give, by service, and their number."""
    shares = {
        f"{service}s_{backend}": f"{counts['body'] / counts['exchanges']:.1%}"
        for backend, services in RECORDED["common"].items()
        for service, counts in services.items()
    }
    exchanges = sum(counts["exchanges"] for counts in RECORDED["common"]["engine"].values())
    return {**shares, "exchanges": f"{exchanges:,}"}


def _cells(each: CatalogEntry) -> tuple[str, ...]:
    page = page_of(each)
    title = f"[{each.title}](docs/{page})" if page else each.title
    return title, each.summary, f"`{each.classes[0]}`"


def _read(path: str) -> str:
    # A sentence may continue on the next line
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())
