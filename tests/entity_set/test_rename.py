"""`EntitySet.rename`: another RowKey in the partition, with all derived data, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.employees import BY_EMAIL, BY_ID, jones, rows_of
from support.guarantees import explore_guarantee
from tablepatterns import Entity, EntityGroupTransaction, EntitySet, IntraPartitionIndex, Key, connect
from tablepatterns.entity_set.placement import InTable
from tablepatterns.errors import (
    BadInput,
    BadKey,
    DerivedDataMismatch,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    OutcomeUnknown,
)
from tablepatterns.jobs import verify
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.large_properties.large_values import LargePropertyStore
from tablepatterns.recipes.partition_move import PartitionMove
from tablepatterns.recipes.summary import Summary
from tablepatterns_engine.account import Engine
from tablepatterns_explore import World

OLD = {"Department": "Sales", "EmployeeId": 223}
NEW = {"Department": "Sales", "EmployeeId": 224}


def by_email() -> IntraPartitionIndex:
    return IntraPartitionIndex(BY_EMAIL)


def some_by_email() -> IntraPartitionIndex:
    return IntraPartitionIndex(BY_EMAIL, include=["Age"])


def by_email_and_id() -> IntraPartitionIndex:
    return IntraPartitionIndex(Key("{Department}", "mail_{Email}_{EmployeeId:06d}"))


def by_name() -> IndexEntity:
    return IndexEntity("LastName")


def totals() -> Summary:
    return Summary(Key("{Department}", "department"), count="EmployeeCount", sums={"Age": "Ages"})


def numbers() -> Summary:
    return Summary(Key("{Department}", "numbers"), count=None, sums={"EmployeeId": "Numbers"})


def eventual_data(table: str) -> list[Any]:
    return [
        InterPartitionIndex(Key("mail_{Department}", "{Email}_{EmployeeId:06d}"), table=table),
        InterPartitionIndex(Key("email_{Department}", "{Email}"), table=table),
        IndexEntity("LastName", store=InTable(table)),
        Summary(Key("total_{Department}", "all"), store=InTable(table)),
    ]


WITHIN: list[Callable[[], Any]] = [by_email, some_by_email, by_email_and_id, by_name, totals, numbers]
COMBINATIONS = [[], *([each] for each in WITHIN), [by_email, by_email_and_id, by_name, totals, numbers]]


def staff_of(storage: Any, table: str, *derived: Any, **options: Any) -> Any:
    return EntitySet(storage, table, BY_ID, derived=derived, **options)


async def state_of(storage: Any, table: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of a table without the ids of their writes."""
    rows = await rows_of(storage, table)
    return {key: {name: row[name] for name in row if name != "WriteId"} for key, row in rows.items()}


@pytest.mark.parametrize("made", COMBINATIONS, ids=lambda made: "_".join(each.__name__ for each in made) or "nothing")
@pytest.mark.parametrize("others", [0, 2])
async def test_after_a_rename_the_table_is_as_if_the_entity_had_always_had_the_key(
    storage: Any, new_name: Any, made: list[Callable[[], Any]], others: int
) -> None:
    renamed, expected = new_name(), new_name()
    staff, wanted = (staff_of(storage, table, *(each() for each in made)) for table in (renamed, expected))
    for number in range(others):
        for each in (staff, wanted):
            await each.insert(jones(EmployeeId=number, Email=f"{number}@contoso.com"))
    entity = await staff.insert(jones())
    assert await staff.rename(entity, EmployeeId=224) is entity
    await wanted.insert(jones(EmployeeId=224))
    assert await state_of(storage, renamed) == await state_of(storage, expected)
    assert entity == jones(EmployeeId=224) == await staff.get(**NEW)
    assert entity.row_key == "empid_000224"
    # The ETag is that of the new row, so the entity can be written again
    entity["Age"] = 35
    await staff.replace(entity)
    await staff.rename(entity, {"EmployeeId": 223})
    assert (await staff.get(**OLD))["Age"] == 35


@pytest.mark.parametrize("made", WITHIN[:3], ids=lambda each: each.__name__)
async def test_a_rename_is_one_transaction(engine: Engine, made: Callable[[], Any]) -> None:
    staff = staff_of(connect(engine), "Staff", made())
    entity = staff.insert(jones())
    with engine.ledger.span() as span:
        staff.rename(entity, EmployeeId=224)
    assert span.totals.requests == 1


async def test_what_was_read_from_an_index_and_changed_is_renamed_with_the_changes(
    storage: Any, table_name: str
) -> None:
    index = by_email()
    staff = staff_of(storage, table_name, index, totals())
    await staff.insert(jones())
    entity = await staff.find(index, Department="Sales", Email="jonesj@contoso.com")
    entity["Email"], entity["Age"] = "jo@contoso.com", 40
    await staff.rename(entity, EmployeeId=224)
    assert await staff.find(index, Department="Sales", Email="jonesj@contoso.com") is None
    assert await staff.find(index, Department="Sales", Email="jo@contoso.com") == entity
    assert (await state_of(storage, table_name))["Sales", "department"] == {"EmployeeCount": 1, "Ages": 40}


async def test_eventual_derived_data_follows_a_rename(storage: Any, new_name: Any) -> None:
    derived = eventual_data(new_name())
    queue = storage.queue(new_name("q").lower())
    await queue.create()
    staff = staff_of(storage, new_name(), *derived, by_email(), intents=queue.name)
    for number in (1, 223):
        await staff.insert(jones(EmployeeId=number, Email=f"{number}@contoso.com"))
    await staff.rename(await staff.get(**OLD), EmployeeId=224)
    assert await queue.length() == 0
    for each in derived:
        report = await verify(staff, each)
        assert not report.drifts
    found = await staff.find(derived[1], Department="Sales", Email="223@contoso.com")
    assert found["EmployeeId"] == 224
    await queue.drop()


async def test_encrypted_and_large_properties_are_stored_for_the_new_key(engine: Engine) -> None:
    storage = connect(engine)
    mappings = [
        EncryptedProperties(["Salary"], keys=LocalKey.generate("1")),
        LargeProperties(["Photo"], container="photos"),
    ]
    staff = staff_of(storage, "Staff", by_email(), mappings=mappings)
    fields = jones(Salary=90_000, Photo=b"\x89PNG" * 300_000)
    entity = staff.insert(fields)
    staff.rename(entity, EmployeeId=224)
    assert staff.get(**NEW) == fields | NEW == entity
    assert staff.get(**OLD) is None
    values = LargePropertyStore(staff)
    for _ in range(3):
        engine.clock.advance(86_400)
        values.collect_orphans()
    assert staff.get(**NEW) == fields | NEW
    assert values.verify().missing == ()


# -- refused


async def test_another_entity_with_the_key_stays_and_so_does_this_one(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name, by_email(), totals())
    entity = await staff.insert(jones())
    await staff.insert(jones(EmployeeId=224, Email="other@contoso.com"))
    before = await state_of(storage, table_name)
    with pytest.raises(EntityAlreadyExists):
        await staff.rename(entity, EmployeeId=224)
    entity["Email"] = "other@contoso.com"
    with pytest.raises(DuplicateIndexValue):
        await staff.rename(entity, EmployeeId=225)
    assert await state_of(storage, table_name) == before
    assert await staff.get(**OLD) == jones()


async def test_what_changed_or_went_since_it_was_read_is_rejected(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name, by_email(), totals())
    await staff.insert(jones(EmployeeId=1, Email="other@contoso.com"))
    stale = await staff.insert(jones())
    fresh = await staff.merge(await staff.get(**OLD), {"Age": 50})
    before = await state_of(storage, table_name)
    with pytest.raises(EntityChanged):
        await staff.rename(stale, EmployeeId=224)
    assert await state_of(storage, table_name) == before
    await staff.delete(await staff.get(**OLD))
    with pytest.raises((EntityNotFound, EntityChanged)):
        await staff.rename(fresh, EmployeeId=224)


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({}, BadInput, "use replace"),
        ({"EmployeeId": 223}, BadInput, "use replace"),
        ({"Department": "Marketing"}, BadInput, "PartitionMove"),
        ({"Email": "jo@contoso.com"}, BadKey, "fields Department, EmployeeId"),
        ({"EmployeeId": "x"}, BadKey, "EmployeeId"),
        ({"EmployeeId": None}, BadKey, "EmployeeId"),
    ],
)
async def test_a_rename_that_cannot_be_is_rejected_before_any_request(
    engine: Engine, fields: dict[str, Any], error: type[Exception], text: str
) -> None:
    staff = staff_of(connect(engine), "Staff", by_email())
    entity = staff.insert(jones())
    with engine.ledger.span() as span, pytest.raises(error, match=text):
        staff.rename(entity, **fields)
    assert span.totals.requests == 0


async def test_what_was_not_read_whole_or_is_being_moved_is_rejected(engine: Engine) -> None:
    staff = staff_of(connect(engine), "Staff", some_by_email())
    entity = staff.insert(jones())
    (part,) = staff.take(1, select=["Department", "EmployeeId", "Age"], Department="Sales")
    with engine.ledger.span() as span:
        for given in (jones(), Entity(jones()), part):
            with pytest.raises(BadInput):
                staff.rename(given, EmployeeId=224)
        for mark in ("MovingTo", "MovedFrom"):
            marked = entity.copy()
            marked[mark] = "somewhere"
            with pytest.raises(BadInput, match="is being moved"):
                staff.rename(marked, EmployeeId=224)
    assert span.totals.requests == 0


@pytest.mark.parametrize("call", ["rename", "transaction"])
def test_a_move_keeps_the_key_of_a_unique_eventual_index(engine: Engine, call: str) -> None:
    unique = InterPartitionIndex(Key("email", "{Email}"), table="Emails", unique=True)
    storage = connect(engine)
    staff = staff_of(storage, "Staff", unique)
    entity = staff.insert(jones())
    if call == "rename":
        staff.rename(entity, EmployeeId=224)
    else:
        changes = staff.deleting(entity), staff.inserting(jones(EmployeeId=224))
        _, entity = EntityGroupTransaction(storage, "Staff").commit(*changes)
    assert staff.find(unique, Email="jonesj@contoso.com") == entity
    assert staff.process_intents() == 0
    with pytest.raises(DuplicateIndexValue, match="is already used by another entity"):
        staff.insert(jones(EmployeeId=1))
    staff.rename(entity, EmployeeId=225)
    assert not verify(staff, unique).drifts
    staff.insert(jones(EmployeeId=226, Email="jo@contoso.com"))
    first, second = (staff.get(Department="Sales", EmployeeId=number) for number in (225, 226))
    swap = staff.merging(first, {"Email": "jo@contoso.com"}), staff.merging(second, {"Email": "jonesj@contoso.com"})
    EntityGroupTransaction(storage, "Staff").commit(*swap)
    assert staff.find(unique, Email="jonesj@contoso.com")["EmployeeId"] == 226
    assert not verify(staff, unique).drifts


def test_a_move_of_an_entity_that_changed_reports_that_and_keeps_the_copy(engine: Engine) -> None:
    unique = InterPartitionIndex(Key("email", "{Email}"), table="Emails", unique=True)
    staff = staff_of(connect(engine), "Staff", unique)
    entity = staff.insert(jones())
    staff.rename(staff.get(**OLD), EmployeeId=224)
    with pytest.raises(EntityChanged):
        staff.rename(entity, EmployeeId=225)
    assert staff.find(unique, Email="jonesj@contoso.com")["EmployeeId"] == 224
    assert not verify(staff, unique).drifts


def test_a_move_within_the_partition_names_rename() -> None:
    staff = staff_of(connect(), "Staff")
    with pytest.raises(BadInput, match=r"use EntitySet[.]rename"):
        PartitionMove(staff).move(staff.insert(jones()), EmployeeId=224)


async def test_a_transaction_hands_rows_of_an_index_from_one_entity_to_another(storage: Any, table_name: str) -> None:
    index = by_email()
    staff = staff_of(storage, table_name, index)
    first = await staff.insert(jones())
    changes = [staff.inserting(jones(EmployeeId=224)), staff.deleting(first)]
    await EntityGroupTransaction(storage, table_name).commit(*changes)
    found = await staff.find(index, Department="Sales", Email="jonesj@contoso.com")
    assert found["EmployeeId"] == 224
    twice = [staff.inserting(jones(EmployeeId=number)) for number in (1, 2)]
    taken = [staff.deleting(found), *twice]
    changed = [staff.inserting(jones(EmployeeId=1, Email="x")), staff.merging(found, {"Email": "x"})]
    for changes in (twice, taken, changed, changed[::-1]):
        with pytest.raises(DuplicateIndexValue, match="already used"):
            await EntityGroupTransaction(storage, table_name).commit(*changes)
    with pytest.raises(BadInput, match="only once"):
        await EntityGroupTransaction(storage, table_name).commit(staff.replacing(found), staff.deleting(found))


@pytest.mark.parametrize("derived", [(), (by_email,)], ids=["plain", "with an index"])
async def test_a_rename_that_never_reached_an_entity_deleted_by_another_is_not_reported_as_made(
    storage: Any, engine: Engine, table_name: str, derived: Any
) -> None:
    staff = staff_of(storage, table_name, *(each() for each in derived))
    entity = await staff.insert(jones())
    await staff.delete(await staff.get(**OLD))
    with engine.faults.lose_response(table=table_name, times=1), pytest.raises((OutcomeUnknown, EntityNotFound)):
        await staff.rename(entity, EmployeeId=224)
    assert await rows_of(storage, table_name) == {}


# -- explored

QUEUE = "staff-intents"
REFUSED = (EntityAlreadyExists, EntityChanged, EntityNotFound)


def prepared(world: World, *derived: Any) -> Any:
    for table in ("Staff", "Copies"):
        world.engine.tables.create(table)
    world.engine.queues.create(QUEUE)
    staff = staff_of(world.storage, "Staff", *derived)
    world.run(staff.insert({**OLD, "Age": 30, "Email": "a"}))
    return staff


def in_partition() -> list[Any]:
    return [by_email(), totals()]


def outside() -> list[Any]:
    return [InterPartitionIndex(Key("email_{Department}", "{Email}"), table="Copies")]


def two_renames(world: World, derived: list[Any]) -> list[Any]:
    staff = prepared(world, *derived)
    found = world.run(staff.get(**OLD)), world.run(staff.get(**OLD))
    return [staff.rename(each, EmployeeId=number) for each, number in zip(found, (224, 225), strict=True)]


def a_rename_and_a_raise(world: World, derived: list[Any]) -> list[Any]:
    staff = prepared(world, *derived)

    async def grow_older() -> str:
        await staff.update(lambda entity: entity.update(Age=entity["Age"] + 1), **OLD)
        return "older"

    return [staff.rename(world.run(staff.get(**OLD)), EmployeeId=224), grow_older()]


def a_rename_and_a_delete(world: World, derived: list[Any]) -> list[Any]:
    staff = prepared(world, *derived)

    async def delete() -> str:
        await staff.delete(world.run(staff.get(**OLD)))
        return "deleted"

    return [staff.rename(world.run(staff.get(**OLD)), EmployeeId=224), delete()]


def rows(world: World, table: str = "Staff") -> dict[str, dict[str, Any]]:
    return {row.row_key: dict(row.properties) for row in world.engine.tables.query(table).entities}


def is_under_one_key_with_its_rows(world: World) -> None:
    """At any moment the entity has one key, and its rows say the same."""
    held = rows(world)
    primaries = [key for key in held if key.startswith("empid_")]
    assert len(primaries) <= 1
    assert held["department"]["EmployeeCount"] == len(primaries)
    copies = [row["EmployeeId"] for key, row in held.items() if key.startswith("email_")]
    assert [f"empid_{number:06d}" for number in copies] == primaries


def keeps_what_was_acknowledged(world: World) -> None:
    held = rows(world)
    found = [row for key, row in held.items() if key.startswith("empid_")]
    assert found or "deleted" in world.returned.values() or world.crashed or world.raised
    if "older" in world.returned.values():
        assert [row["Age"] for row in found] == [31]
    for result in world.returned.values():
        if isinstance(result, Entity):
            assert result.row_key in held


async def drain(world: World) -> None:
    while world.engine.queues.count(QUEUE):
        await world.storage.sleep(60)
        await staff_of(world.storage, "Staff", *outside()).process_intents()


def copies_follow(world: World) -> None:
    world.run(drain(world))
    primaries = [key for key in rows(world) if key.startswith("empid_")]
    assert [f"empid_{row['EmployeeId']:06d}" for row in rows(world, "Copies").values()] == primaries


CASES = [two_renames, a_rename_and_a_raise, a_rename_and_a_delete]


@pytest.mark.guarantee("EntitySet", "a renamed entity always has one key and its own derived rows, after any crash")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("faults", [{"crashes": 1}, {"lost_responses": 1}], ids=str)
def test_an_entity_is_under_one_key_at_every_moment(case: Any, faults: dict[str, Any]) -> None:
    result = explore_guarantee(
        lambda world: case(world, in_partition()),
        always=is_under_one_key_with_its_rows,
        invariant=keeps_what_was_acknowledged,
        # Of the last entity of a group that is gone, the count says so first
        expected=(*REFUSED, DerivedDataMismatch, OutcomeUnknown),
        preemptions=1,
        **faults,
    )
    assert result.states > 10


@pytest.mark.guarantee("EntitySet", "copies outside the partition follow a renamed entity once the queue is drained")
@pytest.mark.parametrize(
    "bound", [{"crashes": 1}, pytest.param({"lost_responses": 1}, marks=pytest.mark.nightly)], ids=str
)
def test_eventual_copies_follow_a_rename_after_any_crash(bound: dict[str, Any]) -> None:
    def a_rename(world: World) -> list[Any]:
        staff = prepared(world, *outside())
        return [staff.rename(world.run(staff.get(**OLD)), EmployeeId=224)]

    result = explore_guarantee(a_rename, invariant=copies_follow, expected=(OutcomeUnknown,), preemptions=0, **bound)
    assert result.states > 10
