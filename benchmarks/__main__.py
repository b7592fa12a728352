"""Run the benchmarks: `python -m benchmarks`, or with `--quick` to check that they run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Protocol

from .case import Entry, Place
from .data import FULL, FULL_OBJECTS, FULL_RECIPES, QUICK, QUICK_OBJECTS, QUICK_RECIPES, Effort
from .environment import environment
from .harness import measure
from .object_sides import AzuriteObjects, EngineObjects
from .pages import write_pages
from .recipes.measuring import measure_recipes
from .recipes.year import whole_year
from .results import Results
from .serve import FULL_SERVE, QUICK_SERVE, measure_serve
from .table_sides import AzuriteTables, EngineTables

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from support.azurite_server import AzuriteMissing, azurite  # noqa: E402 - the tests are no package

RESULTS = ROOT / "benchmarks/results"
QUICK_RESULTS = Path(gettempdir()) / "tablepatterns-benchmarks"
PARTS = ("tables", "objects", "serve", "recipes")
"""The default parts; a whole year of flights takes some more minutes."""


class Side(Protocol):
    """The contestants of one account."""

    @property
    def places(self) -> Mapping[str, Place[Any]]: ...

    def entries(self) -> list[Any]: ...


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    output: Path = options.output or (QUICK_RESULTS if options.quick else RESULTS)
    output.mkdir(parents=True, exist_ok=True)
    for part in () if options.redraw else options.parts or PARTS:
        _measure(part, quick=options.quick, with_azurite=options.azurite).write(output / f"{part}.json")
    for page in write_pages(output):
        print(page)
    print(f"These pages, the plot and every round are in {output}")


def _measure(part: str, *, quick: bool, with_azurite: bool) -> Any:
    if part == "year":
        return whole_year(QUICK_RECIPES.rows if quick else None)
    with _azurite(part, wanted=with_azurite) as other:
        if part == "serve":
            return measure_serve(QUICK_SERVE if quick else FULL_SERVE, other)
        if part == "recipes":
            return measure_recipes(QUICK_RECIPES if quick else FULL_RECIPES, other)
        return _tables(QUICK if quick else FULL, other) if part == "tables" else _objects(quick, other)


def _tables(scale: Any, other: str | None) -> Results:
    engine = EngineTables(scale)
    return _results(scale, engine, AzuriteTables(scale, other) if other else None, engine.memory)


def _objects(quick: bool, other: str | None) -> Results:
    scale = QUICK_OBJECTS if quick else FULL_OBJECTS
    return _results(scale, EngineObjects(scale), AzuriteObjects(scale, other) if other else None, None)


def _results(scale: Effort, engine: Side, other: Side | None, memory: int | None) -> Results:
    """Measure all cases for all contestants."""
    machine, sides = environment(), [engine, *([other] if other else [])]
    loaded = {who: place.loaded for side in sides for who, place in side.places.items()}
    entries: list[Entry[Any]] = [entry for side in sides for entry in side.entries()]
    return Results(machine, scale, measure(entries, scale), loaded, memory)


@contextmanager
def _azurite(part: str, *, wanted: bool) -> Generator[str | None, None, None]:
    """Run an Azurite for one part, so that each part starts with an empty account."""
    if not wanted:
        yield None
        return
    with azurite(ROOT / f".azurite/benchmarks-{part}.log") as connection_string:
        yield connection_string


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}, year; by default all but year")
    parser.add_argument("--quick", action="store_true", help="take seconds; the figures mean little")
    parser.add_argument("--no-azurite", dest="azurite", action="store_false", help="leave Azurite out")
    parser.add_argument("--output", type=Path, help=f"where the results go, by default {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--redraw", action="store_true", help="measure nothing: show again the rounds that are there")
    options = parser.parse_args(arguments)
    unknown = set(options.parts) - {*PARTS, "year"}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: the parts are {', '.join(PARTS)} and year")
    return options


if __name__ == "__main__":
    try:
        main()
    except AzuriteMissing as error:
        sys.exit(f"{error}\nTo measure without it: python -m benchmarks --no-azurite")
