"""Split the template of a PartitionKey or RowKey into fields and formats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import Formatter
from typing import Final

from tablepatterns.key import Key
from tablepatterns.key.formats import format_of

from .model import DAY


@dataclass(frozen=True)
class Piece:
    """Literal text, and the field after it, if any.

    :param width: the number of characters of every value of the field; None if it varies
    """

    literal: str
    name: str | None = None
    spec: str = ""
    width: int | None = None

    @property
    def is_clock(self) -> bool:
        return self.spec in ("ticks", "inverted") or "%" in self.spec


@lru_cache(maxsize=1024)
def pieces_of(template: str) -> Sequence[Piece]:
    """Return the pieces of a template, from left to right.

    >>> [(each.literal, each.name, each.width) for each in pieces_of("empid_{EmployeeId:06d}_{Year:04d}")]
    [('empid_', 'EmployeeId', 6), ('_', 'Year', 4)]
    """
    parsed = Formatter().parse(template)
    return tuple(
        Piece(literal, name, spec or "", format_of(name, spec or "").width) if name else Piece(literal)
        for literal, name, spec, _ in parsed
    )


def pieces_of_key(key: Key) -> Sequence[Piece]:
    """Return the pieces of the PartitionKey, then those of the RowKey."""
    return (*pieces_of(key.partition_template), *pieces_of(key.row_template))


def dates_of(key: Key) -> set[str]:
    """Return the fields that a key writes as a date, without a time of day."""
    return {piece.name for piece in pieces_of_key(key) if piece.name and "%" in piece.spec and span_of(piece)[0] >= DAY}


def key_text(key: Key) -> str:
    return f"({key.partition_template}, {key.row_template})"


_SPANS: Final = {
    "Y": (365.25 * DAY, "year"),
    "m": (30.44 * DAY, "month"),
    "d": (float(DAY), "day"),
    "H": (3600.0, "hour"),
    "M": (60.0, "minute"),
    "S": (1.0, "second"),
}


def span_of(piece: Piece) -> tuple[float, str]:
    """Return how long a time in a key stays the same, in seconds and in words."""
    directives = re.findall("%(.)", piece.spec)
    return _SPANS.get(directives[-1] if directives else "f", (1e-6, "microsecond"))
