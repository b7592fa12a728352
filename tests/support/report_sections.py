"""What a run tells at its end beside pytest's own summary, also where several processes share the tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

_TOLD = pytest.StashKey[dict[str, list[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TOLD] = {}


def tell(config: pytest.Config, title: str, lines: Iterable[str]) -> None:
    """Have lines shown under a title when the run has ended; to be called when the session finishes."""
    config.stash[_TOLD][title] = list(lines)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["sections"] = session.config.stash[_TOLD]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # A process that crashed tells nothing
    told = getattr(node, "workeroutput", {}).get("sections", {})
    node.config.stash[_TOLD].update(told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for title, lines in config.stash[_TOLD].items():
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)
