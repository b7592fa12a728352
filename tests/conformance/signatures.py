"""The operations that holders of shared access signatures request, and the permissions they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from azure.data.tables import UpdateMode

from conformance.entities import KEYS

HOUR = timedelta(hours=1)
NEW = {"PartitionKey": "Sales", "RowKey": "000224"}
OPERATIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "point query": ("r", lambda table: table.get_entity("Sales", "000223")),
    "query": ("r", lambda table: anext(table.query_entities("PartitionKey eq 'Sales'"))),
    "insert": ("a", lambda table: table.create_entity(NEW)),
    "merge": ("u", lambda table: table.update_entity(KEYS)),
    "replace": ("u", lambda table: table.update_entity(KEYS, UpdateMode.REPLACE)),
    "insert or merge": ("au", lambda table: table.upsert_entity(NEW)),
    "insert or replace": ("au", lambda table: table.upsert_entity(KEYS, UpdateMode.REPLACE)),
    "delete": ("d", lambda table: table.delete_entity("Sales", "000223")),
}
"""The permissions that an operation needs, and how it is asked for where KEYS exist and NEW do not."""
UPSERTS = ["insert or merge", "insert or replace"]


def operations(names: Iterable[str]) -> Any:
    """Run a body for each of these operations, as `letters` and `call`."""
    return pytest.mark.parametrize(("letters", "call"), [pytest.param(*OPERATIONS[name], id=name) for name in names])


def now() -> datetime:
    """Return the present, as signatures have it."""
    return datetime.now(timezone.utc)
