"""How many employees a department has and what they earn, in one read."""

from tablepatterns import EntitySet, InTable, Key, Storage, Summary, connect
from tablepatterns.jobs import recount


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    by_department = Key("{Department}", "department")
    staff = Summary(by_department, count="Employees", sums={"Salary": "Payroll"})
    by_site = Summary(
        Key("{Site}", "totals"), sums={"Salary": "Payroll"}, store=InTable("Sites")
    )
    employees = EntitySet(storage, "Staff", by_id, derived=[staff, by_site])
    departments = EntitySet(storage, "Staff", by_department)

    # -- write
    departments.insert({"Department": "Sales", "Budget": 90000})
    for number, site, salary in ((152, "Leeds", 4000), (223, "York", 5000)):
        numbers = {"EmployeeId": number, "Salary": salary}
        employees.insert({"Department": "Sales", "Site": site} | numbers)
    print(departments.get(Department="Sales"))

    # -- ask
    print(employees.totals(staff, Department="Sales"))
    print(employees.totals(by_site, Site="York"))

    # -- change
    jones = employees.get(Department="Sales", EmployeeId=223)
    jones["Salary"] = 5500
    employees.replace(jones)
    print(employees.totals(staff, Department="Sales"))

    # -- recount
    past = storage.tables.get_table_client("Staff")
    past.delete_entity("Sales", "empid_000152")
    print("deleted past the set:", employees.totals(staff, Department="Sales"))
    print("fixed:", recount(employees, staff, Department="Sales"))
    print(employees.totals(staff, Department="Sales"))
    # -- end


if __name__ == "__main__":
    main(connect())
