"""Run the benchmarks: `python -m benchmarks`, or with `--quick` to see that they run."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import gettempdir

from .contestants import AZURITE, AZURITE_LARGE, ENGINE, ENGINE_LARGE, AzuriteSide, EngineSide
from .data import FULL, QUICK, Scale
from .environment import environment
from .harness import measure
from .plot import plot
from .report import report
from .results import Results, read

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from azurite_server import AzuriteMissing, azurite  # noqa: E402 - the tests are no package

RESULTS = ROOT / "benchmarks/results"
QUICK_RESULTS = Path(gettempdir()) / "tablepatterns-benchmarks"


def main() -> None:
    options = _options()
    output: Path = options.output or (QUICK_RESULTS if options.quick else RESULTS)
    rounds = output / "rounds.json"
    results = read(rounds) if options.redraw else run(QUICK if options.quick else FULL, with_azurite=options.azurite)
    output.mkdir(parents=True, exist_ok=True)
    results.write(rounds)
    page = report(results)
    (output / "results.md").write_text(page, encoding="utf-8")
    plot(results, output / "speed.png")
    print(page)
    print(f"This page, its plot and every round are in {output}")


def run(scale: Scale, *, with_azurite: bool) -> Results:
    """Load everybody's tables and measure all cases in all rounds."""
    machine = environment()
    with ExitStack() as stack:
        engine = EngineSide(scale)
        entries = engine.entries()
        loaded = {ENGINE: engine.small, ENGINE_LARGE: engine.large}
        if with_azurite:
            other = AzuriteSide(scale, stack.enter_context(azurite(ROOT / ".azurite/benchmarks.log")))
            entries += other.entries()
            loaded |= {AZURITE: other.small, AZURITE_LARGE: other.large}
        return Results(machine, scale, loaded, engine.memory, measure(entries, scale))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="take seconds; the figures mean little")
    parser.add_argument("--no-azurite", dest="azurite", action="store_false", help="leave Azurite out")
    parser.add_argument("--output", type=Path, help=f"where the results go, by default {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--redraw", action="store_true", help="measure nothing: show again the rounds that are there")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except AzuriteMissing as error:
        sys.exit(f"{error}\nTo measure without it: python -m benchmarks --no-azurite")
