"""Derived data: in the partition, and outside it through the intents queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from budgets.budget import Call, budget, changing, employee, first, staff
from tablepatterns import EntitySet, InterPartitionIndex, IntraPartitionIndex, Key
from tablepatterns.cost import Cost
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.jobs import backfill, verify
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.summary import Summary

INTRA = IntraPartitionIndex(Key("empid_{Department}", "email_{Email}"))
INTER = InterPartitionIndex(Key("email_{Department}", "{Email}"))
KEYS_ONLY = InterPartitionIndex(Key("email_{Department}", "{Email}"), include=[])
UNIQUE = InterPartitionIndex(Key("email_{Department}", "{Email}"), unique=True)
LISTED = IndexEntity("LastName")
LISTED_IN_BLOBS = IndexEntity("Department", "LastName", store=InBlobs("names"))
LISTED_ELSEWHERE = IndexEntity("Department", "LastName", store=InTable("Names"))
TOTAL = Summary(Key("empid_{Department}", "total"), sums={"Salary": "Payroll"})
TOTAL_ELSEWHERE = Summary(Key("{Department}", "total"), sums={"Salary": "Payroll"}, store=InTable("Totals"))
HEAD = Key("empid_{Department}", "manager")
REFERS, COPIES = {"EmployeeId": "Manager"}, {"Email": "ManagerEmail"}
MANAGER = CopiedFields(HEAD, refers=REFERS, copies=COPIES)
MANAGER_ELSEWHERE = CopiedFields(Key("{Department}", "manager"), refers=REFERS, copies=COPIES, store=InTable("Heads"))


def inserting(derived: Any) -> Callable[[Any], Call]:
    def prepare(account: Any) -> Call:
        entities = staff(account, derived)
        return lambda: entities.insert(employee())

    return prepare


def replacing(derived: Any, **changes: Any) -> Callable[[Any], Call]:
    return lambda account: changing(staff(account, derived), **changes)


def deleting(derived: Any) -> Callable[[Any], Call]:
    def prepare(account: Any) -> Call:
        entities = staff(account, derived)
        read = first(entities)
        return lambda: entities.delete(read)

    return prepare


def finding(derived: Any, word: str, **asked: Any) -> Callable[[Any], Call]:
    def prepare(account: Any) -> Call:
        entities = staff(account, derived)
        found = getattr(entities, word)
        return lambda: list(found(derived, **asked) or ())

    return prepare


SALES = {"Department": "Sales"}
ONE, JONES = SALES | {"Email": "1@contoso.com"}, SALES | {"LastName": "Jones"}

budget("IntraPartitionIndex", "insert", 1)(inserting(INTRA))
budget("IntraPartitionIndex", "replace", 1, "a change of the index key")(replacing(INTRA, Email="jo@contoso.com"))
budget("IntraPartitionIndex", "delete", 1)(deleting(INTRA))
budget("IntraPartitionIndex", "find", 1)(finding(INTRA, "find", **ONE))
budget("IntraPartitionIndex", "range", 1, "up to 1,000 entities")(finding(INTRA, "range", **SALES))

budget("InterPartitionIndex", "insert", Cost(table=3, queue=2))(inserting(INTER))
budget("InterPartitionIndex", "insert", Cost(table=4, queue=2), "unique")(inserting(UNIQUE))
budget("InterPartitionIndex", "replace", Cost(table=4, queue=2), "a change of what copies hold")(
    replacing(INTER, Age=35)
)
budget("InterPartitionIndex", "replace", Cost(table=5, queue=2), "a change of the index key")(
    replacing(INTER, Email="jo@contoso.com")
)
budget("InterPartitionIndex", "replace", 1, "a change of what no copy holds")(replacing(KEYS_ONLY, Age=35))
budget("InterPartitionIndex", "delete", Cost(table=4, queue=2))(deleting(INTER))
budget("InterPartitionIndex", "find", 1)(finding(INTER, "find", **ONE))
budget("InterPartitionIndex", "range", 1, "up to 1,000 entities")(finding(INTER, "range", **SALES))


@budget("jobs", "backfill", Cost(table=201, queue=4), "100 entities without copies elsewhere, and their queue")
def backfill_missing(account: Any) -> Call:
    staff(account, numbers=tuple(range(100)))
    entities = staff(account, INTER, numbers=())
    return lambda: backfill(entities, INTER)


@budget("jobs", "backfill", Cost(table=401, queue=2), "100 entities whose copies elsewhere are there")
def backfill_again(account: Any) -> Call:
    entities = staff(account, INTER, numbers=tuple(range(100)))
    return lambda: backfill(entities, INTER)


@budget("jobs", "verify", 1, "100 entities with copies elsewhere, all on one page")
def verify_all(account: Any) -> Call:
    entities = staff(account, INTER, numbers=tuple(range(100)))
    return lambda: verify(entities, INTER)


budget("IndexEntity", "insert", 2)(inserting(LISTED))
budget("IndexEntity", "replace", 3, "a change of the value: two lists")(replacing(LISTED, LastName="Smith"))
budget("IndexEntity", "replace", 1, "a change of anything else")(replacing(LISTED, Age=35))
budget("IndexEntity", "delete", 2)(deleting(LISTED))
budget("IndexEntity", "insert", Cost(table=4, queue=2), "lists in another table")(inserting(LISTED_ELSEWHERE))
budget("IndexEntity", "replace", Cost(table=6, queue=2), "a change of the value, lists in another table")(
    replacing(LISTED_ELSEWHERE, LastName="Smith")
)
budget("IndexEntity", "insert", Cost(table=2, queue=2, blob_read=1, blob_write=1), "lists in blobs")(
    inserting(LISTED_IN_BLOBS)
)
budget("IndexEntity", "keys_of", Cost(blob_read=1), "from a blob")(finding(LISTED_IN_BLOBS, "keys_of", **JONES))
budget("IndexEntity", "find_all", 3, "2 entities: 1 for the list, 1 for each entity, sent together")(
    finding(LISTED, "find_all", **JONES)
)
budget("IndexEntity", "keys_of", 1)(finding(LISTED, "keys_of", **JONES))

budget("Summary", "insert", 2)(inserting(TOTAL))
budget("Summary", "replace", 2, "a change of a number that is summed")(replacing(TOTAL, Salary=6000))
budget("Summary", "replace", 1, "a change of anything else")(replacing(TOTAL, Age=35))
budget("Summary", "delete", 2)(deleting(TOTAL))
budget("Summary", "insert", Cost(table=4, queue=2), "totals in another table")(inserting(TOTAL_ELSEWHERE))
budget("Summary", "replace", Cost(table=4, queue=2), "a change of a number that is summed, totals in another table")(
    replacing(TOTAL_ELSEWHERE, Salary=6000)
)
budget("Summary", "totals", 1)(finding(TOTAL, "totals", **SALES))


def departments(account: Any) -> Any:
    employees = staff(account, MANAGER)
    heads = EntitySet(account, "Staff", HEAD, derived=[MANAGER.filled_from(employees)])
    heads.insert({"Department": "Sales", "Manager": 1})
    return employees, heads


@budget("CopiedFields", "replace", 2, "a change of a field that is copied")
def change_of_copied(account: Any) -> Call:
    return changing(departments(account)[0], Email="jo@contoso.com")


@budget("CopiedFields", "replace", 1, "a change of anything else")
def change_of_others(account: Any) -> Call:
    return changing(departments(account)[0], Age=35)


@budget("CopiedFields", "replace", Cost(table=4, queue=2), "a change of a field that is copied to another table")
def change_of_copied_elsewhere(account: Any) -> Call:
    employees = staff(account, MANAGER_ELSEWHERE)
    heads = EntitySet(account, "Heads", MANAGER_ELSEWHERE.key, derived=[MANAGER_ELSEWHERE.filled_from(employees)])
    heads.insert({"Department": "Sales", "Manager": 1})
    return changing(employees, Email="jo@contoso.com")


@budget("CopiedFields", "replace", 2, "to refer to another entity")
def change_of_reference(account: Any) -> Call:
    _, heads = departments(account)
    sales = heads.get(Department="Sales")
    sales["Manager"] = 2
    return lambda: heads.replace(sales)
