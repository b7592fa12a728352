"""Intents: updates that are announced before a write are completed, whatever happens in between."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from itertools import chain, product
from typing import Any
from uuid import UUID, uuid4

import pytest
from azure.core.exceptions import AzureError
from hypothesis import given
from hypothesis import strategies as st

from support.crashing_client import Crash, Crashed, CrashingTransport, connect_crashing
from support.employees import jones, rows_of
from tablepatterns import EntitySet, InterPartitionIndex, Key, Worker, connect
from tablepatterns.entity_set.intents import Claim, Intent, Trace, shares
from tablepatterns.entity_set.reconcile import ABANDONED_AFTER
from tablepatterns.errors import (
    BadInput,
    BadMessage,
    EntityAlreadyExists,
    EntityChanged,
    LeaseLost,
    TablePatternsError,
)
from tablepatterns.jobs import repair, verify
from tablepatterns.limits import MAX_MESSAGE_BYTES
from tablepatterns.messages.lease import Envelope
from tablepatterns.recipe import new_lock
from tablepatterns_engine.account import Engine
from tablepatterns_explore import World, explore

BY_ID = Key("empid_{Department}", "{EmployeeId:06d}")
BY_EMAIL = Key("email_{Department}", "{Email}")
PRIMARY = ("empid_Sales", "000223")
COPY = ("email_Sales", "jonesj@contoso.com")
LEASE = 60

by_email = InterPartitionIndex(BY_EMAIL)
unique = InterPartitionIndex(BY_EMAIL, unique=True)


def staff_of(storage: Any, table: str, *derived: Any) -> Any:
    return EntitySet(storage, table, BY_ID, derived=derived or (by_email,))


@pytest.fixture
def staff(storage: Any, table_name: str) -> Any:
    return staff_of(storage, table_name)


@pytest.fixture
def queue(table_name: str) -> str:
    return f"{table_name}-intents"


def waiting(engine: Engine, queue: str) -> int:
    return engine.queues.count(queue)


async def expected_of(storage: Any, table: str) -> set[tuple[str, str]]:
    """Return the keys that the copies of the stored primaries should have."""
    staff = EntitySet(storage, table, BY_ID)
    return {("email_Sales", each["Email"]) async for each in staff.scan() if each.get("Email")}


async def copies_of(storage: Any, table: str) -> set[tuple[str, str]]:
    return {keys for keys in await rows_of(storage, table) if keys[0] == "email_Sales"}


# ------------------------------------------------------------------ a process that crashes


@pytest.mark.guide("G-135")
async def test_the_same_message_may_be_handled_again_at_any_time(
    storage: Any, staff: Any, queue: str, table_name: str
) -> None:
    first = await staff.insert(jones())
    traces = (Trace(by_email.name, COPY), Trace(by_email.name, ("email_Sales", "jo@contoso.com")))
    message = Envelope(staff.reconciler().kind, Intent(uuid4(), (Claim(PRIMARY, traces),)).body()).text()
    await staff.merge(first, {"Email": "jo@contoso.com"})
    before = await rows_of(storage, table_name)
    for _ in range(2):
        await storage.queue(queue).send(message)
    assert await staff.process_intents() == 2
    assert await rows_of(storage, table_name) == before


# ------------------------------------------------------------------ a storage account that fails


@pytest.mark.parametrize(
    "failing",
    [{"operation": "InsertEntity", "after": 1}, {"operation": "QueryEntity"}, {"operation": "DeleteMessage"}],
    ids=lambda where: where["operation"],
)
async def test_once_the_entity_is_written_nothing_that_fails_is_raised(
    staff: Any, engine: Engine, queue: str, caplog: pytest.LogCaptureFixture, failing: dict[str, Any]
) -> None:
    await staff.create_table()
    with engine.faults.busy(**failing), caplog.at_level(logging.WARNING, "tablepatterns"):
        entity = await staff.insert(jones())
    assert "left to a worker" in caplog.text
    assert jones()["Email"] not in caplog.text
    assert waiting(engine, queue) == 1
    engine.clock.advance(LEASE)
    assert await staff.process_intents() == 1
    assert (await verify(staff, by_email)).is_clean
    await staff.merge(entity, {"Age": 35})


async def test_what_fails_before_the_entity_is_written_changes_nothing(
    staff: Any, engine: Engine, storage: Any, table_name: str
) -> None:
    await staff.create_table()
    with engine.faults.busy(operation="PutMessage"), pytest.raises(AzureError):
        await staff.insert(jones())
    assert await rows_of(storage, table_name) == {}


async def test_a_write_with_an_unknown_outcome_leaves_its_message(
    staff: Any, engine: Engine, queue: str, storage: Any, table_name: str
) -> None:
    await staff.create_table()
    engine.faults.time_out(executed=True, operation="InsertEntity", times=1)
    engine.faults.busy(operation="InsertEntity")
    with pytest.raises(AzureError):
        await staff.insert(jones())
    engine.faults.clear()
    assert set(await rows_of(storage, table_name)) == {PRIMARY}
    assert waiting(engine, queue) == 1
    engine.clock.advance(LEASE)
    await staff.process_intents()
    assert await copies_of(storage, table_name) == await expected_of(storage, table_name)


# ------------------------------------------------------------------ time that runs out


async def test_a_slow_intent_is_renewed_before_the_entity_is_written(staff: Any, engine: Engine) -> None:
    await staff.create_table()
    with engine.faults.delay(LEASE / 2 + 1, operation="PutMessage"), engine.ledger.span() as span:
        await staff.insert(jones())
    assert [record.operation for record in span.records][-6:] == [
        "PutMessage", "UpdateMessage", "InsertEntity", "InsertEntity", "QueryEntity", "DeleteMessage",
    ]  # fmt: skip


async def test_a_write_stops_if_another_worker_received_its_intent(
    backend: Any, engine: Engine, storage: Any, table_name: str, queue: str
) -> None:
    await staff_of(storage, table_name).create_table()

    def steal(response: Any) -> None:
        if response.http_request.method == "POST" and "messages" in response.http_request.url:
            engine.clock.advance(LEASE)
            assert len(engine.queues.get(queue, visibility=LEASE)) == 1

    await storage.queue(queue).create()
    slow = staff_of(backend.connect(engine, raw_response_hook=steal), table_name)
    with pytest.raises(LeaseLost):
        await slow.insert(jones())
    assert await rows_of(storage, table_name) == {}


async def test_a_message_that_was_processed_before_the_write_ended_is_sent_again(
    backend: Any, engine: Engine, storage: Any, table_name: str, queue: str
) -> None:
    await staff_of(storage, table_name).create_table()

    def steal(response: Any) -> None:
        request = response.http_request
        if request.method == "POST" and request.url.endswith(f"/{table_name}") and not stolen:
            engine.clock.advance(LEASE)
            stolen.extend(engine.queues.get(queue, visibility=LEASE))
            engine.queues.remove(queue, stolen[0].id, stolen[0].receipt)

    stolen: list[Any] = []
    slow = staff_of(backend.connect(engine, raw_response_hook=steal), table_name)
    with engine.ledger.span() as span:
        await slow.insert(jones())
    sent = [record for record in span.records if record.operation == "PutMessage" and record.status == 201]
    assert (len(stolen), len(sent)) == (1, 2)
    assert COPY in await rows_of(storage, table_name)
    assert waiting(engine, queue) == 0


async def test_a_reservation_of_a_crashed_writer_holds_until_its_message_is_processed(
    backend: Any, engine: Engine, storage: Any, table_name: str
) -> None:
    reliable = staff_of(storage, table_name, unique)
    await reliable.create_table()
    await storage.queue(f"{table_name}-intents").create()
    with pytest.raises(Crashed):
        await staff_of(connect_crashing(backend, engine, Crash(1, after=True)), table_name, unique).insert(jones())
    assert set(await rows_of(storage, table_name)) == {COPY}
    assert await reliable.find(unique, Department="Sales", Email=COPY[1]) is None
    assert [each async for each in reliable.range(unique, Department="Sales", select=["Age"])] == []
    with pytest.raises(EntityAlreadyExists):
        await reliable.insert(jones(EmployeeId=224))
    engine.clock.advance(LEASE)
    await reliable.process_intents()
    assert await rows_of(storage, table_name) == {}
    await reliable.insert(jones(EmployeeId=224))


async def test_an_unprocessed_reservation_expires_after_a_day(
    backend: Any, engine: Engine, storage: Any, table_name: str, queue: str
) -> None:
    reliable = staff_of(storage, table_name, unique)
    await reliable.create_table()
    await storage.queue(queue).create()
    with pytest.raises(Crashed):
        await staff_of(connect_crashing(backend, engine, Crash(1, after=True)), table_name, unique).insert(jones())
    engine.queues.clear(queue)
    assert (await verify(reliable, unique)).is_clean
    engine.clock.advance(ABANDONED_AFTER.total_seconds())
    assert not (await verify(reliable, unique)).is_clean
    assert await repair(reliable, unique) == 1
    assert await rows_of(storage, table_name) == {}


# ------------------------------------------------------------------ the messages, and who works them off


async def test_a_worker_completes_the_update_of_a_crashed_writer(
    backend: Any, engine: Engine, storage: Any, staff: Any, table_name: str, queue: str
) -> None:
    await staff.create_table()
    await storage.queue(queue).create()
    with pytest.raises(Crashed):
        await staff_of(connect_crashing(backend, engine, Crash(1, after=True)), table_name).insert(jones())
    assert set(await rows_of(storage, table_name)) == {PRIMARY}
    engine.clock.advance(LEASE)
    report = await Worker(storage, [staff.reconciler()]).run_once()
    assert (report.handled, waiting(engine, queue)) == (1, 0)
    assert set(await rows_of(storage, table_name)) == {PRIMARY, COPY}


async def test_messages_of_other_kinds_are_left_in_the_queue(storage: Any, staff: Any, queue: str) -> None:
    await storage.queue(queue).send(Envelope("other work", {}).text())
    assert await staff.process_intents() == 0
    assert await storage.queue(queue).length() == 1
    await storage.queue(queue).drop()


@pytest.mark.parametrize(
    "body",
    [{}, {"id": "x", "entities": []}, {"id": str(UUID(int=1)), "entities": [{"row": ["a"], "traces": []}]}, {"id": 1}],
    ids=["empty", "no id", "short row", "no entities"],
)
async def test_a_message_that_spells_no_intent_is_rejected(storage: Any, staff: Any, queue: str, body: Any) -> None:
    await storage.queue(queue).send(Envelope(staff.reconciler().kind, body).text())
    with pytest.raises(BadMessage):
        await staff.process_intents()
    await storage.queue(queue).drop()


async def test_a_message_of_derived_data_that_is_not_declared_is_rejected(storage: Any, staff: Any, queue: str) -> None:
    intent = Intent(uuid4(), (Claim(PRIMARY, (Trace("by_phone", ("a", "b")),)),))
    await storage.queue(queue).send(Envelope(staff.reconciler().kind, intent.body()).text())
    with pytest.raises(BadMessage, match="the set keeps"):
        await staff.process_intents()
    await storage.queue(queue).drop()


async def test_a_set_without_eventual_derived_data_has_no_intents(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, BY_ID)
    with pytest.raises(BadInput, match="has no intents; remove this call"):
        staff.reconciler()


async def test_sets_of_one_table_have_kinds_of_their_own(storage: Any) -> None:
    by_mail = InterPartitionIndex(Key("mail_{Email}", "person"))
    one = EntitySet(storage, "Staff", BY_ID, derived=[by_email])
    other = EntitySet(storage, "Staff", Key("id_{Id:uuid}", "person"), derived=[by_mail])
    assert one.reconciler().kind != other.reconciler().kind
    assert one.reconciler().queue == other.reconciler().queue == "staff-intents"


def test_the_messages_are_what_workers_of_any_version_expect() -> None:
    intent = Intent(UUID(int=1), (Claim(PRIMARY, (Trace("by_email", COPY),)),))
    assert json.loads(Envelope("reconcile", intent.body()).text()) == {
        "v": 1,
        "kind": "reconcile",
        "body": {
            "id": "00000000-0000-0000-0000-000000000001",
            "entities": [{"row": list(PRIMARY), "traces": [["by_email", *COPY]]}],
        },
    }


KEYS = st.tuples(st.text(max_size=200), st.text(max_size=200))
CLAIMS = st.builds(Claim, KEYS, st.lists(st.builds(Trace, st.text(max_size=20), KEYS), max_size=4).map(tuple))


@given(st.lists(CLAIMS, max_size=60))
def test_every_intent_fits_into_a_message_and_reads_back(claims: list[Claim]) -> None:
    cut = [Intent(uuid4(), tuple(share)) for share in shares(claims, "reconcile")]
    assert [claim for intent in cut for claim in intent.claims] == claims
    for intent in cut:
        text = Envelope("reconcile", intent.body()).text(base64=True)
        assert len(text) <= MAX_MESSAGE_BYTES
        assert Intent.parse(Envelope.parse(text).body) == intent


@pytest.mark.parametrize("number", [1, 40])
def test_long_claims_are_cut_into_several_messages(number: int) -> None:
    claim = Claim(("p" * 512, "r" * 512), tuple(Trace("by_email", ("p" * 512, "r" * 512)) for _ in range(2)))
    cut = list(shares([claim] * number, "reconcile"))
    assert len(cut) == (1 if number == 1 else 3)


# ------------------------------------------------------------------ how it is explored


def test_strands_of_an_actor_wait_for_each_others_lock() -> None:
    async def strand(world: World, lock: Any, inside: list[int]) -> None:
        async with lock:
            inside.append(1)
            assert len(inside) == 1
            await world.storage.table("Staff").get("Sales", "000223")
            inside.pop()

    async def both(world: World) -> None:
        lock, inside = new_lock(world.storage), list[int]()
        await world.storage.gather(strand(world, lock, inside), strand(world, lock, inside))

    result = explore(lambda world: [both(world)])
    assert result.exhaustive


def documented(call: str) -> list[str]:
    """Return the errors that the docstring of a call names, there or where it refers to."""
    text = getattr(EntitySet, call).__doc__
    others = re.findall(r"errors are those of `(\w+)`", text)
    return [*re.findall(r":raises (\w+):", text), *chain.from_iterable(map(documented, others))]


TAKEN = {"Email": "jones@contoso.com"}
EARLIER: dict[str, Callable[[Any], Any]] = {
    "insert": lambda staff: staff.insert(jones(**TAKEN)),
    "replace": lambda staff: staff.replace(staff.get(Department="Sales", EmployeeId=223) | TAKEN),
}
LATER: dict[str, Callable[[Any, Any, dict[str, Any]], Any]] = {
    "insert": lambda staff, old, new: staff.insert(new, retry_for=1),
    "insert_or_replace": lambda staff, old, new: staff.insert_or_replace(new, retry_for=1),
    "update": lambda staff, old, new: staff.update(
        lambda each: each.update(new), Department="Sales", EmployeeId=new["EmployeeId"], retry_for=1
    ),
    "replace": lambda staff, old, new: staff.replace(old | new, retry_for=1),
    "delete": lambda staff, old, new: staff.delete(old, retry_for=1),
    "rename": lambda staff, old, new: staff.rename(old, EmployeeId=9, retry_for=1),
}


def error_of(call: str, staff: Any, new: dict[str, Any]) -> TablePatternsError | None:
    old = staff.get(Department="Sales", EmployeeId=223)
    if old is None and call in ("replace", "delete", "rename"):
        return None
    try:
        LATER[call](staff, old, new)
    except TablePatternsError as error:
        return error
    return None


@pytest.mark.parametrize("call", LATER)
@pytest.mark.parametrize("earlier", EARLIER)
@pytest.mark.few(6)
def test_after_a_write_that_crashed_a_call_raises_only_errors_that_it_documents(
    earlier: str, call: str, pytestconfig: pytest.Config
) -> None:
    has_crashed, is_complete = True, pytestconfig.getoption("nightly")
    for at, after, number in product(range(99), (False, True), (223, 224)):
        if not is_complete and number % 2 == (at + after) % 2:
            continue
        if not has_crashed:
            return
        engine, new = Engine(), jones(EmployeeId=number, **TAKEN)
        staff = staff_of(connect(engine), "Staff", unique)
        if earlier != "insert":
            staff.insert(jones())
        transport = CrashingTransport(engine, Crash(at, after=after))
        try:
            EARLIER[earlier](staff_of(connect(engine, transport=transport), "Staff", unique))
        except Crashed:
            has_crashed = True
        else:
            has_crashed = False
        error = error_of(call, staff, new)
        names = {kind.__name__ for kind in type(error).__mro__}
        assert error is None or names.intersection(documented(call)), (at, after, number)
        engine.clock.sleep(2 * LEASE)
        staff.process_intents()
        # Nothing is reserved any more
        assert not isinstance(error_of(call, staff, new), EntityChanged)
