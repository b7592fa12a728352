"""A range of a table in key order, such as the key range of a shared access signature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tablepatterns.edm import ordinal

Position: TypeAlias = tuple[str, str]

FIRST: Position = ("", "")


def after(key: str) -> str:
    """Return the next key in order."""
    return key + "\0"


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys from `lower`, inclusive, to `upper`, exclusive; None is the end of the table."""

    lower: Position = FIRST
    upper: Position | None = None

    def __contains__(self, position: Position) -> bool:
        return self.lower <= position and (self.upper is None or position < self.upper)

    def __and__(self, other: KeyRange) -> KeyRange:
        uppers = [upper for upper in (self.upper, other.upper) if upper is not None]
        return KeyRange(max(self.lower, other.lower), min(uppers, default=None))


@dataclass(frozen=True, slots=True)
class KeyScope:
    """The key range of a shared access signature: `spk`, `srk`, `epk` and `erk`, each inclusive, each optional.

    The row keys apply to the first and the last partition only, so this is one contiguous range of the table. `srk`
    needs `spk`, and `erk` needs `epk`.
    """

    spk: str | None = None
    srk: str | None = None
    epk: str | None = None
    erk: str | None = None

    def contains(self, partition_key: str, row_key: str) -> bool:
        return (ordinal(partition_key), ordinal(row_key)) in self.key_range()

    def key_range(self) -> KeyRange:
        lower = (ordinal(self.spk or ""), ordinal(self.srk or ""))
        if self.epk is None:
            return KeyRange(lower)
        last = ordinal(self.epk)
        return KeyRange(lower, (after(last), "") if self.erk is None else (last, after(ordinal(self.erk))))
