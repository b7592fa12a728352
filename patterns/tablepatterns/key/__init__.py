"""Format and parse PartitionKey and RowKey. Read `key.py` first."""

from __future__ import annotations

from .formats import inverted_ticks
from .key import K, Key
from .ranges import KeyRange, above, after_prefix, at_least, at_most, below, between, prefix

__all__ = [
    "K",
    "Key",
    "KeyRange",
    "above",
    "after_prefix",
    "at_least",
    "at_most",
    "below",
    "between",
    "inverted_ticks",
    "prefix",
]
