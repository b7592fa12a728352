"""The plots: their content, and that they are deterministic."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st

from review.report.sample import HOSTILE, clean, hostile, sample
from tablepatterns.review.model import Bill, Reviewed
from tablepatterns.review.report.formatting import plain
from tablepatterns.review.report.plots import Plot, Plots, cells, plots

SVG = "{http://www.w3.org/2000/svg}"


def every(found: Plots) -> list[Plot]:
    return [each for each in (found.cost, found.load, *found.heats) if each is not None]


@pytest.fixture(scope="module")
def drawn() -> Plots:
    return plots(sample())


def words(svg: str) -> list[str]:
    return ["".join(each.itertext()).strip() for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_titles_say_the_finding(drawn: Plots) -> None:
    assert [each.title for each in every(drawn)] == [
        "“log a request” takes 91% of the 269.50 USD that transactions cost a month.",
        "The busiest partition of Log takes 310% of its target; nothing else takes more than 56%.",
        "Log: the current partition takes up to 310% of its target, and exceeds it from 07:00.",
        "Employees: “Sales”, the busiest partition, takes up to 56% of its target.",
    ]


def test_text_stays_text_in_both_widths(drawn: Plots) -> None:
    assert drawn.cost
    for svg in (drawn.cost.wide, drawn.cost.narrow):
        assert {"log a request", "write, 246.17 USD", "employees by office", "table scan, 0.04 USD"} <= set(words(svg))
    assert "2014-08-22T12" in words(drawn.heats[0].wide)


def test_each_class_of_query_has_a_fill_of_its_own(drawn: Plots) -> None:
    assert drawn.cost
    fills = {"--point", "--range", "--write"}
    assert fills <= set(re.findall(r"fill: var\((--[\w-]+)\)", drawn.cost.wide))
    assert len(re.findall("<pattern", drawn.cost.wide)) == 2


def test_every_colour_is_one_of_the_page(drawn: Plots) -> None:
    for each in every(drawn):
        for svg in (each.wide, each.narrow):
            assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) == set()


def test_pictures_contain_no_date_and_no_program_version(drawn: Plots) -> None:
    again = plots(sample())
    assert every(again) == every(drawn)
    assert not any("metadata" in each.wide or "matplotlib.org" in each.wide for each in every(drawn))


def test_a_name_of_a_design_is_text_in_a_plot() -> None:
    found = plots(hostile())
    assert found.load
    assert any(word.startswith(plain(HOSTILE)[:8]) for word in words(found.load.wide))


def test_names_that_look_like_colours_or_formulas_stay_as_they_are() -> None:
    reviewed = clean()
    heat = replace(reviewed.heats[0], table="$x^2$ #010210 url(#a) 表")
    found = plots(replace(reviewed, heats=(heat,)))
    assert found.load
    assert "$x^2$ #010210 url(#a) 表" in words(found.load.wide)


def test_nothing_is_drawn_where_there_is_nothing_to_show() -> None:
    reviewed = clean()
    idle = replace(
        reviewed,
        measured=(),
        heats=(replace(reviewed.heats[0], partitions=()),),
        account=replace(reviewed.account, rates=()),
    )
    assert plots(idle) == Plots(None, None, ())


def test_cost_is_in_transactions_where_the_bill_has_no_prices_for_them() -> None:
    found = plots(_without_prices(sample()))
    assert found.cost
    assert found.cost.title == "“log a request” takes 91% of the transactions of a month."
    assert "transactions a month" in words(found.cost.wide)


def _without_prices(reviewed: Reviewed) -> Reviewed:
    bill = reviewed.bill
    free = tuple(replace(each, cost_a_month=None) for each in reviewed.measured)
    return replace(reviewed, measured=free, bill=Bill((), 0.0, 0.0, bill.currency, bill.dated, bill.source))


@given(st.lists(st.floats(0, 5_000, allow_subnormal=False), min_size=1, max_size=300))
def test_the_hottest_moment_of_a_day_is_on_the_map(rates: list[float]) -> None:
    found = [each for each in cells(rates, 2_000.0) if each is not None]
    peak = max(rates) / 2_000.0
    assert bool(found) == (peak > 0)
    if found:
        assert min(found) == (0 if peak > 1 else 1 if peak > 0.5 else 2 if peak > 0.1 else 3)
