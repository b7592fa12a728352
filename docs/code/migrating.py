"""A table that other programs made gets an index by e-mail while they go on with it."""

from tablepatterns import EntitySet, InterPartitionIndex, Key, Storage, connect


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
    print("of the set:", sum(key.matches(*each) for each in rows))
    print("of others: ", [each for each in rows if not key.matches(*each)])
    print(employees.get(Department="Sales", Number=3))

    # -- declare
    by_email = InterPartitionIndex(
        Key("{Department}", "{Email}"), table="EmployeesByEmail", name="by e-mail"
    )
    employees = EntitySet(storage, "Employees", key, derived=[by_email])
    employees.insert({"Department": "Sales", "Number": 5, "Email": "e5@contoso.com"})

    # -- backfill
    tokens: list[str | None] = []
    report = employees.backfill(
        by_email, max_per_second=50, progress=lambda each: tokens.append(each.token)
    )
    print("looked at:", report.entities, "to go on from:", tokens[-1])

    # -- verify
    print("all in line:", employees.verify(by_email).is_clean)

    # -- straggler
    late = {"PartitionKey": "Sales", "RowKey": "000006", "Email": "e6@contoso.com"}
    table.create_entity(late)
    for drift in employees.verify(by_email).drifts:
        print(drift.finding.value, drift.row, "of", drift.owner)
    print("mended:", employees.repair(by_email))

    # -- switch
    print(employees.find(by_email, Department="Sales", Email="e3@contoso.com"))

    # -- rollback
    storage.tables.delete_table("EmployeesByEmail")
    left = [each.name for each in storage.tables.list_tables()]
    print([name for name in left if name.startswith("Employees")])
    # -- end


if __name__ == "__main__":
    main(connect())
