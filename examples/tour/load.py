"""Load each set of the tour with the bulk load recipe, and show progress, rate and time left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, groupby
from operator import itemgetter
from time import perf_counter
from typing import Any, Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from tablepatterns import BulkLoad, EntitySet, Storage
from tablepatterns.figures import count, counted, duration

from .data import Source
from .design import Design, departures

Rows = Sequence[dict[str, Any]]


class RateColumn(ProgressColumn):
    """The number of entities loaded per second."""

    def render(self, task: Task) -> Text:
        """Return the rate, once it is known."""
        rate = task.finished_speed or task.speed
        return Text("" if rate is None else f"{count(round(rate))}/s")


COLUMNS: Final = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    RateColumn(),
    TimeElapsedColumn(),
    TextColumn("left:"),
    TimeRemainingColumn(),
)


def load(
    source: Source, design: Design, console: Console, days: int, after_first_day: Callable[[], object] = lambda: None
) -> None:
    """Load all sets, and print the progress and the cost.

    :param after_first_day: called once the first day is loaded, after about a second
    """
    start = perf_counter()
    by_day = [list(flights) for _, flights in groupby(source.flights(days), itemgetter("Date"))]
    parts: list[tuple[str, EntitySet[Storage], Rows]] = [
        ("airlines", design.airlines, list(source.airlines())),
        ("airports", design.airports, list(source.airports())),
        ("planes", design.planes, list(source.planes())),
        ("flights, and their index by plane", design.flights, list(chain(*by_day[1:]))),
        ("departures, newest first", design.departures, list(departures(chain(*by_day)))),
    ]
    with Progress(*COLUMNS, console=console) as bars:
        transactions = _load(design.flights, by_day[0], bars, "flights of the first day")
    after_first_day()
    with Progress(*COLUMNS, console=console) as bars:
        transactions += sum(_load(entities, rows, bars, name) for name, entities, rows in parts)
    found = counted(len(by_day[0]) + sum(len(rows) for _, _, rows in parts), "entity")
    took = duration(perf_counter() - start)
    console.print(f"\n{found} in {counted(transactions, 'transaction')} and {took}\n")


def _load(entities: EntitySet[Storage], rows: Rows, bars: Progress, name: str) -> int:
    """Load one set, and return the number of transactions."""
    bar = bars.add_task(name, total=len(rows))
    loaded = BulkLoad(entities).load(rows, progress=lambda so_far: bars.update(bar, completed=so_far.entities))
    return loaded.transactions
