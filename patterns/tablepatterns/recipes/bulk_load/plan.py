"""Plan the transactions of a bulk load: chunks of entities, with their derived rows and the rows that they share."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any, Final, Literal

from ... import limits
from ...edm import key_order, value_size
from ...entity import Entity, identify, replace_fields, same_value
from ...entity_set.commit import LookedUpFields, Step, Write, all_steps, join_steps, own_steps
from ...entity_set.derived import Index, Keys, keys_of
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import entity_of
from ...entity_set.placement import RowReader
from ...entity_set.range_query import first_rows
from ...entity_set.shared_rows import Pending
from ...errors import (
    BadDesign,
    BadInput,
    BadKey,
    DerivedDataMismatch,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    ReferenceNotFound,
)
from ...filters import prop
from ...rate_limit import Pace
from ...recipe import Account, keeps_key_order
from ...sdk.operation import Operation, check_transaction

Mode = Literal["insert", "insert_or_replace"]
_MOST_OF_A_RANGE: Final = 500
"""How many entities are looked up by one range query."""


class PlannedEntity:
    """One entity of an input, and the operations on its own rows, starting with the one on the primary row."""

    __slots__ = ("payload", "position", "rows", "steps", "write")

    def __init__(self, position: int, write: Write, steps: Sequence[Step]) -> None:
        self.position = position
        self.write = write
        self.steps = steps
        self.rows = frozenset([step.operation.row_key for step in steps])
        self.payload = sum([step.operation.payload_bound for step in steps])

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the new entity, as the caller gave them."""
        return (self.write.change.new if self.write.caller_fields is None else self.write.caller_fields) or {}

    @property
    def key(self) -> Keys:
        return self.steps[0].operation.key

    @property
    def memory(self) -> int:
        """The approximate number of bytes it holds in memory until it is written, values for blobs included."""
        if not self.write.before:
            return self.payload
        raw_values = (getattr(value, "value", value) for value in self.fields.values())
        return self.payload + sum(value_size(value) for value in raw_values if isinstance(value, (str, bytes)))


@dataclass
class Chunk:
    """The entities that one entity group transaction writes."""

    entities: list[PlannedEntity] = field(default_factory=list[PlannedEntity])
    payload: int = 0
    _by_row: dict[str, Step | None] = field(default_factory=dict[str, "Step | None"])

    @property
    def steps(self) -> list[Step]:
        """The operations of all its entities, in order; operations on a shared row are combined into one."""
        return [step for step in self._by_row.values() if step is not None]

    @property
    def stored_bytes(self) -> int:
        """The storage that its rows take, by the published formula."""
        return sum(step.operation.size for step in self.steps if step.operation.kind != "delete")

    def add(self, entity: PlannedEntity, steps: Sequence[Step]) -> bool:
        """Add an entity if it fits, and writes no row again that entities do not share; return whether it was added."""
        new_steps: dict[str, Step | None] = {}
        payload, count = self.payload, len(self._by_row)
        for step in steps:
            row = step.operation.row_key
            before = new_steps.get(row) or self._by_row.get(row)
            if before is not None and not (before.shares_row and step.shares_row):
                return False
            new_step = join_steps(before, step) if before else step
            count += row not in self._by_row
            payload += _payload(new_step) - _payload(before)
            new_steps[row] = new_step
        if count > limits.MAX_TRANSACTION_OPERATIONS or payload >= limits.MAX_TRANSACTION_BYTES:
            return False
        self.entities.append(entity)
        self._by_row |= new_steps
        self.payload = payload
        return True

    def position_of(self, index: int | None) -> int | None:
        """Return the input position of the entity that an operation belongs to; None for a row that entities share."""
        if len(self.entities) == 1:
            return self.entities[0].position
        if index is None:
            return None
        step = self.steps[index]
        if step.shares_row:
            return None
        return next(entity.position for entity in self.entities if entity.key == step.write.key)


def _payload(step: Step | None) -> int:
    return step.operation.payload_bound if step else 0


class LoadStopped(Exception):
    """The load cannot continue, because of an error at an entity of the input; not raised to callers."""

    def __init__(self, error: Exception, position: int | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.position = position


@contextmanager
def at_input(position: int) -> Generator[None, None, None]:
    """Attribute bad input to the entity at that position."""
    try:
        yield
    except BadInput as error:
        raise LoadStopped(error, position) from error


class Planner:
    """Plan the operations that write each entity of a load."""

    def __init__(self, entity_set: EntitySet[Account], mode: Mode, max_per_second: Pace, *, resumed: bool) -> None:
        self._entity_set = entity_set
        self._mode = mode
        self._pace = max_per_second
        self._resumed = resumed
        self.sharing = tuple(
            derived for derived in entity_set.derived if derived.shares_rows and not derived.is_eventual
        )
        """What entities of a partition share rows of, so that chunks are planned one after the other."""
        looked_up = (derived.looked_up for derived in entity_set.derived if isinstance(derived, LookedUpFields))
        self._ignored_fields = frozenset(entity_set.key.fields).union(*looked_up)
        self._may_be_stored = mode == "insert" and resumed
        self.needs_stored = mode == "insert_or_replace" and bool(entity_set.derived)
        """Whether the operations depend on the stored entity, because old derived rows must be deleted."""
        self.looks_up = self.needs_stored or self._may_be_stored
        """Whether `replan` reads the entity."""

    async def new(self, position: int, entity: Mapping[str, Any]) -> PlannedEntity:
        with at_input(position):
            return await self._plan(position, self._entity_set.inserting(entity))

    def check_duplicates(self, plans: Iterable[PlannedEntity]) -> None:
        if self._mode != "insert":
            return
        positions: dict[Keys, int] = {}
        for plan in plans:
            for step in plan.steps:
                if step.owner is None or isinstance(step.owner, Index):
                    first = positions.setdefault(step.operation.key, plan.position)
                    if first != plan.position:
                        raise LoadStopped(_repeated(step.operation.key, step.owner, first), plan.position)

    def groups(self, plans: Sequence[PlannedEntity]) -> Iterator[list[PlannedEntity]]:
        """Yield entities in groups whose stored rows can be read together."""
        most = _MOST_OF_A_RANGE if keeps_key_order(self._entity_set.account) else 1
        ordered = sorted(plans, key=lambda plan: key_order(plan.key))
        for _, partition in groupby(ordered, lambda plan: plan.key[0]):
            waiting_plans = [*partition]
            for start in range(0, len(waiting_plans), most):
                yield waiting_plans[start : start + most]

    async def stored_rows(self, plans: Sequence[PlannedEntity]) -> dict[Keys, Entity]:
        """Return the rows that exist of entities of one group, by their keys.

        Cost: 1 transaction for up to 1,000 rows in the range of their keys, and at most about 1 for each entity.
        """
        table, rows = self._entity_set.table, dict[Keys, Entity]()
        waiting_keys, size = [plan.key for plan in plans], 2 * len(plans)
        while waiting_keys:
            await self._pace.turn()
            first, last = waiting_keys[0], waiting_keys[-1]
            if first == last:
                row = await table.get(*first)
                return rows if row is None else {**rows, first: row}
            where = (prop("PartitionKey") == first[0]) & (prop("RowKey") >= first[1]) & (prop("RowKey") <= last[1])
            stored_rows = await first_rows(table, size, where, select=None, choose=lambda row: row)
            rows |= {keys_of(row): row for row in stored_rows}
            last_read = key_order(keys_of(stored_rows[-1]) if len(stored_rows) == size else last)
            # Rows of other entities may be between them
            waiting_keys = [key for key in waiting_keys if key_order(key) > last_read]
        return rows

    async def replan(self, plan: PlannedEntity, row: Entity | None) -> PlannedEntity | None:
        """Plan the write of an entity on its stored row; None if a resumed load finds it stored with equal fields."""
        position, fields = plan.position, plan.fields
        stored = None if row is None else await entity_of(self._entity_set, row)
        if stored is None:
            return await self.new(position, fields)
        if self._may_be_stored:
            return None if same_value(stored, fields, apart_from=self._ignored_fields) else plan
        with at_input(position):
            return await self._plan(position, self._entity_set.replacing(replace_fields(stored, fields)))

    async def _plan(self, position: int, write: Write) -> PlannedEntity:
        encoded_write = await write.encoded()
        steps = await self._steps(encoded_write)
        if self._mode == "insert_or_replace" and not self._entity_set.derived:
            # Nothing depends on the stored entity, so the service's upsert is enough
            steps = [step._replace(operation=replace(step.operation, kind=self._mode)) for step in steps]
        entity_plan = PlannedEntity(position, encoded_write, steps)
        check_transaction([step.operation for step in steps])
        return entity_plan

    async def _steps(self, write: Write) -> list[Step]:
        """Return the operations on the entity's own rows; shared rows are planned later, and only checked here."""
        for derived in self.sharing:
            # Not every kind of derived data knows which rows it changes
            with suppress(BadDesign):
                derived.affected_keys(write.change)
        return await own_steps(self._entity_set.table, write)

    def may_succeed_replanned(self, error: Exception) -> bool:
        return self.lost_race(error) or (self._resumed and isinstance(error, EntityAlreadyExists))

    def lost_race(self, error: Exception) -> bool:
        """Return whether the error is due to a change after the operations were planned."""
        if isinstance(error, EntityChanged):
            return True
        row_differs = isinstance(error, (EntityAlreadyExists, EntityNotFound))
        return self.needs_stored and row_differs and not isinstance(error, (DuplicateIndexValue, ReferenceNotFound))


def _repeated(key: Keys, index: Index | None, first: int) -> BadKey:
    subject = "the entity's key" if index is None else f"the key in {index.name}"
    return BadKey(subject, key, f"entity {first} of the input has the same", "omit one of the two, or change its key")


_MOST_BYTES: Final = 16 * 1024 * 1024


class RowCache:
    """Cache rows of one partition for one task or thread; they may be stale, so writes are conditional on the ETags."""

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
        self._rows.clear()
        self._bytes = 0

    def wrote(
        self, new_rows: Mapping[Keys, Entity | None], operations: Sequence[Operation], written_rows: Sequence[Entity]
    ) -> None:
        """Cache the contents of rows after a transaction (None for a deleted one), with their new ETags."""
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


class PartitionPlan:
    """The unwritten entities of a partition, in order, and the chunks that write them; for one task or thread.

    Each chunk is planned on the rows that the previous chunks left, and is as large as an entity group transaction can
    be. Every entity is in exactly one chunk, with all its operations.
    """

    def __init__(self, planner: Planner, rows: RowCache, plans: Sequence[PlannedEntity]) -> None:
        self._planner = planner
        self._rows = rows
        self._entities = list(plans)
        self._done_count = 0
        self._unconfirmed_count = 0
        self._written_rows: set[str] = set()
        self._left: dict[Keys, Entity | None] = {}

    @property
    def is_written(self) -> bool:
        return self._done_count == len(self._entities)

    @property
    def unconfirmed(self) -> list[PlannedEntity]:
        """The entities of the last planned chunk, or the one entity that could not be planned."""
        return self._entities[self._done_count : self._done_count + self._unconfirmed_count]

    def renew(self, plans: Sequence[PlannedEntity]) -> None:
        self._rows.forget()
        self._entities[self._done_count : self._done_count + self._unconfirmed_count] = plans
        self._unconfirmed_count = len(plans)

    async def chunk(self, most: int | None = None) -> Chunk:
        chunk, pending = Chunk(), Pending(self._rows)
        self._left, self._unconfirmed_count = {}, 1
        last = None if most is None else self._done_count + most
        for entity in islice(self._entities, self._done_count, last):
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
        current = entity
        if not self._written_rows.isdisjoint(entity.rows):
            rows = await self._planner.stored_rows([entity]) if self._planner.looks_up else {}
            current = await self._planner.replan(entity, rows.get(entity.key)) or entity
        steps = current.steps
        if self._planner.sharing:
            steps = await all_steps(pending, current.write, steps)
        if not chunk.add(current, steps):
            if not chunk.entities:
                check_transaction([step.operation for step in steps])
            return False
        for step in steps:
            if step.shares_row:
                self._left[step.operation.key] = await pending.get(*step.operation.key)
        return True

    def wrote(self, chunk: Chunk, rows: Sequence[Entity]) -> None:
        """Note that a chunk is stored, with the new ETags of its rows."""
        self._done_count += len(chunk.entities)
        self._written_rows.update(row for entity in chunk.entities for row in entity.rows)
        if self._left:
            self._rows.wrote(self._left, [step.operation for step in chunk.steps], rows)
