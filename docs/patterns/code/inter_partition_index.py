"""Employees found by number and by e-mail, in partitions of their own."""

from tablepatterns import EntitySet, InterPartitionIndex, Key, Storage, connect, prefix

ANN = {"Department": "Sales", "EmployeeId": 152, "Email": "ann@contoso.com"}
JONES = {"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com"}


def main(storage: Storage) -> None:
    # -- declare
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), unique=True)
    by_id = Key("empid_{Department}", "{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id, derived=[by_email])

    # -- write
    employees.insert(ANN | {"Age": 51})
    employees.insert(JONES | {"Age": 34})
    print_rows(storage)

    # -- ask
    jones = employees.find(by_email, Department="Sales", Email="jonesj@contoso.com")
    print("employee", jones["EmployeeId"], "is", jones["Age"])
    for found in employees.range(by_email, Department="Sales", Email=prefix("a")):
        print("with an a:", found["Email"])

    # -- end


def print_rows(storage: Storage) -> None:
    """Print the stored rows."""
    for row in storage.tables.get_table_client("Employees").list_entities():
        print(f"  {row['PartitionKey']}  {row['RowKey']:<18}  {row['Age']}")


if __name__ == "__main__":
    main(connect())
