"""Format and parse PartitionKey and RowKey. Read `key.py` first."""

from __future__ import annotations

from .formats import from_inverted_ticks, inverted_ticks, pad, unpad
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
    "from_inverted_ticks",
    "inverted_ticks",
    "pad",
    "prefix",
    "unpad",
]
