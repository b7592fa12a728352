"""Calls of recipes beside the same requests by the SDK's own clients: `python -m benchmarks.recipes.calls`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, Final

from . import pattern_calls, set_calls
from .runs import Run, Work, measure
from .set_calls import STORED, Made

RECIPE: Final = "recipe"
BARE: Final = "SDK"
TARGETS: Final = set_calls.TARGETS | pattern_calls.TARGETS


def calls(count: int) -> Iterator[Run]:
    """Yield both contestants of each call.

    :param count: how many calls a round has of those of one request
    """
    for case, times, recipe, bare in (*set_calls.sides(count), *pattern_calls.sides(count)):
        for contestant, make in ((RECIPE, recipe), (BARE, bare)):
            yield Run(case, contestant, times, _prepared(make, times), lambda found: found is not None)


def _prepared(make: Made, count: int) -> Callable[[], Work]:
    def prepare() -> Work:
        call = make()
        call(STORED)

        def work() -> Any:
            found = None
            for number in range(count):
                found = call(STORED + 1 + number)
            return found

        return work

    return prepare


def main() -> None:
    """Measure the calls and print the ratios of their processor time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="calls of a round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    given = parser.parse_args()
    runs = [run for run in calls(given.count) if given.only in run.case]
    for case, found in measure(runs, given.rounds).items():
        ratios = sorted(one / other for one, other in zip(found[RECIPE].cpu, found[BARE].cpu, strict=True))
        recipe, bare = (sorted(found[each].cpu)[given.rounds // 2] * 1e6 for each in (RECIPE, BARE))
        print(f"{case:34s} {recipe:8.0f} us  {bare:8.0f} us  {ratios[given.rounds // 2]:.2f} (aim {TARGETS[case]})")


if __name__ == "__main__":
    main()
