"""The yearly reviews of an employee, in her partition and under her key."""

from tablepatterns import (
    ChildSet,
    EntityGroupTransaction,
    EntitySet,
    Key,
    Storage,
    between,
    connect,
)

JONES = {"Department": "Sales", "EmployeeId": 123}


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id)
    reviews = ChildSet(storage, "Employees", by_id, "_{Year:04d}")

    # -- write
    jones = employees.insert(JONES | {"LastName": "Jones", "Grade": 2})
    for year, rating in ((2011, 3), (2012, 4), (2013, 4)):
        reviews.insert(JONES | {"Year": year, "ManagerRating": rating})
    employees.insert(JONES | {"EmployeeId": 124, "LastName": "Smith", "Grade": 3})
    for row in storage.tables.get_table_client("Employees").list_entities():
        print(f"  {row['PartitionKey']}  {row['RowKey']}")

    # -- ask
    print(reviews.get(**JONES, Year=2012))
    for review in reviews.children(**JONES):
        print("review:", review["Year"], review["ManagerRating"])
    for review in reviews.range(**JONES, Year=between(2012, 2013)):
        print("since 2012:", review["Year"])
    employee, all_of_hers = reviews.family(**JONES)
    print(employee["LastName"], "and", len(all_of_hers), "reviews in one query")

    # -- together
    jones["Grade"] = 3
    EntityGroupTransaction(storage, "Employees").commit(
        employees.replacing(jones),
        reviews.inserting(JONES | {"Year": 2014, "ManagerRating": 5}),
    )
    employee, all_of_hers = reviews.family(**JONES)
    print("grade", employee["Grade"], "since", all_of_hers[-1]["Year"])
    # -- end


if __name__ == "__main__":
    main(connect())
