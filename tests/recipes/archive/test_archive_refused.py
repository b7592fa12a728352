"""Rejected archives, entities and messages, with the reason, and archives of encoded properties."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

import pytest

from support.archive_moves import ID, KEY, KEYS, Work, jones
from support.queue_workers import message
from tablepatterns import EntitySet, Key, connect
from tablepatterns.entity_set.mapping import Encoded, PropertyMapping
from tablepatterns.errors import BadDesign, BadInput, BadKey, EntityAlreadyExists, LimitExceeded
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.recipes.archive.stores import BlobArchive
from tablepatterns.recipes.worker import Report, Worker
from tablepatterns_engine.account import Engine


async def test_a_move_back_onto_another_entity_is_rejected_and_both_stay(
    storage: Any, current: Any, archive: Any, work: Work
) -> None:
    await archive.archive(await current.insert(jones()))
    await work(archive)
    await current.insert(jones(LastName="Smith"))
    await archive.restore(ID)
    assert (await work(archive, max_deliveries=2)) == Report(received=2, failed=1, poisoned=1)
    worker: Any = Worker(storage, [archive])
    (found,) = await worker.poisoned(archive.queue)
    assert found.error == EntityAlreadyExists.__name__
    assert (await current.get(**ID))["LastName"] == "Smith"
    assert (await archive.get(**ID))["LastName"] == "Jones"


async def test_an_entity_of_another_set_is_rejected(storage: Any, to_table: Any, engine: Engine) -> None:
    others: Any = EntitySet(storage, "Departments", Key("{Department}", "{EmployeeId:03d}"))
    other = await others.insert(jones())
    before = engine.ledger.totals.requests
    with pytest.raises(BadInput, match="it was read from the set"):
        await to_table.archive(other)
    with pytest.raises(BadKey, match="EmployeeId"):
        await to_table.archive({"Department": "Sales"})
    with pytest.raises(BadKey, match="EmployeeId"):
        await to_table.restore({"Department": "Sales"})
    assert engine.ledger.totals.requests == before


async def test_keys_too_long_for_their_place_are_rejected_before_a_message_is_sent(
    storage: Any, engine: Engine
) -> None:
    notes: Any = EntitySet(storage, "Notes", Key("{Author}", "{Title}"))
    long = {"Author": "é" * 200, "Title": "x"}
    with pytest.raises(LimitExceeded, match="has at most"):
        await Archive(notes, BlobArchive(storage, "former")).archive(long)
    assert engine.ledger.totals.requests == 0


async def test_a_message_that_names_no_entity_of_the_set_is_poison(storage: Any, to_table: Any, work: Work) -> None:
    for body in ({}, {"entity": "Sales"}, {"entity": ["Sales"]}, {"entity": ["Sales", 7]}, {"entity": ["Sales", "x"]}):
        await storage.queue(to_table.queue).send(message(to_table.kind, **body))
    assert await work(to_table) == Report(received=5, poisoned=5)


def test_a_set_that_cannot_be_the_archive_is_rejected() -> None:
    with connect() as storage:
        current = EntitySet(storage, "Current", KEY)
        with pytest.raises(BadDesign, match="the active set itself"):
            Archive(current, EntitySet(storage, "current", KEY))
        with pytest.raises(BadDesign, match="the same fields"):
            Archive(current, EntitySet(storage, "Former", Key("{Year:04d}", "empid_{EmployeeId:06d}")))


async def test_a_set_that_is_its_own_archive_by_another_connection_loses_nothing(
    backend: Any, storage: Any, current: Any, queue_name: str, work: Work
) -> None:
    same: Any = EntitySet(backend.connect(), current.table.name, KEY)
    archive: Any = Archive(current, same, queue=queue_name)
    await archive.archive(await current.insert(jones()))
    assert (await work(archive, max_deliveries=1)).poisoned == 1
    worker: Any = Worker(storage, [archive])
    (found,) = await worker.poisoned(queue_name)
    assert found.error == "BadDesign"
    assert found.reason.startswith("at archive.py:")
    assert await current.get(**ID) == jones()


class Backwards(PropertyMapping):
    """Stores texts letter by letter from the end."""

    order: ClassVar[int] = 7
    name = "backwards"

    def __init__(self, *fields: str) -> None:
        self._fields = fields

    @property
    def fields(self) -> Collection[str]:
        return self._fields

    async def encode(self, fields: Mapping[str, Any], place: Any) -> Encoded:
        return Encoded({name: value[::-1] if name in self.fields else value for name, value in fields.items()})

    async def decode(self, fields: Mapping[str, Any], place: Any) -> dict[str, Any]:
        return (await self.encode(fields, place)).fields


def test_what_a_set_stores_otherwise_is_not_archived_as_it_is() -> None:
    with connect() as storage:
        current = EntitySet(storage, "Current", KEY, mappings=[Backwards("LastName")])
        plain = EntitySet(storage, "Former", KEY)
        other = EntitySet(storage, "Former", KEY, mappings=[Backwards("FirstName")])
        for target in (plain, other, BlobArchive(storage, "former")):
            with pytest.raises(BadDesign, match="LastName"):
                Archive(current, target)


async def test_what_both_sets_store_otherwise_is_moved_as_it_is_meant(
    storage: Any, new_name: Callable[..., str], queue_name: str, work: Work
) -> None:
    mapped = (EntitySet(storage, new_name(), KEY, mappings=[Backwards("LastName")]) for _ in range(2))
    sets: list[Any] = list(mapped)
    archive: Any = Archive(*sets, queue=queue_name)
    await archive.archive(await sets[0].insert(jones()))
    await work(archive)
    assert await sets[1].get(**ID) == jones()
    assert (await sets[1].table.get(*KEYS))["LastName"] == "senoJ"


def test_names_follow_from_the_table_unless_given() -> None:
    with connect() as storage:
        archive = Archive(EntitySet(storage, "Current", KEY), EntitySet(storage, "Former", KEY))
        assert (archive.queue, archive.kind) == ("current-archive", "archive Current")
