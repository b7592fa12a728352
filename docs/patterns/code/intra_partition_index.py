"""Employees of a department, found by number and by e-mail with a point query each."""

from tablepatterns import EntitySet, IntraPartitionIndex, Key, Storage, connect, prefix
from tablepatterns.errors import DuplicateIndexValue

ANN = {"Department": "Sales", "EmployeeId": 152, "Email": "ann@contoso.com"}
JONES = {"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com"}


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    employees = EntitySet(storage, "Employees", by_id, derived=[by_email])

    # -- write
    employees.insert(ANN | {"Age": 51})
    jones = employees.insert(JONES | {"Age": 34})
    print_rows(storage)

    # -- ask
    print(employees.get(Department="Sales", EmployeeId=223))
    print(employees.find(by_email, Department="Sales", Email="jonesj@contoso.com"))
    for found in employees.range(by_email, Department="Sales"):
        print("in the order of e-mails:", found["Email"])
    for found in employees.range(by_email, Department="Sales", Email=prefix("a")):
        print("with an a:", found["Email"])

    # -- change
    jones["Email"] = "jo@contoso.com"
    employees.replace(jones)
    print_rows(storage)

    # -- refuse
    try:
        employees.insert(JONES | {"EmployeeId": 224, "Email": "jo@contoso.com"})
    except DuplicateIndexValue as error:
        print(error)
    # -- end


def print_rows(storage: Storage) -> None:
    """Print the stored rows."""
    for row in storage.tables.get_table_client("Employees").list_entities():
        print(f"  {row['PartitionKey']}  {row['RowKey']:<24}  {row['Age']}")


if __name__ == "__main__":
    main(connect())
