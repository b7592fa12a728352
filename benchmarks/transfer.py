"""Measure exports: `python -m benchmarks.transfer`, against the SDK with pandas, and two processes against one.

It needs the extras `parquet` and `zstd`. The server has its own process, and only the CPU time of the clients counts:
on a machine of two cores, the server would take one of them from the second process.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tablepatterns import BulkLoad, EntitySet, Key, connect
from tablepatterns.connection import CONNECTION_VARIABLE
from tablepatterns.jobs import Workers, count
from tablepatterns_engine.account import Engine
from tablepatterns_engine.serving import serving
from tablepatterns_transfer import TableTransfer

ROWS = 120_000
ROUNDS = 3
KEY = Key("{Origin}_{Day:03d}", "{Number:08d}")


def serve(pipe: Any, rows: int) -> None:
    engine = Engine()
    flights = EntitySet(connect(engine), "Flights", KEY)
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
    # Each process gets a part of these, so that all start
    few = EntitySet(connect(engine), "Few", KEY)
    BulkLoad(few).load({"Origin": "EWR", "Day": day, "Number": day} for day in range(40))
    with serving(engine) as connection_string:
        pipe.send(connection_string)
        pipe.recv()


def table_of(name: str) -> TableTransfer[Any]:
    return TableTransfer(connect("env"), name)


def flights() -> TableTransfer[Any]:
    return table_of("Flights")


def by_sdk(folder: Path) -> None:
    import pandas

    client = connect("env").tables.get_table_client("Flights")
    pandas.DataFrame.from_records(list(client.list_entities())).to_parquet(folder / "flights.parquet")


def least(call: str) -> float:
    """Return the least number that a call prints, each time in a new process."""
    code = f"import benchmarks.transfer as own; {call}"
    run = partial(subprocess.run, [sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return min(float(run().stdout) for _ in range(ROUNDS))


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


def to_zstd(folder: Path) -> None:
    flights().export(folder / "new", compression="zstd")


def counted(folder: Path) -> None:
    count(EntitySet(connect("env"), "Flights", KEY))


def by_processes(processes: int, table: str) -> None:
    """Print the CPU seconds of an export by processes, those of the process that waits for them included."""
    with tempfile.TemporaryDirectory() as folder:
        transfer, source = TableTransfer(connect("env"), table), partial(table_of, table)
        transfer.export(Path(folder) / "new", format="parquet", workers=Workers(processes, source=source))
    print(sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def measure_restore() -> None:
    """Print the CPU seconds of an import, without those of the export."""
    with tempfile.TemporaryDirectory() as folder:
        to_lines(Path(folder))
        started = time.process_time()
        TableTransfer(connect("env"), f"Copy{os.getpid()}").restore(Path(folder) / "new")
        print(time.process_time() - started)


def main() -> None:
    context = get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there, ROWS))
    server.start()
    os.environ[CONNECTION_VARIABLE] = here.recv()
    try:
        works = (by_sdk, to_parquet, to_lines, to_zstd, counted)
        best = {work.__name__: least(f"own.report(own.{work.__name__})") for work in works}
        best["restored"] = least("own.measure_restore()")
        for name, seconds in best.items():
            print(f"{name}: {ROWS / seconds:,.0f} rows per CPU second, {best['by_sdk'] / seconds:.1f} times the SDK")
        for processes in (1, 2):
            few, all_rows = (least(f"own.by_processes({processes}, {table!r})") for table in ("Few", "Flights"))
            rate = ROWS / (all_rows - few)
            print(f"{processes} processes: {few:.1f} CPU seconds to start and end, {rate:,.0f} rows per CPU second")
    finally:
        here.send(None)
        server.join()


if __name__ == "__main__":
    main()
