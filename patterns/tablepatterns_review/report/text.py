"""Write a review for a terminal."""

from __future__ import annotations

import io
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..result import Finding, Reviewed, Severity
from .formatting import SEVERITIES, effect_of_all, lines, plain, subject_of, verdict
from .tables import Cell, Sheet, Tone, sheets

_STYLES: Final = {Severity.SERIOUS: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_TONES: Final[dict[Tone, str]] = {"plain": "", "good": "green", "fair": "yellow", "bad": "red"}
_LABEL_WIDTH: Final = 12
_WIDTH: Final = 100


def text(reviewed: Reviewed) -> RenderableType:
    """Return the report for a terminal, to print with rich: first the findings, the worst first, then the tables.

    Names from the design are shown without terminal control characters.
    """
    head = Text.assemble((f"Design review: {plain(reviewed.design.name)}", "bold"), f"\n{verdict(reviewed)}")
    parts: list[RenderableType] = [head]
    for finding in reviewed.findings:
        parts += [Text(), _finding(finding)]
    if together := effect_of_all(reviewed):
        parts += [Text(), Text(together)]
    for sheet in sheets(reviewed):
        parts += [Text(), *sheet_parts(sheet)]
    return Group(*parts)


def plain_text(shown: RenderableType) -> str:
    """Return what a terminal with 100 columns and without colors shows."""
    out = io.StringIO()
    Console(file=out, width=_WIDTH, highlight=False, color_system=None).print(shown)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _finding(finding: Finding) -> RenderableType:
    grid = Table.grid()
    grid.add_column(width=_LABEL_WIDTH, no_wrap=True)
    grid.add_column()
    label = Text(SEVERITIES[finding.severity].upper(), style=_STYLES[finding.severity])
    grid.add_row(label, Text.assemble((subject_of(finding), "bold"), (f"  {plain(finding.rule)}", "dim")))
    grid.add_row("", Text(plain(finding.says)))
    for name, texts in lines(finding):
        grid.add_row(Text(name, style="dim"), Text("\n".join(texts)))
    return grid


def sheet_parts(sheet: Sheet) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(sheet.title, style="bold"), Text(sheet.says)]
    if sheet.rows:
        parts.append(_table(sheet))
        parts += [Text(note, style="dim") for note in sheet.notes]
    return parts


def _table(sheet: Sheet) -> Table:
    table = Table(box=box.HORIZONTALS, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for column in sheet.columns:
        table.add_column(column.name, justify="right" if column.figures else "left", overflow="fold")
    for row in sheet.rows:
        table.add_row(*map(_cell, row))
    return table


def _cell(cell: Cell) -> Text:
    text = Text(cell.text or cell.code, style=_TONES[cell.tone])
    return text.append(f"\n{cell.note}", style="dim") if cell.note else text
