"""Print the catalog of patterns, or one of its entries: `tablepatterns patterns log_tail`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Final, get_args

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..catalog import ENTRIES, CatalogEntry, Kind, related
from ..catalog import entry as entry_of
from .output import Result, command, new_app

_HEADINGS: Final[dict[Kind, str]] = {
    "pattern": "Patterns",
    "anti-pattern": "Anti-patterns",
    "relationship": "Relationships",
    "implementation": "Implementation",
    "guidance": "Guidance",
}
_INDENT: Final = 2
_COSTS: Final = "Costs are in storage transactions, the unit that Azure bills; a plain number is for tables."
app = new_app()


@command(app)
def patterns(
    name: Annotated[
        str | None, typer.Argument(help="A pattern, such as log_tail, log-tail or LogTail; by default, list all.")
    ] = None,
) -> Result:
    """List the patterns, or describe one: problem, keys, guarantee, limits, cost, and when not to use it.

    Example: tablepatterns patterns log_tail
    """
    if name is None:
        data = [{"name": pattern.name, "title": pattern.title, "summary": pattern.summary} for pattern in ENTRIES]
        return Result(data, (listing(),))
    pattern = entry_of(name)
    return Result(asdict(pattern), (describe(pattern),))


def listing() -> Group:
    names = max(len(entry.name) for entry in ENTRIES)
    parts: list[RenderableType] = []
    for kind in get_args(Kind):
        table = _table(min_width=names)
        for entry in (entry for entry in ENTRIES if entry.kind == kind):
            table.add_row(entry.name, entry.summary)
        parts += [Text(_HEADINGS[kind], style="bold"), Padding(table, (0, 0, 1, _INDENT))]
    return Group(*parts, Text("tablepatterns patterns <name> describes one in detail.", style="dim"))


def describe(entry: CatalogEntry) -> Group:
    heading = Text.assemble((entry.title, "bold"), f" ({entry.kind}): {entry.summary}")
    return Group(heading, Text(), _facts(entry), Text(), Text(_COSTS, style="dim"))


def _facts(entry: CatalogEntry) -> Table:
    near = [entry.name for entry in related(entry.name)]
    facts: Sequence[tuple[str, Sequence[str]]] = (
        ("Problem", [entry.problem]),
        ("Solution", [entry.solution]),
        ("Keys", [entry.keys]),
        ("Guarantee", [entry.guarantee]),
        ("Limits", entry.limits),
        ("Cost", [entry.cost]),
        ("Use it when", entry.use_when),
        ("Avoid when", entry.avoid_when),
        ("Trade-offs", entry.trade_offs),
        ("Related", [", ".join(near)]),
        ("Names", [", ".join(entry.classes)] if entry.classes else []),
        ("Guide", [entry.guide]),
    )
    table = _table(style="bold")
    for name, lines in facts:
        for number, line in enumerate(lines):
            text = f"- {line}" if len(lines) > 1 else line
            table.add_row(name if number == 0 else "", _code(text))
    return table


def _table(style: str = "", min_width: int | None = None) -> Table:
    table = Table(box=None, show_header=False, padding=(0, _INDENT, 0, 0), pad_edge=False)
    table.add_column(style=style, min_width=min_width, no_wrap=True)
    table.add_column()
    return table


def _code(line: str) -> Text:
    """Return a line with its code, between backticks, in another color."""
    return Text.assemble(*((part, "cyan" if part.startswith("`") else "") for part in re.split(r"(`[^`]+`)", line)))
