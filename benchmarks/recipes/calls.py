"""Compare calls of recipes with the same requests by SDK clients: `python -m benchmarks.recipes.calls`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from ..environment import environment
from ..page import page, table, time, times, where
from ..results import Series, spread
from . import pattern_calls, set_calls
from .runs import Run, Work, measure
from .set_calls import STORED, Made

RECIPE: Final = "recipe"
BARE: Final = "SDK"
TARGETS: Final = set_calls.TARGETS | pattern_calls.TARGETS
RESULTS: Final = Path(__file__).parents[1] / "results/calls.json"
_HOW: Final = """\
`python -m benchmarks.recipes.calls` writes this page. Each call of a recipe is measured in turn with the same requests
by the SDK's own clients, both on the in-memory engine, in one process."""


def calls(count: int) -> Iterator[Run]:
    """Yield both contestants of each call.

    :param count: the number of calls with one request in each round
    """
    for case, calls_of_round, recipe, bare in (*set_calls.sides(count), *pattern_calls.sides(count)):
        for contestant, make in ((RECIPE, recipe), (BARE, bare)):
            yield Run(
                case, contestant, calls_of_round, _prepared(make, calls_of_round), lambda found: found is not None
            )


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
    """Measure the calls, print the ratios of CPU time, and store the results of every round."""
    parser = argparse.ArgumentParser(prog="benchmarks.recipes.calls", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="calls of a round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="cases whose names contain this; nothing is written")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    facts = environment()
    found = measure([run for run in calls(given.count) if given.only in run.case], given.rounds)
    text = _page(facts | {"load at the end": environment()["load"]}, found)
    print(text)
    if not given.only:
        rounds = {case: {who: asdict(series) for who, series in each.items()} for case, each in found.items()}
        given.output.write_text(json.dumps({"environment": facts, "cases": rounds}, indent=1) + "\n", encoding="utf-8")
        given.output.with_suffix(".md").write_text(text, encoding="utf-8")


def _page(facts: Mapping[str, str], found: Mapping[str, Mapping[str, Series]]) -> str:
    """Return the results as a page."""
    rows: list[tuple[str, ...]] = []
    for case, sides in found.items():
        recipe, bare = sides[RECIPE].cpu, sides[BARE].cpu
        ratio = spread([one / other for one, other in zip(recipe, bare, strict=True)])
        rows.append((case, time(spread(recipe)), time(spread(bare)), times(ratio), f"{TARGETS[case]}"))
    heads = ("call", "recipe", "the same requests by the SDK", "recipe / SDK", "aim, at most")
    sections = {"Processor time of a call": table(heads, rows), "Environment": where({"": facts})}
    return page("Calls of recipes", _HOW, sections)


if __name__ == "__main__":
    main()
