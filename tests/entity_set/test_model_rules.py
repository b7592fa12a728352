"""What the class of a model rejects is never written, by any call; and reads have a way around what does not fit it."""

from __future__ import annotations

import dataclasses
import enum
import logging
from collections.abc import Callable
from datetime import datetime, timezone
from inspect import signature
from typing import Annotated, Any
from uuid import UUID

import attrs
import pydantic
import pytest

from support import table_states
from tablepatterns import (
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
    QueryClass,
    Rekey,
    Summary,
    WideEntity,
    connect,
    prop,
)
from tablepatterns.entity_set.calls import SetCalls
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    BadProperty,
    TablePatternsError,
    UnrecognizedEntity,
)
from tablepatterns.jobs import backfill, migrate, repair, verify

KEY = Key("{room}", "{hour:04d}")
KEYS = {"room": "red", "hour": 9}
AT = datetime(2026, 7, 31, tzinfo=timezone.utc)


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


class Calls:
    """Each call that writes a room's booking with 500 seats, where 100 are allowed."""

    def __init__(self, bookings: Any) -> None:
        self.bookings = bookings
        self.kind = bookings._layer.adapter.model.model_class

    def stored(self) -> Any:
        return self.bookings.get(KEYS)

    def bad(self, **fields: Any) -> Any:
        return spoiled(made(self.kind, **fields))

    def commit(self, *writes: Any) -> None:
        EntityGroupTransaction(self.bookings.account, self.bookings.table.name).commit(*writes)

    def insert(self) -> None:
        self.bookings.insert(self.bad(hour=10))

    def append(self) -> None:
        self.bookings.append(self.bad(hour=10))

    def replace(self) -> None:
        self.bookings.replace(spoiled(self.stored()))

    def replace_by_force(self) -> None:
        self.bookings.replace(self.bad(), force=True)

    def replace_by_etag(self) -> None:
        self.bookings.replace(self.bad(), etag=self.bookings.without_model().get(KEYS).etag)

    def merge(self) -> None:
        self.bookings.merge(self.stored(), {"seats": 500})

    def merge_by_force(self) -> None:
        self.bookings.merge(made(self.kind), {"seats": 500}, force=True)

    def merge_by_etag(self) -> None:
        self.bookings.merge(made(self.kind), {"seats": 500}, etag=self.bookings.without_model().get(KEYS).etag)

    def merge_of_what_does_not_fit_the_rest(self) -> None:
        self.bookings.merge(self.stored(), {"limit": 0})

    def insert_or_replace(self) -> None:
        self.bookings.insert_or_replace(self.bad())

    def insert_or_replace_a_new_one(self) -> None:
        self.bookings.insert_or_replace(self.bad(hour=10))

    def insert_or_merge(self) -> None:
        self.bookings.insert_or_merge(self.bad())

    def insert_or_merge_a_new_one(self) -> None:
        self.bookings.insert_or_merge(self.bad(hour=10))

    def update(self) -> None:
        self.bookings.update(self.stored(), seats=500)

    def update_by_function(self) -> None:
        self.bookings.update(lambda each: spoiled(each), KEYS)

    def rename(self) -> None:
        self.bookings.rename(self.stored(), hour=13)

    def rename_with_changes(self) -> None:
        self.bookings.rename(spoiled(self.stored()), hour=10)

    def inserting(self) -> None:
        self.commit(self.bookings.inserting(self.bad(hour=10)))

    def replacing(self) -> None:
        self.commit(self.bookings.replacing(spoiled(self.stored())))

    def merging(self) -> None:
        self.commit(self.bookings.merging(self.stored(), {"seats": 500}))

    def renaming(self) -> None:
        self.commit(*self.bookings.renaming(self.stored(), {"hour": 13}))

    def load(self) -> None:
        from tablepatterns import BulkLoad

        BulkLoad(self.bookings).load([self.bad(hour=10)])


HELPERS = {"stored", "bad", "commit"}
CALLS = [name for name in vars(Calls) if not name.startswith("_") and name not in HELPERS]
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
    assert writing - set(CALLS) == {"delete", "deleting"}


def has_call(name: str, call: str) -> bool:
    if call == "append":
        return False
    if name == "wide" and "etag" in call:
        return False
    return name not in ("wide", "rekey") or not call.startswith(("load", "renam", "inserting", "replacing", "merging"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "call"), [(name, call) for name in SETS for call in CALLS if has_call(name, call)])
def test_what_the_class_rejects_is_not_written(call: str, name: str, kind: Any) -> None:
    storage = connect()
    bookings: Any = SETS[name](storage, kind)
    bookings.insert(made(kind))
    before = table_states.everything_in(storage.engine.tables)
    with pytest.raises(TablePatternsError) as caught:
        getattr(Calls(bookings), call)()
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


# ------------------------------------------------------------------ reads of what does not fit


BY_SEATS = IntraPartitionIndex(Key("{room}", "seats_{seats:04d}_{hour:04d}"))
LISTED = IndexEntity("limit", key=Key("{room}", "limit_{limit:04d}"))


def spoil(bookings: Any, hours: list[int]) -> None:
    for hour in hours:
        bookings.without_model().update(lambda each: {**each, "seats": 500}, room="red", hour=hour)


def bookings_with(on_unrecognized: Any, *, bad: list[int]) -> Any:
    bookings: Any = EntitySet(
        connect(), "Bookings", KEY, model=OfPydantic, derived=[BY_SEATS, LISTED], on_unrecognized=on_unrecognized
    )
    for hour in range(6):
        bookings.insert(made(OfPydantic, hour=hour))
    spoil(bookings, bad)
    return bookings


READS: dict[str, Callable[[Any], Any]] = {
    "get": lambda on: [on.get(room="red", hour=0)],
    "get_many": lambda on: on.get_many([{"room": "red", "hour": hour} for hour in range(6)]),
    "find": lambda on: [on.find(BY_SEATS, room="red", seats=500, hour=0)],
    "range": lambda on: list(on.range(room="red")),
    "range of an index": lambda on: list(on.range(BY_SEATS, room="red")),
    "page": lambda on: on.page(room="red").items,
    "take": lambda on: on.take(6, room="red"),
    "query": lambda on: list(on.query(prop("PartitionKey") == "red", allow=QueryClass.PARTITION_SCAN)),
    "scan": lambda on: list(on.scan()),
    "find_all": lambda on: on.find_all(LISTED, room="red", limit=100),
}


@pytest.mark.parametrize("name", READS)
def test_reads_raise_skip_or_report_what_does_not_fit(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UnrecognizedEntity, match="seats"):
        READS[name](bookings_with("raise", bad=[0, 3]))
    with caplog.at_level(logging.WARNING, "tablepatterns"):
        read = READS[name](bookings_with("skip", bad=[0, 3]))
    hours = [each.hour for each in read if each is not None]
    assert hours == ([] if name in ("get", "find") else [1, 2, 4, 5])
    if name == "get_many":
        assert [each is None for each in read] == [True, False, False, True, False, False]
    # A command that ran in this process before lets the package log more
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == (1 if name in ("get", "find") else 2)
    reported: list[UnrecognizedEntity] = []
    assert READS[name](bookings_with(reported.append, bad=[0, 3])) == read
    assert reported[0].key is not None
    assert [each.key[1] for each in reported if each.key][:1] == (
        ["seats_0500_0000"] if name in ("find", "range of an index") else ["0000"]
    )


@pytest.mark.parametrize("bad", [[0], [0, 1, 2], [1, 3, 5], list(range(6))])
def test_take_reads_on_behind_what_it_skips_and_reports_it_once(bad: list[int]) -> None:
    reported: list[UnrecognizedEntity] = []
    bookings = bookings_with(reported.append, bad=bad)
    good = [hour for hour in range(6) if hour not in bad]
    assert [each.hour for each in bookings.take(2, room="red")] == good[:2]
    assert len({each.key for each in reported}) == len(reported)


def test_the_newest_entries_of_logs_are_not_fewer() -> None:
    log: Any = LogTail(connect(), "Log", "{room}", at="at", entry="entry", model=OfDataclass, on_unrecognized="skip")
    for room in ("red", "blue"):
        for hour in range(4):
            log.append(OfDataclass(room, hour, at=AT.replace(hour=hour)))
    for room in ("red", "blue"):
        for entity in [each for each in log.without_model().range(room=room) if each["hour"] in (3, 2)]:
            log.without_model().merge(entity, {"seats": 500})
    assert [each.hour for each in log.latest(2, room="red")] == [1, 0]
    both = log.latest_of_each(2, [{"room": "red"}, {"room": "blue"}])
    assert [[each.hour for each in one] for one in both] == [[1, 0], [1, 0]]
    assert log.latest_of_each(2, []) == []
    assert [each.hour for each in log.between(AT, None, room="red")] == [1, 0]


def test_what_does_not_fit_can_be_replaced_and_verified() -> None:
    bookings = bookings_with("skip", bad=[0])
    assert verify(bookings, BY_SEATS).drifts == ()
    assert migrate(bookings).rewritten == 0
    bookings.insert_or_replace(made(OfPydantic, hour=0, seats=5))
    assert bookings.get(room="red", hour=0).seats == 5
    bookings.without_model().update(lambda each: {**each, "seats": 500}, room="red", hour=0)
    assert bookings.update(made(OfPydantic, hour=0), seats=7).seats == 7
    with pytest.raises(TypeError):
        bookings.update(lambda each: 1 + "", room="red", hour=1)  # type: ignore[operator]


def test_wide_entities_and_children_skip_too() -> None:
    storage = connect()
    wide: Any = WideEntity(storage, "Wide", KEY, model=OfDataclass, on_unrecognized="skip")
    wide.insert(made(OfDataclass))
    wide.without_model().update(lambda each: {**each, "seats": 500}, KEYS)
    assert wide.get(KEYS) is None
    parent = Key("{room}", "{hour:04d}")
    children: Any = ChildSet(storage, "Children", parent, "_{limit:04d}", model=OfDataclass, on_unrecognized="skip")
    for limit in (10, 20):
        children.insert(made(OfDataclass, limit=limit))
    children.without_model().update(lambda each: {**each, "seats": 500}, {**KEYS, "limit": 10})
    assert [each.limit for each in children.children(KEYS)] == [20]
    assert [each.limit for each in children.family(KEYS)[1]] == [20]


def test_only_a_set_with_a_model_has_something_to_skip() -> None:
    with pytest.raises(BadDesign, match="no model"):
        EntitySet(connect(), "Bookings", KEY, on_unrecognized="skip")
    with pytest.raises(BadDesign, match="on_unrecognized"):
        EntitySet(connect(), "Bookings", KEY, model=OfDataclass, on_unrecognized="ignore")  # type: ignore[arg-type]


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
