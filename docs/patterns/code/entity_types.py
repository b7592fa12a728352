"""A department and its employees in one partition, and a class that changes."""

from dataclasses import dataclass, replace

from tablepatterns import (
    EntityGroupTransaction,
    EntitySet,
    EntityType,
    EntityTypes,
    Key,
    Storage,
    connect,
)


# -- classes
@dataclass(frozen=True)
class Department:
    Department: str
    EmployeeCount: int = 0


@dataclass(frozen=True)
class Employee:
    Department: str
    EmployeeId: int
    FullName: str


# -- main
def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "EMPLOYEE_{EmployeeId:06d}")
    head = EntitySet(storage, "Staff", Key("{Department}", "DEPARTMENT"))
    people = EntitySet(storage, "Staff", by_id)
    renamed = EntityType(
        Employee, people, upgrades=[lambda old: {"FullName": old.pop("Name")} | old]
    )
    staff = EntityTypes(EntityType(Department, head), renamed)

    # -- write
    sales = staff.insert(Department("Sales"))
    EntityGroupTransaction(storage, "Staff").commit(
        staff.inserting(Employee("Sales", 223, "Jo Jones")),
        staff.replacing(sales, replace(sales.value, EmployeeCount=1)),
    )

    # -- upgrade
    smith = {"Department": "Sales", "EmployeeId": 152}
    old = {"EntityType": "Employee", "Name": "Ann Smith", "Badge": 7}
    people.insert(smith | old)
    held = staff.get(Employee, **smith)
    staff.replace(held, replace(held.value, FullName="Ann Brown"))
    print(people.get(**smith))

    # -- ask
    people.insert({"Department": "Sales", "EmployeeId": 7, "EntityType": "Robot"})
    for held in staff.range(Department="Sales"):
        print(held.value)
    # -- end


if __name__ == "__main__":
    main(connect())
