"""Each value is formatted in the same way in every format of a report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
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


SPELLED = [
    (figures.count, {1_234_567: "1,234,567"}),
    (figures.number, {0: "0", 3.0: "3", 2.44: "2.4", 0.15: "0.15", 0.012: "0.012", 1234.5: "1,234", 20_000: "20,000"}),
    (figures.number, {999_999.7: "1 million", 51_840_000: "51.8 million", inf: "∞"}),
    (figures.size, {400: "400 B", 65_536: "64 KiB", 2_000_000: "1.9 MiB", 1_048_575: "1 MiB"}),
    (figures.rate, {200: "200/s", 0.5: "30/min", 0.0005: "1.8/h", 0: "never"}),
    (figures.often, {200: "200 times a second", 0.5: "30 times a minute", 1 / 60: "once a minute", 0: "never"}),
    (figures.share, {0: "0%", 0.0004: "under 0.1%", 0.023: "2.3%", 0.616: "62%", 0.9999: "99.9%", 1.0: "100%"}),
    (figures.share, {3.14: "314%", 1200.0: "1,200 times"}),
    (figures.short_share, {0.0004: "<0.1%", 0.023: "2.3%"}),
    (figures.of_target, {0.5: "50% of its target", 12: "12 times its target"}),
    (figures.sum_of_money, {0: "0", 0.004: "under 0.01", 1.5: "1.50", 1234.56: "1,235", 2_500_000: "2.5 million"}),
    (figures.time_of_day, {36_780: "10:13"}),
    (figures.years_from_now, {0: "now", 0.1: "in 5 weeks", 0.5: "in 6 months", 2.25: "in 2.2 years"}),
    (figures.duration, {0.0234: "23.4 ms", 2.345: "2.3 s"}),
]


@pytest.mark.parametrize(("spell", "texts"), SPELLED)
def test_a_figure_has_no_more_digits_than_are_useful(spell: Callable[[float], str], texts: Mapping[float, str]) -> None:
    assert {value: spell(value) for value in texts} == texts


def test_a_figure_is_joined_with_its_word() -> None:
    plurals = [figures.plural(number, word) for number, word in ((1, "note"), (2, "query"), (2, "day"), (1_200, "row"))]
    assert plurals == ["1 note", "2 queries", "2 days", "1,200 rows"]
    assert [figures.counted(1, "query"), figures.counted(1_234_567, "row")] == ["1 query", "1,234,567 rows"]
    assert [figures.amount(65_536, "bytes of a property"), figures.amount(252, "properties")] == ["64 KiB", "252"]
    assert figures.money(1.5, "USD") == "1.50 USD"
    names = ["Email", "Age", "City"]
    assert [figures.listed(names[:1]), figures.listed(names)] == ["Email", "Email, Age and City"]
    assert figures.listed(names, most=1) == "Email and 2 more"


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
