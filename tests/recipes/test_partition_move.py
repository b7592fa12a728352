"""Move an entity to another partition: its cost, derived data, rejections, and completion by a worker."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from support.crashing_client import Crash, Crashed, connect_crashing
from support.employees import BY_EMAIL, BY_ID, jones, rows_of
from support.queue_workers import message
from tablepatterns import EntitySet, IntraPartitionIndex, Key, connect
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    BadKey,
    DerivedDataMismatch,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
)
from tablepatterns.jobs import verify
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.partition_move import PartitionMove
from tablepatterns.recipes.summary import Summary
from tablepatterns.recipes.worker import Worker
from tablepatterns.set_identity import MOVED_FROM, MOVING_TO
from tablepatterns_engine.account import Engine

ID = {"Department": "Sales", "EmployeeId": 223}
THERE = {"Department": "Marketing", "EmployeeId": 223}


def move_of(storage: Any, table: str, queue: str, *derived: Any, **options: Any) -> Any:
    employees = EntitySet(storage, table, BY_ID, derived=derived, **options)
    return PartitionMove(employees, queue=queue)


@pytest.mark.guide("G-274")
async def test_a_moved_entity_is_complete_and_only_in_the_new_place(
    storage: Any, table_name: str, queue_name: str
) -> None:
    move = move_of(storage, table_name, queue_name)
    moved = await move.move(await move.entity_set.insert(jones()), Department="Marketing")
    assert moved == jones(Department="Marketing")
    assert await rows_of(storage, table_name) == {
        ("Marketing", "empid_000223"): {
            name: value for name, value in jones().items() if name not in ("Department", "EmployeeId")
        }
    }
    moved["Age"] = 35
    await move.entity_set.replace(moved)
    assert await storage.queue(queue_name).length() == 0


@pytest.mark.guide("G-274")
async def test_a_move_takes_six_requests_in_a_safe_order(
    storage: Any, engine: Engine, table_name: str, queue_name: str
) -> None:
    move = move_of(storage, table_name, queue_name)
    await storage.queue(queue_name).create()
    entity = await move.entity_set.insert(jones())
    with engine.ledger.span() as span:
        await move.move(entity, Department="Marketing")
    assert [record.operation for record in span.records] == [
        "PutMessage",
        "UpdateEntity",
        "InsertEntity",
        "DeleteEntity",
        "UpdateEntity",
        "DeleteMessage",
    ]


async def test_derived_data_follows_the_move(storage: Any, new_name: Any, queue_name: str) -> None:
    outside = InterPartitionIndex(Key("{LastName}", "{EmployeeId:06d}"), table=new_name())
    here = IntraPartitionIndex(BY_EMAIL)
    counted = Summary(Key("{Department}", "department"), count="EmployeeCount")
    move = move_of(storage, new_name(), queue_name, here, outside, counted, intents=queue_name)
    await move.move(await move.entity_set.insert(jones()), Department="Marketing")
    find = move.entity_set.find
    assert await find(here, Department="Sales", Email="jonesj@contoso.com") is None
    assert await find(here, Department="Marketing", Email="jonesj@contoso.com") == jones(Department="Marketing")
    assert await find(outside, LastName="Jones", EmployeeId=223) == jones(Department="Marketing")
    for department, count in (("Sales", 0), ("Marketing", 1)):
        assert (await move.entity_set.totals(counted, Department=department))["EmployeeCount"] == count
    for each in (here, outside):
        assert not (await verify(move.entity_set, each)).drifts


async def _places(move: Any) -> list[str]:
    return [each["Department"] async for each in move.entity_set.scan()]


async def test_mapped_properties_follow_the_move(backend: Any, engine: Engine) -> None:
    storage = backend.connect()
    secret = EncryptedProperties(
        ["Ssn", "Email"], keys=LocalKey.generate("payroll"), blind={"Email": "EmailHash"}, blind_key=bytes(range(32))
    )
    mappings = [secret, LargeProperties(["Photo"], container="photos")]
    east = datetime(2014, 8, 22, 12, tzinfo=timezone(timedelta(hours=2)))
    entity = jones(Ssn="078-05-1120", Photo=bytes(200_000), Salary=5_000_000_000, Since=east, Share=0.5, Short=b"x")
    move = move_of(storage, "Staff", "staff-moves", mappings=mappings)
    held = await move.entity_set.insert(entity)
    known = await move.entity_set.get(**ID)
    await storage.queue("staff-moves").create()
    dying = move_of(
        connect_crashing(backend, engine, Crash(at=3, after=False)), "Staff", "staff-moves", mappings=mappings
    )
    with pytest.raises(Crashed):
        await dying.move(held, Department="Marketing")
    engine.clock.advance(61)
    assert (await Worker(storage, [move]).run_once()).handled == 1
    moved = await move.entity_set.get(**THERE)
    assert {**moved} == {**known, "Department": "Marketing"}
    assert await _places(move) == ["Marketing"]


async def _interrupted_move(backend: Any, engine: Engine) -> Any:
    """A move of Jones to Marketing, whose process crashed after it had written the copy."""
    storage = backend.connect()
    move = move_of(storage, "Staff", "staff-moves")
    await move.entity_set.insert(jones())
    await storage.queue("staff-moves").create()
    with pytest.raises(Crashed):
        await move_of(connect_crashing(backend, engine, Crash(at=2, after=True)), "Staff", "staff-moves").move(
            await move.entity_set.get(**ID), Department="Marketing"
        )
    return move


async def test_an_interrupted_move_can_be_called_again(backend: Any, engine: Engine) -> None:
    move = await _interrupted_move(backend, engine)
    left = await move.entity_set.get(**ID)
    with pytest.raises(BadInput, match="is being moved"):
        await move.move(left, Department="Finance")
    assert await move.move(left, Department="Marketing") == jones(Department="Marketing")
    engine.clock.advance(61)
    await Worker(backend.connect(), [move]).run_once()
    assert await _places(move) == ["Marketing"]


async def test_a_move_that_a_worker_completed_finds_no_entity_that_was_deleted_since(
    backend: Any, engine: Engine
) -> None:
    move = await _interrupted_move(backend, engine)
    left = await move.entity_set.get(**ID)
    engine.clock.advance(61)
    await Worker(backend.connect(), [move]).run_once()
    await move.entity_set.delete(await move.entity_set.get(**THERE))
    with pytest.raises(EntityNotFound, match="and deleted or moved again since"):
        await move.move(left, Department="Marketing")
    assert await _places(move) == []


async def test_a_copy_cannot_be_moved_before_its_move_is_completed(backend: Any, engine: Engine) -> None:
    """The entity would follow its copy to the place that this one has just left."""
    move = await _interrupted_move(backend, engine)
    copied = await move.entity_set.get(**THERE)
    with engine.ledger.span() as span, pytest.raises(BadInput, match="its move to this partition has not finished"):
        await move.move(copied, Department="Finance")
    assert span.totals.requests == 0
    engine.clock.advance(61)
    await Worker(backend.connect(), [move]).run_once()
    await move.move(await move.entity_set.get(**THERE), Department="Finance")
    assert await _places(move) == ["Finance"]


async def test_if_original_and_copy_changed_both_stay(backend: Any, engine: Engine) -> None:
    move = await _interrupted_move(backend, engine)
    await move.entity_set.update(lambda found: found.update(Age=50), **ID)
    await move.entity_set.update(lambda found: found.update(Age=60), **THERE)
    with pytest.raises(DerivedDataMismatch, match="so was its copy"):
        await move.move(await move.entity_set.get(**ID), Department="Marketing")
    assert sorted([each["Age"] async for each in move.entity_set.scan()]) == [50, 60]


@pytest.mark.guide("G-274")
async def test_an_entity_in_the_new_place_is_never_overwritten(storage: Any, table_name: str, queue_name: str) -> None:
    move = move_of(storage, table_name, queue_name)
    entity = await move.entity_set.insert(jones())
    await move.entity_set.insert(jones(Department="Marketing", LastName="Other"))
    with pytest.raises(EntityAlreadyExists):
        await move.move(entity, Department="Marketing")
    assert await move.entity_set.get(**ID) == jones()
    assert (await move.entity_set.get(**THERE))["LastName"] == "Other"
    assert await storage.queue(queue_name).length() == 0
    await move.entity_set.delete(THERE, force=True)
    await move.move(await move.entity_set.get(**ID), Department="Marketing")


async def test_a_unique_value_that_is_taken_rejects_the_move(storage: Any, table_name: str, queue_name: str) -> None:
    move = move_of(storage, table_name, queue_name, IntraPartitionIndex(BY_EMAIL))
    entity = await move.entity_set.insert(jones())
    await move.entity_set.insert(jones(Department="Marketing", EmployeeId=1))
    with pytest.raises(DuplicateIndexValue):
        await move.move(entity, Department="Marketing")
    assert await move.entity_set.get(**ID) == jones()


async def test_moving_a_stale_or_deleted_entity_is_rejected(storage: Any, table_name: str, queue_name: str) -> None:
    move = move_of(storage, table_name, queue_name)
    stale = await move.entity_set.insert(jones())
    await move.entity_set.update(lambda found: found.update(Age=50), **ID)
    with pytest.raises(EntityChanged):
        await move.move(stale, Department="Marketing")
    fresh = await move.entity_set.get(**ID)
    assert MOVING_TO not in fresh
    await move.entity_set.delete(ID, force=True)
    with pytest.raises(EntityNotFound):
        await move.move(fresh, Department="Marketing")
    assert await storage.queue(queue_name).length() == 0
    assert await rows_of(storage, table_name) == {}


async def test_an_invalid_move_is_rejected_before_any_request(
    storage: Any, engine: Engine, table_name: str, queue_name: str
) -> None:
    move = move_of(storage, table_name, queue_name)
    entity = await move.entity_set.insert(jones())
    (partly,) = [each async for each in move.entity_set.range(select=["Age"], Department="Sales")]
    with engine.ledger.span() as span:
        for given, fields, error in (
            (entity, {}, BadInput),
            (entity, {"EmployeeId": 224}, BadInput),
            (entity, {"Department": "a/b"}, BadKey),
            (entity, {"Age": 35}, BadKey),
            (partly, {"Department": "Marketing"}, BadInput),
            # Not marks of a move, which would be taken away, but what the caller keeps under their names
            (entity | {MOVING_TO: "Berlin"}, {"Department": "Marketing"}, BadInput),
            (entity | {MOVING_TO: '["1", "Marketing"]'}, {"Department": "Marketing"}, BadInput),
            (entity | {MOVING_TO: 7}, {"Department": "Marketing"}, BadInput),
            (entity | {MOVED_FROM: "Berlin"}, {"Department": "Marketing"}, BadInput),
            (entity | {MOVED_FROM: 7}, {"Department": "Marketing"}, BadInput),
        ):
            with pytest.raises(error):
                await move.move(given, **fields)
    assert span.totals.requests == 0


@pytest.mark.parametrize("options", [{"unique": True}, {"include": ["Age"]}], ids=str)
async def test_an_index_that_could_not_be_updated_is_rejected(storage: Any, new_name: Any, options: Any) -> None:
    by_email = InterPartitionIndex(Key("email", "{Email}"), table=new_name(), **options)
    with pytest.raises(BadDesign, match="index"):
        move_of(storage, new_name(), "staff-moves", by_email, intents="staff-intents")


@pytest.mark.parametrize("options", [{"unique": True}, {"include": ["Age"]}], ids=str)
async def test_a_move_that_an_index_could_not_follow_is_rejected(storage: Any, new_name: Any, options: Any) -> None:
    by_number = InterPartitionIndex(Key("number", "{EmployeeId:06d}"), table=new_name(), **options)
    move = move_of(storage, new_name(), "staff-moves", by_number, intents="staff-intents")
    entity = await EntitySet(storage, move.entity_set.table.name, BY_ID).insert(jones())
    with pytest.raises(BadDesign, match="index"):
        await move.move(entity, Department="Marketing")


def test_a_lease_has_a_second_at_least() -> None:
    with pytest.raises(BadDesign, match="lease"):
        PartitionMove(EntitySet(connect(), "Staff", BY_ID), lease=0)


async def test_a_message_that_names_no_move_is_poison(storage: Any, table_name: str, queue_name: str) -> None:
    move = move_of(storage, table_name, queue_name)
    await storage.queue(queue_name).send(message(move.kind, id="1", **{"from": ["Sales", "1"], "to": ["Sales", "2"]}))
    report = await Worker(storage, [move]).run_once()
    assert (report.handled, report.poisoned) == (0, 1)
