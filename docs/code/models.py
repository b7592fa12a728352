"""Declare a model, read and write its instances, and upgrade earlier entities."""

import json
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import tablepatterns as tp
from tablepatterns import Encrypted, EntitySet, Key, Large, Stored, prop
from tablepatterns.errors import TablePatternsError, UnrecognizedEntity
from tablepatterns.jobs import migrate


# -- model
@dataclass
class Employee:
    department: str
    employee_id: int
    email: Annotated[str, Stored("Email")]
    hired: date
    salary: Annotated[Decimal, Encrypted()] = Decimal(0)
    photo: Annotated[bytes, Large()] = b""


# -- declare
def main(storage: tp.Storage) -> None:
    by_email = tp.IntraPartitionIndex(Key("{department}", "email_{email}"))
    employees = EntitySet(
        storage,
        "Employees",
        Key("{department}", "empid_{employee_id:06d}"),
        model=Employee,
        derived=[by_email],
        mappings=[tp.EncryptedProperties(keys=tp.LocalKey.generate("payroll-2026"))],
    )
    jones = Employee("Sales", 223, "jonesj@contoso.com", date(2024, 3, 1))
    employees.insert(jones)
    print(employees.get(department="Sales", employee_id=223))

    # -- unrecognized
    @dataclass
    class Booking:
        room: str
        hour: int
        seats: int

        def __post_init__(self) -> None:
            if self.seats > 100:
                raise ValueError("a room has 100 seats")

    skipped: list[UnrecognizedEntity] = []
    bookings = EntitySet(
        storage,
        "Bookings",
        Key("{room}", "{hour:02d}"),
        model=Booking,
        on_unrecognized=skipped.append,
    )
    booking = bookings.insert(Booking("red", 9, 12))
    try:
        bookings.update(booking, seats=500)
    except TablePatternsError as error:
        print(error)
    entities = bookings.without_model()
    entities.insert({"room": "red", "hour": 10, "seats": 500})
    print([each.hour for each in bookings.range(room="red")])
    print([each.key for each in skipped])
    # -- write
    jones.salary = Decimal("4200.50")
    employees.replace(jones)
    jones = employees.update(jones, email="jo@contoso.com")
    print(employees.find(by_email, department="Sales", email="jo@contoso.com"))
    # -- never_read
    stranger = replace(jones, salary=Decimal(1))
    try:
        employees.replace(stranger)
    except TablePatternsError as error:
        print(error)
    # -- filter
    recent = employees.range(
        department="Sales",
        where=prop("hired") >= date(2024, 1, 1),
        allow=tp.QueryClass.PARTITION_SCAN,
    )
    print([each.email for each in recent])
    misspelled = prop("hird") >= date(2024, 1, 1)
    try:
        list(employees.range(department="Sales", where=misspelled))
    except TablePatternsError as error:
        print(error)

    # -- typed
    class BookingKey(NamedTuple):
        room: str
        hour: int

    by_hour = Key("{room}", "{hour:02d}", BookingKey)
    typed = EntitySet(storage, "Bookings", by_hour, model=Booking)
    print(typed.get(BookingKey("red", 9)) == bookings.get(room="red", hour=9))
    fitting = typed.range(
        room="red",
        where=lambda booking: booking.seats <= 100,
        allow=tp.QueryClass.PARTITION_SCAN,
    )
    print([booking.hour for booking in fitting])

    # -- versions
    @dataclass
    class Review:
        department: str
        year: int
        rating: int

    key = Key("{department}", "review_{year:04d}")
    first = EntitySet(storage, "Reviews", key)
    first.insert({"department": "Sales", "year": 2014, "Stars": "4"})

    def one_to_two(fields: dict[str, Any]) -> dict[str, Any]:
        return fields | {"rating": json.loads(fields.pop("Stars"))}

    reviews = EntitySet(
        storage, "Reviews", key, model=Review, versions=[(1, one_to_two)]
    )
    print([review.rating for review in reviews.range(department="Sales")])
    print(migrate(reviews))
    print(sorted(first.get(department="Sales", year=2014).items()))
    # -- entities
    entity = employees.without_model().get(department="Sales", employee_id=223)
    print(sorted(entity))
    print(employees.instance_of(entity) == jones)
