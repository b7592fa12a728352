"""Back up a table, restore it, and compare the two."""

from pathlib import Path
from tempfile import mkdtemp

from tablepatterns import (
    EntitySet,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    Storage,
    connect,
)
from tablepatterns.jobs import verify
from tablepatterns_transfer import TableTransfer, compare_exports, to_pandas

by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"), name="by_email")
KEY = Key("{Department}", "empid_{EmployeeId:06d}")


# -- export
def main(storage: Storage) -> None:
    employees = EntitySet(storage, "Employees", KEY, derived=[by_email])
    for number, department in enumerate(["Sales", "Marketing", "Sales"], 1):
        email = f"{number}@contoso.com"
        employees.insert(
            {"Department": department, "EmployeeId": number, "Email": email}
        )

    backups = Path(mkdtemp())
    table = TableTransfer(storage, "Employees")
    manifest = table.export(backups / "monday")
    print(manifest.rows, "rows in", len(manifest.files), "file")

    # -- compare
    one = employees.get(Department="Sales", EmployeeId=1)
    employees.delete(one)
    two = employees.get(Department="Marketing", EmployeeId=2)
    employees.merge(two, {"Age": 41})

    found = table.compare(backups / "monday")
    print(found.summary)
    for key in found.removed:
        print("removed:", key)

    # -- changes
    changes = table.export(backups / "tuesday", since=backups / "monday")
    print(changes.rows, "rows, and", changes.deleted.rows, "deleted")
    print(table.compare(backups / "tuesday").are_none)

    # -- restore
    restored = TableTransfer(storage, "Restored")
    print(restored.restore(backups / "monday"))
    print(restored.compare(backups / "monday").are_none)

    # -- again
    print(restored.restore(backups / "monday"))

    # -- entities
    whole_set = TableTransfer(storage, employees)
    print(whole_set.export(backups / "entities").rows, "entities")
    copy = EntitySet(storage, "Copies", KEY, derived=[by_email])
    print(TableTransfer(storage, copy).restore(backups / "entities").written, "written")
    print(verify(copy, by_email).is_clean)

    # -- blobs
    photos = LargeProperties(["Photo"], container="photos", above=1_000)
    pictured = EntitySet(storage, "Pictured", KEY, mappings=[photos])
    entity = {"Department": "Sales", "EmployeeId": 1, "Photo": bytes(100_000)}
    pictured.insert(entity)
    album = TableTransfer(storage, pictured)
    manifest = album.export(backups / "album", with_blobs=True)
    print(len(manifest.files[0].blobs), "blob")

    others = LargeProperties(["Photo"], container="others", above=1_000)
    target = EntitySet(storage, "Album", KEY, mappings=[others])
    TableTransfer(storage, target).restore(backups / "album")
    print(len(target.get(Department="Sales", EmployeeId=1)["Photo"]), "bytes")

    # -- exports
    table.export(backups / "wednesday")
    print(compare_exports(backups / "monday", backups / "wednesday").summary)

    # -- columns (pandas)
    frame = to_pandas(employees.range(Department="Sales"))
    print(frame.to_string())
    # -- end


if __name__ == "__main__":
    main(connect())
