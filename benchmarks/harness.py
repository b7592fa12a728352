"""The measurement: the contestants take turns in every round, so that noise affects all of them equally.

The garbage collector stays on, as for users. Loaded data is frozen first, so that no contestant pays for the objects of
another.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from rich.progress import Progress

from .case import Entry
from .data import Effort
from .results import Series

AnyEntry = Entry[Any]


def measure(entries: Sequence[AnyEntry], scale: Effort) -> dict[str, dict[str, Series]]:
    """Return the figures by case and contestant. A first round warms up and is not counted."""
    gc.collect()
    gc.freeze()
    figures: dict[str, dict[str, Series]] = {}
    for entry in entries:
        figures.setdefault(entry.case.name, {})[entry.contestant] = Series(_calls(entry, scale.seconds))
    # No thread redraws the bar, since it would run during measurements
    with Progress(auto_refresh=False) as progress:
        task = progress.add_task("Rounds", total=scale.rounds + 1)
        for number in range(scale.rounds + 1):
            _round(entries, figures, number)
            progress.advance(task)
            progress.refresh()
    gc.unfreeze()
    return figures


def _round(entries: Sequence[AnyEntry], figures: dict[str, dict[str, Series]], number: int) -> None:
    for entry in _order(entries, number):
        if number % entry.case.every:
            continue
        series = figures[entry.case.name][entry.contestant]
        wall, cpu = _sample(entry, series.calls, number)
        if number:
            series.wall.append(wall)
            series.cpu.append(cpu)


def _order(entries: Sequence[AnyEntry], number: int) -> Iterator[AnyEntry]:
    """Yield the entries case by case. A different one starts each round, so that the order does not favor any."""
    cases: dict[str, list[AnyEntry]] = {}
    for entry in entries:
        cases.setdefault(entry.case.name, []).append(entry)
    for group in cases.values():
        first = number // group[0].case.every % len(group)
        yield from group[first:] + group[:first]


def _calls(entry: AnyEntry, seconds: float) -> int:
    """Return how many calls take about this many seconds."""
    _sample(entry, 1, 0)
    wall, _ = _sample(entry, 1, 0)
    return max(1, round(seconds / wall))


def _sample(entry: AnyEntry, calls: int, number: int) -> tuple[float, float]:
    """Return the wall time and the CPU time of one call in seconds.

    A first call is not timed, so that the caches of the previous contestant have no effect. A call that takes all of
    the time has no such first call.
    """
    case, client, random = entry.case, entry.client, Random(f"{entry.case.name}, round {number}")
    asked = calls + (calls > 1)
    asks = [case.ask(entry.place, random) for _ in range(asked)]
    answer = case.call(client, asks.pop()) if calls > 1 else None
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for ask in asks:
        answer = case.call(client, ask)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    case.check(answer)
    if case.after is not None:
        case.after(entry.place, asked, asked if entry.carries_out else 0)
    return round(wall / calls, 8), round(cpu / calls, 8)
