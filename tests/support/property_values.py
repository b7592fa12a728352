"""What the tests of entities share: an entity with the keys as they are, and a value that goes there and back."""

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
    """Return a value as it comes back, in a property of its own."""
    rows = EntitySet(storage, table, RAW)
    await rows.insert(entity(Value=value))
    return (await rows.get(PartitionKey="p", RowKey="r")).get("Value")
