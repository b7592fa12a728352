"""The page on reviews: it is current, and its example is a design."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tablepatterns_review.cli import FailOn, Form
from tablepatterns_review.design_file.reader import read_design
from tablepatterns_review.report import as_json
from tablepatterns_review.reviewer import review
from tablepatterns_review.rules import RULES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/review.md"
EXAMPLE = ROOT / "docs/data/review_example"
RULES_TABLE = ROOT / "docs/data/review-rules.tsv"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_marker_of_the_page_is_replaced(page: str) -> None:
    assert "<!--" not in page


def test_the_example_gives_the_same_report_in_both_forms() -> None:
    in_python = runpy.run_path(str(EXAMPLE.with_suffix(".py")))["design"]
    found = review(read_design(EXAMPLE.with_suffix(".toml")))
    assert as_json(review(in_python)) == as_json(found)
    assert [each.rule for each in found.findings] == ["missing-index"]


def test_the_example_of_an_archive_is_a_design_without_findings(page: str) -> None:
    section = page.partition("### Declare archives")[2].partition("\n### ")[0]
    examples = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    found = review(read_design("\n".join(['name = "Shop"', *examples])))
    assert found.findings == ()
    assert {each.of.name for each in found.measured} == {"Orders"}


def test_the_page_links_a_table_of_every_rule(page: str) -> None:
    assert f"({RULES_TABLE.relative_to(PAGE.parent)})" in page
    table = RULES_TABLE.read_text(encoding="utf-8").splitlines()
    assert {line.partition("\t")[0] for line in table} >= {*RULES}


def test_the_page_names_every_choice(page: str) -> None:
    assert {each.value for each in FailOn} <= set(page.replace("`", " ").replace("|", " ").split())
    assert [each.value for each in Form if each.value not in page and f".{each.value}" not in page] == []
