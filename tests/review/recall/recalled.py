"""The review's findings about the designs in this folder, the expected ones, and how well they agree."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from tablepatterns.review import read_design, review

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent
KINDS = ("faulty", "sound", "held_out", "held_out_2", "held_out_3", "held_out_4", "held_out_5", "held_out_6")
DESIGNS = sorted(path for kind in KINDS for path in (FOLDER / kind).glob("*.toml"))

FindingKey: TypeAlias = tuple[str, str, str]
"""Rule, subject and severity of a finding."""


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


def said(path: Path) -> set[FindingKey]:
    """Return the review's findings about one design."""
    found = [each for first in review(read_design(path)).findings for each in (first, *first.resolves)]
    return {(each.rule, each.subject, each.severity.name.lower()) for each in found}


def score(pairs: Iterable[tuple[set[FindingKey], set[FindingKey]]]) -> tuple[float, float]:
    """Return precision and recall, given pairs of reported and expected findings."""
    right = reported = planted = 0
    for saying, wanting in pairs:
        right, reported, planted = right + len(saying & wanting), reported + len(saying), planted + len(wanting)
    return right / max(1, reported), right / max(1, planted)
