"""Kept: the blobs of large values as a listing shows them, with the marks of those that nobody needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from ..edm import ordinal
from ..words.container import BlobFacts
from .address import ORPHAN, BlobName

BATCH: Final = 1000
"""How many blobs are looked at together, at least, where a partition has so many."""


@dataclass(frozen=True)
class Kept:
    """One blob: whose value it holds, since when, and since when it is marked as needed by nobody."""

    name: BlobName
    since: datetime
    marked: datetime | None = None


@dataclass
class Batch:
    """Blobs of entities of one partition."""

    partition_key: str
    blobs: list[Kept] = field(default_factory=list[Kept])
    lone_marks: list[str] = field(default_factory=list[str])
    """Marks whose blob is gone: a collection died between the two."""

    @property
    def first(self) -> str:
        """The first RowKey of the entities, in the order of the service."""
        return min((kept.name.key[1] for kept in self.blobs), key=ordinal)

    @property
    def last(self) -> str:
        """The last RowKey of the entities."""
        return max((kept.name.key[1] for kept in self.blobs), key=ordinal)

    def add(self, name: BlobName, facts: BlobFacts) -> None:
        """Add a blob, or the mark of the blob that came right before it."""
        if not facts.name.endswith(ORPHAN):
            self.blobs.append(Kept(name, facts.modified_at))
        elif self.blobs and self.blobs[-1].name == name:
            self.blobs[-1] = replace(self.blobs[-1], marked=facts.modified_at)
        else:
            self.lone_marks.append(facts.name)


async def batches(blobs: AsyncIterator[BlobFacts], is_ours: Callable[[BlobName], bool]) -> AsyncIterator[Batch]:
    """Hand out blobs by partition, those of one entity never apart; names of other kinds are left out.

    :param blobs: in the order of their names, as a listing gives them
    :param is_ours: whether a blob is one of those asked for
    """
    batch: Batch | None = None
    key: tuple[str, str] | None = None
    async for facts in blobs:
        name = BlobName.parse(facts.name.removesuffix(ORPHAN))
        if name is None or not is_ours(name):
            continue
        if batch is None or name.key[0] != batch.partition_key or (len(batch.blobs) >= BATCH and name.key != key):
            if batch is not None:
                yield batch
            batch = Batch(name.key[0])
        key = name.key
        batch.add(name, facts)
    if batch is not None:
        yield batch
