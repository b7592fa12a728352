"""What takes a set with a model takes its instances, and returns them; a large value that stays is not sent again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from io import BytesIO
from typing import Annotated, Any

import pydantic
import pytest

from tablepatterns import (
    Archive,
    BlobArchive,
    BulkLoad,
    EntityGroupTransaction,
    EntitySet,
    IntraPartitionIndex,
    Key,
    Large,
    LargeProperties,
    LargePropertyStore,
    PartitionMove,
    PartitionSpread,
    Period,
    PeriodTables,
    SharedFields,
    Upload,
    WideEntity,
    Worker,
)
from tablepatterns.errors import BadInput, BadProperty, LoadInterrupted

KEY = Key("{room}", "{day:%Y-%m-%d}")
DAY = date(2026, 7, 31)
PHOTO = bytes(range(256)) * 1000


@dataclass
class Booking:
    room: str
    day: date
    guest: str = ""
    photo: Annotated[bytes | None, Large()] = None

    def __post_init__(self) -> None:
        if self.guest == "nobody":
            raise ValueError("nobody books")


class Room(pydantic.BaseModel):
    room: str
    day: date
    photo: Annotated[bytes, Large(), pydantic.Field(max_length=1_000_000)] = b""
    guest: str = ""


@pytest.fixture
def bookings(storage: Any, table_name: str) -> Any:
    return EntitySet(storage, table_name, KEY, model=Booking)


def uploads_in(span: Any) -> int:
    return sum(count for name, count in span.totals.by_operation.items() if name in ("PutBlob", "PutBlock"))


async def test_a_load_takes_instances(bookings: Any) -> None:
    some = [Booking("red", date(2026, 7, number + 1)) for number in range(5)]
    assert (await BulkLoad(bookings).load(iter(some))).entities == 5
    assert [each async for each in bookings.range(room="red")] == some
    bad = replace(some[0], day=date(2027, 1, 1))
    bad.guest = "nobody"
    with pytest.raises(LoadInterrupted) as caught:
        await BulkLoad(bookings).load([replace(some[0], day=date(2026, 9, 9)), bad])
    assert caught.value.position == 1
    assert isinstance(caught.value.__cause__, BadProperty)
    with pytest.raises(LoadInterrupted):
        await BulkLoad(bookings).load([date(2026, 1, 1)])


async def test_an_archive_takes_instances_and_returns_them(storage: Any, new_name: Any) -> None:
    for target in (
        EntitySet(storage, new_name(), KEY),
        EntitySet(storage, new_name(), KEY, model=Plain),
        BlobArchive(storage, new_name().lower()),
    ):
        rooms: Any = EntitySet(storage, new_name(), KEY, model=Plain)
        archive = Archive(rooms, target)
        plain = await rooms.insert(Plain("red", DAY, "Ann"))
        await archive.archive(plain)
        await Worker(storage, [archive]).run_once()
        assert await rooms.get(room="red", day=DAY) is None
        archived = await archive.get(room="red", day=DAY)
        assert archived == plain
        await archive.restore(archived)
        await Worker(storage, [archive]).run_once()
        assert await rooms.get(room="red", day=DAY) == plain


@dataclass
class Plain:
    room: str
    day: date
    guest: str = ""


async def test_a_move_takes_an_instance_and_returns_it(storage: Any, bookings: Any) -> None:
    booking = await bookings.insert(Booking("red", DAY, "Ann", PHOTO))
    move = PartitionMove(bookings)
    booking.guest = "nobody"
    with pytest.raises(BadProperty, match="nobody books"):
        await move.move(booking, room="blue")
    booking.guest = "Bob"
    moved = await move.move(booking, room="blue")
    assert moved == Booking("blue", DAY, "Bob", PHOTO)
    moved.guest = "Cy"
    assert await bookings.replace(moved) is moved
    with pytest.raises(BadInput, match="not read from this set"):
        await move.move(Booking("blue", DAY), room="red")
    with pytest.raises(BadInput, match="not Plain"):
        await move.move(Plain("blue", DAY), room="red")
    entities = bookings.without_model()
    again = await PartitionMove(entities).move(await entities.get(room="blue", day=DAY), room="red")
    assert again["guest"] == "Cy"
    with pytest.raises(BadInput, match="must be an entity"):
        await PartitionMove(entities).move(moved, room="red")


async def test_a_large_value_of_an_instance_is_read_and_uploaded_in_pieces(bookings: Any, engine: Any) -> None:
    values = LargePropertyStore(bookings)
    booking = await bookings.insert(Booking("red", DAY, photo=Upload(BytesIO(PHOTO))))  # type: ignore[arg-type]
    assert b"".join([piece async for piece in values.open(booking, "photo")]) == PHOTO
    assert (await bookings.get(room="red", day=DAY)).photo == PHOTO
    booking = await bookings.merge(booking, {"photo": Upload(BytesIO(PHOTO[1:]))})
    assert (await bookings.get(room="red", day=DAY)).photo == PHOTO[1:]
    booking = await bookings.update(booking, photo=Upload(BytesIO(PHOTO[2:])))
    assert (await bookings.get(room="red", day=DAY)).photo == PHOTO[2:]
    with pytest.raises(BadProperty, match="the field must be str"):
        await bookings.update(booking, guest=Upload(BytesIO(b"x")))


async def test_a_class_of_pydantic_takes_an_upload(storage: Any, table_name: str) -> None:
    rooms = EntitySet(storage, table_name, KEY, model=Room)
    room = await rooms.insert(Room(room="red", day=DAY))
    await rooms.merge(room, {"photo": Upload(BytesIO(PHOTO))})
    assert (await rooms.get(room="red", day=DAY)).photo == PHOTO


async def test_a_transaction_returns_instances(storage: Any, bookings: Any) -> None:
    first, second, third = [await bookings.insert(Booking("red", date(2026, 7, day))) for day in (1, 2, 3)]
    new, first.guest = Booking("red", DAY), "Ann"
    changes = [
        bookings.inserting(new),
        bookings.replacing(first),
        bookings.merging(second, {"guest": "Bob"}),
        bookings.deleting(third),
    ]
    returned = await EntityGroupTransaction(storage, bookings.table.name).commit(*changes)
    assert returned == [new, first, replace(second, guest="Bob"), third]
    assert returned[0] is new
    new.guest = "Cy"
    await bookings.replace(new)
    renamed = await EntityGroupTransaction(storage, bookings.table.name).commit(
        *bookings.renaming(new, {"day": date(2026, 8, 1)})
    )
    assert renamed[1] == Booking("red", date(2026, 8, 1), "Cy")
    entities = await EntityGroupTransaction(storage, bookings.table.name).commit(
        bookings.without_model().inserting({"room": "red", "day": DAY})
    )
    assert entities == [{"room": "red", "day": DAY}]


# ------------------------------------------------------------------ large values that stay

SETS: dict[str, Callable[[Any, str], Any]] = {
    "set": lambda on, name: EntitySet(on, name, KEY, model=Booking),
    "set with an index": lambda on, name: EntitySet(
        on, name, KEY, model=Booking, derived=[IntraPartitionIndex(Key("{room}", "guest_{guest}_{day:%Y-%m-%d}"))]
    ),
    "wide": lambda on, name: WideEntity(on, name, KEY, model=Booking),
}


@pytest.mark.parametrize("name", SETS)
async def test_a_large_value_that_stays_is_not_uploaded_again(
    name: str, storage: Any, table_name: str, engine: Any
) -> None:
    bookings = SETS[name](storage, table_name)
    entities = bookings.without_model()
    booking = await bookings.insert(Booking("red", DAY, "a", PHOTO))

    async def uploads(call: Callable[[], Any]) -> int:
        with engine.ledger.span() as span:
            await call()
        assert (await bookings.get(room="red", day=DAY)).photo is not None
        return uploads_in(span)

    def changed(entity: Any) -> None:
        entity["guest"] = "d"

    async def replaced() -> None:
        booking.guest = "b"
        await bookings.replace(booking)

    async def read_and_replaced() -> None:
        read = await bookings.get(room="red", day=DAY)
        read.guest, read.photo = "c", bytes(bytearray(PHOTO))
        await bookings.replace(read)

    async def replaced_entity() -> None:
        entity = await entities.get(room="red", day=DAY)
        entity["guest"] = "f"
        entity = await entities.replace(entity)
        entity["guest"] = "g"
        await entities.replace(entity)

    assert await uploads(replaced) == 0
    assert await uploads(read_and_replaced) == 0
    assert await uploads(lambda: bookings.update(booking, guest="e")) == 0
    assert await uploads(lambda: bookings.update(lambda each: replace(each, guest="x"), room="red", day=DAY)) == 0
    assert await uploads(lambda: entities.update(changed, room="red", day=DAY)) == 0
    assert await uploads(replaced_entity) == 0
    if name != "wide":
        assert await uploads(lambda: bookings.insert_or_replace(Booking("red", DAY, "y", PHOTO))) == 0
    current = await bookings.get(room="red", day=DAY)
    current.photo = PHOTO[1:]
    assert await uploads(lambda: bookings.replace(current)) == 1
    assert (await bookings.get(room="red", day=DAY)).photo == PHOTO[1:]
    values = LargePropertyStore(bookings)
    assert (await values.verify()).missing == ()


async def test_the_address_of_another_entity_is_not_kept(storage: Any, table_name: str) -> None:
    large = LargeProperties(["photo"], container=table_name.lower())
    entities = EntitySet(storage, table_name, KEY, mappings=[large])
    first = await entities.insert({"room": "red", "day": DAY, "photo": PHOTO})
    renamed = await entities.rename(first, day=date(2026, 8, 1))
    assert (await entities.get(room="red", day=date(2026, 8, 1)))["photo"] == PHOTO
    assert (await LargePropertyStore(entities).verify()).foreign == ()
    await entities.replace(renamed)


@dataclass
class Seat:
    room: str
    day: date
    seats: int = 1
    bucket: int = 0

    def __post_init__(self) -> None:
        if self.seats > 100:
            raise ValueError("a room has 100 seats")


async def test_recipes_that_take_mappings_reject_what_the_class_rejects(storage: Any, new_name: Any) -> None:
    seats: Any = EntitySet(storage, new_name(), KEY, model=Seat)
    await seats.insert(Seat("red", DAY))
    with pytest.raises(BadProperty, match="100 seats"):
        await SharedFields(seats, ["seats"]).change({"seats": 500}, room="red")
    assert (await SharedFields(seats, ["seats"]).change({"seats": 50}, room="red")).written == 1
    with pytest.raises(LoadInterrupted) as caught:
        await BulkLoad(seats).load([{"room": "red", "day": date(2026, 1, 1), "seats": 500}])
    assert caught.value.position == 0
    spread = PartitionSpread(
        storage,
        new_name(),
        Key("{room}", "{day:%Y-%m-%d}"),
        by=["day"],
        bucket="bucket",
        factory=lambda on, table, key: EntitySet(on, table, key, model=Seat),
    )
    seat = Seat(room="red", day=DAY, seats=5, bucket=0)
    seat.seats = 500
    with pytest.raises(BadProperty, match="100 seats"):
        await spread.insert(seat)
    seat.seats = 5
    assert (await spread.insert(seat)).seats == 5

    def logins(on: Any, name: str) -> Any:
        return EntitySet(on, name, Key("{room}", "{at:ticks}"), model=Login)

    tables: Any = PeriodTables(storage, new_name() + "x", Period.DAY, at="at", factory=logins)
    with pytest.raises(BadProperty, match="too long"):
        await tables.insert({"room": "red", "at": AT, "city": "R" * 101})
    await tables.insert({"room": "red", "at": AT, "city": "Rome"})
    assert (await seats.get(room="red", day=DAY)).seats == 50


AT = datetime(2026, 7, 31, 12, tzinfo=timezone.utc)


@dataclass
class Login:
    room: str
    at: datetime
    city: str = ""

    def __post_init__(self) -> None:
        if len(self.city) > 100:
            raise ValueError("too long")
