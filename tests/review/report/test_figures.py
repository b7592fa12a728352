"""Each value is formatted in the same way in every format of a report."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from review.report.sample import sample
from review.report.test_text import printed
from review.rules.made import EMPLOYEES, found
from tablepatterns import figures
from tablepatterns.limits import MAX_STRING_BYTES
from tablepatterns_review.report import as_json, html, markdown
from tablepatterns_review.result import LimitUse, Reviewed

SOURCE = Path(__file__).parents[3] / "patterns" / "tablepatterns"
LARGEST = 2_000_000
FORMATTED = re.compile(r"\{[^{}\"]*:[,.]?[\d,]*\.?\d*[fe%,]\}")


def reviewed(largest: float = LARGEST) -> Reviewed:
    """Return a review that tells of one size in a finding and in the table of limits."""
    sight = LimitUse("bytes of a property", "Employees", largest, largest, MAX_STRING_BYTES, 0.0)
    return replace(sample(), findings=tuple(found(sets=[EMPLOYEES], in_sight=[sight])), in_sight=(sight,))


@pytest.mark.parametrize(
    "largest",
    [70_000, *(pytest.param(each, marks=pytest.mark.nightly) for each in (400_000, LARGEST, 5_000_000_000))],
)
def test_a_size_has_one_spelling_in_every_format(largest: float) -> None:
    review = reviewed(largest)
    spelled = figures.size(largest)
    pages = {
        "text": " ".join(printed(review, 400).split()),
        "markdown": markdown(review),
        # What rules look for names limits that the design has nothing to do with
        "html": re.sub(r"<details>.*?</details>", "", html(review)),
        "json": as_json(review),
    }
    for name, page in pages.items():
        assert f"takes up to {spelled}; the limit is 64 KiB" in page, name
        sizes = set(re.findall(r"\b[\d,.]+ (?:[KMGT]i?B|B|bytes)\b", page))
        assert sizes == {spelled, "64 KiB"}, name
    assert json.loads(pages["json"])["limits"][0]["now"] == largest


def test_a_rate_has_one_figure_in_tables_and_sentences() -> None:
    for rate in (200, 2.26, 0.9996, 1 / 60, 0.0003, 1e-6, 1e-9):
        spelled, unit = figures.rate(rate).split("/")
        words = figures.often(rate)
        assert words.startswith("once a" if spelled == "1" else f"{spelled} times a")
        assert words.split()[-1].startswith(unit[:1])


def test_no_number_rounds_to_a_thousand_of_its_own_unit() -> None:
    for power in range(3, 13):
        for value in (10**power * 0.99996, 10**power - 0.4):
            assert not re.match(r"1,000 \w", figures.number(value)), value
    for power in range(1, 5):
        assert not figures.size(1024**power - 1).startswith("1,024"), power


@pytest.mark.parametrize("folder", ["review", "traffic", "cli", "inventory"])
def test_nothing_else_formats_figures(folder: str) -> None:
    allowed = {"{tally.seconds:,.3f}", "{hour:.0f}"}
    for path in sorted((SOURCE / folder).rglob("*.py")):
        found_here = set(FORMATTED.findall(path.read_text(encoding="utf-8")))
        assert found_here <= allowed, f"{path}: use tablepatterns.figures for {found_here - allowed}"
