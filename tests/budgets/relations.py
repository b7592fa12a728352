"""Relations between entities, and access to them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from budgets.budget import Call, budget, employee, first, staff
from tablepatterns import EntitySet, Key
from tablepatterns.recipes.grant import AccessPolicies, grant
from tablepatterns.recipes.lookup import Lookup
from tablepatterns.recipes.one_to_many import OneToMany, SharedFields
from tablepatterns.recipes.one_to_one import OneToOne
from tablepatterns.recipes.parallel_reads import ParallelReads

SALES = {"Department": "Sales"}


def heads(account: Any) -> Any:
    found = EntitySet(account, "Staff", Key("empid_{Department}", "head"))
    found.insert({"Department": "Sales", "Floor": 3})
    return found


def belonging(account: Any) -> Any:
    return OneToMany(heads(account), staff(account))


budget("OneToMany", "parent_of", 1, on=belonging)(lambda found: found.parent_of(employee()))
budget("OneToMany", "children_of", 1, "up to 1,000", on=belonging)(lambda found: list(found.children_of(**SALES)))
budget("OneToMany", "family", 2, "one and up to 1,000, sent together", on=belonging)(
    lambda found: found.family(**SALES)
)


@budget("SharedFields", "change", 2, "up to 100 entities of a partition")
def change(account: Any) -> Call:
    found = SharedFields(staff(account), ["Floor"])
    return lambda: found.change({"Floor": 4}, **SALES)


def cars(account: Any) -> Any:
    employees, found = staff(account), EntitySet(account, "Cars", Key("{Maker}", "{Number}"))
    car = found.insert({"Maker": "Fiat", "Number": "B-XY 1"})
    return OneToOne(employees, found, links=("PartnerPartitionKey", "PartnerRowKey")), first(employees), car


@budget("OneToOne", "link", 2)
def link(account: Any) -> Call:
    drives, jones, car = cars(account)
    return lambda: drives.link(jones, car)


@budget("OneToOne", "second_of", 1)
def second_of(account: Any) -> Call:
    drives, jones, car = cars(account)
    drives.link(jones, car)
    return lambda: drives.second_of(jones)


@budget("Lookup", "get", 1, "for the first time")
def look_up(account: Any) -> Call:
    lookup = Lookup(heads(account))
    return lambda: lookup.get(**SALES)


@budget("Lookup", "get", 0, "for the second time, until it expires")
def look_up_again(account: Any) -> Call:
    lookup = Lookup(heads(account))
    lookup.get(**SALES)
    return lambda: lookup.get(**SALES)


@budget("ParallelReads", "ranges", 3, "3 partitions of up to 1,000 each, sent together")
def read_together(account: Any) -> Call:
    reads = ParallelReads(staff(account))
    return lambda: reads.ranges([{"Department": name} for name in ("Sales", "Marketing", "Finance")])


@budget("grant", "token", 0)
def token(account: Any) -> Call:
    staff(account)
    return lambda: grant(account, "Staff", "r", expires=timedelta(hours=1)).token


@budget("AccessPolicies", "put", 2)
def put(account: Any) -> Call:
    staff(account)
    return lambda: AccessPolicies(account, "Staff").put("phones", "r")


@budget("AccessPolicies", "revoke", 2)
def revoke(account: Any) -> Call:
    put(account)()
    return lambda: AccessPolicies(account, "Staff").revoke("phones")
