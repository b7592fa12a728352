"""The guide's departments, employees and persons as classes: plain, frozen, with slots, derived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from tablepatterns import EntitySet, Key
from tablepatterns.recipes.entity_types.entity_type import EntityType
from tablepatterns.recipes.entity_types.entity_types import EntityTypes

ID = {"Department": "Sales", "EmployeeId": 223}


class Grade(Enum):
    """Text for a value."""

    JUNIOR = "junior"
    SENIOR = "senior"


class Floor(Enum):
    """A number for a value."""

    GROUND = 0
    FIRST = 1


@dataclass(frozen=True, slots=True)
class Department:
    """Attributes cannot be added to it, so its ETag must be stored separately."""

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


def departments_of(storage: Any, table: str, **options: Any) -> Any:
    return EntitySet(storage, table, Key("{Department}", "DEPARTMENT"), **options)


def employees_of(storage: Any, table: str, **options: Any) -> Any:
    return EntitySet(storage, table, Key("{Department}", "EMPLOYEE_{EmployeeId:06d}"), **options)


def staff_of(storage: Any, table: str, *, derived: Any = (), mappings: Any = (), **options: Any) -> Any:
    """Return departments and employees in one table, each with its own prefix."""
    return EntityTypes(
        EntityType(Department, departments_of(storage, table)),
        EntityType(Employee, employees_of(storage, table, derived=derived, mappings=mappings)),
        **options,
    )


def persons_of(storage: Any, table: str, **options: Any) -> Any:
    """Return customers and workers whose keys have the same form."""
    rows = EntitySet(storage, table, Key("person", "{PersonId:06d}"))
    return EntityTypes(EntityType(Customer, rows), EntityType(Worker, rows), **options)


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


def raw_of(storage: Any, table: str) -> Any:
    """Return the rows of a table, as written by any program."""
    return EntitySet(storage, table, Key("{PartitionKey}", "{RowKey}"))


async def values(stream: Any) -> list[Any]:
    """Return the values that a stream yields."""
    return [held.value async for held in stream]
