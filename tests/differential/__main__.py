"""Compare the engine with Azurite for long: `make fuzz OPERATIONS=100000 SEED=1`.

The operations are drawn in pieces of about a thousand, each from a seed of its own, the next from the next seed. So a
run that was broken off goes on from the seed that it names, and a disagreement comes again from its seed alone.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

from azurite_server import azurite
from differential.pair import Disagreement
from differential.record import Record, write
from differential.run import Runs, runs
from differential.tally import Tally

ROOT = Path(__file__).parents[2]
PIECE = settings(
    max_examples=20,
    stateful_step_count=50,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    # A run of seconds is shrunk in hours; its seed and its last operation tell enough
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description="Compare the engine with Azurite for long.")
    parser.add_argument("--operations", type=int, default=100_000, help="how many to compare at least")
    parser.add_argument("--seed", type=int, default=1, help="what the first piece is drawn from")
    options = parser.parse_args()
    # The SDK's warnings about what the service refuses
    logging.disable(logging.WARNING)
    with azurite(ROOT / ".azurite/fuzz.log") as connection_string, runs(connection_string) as found:
        return compare(found, options.operations, options.seed)


def compare(found: Runs, operations: int, first_seed: int) -> int:
    """Compare piece by piece; record the pieces without a disagreement, whatever comes after them."""
    start, seed, done, failed = time.monotonic(), first_seed, Tally(), False
    try:
        while found.tally.operations.total() < operations:
            found.run(PIECE, seed)
            seed, done = seed + 1, found.tally.copy()
            print(f"{done.operations.total():,} operations; next is SEED={seed}", flush=True)
    except KeyboardInterrupt:
        print(f"Broken off: go on with SEED={seed}")
    except Disagreement as error:
        failed = True
        print(*traceback.format_exception_only(error), f"With SEED={seed}", file=sys.stderr)
    if done.operations:
        write(Record(done, range(first_seed, seed), time.monotonic() - start))
    print(*done.lines(), sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
