"""What the comparison asks for, and what it tells at the end: how often it looked away, and why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from differential.run import Runs
from differential.run import runs as runs_on
from differential.tally import Tally

TALLY = pytest.StashKey[Tally]()


@pytest.fixture
def runs(azurite: str, request: pytest.FixtureRequest) -> Iterator[Runs]:
    """The means to compare the engine with Azurite."""
    with runs_on(azurite) as runs:
        request.config.stash[TALLY] = runs.tally
        yield runs


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if TALLY in config.stash:
        terminalreporter.section("engine against Azurite")
        for line in config.stash[TALLY].lines():
            terminalreporter.line(line)
