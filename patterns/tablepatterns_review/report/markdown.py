"""Write a review as Markdown, for a pull request, a wiki or a site."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from ..result import Reviewed
from ..templates import environment
from .formatting import SEVERITIES, effect_of_all, lines, plain, subject_of, verdict
from .tables import Cell, Sheet, sheets

# An underscore within a word has no meaning in Markdown
_SPECIAL: Final = re.compile(r"[\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_])")


def markdown(reviewed: Reviewed) -> str:
    """Return the report in GitHub's Markdown; names from the design cannot become markup."""
    template = _environment().get_template("review.md.jinja")
    return template.render(reviewed=reviewed, verdict=verdict(reviewed).capitalize(), sheets=sheets(reviewed))


def comparison_markdown(compared: Iterable[Sheet]) -> str:
    return _environment().get_template("comparison.md.jinja").render(sheets=compared)


@cache
def _environment() -> Environment:
    return environment(
        __name__,
        # Markdown is escaped in the same place as HTML
        show_text=escaped,
        literally=Markup,
        escaped=escaped,
        cell=_cell,
        SEVERITIES=SEVERITIES,
        lines=lines,
        subject_of=subject_of,
        effect_of_all=effect_of_all,
    )


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
    return _SPECIAL.sub(lambda character: f"\\{character[0]}", plain(text))
