"""Measure the processor time of explorations with `explore`: `python -m benchmarks.explorer`.

Each exploration of each round is a new process. `--compare PATH` measures another version of the package in turn with
this one; `PATH` is the folder that contains its `tablepatterns`.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from tablepatterns import TablePatternsError
from tablepatterns_explore import explore

from .environment import environment
from .explorations import EXPLORATIONS

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "benchmarks/results/explorer.json"


def explored(name: str) -> list[float]:
    """Return how many schedules ran to the end or to an explored state, and the processor time in seconds."""
    # The messages that are moved to the poison queue
    logging.disable()
    make, _, bound = exploration = EXPLORATIONS[name]
    checks: dict[str, Any] = {"invariant": exploration.drained, "expected": TablePatternsError}
    # Loads the code
    explore(make, **checks, **bound, schedules=1)
    begun = time.process_time()
    found = explore(make, **checks, **bound)
    return [found.schedules + found.pruned, time.process_time() - begun]


def in_new_process(name: str, package: Path) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.explorer", "--only", name]
    variables = {**os.environ, "PYTHONPATH": str(package.resolve())}
    done = subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    found: list[float] = json.loads(done.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the figures, and write every round."""
    parser = argparse.ArgumentParser(prog="benchmarks.explorer", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"by default all: {', '.join(EXPLORATIONS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compare", type=Path, help="the folder of another version of the package")
    parser.add_argument("--only", choices=EXPLORATIONS, help="explore once in this process, and print the figures")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    if given.only:
        print(json.dumps(explored(given.only)))
        return
    versions = {"this version": ROOT / "patterns"} | ({"compared": given.compare} if given.compare else {})
    names = given.names or EXPLORATIONS
    if unknown := set(names) - set(EXPLORATIONS):
        parser.error(f"{', '.join(sorted(unknown))}: the explorations are {', '.join(EXPLORATIONS)}")
    facts = environment()
    rounds: dict[str, dict[str, list[list[float]]]] = {name: {each: [] for each in versions} for name in names}
    for _ in range(given.rounds):
        for name, figures in rounds.items():
            for version, package in versions.items():
                figures[version].append(in_new_process(name, package))
    for name, figures in rounds.items():
        for version, taken in figures.items():
            count, seconds = taken[0][0], median(each for _, each in taken)
            print(f"{name:24}{version:14}{count:7,} schedules {seconds:8.2f} s")
    text = json.dumps({"environment": facts, "rounds": rounds}, indent=1)
    given.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
