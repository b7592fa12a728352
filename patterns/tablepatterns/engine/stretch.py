"""A stretch of a table in key order: what a filter, a continuation token or a signature leaves to read.

Keys are compared in the form that `edm.ordinal` gives them. A stretch is half open: its upper end is the first key
outside. That says everything, since the first key after `k` is `k` followed by U+0000, which no key contains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Position: TypeAlias = tuple[str, str]

FIRST: Position = ("", "")


def after(key: str) -> str:
    """Return the first key behind this one."""
    return key + "\0"


@dataclass(frozen=True, slots=True)
class Stretch:
    """The keys from `lower`, included, to `upper`, excluded; None is the end of the table."""

    lower: Position = FIRST
    upper: Position | None = None

    def __contains__(self, position: Position) -> bool:
        return self.lower <= position and (self.upper is None or position < self.upper)

    def __and__(self, other: Stretch) -> Stretch:
        uppers = [upper for upper in (self.upper, other.upper) if upper is not None]
        return Stretch(max(self.lower, other.lower), min(uppers, default=None))
