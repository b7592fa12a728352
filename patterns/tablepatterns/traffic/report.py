"""Show traffic as two tables, by line of code and by partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..figures import count, counted, size
from ..filters import QueryClass
from .request import Site
from .tally import Tally

_SHOWN: Final = 20
_STYLES: Final = {QueryClass.PARTITION_SCAN: "yellow", QueryClass.TABLE_SCAN: "red"}
_BILLED: Final = ("Requests", "Billed")
_COST: Final = ("In table ops",)
"""Shown if there were requests to other services, which cost more."""
_OTHERS: Final = ("Scans", "Retries", "Busy", "Conflicts", "In", "Out", "Seconds")


def report(overall: Tally, sites: Mapping[Site | None, Tally], partitions: Mapping[str, Tally]) -> RenderableType:
    """Return the report."""
    if not overall.requests:
        return Text("no requests")
    summary = f"{counted(overall.requests, 'request')}, {counted(overall.transactions, 'storage transaction')} billed"
    if overall.cost.table != overall.cost.transactions:
        summary += f" ({overall.cost.by_service}), as much as {overall.cost.comparison()}"
    lost = f", {count(overall.lost)} without a response" if overall.lost else ""
    lines = {_line(site): tally for site, tally in sites.items()}
    return Group(
        Text(summary + lost, style="bold"), _table("Line", lines), Text(), _table("Partition", dict(partitions))
    )


def _table(title: str, rows: Mapping[str, Tally]) -> Table:
    table = Table(box=box.HORIZONTALS, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(title, overflow="fold")
    table.add_column("Worst query", no_wrap=True)
    costs_more = any(tally.cost.table != tally.cost.transactions for tally in rows.values())
    for name in (*_BILLED, *(_COST if costs_more else ()), *_OTHERS):
        table.add_column(name, justify="right", no_wrap=True)
    for name, tally in list(rows.items())[:_SHOWN]:
        table.add_row(Text(name), *_figures(tally, costs_more=costs_more))
    if len(rows) > _SHOWN:
        table.add_row(Text(f"and {count(len(rows) - _SHOWN)} more", style="dim"))
    return table


def _figures(tally: Tally, *, costs_more: bool) -> tuple[Text, ...]:
    worst = tally.worst
    label = Text("") if worst is None else Text(worst.label, style=_STYLES.get(worst, ""))
    cost = (round(tally.cost.table_operations()),) if costs_more else ()
    others = (tally.scans, tally.retries, tally.throttled, tally.conflicts)
    counts = (tally.requests, tally.transactions, *cost, *others)
    figures = [*map(count, counts), size(tally.bytes_in), size(tally.bytes_out), f"{tally.seconds:,.3f}"]
    return (label, *map(Text, figures))


def _line(site: Site | None) -> str:
    return "not in your code" if site is None else str(site)
