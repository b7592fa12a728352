"""The two charts of the page as data: what each access pattern costs, and the load of partitions over a day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from tablepatterns.figures import money, number, plural, short_share

from ..model import Reviewed, TableLoad
from .formatting import class_of, cost_sentence, costs, heat_sentence, hottest_first

_MAX_BARS: Final = 15
_MAX_ROWS: Final = 24
_WARM: Final = 0.1
HEAT: Final = ((1.0, "over", "over the target"), (0.5, "hot", "over half"), (_WARM, "warm", "over a tenth"))
"""The least share of the target, the class, and its description; less is `cool`."""


@dataclass(frozen=True)
class Bar:
    """The bar of an access pattern; `kind` is the class of the query, which has a color of its own."""

    name: str
    value: str
    percent: float
    kind: str


@dataclass(frozen=True)
class Day:
    """A day of one partition.

    :param hours: the class of each hour by its highest rate; empty for an hour without load
    :param peak: the highest load, as a share of the target
    """

    partition: str
    hours: tuple[str, ...]
    peak: str


Row = TypeVar("Row", Bar, Day)


@dataclass(frozen=True)
class Chart(Generic[Row]):
    """A chart of rows: a sentence as its title, and how to read it."""

    title: str
    reading: str
    rows: tuple[Row, ...]


def cost_chart(reviewed: Reviewed) -> Chart[Bar] | None:
    """Return the chart of the monthly cost of the most expensive access patterns, or None if there are none."""
    in_money = any(call.cost_a_month for call in reviewed.measured)
    amounts = [
        (name, call, (call.cost_a_month or 0.0) if in_money else call.transactions_a_month)
        for name, call in costs(reviewed)
    ]
    amounts = sorted((cost for cost in amounts if cost[2] > 0), key=lambda cost: -cost[2])
    if not amounts:
        return None
    currency, largest = reviewed.bill.currency, amounts[0][2]
    unit = f"{currency} a month" if in_money else "transactions a month"
    more = f" The {len(amounts) - _MAX_BARS} cheapest are left out." if len(amounts) > _MAX_BARS else ""
    bars = (
        Bar(
            name,
            f"{class_of(call)}, {money(amount, currency) if in_money else number(amount)}",
            100 * amount / largest,
            "write" if call.query_class is None else call.query_class.name.lower().replace("_", "-"),
        )
        for name, call, amount in amounts[:_MAX_BARS]
    )
    reading = f"A bar for each access pattern: {unit}, at its average rate.{more}"
    return Chart(f"{cost_sentence(reviewed)}.", reading, tuple(bars))


def heat_charts(reviewed: Reviewed) -> Iterator[Chart[Day]]:
    """Yield the chart of the hottest table, and of each other that reaches a tenth of its target."""
    for place, heat in enumerate(hottest_first(reviewed)):
        if any(partition.peak for partition in heat.partitions) and (not place or heat.peak >= _WARM * heat.target):
            yield _heat_chart(heat)


def _heat_chart(heat: TableLoad) -> Chart[Day]:
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
    days = (
        Day(row.partition, heat_classes(row.peaks_by_hour, heat.target), short_share(row.peak / heat.target))
        for row in rows
    )
    return Chart(f"{heat_sentence(heat)}.", reading, tuple(days))


def heat_classes(rates: Sequence[float], target: float) -> tuple[str, ...]:
    """Return the class of each rate, by its share of the target; empty if there is no load."""
    return tuple(
        next((name for least, name, _ in HEAT if rate / target > least), "cool") if rate > 0 else "" for rate in rates
    )
