"""The guide's departments, employees and persons as classes: plain, frozen, with slots, derived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from tablepatterns import EntitySet, EntityTypes, Int64, Key, OneOf, Ticks

ID = {"Department": "Sales", "EmployeeId": 223}


class Grade(Enum):
    """Text for a value."""

    JUNIOR = "junior"
    SENIOR = "senior"


class Floor(Enum):
    """A number for a value."""

    GROUND = 0
    FIRST = 1


@dataclass(frozen=True)
class Department:
    """The guide's department."""

    Department: str
    EmployeeCount: int = 0


@dataclass(frozen=True)
class Employee:
    """The guide's employee."""

    Department: str
    EmployeeId: int
    LastName: str
    Age: int | None = None
    Email: str | None = None
    Salary: Decimal = Decimal(0)
    Rank: Grade = Grade.JUNIOR


@dataclass(frozen=True)
class Contractor:
    """A person who may have the same number as an employee."""

    Department: str
    EmployeeId: int
    LastName: str


@dataclass(frozen=True)
class Numbered:
    """A class that rejects some values of the right type."""

    PersonId: int
    Count: int = 0

    def __post_init__(self) -> None:
        if self.Count < 0:
            raise ValueError("no such count")


@dataclass
class Person(ABC):
    """The base class of customers and workers; never stored itself."""

    PersonId: int
    Name: str

    @abstractmethod
    def greeting(self) -> str:
        """Return a form of address."""


@dataclass
class Customer(Person):
    """A customer."""

    Discount: float = 0.0

    def greeting(self) -> str:
        return f"Dear {self.Name}"


@dataclass
class Worker(Person):
    """An employee; mutable."""

    Skills: list[str] = field(default_factory=list)

    def greeting(self) -> str:
        return f"Hi {self.Name}"


@dataclass(frozen=True)
class Address:
    """A nested value."""

    City: str
    Since: date | None = None
    Level: Floor = Floor.GROUND


class Staff:
    """Departments and employees in one table, each with its own prefix."""

    def __init__(self, storage: Any, table: str, *, unknown: Any = "raw", **options: Any) -> None:
        key = Key("{Department}", "EMPLOYEE_{EmployeeId:06d}")
        self.departments: Any = EntitySet(storage, table, Key("{Department}", "DEPARTMENT"), model=OneOf(Department))
        self.employees: Any = EntitySet(storage, table, key, model=OneOf(Employee), **options)
        self.all: Any = EntityTypes(self.departments, self.employees, unknown=unknown)


def persons_of(storage: Any, table: str, *, on_unrecognized: Any = "raise", **options: Any) -> Any:
    """Return customers and workers, which share their keys."""
    model = OneOf(Customer, Worker, **options)
    key = Key("person", "{PersonId:06d}")
    return EntitySet(storage, table, key, model=model, on_unrecognized=on_unrecognized)


def jones(**changes: Any) -> Employee:
    return Employee(**({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones", "Age": 34} | changes))


@dataclass(frozen=True)
class Everything:
    """A field of each kind."""

    Group: str
    Id: UUID
    Text: str
    Flag: bool
    Number: int
    Real: float
    Blob: bytes
    At: datetime
    Day: date
    Span: timedelta
    Exact: Decimal
    Rank: Grade
    Level: Floor
    Home: Address
    Homes: list[Address | None]
    Pair: tuple[int, Decimal]
    Many: tuple[UUID, ...]
    Named: dict[str, datetime]
    Anything: dict  # type: ignore[type-arg]
    Perhaps: Decimal | None
    PerhapsHome: Address | None
    Large: Int64
    Moment: Ticks


def raw_of(storage: Any, table: str) -> Any:
    """Return the rows of a table, as written by any program."""
    return EntitySet(storage, table, Key("{PartitionKey}", "{RowKey}"))
