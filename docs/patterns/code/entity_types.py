"""A department and its employees in one partition, and a class that changes."""

from dataclasses import dataclass

from tablepatterns import (
    EntityGroupTransaction,
    EntitySet,
    EntityTypes,
    Key,
    OneOf,
    Storage,
    connect,
)


# -- classes
@dataclass
class Department:
    Department: str
    EmployeeCount: int = 0


@dataclass
class Employee:
    Department: str
    EmployeeId: int
    FullName: str


# -- main
def main(storage: Storage) -> None:
    # -- declare
    head = Key("{Department}", "DEPARTMENT")
    departments = EntitySet(storage, "Staff", head, model=OneOf(Department))
    employees = EntitySet(
        storage,
        "Staff",
        Key("{Department}", "EMPLOYEE_{EmployeeId:06d}"),
        model=OneOf(Employee),
        versions=[(1, lambda old: {"FullName": old.pop("Name")} | old)],
    )
    staff = EntityTypes(departments, employees)

    # -- write
    sales = departments.insert(Department("Sales"))
    EntityGroupTransaction(storage, "Staff").commit(
        employees.inserting(Employee("Sales", 223, "Jo Jones")),
        departments.merging(sales, {"EmployeeCount": 1}),
    )

    # -- upgrade
    smith = {"Department": "Sales", "EmployeeId": 152}
    old = {"EntityType": "Employee", "Name": "Ann Smith", "Badge": 7}
    plain = employees.without_model()
    plain.insert(smith | old)
    ann = employees.get(**smith)
    if ann is not None:
        ann.FullName = "Ann Brown"
        employees.replace(ann)
    for name, value in sorted(plain.get(**smith).items()):
        print(f"{name}: {value}")

    # -- ask
    plain.insert({"Department": "Sales", "EmployeeId": 7, "EntityType": "Robot"})
    for entity in staff.range(Department="Sales"):
        print(entity)
    # -- end


if __name__ == "__main__":
    main(connect())
