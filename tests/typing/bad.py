"""Uses that both type checkers must refuse: each line marked WRONG, and no other; see check_bad.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import tablepatterns.aio
import tablepatterns_review
from tablepatterns import (
    BulkLoad,
    EntityGroupTransaction,
    EntitySet,
    EntityTypes,
    IntraPartitionIndex,
    Key,
    LogTail,
    OneOf,
    Storage,
    connect,
)
from tablepatterns.recipe import Account_co, Pattern, recipe
from tablepatterns_engine import Engine
from tablepatterns_review import Field, Query, Write

KEY = Key("{Department}", "empid_{EmployeeId:06d}")


class Forgetful(Pattern[Account_co]):
    @recipe
    async def add(self, name: str, amount: int = 1) -> int:
        return amount + len(name)

    @recipe
    async def forgets_to_await_a_recipe(self, name: str) -> None:
        self.add(name)  # WRONG

    @recipe
    async def forgets_to_await_time(self) -> None:
        self.account.sleep(1)  # WRONG

    @recipe
    async def uses_a_recipe_as_its_result(self, name: str) -> int:
        return 1 + self.add(name)  # WRONG


class Disagreeing(Forgetful[Account_co]):
    @recipe
    async def add(self, name: int) -> str:  # WRONG
        return str(name)


async def recipes(storage: Storage, aio_storage: tablepatterns.aio.Storage) -> None:
    Forgetful(storage).add(1)  # WRONG
    Forgetful(storage).add("a", amuont=1)  # WRONG
    await Forgetful(storage).add("a")  # WRONG
    Forgetful(aio_storage).add("a")  # WRONG
    text: str = Forgetful(storage).add("a")  # WRONG
    print(text)
    Forgetful("memory://")  # WRONG


async def sets(storage: Storage, aio_storage: tablepatterns.aio.Storage) -> None:
    employees = EntitySet(storage, "Employees", KEY)
    aio_employees = EntitySet(aio_storage, "Employees", KEY)
    for _ in aio_employees.range(Department="Sales"):  # WRONG
        pass
    async for _ in employees.range(Department="Sales"):  # WRONG
        pass
    print(employees.get(Department="Sales", EmployeeId=1)["Age"])  # WRONG
    employees.take("10", Department="Sales")  # WRONG
    employees.get([("Department", "Sales")])  # WRONG
    employees.find({"Department": "Sales"})  # WRONG
    EntitySet(storage, "Employees", "{Department}")  # WRONG


def faults() -> None:
    Engine().faults.busy(operation="InsertEntitys")  # WRONG
    Engine().faults.busy(tabel="Employees")  # WRONG
    Engine().faults.time_out(times="2")  # WRONG
    Engine(targets=2000)  # WRONG


async def other_recipes(storage: Storage, aio_storage: tablepatterns.aio.Storage) -> None:
    BulkLoad(storage)  # WRONG
    BulkLoad(EntitySet(storage, "Employees", KEY)).load([], mode="upsert")  # WRONG
    LogTail(aio_storage, "Claims", "{Employee}").latest(10)  # WRONG
    LogTail(storage, "Claims", "{Employee}").latest("10")  # WRONG
    EntityGroupTransaction(storage, "Employees").commit({"Department": "Sales"})  # WRONG


def accounts() -> None:
    connect(7)  # WRONG
    with tablepatterns.aio.connect():  # WRONG
        pass


@dataclass(frozen=True)
class Employee:
    Department: str
    EmployeeId: int


@dataclass(frozen=True)
class Department:
    Department: str


async def entity_types(storage: Storage) -> None:
    employees = EntitySet(storage, "Staff", KEY, model=Employee)
    print(EntityTypes(employees).get("Sales", "empid_000223").Department)  # WRONG
    print([entity.LastName for entity in EntityTypes(employees).range(Department="Sales")])  # WRONG
    EntityTypes(Employee)  # WRONG
    EntityTypes(employees, unknown="ignore")  # WRONG
    OneOf("Employee")  # WRONG
    EntitySet(storage, "Staff", KEY, model=OneOf(Employee)).insert(Department("Sales"))  # WRONG


class EmployeeKey(NamedTuple):
    Department: str
    EmployeeId: int


class EmailKey(NamedTuple):
    Department: str
    Email: str


def typed_keys_and_filters(storage: Storage) -> None:
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}", EmailKey))
    people = EntitySet(
        storage, "Staff", Key("{Department}", "{EmployeeId:06d}", EmployeeKey), model=Employee, derived=[by_email]
    )
    people.get(EmployeeKey("Sales"))  # WRONG
    people.get(EmployeeKey("Sales", "223"))  # WRONG
    people.get(EmployeeKey(Departmnt="Sales", EmployeeId=223))  # WRONG
    people.get(EmailKey("Sales", "jo"))  # WRONG
    people.get_many([EmailKey("Sales", "jo")])  # WRONG
    people.find(by_email, EmployeeKey("Sales", 223))  # WRONG
    list(people.query(lambda person: person.EmployeeIdd > 3))  # WRONG
    list(people.query(lambda person: person.EmployeeId > "3"))  # WRONG
    list(people.query(lambda person: person.EmployeeId))  # WRONG
    Key("{Department}", "{EmployeeId:06d}", EmployeeKey("Sales", 223))  # WRONG


async def sets_with_a_model(storage: Storage, aio_storage: tablepatterns.aio.Storage) -> None:
    people = EntitySet(storage, "Staff", KEY, model=Employee)
    aio_people = EntitySet(aio_storage, "Staff", KEY, model=Employee)
    print(people.get(Department="Sales", EmployeeId=223).Department)  # WRONG
    people.insert({"Department": "Sales", "EmployeeId": 223})  # WRONG
    people.insert(Department("Sales"))  # WRONG
    people.replace(Employee("Sales", 223), etga="a")  # WRONG
    people.update(lambda each: each.LastName, Department="Sales", EmployeeId=223)  # WRONG
    people.delete("Sales")  # WRONG
    print([each.LastName for each in people.range(Department="Sales")])  # WRONG
    print(people.page(Department="Sales").items[0]["Department"])  # WRONG
    people.inserting({"Department": "Sales"})  # WRONG
    aio_people.insert(Employee("Sales", 223))  # WRONG
    print((await aio_people.get(Department="Sales", EmployeeId=223)).Department)  # WRONG
    EntitySet(storage, "Staff", KEY, model=Employee("Sales", 223))  # WRONG
    EntitySet(storage, "Staff", KEY).insert(Employee("Sales", 223))  # WRONG


def declares_what_there_is_not() -> None:
    Field("integer")  # WRONG
    Query("all", {"Department": "equals"})  # WRONG
    Write("hire", "upsert")  # WRONG


def misspells_what_comes_when_it_is_asked_for() -> None:
    print(tablepatterns.EntitySets)  # WRONG
    print(tablepatterns_review.Designs)  # WRONG
