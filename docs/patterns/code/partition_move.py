"""An employee goes to another department, which is her PartitionKey."""

from tablepatterns import EntitySet, Key, PartitionMove, Storage, Traffic, connect
from tablepatterns.errors import EntityAlreadyExists

JONES = {"Department": "Sales", "EmployeeId": 223}


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id)
    moving = PartitionMove(employees)

    # -- move
    jones = employees.insert(JONES | {"LastName": "Jones"})
    jones = moving.move(jones, Department="Finance")
    with Traffic(storage) as traffic:
        jones = moving.move(jones, Department="Marketing")
    print(jones, "by", len(traffic.requests), "requests")

    # -- refuse
    employees.insert(JONES | {"LastName": "Smith"})
    try:
        moving.move(jones, Department="Sales")
    except EntityAlreadyExists as error:
        print(error)

    # -- end


if __name__ == "__main__":
    main(connect())
