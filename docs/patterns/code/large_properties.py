"""Photos of employees, too large for an entity, in blobs of their own."""

from datetime import timedelta

from tablepatterns import (
    EntitySet,
    Key,
    LargeProperties,
    LargePropertyStore,
    Storage,
    Traffic,
    connect,
)

JONES = {"Department": "Sales", "EmployeeId": 223}


def main(storage: Storage) -> None:
    # -- declare
    large = LargeProperties(["Photo"], container="photos")
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id, mappings=[large])

    # -- write
    photo = bytes(5_000_000)
    jones = employees.insert(JONES | {"LastName": "Jones", "Photo": photo})
    client = storage.tables.get_table_client("Employees")
    (row,) = client.list_entities()
    address = row["Photo"]
    print(row["LastName"], address[address.index("/photos/") : -36] + "...")

    # -- ask
    with Traffic(storage) as traffic:
        found = employees.get(**JONES)
    print(len(found["Photo"]), "bytes by", len(traffic.requests), "requests")
    with Traffic(storage) as traffic:
        (found,) = employees.take(1, select=["LastName"], **JONES)
    print(found["LastName"], "by", len(traffic.requests), "request")

    # -- pieces
    values = LargePropertyStore(employees)
    print(sum(len(piece) for piece in values.open(jones, "Photo")), "in pieces")

    # -- change
    jones["Photo"] = bytes(2_000_000)
    employees.replace(jones)
    print("orphans:", len(values.verify(grace=timedelta(0)).orphans))

    # -- clear
    for _ in range(2):
        print(values.collect_orphans(grace=timedelta(0)))
    print("orphans:", len(values.verify(grace=timedelta(0)).orphans))
    # -- end


if __name__ == "__main__":
    main(connect())
