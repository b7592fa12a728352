"""The charts of the page: what they say, and what is in them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from review.report.sample import clean, sample
from tablepatterns_review.model import Bill, Reviewed
from tablepatterns_review.report.charts import cost_chart, heat_charts, heat_classes


def test_titles_say_the_finding() -> None:
    cost = cost_chart(sample())
    assert cost is not None
    assert [cost.title, *(each.title for each in heat_charts(sample()))] == [
        "“log a request” takes 91% of the 269.50 USD that transactions cost a month.",
        "Log: the current partition takes up to 310% of its target, and exceeds it from 07:00.",
        "Employees: “Sales”, the busiest partition, takes up to 56% of its target.",
    ]


def test_each_access_pattern_with_a_cost_has_a_bar_of_its_class() -> None:
    cost = cost_chart(sample())
    assert cost is not None
    bars = [(bar.name, bar.value, bar.kind) for bar in cost.rows]
    assert ("log a request", "write, 246.17 USD", "write") in bars
    assert ("employees by office", "table scan, 0.04 USD", "table-scan") in bars
    lengths = [bar.percent for bar in cost.rows]
    assert lengths[0] == 100
    assert lengths == sorted(lengths, reverse=True)


def test_each_partition_has_its_hours_and_its_peak() -> None:
    log, staff = heat_charts(sample())
    noon = next(row for row in log.rows if row.partition == "2014-08-22T12")
    assert (noon.hours[12], noon.hours[11], noon.peak) == ("over", "", "310%")
    assert all(len(row.hours) == 24 for row in (*log.rows, *staff.rows))
    assert "4,005 partitions with less load are left out" in staff.reading


def test_nothing_is_drawn_where_there_is_nothing_to_show() -> None:
    reviewed = clean()
    idle = replace(reviewed, measured=(), heats=(replace(reviewed.heats[0], partitions=()),))
    assert cost_chart(idle) is None
    assert list(heat_charts(idle)) == []


def test_cost_is_in_transactions_where_the_bill_has_no_prices_for_them() -> None:
    cost = cost_chart(_without_prices(sample()))
    assert cost is not None
    assert cost.title == "“log a request” takes 91% of the transactions of a month."
    assert "transactions a month" in cost.reading


def _without_prices(reviewed: Reviewed) -> Reviewed:
    bill = reviewed.bill
    free = tuple(replace(each, cost_a_month=None) for each in reviewed.measured)
    return replace(reviewed, measured=free, bill=Bill((), 0.0, 0.0, bill.currency, bill.dated, bill.source))


@given(st.lists(st.floats(0, 5_000, allow_subnormal=False), min_size=1, max_size=300))
def test_the_hottest_moment_of_a_day_is_on_the_chart(rates: list[float]) -> None:
    order = ("over", "hot", "warm", "cool")
    classes = [each for each in heat_classes(rates, 2_000.0) if each]
    peak = max(rates) / 2_000.0
    assert bool(classes) == (peak > 0)
    if classes:
        worst = min(map(order.index, classes))
        assert worst == (0 if peak > 1 else 1 if peak > 0.5 else 2 if peak > 0.1 else 3)
