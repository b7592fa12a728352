"""Estimate how many rows a table has, from a sample of some ranges of its keys."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from string import digits
from typing import Final

from .sampling import Gap, TableSample

_CHARACTERS: Final = 24
"""The number of characters of a key that are compared."""


class _Scale:
    """The place of a key among others, from 0 to 1: each character counts among those that occur at its position."""

    def __init__(self, keys: Sequence[str]) -> None:
        characters_at: defaultdict[int, set[str]] = defaultdict(set)
        for key in keys:
            for at, character in enumerate(key[:_CHARACTERS]):
                characters_at[at].add(character)
        self._known = [sorted(_with_digits(characters_at[at])) for at in range(len(characters_at))]

    def place(self, key: str) -> float:
        """Return the place of a key."""
        fraction, width = 0.0, 1.0
        for characters, character in zip(self._known, key, strict=False):
            below = sum(candidate < character for candidate in characters)
            fraction += width * below / len(characters)
            if character not in characters:
                break
            width /= len(characters)
        return fraction


def _with_digits(characters: set[str]) -> set[str]:
    """Return the characters of a position; where several digits occur, the others may too."""
    return characters | set(digits) if len(characters & set(digits)) > 1 else characters


def row_count(sample: TableSample) -> int:
    """Return about how many rows a table has: unread ranges hold as many as those that were read.

    :param sample: what was read of it
    """
    if sample.is_whole:
        return len(sample.rows)
    by_partition = Counter(str(row["PartitionKey"]) for row in sample.rows)
    rows = {partition: float(count) for partition, count in by_partition.items()}
    for partition in sample.partial:
        keys = [str(row["RowKey"]) for row in sample.rows if row["PartitionKey"] == partition]
        rows[partition] *= _extrapolated(keys, [gap for gap in sample.gaps if gap.partition == partition])
    return round(sum(rows.values()) * _extrapolated(list(rows), [gap for gap in sample.gaps if gap.partition is None]))


def _extrapolated(keys: Sequence[str], gaps: Sequence[Gap]) -> float:
    """Return how many times as many keys there are as were read."""
    if len(keys) <= 1 or not gaps:
        return 1.0
    ends = (end for gap in gaps for end in (gap.lower, gap.upper) if end is not None)
    scale = _Scale([*keys, *ends])
    first, last = scale.place(keys[0]), scale.place(keys[-1])
    unread = 0.0
    for gap in gaps:
        start = first if gap.lower is None else scale.place(gap.lower)
        end = last if gap.upper is None else min(last, scale.place(gap.upper))
        unread += max(0.0, end - start)
    read = last - first - unread
    return 1 + unread / read if read > 0 else 1.0
