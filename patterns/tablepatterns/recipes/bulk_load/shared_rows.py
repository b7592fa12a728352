"""Plan a load's writes to rows that several entities share, so that each row is read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from ...entity import Entity, identify
from ...entity_set.commit import Step, all_steps
from ...entity_set.derived import Keys
from ...entity_set.pending import Pending
from ...entity_set.row_store import RowReader
from ...errors import BadInput, DerivedDataMismatch, ReferenceNotFound
from ...rate_limit import Pace
from ...sdk.operation import Operation, check_transaction
from .chunk import Chunk, PlannedEntity
from .plan import LoadStopped, Planner

_MOST_BYTES: Final = 16 * 1024 * 1024


class RowCache:
    """Cache rows of one partition as they were last read or written, with their ETags; for one task or thread.

    A cached row may be stale, so writes are conditional on its ETag.

    :param stored: reads the rows
    :param max_per_second: limits the rate of reads
    """

    def __init__(self, stored: RowReader, max_per_second: Pace) -> None:
        self._stored = stored
        self._pace = max_per_second
        self._rows: dict[Keys, Entity | None] = {}
        self._bytes = 0

    async def get(self, partition_key: str, row_key: str) -> Entity | None:
        """Return a row, or None. Cost: 1 transaction on first use."""
        keys = partition_key, row_key
        if keys not in self._rows:
            await self._pace.turn()
            self._rows[keys] = await self._stored.get(*keys)
        return self._rows[keys]

    def forget(self) -> None:
        """Clear the cache, because a row is stale."""
        self._rows.clear()
        self._bytes = 0

    def wrote(
        self, new_rows: Mapping[Keys, Entity | None], operations: Sequence[Operation], written_rows: Sequence[Entity]
    ) -> None:
        """Cache rows after a transaction.

        :param new_rows: their contents by key; None for a deleted row
        :param operations: the operations of the transaction
        :param written_rows: the rows with their new ETags
        """
        stored = {row.key: row for row in written_rows}
        for keys, row in new_rows.items():
            if row is not None:
                identify(row, stored[keys])
            self._rows[keys] = row
        self._bytes += sum(operation.payload_bound for operation in operations if operation.key in new_rows)
        if self._bytes > _MOST_BYTES:
            self.forget()


STALE_ROW_ERRORS: Final = (BadInput, DerivedDataMismatch, ReferenceNotFound)
"""Errors that planning may raise because of stale rows; reading the rows again may help."""


class SharedRowPlan:
    """The unwritten entities of a partition that share rows; for one task or thread.

    :param planned: entities of one partition, with the operations on their own rows
    """

    def __init__(self, planner: Planner, rows: RowCache, plans: Sequence[PlannedEntity]) -> None:
        self._planner = planner
        self._rows = rows
        self._entities = list(plans)
        self._done = 0
        self._unconfirmed_count = 0
        self._written: set[str] = set()
        self._left: dict[Keys, Entity | None] = {}

    @property
    def is_written(self) -> bool:
        """Return whether all entities are written."""
        return self._done == len(self._entities)

    @property
    def unconfirmed(self) -> list[PlannedEntity]:
        """The entities of the last planned chunk, or the one entity that could not be planned."""
        return self._entities[self._done : self._done + self._unconfirmed_count]

    def renew(self, plans: Sequence[PlannedEntity]) -> None:
        """Discard cached rows, and replace the entities of the last chunk by replanned ones."""
        self._rows.forget()
        self._entities[self._done : self._done + self._unconfirmed_count] = plans
        self._unconfirmed_count = len(plans)

    async def chunk(self, most: int | None = None) -> Chunk:
        """Return the next chunk, as large as possible.

        :param most: how many entities it may have; None for as many as fit
        :raises Stopped: its first entity cannot be written
        """
        chunk, pending = Chunk(), Pending(self._rows)
        self._left, self._unconfirmed_count = {}, 1
        last = None if most is None else self._done + most
        for entity in islice(self._entities, self._done, last):
            try:
                if not await self._add(chunk, pending, entity):
                    break
            except STALE_ROW_ERRORS as error:
                if not chunk.entities:
                    raise LoadStopped(error, entity.position) from error
                # The entities before it are valid; this one is planned again once they are written
                break
        self._unconfirmed_count = len(chunk.entities)
        return chunk

    async def _add(self, chunk: Chunk, pending: Pending, entity: PlannedEntity) -> bool:
        current = await self._current(entity)
        steps = await all_steps(pending, current.write, current.steps)
        if not chunk.add(current, steps):
            if not chunk.entities:
                check_transaction([step.operation for step in steps])
            return False
        for step in steps:
            if step.shares_row:
                self._left[step.operation.key] = await pending.get(*step.operation.key)
        return True

    async def _current(self, entity: PlannedEntity) -> PlannedEntity:
        """Return an entity, planned again if earlier chunks have written its rows."""
        if not self._planner.needs_stored or self._written.isdisjoint(entity.rows):
            return entity
        return await self._planner.replan(entity) or entity

    def wrote(self, chunk: Chunk, rows: Sequence[Entity]) -> None:
        """Note that a chunk is stored.

        :param rows: its rows with their new ETags
        """
        self._done += len(chunk.entities)
        self._written.update(row for entity in chunk.entities for row in entity.rows)
        steps: list[Step] = chunk.steps
        self._rows.wrote(self._left, [step.operation for step in steps], rows)
