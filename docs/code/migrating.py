"""Add an index by email to a table that other programs created and still use."""

from tablepatterns import EntitySet, InterPartitionIndex, Key, Storage, connect
from tablepatterns.jobs import backfill, repair, verify


def main(storage: Storage) -> None:
    # -- before
    table = storage.tables.create_table("Employees")
    for number in range(1, 5):
        keys = {"PartitionKey": "Sales", "RowKey": f"{number:06d}"}
        properties = {"EmployeeId": number, "Email": f"e{number}@contoso.com"}
        table.create_entity(keys | properties)
    table.create_entity({"PartitionKey": "Sales", "RowKey": "total", "Count": 4})

    # -- adopt
    key = Key("{Department}", "{Number:06d}")
    employees = EntitySet(storage, "Employees", key)
    rows = [(row["PartitionKey"], row["RowKey"]) for row in table.list_entities()]
    print("other rows:", [row for row in rows if not key.matches(*row)])
    print(employees.get(Department="Sales", Number=3))

    # -- declare
    email_key = Key("{Department}", "{Email}")
    by_email = InterPartitionIndex(email_key, table="EmployeesByEmail")
    employees = EntitySet(storage, "Employees", key, derived=[by_email])
    employees.insert({"Department": "Sales", "Number": 5, "Email": "e5@contoso.com"})

    # -- backfill
    backfill(employees, by_email, max_per_second=50, progress=print)

    # -- verify
    print(verify(employees, by_email).is_clean)

    # -- straggler
    late = {"PartitionKey": "Sales", "RowKey": "000006", "Email": "e6@contoso.com"}
    table.create_entity(late)
    for drift in verify(employees, by_email).drifts:
        print(drift.finding.value, drift.row, "of", drift.owner)
    print("repaired:", repair(employees, by_email))

    # -- switch
    print(employees.find(by_email, Department="Sales", Email="e3@contoso.com"))

    # -- rollback
    storage.tables.delete_table("EmployeesByEmail")
    # -- end


if __name__ == "__main__":
    main(connect())
