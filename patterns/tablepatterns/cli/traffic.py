"""Report what an application asks of its tables in production, from resource logs: `tablepatterns traffic LOGS`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from .output import Result, command, new_app, progress_bars

app = new_app()


@command(app)
def traffic(
    logs: Annotated[list[Path], typer.Argument(help="Log files, or folders with log files.")],
    interval: Annotated[float, typer.Option(help="The seconds in which the load of a partition is measured.")] = 60,
    top: Annotated[int, typer.Option(min=1, help="How many queries, partitions and clients to show.")] = 10,
    hash_keys: Annotated[
        bool, typer.Option("--hash-keys", help="Show a hash instead of each PartitionKey, which may be personal data.")
    ] = False,
) -> Result:
    """Report queries, scans, busy partitions, throttling, latencies, cost and clients from Azure's resource logs.

    The logs of the Table service come from a diagnostic setting, as JSON lines, or from Log Analytics, as the table
    StorageTableLogs in CSV or JSON lines. Files may be compressed with gzip. Needs the extra `logs`, and takes at most
    about 512 MB of memory, whatever their size. Values of filters are never shown.

    Example: tablepatterns traffic insights-logs-storageread/ --hash-keys
    """
    from ..traffic.logs.read import log_files
    from ..traffic.logs.report import as_data, report
    from ..traffic.logs.summary import summarize

    paths = log_files(logs)
    with reading_progress(paths) as advance:
        summary = summarize(paths, interval=interval, hash_keys=hash_keys, on_read=advance)
    return Result(as_data(summary, top), (report(summary, top),))


@contextmanager
def reading_progress(paths: Sequence[Path]) -> Generator[Callable[[int], None], None, None]:
    """Show a progress bar while files are read; the value is called with the number of bytes read since the last."""
    columns = (BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn())
    with progress_bars(TextColumn("reading"), *columns, transient=True) as bars:
        bar = bars.add_task("", total=sum(path.stat().st_size for path in paths))
        yield lambda read: bars.advance(bar, read)
