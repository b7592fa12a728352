"""An entity that was read from another set is rejected by every call that takes one, before any request."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

import tablepatterns as tp
import tablepatterns.aio
from tablepatterns import Archive, BlobArchive, EntitySet, Key, OneToMany, OneToOne, WideEntity
from tablepatterns.errors import BadInput
from tablepatterns.recipe import recipe, stream
from tablepatterns_engine import Engine

STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
JONES = {"Department": "Sales", "EmployeeId": 223, "Age": 34}
HEAD = Key("{Department}", "head")


@dataclass
class Employee:
    """What the entities of `EntityTypes` are."""

    Department: str
    EmployeeId: int
    Age: int = 0


async def _read_from(kind: str, storage: Any, other: Any) -> Any:
    """Return an entity that was read from a set that is not the one of the calls, though it has all of its fields."""
    if kind == "wide entity":
        return await WideEntity(storage, "Wide", STAFF).insert(JONES)
    sets = {
        "other table": EntitySet(storage, "Others", STAFF),
        "other key": EntitySet(storage, "Staff", Key("{Department}", "former_{EmployeeId:06d}")),
        "other account": EntitySet(other, "Staff", STAFF),
    }
    return await sets[kind].insert(JONES)


KINDS = ["other table", "other key", "other account", "wide entity"]

Calls = dict[str, Callable[[Any], Awaitable[Any]]]


def calls(storage: Any) -> Calls:
    """Return every call that takes an entity which was read before, by the names of class and method."""
    staff, twins = EntitySet(storage, "Staff", STAFF), EntitySet(storage, "Twins", STAFF)
    wide = WideEntity(storage, "Broad", STAFF)
    photo = tp.LargeProperties(["Photo"], container="photos")
    large = EntitySet(storage, "Large", STAFF, mappings=[photo])
    links = OneToOne(staff, twins, links=("PartnerPartition", "PartnerRow"))
    archive = Archive(staff, EntitySet(storage, "Former", STAFF))
    blobs = Archive(staff, BlobArchive(storage, "archive"), queue="blobs", kind="blobs")
    transaction = tp.EntityGroupTransaction(storage, "Staff")

    async def committed(change: Callable[[Any], Any], each: Any) -> Any:
        return await transaction.commit(change(each))

    return {
        "EntitySet.replace": staff.replace,
        "EntitySet.merge": lambda each: staff.merge(each, {"Age": 35}),
        "EntitySet.delete": staff.delete,
        "EntitySet.rename": lambda each: staff.rename(each, EmployeeId=224),
        "EntitySet.replacing": lambda each: committed(staff.replacing, each),
        "EntitySet.merging": lambda each: committed(lambda one: staff.merging(one, {"Age": 35}), each),
        "EntitySet.deleting": lambda each: committed(staff.deleting, each),
        "EntitySet.renaming": lambda each: committed(lambda one: staff.renaming(one, {"EmployeeId": 224})[0], each),
        "WideEntity.replace": wide.replace,
        "WideEntity.merge": lambda each: wide.merge(each, {"Age": 35}),
        "WideEntity.delete": wide.delete,
        "PartitionMove.move": lambda each: tp.PartitionMove(staff).move(each, Department="Lab"),
        "Archive.archive": archive.archive,
        "Archive.restore": archive.restore,
        "Archive.restore from blobs": blobs.restore,
        "LargePropertyStore.open": lambda each: _first(tp.LargePropertyStore(large).open(each, "Photo")),
        "OneToMany.parent_of": OneToMany(EntitySet(storage, "Staff", HEAD), staff).parent_of,
        "OneToOne.first_of": links.first_of,
        "OneToOne.second_of": links.second_of,
        "OneToOne.link": lambda each: links.link(each, each),
        "OneToOne.unlink": lambda each: links.unlink(each, each),
    }


async def _first(items: Any) -> Any:
    return [each async for each in items]


TAKES_ANY_MAPPING = {
    "EntitySet.insert",
    "EntitySet.inserting",
    "EntitySet.insert_or_merge",
    "EntitySet.insert_or_replace",
    "LogTail.append",
    "PartitionSpread.insert",
    "PeriodTables.insert",
    "WideEntity.insert",
}
"""Calls that create an entity, of whatever another set has as well."""
OTHERS = {
    "EntitySet.instance_of": "it returns an entity of another set unchanged",
    "IndexEntity.lists": "it takes the fields of any entity",
    "Key.keys_of": "it takes the fields of any entity",
    "Storage.table_names": "it takes the first of some names",
}
"""What takes something else by these names, with the reason; of a class all of its methods."""


def test_every_call_that_takes_an_entity_is_tested() -> None:
    found: set[str] = set()
    seen: set[object] = set()
    with tp.connect() as storage:
        expected = {each.partition(" ")[0] for each in calls(storage)} | TAKES_ANY_MAPPING
    # Methods that others inherit are walked where they are of
    for name in sorted(tp.__all__, key=lambda each: each != "EntitySet"):
        owner = getattr(tp, name)
        if not inspect.isclass(owner):
            continue
        for method in (each for each in dir(owner) if not each.startswith("_")):
            function = inspect.getattr_static(owner, method)
            function = function._function if isinstance(function, (recipe, stream)) else function
            function = inspect.unwrap(getattr(function, "__func__", function))
            if (
                inspect.isfunction(function)
                and function.__module__.startswith("tablepatterns")
                # The sets of several patterns share their calls
                and (function not in seen or f"{name}.{method}" in expected)
            ):
                seen.add(function)
                if {"entity", "first", "second"} & {*inspect.signature(function).parameters}:
                    found.add(f"{name}.{method}")
    assert {each for each in found if each not in OTHERS and each.partition(".")[0] not in OTHERS} == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", list(calls(tablepatterns.aio.connect())))
async def test_an_entity_of_another_set_is_rejected(name: str, kind: str) -> None:
    engine, elsewhere = Engine(), Engine()
    async with tablepatterns.aio.connect(engine) as storage, tablepatterns.aio.connect(elsewhere) as other:
        await EntitySet(storage, "Staff", STAFF).insert(JONES)
        foreign = await _read_from(kind, storage, other)
        before, call = dict(foreign), calls(storage)[name]
        with engine.ledger.span() as span, pytest.raises(BadInput, match="read from"):
            await call(foreign)
        assert span.totals.requests == 0
        assert foreign == before


async def test_a_change_of_another_account_is_rejected() -> None:
    engine = Engine()
    async with tablepatterns.aio.connect(engine) as storage, tablepatterns.aio.connect() as other:
        foreign = EntitySet(other, "Staff", STAFF)
        jones = await foreign.insert(JONES)
        for change in (foreign.inserting(JONES), foreign.replacing(jones), foreign.deleting(jones)):
            with engine.ledger.span() as span, pytest.raises(BadInput, match="another account"):
                await tp.EntityGroupTransaction(storage, "Staff").commit(change)
            assert span.totals.requests == 0


def test_the_same_set_declared_again_takes_the_entity() -> None:
    engine = Engine()
    with tp.connect(engine) as storage, tp.connect(engine) as again:
        jones = EntitySet(storage, "Staff", STAFF).insert(JONES)
        EntitySet(again, "staff", STAFF).replace(jones | {"Age": 35})
        found = EntitySet(storage, "Staff", STAFF).get({name: JONES[name] for name in STAFF.fields})
        assert found is not None
        assert found["Age"] == 35


async def test_what_one_set_has_may_be_inserted_into_another() -> None:
    async with tablepatterns.aio.connect() as storage:
        jones = await EntitySet(storage, "Staff", STAFF).insert(JONES)
        other = EntitySet(storage, "Former", STAFF)
        await other.insert(jones)
        assert (await other.replace(jones, force=True))["Age"] == 34
