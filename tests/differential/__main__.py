"""Compare the engine with Azurite for long: `make fuzz OPERATIONS=100000 SEED=1 SERVICE=tables`.

The operations are drawn in pieces of about a thousand, each from a seed of its own, the next from the next seed, and
each is recorded when it is done. So a run that was broken off goes on behind the last seed in the record, which is
where a run begins that is given none; and a disagreement comes again from its seed alone.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

from differential.pair import Disagreement
from differential.record import PAGE, Record, Run
from differential.run import Runs, runs
from differential.service import Service
from differential.services import SERVICES
from support.azurite_server import azurite

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
    parser.add_argument("--service", choices=SERVICES, default="tables", help="which service's operations are drawn")
    parser.add_argument("--operations", type=int, default=10_000, help="how many to compare at least")
    parser.add_argument(
        "--seed", type=int, help="what the first piece is drawn from; by default, the next in the record"
    )
    options = parser.parse_args()
    # The SDK's warnings about what the service rejects
    logging.disable(logging.WARNING)
    service, record = SERVICES[options.service], Record()
    seed = record.next_seed(service.name) if options.seed is None else options.seed
    with azurite(ROOT / ".azurite/fuzz.log") as reached, runs(service, reached) as found:
        failed = compare(service, found, options.operations, seed, record)
    print(*found.tally.lines(), sep="\n")
    return int(failed)


def compare(service: Service, found: Runs, operations: int, first: int, record: Record) -> bool:
    """Compare piece by piece, and record each piece without a disagreement; return whether there was one."""
    start, seed = time.monotonic(), first
    try:
        while found.tally.operations.total() < operations:
            found.run(PIECE, seed)
            seed += 1
            record.put(service.name, Run.of(service, range(first, seed), time.monotonic() - start, found.tally))
            PAGE.write_text(record.page(SERVICES), "utf-8")
            print(f"{found.tally.operations.total():,} operations; next is SEED={seed}", flush=True)
    except KeyboardInterrupt:
        print(f"Broken off: go on with SEED={seed}")
    except Disagreement as error:
        print(*traceback.format_exception_only(error), f"With SEED={seed}", file=sys.stderr)
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
