"""Report precision and recall of the review's findings at the end of the run."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from review.recall.recalled import FindingKey, score
from support.report_sections import add_section

PAIRS = pytest.StashKey[list[tuple[set[FindingKey], set[FindingKey]]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[PAIRS] = []


@pytest.fixture
def compared(request: pytest.FixtureRequest) -> Callable[[set[FindingKey], set[FindingKey]], None]:
    """Note what was said of a design, and what was wanted."""

    def note(said: set[FindingKey], wanted: set[FindingKey]) -> None:
        request.config.stash[PAIRS].append((said, wanted))

    return note


def pytest_sessionfinish(session: pytest.Session) -> None:
    if pairs := session.config.stash.get(PAIRS, []):
        precision, recall = score(pairs)
        expected, found = sum(len(wanted) for _, wanted in pairs), sum(len(said) for said, _ in pairs)
        line = f"{len(pairs)} designs, {expected} findings expected, {found} made"
        title = f"review: recall {recall:.0%}, precision {precision:.0%} (process {os.getpid()})"
        add_section(session.config, title, [line])
