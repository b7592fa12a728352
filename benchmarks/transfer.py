"""Measure exports and imports: `python -m benchmarks.transfer`, which writes `results/transfer.json` and its page.

It needs the extras `parquet` and `zstd`. The server has its own process, and only the CPU time of the clients counts:
on a machine of two cores, the server would take one of them from the second process.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from tablepatterns import BulkLoad, EntitySet, Key, connect
from tablepatterns.connection import CONNECTION_VARIABLE
from tablepatterns.jobs import Workers, count
from tablepatterns_engine.account import Engine
from tablepatterns_engine.serving import serving
from tablepatterns_transfer import TableTransfer

from .environment import environment
from .page import page, table, times, where
from .results import spread

RESULTS: Final = Path(__file__).parent / "results/transfer.json"
ROWS = 120_000
ROUNDS = 4
KEY = Key("{Origin}_{Day:03d}", "{Number:08d}")


def entities(rows: int) -> Iterator[dict[str, Any]]:
    chance, start = random.Random(1), datetime(2013, 1, 1, tzinfo=timezone.utc)
    for number in range(rows):
        yield {
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


def serve(pipe: Any, rows: int) -> None:
    engine = Engine()
    BulkLoad(EntitySet(connect(engine), "Flights", KEY)).load(entities(rows))
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


def seconds_of(call: str) -> float:
    """Return the number that a call prints in a new process."""
    code = f"import benchmarks.transfer as own; {call}"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


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


def measure_bulk_load() -> None:
    """Print the CPU seconds of a load of the same entities, without what an import checks and compares."""
    loaded = EntitySet(connect("env"), f"Load{os.getpid()}", KEY)
    prepared = list(entities(ROWS))
    started = time.process_time()
    BulkLoad(loaded).load(prepared)
    print(time.process_time() - started)


CALLS: Final = {
    **{work.__name__: f"own.report(own.{work.__name__})" for work in (by_sdk, to_parquet, to_lines, to_zstd, counted)},
    "restored": "own.measure_restore()",
    "bulk_load": "own.measure_bulk_load()",
    **{
        f"{processes} processes, {name}": f"own.by_processes({processes}, {name!r})"
        for processes in (1, 2)
        for name in ("Few", "Flights")
    },
}


def split_costs(seconds: Mapping[str, list[float]], processes: int) -> tuple[str, str, str]:
    """Return what it costs to start processes, and how many rows they then export, all but few of them."""
    few, all_rows = (seconds[f"{processes} processes, {name}"] for name in ("Few", "Flights"))
    exporting = [whole - start for whole, start in zip(all_rows, few, strict=True)]
    return f"{processes}", f"{spread(few).median:.1f}", f"{ROWS / spread(exporting).median:,.0f}"


def results_page(facts: Mapping[str, str], seconds: Mapping[str, list[float]]) -> str:
    """Return the results as a page."""
    sdk = seconds["by_sdk"]
    rows = [
        (
            name,
            f"{ROWS / spread(rounds).median:,.0f}",
            times(spread([sdk_round / own_round for sdk_round, own_round in zip(sdk, rounds, strict=True)])),
        )
        for name, rounds in seconds.items()
        if "processes" not in name
    ]
    sections = {
        "Rows": table(("work", "rows in a CPU second", "times the SDK with pandas"), rows),
        "Processes": table(
            ("processes", "CPU seconds to start and end", "rows in a CPU second after that"),
            [split_costs(seconds, number) for number in (1, 2)],
        ),
        "Environment": where({"": facts}),
    }
    how = f"`python -m benchmarks.transfer` writes this page. Each figure is of {ROWS:,} rows and all client processes."
    return page("Exports and imports", f"{how} All take turns in each round, each in a new process.", sections)


def main() -> None:
    context = get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there, ROWS))
    server.start()
    os.environ[CONNECTION_VARIABLE] = here.recv()
    facts = environment()
    seconds: dict[str, list[float]] = {name: [] for name in CALLS}
    try:
        for _ in range(ROUNDS):
            for name, call in CALLS.items():
                seconds[name].append(round(seconds_of(call), 3))
    finally:
        here.send(None)
        server.join()
    facts |= {"load at the end": environment()["load"]}
    RESULTS.write_text(json.dumps({"environment": facts, "rows": ROWS, "seconds": seconds}, indent=1) + "\n", "utf-8")
    RESULTS.with_suffix(".md").write_text(results_page(facts, seconds), encoding="utf-8")
    print(results_page(facts, seconds))


if __name__ == "__main__":
    main()
