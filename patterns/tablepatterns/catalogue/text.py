"""The catalogue on a terminal: all entries by kind, and one of them as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, get_args

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .entry import CatalogueEntry, Kind
from .find import ENTRIES, related

_HEADINGS: Final[dict[Kind, str]] = {
    "pattern": "Patterns",
    "anti-pattern": "Anti-patterns",
    "relationship": "Relationships",
    "implementation": "Implementation",
    "guidance": "Guidance",
}
_INDENT: Final = 2
_COSTS: Final = "Costs are in storage transactions, the requests that the service bills; a plain number is of tables."


def listing() -> Group:
    """Return every entry with what it does, by kind, for a terminal."""
    names = max(len(each.name) for each in ENTRIES)
    parts: list[RenderableType] = []
    for kind in get_args(Kind):
        table = Table(box=None, show_header=False, padding=(0, _INDENT, 0, 0), pad_edge=False)
        table.add_column(min_width=names, no_wrap=True)
        table.add_column()
        for each in (each for each in ENTRIES if each.kind == kind):
            table.add_row(each.name, each.summary)
        parts += [Text(_HEADINGS[kind], style="bold"), Padding(table, (0, 0, 1, _INDENT))]
    return Group(*parts, Text("tablepatterns patterns <name> tells all about one.", style="dim"))


def whole(entry: CatalogueEntry) -> Group:
    """Return all that is known of an entry, for a terminal."""
    heading = Text.assemble((entry.title, "bold"), f" ({entry.kind}): {entry.summary}")
    return Group(heading, Text(), *_parts(entry), Text(), Text(_COSTS, style="dim"))


def _parts(entry: CatalogueEntry) -> Iterator[RenderableType]:
    near = [each.name for each in related(entry.name)]
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
    table = Table(box=None, show_header=False, padding=(0, _INDENT, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, lines in facts:
        for number, line in enumerate(lines):
            marked = f"- {line}" if len(lines) > 1 else line
            table.add_row(name if number == 0 else "", _code(marked))
    yield table


def _code(line: str) -> Text:
    """Return a line whose code, between backticks, is in another colour."""
    return Text.assemble(*((part, "cyan" if part.startswith("`") else "") for part in re.split(r"(`[^`]+`)", line)))
