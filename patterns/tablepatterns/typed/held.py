"""Held: a typed value with the entity that it was read from, whose ETag guards it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from ..entity import Entity
from ..entity_set import EntitySet

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Held(Generic[T]):
    """A value as it was read or written, and beside it what the value itself has no room for.

    The value is one of the caller's own classes, frozen or not: nothing is added to it. `EntityTypes.replace` takes
    this and a changed value.

    Guide: working with heterogeneous entity types (the resolver fills keys, Timestamp and ETag).
    """

    value: T
    """The object; where the type is unknown, the entity itself."""
    entity: Entity
    """All fields as they are stored, those that the class does not know among them."""
    entities: EntitySet[Any] = field(repr=False)
    """The set that it was read from."""

    @property
    def key(self) -> tuple[str | None, str | None]:
        """The PartitionKey and the RowKey."""
        return self.entity.key

    @property
    def etag(self) -> str | None:
        """The ETag that a write of it is conditional on."""
        return self.entity.etag

    @property
    def timestamp(self) -> datetime | None:
        """When it was written, by the service's clock."""
        return self.entity.timestamp

    def __repr__(self) -> str:
        # The value may hold what is encrypted where it is stored
        return f"<Held {type(self.value).__name__} {self.key} {self.etag}>"
