"""Keys as instances of a class, and filters as functions of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from tablepatterns import EntitySet, IntraPartitionIndex, Key, QueryClass, connect
from tablepatterns.errors import BadDesign, BadFilter, BadInput, BadKey
from tablepatterns_engine import Engine


@dataclass
class Booking:
    room: str
    hour: int
    customer: str
    seats: int = 1


class BookingKey(NamedTuple):
    room: str
    hour: int


@dataclass(frozen=True)
class CustomerKey:
    room: str
    customer: str


BY_CUSTOMER = IntraPartitionIndex(Key("{room}", "customer_{customer}", CustomerKey))
KEY = Key("{room}", "hour_{hour:02d}", BookingKey)
ANN, BOB = Booking("red", 9, "ann", 5), Booking("red", 10, "bob")


async def bookings_of(storage: Any, table: str) -> Any:
    bookings = EntitySet(storage, table, KEY, model=Booking, derived=[BY_CUSTOMER])
    for booking in (ANN, BOB):
        await bookings.insert(Booking(**vars(booking)))
    return bookings


async def test_calls_take_the_class_of_the_key(storage: Any, table_name: str) -> None:
    bookings = await bookings_of(storage, table_name)
    assert await bookings.get(BookingKey("red", 9)) == ANN
    assert await bookings.get_many([BookingKey("red", 10), BookingKey("red", 11)]) == [BOB, None]
    assert await bookings.find(BY_CUSTOMER, CustomerKey("red", "bob")) == BOB
    assert (await bookings.update(lambda booking: None, BookingKey("red", 9))) == ANN
    assert await bookings.without_model().get(BookingKey("red", 9)) == vars(ANN)


async def test_a_filter_is_a_function_of_the_model(storage: Any, table_name: str) -> None:
    bookings = await bookings_of(storage, table_name)
    scan = QueryClass.PARTITION_SCAN
    many = [item async for item in bookings.range(room="red", where=lambda booking: booking.seats > 3, allow=scan)]
    assert many == [ANN]
    both = bookings.query(lambda booking: (booking.room == "red") & (booking.hour >= 10))
    assert [item async for item in both] == [BOB]
    assert [item async for item in bookings.scan(lambda booking: booking.customer != "ann")] == [BOB]
    assert await bookings.take(1, room="red", where=lambda booking: booking.seats < 3, allow=scan) == [BOB]
    assert (await bookings.page(room="red", where=lambda booking: booking.seats < 3, allow=scan)).items == (BOB,)
    entities = bookings.without_model().range(room="red", where=lambda entity: entity["seats"] > 3, allow=scan)
    assert [entity["customer"] async for entity in entities] == ["ann"]


async def test_a_wrong_key_or_filter_makes_no_request(storage: Any, engine: Engine, table_name: str) -> None:
    bookings = await bookings_of(storage, table_name)
    with engine.ledger.span() as span:
        with pytest.raises(BadKey, match="customer"):
            await bookings.get(CustomerKey("red", "ann"))
        with pytest.raises(BadKey, match="hour"):
            await bookings.get(BookingKey("red", "9"))  # type: ignore[arg-type]
        with pytest.raises(BadKey, match="pass each field once"):
            await bookings.get(BookingKey("red", 9), hour=9)
        with pytest.raises(BadInput, match="as one mapping or as keywords, not as str"):
            await bookings.get("red")
        for where, rule in (
            (lambda booking: booking.seat > 3, "did you mean 'seats'"),
            (lambda booking: booking.seats > "3", "must be int"),
            (lambda booking: booking.seats, "it must be a condition, not Property"),
            (lambda booking: booking.seats > 3 and booking.customer == "ann", "&"),
            (lambda booking: True, "it must be a condition, not bool"),
        ):
            with pytest.raises(BadFilter, match=rule):
                await bookings.take(1, room="red", where=where, allow=QueryClass.PARTITION_SCAN)
    assert span.records == []


def test_the_class_of_a_key_has_its_fields() -> None:
    with pytest.raises(BadDesign, match="the templates have the fields room, hour"):
        Key("{room}", "hour_{hour:02d}", CustomerKey)
    with pytest.raises(BadDesign, match="the templates have the fields room, hour"):
        Key("{room}", "hour_{hour:02d}", str)
    assert EntitySet(connect(), "Bookings", KEY).get(BookingKey("red", 9)) is None
