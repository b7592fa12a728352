"""The pairs to test: every two parts of different kinds, and two of the same kind if a set may have both."""

from __future__ import annotations

from itertools import combinations, product

from compositions.deeds import DEEDS, READERS, Archived, Deletion, Load, Moved, Rotated
from compositions.derived import DERIVED, Inter, ListedInBlobs, Unique
from compositions.homes import HOMES, NESTED, Home, ModelHome, PeriodTablesHome
from compositions.mappings import MAPPINGS, Blind, Encrypted, Large
from compositions.part import Part
from compositions.wide import ModelWide, WideHome

Pair = tuple[type[Part], type[Part]]


_NESTED: dict[Pair, type[Home]] = {**NESTED, (ModelHome, WideHome): ModelWide}


def _is_sensible(pair: Pair) -> bool:
    one, other = pair
    if other is Rotated:
        # It includes encryption
        return one not in (Encrypted, Blind)
    if issubclass(other, WideHome):
        return one in (*MAPPINGS, ModelHome)
    # A period is dropped with its table, so no derived data may be in another table
    return not (other is PeriodTablesHome and one in (Unique, ListedInBlobs))


_ALL: tuple[Pair, ...] = (
    *combinations(DERIVED, 2),
    *product(DERIVED, (*MAPPINGS, *HOMES, *DEEDS)),
    (Encrypted, Large),
    *product(MAPPINGS, (*HOMES, *DEEDS, *READERS)),
    *_NESTED,
    *product(HOMES, (*DEEDS, *READERS)),
    *product(MAPPINGS, (WideHome,)),
    (WideHome, Rotated),
)
PAIRS = tuple(pair for pair in _ALL if _is_sensible(pair))
EVERYTHING: tuple[type[Part], ...] = (*DERIVED, Blind, Large, Load, Deletion, Archived, Moved, *READERS)


def parts_of(pair: Pair) -> tuple[type[Part], ...]:
    """Return the parts of a pair; a home within another is one home."""
    return tuple(nested for homes, nested in _NESTED.items() if homes == pair) or pair


def everything_in(home: type[Home]) -> tuple[type[Part], ...]:
    """Return all parts that one set may have at the same time."""
    return (*(part for part in EVERYTHING if _is_sensible((part, home))), home)


def partition_of(home: type[Home]) -> tuple[type[Part], ...]:
    """Return the parts of a set that keep all their rows in the partitions of the entities."""
    return tuple(part for part in everything_in(home) if not part.is_eventual and not issubclass(part, Inter))


def is_combined(pair: Pair) -> bool:
    """Return whether the two parts of a pair also work together with all others in one set."""
    return any(set(parts_of(pair)) <= {*everything_in(home), Home} for home in (Home, *HOMES, WideHome, ModelWide))


def name_of(pair: Pair) -> str:
    """Return the name of a pair, for tests and for the page."""
    return " x ".join(part.name for part in pair)
