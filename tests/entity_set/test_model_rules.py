"""What the class of a model rejects is never written, by any call."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from datetime import datetime
from inspect import signature
from typing import Annotated, Any
from uuid import UUID

import attrs
import pydantic
import pytest

from support import table_states
from tablepatterns import (
    BulkLoad,
    ChildSet,
    Encrypted,
    EncryptedProperties,
    EntityGroupTransaction,
    EntitySet,
    IndexEntity,
    InTable,
    IntraPartitionIndex,
    Key,
    LocalKey,
    LogTail,
    OneOf,
    Rekey,
    Summary,
    WideEntity,
    connect,
)
from tablepatterns.entity_set.calls import SetCalls
from tablepatterns.errors import BadDesign, BadInput, BadProperty, TablePatternsError, UnrecognizedEntity
from tablepatterns.jobs import backfill, migrate, repair, verify

KEY = Key("{room}", "{hour:04d}")
KEYS = {"room": "red", "hour": 9}


@dataclasses.dataclass
class OfDataclass:
    room: str
    hour: int
    seats: int = 1
    limit: int = 100
    at: datetime | None = None
    entry: UUID | None = None

    def __post_init__(self) -> None:
        assert self.seats <= self.limit, "more seats than the limit"
        if self.hour == 13:
            raise KeyError("no meeting at 13")


class OfPydantic(pydantic.BaseModel):
    room: str
    hour: int
    seats: int = pydantic.Field(1, le=100)
    limit: int = 100
    at: datetime | None = None
    entry: UUID | None = None

    @pydantic.model_validator(mode="after")
    def check(self) -> OfPydantic:
        if self.seats > self.limit or self.hour == 13:
            raise ValueError("more seats than the limit")
        return self


def _even(instance: Any, attribute: Any, value: int) -> None:
    if value > instance.limit:
        raise RuntimeError("more seats than the limit")


@attrs.mutable(on_setattr=[])
class OfAttrs:
    room: str
    hour: int = attrs.field(validator=attrs.validators.not_(attrs.validators.in_([13])))
    limit: int = attrs.field(default=100, kw_only=True)
    seats: int = attrs.field(default=1, validator=_even)
    at: datetime | None = None
    entry: UUID | None = None


KINDS = [OfDataclass, OfPydantic, OfAttrs]


def made(kind: Any, **fields: Any) -> Any:
    return kind(**{**KEYS, **fields})


def spoiled(instance: Any, **fields: Any) -> Any:
    """Change an instance after its class has checked it."""
    for name, value in (fields or {"seats": 500}).items():
        object.__setattr__(instance, name, value)
    return instance


@dataclasses.dataclass
class Spoiled:
    """A set with one booking, and bookings of 500 seats, where 100 are allowed."""

    bookings: Any

    @property
    def stored(self) -> Any:
        return self.bookings.get(KEYS)

    @property
    def etag(self) -> Any:
        return self.bookings.without_model().get(KEYS).etag

    def one(self, **fields: Any) -> Any:
        return made(self.bookings._layer.adapter.model.model_class, **fields)

    def bad(self, **fields: Any) -> Any:
        return spoiled(self.one(**fields))

    def commit(self, *writes: Any) -> None:
        EntityGroupTransaction(self.bookings.account, self.bookings.table.name).commit(*writes)


# Each call that writes such a booking, with the bookings `on` and the one that is spoiled `of`
CALLS: dict[str, Callable[[Any, Spoiled], Any]] = {
    "insert": lambda on, of: on.insert(of.bad(hour=10)),
    "append": lambda on, of: on.append(of.bad(hour=10)),
    "replace": lambda on, of: on.replace(spoiled(of.stored)),
    "replace_by_force": lambda on, of: on.replace(of.bad(), force=True),
    "replace_by_etag": lambda on, of: on.replace(of.bad(), etag=of.etag),
    "merge": lambda on, of: on.merge(of.stored, {"seats": 500}),
    "merge_by_force": lambda on, of: on.merge(of.one(), {"seats": 500}, force=True),
    "merge_by_etag": lambda on, of: on.merge(of.one(), {"seats": 500}, etag=of.etag),
    "merge_of_what_does_not_fit_the_rest": lambda on, of: on.merge(of.stored, {"limit": 0}),
    "insert_or_replace": lambda on, of: on.insert_or_replace(of.bad()),
    "insert_or_replace_a_new_one": lambda on, of: on.insert_or_replace(of.bad(hour=10)),
    "insert_or_merge": lambda on, of: on.insert_or_merge(of.bad()),
    "insert_or_merge_a_new_one": lambda on, of: on.insert_or_merge(of.bad(hour=10)),
    "update": lambda on, of: on.update(of.stored, seats=500),
    "update_by_function": lambda on, of: on.update(spoiled, KEYS),
    "rename": lambda on, of: on.rename(of.stored, hour=13),
    "rename_with_changes": lambda on, of: on.rename(spoiled(of.stored), hour=10),
    "inserting": lambda on, of: of.commit(on.inserting(of.bad(hour=10))),
    "replacing": lambda on, of: of.commit(on.replacing(spoiled(of.stored))),
    "merging": lambda on, of: of.commit(on.merging(of.stored, {"seats": 500})),
    "renaming": lambda on, of: of.commit(*on.renaming(of.stored, {"hour": 13})),
    "load": lambda on, of: BulkLoad(on).load([of.bad(hour=10)]),
}
SETS: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda on, kind: EntitySet(on, "Bookings", KEY, model=kind),
    "set with totals": lambda on, kind: EntitySet(
        on, "Bookings", KEY, model=kind, derived=[Summary(Key("{room}", "sum"), sums={"seats": "Seats"})]
    ),
    "wide": lambda on, kind: WideEntity(on, "Bookings", KEY, model=kind),
    "rekey": lambda on, kind: (
        Rekey(
            EntitySet(on, "Bookings", KEY, model=kind), EntitySet(on, "New", Key("{hour:04d}", "{room}"), model=kind)
        ).entities
    ),
}


def test_every_call_that_writes_is_tested() -> None:
    calls = {name: getattr(SetCalls, name) for name in vars(SetCalls) if not name.startswith("_")}
    writing = {name for name, call in calls.items() if {"entity", "change"} & signature(call).parameters.keys()}
    assert writing - CALLS.keys() == {"delete", "deleting"}


def has_call(name: str, call: str) -> bool:
    if call == "append":
        return False
    if name == "wide" and "etag" in call:
        return False
    return name not in ("wide", "rekey") or not call.startswith(("load", "renam", "inserting", "replacing", "merging"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "call"), [(name, call) for name in SETS for call in CALLS if has_call(name, call)])
@pytest.mark.few(102)
def test_what_the_class_rejects_is_not_written(call: str, name: str, kind: Any) -> None:
    storage = connect()
    bookings: Any = SETS[name](storage, kind)
    bookings.insert(made(kind))
    before = table_states.everything_in(storage.engine.tables)
    with pytest.raises(TablePatternsError) as caught:
        CALLS[call](bookings, Spoiled(bookings))
    error: Any = caught.value.__cause__ if call == "load" else caught.value
    assert isinstance(error, BadProperty), error
    assert "rejects the fields" in str(error)
    assert table_states.everything_in(storage.engine.tables) == before
    assert bookings.get(KEYS).seats == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_log_and_children_reject_what_the_class_rejects(kind: Any) -> None:
    storage = connect()
    log: Any = LogTail(storage, "Log", "{room}", at="at", entry="entry", model=kind)
    children: Any = ChildSet(storage, "Bookings", Key("{room}", "{hour:04d}"), "_{limit:04d}", model=kind)
    for write in (log.append, children.insert):
        with storage.engine.ledger.span() as span, pytest.raises(BadProperty, match="rejects the fields"):
            write(spoiled(made(kind)))
        assert span.totals.requests == 0
    appended = log.append(made(kind))
    assert appended.at is not None
    assert log.latest(1, room="red") == [appended]


@pytest.mark.parametrize("kind", [OfDataclass, OfAttrs])
def test_a_set_of_several_classes_rejects_what_the_class_rejects(kind: Any) -> None:
    bookings = EntitySet(connect(), "Bookings", KEY, model=OneOf(kind))
    bookings.insert(made(kind))
    with pytest.raises(BadProperty, match="rejects the fields"):
        bookings.insert(spoiled(made(kind, hour=10)))
    with pytest.raises(BadProperty, match="rejects the fields"):
        bookings.replace(spoiled(made(kind)), force=True)


def test_the_error_has_the_message_of_the_class_and_no_secret() -> None:
    class Login(pydantic.BaseModel):
        user: str
        pin: Annotated[str, Encrypted(), pydantic.Field(max_length=4)]
        tries: int = pydantic.Field(0, le=3)

    storage = connect()
    mappings = [EncryptedProperties(keys=LocalKey.generate("1"))]
    logins = EntitySet(storage, "Logins", Key("{user}", ""), model=Login, mappings=mappings)
    jones = logins.insert(Login(user="jones", pin="1234"))
    for changes, text in (
        ({"pin": "hunter2"}, "rejects the fields;"),
        ({"tries": 4}, r"\(tries: Input should be less"),
    ):
        with pytest.raises(BadProperty, match=text) as caught:
            logins.update(jones, **changes)
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None
    plain: Any = EntitySet(storage, "Bookings", KEY, model=OfPydantic)
    with pytest.raises(BadProperty) as caught:
        plain.insert(spoiled(made(OfPydantic)))
    assert isinstance(caught.value.__cause__, pydantic.ValidationError)
    assert "seats: Input should be less than or equal to 100" in str(caught.value)


def test_what_the_class_converts_is_stored_as_it_is_read() -> None:
    @attrs.mutable(on_setattr=[])
    class Guest:
        room: str
        name: str = attrs.field(converter=str.strip)

    storage = connect()
    guests: Any = EntitySet(storage, "Guests", Key("{room}", "guest"), model=Guest)
    guest = guests.insert(spoiled(Guest("red", "x"), name="  Ann "))
    assert guest.name == "Ann"
    assert guests.update(guest, name=" Bob ").name == "Bob"
    assert guests.merge(guests.get(room="red"), {"name": " Cy "}).name == "Cy"
    assert guests.without_model().get(room="red")["name"] == "Cy"

    @dataclasses.dataclass
    class Salary:
        room: str
        amount: int

        def __post_init__(self) -> None:
            self.amount += 100

    salaries = EntitySet(storage, "Salaries", Key("{room}", "salary"), model=Salary)
    with pytest.raises(BadProperty, match=r"Salary.amount .* changes the field whenever"):
        salaries.insert(Salary("red", 1))


# ------------------------------------------------------------------ classes


@dataclasses.dataclass
class MoreOfDataclass(OfDataclass):
    note: str = ""


class MoreOfPydantic(OfPydantic):
    note: str = ""


@attrs.define
class MoreOfAttrs(OfAttrs):
    note: str = ""


@pytest.mark.parametrize(
    ("kind", "more"), [(OfDataclass, MoreOfDataclass), (OfPydantic, MoreOfPydantic), (OfAttrs, MoreOfAttrs)]
)
def test_an_instance_of_a_subclass_is_rejected(kind: Any, more: Any) -> None:
    bookings: Any = EntitySet(storage := connect(), "Bookings", KEY, model=kind)
    first = bookings.insert(made(kind))
    new = more(**KEYS, note="lost")
    calls: list[Callable[[], Any]] = [
        lambda: bookings.insert(new),
        lambda: bookings.insert_or_replace(new),
        lambda: bookings.insert_or_merge(new),
        lambda: bookings.replace(new, force=True),
        lambda: bookings.merge(new, {"seats": 2}, force=True),
        lambda: bookings.update(new, seats=2),
        lambda: bookings.update(lambda each: new, KEYS),
        lambda: bookings.inserting(new),
        lambda: bookings.entity_of(new),
    ]
    before = table_states.everything_in(storage.engine.tables)
    for call in calls:
        with pytest.raises(BadInput, match=f"{kind.__name__}, not {more.__name__}, whose own fields would be lost"):
            call()
    assert table_states.everything_in(storage.engine.tables) == before
    assert bookings.get(KEYS) == first


class Open(pydantic.BaseModel, extra="allow"):
    room: str
    hour: int


class Outer(pydantic.BaseModel):
    room: str
    hour: int
    inner: Open


def test_a_class_of_pydantic_that_takes_undeclared_fields_is_rejected() -> None:
    for kind in (Open, Outer):
        with pytest.raises(BadDesign, match=r'Open.*extra="allow"'):
            EntitySet(connect(), "Bookings", KEY, model=kind)


def test_an_init_var_is_rejected() -> None:
    @dataclasses.dataclass
    class Booking:
        room: str
        hour: int
        scale: dataclasses.InitVar[int]

    with pytest.raises(BadDesign, match=r"Booking\.scale.*InitVar"):
        EntitySet(connect(), "Bookings", KEY, model=Booking)


def nothing(fields: dict[str, Any]) -> Any:
    fields["seats"] = 1


def failing(fields: dict[str, Any]) -> Any:
    raise KeyError("seets")


def later(fields: dict[str, Any]) -> Any:
    async def upgraded() -> dict[str, Any]:
        return fields

    return upgraded()


@pytest.mark.parametrize(
    ("upgrade", "text"),
    [(nothing, "returned NoneType"), (failing, "raised KeyError .*seets"), (later, "returned coroutine")],
)
def test_an_upgrade_that_fails_names_table_entity_and_version(upgrade: Any, text: str) -> None:
    storage = connect()
    EntitySet(storage, "Bookings", KEY).insert({**KEYS, "seats": 1})
    bookings: Any = EntitySet(storage, "Bookings", KEY, model=OfDataclass, versions=[(1, upgrade)])
    changed = made(OfDataclass)
    calls = (lambda: bookings.get(KEYS), lambda: bookings.update(changed, seats=2), lambda: migrate(bookings))
    for call in calls:
        with pytest.raises(UnrecognizedEntity, match=text) as caught:
            call()
        for part in ("OfDataclass from version 1 to 2", "('red', '0009')", "table Bookings"):
            assert part in str(caught.value)
    skipping: Any = EntitySet(
        storage, "Bookings", KEY, model=OfDataclass, versions=[(1, upgrade)], on_unrecognized="skip"
    )
    assert list(skipping.range(room="red")) == []


BY_SEATS = IntraPartitionIndex(Key("{room}", "seats_{seats:04d}_{hour:04d}"))


@pytest.mark.parametrize("derived", [BY_SEATS, IndexEntity("seats", key=Key("{room}", "limit_{seats:04d}"))])
def test_what_nothing_can_be_derived_from_does_not_stop_the_jobs(derived: Any) -> None:
    reported: list[UnrecognizedEntity] = []
    for on_unrecognized in ("raise", reported.append):
        storage = connect()
        bookings: Any = EntitySet(
            storage, "Bookings", KEY, model=OfDataclass, derived=[derived], on_unrecognized=on_unrecognized
        )
        bookings.insert(made(OfDataclass))
        foreign = {"PartitionKey": "red", "RowKey": "0007", "seats": "many"}
        storage.tables.get_table_client("Bookings").create_entity(foreign)
        for job in (verify, repair, backfill):
            if on_unrecognized == "raise":
                with pytest.raises(UnrecognizedEntity, match=r"\('red', '0007'\).*seats = 'many'"):
                    job(bookings, derived)
            else:
                job(bookings, derived)
        if on_unrecognized != "raise":
            assert verify(bookings, derived).entities == 1
    assert {each.key for each in reported} == {("red", "0007")}


class Wing(enum.Enum):
    EAST = "east"


@dataclasses.dataclass
class Placed:
    wing: Wing
    hour: int
    seats: int = 1


def test_keys_that_do_not_fit_the_model_are_skipped_too() -> None:
    listed = IndexEntity("seats", key=Key("seats_{seats:04d}", "list"), store=InTable("Lists"))
    reported: list[UnrecognizedEntity] = []
    for on_unrecognized in ("raise", reported.append):
        storage, key = connect(), Key("{wing}", "{hour:04d}")
        EntitySet(storage, "Bookings", key, derived=[listed]).insert({"wing": "north", "hour": 1, "seats": 1})
        rooms: Any = EntitySet(
            storage, "Bookings", key, model=Placed, derived=[listed], on_unrecognized=on_unrecognized
        )
        east = rooms.insert(Placed(Wing.EAST, 2))
        for read in (rooms.keys_of, rooms.find_all):
            if on_unrecognized == "raise":
                with pytest.raises(UnrecognizedEntity, match="north"):
                    read(listed, seats=1)
            else:
                assert read(listed, seats=1) in ([{"wing": Wing.EAST, "hour": 2}], [east])
    assert len(reported) == 2
