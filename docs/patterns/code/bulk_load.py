"""A thousand employees in ten transactions, and a load that breaks off and resumes."""

from tablepatterns import BulkLoad, EntitySet, Key, Storage, connect
from tablepatterns.errors import LoadInterrupted


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id)
    load = BulkLoad(employees, max_concurrency=4, max_per_second=500)

    # -- load
    staff = ({"Department": "Sales", "EmployeeId": n} for n in range(1000))
    print(load.load(staff))

    # -- broken
    rows = [{"Department": "Finance", "EmployeeId": n} for n in range(300)]
    rows[250]["EmployeeId"] = None
    small = BulkLoad(employees, window=100)
    try:
        small.load(rows)
    except LoadInterrupted as stopped:
        print(stopped)
        token, position = stopped.token, stopped.position
    print("in the table:", count(employees))

    # -- resume
    rows[position]["EmployeeId"] = 250
    print(small.load(rows, resume=token))
    print("in the table:", count(employees))

    # -- died
    law = [{"Department": "Law", "EmployeeId": number} for number in range(300)]
    kept = []
    small.load(law, progress=lambda reached: kept.append(reached.token))
    print(small.load(law, resume=kept[2]))
    # -- end


def count(employees: EntitySet[Storage]) -> int:
    """Count the entities of the department that breaks off."""
    return sum(1 for _ in employees.range(Department="Finance"))


if __name__ == "__main__":
    main(connect())
