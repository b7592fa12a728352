"""Split the writes of one partition's entities into entity group transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import limits
from ...edm import value_size
from ...entity_set.commit import Step, Write, join_steps


class PlannedEntity:
    """One entity of an input, and the operations on its own rows.

    :param position: its index in the input, from 0
    :param write: the logical change, with the fields as they are stored
    :param steps: the operations, starting with the one on the primary row
    """

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
    def key(self) -> tuple[str, str]:
        """The key of the primary row."""
        return self.steps[0].operation.key

    @property
    def is_one_transaction(self) -> bool:
        """Return whether it fits into one entity group transaction."""
        is_small = len(self.steps) <= limits.MAX_TRANSACTION_OPERATIONS and self.payload < limits.MAX_TRANSACTION_BYTES
        return is_small and len(self.rows) == len(self.steps)

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
    follows: bool = False
    """Whether it writes a row that an earlier chunk wrote too, so that its plan is based on an outdated row."""
    _by_row: dict[str, Step | None] = field(default_factory=dict[str, "Step | None"])

    @property
    def steps(self) -> list[Step]:
        """The operations of all its entities, in order; operations on a shared row are combined into one."""
        return [step for step in self._by_row.values() if step is not None]

    @property
    def rows(self) -> Iterable[str]:
        """The RowKeys of the rows it writes."""
        return self._by_row.keys()

    @property
    def stored_bytes(self) -> int:
        """The storage that its rows take, by the published formula."""
        return sum(step.operation.size for step in self.steps if step.operation.kind != "delete")

    def add(self, entity: PlannedEntity, steps: Sequence[Step]) -> bool:
        """Add an entity with all its operations if it fits, and return whether it did.

        It does not fit if it writes a row that the chunk writes already, unless entities share that row.
        """
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


def chunks(plans: Iterable[PlannedEntity]) -> Iterator[Chunk]:
    """Split the entities of one partition into chunks, in order.

    Every entity is in exactly one chunk, with all its operations. No chunk has more than 100 operations, reaches 4 MB
    or writes a row twice, provided that no single entity does. Each chunk is as large as possible.

    :param plans: entities of one partition, each of which fits into a transaction

    Guide: entity group transactions.
    """
    chunk = Chunk()
    written_rows: set[str] = set()
    for entity in plans:
        if not chunk.add(entity, entity.steps):
            yield chunk
            written_rows.update(chunk.rows)
            chunk = Chunk()
            chunk.add(entity, entity.steps)
        chunk.follows = chunk.follows or not written_rows.isdisjoint(entity.rows)
    if chunk.entities:
        yield chunk
