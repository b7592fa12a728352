"""Shared by tests of entities: an entity with given keys, and the round trip of a value."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tablepatterns import EntitySet, Key

RAW = Key("{PartitionKey}", "{RowKey}")


class Colour(Enum):
    RED = "red"


def entity(**properties: Any) -> dict[str, Any]:
    return {"PartitionKey": "p", "RowKey": "r", **properties}


async def round_trip(storage: Any, table: str, value: Any) -> Any:
    """Store a value in a property, and return it as it is read back."""
    rows = EntitySet(storage, table, RAW)
    await rows.insert(entity(Value=value))
    return (await rows.get(PartitionKey="p", RowKey="r")).get("Value")
