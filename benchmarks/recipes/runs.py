"""The measurement of recipes: each does a piece of work on many entities, on its own account, in turn with others."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.progress import Progress

from ..results import Series

Work = Callable[[], Any]


@dataclass(frozen=True)
class Run:
    """One contestant's way to do a piece of work.

    :param count: the number of entities
    :param prepare: prepare the work, and return it as a function; not timed
    :param is_right: return whether the result of the work is correct
    """

    case: str
    contestant: str
    count: int
    prepare: Callable[[], Work]
    is_right: Callable[[Any], bool]


def measure(runs: Sequence[Run], rounds: int) -> dict[str, dict[str, Series]]:
    """Return the times per entity by case and contestant. A different contestant starts each round."""
    # Each run looks for garbage first: not among what lives until the end
    gc.collect()
    gc.freeze()
    figures: dict[str, dict[str, Series]] = {}
    for run in runs:
        figures.setdefault(run.case, {})[run.contestant] = Series(run.count)
    with Progress(auto_refresh=False) as progress:
        task = progress.add_task("Recipes", total=rounds * len(runs))
        for number in range(rounds):
            for case in figures:
                group = [run for run in runs if run.case == case]
                first = number % len(group)
                for run in group[first:] + group[:first]:
                    _measure(run, figures[case][run.contestant])
                    progress.advance(task)
                    progress.refresh()
    gc.unfreeze()
    return figures


def _measure(run: Run, series: Series) -> None:
    work = run.prepare()
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    answer = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if not run.is_right(answer):
        raise AssertionError(f"{run.case}, {run.contestant}: {str(answer)[:200]} is not what was to be done")
    series.wall.append(round(wall / run.count, 8))
    series.cpu.append(round(cpu / run.count, 8))
