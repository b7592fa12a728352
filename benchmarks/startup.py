"""Measure what connecting adds to the import of the SDK: `python -m benchmarks.startup`.

Each round is a new Python process, with the byte code of all modules on disk, as after an installation.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from .environment import environment
from .page import page, table, time, where
from .results import spread

RESULTS: Final = Path(__file__).parent / "results/startup.md"
TARGET: Final = 0.15
"""The maximum CPU time in seconds that `import tablepatterns; connect()` may add."""

_CODE: Final = """
import time
begun = time.process_time()
import azure.data.tables, azure.storage.blob, azure.storage.queue
loaded = time.process_time()
import tablepatterns
tablepatterns.connect()
print(loaded - begun, time.process_time() - loaded)
"""


def measure(rounds: int) -> list[tuple[float, float]]:
    """Return the CPU time in seconds of importing the SDK, and what connecting adds, for each round."""
    with TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        surroundings = {**kept, "PYTHONPYCACHEPREFIX": folder}

        def run() -> tuple[float, float]:
            done = subprocess.run(
                [sys.executable, "-c", _CODE], env=surroundings, capture_output=True, text=True, check=True
            )
            sdk, added = map(float, done.stdout.split())
            return sdk, added

        run()
        return [run() for _ in range(rounds)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="benchmarks.startup", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    facts = environment()
    rounds = measure(given.rounds)
    rows = [
        ("importing the SDK's three clients", time(spread([sdk for sdk, _ in rounds])), ""),
        (
            "`import tablepatterns; connect()` after it",
            time(spread([added for _, added in rounds])),
            f"{TARGET * 1000:.0f} ms",
        ),
    ]
    heads = ("step", "processor time", "aim, at most")
    how = "`python -m benchmarks.startup` writes this page. Each round is a new process."
    sections = {"Processor time": table(heads, rows), "Environment": where({"": facts})}
    text = page("Connecting in a new process", how, sections)
    given.output.write_text(text, encoding="utf-8")
    rounds_and_facts = json.dumps({"environment": facts, "rounds": rounds}, indent=1)
    given.output.with_suffix(".json").write_text(rounds_and_facts + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
