"""Tables and sections in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

INTRODUCTIONS: Final = Path(__file__).with_name("introductions")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    return rows_of_table([heads, ["---" for _ in heads], *rows])


def rows_of_table(lines: Iterable[Sequence[str]]) -> str:
    """Return lines of a table."""
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def between(text: str, name: str, part: str) -> str:
    """Return a text with a new part between the markers of a name."""
    begin, end = f"<!-- {name}: written by make pages -->", f"<!-- end of {name} -->"
    return re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{part}\n{end}", text, flags=re.DOTALL)


def introduction(name: str, **numbers: object) -> str:
    """Return the introduction of a page, before its tables."""
    return (INTRODUCTIONS / f"{name}.md").read_text(encoding="utf-8").format(**numbers).rstrip("\n")


def page(*parts: str) -> str:
    """Return a page of parts, separated by empty lines."""
    return "\n\n".join(parts) + "\n"
