"""The charts of the page: what they say, and what is in them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from review.report.sample import clean, sample
from tablepatterns_review.report.html import heat_chart, heat_classes


def test_only_the_hottest_table_has_a_chart_whose_title_says_the_finding() -> None:
    chart = heat_chart(sample())
    assert chart is not None
    assert chart.title == "Log: the current partition takes up to 310% of its target, and exceeds it from 07:00."


def test_each_partition_has_its_hours_and_its_peak() -> None:
    chart = heat_chart(sample())
    assert chart is not None
    hours, peak = next(row[1:] for row in chart.rows if row[0] == "2014-08-22T12")
    assert (hours[12], hours[11], peak) == ("over", "", "310%")
    assert all(len(row[1]) == 24 for row in chart.rows)


def test_partitions_with_less_load_are_counted() -> None:
    employees = replace(sample(), heats=clean().heats)
    chart = heat_chart(employees)
    assert chart is not None
    assert "4,005 partitions with less load are left out" in chart.reading


def test_nothing_is_drawn_where_there_is_no_load() -> None:
    reviewed = clean()
    assert heat_chart(replace(reviewed, heats=(replace(reviewed.heats[0], partitions=()),))) is None


@given(st.lists(st.floats(0, 5_000, allow_subnormal=False), min_size=1, max_size=300))
def test_the_hottest_moment_of_a_day_is_on_the_chart(rates: list[float]) -> None:
    order = ("over", "hot", "warm", "cool")
    classes = [each for each in heat_classes(rates, 2_000.0) if each]
    peak = max(rates) / 2_000.0
    assert bool(classes) == (peak > 0)
    if classes:
        worst = min(map(order.index, classes))
        assert worst == (0 if peak > 1 else 1 if peak > 0.5 else 2 if peak > 0.1 else 3)
