"""Shared by the tests of encrypted properties: employees with a secret salary and number."""

from __future__ import annotations

from typing import Any

from support.employees import BY_ID
from tablepatterns import EncryptedProperties, EntitySet, LocalKey

SECRET = "078-05-1120"
OLD, NEW = LocalKey("old", bytes(range(32))), LocalKey("new", bytes(range(32, 64)))
KEY = {"Department": "Sales", "EmployeeId": 223}


def encrypted(*names: str, **options: Any) -> EncryptedProperties:
    """Return a mapping that encrypts these properties."""
    return EncryptedProperties(names or ("Salary", "Ssn"), **({"keys": OLD} | options))


def staff_of(storage: Any, table: str, mapping: EncryptedProperties | None = None, **options: Any) -> Any:
    """Return employees with a mapping that encrypts."""
    return EntitySet(storage, table, BY_ID, mappings=[mapping or encrypted()], **options)
