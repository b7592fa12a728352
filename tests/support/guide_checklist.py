"""Which rows of the guide's checklist the tests prove: `@pytest.mark.guide("G-098")`, and `--checklist` to see.

A row is proven if at least one test with its mark ran, and all such tests passed on all selected backends.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

ROWS = Path(__file__).parents[1] / "guide_rows.txt"
EXCEPTIONS = Path(__file__).parents[1] / "guide_exceptions.txt"
OUTCOMES = pytest.StashKey[defaultdict[str, set[bool]]]()


def sections(text: str) -> dict[str, dict[str, str]]:
    """Return the rows of each section, by their number."""
    found: dict[str, dict[str, str]] = {}
    for title, body in re.findall(r"^# (.+)\n((?:G-.+\n)+)", text, re.MULTILINE):
        found[title] = dict(line.split(" ", 1) for line in body.splitlines())
    return found


def exceptions() -> dict[str, str]:
    """Return the reasons for rows that are left open on purpose, by their number."""
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line.startswith("G-"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--checklist", action="store_true", help="show the rows of the guide's checklist that are open")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "guide(*rows): the rows of the guide's checklist that the test proves")
    config.addinivalue_line("markers", "guarantee(recipe, clause): what of a recipe the explored schedules prove")
    config.stash[OUTCOMES] = defaultdict(set)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    excepted = exceptions()
    known = {row for rows in sections(ROWS.read_text(encoding="utf-8")).values() for row in rows}
    for item in items:
        if unknown := [row for row in _rows(item) if row not in known or row in excepted]:
            raise pytest.UsageError(
                f"{item.nodeid} is marked with rows that the guide's checklist lacks, or excepts: {unknown}"
            )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" or not report.passed:
        for row in _rows(item):
            item.config.stash[OUTCOMES][row].add(report.passed)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("checklist"):
        return
    proven = {row for row, outcomes in config.stash[OUTCOMES].items() if outcomes == {True}}
    found = sections(ROWS.read_text(encoding="utf-8"))
    total = sum(map(len, found.values()))
    terminalreporter.section("rows of the guide's checklist that are open")
    for title, rows in found.items():
        still_open = {row: text for row, text in rows.items() if row not in {*proven, *exceptions()}}
        terminalreporter.line(f"{title}: {len(rows) - len(still_open)} of {len(rows)}", bold=True)
        for row, text in still_open.items():
            terminalreporter.line(f"  {row} {text}")
    terminalreporter.section("rows that are left open on purpose")
    for row, reason in exceptions().items():
        terminalreporter.line(f"  {row} {reason}")
    terminalreporter.line(f"{len(proven)} of {total} rows of the guide's checklist are proven", bold=True)


def _rows(item: pytest.Item) -> Iterator[str]:
    for marker in item.iter_markers("guide"):
        yield from marker.args
