"""Sets, compound keys, types and transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from budgets.budget import BY_ID, Call, budget, changing, employee, first, staff
from tablepatterns import BulkLoad, ChildSet, EntityGroupTransaction, EntitySet, EntityTypes, prop


def many(account: Any, count: int) -> Any:
    entities = EntitySet(account, "Staff", BY_ID)
    BulkLoad(entities).load([employee(number) for number in range(count)])
    return entities


budget("EntitySet", "insert", 1, on=staff)(lambda entities: entities.insert(employee()))


@budget("EntitySet", "insert", 3, "the first of a table, which it makes")
def insert_first(account: Any) -> Call:
    return lambda: staff(account, numbers=(1,))


budget("EntitySet", "get", 1, on=staff)(lambda entities: first(entities))


@budget("EntitySet", "get_many", 10, "10 keys, sent together")
def get_many(account: Any) -> Call:
    entities, keys = many(account, 10), [{"Department": "Sales", "EmployeeId": each} for each in range(10)]
    return lambda: entities.get_many(keys)


@budget("EntitySet", "range", 1, "up to 1,000 entities of a partition")
def read_range(account: Any) -> Call:
    entities = many(account, 1000)
    return lambda: list(entities.range(Department="Sales"))


@budget("EntitySet", "range", 3, "2,001 entities")
def read_long_range(account: Any) -> Call:
    entities = many(account, 2001)
    return lambda: list(entities.range(Department="Sales"))


@budget("EntitySet", "page", 1)
def page(account: Any) -> Call:
    entities = many(account, 20)
    return lambda: entities.page(size=10, Department="Sales")


@budget("EntitySet", "take(10)", 1, "of however many")
def take(account: Any) -> Call:
    entities = many(account, 100)
    return lambda: entities.take(10, Department="Sales")


@budget("EntitySet", "query", 1, "by a filter, in one partition")
def query(account: Any) -> Call:
    where = (prop("PartitionKey") == "empid_Sales") & (prop("RowKey") >= "empid_000010")
    entities = many(account, 100)
    return lambda: list(entities.query(where))


@budget("EntitySet", "replace", 1)
def replace(account: Any) -> Call:
    return changing(staff(account), Age=35)


@budget("EntitySet", "merge", 1)
def merge(account: Any) -> Call:
    entities = staff(account)
    read = first(entities)
    return lambda: entities.merge(read, {"Age": 35})


budget("EntitySet", "update", 2, "without concurrent writes to the entity", on=staff)(
    lambda entities: entities.update(lambda each: each.update(Age=35), Department="Sales", EmployeeId=1)
)
budget("EntitySet", "insert_or_replace", 1, "where nothing is derived", on=staff)(
    lambda entities: entities.insert_or_replace(employee(1, Age=35))
)


@budget("EntitySet", "delete", 1)
def delete(account: Any) -> Call:
    entities = staff(account)
    read = first(entities)
    return lambda: entities.delete(read)


@budget("EntityGroupTransaction", "commit", 1, "100 entities of a partition")
def commit(account: Any) -> Call:
    entities = staff(account)
    changes = [entities.inserting(employee(number)) for number in range(100, 200)]
    return lambda: EntityGroupTransaction(account, "Staff").commit(*changes)


def reviews(account: Any) -> Any:
    staff(account)
    children = ChildSet(account, "Staff", BY_ID, "_{Year:04d}")
    for year in (2012, 2013):
        children.insert({"Department": "Sales", "EmployeeId": 1, "Year": year})
    return children


@budget("ChildSet", "insert", 1)
def insert_child(account: Any) -> Call:
    review = {"Department": "Sales", "EmployeeId": 1, "Year": 2014}
    children = reviews(account)
    return lambda: children.insert(review)


budget("ChildSet", "children", 1, "up to 1,000", on=reviews)(
    lambda found: list(found.children(Department="Sales", EmployeeId=1))
)
budget("ChildSet", "family", 1, "a parent and up to 999 children", on=reviews)(
    lambda found: found.family(Department="Sales", EmployeeId=1)
)


@dataclass(frozen=True)
class Employee:
    """The employees as a class."""

    Department: str
    EmployeeId: int
    LastName: str


def types(account: Any) -> Any:
    employees = EntitySet(account, "Staff", BY_ID, model=Employee)
    employees.insert(Employee("Sales", 1, "Jones"))
    return EntityTypes(employees)


budget("EntityTypes", "get", 1, on=types)(lambda entities: entities.get("Sales", "empid_000001"))
budget("EntityTypes", "range", 1, "up to 1,000 rows of all types", on=types)(
    lambda entities: list(entities.range(Department="Sales"))
)
