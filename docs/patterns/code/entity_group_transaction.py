"""A department's count of employees changes with each of them, or not at all."""

from tablepatterns import EntityGroupTransaction, EntitySet, Key, Storage, connect
from tablepatterns.errors import EntityAlreadyExists

SALES = {"Department": "Sales"}


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    employees = EntitySet(storage, "Staff", by_id)
    departments = EntitySet(storage, "Staff", Key("{Department}", "department"))
    together = EntityGroupTransaction(storage, "Staff")

    # -- commit
    sales = departments.insert(SALES | {"Employees": 0, "Floor": 3})
    written = together.commit(
        employees.inserting(SALES | {"EmployeeId": 223}),
        employees.inserting(SALES | {"EmployeeId": 152}),
        departments.merging(sales, {"Employees": 2}),
    )
    print(len(written), "written;", departments.get(**SALES))

    # -- refuse
    sales = departments.get(**SALES)
    try:
        together.commit(
            departments.merging(sales, {"Employees": 3}),
            employees.inserting(SALES | {"EmployeeId": 223}),
        )
    except EntityAlreadyExists as error:
        print(f"operation {error.index}: {error}")
    print(departments.get(**SALES)["Employees"])

    # -- end


if __name__ == "__main__":
    main(connect())
