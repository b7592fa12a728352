"""How it is measured: the contestants take turns in every round, so that the machine's noise hits all of them alike.

The garbage collector stays on, as it is for users. What was loaded is frozen first, so that no contestant pays for
walking through the tables of another.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from random import Random

from rich.progress import Progress

from .contestants import Entry
from .data import Scale
from .results import Series


def measure(entries: Sequence[Entry], scale: Scale) -> dict[str, dict[str, Series]]:
    """Return the figures by case and contestant; a first round, which is not kept, warms everybody up."""
    gc.collect()
    gc.freeze()
    figures: dict[str, dict[str, Series]] = {}
    for entry in entries:
        figures.setdefault(entry.case.name, {})[entry.contestant] = Series(_calls(entry, scale.seconds))
    # No thread that redraws the bar: it would work while the others are measured
    with Progress(auto_refresh=False) as progress:
        task = progress.add_task("Rounds", total=scale.rounds + 1)
        for number in range(scale.rounds + 1):
            _round(entries, figures, number)
            progress.advance(task)
            progress.refresh()
    gc.unfreeze()
    return figures


def _round(entries: Sequence[Entry], figures: dict[str, dict[str, Series]], number: int) -> None:
    for entry in _order(entries, number):
        series = figures[entry.case.name][entry.contestant]
        wall, cpu = _sample(entry, series.calls, number)
        if number:
            series.wall.append(wall)
            series.cpu.append(cpu)


def _order(entries: Sequence[Entry], number: int) -> Iterator[Entry]:
    """Yield the entries case by case; another one begins in each round, so that nobody always follows the same."""
    cases: dict[str, list[Entry]] = {}
    for entry in entries:
        cases.setdefault(entry.case.name, []).append(entry)
    for group in cases.values():
        first = number % len(group)
        yield from group[first:] + group[:first]


def _calls(entry: Entry, seconds: float) -> int:
    """Return how many calls take about so many seconds."""
    wall, _ = _sample(entry, 1, 0)
    return max(1, round(seconds / wall))


def _sample(entry: Entry, calls: int, number: int) -> tuple[float, float]:
    """Return the seconds that one call takes, by the clock and of the processor's time."""
    case, table, random = entry.case, entry.table, Random(f"{entry.case.name}, round {number}")
    answer = case.call(table, case.ask(entry.loaded, random))
    asks = [case.ask(entry.loaded, random) for _ in range(calls)]
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for ask in asks:
        answer = case.call(table, ask)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    case.check(answer)
    return round(wall / calls, 8), round(cpu / calls, 8)
