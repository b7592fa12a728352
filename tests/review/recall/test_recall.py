"""Recall: compare the review's findings about designs with planted faults, and about sound ones, with the expected.

A finding that is not expected counts against precision, one that is missing against recall; rule, subject and severity
have to be right. How the designs came about is in `expected.toml`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from review.recall.recalled import DESIGNS, IN_EVERY_RUN, FindingKey, each_design, expected, said, score, wanted
from tablepatterns_review.rules import RULES

FEWEST_FAULTY = 25
FEWEST_SOUND = 8


@each_design
def test_what_is_said_of_a_design_is_what_a_reviewer_says(
    design_path: Path, compared: Callable[[set[FindingKey], set[FindingKey]], None]
) -> None:
    found = said(design_path)
    compared(found, wanted(design_path))
    assert found == wanted(design_path)


def test_there_are_enough_designs_of_either_kind() -> None:
    faulty = [path for path in DESIGNS if wanted(path)]
    assert len(faulty) >= FEWEST_FAULTY
    assert len(DESIGNS) - len(faulty) >= FEWEST_SOUND


def test_what_is_expected_is_expected_of_a_design_that_is_there() -> None:
    assert set(expected()) <= {(path.parent.name, path.stem) for path in DESIGNS}


def test_every_rule_is_called_for_by_a_design_of_every_run() -> None:
    called_for = {rule for path in IN_EVERY_RUN for rule, _, _ in wanted(path)}
    assert called_for == set(RULES)


def test_precision_and_recall_are_counted_by_rule_subject_and_severity() -> None:
    one, other = ("table-scan", "Orders: all", "serious"), ("table-scan", "Orders: all", "note")
    assert score([({one}, {one}), (set(), set())]) == (1.0, 1.0)
    assert score([({one, other}, {one})]) == (0.5, 1.0)
    assert score([({other}, {one}), ({one}, {one, other})]) == (0.5, 1 / 3)
