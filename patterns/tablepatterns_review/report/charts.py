"""The chart of the page as data: the load of the busiest partitions of the hottest table over a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tablepatterns.figures import number, plural, short_share

from ..model import Reviewed
from .formatting import heat_sentence, hottest_first

_MAX_ROWS: Final = 24
_WARM: Final = 0.1
HEAT: Final = ((1.0, "over", "over the target"), (0.5, "hot", "over half"), (_WARM, "warm", "over a tenth"))
"""The least share of the target, the class, and its description; less is `cool`."""


@dataclass(frozen=True)
class Day:
    """A day of one partition.

    :param hours: the class of each hour by its highest rate; empty for an hour without load
    :param peak: the highest load, as a share of the target
    """

    partition: str
    hours: tuple[str, ...]
    peak: str


@dataclass(frozen=True)
class HeatChart:
    """The days of partitions: a sentence as its title, and how to read it."""

    title: str
    reading: str
    rows: tuple[Day, ...]


def heat_chart(reviewed: Reviewed) -> HeatChart | None:
    """Return the chart of the hottest table; None if no table has a load."""
    heat = next(iter(hottest_first(reviewed)), None)
    if heat is None or not heat.peak:
        return None
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
    return HeatChart(f"{heat_sentence(heat)}.", reading, tuple(days))


def heat_classes(rates: Sequence[float], target: float) -> tuple[str, ...]:
    """Return the class of each rate, by its share of the target; empty if there is no load."""
    return tuple(
        next((name for least, name, _ in HEAT if rate / target > least), "cool") if rate > 0 else "" for rate in rates
    )
