"""How help looks in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from .page import names, section


def shown(name: str | None) -> RenderableType:
    """Return a section, or a list of all of them.

    :raises BadInput: there is no such section
    """
    return Markdown(section(name), code_theme="ansi_dark") if name else _listed()


def _listed() -> RenderableType:
    lines = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, sentence in names().items():
        lines.add_row(Text(name, style="bold"), sentence.replace("`", ""))
    first = Text("The errors of tablepatterns. What one means, why it comes and the way out: tablepatterns help BadKey")
    patterns = Text("The patterns: tablepatterns patterns. A query: tablepatterns explain.")
    return Group(first, "", lines, "", patterns)
