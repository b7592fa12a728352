"""Show a summary of logs as text or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from ...figures import count, counted, duration, money, share, size
from ...filters import Explanation
from ..report import class_label, listing
from .summary import LoggedPartition, LoggedQuery, LogSummary, RequestSums

_CURRENCY: Final = "USD"
_MEDIAN, _SLOW = 0.5, 0.99


def report(found: LogSummary, shown: int) -> RenderableType:
    """Return the report of some logs.

    :param shown: how many rows of each table to show
    """
    parts: list[RenderableType] = [Text(_headline(found), style="bold"), Text(_rates(found)), *_skipped(found)]
    columns = ("Class", "Requests", "Median", "99 %", "Out")
    parts += _table("Queries by time", columns, map(_query, found.queries), shown)
    parts += [_advice(each, each.plan) for each in found.queries[:shown] if each.is_scan and each.plan is not None]
    parts += _table("Operations", ("Requests", "Busy", "Failed", "Median", "99 %"), _sums(found.operations), shown)
    columns = ("Requests", "Busy", f"Most in {found.interval:g} s", "At (UTC)", "Of target")
    parts += _table("Busiest partitions", columns, map(_partition, found.partitions), shown)
    parts += _table("Clients", ("Requests", "Busy", "Failed", "Median", "99 %"), _sums(found.clients), shown)
    errors = ((name, (count(times),)) for name, times in found.errors.items())
    parts += _table("Errors", ("Requests",), errors, shown)
    return Group(*parts)


def as_data(found: LogSummary, shown: int) -> dict[str, Any]:
    """Return the report of some logs as data for JSON.

    :param shown: how many of each kind to list
    """
    return {
        "start": found.start.isoformat(),
        "end": found.end.isoformat(),
        "requests": found.overall.requests,
        "scans": found.scans,
        "monthly_cost": round(found.monthly_cost, 2),
        "overall": _data(found.overall),
        "queries": [
            {
                "table": each.table,
                "filter": each.filter,
                "class": None if each.query_class is None else each.query_class.label,
                "reason": "" if each.plan is None else each.plan.reason,
                "better": "" if each.plan is None else each.plan.rewrite,
                **_data(each.sums),
            }
            for each in found.queries[:shown]
        ],
        "operations": {name: _data(sums) for name, sums in found.operations.items()},
        "partitions": [each._asdict() | {"start": each.start.isoformat()} for each in found.partitions[:shown]],
        "clients": {name: _data(sums) for name, sums in list(found.clients.items())[:shown]},
        "errors": found.errors,
        "skipped": asdict(found.skipped),
    }


def _data(sums: RequestSums) -> dict[str, Any]:
    return {
        "requests": sums.requests,
        "transactions": sums.transactions,
        "throttled": sums.throttled,
        "failed": sums.failed,
        "bytes_in": sums.bytes_in,
        "bytes_out": sums.bytes_out,
        "seconds": round(sums.seconds, 3),
        "median_seconds": round(sums.percentile(_MEDIAN), 4),
        "p99_seconds": round(sums.percentile(_SLOW), 4),
    }


def _headline(found: LogSummary) -> str:
    requests = counted(found.overall.requests, "request")
    return f"{requests} from {found.start:%Y-%m-%d %H:%M} to {found.end:%Y-%m-%d %H:%M} (UTC)"


def _rates(found: LogSummary) -> str:
    overall, cost = found.overall, money(found.monthly_cost, _CURRENCY)
    return (
        f"{counted(overall.transactions, 'storage transaction')} billed, {cost} a month at this rate\n"
        f"{counted(found.scans, 'scan')} ({share(found.scans / overall.requests)} of the requests), "
        f"{count(overall.throttled)} throttled, {count(overall.failed)} failed; "
        f"median {duration(overall.percentile(_MEDIAN))}, 99 % within {duration(overall.percentile(_SLOW))}"
    )


def _skipped(found: LogSummary) -> Iterable[RenderableType]:
    skipped = found.skipped
    if skipped.others:
        yield Text(f"{counted(skipped.others, 'record')} of other services skipped", style="dim")
    if skipped.unreadable:
        damaged = counted(skipped.unreadable, "damaged record")
        yield Text(f"{damaged} skipped, the first in {skipped.first}", style="red")


Row = tuple[str, tuple[str | Text, ...]]


def _table(title: str, columns: Iterable[str], rows: Iterable[Row], shown: int) -> Iterable[RenderableType]:
    found = list(rows)
    return (Text(), listing(title, columns, found, shown)) if found else ()


def _query(query: LoggedQuery) -> Row:
    sums = query.sums
    label = Text("rejected") if query.plan is None else class_label(query.query_class)
    cells = (label, count(sums.requests), *_latencies(sums), size(sums.bytes_out))
    return _name(query), cells


def _advice(query: LoggedQuery, plan: Explanation) -> Text:
    return Text(f"{_name(query)}\n  {plan.reason}; {plan.rewrite}", style="dim")


def _name(query: LoggedQuery) -> str:
    return f"{query.table}: {query.filter or 'every entity'}"


def _partition(each: LoggedPartition) -> Row:
    cells = (count(each.requests), count(each.throttled), count(each.peak), f"{each.start:%Y-%m-%d %H:%M}")
    return f"{each.table}/{each.partition}", (*cells, share(each.share_of_target))


def _sums(groups: Mapping[str, RequestSums]) -> Iterable[Row]:
    for name, sums in groups.items():
        yield name, (count(sums.requests), count(sums.throttled), count(sums.failed), *_latencies(sums))


def _latencies(sums: RequestSums) -> tuple[str, str]:
    return duration(sums.percentile(_MEDIAN)), duration(sums.percentile(_SLOW))
