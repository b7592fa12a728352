"""The review's findings about the designs in this folder, the expected ones, and how well they agree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tablepatterns_review import Reviewed, read_design
from tablepatterns_review.advice.changes import Change
from tablepatterns_review.reviewer import review_with_changes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent
KINDS = (
    "faulty",
    "sound",
    "held_out",
    "held_out_2",
    "held_out_3",
    "held_out_4",
    "held_out_5",
    "held_out_6",
    "held_out_7",
    "held_out_8",
    "held_out_9",
    "held_out_10",
    "held_out_11",
    "held_out_12",
    "held_out_13",
    "held_out_14",
    "held_out_15",
    "held_out_16",
    "held_out_17",
    "held_out_18",
    "held_out_19",
    "held_out_20",
    "held_out_21",
    "held_out_22",
    "held_out_23",
)
DESIGNS = sorted(path for kind in KINDS for path in (FOLDER / kind).glob("*.toml"))

FindingKey: TypeAlias = tuple[str, str, str]
"""Rule, subject and severity of a finding."""


@cache
def expected() -> dict[tuple[str, str], set[FindingKey]]:
    """Return the expected findings, by kind and name of a design."""
    found = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
    return {
        (kind, name): {(rule, subject, severity) for rule, subject, severity in findings}
        for kind, designs in found.items()
        for name, findings in designs.items()
    }


def wanted(path: Path) -> set[FindingKey]:
    """Return the expected findings about one design."""
    return expected().get((path.parent.name, path.stem), set())


def _few_with_every_rule() -> set[Path]:
    """Return designs that expect all rules together, those first that expect many for their length."""
    rules = {path: {rule for rule, _, _ in wanted(path)} for path in DESIGNS}
    designs, missing = set[Path](), set[str]().union(*rules.values())
    while missing:
        path = max(DESIGNS, key=lambda path: len(rules[path] & missing) / path.stat().st_size)
        designs.add(path)
        missing -= rules[path]
    return designs


SOUND = 5
"""The number of sound designs that are reviewed in every run."""
BY_LENGTH = sorted(DESIGNS, key=lambda path: path.stat().st_size)
IN_EVERY_RUN = {
    *_few_with_every_rule(),
    *[path for path in BY_LENGTH if path.parent.name == "sound"][:SOUND],
}
each_design: Callable[[Any], Any] = pytest.mark.parametrize(
    "design_path",
    [pytest.param(path, marks=[] if path in IN_EVERY_RUN else pytest.mark.nightly) for path in DESIGNS],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
    scope="session",
)
"""Runs a test for each design. The scope puts all tests of a design together, so that one process reviews it once."""


@cache
def reviewed(path: Path) -> tuple[Reviewed, tuple[Change | None, ...]]:
    """Return the review of one design, which tests of a process share, and the change of each finding."""
    return review_with_changes(read_design(path))


def said(path: Path) -> set[FindingKey]:
    """Return the review's findings about one design."""
    found = [each for first in reviewed(path)[0].findings for each in (first, *first.resolves)]
    return {(each.rule, each.subject, each.severity.name.lower()) for each in found}


def score(pairs: Iterable[tuple[set[FindingKey], set[FindingKey]]]) -> tuple[float, float]:
    """Return precision and recall, given pairs of reported and expected findings."""
    right = reported = planted = 0
    for saying, wanting in pairs:
        right, reported, planted = right + len(saying & wanting), reported + len(saying), planted + len(wanting)
    return right / max(1, reported), right / max(1, planted)
