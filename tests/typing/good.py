"""Uses that both type checkers accept, and the exact types that a caller gets; never run, only checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from azure.data.tables import TableServiceClient
from azure.data.tables.aio import TableServiceClient as AioTableServiceClient
from typing_extensions import assert_type

import tablepatterns.aio
from tablepatterns import (
    Archive,
    BulkLoad,
    ChildSet,
    Entity,
    EntityGroupTransaction,
    EntitySet,
    EntityTypes,
    IntraPartitionIndex,
    Key,
    LogTail,
    Lookup,
    OneOf,
    OneToMany,
    Page,
    ParallelReads,
    PartitionMove,
    QueryClass,
    Storage,
    connect,
    prefix,
    prop,
)
from tablepatterns.recipe import Account, Account_co, BlockingAccount, Pattern, recipe, stream
from tablepatterns_engine import Clock, Engine, Record, Rule, Targets
from tablepatterns_review import (
    DeclaredSet,
    Design,
    Field,
    PriceTable,
    Query,
    Reviewed,
    Shape,
    Write,
    declare_set,
    read_design,
    review,
)

T = TypeVar("T")
KEY = Key("{Department}", "empid_{EmployeeId:06d}")
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


class Counter(Pattern[Account_co]):
    """A pattern of a user's own: its recipes await one another, whatever the account is."""

    @recipe
    async def add(self, name: str, amount: int = 1, *, attempts: int = 5) -> int:
        return amount + len(name) + attempts

    @recipe
    async def add_twice(self, name: str) -> tuple[int, int]:
        first = await self.add(name)
        return first, await self.add(name, attempts=1)

    @recipe
    async def change(self, name: str, rule: Callable[[str], T]) -> T:
        return rule(name)

    @stream
    async def names(self) -> AsyncIterator[str]:
        yield "a"

    @recipe
    async def all_names(self) -> list[str]:
        return [name async for name in self.names()]


class LoudCounter(Counter[Account_co]):
    """A recipe that is overridden calls the one it overrides."""

    @recipe
    async def add(self, name: str, amount: int = 1, *, attempts: int = 5) -> int:
        return await super().add(name.upper(), amount, attempts=attempts)


class OwnStorage(Storage):
    """A storage of a user's own is a storage."""


def a_sync_account_gives_results(storage: Storage, own: OwnStorage) -> None:
    assert_type(storage.tables, TableServiceClient)
    counter = Counter(storage)
    assert_type(counter, Counter[Storage])
    assert_type(counter.add("a", 2), int)
    assert_type(counter.add_twice("a"), tuple[int, int])
    assert_type(counter.names(), Iterator[str])
    assert_type(counter.change("a", len), int)
    assert_type(LoudCounter(own).add("a"), int)


async def an_async_account_gives_something_to_await(storage: tablepatterns.aio.Storage) -> None:
    assert_type(storage.tables, AioTableServiceClient)
    counter = Counter(storage)
    assert_type(await counter.add("a", attempts=3), int)
    added = counter.add("a")
    _ = assert_type(added, Coroutine[Any, Any, int])
    assert_type(await added, int)
    assert_type(counter.names(), AsyncIterator[str])
    async for name in counter.names():
        assert_type(name, str)


def a_set_on_a_sync_account() -> None:
    employees = EntitySet(connect(), "Employees", KEY, derived=[BY_EMAIL])
    assert_type(employees, EntitySet[Storage])
    jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com"})
    assert_type(jones, Entity)
    assert_type(employees.get(Department="Sales", EmployeeId=223), "Entity | None")
    assert_type(employees.find(BY_EMAIL, Department="Sales", Email="jonesj@contoso.com"), "Entity | None")
    assert_type(employees.range(BY_EMAIL, Department="Sales", Email=prefix("j")), Iterator[Entity])
    assert_type(employees.page(Department="Sales", where=prop("Age") > 30), Page[Entity])
    assert_type(employees.take(10, Department="Sales"), list[Entity])
    assert_type(employees.get({"Department": "Sales", "EmployeeId": 223}), "Entity | None")
    assert_type(employees.find(BY_EMAIL, {"Department": "Sales"}, Email="jonesj@contoso.com"), "Entity | None")
    assert_type(employees.range({"Department": "Sales"}, select=["Age"]), Iterator[Entity])
    assert_type(employees.range(BY_EMAIL, {"Department": "Sales"}), Iterator[Entity])
    assert_type(employees.take(10, {"Department": "Sales"}), list[Entity])
    assert_type(jones.etag, "str | None")


async def a_set_on_an_async_account() -> None:
    async with tablepatterns.aio.connect() as storage:
        employees = EntitySet(storage, "Employees", KEY, derived=[BY_EMAIL])
        jones = await employees.insert({"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com"})
        assert_type(jones, Entity)
        assert_type(await employees.get(Department="Sales", EmployeeId=223), "Entity | None")
        assert_type(employees.range(Department="Sales"), AsyncIterator[Entity])
        assert_type(await employees.take(10, Department="Sales"), list[Entity])


def the_other_recipes_on_a_sync_account(storage: Storage, moment: datetime) -> None:
    employees = EntitySet(storage, "Employees", KEY, derived=[BY_EMAIL])
    loaded = BulkLoad(employees).load([{"Department": "Sales"}], mode="insert_or_replace")
    assert_type(loaded.entities, int)
    assert_type(employees.update(lambda each: each.update(Age=1), Department="Sales", EmployeeId=1), Entity)
    assert_type(employees.get_many([{"Department": "Sales", "EmployeeId": 1}]), "list[Entity | None]")
    assert_type(employees.query(prop("PartitionKey") == "Sales", allow=QueryClass.TABLE_SCAN), Iterator[Entity])
    reviews = ChildSet(storage, "Employees", KEY, "_{Year:04d}")
    assert_type(reviews.children(Department="Sales", EmployeeId=1), Iterator[Entity])
    assert_type(reviews.family(Department="Sales", EmployeeId=1), "tuple[Entity | None, list[Entity]]")
    log = LogTail(storage, "Claims", "{Employee}")
    assert_type(log.append({"Employee": "1"}), Entity)
    assert_type(log.latest(10, Employee="1"), list[Entity])
    assert_type(log.between(moment, Employee="1"), Iterator[Entity])
    both = EntityGroupTransaction(storage, "Employees").commit(employees.inserting({}), reviews.inserting({}))
    assert_type(both, list[Entity])


async def the_other_recipes_on_an_async_account(storage: tablepatterns.aio.Storage, moment: datetime) -> None:
    employees = EntitySet(storage, "Employees", KEY)
    assert_type((await BulkLoad(employees).load([])).token, str)
    reviews = ChildSet(storage, "Employees", KEY, "_{Year:04d}")
    assert_type(reviews.children(Department="Sales", EmployeeId=1), AsyncIterator[Entity])
    log = LogTail(storage, "Claims", "{Employee}")
    assert_type(await log.latest(10, Employee="1"), list[Entity])
    assert_type(log.between(moment, Employee="1"), AsyncIterator[Entity])
    transaction = EntityGroupTransaction(storage, "Employees")
    assert_type(await transaction.commit(employees.inserting({})), list[Entity])


async def a_pattern_of_either_kind_is_awaited(account: Account, blocking: BlockingAccount) -> None:
    assert_type(await Counter(account).add("a"), int)
    assert_type(Counter(blocking).add("a"), int)


def an_account_in_memory_fails_as_it_is_told() -> None:
    engine = Engine(clock=Clock(), targets=Targets(partition=100, account=None))
    with engine.faults.busy(operation="InsertEntity", table="Employees", times=2, retry_after=1) as busy:
        assert_type(busy, Rule)
    assert_type(busy.hits, int)
    assert_type(engine.faults.delay(0.5, service="queue", probability=0.5, seed=1), Rule)
    with engine.ledger.span() as traffic:
        assert_type(traffic.records, list[Record])


class Person(ABC):
    @abstractmethod
    def greeting(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Employee(Person):
    Department: str
    EmployeeId: int
    Age: int = 0

    def greeting(self) -> str:
        return "Hi"


@dataclass(frozen=True)
class Manager(Person):
    Department: str
    EmployeeId: int

    def greeting(self) -> str:
        return "Hello"


def entity_types(storage: Storage, aio_storage: tablepatterns.aio.Storage) -> None:
    staff = EntityTypes(EntitySet(storage, "Staff", KEY, model=Employee), EntitySet(storage, "Staff", BY_EMAIL.key))
    assert_type(staff, EntityTypes[Storage])
    assert_type(staff.get("Sales", "empid_000223"), "object | None")
    assert_type(staff.page(size=5, Department="Sales"), Page[object])
    for entity in staff.range(Department="Sales"):
        assert_type(entity, object)
        if isinstance(entity, Employee):
            assert_type(entity, Employee)
    aio_staff = EntityTypes(EntitySet(aio_storage, "Staff", KEY, model=Employee), unknown="raise")
    assert_type(aio_staff.range(Department="Sales"), AsyncIterator[object])


class EmployeeKey(NamedTuple):
    Department: str
    EmployeeId: int


TYPED_KEY = Key("{Department}", "empid_{EmployeeId:06d}", EmployeeKey)


def typed_keys_and_filters(storage: Storage, aio_storage: tablepatterns.aio.Storage) -> None:
    people = EntitySet(storage, "Staff", TYPED_KEY, model=Employee)
    assert_type(people.get(EmployeeKey("Sales", 223)), "Employee | None")
    assert_type(people.get_many([EmployeeKey("Sales", 223)]), "list[Employee | None]")
    assert_type(people.query(lambda person: (person.Department == "Sales") & (person.Age > 3)), Iterator[Employee])
    by_age = IntraPartitionIndex(Key("{Department}", "age_{Age:03d}_{EmployeeId:06d}"))
    assert_type(people.find(by_age, Department="Sales", Age=3, EmployeeId=1), "Employee | None")
    aio_people = EntitySet(aio_storage, "Staff", TYPED_KEY, model=Employee)
    found = aio_people.get(EmployeeKey("Sales", 223))
    _ = assert_type(found, Coroutine[Any, Any, Employee | None])


def sets_of_several_classes(storage: Storage) -> None:
    model: OneOf[Person] = OneOf(Employee, Manager)
    persons = EntitySet(storage, "Staff", KEY, model=model)
    assert_type(persons.get(Department="Sales", EmployeeId=223), "Person | None")
    assert_type(persons.insert(Employee("Sales", 223)), Person)


def reviews_of_designs(storage: Storage, aio_storage: tablepatterns.aio.Storage) -> None:
    shape = Shape("Employee", 20_000, {"Department": Field(distinct=12), "EmployeeId": Field("int32")})
    asked = [Query("all", {"Department": "=", "EmployeeId": "range"}, order="-EmployeeId", take=10, rate=2.5)]
    declared = declare_set(EntitySet(storage, "Employees", KEY), shape=shape, queries=asked)
    assert_type(declared, DeclaredSet)
    others = declare_set(LogTail(aio_storage, "Log", "{Hour}"), shape=shape, writes=[Write("log", "insert")])
    assert_type(review(Design("Staff", (declared, others)), prices=PriceTable.default()), Reviewed)
    assert_type(read_design("staff.toml"), Design)


def sets_with_a_model(storage: Storage) -> None:
    people = EntitySet(storage, "Staff", KEY, model=Employee)
    assert_type(people, EntitySet[Storage, Employee])
    assert_type(people.get(Department="Sales", EmployeeId=1), Employee | None)
    assert_type(people.find(BY_EMAIL, Department="Sales", Email="a"), Employee | None)
    assert_type(people.get_many([{"Department": "Sales", "EmployeeId": 1}]), list[Employee | None])
    assert_type(people.range(Department="Sales"), Iterator[Employee])
    assert_type(people.page(Department="Sales"), Page[Employee])
    assert_type(people.take(10, Department="Sales"), list[Employee])
    jones = people.insert(Employee("Sales", 223), retry_for=5)
    assert_type(jones, Employee)
    assert_type(people.replace(jones, etag="a"), Employee)
    assert_type(people.merge(jones, {"Age": 35}), Employee)
    assert_type(people.update(jones, Age=35), Employee)
    assert_type(people.update(lambda each: replace(each, EmployeeId=1), Department="Sales", EmployeeId=1), Employee)
    assert_type(people.delete(jones, force=True), None)
    assert_type(people.without_model(), EntitySet[Storage, Entity])
    changes = people.inserting(jones), people.deleting(jones)
    assert_type(EntityGroupTransaction(storage, "Staff").commit(*changes), list[Employee])
    assert_type(PartitionMove(people).move(jones, Department="Marketing"), Employee)
    archive = Archive(people, EntitySet(storage, "Former", KEY))
    assert_type(archive.archive(jones), str)
    assert_type(archive.get(Department="Sales", EmployeeId=1), Employee | None)
    assert_type(BulkLoad(people).load([jones]).entities, int)
    assert_type(ParallelReads(people).points([]).entities, list[Employee])
    assert_type(Lookup(people).get(Department="Sales", EmployeeId=1), Employee | None)
    assert_type(Lookup(people).join([jones]), list[tuple[Employee, Employee | None]])
    staff = OneToMany(EntitySet(storage, "Staff", KEY), people)
    assert_type(staff.parent_of(jones), Entity | None)
    assert_type(staff.children_of(Department="Sales", EmployeeId=1), Iterator[Employee])
    skipping = EntitySet(storage, "Staff", KEY, model=Employee, on_unrecognized="skip")
    assert_type(skipping.take(1, Department="Sales"), list[Employee])
    log = LogTail(storage, "Log", "{Department}", model=Employee)
    assert_type(log.append(jones), Employee)
    assert_type(log.latest(3, Department="Sales"), list[Employee])
    assert_type(EntitySet(storage, "Staff", KEY).insert({"Department": "Sales"}), Entity)
    assert_type(ChildSet(storage, "Staff", KEY, "_{Year}", model=Employee).children(), Iterator[Employee])


async def aio_sets_with_a_model(storage: tablepatterns.aio.Storage) -> None:
    people = EntitySet(storage, "Staff", KEY, model=Employee)
    assert_type(people, EntitySet[tablepatterns.aio.Storage, Employee])
    assert_type(await people.get(Department="Sales", EmployeeId=1), Employee | None)
    assert_type(people.range(Department="Sales"), AsyncIterator[Employee])
    assert_type(await people.insert(Employee("Sales", 223)), Employee)
    assert_type(await people.update(Employee("Sales", 223), Age=1), Employee)
    assert_type(await LogTail(storage, "Log", "{Department}", model=Employee).append(Employee("Sales", 1)), Employee)
