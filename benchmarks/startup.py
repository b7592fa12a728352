"""Measure what connecting adds to the import of the SDK: `python -m benchmarks.startup`.

Each round is a new Python process, with the byte code of all modules on disk, as after an installation. With
`--servers`, it measures how long `tablepatterns serve` and Azurite take to listen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Final

from .environment import environment
from .page import page, table, time, where
from .results import spread

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support import azurite_server

RESULTS: Final = Path(__file__).parent / "results/startup.md"
SERVERS: Final = Path(__file__).parent / "results/servers.md"
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


def measure_servers(rounds: int) -> list[tuple[float, float]]:
    """Return the processor time in seconds until `tablepatterns serve`, and Azurite, listen on their ports."""

    def run(start: Callable[[], None]) -> float:
        before = os.times()
        start()
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def serve() -> None:
        ports = [part for service in ("table", "queue", "blob") for part in (f"--{service}-port", "0")]
        command = [sys.executable, "-m", "tablepatterns", "serve", *ports]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            next(iter(process.stdout or ()), None)
            process.terminate()

    def azurite() -> None:
        with azurite_server.azurite(Path(gettempdir()) / f"azurite-{os.getpid()}.log"):
            pass

    run(serve)
    return [(run(serve), run(azurite)) for _ in range(rounds)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="benchmarks.startup", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--servers", action="store_true")
    given = parser.parse_args(arguments)
    facts = environment()
    if given.servers:
        times = measure_servers(given.rounds)
        names = ("`tablepatterns serve`", "Azurite")
        rows = [(name, time(spread([row[side] for row in times]))) for side, name in enumerate(names)]
        how = "`python -m benchmarks.startup --servers` writes this page. Each round starts both."
        sections = {"Until they listen": table(("server", "processor time"), rows), "Environment": where({"": facts})}
        SERVERS.write_text(page("Starting a server", how, sections), encoding="utf-8")
        return
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
