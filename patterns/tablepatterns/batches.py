"""Split what is sent into batches that each fit into one message, property or transaction."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(
    items: Iterable[T], size_of: Callable[[T], int], most: int, most_items: int = sys.maxsize
) -> Iterator[list[T]]:
    """Yield items in batches, in their order, each of at most this size; a larger item is a batch of its own."""
    batch: list[T] = []
    batch_size = 0
    for item in items:
        size = size_of(item)
        if batch and (batch_size + size > most or len(batch) == most_items):
            yield batch
            batch, batch_size = [], 0
        batch.append(item)
        batch_size += size
    if batch:
        yield batch
