"""Chunk: how the writes of many entities of one partition are cut into entity group transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import limits
from ..commit import Step, Write
from ..edm import entity_size
from ..operation import Operation


class Planned:
    """One entity of an input, and everything that one transaction must write for it.

    :param position: where it stands in the input, counted from 0
    :param write: the logical change
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
        """The fields of the entity as it shall be."""
        return self.write.change.new or {}

    @property
    def key(self) -> tuple[str, str]:
        """The key of the primary row."""
        return self.steps[0].operation.key

    def stored_bytes(self) -> int:
        """Return what the rows take in the table, by the published formula."""
        return sum(_stored_bytes(step.operation) for step in self.steps if step.operation.kind != "delete")


def _stored_bytes(operation: Operation) -> int:
    properties = {name: value for name, value in operation.entity.items() if name not in limits.SYSTEM_PROPERTIES}
    return entity_size(*operation.key, properties)


@dataclass
class Chunk:
    """The entities that are written together, in one entity group transaction."""

    entities: list[Planned] = field(default_factory=list[Planned])
    rows: set[str] = field(default_factory=set[str])
    payload: int = 0
    follows: bool = False
    """Whether it writes a row that a chunk before it wrote too, so that it was planned on what is no longer stored."""

    @property
    def steps(self) -> list[Step]:
        """The operations of all its entities, in order."""
        return [step for entity in self.entities for step in entity.steps]

    def has_room_for(self, entity: Planned) -> bool:
        """Whether the entity fits as a whole, and touches no row that the chunk writes already."""
        return (
            len(self.rows) + len(entity.rows) <= limits.MAX_TRANSACTION_OPERATIONS
            and self.payload + entity.payload < limits.MAX_TRANSACTION_BYTES
            and self.rows.isdisjoint(entity.rows)
        )

    def add(self, entity: Planned) -> None:
        """Take the entity in."""
        self.entities.append(entity)
        self.rows |= entity.rows
        self.payload += entity.payload

    def position_of(self, index: int | None) -> int | None:
        """Return the position in the input of the entity that an operation belongs to; None where none is known."""
        if index is None:
            return self.entities[0].position if len(self.entities) == 1 else None
        owners = (entity.position for entity in self.entities for _ in entity.steps)
        return next(position for number, position in enumerate(owners) if number == index)


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
        if chunk.entities and not chunk.has_room_for(entity):
            yield chunk
            written |= chunk.rows
            chunk = Chunk()
        chunk.follows = chunk.follows or not written.isdisjoint(entity.rows)
        chunk.add(entity)
    if chunk.entities:
        yield chunk
