"""Measure exports: `python -m benchmarks.transfer`, against the SDK with pandas, and two processes against one.

It needs the extra `parquet`. The server has its own process, and only the CPU time of the client counts.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tablepatterns import BulkLoad, EntitySet, Key, connect
from tablepatterns.connection import CONNECTION_VARIABLE
from tablepatterns.jobs import Workers
from tablepatterns_engine.account import Engine
from tablepatterns_engine.serving import serving
from tablepatterns_transfer import TableTransfer

ROWS = 60_000
ROUNDS = 3


def serve(pipe: Any, rows: int) -> None:
    engine = Engine()
    flights = EntitySet(connect(engine), "Flights", Key("{Origin}_{Day:03d}", "{Number:08d}"))
    chance, start = random.Random(1), datetime(2013, 1, 1, tzinfo=timezone.utc)
    BulkLoad(flights).load(
        {
            "Origin": ("EWR", "JFK", "LGA")[number % 3],
            "Day": number * 300 // rows,
            "Number": number,
            "Delay": chance.gauss(5, 20),
            "At": start + timedelta(minutes=number),
            "Tail": f"N{number % 3000:05d}",
            "Distance": chance.randrange(100, 3000),
            "Cancelled": chance.random() < 0.02,
            "Dest": "ORD",
        }
        for number in range(rows)
    )
    with serving(engine) as connection_string:
        pipe.send(connection_string)
        pipe.recv()


def flights() -> TableTransfer[Any]:
    return TableTransfer(connect("env"), "Flights")


def by_sdk(folder: Path) -> None:
    import pandas

    client = connect("env").tables.get_table_client("Flights")
    pandas.DataFrame.from_records(list(client.list_entities())).to_parquet(folder / "flights.parquet")


def cpu_seconds(work: Callable[[Path], object]) -> float:
    """Return the CPU seconds of a new process for some work, without those for imports."""
    code = f"import benchmarks.transfer as own; own.report(own.{work.__name__})"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(output.stdout)


def report(work: Callable[[Path], object]) -> None:
    import pandas
    import pyarrow.parquet

    assert pandas
    assert pyarrow.parquet
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        work(Path(folder))
        print(time.process_time() - started)


def to_parquet(folder: Path) -> None:
    flights().export(folder / "new", format="parquet")


def to_lines(folder: Path) -> None:
    flights().export(folder / "new")


def wall_seconds(processes: int) -> float:
    """Return the seconds of an export by processes that have started."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        flights().export(Path(folder) / "new", format="parquet", workers=Workers(processes, source=flights))
        return time.perf_counter() - started


def main() -> None:
    context = get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there, ROWS))
    server.start()
    os.environ[CONNECTION_VARIABLE] = here.recv()
    try:
        best = {work.__name__: min(cpu_seconds(work) for _ in range(ROUNDS)) for work in (by_sdk, to_parquet, to_lines)}
        for name, seconds in best.items():
            print(f"{name}: {ROWS / seconds:,.0f} rows per CPU second, {best['by_sdk'] / seconds:.1f} times the SDK")
        one, two = (min(wall_seconds(processes) for _ in range(ROUNDS)) for processes in (1, 2))
        print(f"two processes: {one / two:.2f} times the speed of one, with the server on the same machine")
    finally:
        here.send(None)
        server.join()


if __name__ == "__main__":
    main()
