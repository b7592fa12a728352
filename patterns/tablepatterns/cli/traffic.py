"""Report what an application asks of its tables in production, from resource logs: `tablepatterns traffic LOGS`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.text import Text

from ..figures import count, counted, duration, money, share, size
from ..traffic.report import class_label, listing
from .output import Result, command, new_app, progress_bars

if TYPE_CHECKING:
    from ..traffic.logs.summary import LoggedPartition, LoggedQuery, LogSummary, RequestSums

_MEDIAN, _SLOW = 0.5, 0.99
Row = tuple[str, tuple[str | Text, ...]]
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
    from ..traffic.logs.summary import summarize

    paths = log_files(logs)
    columns = (BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn())
    with progress_bars(TextColumn("reading"), *columns, transient=True) as bars:
        bar = bars.add_task("", total=sum(path.stat().st_size for path in paths))
        summary = summarize(paths, interval=interval, hash_keys=hash_keys, on_read=partial(bars.advance, bar))
    return Result(_as_data(summary, top), _report(summary, top))


def _report(summary: LogSummary, max_rows: int) -> list[RenderableType]:
    requests = counted(summary.overall.requests, "request")
    headline = f"{requests} from {summary.start:%Y-%m-%d %H:%M} to {summary.end:%Y-%m-%d %H:%M} (UTC)"
    parts: list[RenderableType] = [Text(headline, style="bold"), Text(_rates(summary)), *_skipped_lines(summary)]
    columns = ("Class", "Requests", "Median", "99 %", "Out")
    parts += _table("Queries by time", columns, map(_query, summary.queries), max_rows)
    parts += [
        Text(f"{_name(query)}\n  {query.plan.reason}; {query.plan.rewrite}", style="dim")
        for query in summary.queries[:max_rows]
        if query.is_scan and query.plan is not None
    ]
    parts += _table("Operations", ("Requests", "Busy", "Failed", "Median", "99 %"), _sums(summary.operations), max_rows)
    columns = ("Requests", "Busy", f"Most in {summary.interval:g} s", "At (UTC)", "Of target")
    parts += _table("Busiest partitions", columns, map(_partition, summary.partitions), max_rows)
    parts += _table("Clients", ("Requests", "Busy", "Failed", "Median", "99 %"), _sums(summary.clients), max_rows)
    errors = ((name, (count(times),)) for name, times in summary.errors.items())
    parts += _table("Errors", ("Requests",), errors, max_rows)
    return parts


def _as_data(summary: LogSummary, max_rows: int) -> dict[str, Any]:
    return {
        "start": summary.start.isoformat(),
        "end": summary.end.isoformat(),
        "requests": summary.overall.requests,
        "scans": summary.scans,
        "monthly_cost": round(summary.monthly_cost, 2),
        "overall": _data(summary.overall),
        "queries": [
            {
                "table": query.table,
                "filter": query.filter,
                "class": None if query.query_class is None else query.query_class.label,
                "reason": "" if query.plan is None else query.plan.reason,
                "better": "" if query.plan is None else query.plan.rewrite,
                **_data(query.sums),
            }
            for query in summary.queries[:max_rows]
        ],
        "operations": {name: _data(sums) for name, sums in summary.operations.items()},
        "partitions": [
            partition._asdict() | {"start": partition.start.isoformat()} for partition in summary.partitions[:max_rows]
        ],
        "clients": {name: _data(sums) for name, sums in list(summary.clients.items())[:max_rows]},
        "errors": summary.errors,
        "skipped": asdict(summary.skipped),
    }


def _data(sums: RequestSums) -> dict[str, Any]:
    figures = asdict(sums)
    del figures["latencies"]
    percentiles = {"median_seconds": sums.percentile(_MEDIAN), "p99_seconds": sums.percentile(_SLOW)}
    rounded = {name: round(seconds, 4) for name, seconds in percentiles.items()}
    return figures | {"seconds": round(sums.seconds, 3)} | rounded


def _rates(summary: LogSummary) -> str:
    overall, cost = summary.overall, money(summary.monthly_cost, "USD")
    return (
        f"{counted(overall.transactions, 'storage transaction')} billed, {cost} a month at this rate\n"
        f"{counted(summary.scans, 'scan')} ({share(summary.scans / overall.requests)} of the requests), "
        f"{count(overall.throttled)} throttled, {count(overall.failed)} failed; "
        f"median {duration(overall.percentile(_MEDIAN))}, 99 % within {duration(overall.percentile(_SLOW))}"
    )


def _skipped_lines(summary: LogSummary) -> Iterable[RenderableType]:
    skipped_records = summary.skipped
    if skipped_records.others:
        yield Text(f"{counted(skipped_records.others, 'record')} of other services skipped", style="dim")
    if skipped_records.unreadable:
        damaged = counted(skipped_records.unreadable, "damaged record")
        yield Text(f"{damaged} skipped, the first in {skipped_records.first}", style="red")


def _table(title: str, columns: Iterable[str], rows: Iterable[Row], max_rows: int) -> Iterable[RenderableType]:
    row_list = list(rows)
    return (Text(), listing(title, columns, row_list, max_rows)) if row_list else ()


def _query(query: LoggedQuery) -> Row:
    sums = query.sums
    label = Text("rejected") if query.plan is None else class_label(query.query_class)
    return _name(query), (label, count(sums.requests), *_latencies(sums), size(sums.bytes_out))


def _name(query: LoggedQuery) -> str:
    return f"{query.table}: {query.filter or 'every entity'}"


def _partition(partition: LoggedPartition) -> Row:
    cells = (
        count(partition.requests),
        count(partition.throttled),
        count(partition.peak),
        f"{partition.start:%Y-%m-%d %H:%M}",
    )
    return f"{partition.table}/{partition.partition}", (*cells, share(partition.share_of_target))


def _sums(groups: Mapping[str, RequestSums]) -> Iterable[Row]:
    for name, sums in groups.items():
        yield name, (count(sums.requests), count(sums.throttled), count(sums.failed), *_latencies(sums))


def _latencies(sums: RequestSums) -> tuple[str, str]:
    return duration(sums.percentile(_MEDIAN)), duration(sums.percentile(_SLOW))
