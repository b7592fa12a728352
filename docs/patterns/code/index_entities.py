"""All employees called Jones, in a department and in the whole organisation."""

from tablepatterns import EntitySet, IndexEntity, InTable, Key, Storage, connect


def main(storage: Storage) -> None:
    # -- declare
    by_name = IndexEntity("LastName")
    everywhere = IndexEntity("LastName", store=InTable("Names"), name="everywhere")
    employees = EntitySet(
        storage,
        "Employees",
        Key("{Department}", "empid_{EmployeeId:06d}"),
        derived=[by_name, everywhere],
    )

    # -- write
    for number, name in ((152, "Jones"), (223, "Jones"), (310, "Smith")):
        keys = {"Department": "Sales", "EmployeeId": number}
        employees.insert(keys | {"LastName": name})
    employees.insert({"Department": "IT", "EmployeeId": 7, "LastName": "Jones"})
    print_lists(storage)

    # -- ask
    for found in employees.find_all(by_name, Department="Sales", LastName="Jones"):
        print("called Jones in Sales:", found["EmployeeId"])
    for keys in employees.keys_of(everywhere, LastName="Jones"):
        print("called Jones:", keys["Department"], keys["EmployeeId"])

    # -- change
    jones = employees.get(Department="Sales", EmployeeId=223)
    jones["LastName"] = "Smith"
    employees.replace(jones)
    print_lists(storage)
    # -- end


def print_lists(storage: Storage) -> None:
    """Print the rows that hold lists."""
    for table in ("Employees", "Names"):
        for row in storage.tables.get_table_client(table).list_entities():
            if "Ids" in row:
                print(f"  {row['PartitionKey']} / {row['RowKey']}: {row['Ids']}")


if __name__ == "__main__":
    main(connect())
