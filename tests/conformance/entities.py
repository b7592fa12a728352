"""The entity of most tests, and helpers for operations on it."""

from __future__ import annotations

from typing import Any

from azure.core import MatchConditions
from azure.data.tables import EdmType, EntityProperty

from conformance.raw import entity_path

KEYS = {"PartitionKey": "Sales", "RowKey": "000223"}
JONES = {**KEYS, "Name": "Jones", "Age": 34}
STALE = "W/\"datetime'2001-01-01T00%3A00%3A00Z'\""
"""The ETag of no version that there can be."""


def path_of(table: Any) -> str:
    """Return the path of the entity in a table."""
    return entity_path(table.table_name, "Sales", "000223")


def if_still(etag: str) -> dict[str, Any]:
    """Return the arguments that make a write conditional on a version."""
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def int64(value: int) -> EntityProperty:
    """Return a 64-bit integer as the SDK has it."""
    return EntityProperty(value, EdmType.INT64)


async def stored(table: Any) -> list[dict[str, Any]]:
    """Return all entities of a table, without their metadata."""
    return [dict(found) async for found in table.list_entities()]
