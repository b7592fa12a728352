"""Show traffic as two tables, by line of code and by partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..figures import count, counted, size
from ..filters import QueryClass
from .request import Site
from .tally import Tally

SHOWN: Final = 20
_CLASS: Final = "Worst query"
_STYLES: Final = {QueryClass.PARTITION_SCAN: "yellow", QueryClass.TABLE_SCAN: "red"}
_COST: Final = ("In table ops",)
"""Shown if there were requests to other services, which cost more."""
_OTHER_COLUMNS: Final = ("Scans", "Retries", "Busy", "Conflicts", "In", "Out", "Seconds")


def report(
    overall: Tally, sites: Mapping[Site | None, Tally], partitions: Mapping[str, Tally], dropped: int
) -> RenderableType:
    if not overall.requests:
        return Text("no requests")
    summary = f"{counted(overall.requests, 'request')}, {counted(overall.transactions, 'storage transaction')} billed"
    if overall.cost.table != overall.cost.transactions:
        summary += f" ({overall.cost.by_service}), equivalent to {overall.cost.comparison()}"
    without_response = f", {count(overall.lost)} without a response" if overall.lost else ""
    dropped_note = f"; {count(dropped)} older ones dropped" if dropped else ""
    lines = {"not in your code" if site is None else str(site): tally for site, tally in sites.items()}
    return Group(
        Text(summary + without_response + dropped_note, style="bold"),
        _table("Line", lines),
        Text(),
        _table("Partition", dict(partitions)),
    )


def _table(title: str, rows: Mapping[str, Tally]) -> Table:
    costs_more = any(tally.cost.table != tally.cost.transactions for tally in rows.values())
    columns = (_CLASS, "Requests", "Billed", *(_COST if costs_more else ()), *_OTHER_COLUMNS)
    return listing(title, columns, [(name, _figures(tally, costs_more=costs_more)) for name, tally in rows.items()])


def listing(
    title: str, columns: Iterable[str], rows: Sequence[tuple[str, Sequence[str | Text]]], max_rows: int = SHOWN
) -> Table:
    """Return a table of the first rows, and of how many more there are; `title` heads the names of the rows."""
    table = Table(box=box.HORIZONTALS, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(title, overflow="fold")
    for name in columns:
        table.add_column(name, justify="left" if name == _CLASS else "right", no_wrap=True)
    for name, cells in rows[:max_rows]:
        table.add_row(Text(name), *cells)
    if len(rows) > max_rows:
        table.add_row(Text(f"and {count(len(rows) - max_rows)} more", style="dim"))
    return table


def class_label(query_class: QueryClass | None) -> Text:
    return Text("") if query_class is None else Text(query_class.label, style=_STYLES.get(query_class, ""))


def _figures(tally: Tally, *, costs_more: bool) -> tuple[Text, ...]:
    cost = (round(tally.cost.table_operations()),) if costs_more else ()
    other_counts = (tally.scans, tally.retries, tally.throttled, tally.conflicts)
    counts = (tally.requests, tally.transactions, *cost, *other_counts)
    figures = [*map(count, counts), size(tally.bytes_in), size(tally.bytes_out), f"{tally.seconds:,.3f}"]
    return (class_label(tally.worst), *map(Text, figures))
