"""The catalogue: the guide's patterns as data. The docs, the pattern map, the review and the CLI read it."""

from .entries import ENTRIES, RELATIONS
from .entry import Basis, CatalogueEntry, Concern, Kind, Relation
from .find import CONCERNS, by_concern, entry, related

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
