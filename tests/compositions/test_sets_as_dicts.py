"""Random calls of every kind of set, compared with a dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from support.examples import examples
from tablepatterns import (
    ChildSet,
    EncryptedProperties,
    EntitySet,
    IndexEntity,
    InTable,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    LocalKey,
    PartitionSpread,
    Period,
    PeriodTables,
    QueryClass,
    Rekey,
    Summary,
    WideEntity,
    between,
    connect,
    prop,
)
from tablepatterns.errors import BadInput, EntityAlreadyExists, EntityChanged, EntityNotFound
from tablepatterns.jobs import verify

Fields: TypeAlias = dict[str, Any]
Make: TypeAlias = Callable[[Any], Any]

START = datetime(2024, 5, 1, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
KEY = Key("{Room}", "r_{At:ticks}_{Number:+04d}")
KEY_FIELDS = ("Room", "At", "Number")
KEYS = st.fixed_dictionaries(
    {
        "Room": st.sampled_from(["a", "b"]),
        "At": st.sampled_from([START, START + HOUR, START + timedelta(days=1)]),
        "Number": st.sampled_from([-1, 0, 7]),
    }
)
PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "Seats": st.sampled_from([-3, 0, 1, 2**31 - 1]),
        "Title": st.sampled_from(["", "x", "x_", "é", "/ #'"]),
        "Until": st.sampled_from([START, START + timedelta(microseconds=1)]),
        "Paid": st.booleans(),
        "Price": st.sampled_from([0.0, -1.5]),
        "Photo": st.sampled_from([b"", b"abc", b"0123456789"]),
        "Team": st.sampled_from(["", "red", "blue"]),
    },
)


@dataclass
class Booking:
    Room: str
    At: datetime
    Number: int
    Seats: int | None = None
    Title: str | None = None
    Until: datetime | None = None
    Paid: bool | None = None
    Price: float | None = None
    Photo: bytes | None = None
    Team: str | None = None


@dataclass
class SpreadBooking(Booking):
    Bucket: int = 0


BY_TITLE = IntraPartitionIndex(Key("{Room}", "t_{Title:escape}_{Number:+04d}_{At:ticks}"))
BY_TEAM = InterPartitionIndex(Key("team_{Team:escape}", "{Number:+04d}_{At:ticks}_{Room}"), name="team")
UNIQUE = InterPartitionIndex(
    Key("unique", "{Team:escape}_{Room}_{Number:+04d}_{At:ticks}"), unique=True, table="Unique"
)
BY_SEATS = IndexEntity("Seats", key=Key("{Room}", "s_{Seats:+011d}"))
TOTALS = Summary(Key("{Room}", "total"), sums={"Seats": "Sum"})
TOTALS_ELSEWHERE = Summary(Key("{Room}", "total"), sums={"Seats": "Sum"}, store=InTable("Totals"), name="elsewhere")
DERIVED = (BY_TITLE, BY_TEAM, UNIQUE, BY_SEATS, TOTALS, TOTALS_ELSEWHERE)


def encrypted() -> EncryptedProperties:
    return EncryptedProperties(["Price"], keys=LocalKey("key", bytes(32)))


def large() -> LargeProperties:
    return LargeProperties(["Photo"], container="photos", above=5)


def spread(storage: Any, model: type[Any] | None = None, **options: Any) -> Any:
    def make(account: Any, table: str, key: Key) -> Any:
        return EntitySet(account, table, key, model=model, **options)

    return PartitionSpread(storage, "Spread", KEY, buckets=3, factory=make)


def rekey(phase: str, model: type[Any] | None = None) -> Make:
    def make(storage: Any) -> Any:
        old = EntitySet(storage, "Old", KEY, model=model)
        new = EntitySet(storage, "New", Key("n_{Room}", "{At:ticks}_{Number:+04d}"), model=model)
        move = Rekey(old, new)
        if phase != "copying":
            move.copy()
            assert move.verify().is_clean
            move.cut_over()
        if phase == "committed":
            move.commit()
        return move.entities

    return make


SETS: Mapping[str, Make] = {
    "EntitySet": lambda on: EntitySet(on, "Bookings", KEY),
    "EntitySet, derived": lambda on: EntitySet(on, "Bookings", KEY, derived=DERIVED),
    "EntitySet, mapped": lambda on: EntitySet(on, "Bookings", KEY, mappings=[encrypted(), large()]),
    "EntitySet of a model": lambda on: EntitySet(on, "Bookings", KEY, model=Booking),
    "EntitySet of a model, derived and mapped": lambda on: EntitySet(
        on, "Bookings", KEY, model=Booking, derived=DERIVED, mappings=[encrypted(), large()]
    ),
    "ChildSet": lambda on: ChildSet(on, "Bookings", Key("{Room}", "r_{At:ticks}"), "_{Number:+04d}"),
    "PartitionSpread": spread,
    "PartitionSpread of a model": lambda on: spread(on, SpreadBooking, mappings=[large()]),
    "PartitionSpread, derived": lambda on: spread(on, derived=[BY_TEAM]),
    "PeriodTables": lambda on: PeriodTables(
        on, "Bookings", Period.DAY, factory=lambda account, table: EntitySet(account, table, KEY)
    ),
    "Rekey, copying": rekey("copying"),
    "Rekey, cut over": rekey("cut over"),
    "Rekey of a model, cut over": rekey("cut over", Booking),
    "Rekey, committed": rekey("committed"),
    "WideEntity": lambda on: WideEntity(on, "Bookings", KEY),
    "WideEntity of a model": lambda on: WideEntity(on, "Bookings", KEY, model=Booking),
}


CONDITIONS: Mapping[str, tuple[Any, Callable[[Fields], bool]]] = {
    "Seats > 0": (prop("Seats") > 0, lambda each: each.get("Seats", 0) > 0),
    "Seats != 0": (prop("Seats") != 0, lambda each: each.get("Seats", 0) != 0),
    "Title == ''": (prop("Title") == "", lambda each: each.get("Title") == ""),
    "Paid": (prop("Paid") == True, lambda each: each.get("Paid") is True),  # noqa: E712 - a condition
    "either": (
        (prop("Team") == "red") | (prop("Seats") <= 0),
        lambda each: each.get("Team") == "red" or each.get("Seats", 1) <= 0,
    ),
    "At > START": (prop("At") > START, lambda each: each["At"] > START),
    "key": (
        (prop("At") == START) & (prop("Number") >= 0),
        lambda each: each["At"] == START and each["Number"] >= 0,
    ),
}
WHERE = st.sampled_from(list(CONDITIONS))


def place(key: Fields) -> tuple[Any, ...]:
    return tuple(key[name] for name in KEY_FIELDS)


def in_order(entities: Any) -> list[Fields]:
    return sorted(entities, key=place)


class SetMachine(RuleBasedStateMachine):
    """A set beside a dict of what it should hold, by key."""

    name: str

    def __init__(self) -> None:
        super().__init__()
        self.storage = connect()
        self.entities: Any = SETS[self.name](self.storage)
        self.model: Any = SpreadBooking if "Spread" in self.name else Booking
        self.stored: dict[tuple[Any, ...], Fields] = {}

    # ------------------------------------------------------------------ what the kinds differ in

    has_model = property(lambda self: "of a model" in self.name)
    is_derived = property(lambda self: self.name.startswith("EntitySet") and "derived" in self.name)
    is_mapped = property(lambda self: "mapped" in self.name)
    is_wide = property(lambda self: "Wide" in self.name)

    def new(self, each: Fields) -> Any:
        return self.model(**each) if self.has_model else dict(each)

    def shown(self, entity: Any) -> Fields | None:
        if entity is None:
            return None
        values = asdict(entity) if self.has_model else dict(entity)
        names = {field.name for field in fields(Booking)}
        return {name: value for name, value in values.items() if value is not None and name in names}

    def all(self, entities: Any) -> list[Fields]:
        return in_order(map(self.shown, entities))

    def assign(self, entity: Any, each: Fields) -> None:
        if isinstance(entity, dict):
            entity.update(each)
        else:
            for name, value in each.items():
                setattr(entity, name, value)

    # ------------------------------------------------------------------ writes

    def written(self, key: Fields, expected: Fields, entity: Any) -> None:
        assert self.shown(entity) == expected
        self.stored[place(key)] = expected

    @rule(key=KEYS, properties=PROPERTIES)
    def insert(self, key: Fields, properties: Fields) -> None:
        if place(key) in self.stored:
            with pytest.raises(EntityAlreadyExists):
                self.entities.insert(self.new(key | properties))
        else:
            self.written(key, key | properties, self.entities.insert(self.new(key | properties)))

    @rule(key=KEYS, properties=PROPERTIES)
    def insert_or_replace(self, key: Fields, properties: Fields) -> None:
        self.written(key, key | properties, self.entities.insert_or_replace(self.new(key | properties)))

    @precondition(lambda self: not self.is_mapped)
    @rule(key=KEYS, properties=PROPERTIES)
    def insert_or_merge(self, key: Fields, properties: Fields) -> None:
        before = self.stored.get(place(key), {})
        self.entities.insert_or_merge(self.new(key | properties))
        self.stored[place(key)] = before | key | properties

    @rule(key=KEYS, properties=PROPERTIES, form=st.sampled_from(["read", "force", "update", "merge", "stale"]))
    def change(self, key: Fields, properties: Fields, form: str) -> None:
        before, current = self.stored.get(place(key)), self.entities.get(key)
        assert self.shown(current) == before
        if before is None:
            with pytest.raises(EntityNotFound):
                self.entities.replace(self.new(key | properties), force=True)
            with pytest.raises(EntityNotFound):
                self.entities.update(lambda each: None, key)
        elif form == "read":
            replaced = current if self.has_model else self.entities.get(key)
            self.assign(replaced, {field.name: properties.get(field.name) for field in fields(Booking)[3:]})
            self.written(key, key | properties, self.entities.replace(replaced))
        elif form == "force":
            self.written(key, key | properties, self.entities.replace(self.new(key | properties), force=True))
        elif form == "merge" and not self.is_mapped:
            self.written(key, before | properties, self.entities.merge(current, properties))
        elif form == "stale":
            self.written(key, before | properties, self.entities.update(lambda e: self.assign(e, properties), key))
            for write in (self.entities.replace, self.entities.delete):
                with pytest.raises(EntityChanged):
                    write(current)
        else:
            self.written(key, before | properties, self.entities.update(lambda e: self.assign(e, properties), key))

    @rule(key=KEYS, force=st.booleans())
    def delete(self, key: Fields, force: bool) -> None:
        entity = self.entities.get(key)
        if entity is not None:
            self.entities.delete(self.new(key) if force else entity, force=force)
            del self.stored[place(key)]
        else:
            with pytest.raises(EntityNotFound):
                self.entities.delete(self.new(key), force=True)

    @precondition(lambda self: not self.is_wide)
    @rule(key=KEYS, number=st.sampled_from([-1, 0, 7]))
    def rename(self, key: Fields, number: int) -> None:
        renamed, entity = {**key, "Number": number}, self.entities.get(key)
        if entity is None or renamed == key:
            return
        if "Spread" in self.name and self.entities.placed(key)["Bucket"] != self.entities.placed(renamed)["Bucket"]:
            with pytest.raises(BadInput, match="PartitionMove"):
                self.entities.rename(entity, Number=number)
        elif place(renamed) in self.stored:
            with pytest.raises(EntityAlreadyExists):
                self.entities.rename(entity, Number=number)
        else:
            before = self.stored.pop(place(key))
            self.written(renamed, {**before, "Number": number}, self.entities.rename(entity, Number=number))

    # ------------------------------------------------------------------ reads

    @rule(keys=st.lists(KEYS, max_size=3))
    def get_many(self, keys: list[Fields]) -> None:
        found = [self.shown(entity) for entity in self.entities.get_many(keys)]
        assert found == [self.stored.get(place(key)) for key in keys]

    @precondition(lambda self: not self.is_wide and "Period" not in self.name)
    @rule(
        room=st.sampled_from(["a", "b"]),
        hours=st.sampled_from([None, START, between(START, START + HOUR)]),
        where=st.none() | WHERE,
        count=st.sampled_from([1, 2, 99]),
    )
    def read_range(self, room: str, hours: Any, where: str | None, count: int) -> None:
        key = {"Room": room} | ({} if hours is None else {"At": hours})
        until = START if isinstance(hours, datetime) else START + HOUR
        condition, holds = CONDITIONS[where] if where else (None, lambda each: True)
        if where == "At > START" and hours is not None:
            # No key satisfies both
            return
        expected = in_order(
            each
            for each in self.stored.values()
            if each["Room"] == room and (hours is None or each["At"] <= until) and holds(each)
        )
        options = {"where": condition, "allow": QueryClass.PARTITION_SCAN} if where else {}
        assert [self.shown(entity) for entity in self.entities.range(key, **options)] == expected
        assert [self.shown(entity) for entity in self.entities.take(count, key, **options)] == expected[:count]
        if "Spread" not in self.name:
            paged, token = list[Any](), None
            while token is not None or not paged:
                page = self.entities.page(key, size=count, token=token, **options)
                paged, token = [*paged, *page.items], page.token
                if token is None:
                    break
            assert [self.shown(entity) for entity in paged] == expected

    @precondition(lambda self: not self.is_wide)
    @rule(where=WHERE)
    def read_all(self, where: str) -> None:
        condition, holds = CONDITIONS[where]
        expected = in_order(each for each in self.stored.values() if holds(each))
        assert self.all(self.entities.scan(condition)) == expected
        assert self.all(self.entities.query(condition, allow=QueryClass.TABLE_SCAN)) == expected

    @precondition(lambda self: self.is_derived)
    @rule(key=KEYS, title=st.sampled_from(["", "x"]), team=st.sampled_from(["", "red"]))
    def read_derived(self, key: Fields, title: str, team: str) -> None:
        stored, room = self.stored.get(place(key), {}), key["Room"]
        of_room = [each for each in self.stored.values() if each["Room"] == room]
        for index, values in ((BY_TITLE, {"Title": title}), (BY_TEAM, {"Team": team}), (UNIQUE, {"Team": team})):
            expected = stored if values.items() <= stored.items() else None
            assert self.shown(self.entities.find(index, key | values)) == expected
        titled = [each for each in of_room if each.get("Title") == title]
        assert self.all(self.entities.range(BY_TITLE, Room=room, Title=title)) == in_order(titled)
        of_team = [each for each in self.stored.values() if each.get("Team") == team]
        assert self.all(self.entities.range(BY_TEAM, Team=team)) == in_order(of_team)
        of_size = [each for each in of_room if each.get("Seats") == 1]
        assert self.all(self.entities.find_all(BY_SEATS, Room=room, Seats=1)) == in_order(of_size)
        totals = {"Count": len(of_room), "Sum": sum(each.get("Seats", 0) for each in of_room)}
        for summary in (TOTALS, TOTALS_ELSEWHERE):
            assert self.entities.totals(summary, Room=room) == totals

    @invariant()
    def holds_what_the_dict_holds(self) -> None:
        if not self.is_wide:
            assert self.all(self.entities.scan()) == in_order(self.stored.values())

    def teardown(self) -> None:
        if self.is_derived:
            for derived in set(DERIVED) - {TOTALS}:
                assert verify(self.entities, derived).is_clean
        self.storage.close()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.few(8)
def test_a_set_is_a_dict_of_its_entities(name: str) -> None:
    machine = type("Machine", (SetMachine,), {"name": name})
    run_state_machine_as_test(machine, settings=settings(examples(30), stateful_step_count=20))
