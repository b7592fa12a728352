"""The catalogue: the guide's patterns as data, from which docs, pattern map, review and command line take theirs."""

from .entry import Basis, CatalogueEntry, Concern, Kind, Relation
from .find import CONCERNS, ENTRIES, by_concern, entry, related
from .relations import RELATIONS

__all__ = [
    "CONCERNS",
    "ENTRIES",
    "RELATIONS",
    "Basis",
    "CatalogueEntry",
    "Concern",
    "Kind",
    "Relation",
    "by_concern",
    "entry",
    "related",
]
