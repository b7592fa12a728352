"""Print the packaged help page on errors, or one section of it: `tablepatterns help BadKey`."""

from __future__ import annotations

import functools
import re
from difflib import get_close_matches
from importlib.resources import files
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from .output import Result, command, new_app

_HEADING = re.compile(r"^## (\w+)$", re.MULTILINE)
app = new_app()


@command(app, "help")
def show_help(
    name: Annotated[str, typer.Argument(help="An error, such as BadKey; by default, list all.")] = "",
) -> Result:
    """Explain an error: what it means, its cause and the fix. Without a name, list the errors."""
    if name:
        return Result({"name": name, "text": section(name)}, (Markdown(section(name), code_theme="ansi_dark"),))
    lines = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for listed_name, sentence in names().items():
        lines.add_row(Text(listed_name, style="bold"), sentence.replace("`", ""))
    first = Text("The errors of tablepatterns. For the meaning, causes and fix of one: tablepatterns help BadKey")
    patterns = Text("For the patterns: tablepatterns patterns. For a query: tablepatterns explain.")
    return Result(names(), (first, "", lines, "", patterns))


@functools.cache
def page() -> str:
    return files(__name__.rpartition(".")[0]).joinpath("errors.md").read_text(encoding="utf-8")


def names() -> dict[str, str]:
    """Return the names of the sections in order, with their first sentences."""
    return {name: re.split(r"(?<=\.)\s", text, maxsplit=1)[0].replace("\n", " ") for name, text in _sections().items()}


def section(name: str) -> str:
    """Return a section, as Markdown; in its name, case, hyphens and underscores make no difference.

    >>> section("unknown_key").splitlines()[0]
    '## UnknownKey'
    """
    names_by_plain = {_plain(section_name): section_name for section_name in _sections()}
    if (plain_name := _plain(name)) not in names_by_plain:
        near = [names_by_plain[match] for match in get_close_matches(plain_name, names_by_plain)]
        hint = f"did you mean {' or '.join(near)}?" if near else "`tablepatterns help` lists them"
        raise BadInput("name", name, "there is no help on this name", hint)
    return f"## {names_by_plain[plain_name]}\n\n{_sections()[names_by_plain[plain_name]]}\n"


@functools.cache
def _sections() -> dict[str, str]:
    _, *parts = _HEADING.split(page())
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _plain(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()
