"""Large and encrypted properties."""

from __future__ import annotations

from typing import Any

from budgets.budget import Call, budget, employee, first, staff
from tablepatterns import EncryptedProperties, KeyRotation, LargeProperties, LargePropertyStore, LocalKey, Upload
from tablepatterns.cost import Cost

OLD, NEW = LocalKey("1", bytes(32)), LocalKey("2", bytes(range(32)))
PHOTO = bytes(1_000_000)


def with_photo(account: Any) -> Any:
    entities = staff(account, mappings=[LargeProperties(["Photo"], container="photos")])
    entities.insert(employee(3, Photo=PHOTO))
    return entities


budget("LargeProperties", "insert", Cost(table=1, blob_write=1), "1 large value", on=with_photo)(
    lambda entities: entities.insert(employee(4, Photo=PHOTO))
)
budget("LargeProperties", "get", Cost(table=1, blob_read=1), "1 large value", on=with_photo)(
    lambda entities: entities.get(Department="Sales", EmployeeId=3)
)
budget("LargeProperties", "get", 1, "with no large value", on=with_photo)(lambda entities: first(entities))


@budget("LargeProperties", "merge", 1, "of other properties")
def merge(account: Any) -> Call:
    entities = with_photo(account)
    read = entities.get(Department="Sales", EmployeeId=3)
    return lambda: entities.merge(read, {"Age": 35})


budget(
    "LargeProperties",
    "insert",
    Cost(table=1, blob_write=2, blob_list=1),
    "1 large value as an `Upload`",
    on=with_photo,
)(lambda entities: entities.insert(employee(4, Photo=Upload([PHOTO]))))
budget("LargePropertyStore", "open", Cost(table=1, blob_read=1), "up to 32 MiB", on=with_photo)(
    lambda entities: list(LargePropertyStore(entities).open(employee(3), "Photo"))
)
budget(
    "LargePropertyStore",
    "verify",
    Cost(table=1, blob_list=1),
    "up to 5,000 blobs and 1,000 rows",
    on=with_photo,
)(lambda entities: LargePropertyStore(entities).verify())


def with_orphan(account: Any) -> Any:
    entities = with_photo(account)
    entities.delete(entities.get(Department="Sales", EmployeeId=3))
    account.engine.clock.advance(2 * 86_400)
    return entities


@budget("LargePropertyStore", "collect_orphans", Cost(table=1, blob_write=1, blob_list=1), "1 orphan, which is marked")
def mark_orphan(account: Any) -> Call:
    values = LargePropertyStore(with_orphan(account))
    return values.collect_orphans


@budget(
    "LargePropertyStore",
    "collect_orphans",
    Cost(table=1, blob_list=1, blob_delete=2),
    "1 orphan, which is deleted with its mark",
)
def delete_orphan(account: Any) -> Call:
    values = LargePropertyStore(with_orphan(account))
    values.collect_orphans()
    account.engine.clock.advance(2 * 86_400)
    return values.collect_orphans


budget(
    "LargePropertyStore",
    "collect_orphans",
    Cost(blob_list=1),
    "nothing older than the grace, up to 5,000 blobs",
    on=with_photo,
)(lambda entities: LargePropertyStore(entities).collect_orphans())


def encrypted_set(account: Any) -> Any:
    return staff(account, mappings=[EncryptedProperties(["Ssn", "Salary"], keys=OLD)])


budget("EncryptedProperties", "insert", 1, on=encrypted_set)(
    lambda entities: entities.insert(employee(4, Ssn="078-05-1120"))
)
budget("EncryptedProperties", "get", 1, on=encrypted_set)(lambda entities: first(entities))


@budget("KeyRotation", "rotate", 5, "2 entities: 1 for a page of rows, 2 for each")
def rotate(account: Any) -> Call:
    encrypted_set(account)
    newer = staff(account, numbers=(), mappings=[EncryptedProperties(["Ssn", "Salary"], keys=[NEW, OLD])])
    return lambda: KeyRotation(newer).rotate()


budget("KeyRotation", "in_use", 1, "up to 1,000 rows", on=encrypted_set)(
    lambda entities: KeyRotation(entities).in_use()
)
