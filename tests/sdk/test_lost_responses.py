"""Lost responses: a write that was carried out is recognized, and another's write is never taken for ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import ClientAuthenticationError, ServiceResponseError

from support.employees import by_email, employees_of, jones, rows_of
from support.unreliable_transport import connect_unreliable
from tablepatterns import BulkLoad, DataSeries, Entity, EntitySet, Key, aio, connect
from tablepatterns.entity import MAX_WRITE_IDS, measure
from tablepatterns.errors import EntityAlreadyExists, EntityChanged, EntityNotFound, OutcomeUnknown, TooMuchContention
from tablepatterns.limits import KIB, MAX_ENTITY_BYTES
from tablepatterns.recipe import as_async
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import PORTS, Listeners
from tablepatterns_engine.serving import serving

pytestmark = pytest.mark.both_sdks

KINDS = ["response lost", "request lost", "timed out", "busy"]
ID = {"Department": "Sales", "EmployeeId": 223}
PLAIN = Key("{Department}", "empid_{EmployeeId:06d}")


@pytest.fixture(params=KINDS)
def first_fails(request: pytest.FixtureRequest) -> Callable[[int], str | None]:
    """A plan by which the first write fails in one of the ways, and all others pass."""
    return lambda number: request.param if number == 0 else None


@pytest.fixture(params=["one row", "several rows"])
def set_on(request: pytest.FixtureRequest, table_name: str) -> Callable[[Any], Any]:
    """A function that gives a set of which each write is a single request, or an entity group transaction."""
    derived = [by_email] if request.param == "several rows" else []
    return lambda storage: EntitySet(storage, table_name, PLAIN, derived=derived)


@pytest.fixture
def reliable(storage: Any, set_on: Callable[[Any], Any]) -> Any:
    return set_on(storage)


@pytest.fixture
def flaky(backend: Any, engine: Engine, set_on: Callable[[Any], Any], first_fails: Any) -> Any:
    return set_on(connect_unreliable(backend, engine, first_fails))


@pytest.mark.guide("G-107")
async def test_an_insert_is_carried_out_once(flaky: Any, reliable: Any) -> None:
    await reliable.table.create()
    written = await flaky.insert(jones())
    found = await reliable.get(**ID)
    assert found == jones()
    assert (found.etag, found.timestamp) == (written.etag, written.timestamp)
    await flaky.merge(written, {"Age": 35})


async def test_an_insert_whose_connection_broke_is_carried_out_once(reliable: Any, engine: Engine) -> None:
    await reliable.table.create()
    engine.faults.lose_response(table=reliable.table.name, times=1)
    written = await reliable.insert(jones())
    assert (await reliable.get(**ID)).etag == written.etag


async def test_an_insert_of_what_another_inserted_is_still_rejected(flaky: Any, reliable: Any) -> None:
    await reliable.insert(jones())
    with pytest.raises(EntityAlreadyExists):
        await flaky.insert(jones())


async def test_a_change_is_carried_out_once(flaky: Any, reliable: Any) -> None:
    await reliable.insert(jones())
    entity = await flaky.get(**ID)
    await flaky.merge(entity, {"Age": 35})
    assert (await reliable.get(**ID)).etag == entity.etag
    await flaky.replace(entity)


async def test_a_counter_counts_each_addition_once(
    backend: Any, engine: Engine, set_on: Callable[[Any], Any], reliable: Any
) -> None:
    await reliable.insert(jones(Age=0))
    counters = set_on(connect_unreliable(backend, engine, lambda number: KINDS[number % 5] if number % 5 < 4 else None))
    for _ in range(10):
        await counters.update(lambda each: each.update(Age=each["Age"] + 1), **ID)
    assert (await reliable.get(**ID))["Age"] == 10


async def test_an_equal_change_of_another_is_not_taken_for_ours(
    backend: Any, engine: Engine, set_on: Callable[[Any], Any], reliable: Any
) -> None:
    await reliable.insert(jones(Age=0))

    def meddle(number: int) -> str | None:
        if number:
            return None
        current = engine.tables.get(reliable.table.name, "Sales", "empid_000223")
        assert current.properties["Age"] == 0
        return "request lost"

    entity = await set_on(connect_unreliable(backend, engine, meddle)).get(**ID)
    flaky = set_on(connect_unreliable(backend, engine, meddle))
    await reliable.merge(await reliable.get(**ID), {"Age": 0})
    with pytest.raises(EntityChanged):
        await flaky.merge(entity, {"Age": 0})


def counted(employee: Entity) -> None:
    employee["Age"] += 1


def overtaken(backend: Any, engine: Engine, others: Callable[[Any], None]) -> Any:
    """Return a storage whose first write is carried out and its response lost, and others write before the second."""

    def plan(number: int) -> str | None:
        if number == 1:
            others(connect(engine))
        return None if number else "response lost"

    return connect_unreliable(backend, engine, plan)


@pytest.mark.parametrize("others", [1, MAX_WRITE_IDS - 1])
async def test_a_change_is_recognised_though_others_have_built_on_it(
    backend: Any, engine: Engine, set_on: Callable[[Any], Any], reliable: Any, others: int
) -> None:
    def count(storage: Any) -> None:
        for _ in range(others):
            set_on(storage).update(counted, **ID)

    await reliable.insert(jones(Age=0))
    updated = await set_on(overtaken(backend, engine, count)).update(counted, **ID)
    assert updated["Age"] == 1
    assert (await reliable.get(**ID))["Age"] == 1 + others
    with pytest.raises(EntityChanged):
        await reliable.replace(updated)


async def test_an_insert_is_recognised_though_others_have_built_on_it(
    backend: Any, engine: Engine, set_on: Callable[[Any], Any], reliable: Any
) -> None:
    await reliable.table.create()
    mine = set_on(overtaken(backend, engine, lambda storage: set_on(storage).update(counted, **ID)))
    assert (await mine.insert(jones(Age=0)))["Age"] == 0
    assert (await reliable.get(**ID))["Age"] == 1


async def test_the_outcome_of_an_update_is_unknown_after_too_many_other_writes(
    backend: Any, engine: Engine, set_on: Callable[[Any], Any], reliable: Any
) -> None:
    def count(storage: Any) -> None:
        for _ in range(MAX_WRITE_IDS):
            set_on(storage).update(counted, **ID)

    await reliable.insert(jones(Age=0))
    with pytest.raises(OutcomeUnknown, match="to see whether it has the change"):
        await set_on(overtaken(backend, engine, count)).update(counted, **ID)


async def test_the_outcome_of_an_update_is_unknown_if_another_program_wrote_the_row(
    backend: Any, engine: Engine, storage: Any, table_name: str
) -> None:
    def overwrite(other: Any) -> None:
        row = {"PartitionKey": "Sales", "RowKey": "empid_000223", "Age": 7}
        other.tables.get_table_client(table_name).upsert_entity(row, mode="replace")

    await EntitySet(storage, table_name, PLAIN).insert(jones(Age=0))
    mine = EntitySet(overtaken(backend, engine, overwrite), table_name, PLAIN)
    with pytest.raises(OutcomeUnknown):
        await mine.update(counted, **ID)


async def test_a_row_that_ours_never_reached_shows_so(
    backend: Any, engine: Engine, set_on: Callable[[Any], Any], reliable: Any
) -> None:
    def plan(number: int) -> str | None:
        if number == 1:
            set_on(connect(engine)).update(counted, **ID)
        return None if number else "request lost"

    await reliable.insert(jones(Age=0))
    mine = set_on(connect_unreliable(backend, engine, plan))
    entity = await mine.get(**ID)
    with pytest.raises(EntityChanged):
        await mine.merge(entity, {"Age": 9})
    assert (await reliable.get(**ID))["Age"] == 1


async def test_an_insert_makes_its_table_though_every_first_answer_is_lost(
    storage: Any, engine: Engine, table_name: str
) -> None:
    employees = employees_of(storage, table_name)
    with (
        engine.faults.lose_response(operation="InsertEntity", times=1),
        engine.faults.lose_response(operation="CreateTable", times=1),
    ):
        await employees.insert(jones())
    assert len(await rows_of(storage, table_name)) == 2


async def test_an_incomplete_response_counts_as_lost(reliable: Any, engine: Engine) -> None:
    await reliable.insert(jones(Age=0))
    with engine.faults.break_body(3, table=reliable.table.name, times=2):
        await reliable.insert(jones(EmployeeId=152, Email="jo@contoso.com"))
    assert {each["EmployeeId"] async for each in reliable.range(Department="Sales")} == {152, 223}


async def test_when_every_answer_breaks_off_the_networks_error_is_raised(
    storage: Any, engine: Engine, table_name: str
) -> None:
    employees = EntitySet(storage, table_name, PLAIN)
    await employees.table.create()
    with engine.faults.break_body(3, operation="InsertEntity"), pytest.raises(ServiceResponseError, match="incomplete"):
        await employees.insert(jones())


async def test_a_load_continues_after_an_incomplete_response(storage: Any, engine: Engine, table_name: str) -> None:
    employees = EntitySet(storage, table_name, PLAIN)
    await employees.table.create()
    with engine.faults.break_body(3, table=table_name, times=1):
        loaded = await BulkLoad(employees).load([jones(EmployeeId=223)])
    assert loaded.entities == 1
    assert len(await rows_of(storage, table_name)) == 1


class NoCredential:
    """A credential that cannot be had, and says so in a way that looks like an answer of the service."""

    def get_token(self, *scopes: str, **options: Any) -> Any:
        raise ClientAuthenticationError("no user is signed in")


def test_an_error_of_a_credential_is_not_a_lost_response(engine: Engine) -> None:
    with connect(engine, credential=NoCredential()) as storage, pytest.raises(ClientAuthenticationError):
        EntitySet(storage, "Staff", PLAIN).insert(jones())


@pytest.mark.parametrize("derived", [[], [by_email]], ids=["one row", "several rows"])
@pytest.mark.parametrize("style", ["sync", "aio"])
async def test_over_http_an_incomplete_response_counts_as_lost(engine: Engine, style: str, derived: Any) -> None:
    ports = Listeners(ports=dict.fromkeys(PORTS, 0))
    with serving(engine, ports) as target:
        storage: Any = aio.connect(target) if style == "aio" else connect(target)
        employees = EntitySet(as_async(storage), "Staff", PLAIN, derived=derived)
        await employees.table.create()
        with engine.faults.break_body(3, table="Staff", times=1):
            await employees.insert(jones(EmployeeId=152))
        assert len(engine.tables.query("Staff").entities) == 1 + len(derived)
        await storage.close() if style == "aio" else storage.close()


async def test_a_delete_whose_answer_was_lost_is_done(flaky: Any, reliable: Any, storage: Any) -> None:
    await reliable.insert(jones())
    await flaky.delete(await flaky.get(**ID))
    assert await rows_of(storage, reliable.table.name) == {}


async def test_a_delete_of_what_never_was_is_still_rejected(reliable: Any) -> None:
    entity = await reliable.insert(jones())
    await reliable.delete(await reliable.get(**ID))
    with pytest.raises(EntityNotFound):
        await reliable.delete(entity)


async def test_when_nothing_gets_through_the_networks_error_is_raised(
    backend: Any, engine: Engine, table_name: str, storage: Any
) -> None:
    await storage.table(table_name).create()
    cut_off = employees_of(connect_unreliable(backend, engine, lambda number: "request lost"), table_name)
    with pytest.raises(ServiceResponseError):
        await cut_off.insert(jones())
    assert await rows_of(storage, table_name) == {}


async def test_a_plain_conflict_costs_no_second_read(storage: Any, engine: Engine, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    await employees.insert(jones())
    with engine.ledger.span() as span, pytest.raises(EntityAlreadyExists):
        await employees.insert(jones())
    assert span.totals.requests == 1


@pytest.mark.parametrize("others", [MAX_WRITE_IDS, MAX_WRITE_IDS + 3])
async def test_the_outcome_of_an_insert_is_unknown_after_too_many_other_writes(
    backend: Any, engine: Engine, set_on: Callable[[Any], Any], reliable: Any, others: int
) -> None:
    def count(storage: Any) -> None:
        for _ in range(others):
            set_on(storage).update(counted, **ID)

    await reliable.table.create()
    with pytest.raises(OutcomeUnknown):
        await set_on(overtaken(backend, engine, count)).insert(jones(Age=0))
    assert (await reliable.get(**ID))["Age"] == others


@pytest.mark.parametrize("overwrite", ["replace", "delete"])
async def test_the_outcome_of_an_insert_is_unknown_if_another_program_overwrote_it(
    backend: Any, engine: Engine, storage: Any, table_name: str, overwrite: str
) -> None:
    def write(other: Any) -> None:
        rows = other.tables.get_table_client(table_name)
        row = {"PartitionKey": "Sales", "RowKey": "empid_000223"}
        rows.upsert_entity(row, mode="replace") if overwrite == "replace" else rows.delete_entity(row)

    await storage.table(table_name).create()
    mine = EntitySet(overtaken(backend, engine, write), table_name, PLAIN)
    if overwrite == "replace":
        with pytest.raises(OutcomeUnknown):
            await mine.insert(jones())
    else:
        # Nothing is left of a deleted row that could tell: a known limit
        await mine.insert(jones())


async def test_the_outcome_of_a_merge_is_unknown_without_room_for_a_write_id(
    backend: Any, engine: Engine, storage: Any, table_name: str
) -> None:
    reliable = EntitySet(storage, table_name, PLAIN)
    await reliable.insert({**ID, **{f"P{number:02d}": b"" for number in range(16)}})
    mine = EntitySet(overtaken(backend, engine, lambda other: None), table_name, PLAIN)
    read = await mine.get(**ID)
    full = {f"P{number:02d}": bytes(64 * KIB) for number in range(15)}
    # 60 bytes are left of 1 MiB: enough for the id that the row has, but not for those of four writes
    empty = measure({"PartitionKey": "Sales", "RowKey": "empid_000223", "P15": b""} | full).size
    full["P15"] = bytes(MAX_ENTITY_BYTES - 60 - empty)
    with pytest.raises(OutcomeUnknown):
        await mine.merge(read, full)


@pytest.mark.parametrize("others", [0, 1, MAX_WRITE_IDS - 1, MAX_WRITE_IDS])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_point_that_is_set_undoes_no_count(
    backend: Any, engine: Engine, storage: Any, table_name: str, kind: str, others: int
) -> None:
    def series_on(account: Any) -> Any:
        return DataSeries(account, table_name, Key("{Employee}", ""), 4, prefix="Hour", value_type=int)

    def add() -> None:
        for _ in range(others):
            series_on(connect(engine)).add(3, 1, Employee="223")

    reliable = series_on(storage)
    await reliable.set(3, 5, Employee="223")
    flaky = series_on(connect_unreliable(backend, engine, lambda number: None if number else kind, add))
    raised = None
    try:
        await flaky.set(3, 10, Employee="223")
    except OutcomeUnknown as error:
        raised = error
    (found,) = await reliable.read([3], Employee="223")
    if kind in ("response lost", "timed out"):
        assert found == 10 + others
        assert (raised is not None) == (others >= MAX_WRITE_IDS)
    else:
        # That it was not carried out is known only where the service says so
        assert (raised is None) == (kind == "busy")
        assert found == (5 + others if raised else 10)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_upsert_makes_its_row_once_whatever_is_lost(
    backend: Any, engine: Engine, storage: Any, table_name: str, kind: str
) -> None:
    reliable = EntitySet(storage, table_name, PLAIN)
    await reliable.table.create()
    flaky = EntitySet(connect_unreliable(backend, engine, lambda number: None if number else kind), table_name, PLAIN)
    written = await flaky.insert_or_replace(jones())
    assert (await reliable.get(**ID)).etag == written.etag
    await reliable.replace(written | {"Age": 35})


@pytest.mark.parametrize("kind", ["response lost", "timed out"])
async def test_an_unconditional_delete_does_not_delete_what_another_inserted_since(
    backend: Any, engine: Engine, storage: Any, table_name: str, kind: str
) -> None:
    def insert_again() -> None:
        EntitySet(connect(engine), table_name, PLAIN).insert(jones(Age=1))

    reliable = EntitySet(storage, table_name, PLAIN)
    await reliable.insert(jones())
    plan = connect_unreliable(backend, engine, lambda number: None if number else kind, insert_again)
    with pytest.raises(OutcomeUnknown):
        await EntitySet(plan, table_name, PLAIN).delete(ID, force=True)
    assert (await reliable.get(**ID))["Age"] == 1


@pytest.mark.parametrize(("others", "is_made"), [(3, True), (30, False)])
async def test_an_upsert_whose_request_was_lost_is_made_between_others(
    backend: Any, engine: Engine, storage: Any, table_name: str, others: int, is_made: bool
) -> None:
    reliable = EntitySet(storage, table_name, PLAIN)
    await reliable.insert(jones(Age=0))

    def plan(number: int) -> str | None:
        if 1 <= number <= others:
            theirs: Any = EntitySet(connect(engine), table_name, PLAIN)
            theirs.update(counted, **ID)
        return None if number else "request lost"

    write = EntitySet(connect_unreliable(backend, engine, plan), table_name, PLAIN).insert_or_replace(jones(Age=90))
    if is_made:
        await write
    else:
        with pytest.raises(TooMuchContention):
            await write
    assert (await reliable.get(**ID))["Age"] == (90 if is_made else 10)
