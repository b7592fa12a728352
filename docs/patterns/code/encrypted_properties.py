"""Salaries that nobody can read who can read the table, and another key for them."""

from tablepatterns import (
    EncryptedProperties,
    EntitySet,
    Key,
    KeyRotation,
    LocalKey,
    Storage,
    connect,
)
from tablepatterns.errors import DecryptionFailed

JONES = {"Department": "Sales", "EmployeeId": 223}
SMITH = {"Department": "Sales", "EmployeeId": 224}


def main(storage: Storage) -> None:
    # -- declare
    old = LocalKey.generate("payroll-2025")
    sealed = EncryptedProperties(["Salary"], keys=old)
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    staff = EntitySet(storage, "Staff", by_id, mappings=[sealed])

    # -- write
    staff.insert(JONES | {"LastName": "Jones", "Salary": 90_000})
    staff.insert(SMITH | {"LastName": "Smith", "Salary": 30_000})
    client = storage.tables.get_table_client("Staff")
    row = client.get_entity("Sales", "empid_000223")
    for name in ("LastName", "Salary", "EncryptedWith"):
        print(f"  {name}: {type(row[name]).__name__} of {len(row[name])}")
    print(staff.get(**JONES))

    # -- refuse
    hers = client.get_entity("Sales", "empid_000224")
    hers |= {name: row[name] for name in ("Salary", "EncryptedWith")}
    client.update_entity(hers)
    try:
        staff.get(**SMITH)
    except DecryptionFailed as error:
        print(error)
    staff.delete(SMITH, force=True)

    # -- rotate
    new = LocalKey.generate("payroll-2026")
    sealed = EncryptedProperties(["Salary"], keys=[new, old])
    staff = EntitySet(storage, "Staff", by_id, mappings=[sealed])
    rotation = KeyRotation(staff)
    print(rotation.in_use())
    print(rotation.rotate())
    print(rotation.in_use())
    # -- end


if __name__ == "__main__":
    main(connect())
