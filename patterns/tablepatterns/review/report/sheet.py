"""Sheet: one table of a report, as data. Text, Markdown and HTML write the same sheets, each in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "fair", "bad"]


@dataclass(frozen=True)
class Cell:
    """What a field of a table says.

    :param code: the call that it is about, shown beneath
    :param note: a word more, shown beneath
    :param tone: whether it is good or bad news; never the only sign of it
    """

    text: str
    code: str = ""
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    :param name: its heading
    :param figures: whether it holds figures, which are set flush right
    """

    name: str
    figures: bool = False


@dataclass(frozen=True)
class Sheet:
    """One part of a report.

    :param name: what links to it
    :param title: its heading
    :param says: what it shows, in a sentence
    :param rows: none where there is nothing to show, as `says` then tells
    :param total: the last line, set apart
    :param notes: how to read it
    """

    name: str
    title: str
    says: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()
