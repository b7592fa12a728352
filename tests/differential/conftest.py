"""Fixtures of the comparison, and its final report: how often each exclusion applied."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from differential.run import Runs
from differential.run import runs as runs_on
from differential.service import Service
from differential.services import SERVICES
from differential.tally import Tally

TALLIES = pytest.StashKey[dict[str, Tally]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLIES] = {}


@pytest.fixture(params=SERVICES.values(), ids=SERVICES)
def service(request: pytest.FixtureRequest) -> Service:
    """Each of the services."""
    found: Service = request.param
    return found


@pytest.fixture
def runs(service: Service, azurite: str, request: pytest.FixtureRequest) -> Iterator[Runs]:
    """The means to compare the engine with Azurite."""
    with runs_on(service, azurite) as runs:
        request.config.stash[TALLIES][service.name] = runs.tally
        yield runs


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Later than pytest, which would not rewrite the assertions of a plugin that was imported before
    from support.report_sections import add_section

    for name, tally in session.config.stash.get(TALLIES, {}).items():
        add_section(session.config, f"{name} of the engine and of Azurite", tally.lines())
