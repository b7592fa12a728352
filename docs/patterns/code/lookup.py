"""Employees with the managers of their departments, joined in the client."""

from datetime import timedelta

from tablepatterns import EntitySet, Key, Lookup, Storage, Traffic, connect
from tablepatterns.errors import EntityChanged

STAFF = (("Jones", "Sales"), ("Smith", "Sales"), ("Brown", "Finance"), ("Ray", "IT"))


def main(storage: Storage) -> None:
    # -- declare
    by_name = Key("{Department}", "department")
    departments = EntitySet(storage, "Departments", by_name)
    lookup = Lookup(departments, expires=timedelta(minutes=5))

    # -- write
    for department, manager in (("Sales", "Mary"), ("Finance", "Ann")):
        departments.insert({"Department": department, "Manager": manager})

    # -- join
    employees = [{"Name": name, "Department": where} for name, where in STAFF]
    for _ in ("first", "again"):
        with Traffic(storage) as traffic:
            joined = lookup.join(employees)
        print("4 employees by", len(traffic.requests), "requests")
    for employee, department in joined:
        print(" ", employee["Name"], department and department["Manager"])

    # -- stale
    old = lookup.get(Department="Sales")
    departments.merge(old.copy(), {"Manager": "Jo"})
    print("at hand:", lookup.get(Department="Sales")["Manager"])
    old["Floor"] = 3
    try:
        departments.replace(old)
    except EntityChanged as error:
        print(type(error).__name__)

    # -- end


if __name__ == "__main__":
    main(connect())
