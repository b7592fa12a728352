"""A department and its employees: together, apart, and as one type."""

from tablepatterns import (
    EntitySet,
    Key,
    OneToMany,
    SharedFields,
    Storage,
    Summary,
    connect,
)


def main(storage: Storage) -> None:
    # -- together
    head = Key("{Department}", "department")
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    count = Summary(head, count="Employees")
    departments = EntitySet(storage, "Staff", head)
    employees = EntitySet(storage, "Staff", by_id, derived=[count])
    staff = OneToMany(departments, employees)
    print("one partition:", staff.shares_partition)

    # -- write
    departments.insert({"Department": "Sales", "Floor": 3})
    jones = employees.insert({"Department": "Sales", "EmployeeId": 223})
    employees.insert({"Department": "Sales", "EmployeeId": 152})

    # -- ask
    print("Jones is on floor", staff.parent_of(jones)["Floor"])
    family = staff.family(Department="Sales")
    print(family.parent["Employees"], [each["EmployeeId"] for each in family.children])

    # -- apart
    buildings = EntitySet(storage, "Buildings", Key("{Building}", "building"))
    tenants = EntitySet(storage, "Tenants", Key("{Site}", "{EmployeeId:06d}"))
    living = OneToMany(buildings, tenants, by={"Building": "Site"})
    print("one partition:", living.shares_partition)
    buildings.insert({"Building": "York", "Floors": 7})
    tenants.insert({"Site": "York", "EmployeeId": 223})
    print([each["EmployeeId"] for each in living.children_of(Building="York")])

    # -- denormalised
    said = SharedFields(employees, ["Floor"])
    print(said.change({"Floor": 4}, Department="Sales"))
    print(employees.get(Department="Sales", EmployeeId=152))
    # -- end


if __name__ == "__main__":
    main(connect())
