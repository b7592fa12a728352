"""The designs of docs/reviews: both declarations are equal, and the stored reports are up to date."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
from tools import reviews

from tablepatterns_review import Design, PriceTable, Severity, read_design
from tablepatterns_review.measure.measure import Measurements
from tablepatterns_review.reviewer import without_advice

DOCS = Path(__file__).parents[2] / "docs"
NAIVE = "employees_naive"
"""Its review tries many changes, and takes longer."""
DESIGNS = sorted(path.stem for path in (DOCS / "reviews").glob("*.toml"))


def declared(design: Design) -> object:
    """Return all that a design says; derived data and mappings say by their repr what they are."""
    said = [
        (
            *(each.name, each.table, each.key, each.shape, each.pattern, dict(each.settings)),
            *(list(map(repr, each.derived)), list(map(repr, each.mappings))),
            *(each.queries, each.writes, each.retention),
        )
        for each in design.sets
    ]
    return design.name, design.years, said


def without_plots(page: str) -> str:
    """Return a page without what matplotlib drew, which another version of it draws otherwise."""
    return re.sub(r"<svg.*?</svg>", "<svg/>", page, flags=re.DOTALL)


def test_every_design_is_on_the_page() -> None:
    assert sorted(reviews.DESIGNS) == DESIGNS


@pytest.mark.parametrize("name", DESIGNS)
def test_the_design_in_python_is_that_of_the_file(name: str) -> None:
    in_python: Design = runpy.run_path(str(DOCS / "reviews" / f"{name}.py"))["design"]
    assert declared(in_python) == declared(read_design(DOCS / "reviews" / f"{name}.toml"))


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[] if each == "log_prepend_append" else pytest.mark.nightly) for each in DESIGNS],
)
def test_the_kept_reports_are_up_to_date(name: str) -> None:
    for file, text in reviews.reports(name).items():
        kept = (DOCS / "reviews" / file).read_text(encoding="utf-8")
        assert without_plots(text) == without_plots(kept), f"{file} is out of date: make reviews"


def test_the_report_of_the_example_is_up_to_date() -> None:
    kept = (DOCS / "reviews" / f"{reviews.EXAMPLE}.md").read_text(encoding="utf-8")
    assert kept == reviews.example_report(), "staff.md is out of date: make reviews"


def test_the_designs_of_recall_are_counted_on_the_page() -> None:
    assert reviews.recall() in (DOCS / "reviews" / "index.md").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_the_page_that_compares_them_is_up_to_date() -> None:
    kept = (DOCS / "reviews" / "index.md").read_text(encoding="utf-8")
    assert kept == reviews.comparison(), "docs/reviews/index.md is out of date: make reviews"


def test_what_the_naive_design_does_wrong_the_improved_one_does_not() -> None:
    design = read_design(DOCS / "reviews" / f"{NAIVE}.toml")
    _, naive = without_advice(design, PriceTable.default(), Measurements())
    assert naive.severity is Severity.SERIOUS
    assert reviews.reviewed("employees_improved").findings == ()


def test_the_log_has_the_fault_that_the_guide_names_and_takes_long_to_read() -> None:
    hot, long = reviews.reviewed("log_prepend_append").findings
    assert (hot.rule, hot.severity, hot.pattern) == ("prepend-append", Severity.SERIOUS, "blob_log")
    assert long.rule == "long-answer"


def test_the_schema_that_editors_read_is_up_to_date_and_named_by_each_design() -> None:
    kept = (DOCS / "reviews" / "design.schema.json").read_text(encoding="utf-8")
    # The order of the members depends on the version of pydantic
    assert json.loads(kept) == json.loads(reviews.design_schema()), (
        "docs/reviews/design.schema.json is out of date: make reviews"
    )
    for name in DESIGNS:
        first = (DOCS / "reviews" / f"{name}.toml").read_text(encoding="utf-8").partition("\n")[0]
        assert first == "#:schema ./design.schema.json"
