"""Write a review as Markdown, for a pull request, a wiki or a site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..model import Finding, Reviewed
from .formatting import SEVERITIES, lines, plain, subject_of, verdict
from .tables import Cell, Sheet, sheets

# An underscore within a word has no meaning in Markdown
_SPECIAL: Final = re.compile(r"[\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_])")


def markdown(reviewed: Reviewed) -> str:
    """Return the report in Markdown, with tables as GitHub supports them.

    Names from the design cannot become markup.

    Cost: nothing.

    :param reviewed: the result of `review`
    """
    parts = [f"# Design review: {escaped(reviewed.design.name)}", f"{verdict(reviewed).capitalize()}."]
    if reviewed.findings:
        parts.append("## Findings")
    for each in reviewed.findings:
        parts += _finding(each)
    for sheet in sheets(reviewed):
        parts += sheet_lines(sheet)
    return "\n\n".join(parts) + "\n"


def _finding(finding: Finding) -> Iterator[str]:
    yield f"### {SEVERITIES[finding.severity].capitalize()}: {escaped(subject_of(finding))} ({escaped(finding.rule)})"
    yield f"{escaped(finding.says)}"
    yield "\n".join(_item(name, texts) for name, texts in lines(finding))


def _item(name: str, texts: tuple[str, ...]) -> str:
    if len(texts) == 1:
        return f"- **{name}:** {escaped(texts[0])}"
    return "\n".join([f"- **{name}:**", *(f"  - {escaped(each)}" for each in texts)])


def sheet_lines(sheet: Sheet) -> Iterator[str]:
    """Yield the parts of a table in Markdown."""
    yield f"## {sheet.title}"
    yield escaped(sheet.says)
    if not sheet.rows:
        return
    head = [escaped(each.name) for each in sheet.columns]
    rule = ["---:" if each.figures else "---" for each in sheet.columns]
    rows = [list(map(_cell, row)) for row in sheet.rows]
    total = [[f"**{cell}**" if cell else "" for cell in map(_cell, sheet.total)]] if sheet.total else []
    yield "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows, *total])
    for note in sheet.notes:
        yield escaped(note)


def _cell(cell: Cell) -> str:
    parts = [escaped(cell.text), code(cell.code) if cell.code else "", escaped(cell.note)]
    return "<br>".join(filter(None, parts))


def code(text: str) -> str:
    """Return a code span, fenced by more backticks than it contains. In a table, vertical bars are escaped."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", r"\|")


def escaped(text: str) -> str:
    r"""Escape a text, so that Markdown shows it literally.

    >>> escaped("<b> of *log_tail* | _x_")
    '\\<b\\> of \\*log_tail\\* \\| \\_x\\_'
    """
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", plain(text))
