"""Employees, a log of their expense claims, and the cost of queries."""

import tablepatterns as tp
from tablepatterns import EntitySet, IntraPartitionIndex, Key, LogTail, Storage, prop
from tablepatterns.errors import BadFilter, EntityChanged

ANN = {"Department": "Sales", "EmployeeId": 152, "Email": "ann@contoso.com", "Age": 51}
JO = {"Department": "Sales", "EmployeeId": 223, "Email": "jo@contoso.com", "Age": 34}


def main(storage: Storage) -> None:
    # -- keys
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    employees = EntitySet(storage, "Employees", by_id, derived=[by_email])

    # -- write
    employees.insert(ANN)
    jo = employees.insert(JO)
    for row in storage.tables.get_table_client("Employees").list_entities():
        print(row["PartitionKey"], row["RowKey"], row["Age"])

    # -- read
    with tp.Traffic(storage) as traffic:
        employees.get(Department="Sales", EmployeeId=223)
        employees.find(by_email, Department="Sales", Email="jo@contoso.com")
        list(employees.range(Department="Sales"))
    for request in traffic.requests:
        print(request.operation, request.query_class.label, request.status)

    # -- refuse
    try:
        list(employees.query(prop("Age") > 30))
    except BadFilter as error:
        print(error)

    # -- change
    employees.update(birthday, Department="Sales", EmployeeId=223)
    jo["Age"] = 40  # the version read before the birthday
    try:
        employees.replace(jo)
    except EntityChanged as error:
        print(error)

    # -- log
    claims = LogTail(storage, "Claims", "{Employee}")
    for amount in (12.5, 80.0, 7.2):
        claims.append({"Employee": "000223", "Amount": amount})
    print([claim["Amount"] for claim in claims.latest(2, Employee="000223")])
    # -- end


def birthday(employee: tp.Entity) -> None:
    """Add a year; called again if another writer was faster."""
    employee["Age"] += 1


if __name__ == "__main__":
    main(tp.connect())
