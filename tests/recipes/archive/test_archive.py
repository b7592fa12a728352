"""Archive: an entity is always in at least one place, and is the same in both."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import pytest

from support.archive_moves import ID, KEY, KEYS, Work, interrupt, jones
from support.queue_workers import message
from tablepatterns import Archive, BlobArchive, EntitySet, IntraPartitionIndex, Key, LogTail, Worker, connect
from tablepatterns.entity_set.mapping import Encoded, PropertyMapping
from tablepatterns.errors import BadDesign, BadInput, BadKey, EntityAlreadyExists, LimitExceeded
from tablepatterns.recipes.worker import Report
from tablepatterns_engine.account import Engine

BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


# ------------------------------------------------------------------ there and back


@pytest.mark.guide("G-141", "G-143", "G-162")
async def test_an_archived_entity_is_in_the_archive_and_nowhere_else(current: Any, archive: Any, work: Work) -> None:
    await archive.archive(await current.insert(jones()))
    assert await current.get(**ID) is not None
    assert await archive.get(**ID) is None
    assert await work(archive) == Report(received=1, handled=1)
    assert await current.get(**ID) is None
    assert await archive.get(**ID) == jones()


@pytest.mark.guide("G-143", "G-145", "G-146")
async def test_a_move_takes_five_requests_in_the_order_that_loses_nothing(
    storage: Any, current: Any, former: Any, to_table: Any, engine: Engine
) -> None:
    await former.create_table()
    entity = await current.insert(jones())
    await storage.queue(to_table.queue).create()
    with engine.ledger.span() as enqueued:
        await to_table.archive(entity)
    assert [(record.operation, record.billable) for record in enqueued.records] == [("PutMessage", 1)]
    worker: Any = Worker(storage, [to_table])
    with engine.ledger.span() as moved:
        await worker.run_once()
    assert [(record.operation, record.table, record.billable) for record in moved.records] == [
        ("GetMessages", to_table.queue, 1),
        ("QueryEntity", current.table.name, 1),
        ("InsertEntity", former.table.name, 1),
        ("DeleteEntity", current.table.name, 1),
        ("DeleteMessage", to_table.queue, 1),
    ]


@pytest.mark.guide("G-150")
async def test_the_whole_flow_twice_gives_the_same_state(current: Any, archive: Any, work: Work) -> None:
    entity = await current.insert(jones())
    for _ in range(2):
        await archive.archive(entity)
    assert await work(archive) == Report(received=2, handled=2)
    assert (await current.get(**ID), await archive.get(**ID)) == (None, jones())
    await archive.archive(ID)
    await work(archive)
    assert (await current.get(**ID), await archive.get(**ID)) == (None, jones())


@pytest.mark.guide("G-148")
async def test_a_copy_from_an_earlier_attempt_is_overwritten(
    storage: Any, current: Any, archive: Any, target: Any, work: Work
) -> None:
    await archive._there.insert(KEYS, {"LastName": "Jnoes", "Old": True})
    await archive.archive(await current.insert(jones()))
    assert await work(archive) == Report(received=1, handled=1)
    assert (await current.get(**ID), await archive.get(**ID)) == (None, jones())


@pytest.mark.guide("G-145", "G-149")
async def test_an_entity_that_is_not_there_any_more_counts_as_done(archive: Any, work: Work) -> None:
    await archive.archive(ID)
    assert await work(archive) == Report(received=1, handled=1)
    assert await archive.get(**ID) is None


@pytest.mark.guide("G-162")
async def test_the_archive_can_be_another_partition_or_another_account(
    backend: Any, storage: Any, current: Any, queue_name: str, work: Work
) -> None:
    former: Any = EntitySet(storage, current.table.name, Key("former_{Department}", "{EmployeeId:06d}"))
    archive: Any = Archive(current, former, queue=queue_name)
    await archive.archive(await current.insert(jones()))
    await work(archive)
    assert await former.get(**ID) == jones()
    assert (await former.get(**ID)).partition_key == "former_Sales"
    await archive.restore(ID)
    await work(archive)
    assert (await former.get(**ID), await current.get(**ID)) == (None, jones())


@pytest.mark.guide("G-162")
async def test_the_archive_can_be_another_account(
    backend: Any, engine: Engine, current: Any, queue_name: str, work: Work
) -> None:
    elsewhere = Engine()
    former: Any = EntitySet(backend.connect(elsewhere), current.table.name, KEY)
    archive: Any = Archive(current, former, queue=queue_name)
    await archive.archive(await current.insert(jones()))
    await work(archive)
    assert (await current.get(**ID), await former.get(**ID)) == (None, jones())
    assert elsewhere.ledger.totals.by_operation["InsertEntity"] == 2


async def test_a_key_of_instants_and_ids_is_found_again(
    storage: Any, table_name: str, queue_name: str, work: Work
) -> None:
    claims: Any = LogTail(storage, table_name, "{Employee}")
    archive: Any = Archive(claims, BlobArchive(storage, "former"), queue=queue_name)
    claim = await claims.append({"Employee": "Jones.", "Amount": 1.5})
    await archive.archive(claim)
    await work(archive)
    fields = {name: claim[name] for name in claims.key.fields}
    assert (await claims.get(**fields), await archive.get(**fields)) == (None, dict(claim))


# ------------------------------------------------------------------ while others write


@pytest.mark.guide("G-151", "G-159")
async def test_between_insert_and_delete_the_entity_is_in_both_places(
    current: Any, archive: Any, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def look() -> None:
        seen.append((await current.get(**ID), await archive.get(**ID)))

    await archive.archive(await current.insert(jones()))
    interrupt(monkeypatch, archive._here, "delete", look)
    await work(archive)
    assert seen == [(jones(), jones())]


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("word", ["insert", "get", "replace", "delete"])
async def test_a_move_in_the_middle_of_a_move_the_other_way_loses_nothing(
    current: Any, archive: Any, work: Work, monkeypatch: pytest.MonkeyPatch, word: str, back: bool
) -> None:
    first, second = (archive.restore, archive.archive) if back else (archive.archive, archive.restore)
    stores = archive._here, archive._there
    store = stores[(word == "delete") == back]

    async def move() -> None:
        await second(ID)
        await work(archive)

    await archive._there.insert(KEYS, {"LastName": "Jones"})
    await current.insert(jones())
    await first(ID)
    interrupt(monkeypatch, store, word, move)
    await work(archive)
    held = [await current.get(**ID), await archive.get(**ID)]
    assert [each for each in held if each is not None] == [jones()]


@pytest.mark.guide("G-156", "G-157")
async def test_what_is_busy_is_tried_again(current: Any, to_table: Any, work: Work, engine: Engine) -> None:
    await to_table.archive(await current.insert(jones()))
    busy = engine.faults.busy(service="table", probability=0.3, seed=1)
    late = engine.faults.time_out(service="queue", probability=0.3, seed=1)
    with busy, late:
        assert (await work(to_table)).handled == 1
    assert (await current.get(**ID), await to_table.get(**ID)) == (None, jones())
    assert busy.hits > 0
    assert late.hits > 0


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


def test_names_follow_from_the_table_unless_given() -> None:
    with connect() as storage:
        archive = Archive(EntitySet(storage, "Current", KEY), EntitySet(storage, "Former", KEY))
        assert (archive.queue, archive.kind) == ("current-archive", "archive Current")
