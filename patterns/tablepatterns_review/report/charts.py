"""The two charts of the page as data: what each access pattern costs, and the load of partitions over a day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tablepatterns.figures import money, number, plural, short_share

from ..model import Reviewed, TableLoad
from .formatting import class_of, cost_sentence, costs, heat_sentence, hottest_first, peak_of

_MAX_BARS: Final = 15
_MAX_ROWS: Final = 24
_WARM: Final = 0.1
HEAT: Final = ((1.0, "over", "over the target"), (0.5, "hot", "over half"), (_WARM, "warm", "over a tenth"))
"""The least share of the target, the class, and its description; less is `cool`."""


@dataclass(frozen=True)
class Bar:
    """One bar of a chart.

    :param value: the figure, as text
    :param percent: its length
    :param kind: the class of the query, which has a color of its own
    """

    name: str
    value: str
    percent: float
    kind: str


@dataclass(frozen=True)
class CostChart:
    """The monthly cost of the most expensive access patterns.

    :param title: what it shows, as a sentence
    :param reading: how to read it
    """

    title: str
    reading: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class HeatRow:
    """A day of one partition.

    :param hours: the class of each hour by its highest rate; empty for an hour without load
    :param peak: the highest load, as a share of the target
    """

    partition: str
    hours: tuple[str, ...]
    peak: str


@dataclass(frozen=True)
class HeatChart:
    """The load of the busiest partitions of a table over a day.

    :param title: what it shows, as a sentence
    :param reading: how to read it
    """

    title: str
    reading: str
    rows: tuple[HeatRow, ...]


def cost_chart(reviewed: Reviewed) -> CostChart | None:
    """Return the chart of the costs, or None if there are none."""
    all_costs = costs(reviewed)
    in_money = any(cost.money for cost in all_costs)
    amounts = [(cost, (cost.money or 0.0) if in_money else cost.transactions) for cost in all_costs]
    amounts = sorted(((cost, amount) for cost, amount in amounts if amount > 0), key=lambda pair: -pair[1])
    if not amounts:
        return None
    currency, largest = reviewed.bill.currency, amounts[0][1]
    unit = f"{currency} a month" if in_money else "transactions a month"
    more = f" The {len(amounts) - _MAX_BARS} cheapest are left out." if len(amounts) > _MAX_BARS else ""
    bars = (
        Bar(
            cost.name,
            f"{class_of(cost.of)}, {money(amount, currency) if in_money else number(amount)}",
            100 * amount / largest,
            "write" if cost.of.query_class is None else cost.of.query_class.name.lower().replace("_", "-"),
        )
        for cost, amount in amounts[:_MAX_BARS]
    )
    reading = f"A bar for each access pattern: {unit}, at its average rate.{more}"
    return CostChart(f"{cost_sentence(reviewed)}.", reading, tuple(bars))


def heat_charts(reviewed: Reviewed) -> Iterator[HeatChart]:
    """Yield the chart of the hottest table, and of each other that reaches a tenth of its target."""
    for place, heat in enumerate(hottest_first(reviewed)):
        if any(partition.peak for partition in heat.partitions) and (not place or peak_of(heat) >= _WARM * heat.target):
            yield _heat_chart(heat)


def _heat_chart(heat: TableLoad) -> HeatChart:
    loaded = [partition for partition in heat.partitions if partition.peak]
    rows = loaded[:_MAX_ROWS]
    if heat.follows_time:
        rows.sort(key=lambda partition: (partition.rates.index(partition.peak), partition.partition))
    left_out = heat.others + len(loaded) - len(rows)
    verb = "is" if left_out == 1 else "are"
    more = f" {plural(left_out, 'partition')} with less load {verb} left out." if left_out else ""
    reading = (
        "Each row is the day of one partition, by the hour, with its peak at the right, as shares of the target of "
        f"{number(heat.target)} entities a second. Blank: no load.{more}"
    )
    return HeatChart(
        f"{heat_sentence(heat)}.",
        reading,
        tuple(
            HeatRow(row.partition, heat_classes(row.peaks_by_hour, heat.target), short_share(row.peak / heat.target))
            for row in rows
        ),
    )


def heat_classes(rates: Sequence[float], target: float) -> tuple[str, ...]:
    """Return the class of each rate, by its share of the target; empty if there is no load."""
    return tuple(_heat_class(rate / target) if rate > 0 else "" for rate in rates)


def _heat_class(portion: float) -> str:
    return next((name for least, name, _ in HEAT if portion > least), "cool")
