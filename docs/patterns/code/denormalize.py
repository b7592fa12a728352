"""A department with its manager's name and e-mail, in one point query."""

from tablepatterns import CopiedFields, EntitySet, Key, Storage, connect
from tablepatterns.errors import ReferenceNotFound

JONES = {"Department": "Sales", "EmployeeId": 223, "LastName": "Jones"}
SMITH = {"Department": "Sales", "EmployeeId": 310, "LastName": "Smith"}


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    by_department = Key("{Department}", "department")
    manager = CopiedFields(
        by_department,
        refers={"EmployeeId": "ManagerId"},
        copies={"LastName": "ManagerName", "Email": "ManagerEmail"},
    )
    employees = EntitySet(storage, "Staff", by_id, derived=[manager])
    departments = EntitySet(
        storage, "Staff", by_department, derived=[manager.filled_from(employees)]
    )

    # -- write
    employees.insert(JONES | {"Email": "jonesj@contoso.com"})
    employees.insert(SMITH | {"Email": "smith@contoso.com"})
    departments.insert({"Department": "Sales", "ManagerId": 223, "Budget": 90000})

    # -- ask
    print(departments.get(Department="Sales"))

    # -- change
    jones = employees.get(Department="Sales", EmployeeId=223)
    jones["Email"] = "jo@contoso.com"
    employees.replace(jones)
    print(departments.get(Department="Sales")["ManagerEmail"])

    # -- choose
    sales = departments.get(Department="Sales")
    departments.merge(sales, {"ManagerId": 310})
    print(departments.get(Department="Sales")["ManagerName"])
    try:
        departments.merge(departments.get(Department="Sales"), {"ManagerId": 999})
    except ReferenceNotFound as error:
        print(error)
    # -- end


if __name__ == "__main__":
    main(connect())
