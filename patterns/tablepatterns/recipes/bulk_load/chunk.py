"""Chunk: how the writes of many entities of one partition are cut into entity group transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import limits
from ...edm import value_size
from ...entity_set.commit import Step, Write, joined


class Planned:
    """One entity of an input, and what one transaction must write for it in rows that are its own.

    :param position: where it stands in the input, counted from 0
    :param write: the logical change, with the fields as they are stored
    :param steps: the operations, that on the primary row first
    """

    __slots__ = ("payload", "position", "rows", "steps", "write")

    def __init__(self, position: int, write: Write, steps: Sequence[Step]) -> None:
        self.position = position
        self.write = write
        self.steps = steps
        self.rows = frozenset(step.operation.row_key for step in steps)
        self.payload = sum(step.operation.payload_bound for step in steps)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the entity as it shall be, as the caller gave them."""
        return (self.write.change.new if self.write.given is None else self.write.given) or {}

    @property
    def key(self) -> tuple[str, str]:
        """The key of the primary row."""
        return self.steps[0].operation.key

    @property
    def is_one_transaction(self) -> bool:
        """Whether it fits into one entity group transaction."""
        is_small = len(self.steps) <= limits.MAX_TRANSACTION_OPERATIONS and self.payload < limits.MAX_TRANSACTION_BYTES
        return is_small and len(self.rows) == len(self.steps)

    @property
    def memory(self) -> int:
        """About how many bytes it holds until it is written: also those that no row is sent with, but a blob."""
        if not self.write.before:
            return self.payload
        given = (getattr(value, "value", value) for value in self.fields.values())
        return self.payload + sum(value_size(value) for value in given if isinstance(value, (str, bytes)))


@dataclass
class Chunk:
    """The entities that are written together, in one entity group transaction."""

    entities: list[Planned] = field(default_factory=list[Planned])
    payload: int = 0
    follows: bool = False
    """Whether it writes a row that a chunk before it wrote too, so that it was planned on what is no longer stored."""
    _by_row: dict[str, Step | None] = field(default_factory=dict[str, "Step | None"])

    @property
    def steps(self) -> list[Step]:
        """The operations of all its entities, in order; what several do to a row that they share is one."""
        return [step for step in self._by_row.values() if step is not None]

    @property
    def rows(self) -> Iterable[str]:
        """The RowKeys of what it writes."""
        return self._by_row.keys()

    @property
    def stored_bytes(self) -> int:
        """What its rows take in the table, by the published formula."""
        return sum(step.operation.size for step in self.steps if step.operation.kind != "delete")

    def takes(self, entity: Planned, steps: Sequence[Step]) -> bool:
        """Take an entity in with all that is written for it, if it fits as a whole; tell whether it did.

        It does not where it writes a row that the chunk writes already, unless entities share that row.
        """
        changed: dict[str, Step | None] = {}
        payload, count = self.payload, len(self._by_row)
        for step in steps:
            row = step.operation.row_key
            before = changed.get(row) or self._by_row.get(row)
            if before is not None and not (before.shares_row and step.shares_row):
                return False
            wanted = joined(before, step) if before else step
            count += row not in self._by_row
            payload += _payload(wanted) - _payload(before)
            changed[row] = wanted
        if count > limits.MAX_TRANSACTION_OPERATIONS or payload >= limits.MAX_TRANSACTION_BYTES:
            return False
        self.entities.append(entity)
        self._by_row |= changed
        self.payload = payload
        return True

    def position_of(self, index: int | None) -> int | None:
        """Return the position in the input of the entity that an operation belongs to; None where none is known.

        A row that several entities share tells of none of them.
        """
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


def chunks(planned: Iterable[Planned]) -> Iterator[Chunk]:
    """Cut the entities of one partition into chunks, in their order.

    Every entity is in exactly one chunk, with all its operations. No chunk has more than 100 operations, reaches 4 MB
    or writes a row twice, if no single entity does; none could take in the entity that begins the next.

    :param planned: entities of one partition, each of which fits into a transaction

    Guide: entity group transactions.
    """
    chunk = Chunk()
    written: set[str] = set()
    for entity in planned:
        if not chunk.takes(entity, entity.steps):
            yield chunk
            written.update(chunk.rows)
            chunk = Chunk()
            chunk.takes(entity, entity.steps)
        chunk.follows = chunk.follows or not written.isdisjoint(entity.rows)
    if chunk.entities:
        yield chunk
