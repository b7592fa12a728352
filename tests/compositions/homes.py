"""Homes: what stores entities and their derived data, and how each entity is accessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import fields as members_of
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from compositions.fields import SHOWN, ident, moment, shown
from compositions.part import Fields, Part
from tablepatterns import (
    ChildSet,
    EntitySet,
    EntityTypes,
    Key,
    LogTail,
    OneOf,
    PartitionSpread,
    Period,
    PeriodTables,
    Stored,
)


class Home(Part):
    """A plain set, the default.

    :param storage: the account
    :param table: the name of the table, or the prefix of several tables
    :param options: a function from a table's name to `derived` and `mappings` of its set
    """

    name: ClassVar[str] = "EntitySet"
    partition: ClassVar[str] = "empid_{Department}"
    row: ClassVar[str] = "empid_{EmployeeId:06d}"
    number: ClassVar[str] = "EmployeeId"
    """The key field that refers to an employee."""
    derives: ClassVar[bool] = True
    """Whether sets of this home may have derived data."""

    def __init__(self, storage: Any, table: str, options: Callable[[str], dict[str, Any]]) -> None:
        self.storage, self.table, self.options = storage, table, options
        self.begin()

    @property
    def key(self) -> Key:
        return Key(self.partition, self.row)

    def begin(self) -> None:
        self.set: Any = EntitySet(self.storage, self.table, self.key, **self.options(self.table))

    def set_of(self, fields: Fields) -> Any:
        """Return the set that an employee is in."""
        return self.set

    def derived_of(self, entities: Any) -> tuple[Any, ...]:
        """Return the derived data of one of its sets."""
        return tuple(entities.derived)

    def stored(self, fields: Fields) -> Fields:
        """Return an employee with the fields that this home adds."""
        return fields

    def group(self, fields: Fields) -> Fields:
        """Return the fields of the partition of an employee."""
        names = Key(self.partition, "").fields
        return {name: value for name, value in self.stored(fields).items() if name in names}

    def asked(self, fields: Fields, *names: str) -> Fields:
        """Return the fields of the partition together with these."""
        return self.group(fields) | {name: fields[name] for name in names}

    async def insert(self, fields: Fields) -> None:
        await self.set_of(fields).insert(self.stored(fields))

    async def get(self, fields: Fields) -> Any:
        """Return an employee in the form of this home, or None."""
        return await self.set_of(fields).get(**self.key_of(fields))

    def key_of(self, fields: Fields) -> Fields:
        stored = self.stored(fields)
        return {name: stored[name] for name in self.key.fields}

    def shown(self, handed: Any) -> Fields:
        """Return the result of a home as a dict of the employee's fields."""
        return shown(handed)

    async def replace(self, handed: Any, fields: Fields) -> None:
        handed.update(fields)
        await self.set_of(fields).replace(handed)

    async def delete(self, handed: Any, fields: Fields) -> None:
        await self.set_of(fields).delete(handed)

    def entities_of(self, fields: Fields) -> Any:
        """Return the set that an employee is in, for recipes that take its entities."""
        return self.set_of(fields)

    def new(self, fields: Fields) -> Any:
        """Return an employee in the form that the set inserts."""
        return self.stored(fields)

    def in_order(self, group: list[Fields]) -> list[Fields]:
        """Return employees in the order in which the home reads them."""
        return sorted(group, key=lambda each: each["EmployeeId"])

    async def find(self, index: Any, fields: Fields, asked: Fields) -> Any:
        """Return an employee that an index finds."""
        return await self.set_of(fields).find(index, **asked)


class CompoundKeyHome(Home):
    """Reviews of employees."""

    name = "ChildSet"
    row = "empid_{EmployeeId:06d}_{Year:04d}"

    def begin(self) -> None:
        parent = Key(self.partition, "empid_{EmployeeId:06d}")
        self.set = ChildSet(self.storage, self.table, parent, "_{Year:04d}", **self.options(self.table))

    def stored(self, fields: Fields) -> Fields:
        return fields | {"Year": 2014}

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for each in those:
            found = self.set.children(Department=each["Department"], EmployeeId=each["EmployeeId"])
            assert [shown(child) async for child in found] == [each]


class LogTailHome(Home):
    """A log of employees, the newest first."""

    name = "LogTail"
    row = "empid_{At:inverted}_{EntryId:uuid}"
    number = "EntryId"

    def begin(self) -> None:
        options = self.options(self.table)
        self.set = LogTail(self.storage, self.table, self.partition, row_prefix="empid_", **options)

    def stored(self, fields: Fields) -> Fields:
        return fields | {"At": moment(fields), "EntryId": ident(fields)}

    async def insert(self, fields: Fields) -> None:
        await self.set.append(self.stored(fields))

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for group in staff.groups(those):
            for count in (1, 9):
                found = await self.set.latest(count, **self.group(group[0]))
                assert [shown(entry) for entry in found] == self.in_order(group)[:count]

    def in_order(self, group: list[Fields]) -> list[Fields]:
        return sorted(group, key=moment, reverse=True)


class PeriodTablesHome(Home):
    """A table for each day."""

    name = "PeriodTables"
    row = "empid_{At:ticks}_{EmployeeId:06d}"

    def begin(self) -> None:
        def make(account: Any, table: str) -> Any:
            return self.made(account, table, self.options(table))

        self.tables: Any = PeriodTables(self.storage, f"{self.table}x", Period.DAY, factory=make)

    def made(self, account: Any, table: str, options: dict[str, Any]) -> Any:
        """Return the set of one period."""
        return EntitySet(account, table, self.key, **options)

    def set_of(self, fields: Fields) -> Any:
        return self.tables.of(moment(fields))

    def stored(self, fields: Fields) -> Fields:
        return fields | {"At": moment(fields)}

    async def insert(self, fields: Fields) -> None:
        await self.tables.insert(self.stored(fields))

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for each in those:
            assert shown(await self.tables.search(**self.key_of(each))) == each
        for group in staff.departments(those):
            begin, end = min(map(moment, group)), max(map(moment, group))
            found = self.tables.range(begin, end, Department=group[0]["Department"])
            assert [shown(entity) async for entity in found] == self.in_order(group)


class PartitionSpreadHome(Home):
    """Several partitions instead of one."""

    name = "PartitionSpread"
    partition = "{Bucket:02d}_empid_{Department}"

    def begin(self) -> None:
        def make(account: Any, table: str, key: Key) -> Any:
            return self.made(account, table, self.options(table))

        key = Key("empid_{Department}", self.row)
        self.spread: Any = PartitionSpread(self.storage, self.table, key, buckets=3, factory=make)
        self.set = self.spread.entity_set

    def made(self, account: Any, table: str, options: dict[str, Any]) -> Any:
        """Return the set of all buckets."""
        return EntitySet(account, table, self.key, **options)

    def given(self, fields: Fields) -> Fields:
        """Return an employee without the bucket."""
        return fields

    def stored(self, fields: Fields) -> Fields:
        return dict(self.spread.placed(self.given(fields)))

    async def insert(self, fields: Fields) -> None:
        await self.spread.insert(self.given(fields))

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for group in staff.departments(those):
            found = self.spread.range(Department=group[0]["Department"])
            assert [shown(entity) async for entity in found] == self.in_order(group)
            first = await self.spread.take(1, Department=group[0]["Department"])
            assert [shown(entity) for entity in first] == self.in_order(group)[:1]

    def keeps(self, row: Any) -> bool:
        return bool(row.partition_key.startswith("_spread"))


@dataclass
class Person:
    """The employees as a model, with fields that are stored under other names."""

    Department: str
    EmployeeId: int
    LastName: Annotated[str, Stored("Surname")]
    Email: str
    Salary: Annotated[int, Stored("Pay")]
    Ssn: str
    Notes: str
    Photo: bytes

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str) -> Any:
        return getattr(self, name, None)


@dataclass
class PlainPerson(Person):
    """The employees as a model whose fields are stored under their own names."""

    LastName: str
    Salary: int


@dataclass
class PlainLoggedPerson(PlainPerson):
    """An employee in a log."""

    At: datetime
    EntryId: UUID


@dataclass
class PlainReviewedPerson(PlainPerson):
    """A review of an employee in a year."""

    Year: int


@dataclass
class LoggedPerson(Person):
    """An employee in a log."""

    At: datetime
    EntryId: UUID


@dataclass
class ReviewedPerson(Person):
    """A review of an employee in a year."""

    Year: int


class ModelHome(Home):
    """Instances of a model instead of dicts."""

    name = "EntitySet with a model"
    of: ClassVar[type[Person]] = Person

    @property
    def model(self) -> Any:
        return self.of

    def begin(self) -> None:
        options = self.options
        self.options = lambda table: options(table) | {"model": self.model}
        super().begin()
        self.options = options

    def new(self, fields: Fields) -> Any:
        names = {each.name for each in members_of(self.of)}
        return self.of(**{name: value for name, value in self.stored(fields).items() if name in names})

    def entities_of(self, fields: Fields) -> Any:
        return self.set_of(fields).without_model()

    async def insert(self, fields: Fields) -> None:
        await self.set.insert(self.new(fields))

    async def replace(self, handed: Any, fields: Fields) -> None:
        for name in SHOWN:
            setattr(handed, name, fields[name])
        await self.set.replace(handed)


class EntityTypesHome(ModelHome):
    """Instances of a class that the type property names, read together with those of other classes."""

    name = "EntityTypes"
    of = PlainPerson

    @property
    def model(self) -> Any:
        return OneOf(self.of)

    async def get(self, fields: Fields) -> Any:
        return await EntityTypes(self.set).get(*self.set.key.format(self.key_of(fields)))

    async def check(self, staff: Any, those: list[Fields]) -> None:
        types = EntityTypes(self.set)
        for group in staff.groups(those):
            read = [person async for person in types.range(**self.group(group[0]))]
            persons = [self.new(fields) for fields in self.in_order(group)]
            assert [person for person in read if isinstance(person, self.of)] == persons
            assert [person async for person in self.set.range(**self.group(group[0]))] == persons


class PeriodsOfLogs(PeriodTablesHome):
    """A log for each day."""

    name = "PeriodTables of LogTail"
    row = LogTailHome.row
    number = LogTailHome.number

    def made(self, account: Any, table: str, options: dict[str, Any]) -> Any:
        return LogTail(account, table, self.partition, row_prefix="empid_", **options)

    def stored(self, fields: Fields) -> Fields:
        return fields | {"At": moment(fields), "EntryId": ident(fields)}

    def in_order(self, group: list[Fields]) -> list[Fields]:
        return sorted(group, key=moment, reverse=True)


class PeriodsOfChildren(PeriodTablesHome):
    """Reviews of employees, in a table for each day."""

    name = "PeriodTables of ChildSet"
    row = CompoundKeyHome.row

    def made(self, account: Any, table: str, options: dict[str, Any]) -> Any:
        return ChildSet(account, table, Key(self.partition, Home.row), "_{Year:04d}", **options)

    def stored(self, fields: Fields) -> Fields:
        return fields | {"Year": 2014, "At": moment(fields)}


class SpreadLog(PartitionSpreadHome):
    """One log in several partitions."""

    name = "PartitionSpread of LogTail"
    row = LogTailHome.row
    number = LogTailHome.number

    def made(self, account: Any, table: str, options: dict[str, Any]) -> Any:
        return LogTail(account, table, self.partition, row_prefix="empid_", **options)

    def given(self, fields: Fields) -> Fields:
        return fields | {"At": moment(fields), "EntryId": ident(fields)}

    def in_order(self, group: list[Fields]) -> list[Fields]:
        return sorted(group, key=moment, reverse=True)


class TypedLog(EntityTypesHome, LogTailHome):
    """A log of instances that the type property names."""

    name = "EntityTypes of LogTail"
    row = LogTailHome.row
    number = LogTailHome.number
    of = PlainLoggedPerson


class TypedChildren(EntityTypesHome, CompoundKeyHome):
    """Reviews of employees whose class the type property names."""

    name = "EntityTypes of ChildSet"
    row = CompoundKeyHome.row
    of = PlainReviewedPerson


class ModelLog(ModelHome, LogTailHome):
    """A log of instances of a model."""

    name = "LogTail with a model"
    row = LogTailHome.row
    number = LogTailHome.number
    of = LoggedPerson


class ModelChildren(ModelHome, CompoundKeyHome):
    """Reviews of employees as instances of a model."""

    name = "ChildSet with a model"
    row = CompoundKeyHome.row
    of = ReviewedPerson


HOMES: tuple[type[Home], ...] = (
    CompoundKeyHome,
    LogTailHome,
    PeriodTablesHome,
    PartitionSpreadHome,
    EntityTypesHome,
    ModelHome,
)
NESTED: dict[tuple[type[Home], type[Home]], type[Home]] = {
    (CompoundKeyHome, PeriodTablesHome): PeriodsOfChildren,
    (CompoundKeyHome, EntityTypesHome): TypedChildren,
    (CompoundKeyHome, ModelHome): ModelChildren,
    (LogTailHome, PeriodTablesHome): PeriodsOfLogs,
    (LogTailHome, PartitionSpreadHome): SpreadLog,
    (LogTailHome, EntityTypesHome): TypedLog,
    (LogTailHome, ModelHome): ModelLog,
}
"""Homes in other homes."""
