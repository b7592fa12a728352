"""Programs that write with the plain SDK beside the library, explored with a lost response at every request.

Such a program keeps no ids of writes: its merge leaves the `WriteId` of the row as it was. A write of it that
succeeded stays, whatever recipe writes the same row before or after it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError

from support.employees import by_email, jones
from support.encrypted_staff import encrypted
from tablepatterns import (
    BulkDelete,
    BulkLoad,
    CopiedFields,
    DataSeries,
    EntityGroupTransaction,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    Key,
    LogTail,
    Summary,
    WideEntity,
    prop,
)
from tablepatterns.entity import write_ids_of
from tablepatterns.errors import EntityAlreadyExists, EntityChanged, EntityNotFound, LoadInterrupted, OutcomeUnknown
from tablepatterns.messages.lease import Lease
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.recipes.eventual_transaction import EventualTransaction
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.partition_move import PartitionMove
from tablepatterns.sdk import table, write_outcome
from tablepatterns_explore import Counterexample, World, explore

STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
ID = {"Department": "Sales", "EmployeeId": 223}
KEYS = {"PartitionKey": "Sales", "RowKey": "empid_000223"}
QUEUE = "staff-work"
START = datetime(2014, 8, 22, tzinfo=timezone.utc)
REJECTED = (EntityAlreadyExists, EntityChanged, EntityNotFound, LoadInterrupted, OutcomeUnknown)
NOTE = {"Note": "theirs", "Age": 70}

Actor = Callable[[World], Coroutine[Any, Any, Any]]
Make = Callable[[World], dict[str, Any]]
Program = Callable[[World, dict[str, str]], Coroutine[Any, Any, bool]]


# -- the other program


async def merges(world: World, keys: dict[str, str]) -> bool:
    """Merge a property into a row, and tell whether it was there."""
    try:
        await world.table_client("Staff").update_entity(keys | NOTE, mode="merge")
    except ResourceNotFoundError:
        return False
    return True


async def replaces(world: World, keys: dict[str, str]) -> bool:
    """Write a row back with one more property, on condition of its ETag, and tell whether that was done."""
    client = world.table_client("Staff")
    try:
        row = await client.get_entity(*keys.values())
        row.update(NOTE)
        unchanged: Any = {"etag": row.metadata["etag"], "match_condition": MatchConditions.IfNotModified}
        await client.update_entity(row, mode="replace", **unchanged)
    except (ResourceNotFoundError, ResourceModifiedError):
        return False
    return True


# -- what recipes do: each writes an entity, and writes it once more as it was returned


def staff_of(world: World, **options: Any) -> Any:
    return EntitySet(world.storage, "Staff", STAFF, **options)


async def write_back(entities: Any, written: Any) -> None:
    await entities.replace(written | {"Age": 36})


def inserting(**options: Any) -> Actor:
    async def actor(world: World) -> None:
        staff = staff_of(world, **options)
        await write_back(staff, await staff.insert(jones()))

    return actor


def updating(**options: Any) -> Actor:
    async def actor(world: World) -> None:
        staff = staff_of(world, **options)
        await write_back(staff, await staff.update(lambda found: found.update(Age=35), **ID))

    return actor


def merging(**options: Any) -> Actor:
    async def actor(world: World) -> None:
        staff = staff_of(world, **options)
        await write_back(staff, await staff.merge(await staff.get(**ID), {"Age": 35}))

    return actor


async def in_a_transaction(world: World) -> None:
    staff = staff_of(world)
    transaction = EntityGroupTransaction(world.storage, "Staff")
    changes = staff.replacing(await staff.get(**ID) | {"Age": 35}), staff.inserting(jones(EmployeeId=7))
    written, _ = await transaction.commit(*changes)
    await write_back(staff, written)


def wide_of(world: World) -> Any:
    return WideEntity(world.storage, "Staff", STAFF)


async def wide_inserted(world: World) -> None:
    wide = wide_of(world)
    await write_back(wide, await wide.insert(jones()))


async def wide_replaced(world: World) -> None:
    wide = wide_of(world)
    await write_back(wide, await wide.replace(await wide.get(**ID) | {"Age": 35}))


async def wide_merged(world: World) -> None:
    wide = wide_of(world)
    await write_back(wide, await wide.merge(await wide.get(**ID), {"Age": 35}))


async def moved(world: World) -> None:
    move = PartitionMove(staff_of(world), queue=QUEUE)
    await move.move(await move.entity_set.get(**ID), Department="Finance")


async def loaded(world: World) -> None:
    await BulkLoad(staff_of(world)).load([jones(), jones(EmployeeId=224)])


async def deleted_in_bulk(world: World) -> None:
    keys = (prop("PartitionKey") == "Sales") & (prop("RowKey") >= "empid_") & (prop("RowKey") < "empid`")
    # Nobody of that age has been written by the other program
    await BulkDelete(staff_of(world)).delete(keys & (prop("Age") == 34))


async def in_an_eventual_transaction(world: World) -> None:
    staff = staff_of(world)

    async def grow_older(body: Any) -> None:
        await staff.update(lambda found: found.update(Age=35), **ID)

    transaction = EventualTransaction(world.storage, QUEUE, "birthday", [grow_older])
    await transaction.start({})
    await handled(world, transaction)


async def archived(world: World) -> None:
    archive = Archive(staff_of(world), EntitySet(world.storage, "Former", STAFF), queue=QUEUE)
    await archive.archive(ID)
    await handled(world, archive)


async def handled(world: World, handler: Any) -> None:
    """Handle the messages of a queue once, as a worker does."""
    queue = world.storage.queue(QUEUE)
    for message in await queue.receive(1, lease=60):
        lease = Lease(world.storage, queue, message, 60)
        await handler.handle(lease)
        await lease.complete()


def tail_of(world: World) -> Any:
    return LogTail(world.storage, "Staff", "{Department}")


async def appended(world: World) -> None:
    tail = tail_of(world)
    await write_back(tail, await tail.append(ENTRY))


LOG_KEY = Key("{Department}", "{At:inverted}_{EntryId:uuid}")
ENTRY = {"Department": "Sales", "At": START, "EntryId": UUID(int=1)}
BY_NAME = IndexEntity("LastName")
COPIES = InterPartitionIndex(Key("{Department}", "{Email}"), table="Emails")
TOTALS = Summary(Key("{Department}", "total"), sums={"Age": "Ages"})
HEAD = CopiedFields(
    Key("{Department}", "department"),
    refers={"Department": "Department", "EmployeeId": "HeadId"},
    copies={"Email": "HeadEmail"},
)
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "index in the partition": {"derived": [by_email]},
    "index in other partitions": {"derived": [COPIES]},
    "index entities": {"derived": [BY_NAME]},
    "summary": {"derived": [TOTALS]},
    "copied fields": {"derived": [HEAD]},
    "large property": {"mappings": [LargeProperties(["LastName"], container="names", above=0)]},
    "encrypted property": {"mappings": [encrypted("LastName")]},
}


@dataclass(frozen=True)
class Scenario:
    """What a recipe does, beside another program.

    :param actor: the recipe at work
    :param options: the options of the set
    :param exists: whether the entity is there before
    :param row_key: the row that the other program writes
    """

    actor: Actor
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    exists: bool = True
    row_key: str = KEYS["RowKey"]
    insert: Callable[[World], Coroutine[Any, Any, Any]] | None = None

    def prepare(self, world: World) -> None:
        for name in ("Staff", "Former", "Emails"):
            world.engine.tables.create(name)
        for queue in (QUEUE, "staff-intents"):
            world.engine.queues.create(queue)
        if any(isinstance(each, LargeProperties) for each in self.options.get("mappings", ())):
            world.prepare(world.storage.container("names").create())
        if self.exists:
            world.prepare((self.insert or inserted(self.options))(world))

    def beside(self, program: Program) -> Make:
        def make(world: World) -> dict[str, Any]:
            self.prepare(world)
            return {"ours": self.actor(world), "theirs": program(world, KEYS | {"RowKey": self.row_key})}

        return make


def inserted(options: dict[str, Any]) -> Actor:
    async def actor(world: World) -> None:
        await staff_of(world, **options).insert(jones())

    return actor


async def inserted_wide(world: World) -> None:
    await wide_of(world).insert(jones())


HEAD = "empid_000223_01"
INDEXED = KINDS["index in the partition"]
SCENARIOS = {
    **{f"insert, {name}": Scenario(inserting(**options), options, exists=False) for name, options in KINDS.items()},
    **{f"update, {name}": Scenario(updating(**options), options) for name, options in KINDS.items()},
    "merge, plain": Scenario(merging()),
    "merge, index in the partition": Scenario(merging(**INDEXED), INDEXED),
    "entity group transaction": Scenario(in_a_transaction),
    "wide entity, insert": Scenario(wide_inserted, exists=False, row_key=HEAD),
    "wide entity, replace": Scenario(wide_replaced, row_key=HEAD, insert=inserted_wide),
    "wide entity, merge": Scenario(wide_merged, row_key=HEAD, insert=inserted_wide),
    "log tail": Scenario(appended, exists=False, row_key=LOG_KEY.format(ENTRY)[1]),
    "partition move": Scenario(moved),
    "bulk load": Scenario(loaded, exists=False),
    "bulk delete": Scenario(deleted_in_bulk),
    "eventual transaction": Scenario(in_an_eventual_transaction),
    "archive": Scenario(archived),
}


AT_NIGHT = [f"update, {name}" for name in ("index in other partitions", "large property", "summary", "copied fields")]
"""Each takes a second; an insert of the same kind runs in every run."""


def rows(world: World) -> list[dict[str, Any]]:
    """Return the rows of the entity, at all places."""
    found = [row for table in ("Staff", "Former") for row in world.engine.tables.query(table).entities]
    return [dict(row.properties) for row in found if not row.row_key.startswith(("email_", "lastname_", "total"))]


def what_they_wrote_is_there(world: World) -> None:
    if world.returned.get("theirs"):
        assert any(row.get("Note") == NOTE["Note"] for row in rows(world)), "a write of another program was lost"


def explored(
    make: Callable[[World], dict[str, Any]], invariant: Any = what_they_wrote_is_there, **options: Any
) -> None:
    bound: Any = {"lost_responses": 1, "preemptions": 1, "expected": REJECTED} | options
    result = explore(make, invariant=invariant, **bound)
    print(f"{result}; {result.states:,} states, {result.choices:,} steps, {result.seconds:.1f} s")
    assert result.exhaustive


@pytest.mark.parametrize(
    ("scenario", "program"),
    [
        # In every run each recipe meets one of the two programs, in turn
        pytest.param(
            scenario,
            program,
            marks=[] if (number + turn) % 2 and scenario not in AT_NIGHT else pytest.mark.nightly,
        )
        for number, scenario in enumerate(SCENARIOS)
        for turn, program in enumerate((merges, replaces))
    ],
)
@pytest.mark.few(12)
def test_what_another_program_writes_is_not_lost(scenario: str, program: Program) -> None:
    explored(SCENARIOS[scenario].beside(program))


# -- writes without a condition


async def counts(world: World, name: str) -> int | None:
    """Add 1 to a property with the plain SDK, unless the row has changed, and return what was written."""
    client = world.table_client("Staff")
    row = await client.get_entity(*KEYS.values())
    unchanged: Any = {"etag": row.metadata["etag"], "match_condition": MatchConditions.IfNotModified}
    try:
        await client.update_entity(KEYS | {name: row[name] + 1}, mode="merge", **unchanged)
    except ResourceModifiedError:
        return None
    return int(row[name]) + 1


def series_of(world: World) -> Any:
    return DataSeries(world.storage, "Staff", STAFF, 4, prefix="Hour", value_type=int)


async def sets_a_point(world: World) -> None:
    await series_of(world).set(1, 10, **ID)


async def sets_a_point_twice(world: World) -> None:
    # The second is made on a row that does not show all its writes
    await series_of(world).set(1, 9, **ID)
    await series_of(world).set(1, 10, **ID)


async def replaces_whatever_is_there(world: World) -> None:
    await staff_of(world).insert_or_replace({**ID, "Hour1": 10})


async def merges_into_whatever_is_there(world: World) -> None:
    await staff_of(world).insert_or_merge({**ID, "Hour1": 10})


OVERWRITING = [sets_a_point, sets_a_point_twice, replaces_whatever_is_there, merges_into_whatever_is_there]


def overwriting(actor: Actor) -> Make:
    def make(world: World) -> dict[str, Any]:
        for name in ("Staff", "Former"):
            world.engine.tables.create(name)
        of_series = actor in (sets_a_point, sets_a_point_twice)
        world.run(series_of(world).set(1, 0, **ID) if of_series else staff_of(world).insert({**ID, "Hour1": 0}))
        return {"ours": actor(world), "theirs": counts(world, "Hour1")}

    return make


def no_count_is_undone(world: World) -> None:
    (row,) = rows(world)
    # Who counted on from 10 has seen the write, which may not come again
    if world.returned.get("theirs") == 11:
        assert row["Hour1"] == 11, "a write of another program was lost"


@pytest.mark.parametrize("actor", OVERWRITING)
def test_a_write_without_a_condition_is_not_carried_out_twice(actor: Actor) -> None:
    explored(overwriting(actor), no_count_is_undone)


# -- taking an entity exactly once


async def takes(world: World, name: str, *, claims: bool) -> str | None:
    """Take an entity out of a table, and return its taker unless another was faster."""
    staff = staff_of(world)
    found = await staff.get(**ID)
    if found is None or "TakenBy" in found:
        return None
    await staff.delete(await staff.replace(found | {"TakenBy": name}) if claims else found)
    return name


def taking(*, claims: bool) -> Make:
    def make(world: World) -> dict[str, Any]:
        world.engine.tables.create("Staff")
        world.run(staff_of(world).insert(jones()))
        return {name: takes(world, name, claims=claims) for name in ("ann", "bob")}

    return make


def at_most_one_took_it(world: World) -> None:
    assert sum(result is not None for result in world.returned.values()) <= 1, "taken twice"


def test_who_claims_an_entity_before_deleting_it_takes_it_alone() -> None:
    explored(taking(claims=True), at_most_one_took_it, preemptions=2)


# -- broken variants


def test_an_entity_with_the_newest_etag_of_a_row_that_it_does_not_show_is_found(monkeypatch: Any) -> None:
    monkeypatch.setattr(write_outcome, "is_newest", lambda stamp, operation, row: write_ids_of(row)[:1] == (stamp,))
    with pytest.raises(Counterexample, match="was lost"):
        explored(SCENARIOS["merge, plain"].beside(merges))


def test_a_write_without_a_condition_that_is_sent_again_is_found(monkeypatch: Any) -> None:
    monkeypatch.setattr(table.Table, "_sent_once", table.Table._repeated)
    with pytest.raises(Counterexample, match="was lost"):
        explored(overwriting(replaces_whatever_is_there), no_count_is_undone)
