"""Large and encrypted properties."""

from __future__ import annotations

from typing import Any

from budgeting.budget import Call, budget, employee, first, staff
from tablepatterns.recipes.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.key_rotation import KeyRotation
from tablepatterns.recipes.large_properties import LargeProperties
from tablepatterns.recipes.large_values import LargeValues
from tablepatterns.secrecy.keys import LocalKey

OLD, NEW = LocalKey("1", bytes(32)), LocalKey("2", bytes(range(32)))
PHOTO = bytes(1_000_000)


def with_photo(account: Any) -> Any:
    entities = staff(account, mappings=[LargeProperties(["Photo"], container="photos")])
    entities.insert(employee(3, Photo=PHOTO))
    return entities


@budget("LargeProperties", "insert", 2, "1 large value: its blob, and the entity")
def insert(account: Any) -> Call:
    entities = with_photo(account)
    return lambda: entities.insert(employee(4, Photo=PHOTO))


@budget("LargeProperties", "get", 2, "1 large value")
def get(account: Any) -> Call:
    entities = with_photo(account)
    return lambda: entities.get(Department="Sales", EmployeeId=3)


@budget("LargeProperties", "get", 1, "with no large value")
def get_small(account: Any) -> Call:
    entities = with_photo(account)
    return lambda: first(entities)


@budget("LargeProperties", "merge", 1, "of other properties")
def merge(account: Any) -> Call:
    entities = with_photo(account)
    read = entities.get(Department="Sales", EmployeeId=3)
    return lambda: entities.merge(read, {"Age": 35})


@budget("LargeValues", "collect_orphans", 1, "nothing older than the grace, up to 5,000 blobs")
def collect(account: Any) -> Call:
    entities = with_photo(account)
    return lambda: LargeValues(entities).collect_orphans()


@budget("EncryptedProperties", "insert", 1)
def insert_sealed(account: Any) -> Call:
    entities = sealed(account)
    return lambda: entities.insert(employee(4, Ssn="078-05-1120"))


@budget("EncryptedProperties", "get", 1)
def get_sealed(account: Any) -> Call:
    entities = sealed(account)
    return lambda: first(entities)


def sealed(account: Any) -> Any:
    return staff(account, mappings=[EncryptedProperties(["Ssn", "Salary"], keys=OLD)])


@budget("KeyRotation", "rotate", 5, "2 entities: 1 for a page of rows, 2 for each")
def rotate(account: Any) -> Call:
    sealed(account)
    newer = staff(account, numbers=(), mappings=[EncryptedProperties(["Ssn", "Salary"], keys=[NEW, OLD])])
    return lambda: KeyRotation(newer).rotate()


@budget("KeyRotation", "in_use", 1, "up to 1,000 rows")
def in_use(account: Any) -> Call:
    entities = sealed(account)
    return lambda: KeyRotation(entities).in_use()
