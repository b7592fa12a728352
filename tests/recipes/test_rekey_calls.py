"""The entities of a move have the calls of an `EntitySet`, with the same outcome in every phase."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial
from typing import Any

import pytest

from tablepatterns import (
    Archive,
    BulkDelete,
    BulkLoad,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    OneToMany,
    PartitionMove,
    Phase,
    QueryClass,
    Rekey,
    Summary,
    connect,
    prop,
)
from tablepatterns.errors import BadFilter, BadInput, BadKey, DuplicateIndexValue, TablePatternsError
from tablepatterns.sdk.table import Page

BY_ID = Key("{Department}", "empid_{EmployeeId:06d}")
BY_TEAM = Key("team_{Team}", "empid_{EmployeeId:06d}")


@dataclass
class Employee:
    Department: str
    EmployeeId: int
    Team: str
    Email: str
    Age: int = 30


def employee(number: int, **fields: Any) -> dict[str, Any]:
    return {"Department": "Sales", "EmployeeId": number, "Team": "a", "Email": f"e{number}", "Age": 30} | fields


def sets(storage: Any, *, model: bool, indexes: bool) -> tuple[Any, Any]:
    def derived(field: str) -> list[Any]:
        key = Key(f"{{{field}}}", "email_{Email}") if field == "Department" else Key("team_{Team}", "email_{Email}")
        return [IntraPartitionIndex(key)] if indexes else []

    options: dict[str, Any] = {"model": Employee} if model else {}
    old = EntitySet(storage, "Old", BY_ID, derived=derived("Department"), **options)
    return old, EntitySet(storage, "New", BY_TEAM, derived=derived("Team"), **options)


def in_phase(phase: Phase, *, model: bool, indexes: bool) -> tuple[Any, Any]:
    """Return the entities of a move in a phase, and an ordinary set with the same entities and the primary key."""
    old, new = sets(connect(), model=model, indexes=indexes)
    move = Rekey(old, new, refresh=0)
    plain = sets(connect(), model=model, indexes=indexes)[phase not in (Phase.COPYING, Phase.CUTTING_OVER)]
    for number in (1, 2, 3):
        for each in (old, plain):
            each.insert(Employee(**employee(number)) if model else employee(number))
    move.copy()
    assert move.verify().is_clean
    if phase in (Phase.CUT_OVER, Phase.COMMITTED):
        move.cut_over()
    if phase is Phase.COMMITTED:
        move.commit()
    return move.entities, plain


KEY = {"Department": "Sales", "Team": "a"}


def key_of(target: Any, number: int) -> dict[str, Any]:
    """Return the fields of the primary key of the ordinary set, which both take."""
    return {name: employee(number)[name] for name in target}


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return plain_of(call())
    except TablePatternsError as error:
        return type(error).__name__


def plain_of(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, (type, Page)):
        return asdict(value)
    if isinstance(value, Page):
        return [plain_of(each) for each in value.items], value.token is None
    if isinstance(value, dict):
        return dict(value)
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [plain_of(each) for each in value]
    return value


def made(model: bool, **fields: Any) -> Any:
    number = fields.pop("number", 1)
    return Employee(**employee(number, **fields)) if model else employee(number, **fields)


CALLS: dict[str, Callable[[Any, Any, bool], Any]] = {
    "get": lambda one, key, model: one.get(key(1)),
    "get nothing": lambda one, key, model: one.get(key(9)),
    "get without a field": lambda one, key, model: one.get({"EmployeeId": 1}),
    "get an unknown field": lambda one, key, model: one.get({**key(1), "Name": "x"}),
    "get many": lambda one, key, model: one.get_many([key(2), key(9), key(1)]),
    "range": lambda one, key, model: one.range({name: v for name, v in key(1).items() if name != "EmployeeId"}),
    "take": lambda one, key, model: one.take(2, {name: v for name, v in key(1).items() if name != "EmployeeId"}),
    "page": lambda one, key, model: one.page({name: v for name, v in key(1).items() if name != "EmployeeId"}, size=2),
    "query": lambda one, key, model: one.query(prop("Age") > 20, allow=QueryClass.TABLE_SCAN),
    "query a scan": lambda one, key, model: one.query(prop("Age") > 20),
    "scan": lambda one, key, model: one.scan(prop("Age") > 20),
    "insert": lambda one, key, model: one.insert(made(model, number=4)),
    "insert what exists": lambda one, key, model: one.insert(made(model)),
    "insert a duplicate": lambda one, key, model: one.insert(made(model, number=4, Email="e1")),
    "insert an invalid key": lambda one, key, model: one.insert(made(model, number=-4)),
    "insert with a bad retry_for": lambda one, key, model: one.insert(made(model, number=4), retry_for=-1),
    "upsert": lambda one, key, model: one.insert_or_replace(made(model, Age=31)),
    "upsert a new one": lambda one, key, model: one.insert_or_replace(made(model, number=4)),
    "upsert a duplicate": lambda one, key, model: one.insert_or_replace(made(model, Email="e2")),
    "upsert a new duplicate": lambda one, key, model: one.insert_or_replace(made(model, number=4, Email="e2")),
    "upsert by merge": lambda one, key, model: one.insert_or_merge(made(model, Age=31)),
    "upsert a new one by merge": lambda one, key, model: one.insert_or_merge(made(model, number=4)),
    "upsert a duplicate by merge": lambda one, key, model: one.insert_or_merge(made(model, Email="e2")),
    "replace what was read": lambda one, key, model: one.replace(changed(one.get(key(1)), Age=31)),
    "replace what was not read": lambda one, key, model: one.replace(made(model, Age=31)),
    "replace by force": lambda one, key, model: one.replace(made(model, Age=31), force=True),
    "replace nothing by force": lambda one, key, model: one.replace(made(model, number=9), force=True),
    "replace a duplicate by force": lambda one, key, model: one.replace(made(model, Email="e2"), force=True),
    "replace an old version": lambda one, key, model: one.replace(made(model), etag="W/\"datetime'2020'\""),
    "replace a key": lambda one, key, model: one.replace(changed(one.get(key(1)), EmployeeId=8)),
    "merge": lambda one, key, model: one.merge(one.get(key(1)), {"Age": 31}),
    "merge by force": lambda one, key, model: age_of(one.merge(made(model), {"Age": 31}, force=True)),
    "merge a duplicate": lambda one, key, model: one.merge(one.get(key(1)), {"Email": "e2"}),
    "merge a key": lambda one, key, model: one.merge(one.get(key(1)), {"EmployeeId": 8}),
    "delete what was read": lambda one, key, model: one.delete(one.get(key(1))),
    "delete twice": lambda one, key, model: (one.delete(one.get(key(1))), one.delete(made(model), force=True)),
    "delete what was not read": lambda one, key, model: one.delete(made(model)),
    "delete and insert": lambda one, key, model: (one.delete(made(model), force=True), one.insert(made(model))),
    "update": lambda one, key, model: one.update(older, key(1)),
    "update nothing": lambda one, key, model: one.update(older, key(9)),
    "update a duplicate": lambda one, key, model: one.update(with_taken_email, key(1)),
    "rename": lambda one, key, model: one.rename(one.get(key(1)), EmployeeId=8),
    "rename to another entity": lambda one, key, model: one.rename(one.get(key(1)), EmployeeId=2),
    "rename to a deleted entity": lambda one, key, model: (
        one.delete(one.get(key(2))),
        one.rename(one.get(key(1)), EmployeeId=2),
    ),
    "rename another field": lambda one, key, model: one.rename(one.get(key(1)), Age=8),
}


def changed(entity: Any, **fields: Any) -> Any:
    if is_dataclass(entity):
        for name, value in fields.items():
            setattr(entity, name, value)
        return entity
    return entity | fields


def age_of(entity: Any) -> int:
    """Return what was merged: of a set without derived data, only that and the key are returned."""
    age: int = plain_of(entity)["Age"]
    return age


def older(entity: Any) -> Any:
    if isinstance(entity, dict):
        entity["Age"] += 1
    else:
        entity.Age += 1


def with_taken_email(entity: Any) -> Any:
    if isinstance(entity, dict):
        entity["Email"] = "e2"
    else:
        entity.Email = "e2"


PHASES = (Phase.COPYING, Phase.CUT_OVER, Phase.COMMITTED)


@pytest.mark.parametrize(
    ("phase", "model", "indexes"),
    [
        (Phase.CUT_OVER, False, False),
        *((phase, True, True) for phase in PHASES),
        *(pytest.param(phase, False, False, marks=pytest.mark.nightly) for phase in (Phase.COPYING, Phase.COMMITTED)),
        *(
            pytest.param(phase, model, not model, marks=pytest.mark.nightly)
            for phase in PHASES
            for model in (False, True)
        ),
    ],
)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.few(45)
def test_a_call_has_the_outcome_that_an_ordinary_set_has(call: str, phase: Phase, model: bool, indexes: bool) -> None:
    entities, plain = in_phase(phase, model=model, indexes=indexes)
    names = plain.key.fields

    def key(number: int) -> dict[str, Any]:
        return {name: employee(number)[name] for name in names}

    by_call = {one: outcome(partial(CALLS[call], one, key, model)) for one in (entities, plain)}
    assert by_call[entities] == by_call[plain]
    assert plain_of(entities.scan()) == plain_of(plain.scan())


REJECTED = [
    *("inserting", "replacing", "merging", "deleting", "renaming", "drop_table"),
    "process_intents",
    "reconciler",
]
OF_ONE_TABLE = ["backfilling", "derived", "key", "schema", "table"]


def test_the_entities_have_every_call_of_a_set_or_say_what_to_use() -> None:
    entities, plain = in_phase(Phase.COPYING, model=False, indexes=False)
    for name in dir(EntitySet) + list(vars(plain)):
        if name.startswith("_") or name == "account":
            continue
        if name in OF_ONE_TABLE:
            with pytest.raises(AttributeError, match="old_set"):
                getattr(entities, name)
        elif name in REJECTED:
            with pytest.raises(BadInput, match="use"):
                getattr(entities, name)()
        else:
            getattr(entities, name)
    tested = {call.split()[0] for call in CALLS} | {"find", "find_all", "keys_of", "totals"}
    assert {"get", "range", "take", "page", "query", "scan", "insert", "rename", "update"} <= tested


def test_derived_data_of_both_sets_can_be_read() -> None:
    storage = connect()
    by_age, count, by_email = (
        IndexEntity("Age", key=Key("{Department}", "age_{Age:03d}")),
        Summary(Key("{Department}", "count")),
        IntraPartitionIndex(Key("{Department}", "email_{Email}")),
    )
    by_name = InterPartitionIndex(Key("mail_{Email}", "team_{Team}"))
    old = EntitySet(storage, "Old", BY_ID, derived=[by_age, count, by_email])
    new = EntitySet(storage, "New", BY_TEAM, derived=[by_name])
    for number in (1, 2):
        old.insert(employee(number))
    move = Rekey(old, new, refresh=0)
    with pytest.raises(BadKey, match="not verified"):
        move.entities.find(by_name, Email="e1", Team="a")
    move.copy()
    move.verify()
    for _ in range(2):
        entities = move.entities
        assert [each["EmployeeId"] for each in entities.find_all(by_age, Department="Sales", Age=30)] == [1, 2]
        keys = entities.keys_of(by_age, Department="Sales", Age=30)
        assert [each["EmployeeId"] for each in entities.get_many(keys) if each] == [1, 2]
        assert entities.totals(count, Department="Sales")["Count"] == 2
        for via, key in ((by_email, {"Department": "Sales", "Email": "e1"}), (by_name, {"Email": "e1", "Team": "a"})):
            found = entities.find(via, key)
            assert found is not None
            entities.replace(found | {"Age": 30})
        move.cut_over()
    for name in ("PartitionKey", "RowKey"):
        with pytest.raises(BadFilter, match=name):
            [*move.entities.scan(prop(name) == "Sales")]


def test_a_part_of_an_entity_deletes_both_rows_and_replaces_none() -> None:
    entities, plain = in_phase(Phase.COPYING, model=False, indexes=False)
    for one in (entities, plain):
        (first, second, *_) = one.range(Department="Sales", select=["Age"])
        with pytest.raises(BadInput, match="part"):
            one.replace(first | {"Age": 31})
        assert one.merge(first, {"Age": 31})["Age"] == 31
        one.delete(second)
    assert plain_of(entities.scan()) == plain_of(plain.scan())
    assert entities.get(Team="a", EmployeeId=2) is None


def test_a_change_of_the_new_key_keeps_a_unique_value() -> None:
    """The copy under the key before the change has the value until it is removed."""
    storage = connect()
    for unique in (
        IntraPartitionIndex(Key("all_{Company}", "email_{Email}")),
        InterPartitionIndex(Key("email_{Email}", "employee"), unique=True),
    ):
        name = type(unique).__name__
        old = EntitySet(storage, f"Old{name}", BY_ID)
        new = EntitySet(storage, f"New{name}", Key("all_{Company}", "team_{Team}_{EmployeeId:06d}"), derived=[unique])
        move = Rekey(old, new, refresh=0)
        for number in (1, 2):
            move.entities.insert(employee(number, Company="contoso"))
        move.copy()
        assert move.verify().is_clean
        move.entities.update(lambda found: found.update(Team="b"), Department="Sales", EmployeeId=1)
        assert move.status().is_verified
        assert move.verify().is_clean
        assert new.find(unique, Company="contoso", Email="e1")["Team"] == "b" if name.startswith("Intra") else True
        # Another entity that has the value is a duplicate, and is reported
        move.entities.update(lambda found: found.update(Team="c", Email="e1"), Department="Sales", EmployeeId=2)
        assert not move.status().is_verified
        assert [each.mismatch.value for each in move.verify().differences if each.reason] or not move.verify().is_clean
        move.entities.update(lambda found: found.update(Email="e3"), Department="Sales", EmployeeId=2)
        assert move.verify().is_clean
        move.cut_over()
        with pytest.raises(DuplicateIndexValue):
            move.entities.update(lambda found: found.update(Email="e1"), Department="Sales", EmployeeId=2)


def test_patterns_that_would_write_one_table_of_a_move_are_rejected() -> None:
    storage = connect()
    old, new = sets(storage, model=False, indexes=False)
    other = EntitySet(storage, "Other", Key("{Department}", "other_{EmployeeId:06d}"))
    made_before = [BulkDelete(old), PartitionMove(old), BulkLoad(new), Archive(old, EntitySet(storage, "Past", BY_ID))]
    jones = old.insert(employee(1))
    move = Rekey(old, new, refresh=0)
    writes: list[Callable[[], Any]] = [
        lambda: BulkDelete(old),
        lambda: BulkLoad(old),
        lambda: BulkLoad(new),
        lambda: PartitionMove(new),
        lambda: Archive(old, EntitySet(storage, "Past", BY_ID)),
        lambda: Archive(other, EntitySet(storage, "Old", BY_ID)),
        lambda: OneToMany(EntitySet(storage, "Departments", Key("{Department}", "department")), old),
        lambda: old.inserting(employee(2)),
        lambda: old.replacing(jones),
        lambda: old.merging(jones, {"Age": 31}),
        lambda: old.deleting(jones),
        lambda: old.renaming(jones, {"EmployeeId": 2}),
        lambda: made_before[0].delete(Department="Sales"),
        lambda: made_before[1].move(jones, Department="IT"),
        lambda: made_before[2].load([employee(2)]),
        lambda: made_before[3].archive(jones),
    ]
    for write in writes:
        with pytest.raises(TablePatternsError, match=r"a Rekey moves its entities.*write through `entities`"):
            write()
    assert [each["EmployeeId"] for each in old.scan()] == [1]
    move.copy()
    move.verify()
    move.cut_over()
    move.commit()
    assert BulkDelete(new).delete(Team="a").entities == 1


def test_a_set_without_a_move_is_not_rejected() -> None:
    storage = connect()
    old, new = sets(storage, model=False, indexes=False)
    Rekey(old, new)
    gc.collect()
    assert BulkDelete(old).delete(Department="Sales").entities == 0
