"""Volume: how many bytes a set takes in the account, with all that is derived from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...deriving.derived import Derived
from ...deriving.shared_rows import PART
from ...recipes.index_entities import IndexEntities
from ...recipes.summary import Summary
from ..declaring.declared import DeclaredSet, Shape
from ..simulating.loads import key_of
from ..trying.population import values_in
from .sizes import derived_sizes, entry_size, list_size, primary_sizes, rows_of


@dataclass(frozen=True)
class Volume:
    """Bytes by the service that they lie in."""

    tables: float
    blobs: float


def grown(shape: Shape, years: float) -> float:
    """Return how many entities there are after so many years."""
    return max(0.0, shape.count + shape.growth * years)


def volume_of(declared: DeclaredSet, years: float) -> Volume:
    """Return what a set takes after so many years.

    :param declared: the set
    :param years: how many years from now
    """
    count = grown(declared.shape, years)
    sizes = primary_sizes(declared)
    tables, blobs = sizes.row * rows_of(declared) * count, sizes.blobs * count
    for each in declared.derived:
        copies = derived_sizes(declared, each)
        if copies is not None:
            tables += copies.row * count
            continue
        lists = _lists(declared, each, count)
        if isinstance(each, IndexEntities) and key_of(each, declared.key) is None:
            blobs += lists
        else:
            tables += lists
    return Volume(tables, blobs)


def _lists(declared: DeclaredSet, derived: Derived, count: float) -> float:
    """Return the bytes of the rows that several entities share, and of what they list."""
    if not isinstance(derived, (IndexEntities, Summary)) or not count:
        return 0.0
    key = derived.layout(declared.key) if isinstance(derived, IndexEntities) else derived.layout
    fields = [name for name in key.fields if name != PART]
    rows = min(count, values_in(replace(declared.shape, count=math.ceil(count)), fields) * derived.spread)
    return rows * list_size(declared, derived) + count * entry_size(declared, derived)
