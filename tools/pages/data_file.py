"""Tables that are too long for a page, as files of tab-separated values that a page links to."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DataFile:
    """A table in a file.

    :param PAGE: the path in the repository
    :param rows: returns the rows, without the line of the heads
    """

    PAGE: str
    heads: Sequence[str]
    rows: Callable[[], Iterable[Sequence[str]]]

    def render(self) -> str:
        """Return the text of the file."""
        text = io.StringIO()
        csv.writer(text, delimiter="\t", lineterminator="\n").writerows([self.heads, *self.rows()])
        return text.getvalue()
