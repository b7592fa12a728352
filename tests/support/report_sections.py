"""Sections at the end of pytest's report, collected from all processes that share the tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

_SECTIONS = pytest.StashKey[dict[str, list[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SECTIONS] = {}


def add_section(config: pytest.Config, title: str, lines: Iterable[str]) -> None:
    """Add a section to the report. Call it when the session finishes."""
    config.stash[_SECTIONS][title] = list(lines)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["sections"] = session.config.stash[_SECTIONS]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # A worker that crashed has no output
    sections = getattr(node, "workeroutput", {}).get("sections", {})
    node.config.stash[_SECTIONS].update(sections)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for title, lines in config.stash[_SECTIONS].items():
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)
