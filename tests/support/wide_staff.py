"""Wide entities with photos in blobs and encrypted salaries and numbers."""

from __future__ import annotations

from typing import Any

from support.large_staff import container_of
from tablepatterns import EncryptedProperties, Int64, Key, LargeProperties, LocalKey, WideEntity

JONES = {"Employee": "000223"}
SMITH = {"Employee": "000224"}
SSN = "078-05-1120"
PHOTO = bytes(range(256)) * 300
PAID = JONES | {"Name": "Jones", "Salary": Int64(90_000), "Ssn": SSN}
WHOLE = PAID | {"Photo": PHOTO}
OLD, NEW = LocalKey("old", bytes(range(32))), LocalKey("new", bytes(range(32, 64)))
SPREAD = {"part_bytes": 60}
"""Each property is a separate part."""


def large(table: str, *names: str, above: int = 64) -> LargeProperties:
    """Return a mapping that stores photos in blobs, in the container of the table."""
    return LargeProperties(names or ("Photo",), container=container_of(table), above=above)


def encrypted(*names: str, **options: Any) -> EncryptedProperties:
    """Return a mapping that encrypts these properties."""
    return EncryptedProperties(names or ("Salary", "Ssn"), **({"keys": OLD} | options))


def wide_of(storage: Any, table: str, *mappings: Any, key: Key | None = None, **options: Any) -> Any:
    """Return wide entities with mappings."""
    return WideEntity(storage, table, key or Key("{Employee}", ""), mappings=mappings, **options)


async def rows_of(storage: Any, table: str) -> dict[str, dict[str, Any]]:
    """Return the stored properties of all rows by RowKey."""
    rows = [row async for row in storage.table(table).query(None)]
    return {row.row_key: {name: row[name] for name in row} for row in rows}


async def row_with(storage: Any, table: str, name: str) -> dict[str, Any]:
    """Return the row that holds a property."""
    (row,) = [row for row in (await rows_of(storage, table)).values() if name in row]
    return row
