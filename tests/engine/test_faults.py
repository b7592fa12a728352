"""Faults: what the client sees, whether the request is carried out, and which requests a rule applies to."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    IncompleteReadError,
    ResourceExistsError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from hypothesis import given
from hypothesis import strategies as st

import tablepatterns
from support.backends import awaited
from support.soundness import check_tables
from tablepatterns.errors import BadInput
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.faults import Faults, RequestInfo, Rule

NOON = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)
DON = {"PartitionKey": "Sales", "RowKey": "000223", "Age": 34}
INSERT = RequestInfo("table", "InsertEntity", "Employees", "Sales")

# Which of the two a client gets depends on whether it is a sync or an aio one
RESET = (ServiceResponseError, ServiceRequestError)

MAKE: dict[str, Callable[[Faults], Rule]] = {
    "busy": lambda faults: faults.busy(times=1),
    "timed out before": lambda faults: faults.time_out(times=1),
    "timed out after": lambda faults: faults.time_out(executed=True, times=1),
    "no connection": lambda faults: faults.refuse_connection(times=1),
    "request lost": lambda faults: faults.lose_request(times=1),
    "response lost": lambda faults: faults.lose_response(times=1),
    "delayed too long": lambda faults: faults.delay(300, times=1),
}
# The client's error, the service's code, whether the request is carried out, the ledger's status, fault and bill
SEEN: dict[str, tuple[Any, str | None, bool, int, str, int]] = {
    "busy": (HttpResponseError, "ServerBusy", False, 503, "busy", 0),
    "timed out before": (HttpResponseError, "OperationTimedOut", False, 500, "timed out before the commit", 0),
    "timed out after": (HttpResponseError, "OperationTimedOut", True, 500, "timed out after the commit", 0),
    "no connection": (ServiceRequestError, None, False, 0, "no connection", 0),
    "request lost": (RESET, None, False, 0, "request lost", 0),
    "response lost": (RESET, None, True, 201, "response lost", 1),
    "delayed too long": (ServiceResponseTimeoutError, None, True, 201, "delayed", 1),
}


@pytest.fixture
def engine() -> Engine:
    engine = Engine(clock=Clock(NOON))
    engine.tables.create("Employees")
    return engine


@pytest.fixture
def faults(engine: Engine) -> Faults:
    return engine.faults


@pytest.fixture
def patient(storage: Any) -> Any:
    """A client that sends again what failed, as the SDK does by default."""
    return awaited(storage.tables.get_table_client("Employees"))


@pytest.fixture
def impatient(backend: Any, engine: Engine) -> Any:
    """A client that sends everything once."""
    return awaited(backend.connect(engine, retry_total=0).tables.get_table_client("Employees"))


def rows(engine: Engine) -> dict[tuple[str, str], Any]:
    page = engine.tables.query("Employees")
    return {(entity.partition_key, entity.row_key): entity.properties.get("Age") for entity in page.entities}


# -- What becomes of a request


@pytest.mark.parametrize("kind", MAKE)
async def test_a_fault_gives_the_client_its_error_and_does_what_it_says(
    kind: str, impatient: Any, engine: Engine
) -> None:
    error, code, is_executed, *expected = SEEN[kind]
    rule = MAKE[kind](engine.faults)
    with pytest.raises(error, match=code):
        await impatient.create_entity(DON)
    assert rows(engine) == ({("Sales", "000223"): 34} if is_executed else {})
    record = engine.ledger.records[-1]
    assert [record.status, record.fault, record.billable] == expected
    assert (record.operation, record.error, record.written) == ("InsertEntity", code, int(is_executed))
    assert rule.hits == 1


@pytest.mark.parametrize("kind", MAKE)
async def test_a_transaction_fails_as_a_whole_or_is_done_as_a_whole(kind: str, impatient: Any, engine: Engine) -> None:
    error, _, is_executed, *_ = SEEN[kind]
    MAKE[kind](engine.faults)
    with pytest.raises(error):
        await impatient.submit_transaction([("create", {**DON, "RowKey": row}) for row in "abc"])
    assert list(rows(engine)) == ([("Sales", row) for row in "abc"] if is_executed else [])


@pytest.mark.parametrize("kind", [kind for kind in MAKE if kind != "no connection"])
async def test_what_the_service_rejects_is_rejected_under_a_fault_too(
    kind: str, impatient: Any, engine: Engine
) -> None:
    await impatient.create_entity(DON)
    MAKE[kind](engine.faults)
    with pytest.raises(SEEN[kind][0]):
        await impatient.create_entity({**DON, "Age": 35})
    assert rows(engine) == {("Sales", "000223"): 34}
    with pytest.raises(ResourceExistsError):
        await impatient.create_entity({**DON, "Age": 35})


@pytest.mark.guide("G-107")
@pytest.mark.parametrize("kind", ["busy", "timed out before"])
async def test_the_sdk_sends_again_what_was_not_done(kind: str, patient: Any, engine: Engine) -> None:
    MAKE[kind](engine.faults)
    with engine.ledger.span() as span:
        await patient.create_entity(DON)
    assert [record.status for record in span.records] == [SEEN[kind][3], 201]


async def test_the_sdk_sends_again_what_was_done_and_meets_its_own_entity(patient: Any, faults: Faults) -> None:
    faults.time_out(executed=True, times=1)
    with pytest.raises(ResourceExistsError):
        await patient.create_entity(DON)


async def test_a_fault_can_return_a_retry_after_header(patient: Any, faults: Faults, engine: Engine) -> None:
    faults.busy(retry_after=7, times=1)
    await patient.create_entity(DON)
    assert engine.clock.now().datetime().second == 7


async def test_a_client_that_another_client_made_waits_in_virtual_time_too(
    backend: Any, engine: Engine, faults: Faults
) -> None:
    seen: list[str] = []
    storage = backend.connect(engine, raw_request_hook=lambda call: seen.append(call.http_request.method))
    faults.busy(times=3)
    await awaited(storage.tables.get_table_client("Employees")).create_entity(DON)
    assert (engine.clock.now().datetime() - NOON).total_seconds() == pytest.approx(0 + 1.6 + 3.2)
    assert seen == ["POST"] * 4


@pytest.mark.parametrize("seconds", [299.9, 300])
async def test_an_answer_is_late_in_virtual_time_until_the_client_gives_up(
    seconds: float, impatient: Any, faults: Faults, engine: Engine
) -> None:
    faults.delay(seconds)
    if seconds < 300:
        await impatient.create_entity(DON)
    else:
        with pytest.raises(ServiceResponseTimeoutError):
            await impatient.create_entity(DON)
    assert (engine.clock.now().datetime() - NOON).total_seconds() == seconds
    assert rows(engine) == {("Sales", "000223"): 34}


async def test_a_client_gives_up_when_its_own_time_is_over(backend: Any, faults: Faults, engine: Engine) -> None:
    faults.delay(60)
    table = awaited(backend.connect(engine, retry_total=0, read_timeout=20).tables.get_table_client("Employees"))
    with pytest.raises(ServiceResponseTimeoutError, match="within 20 seconds"):
        await table.create_entity(DON)
    with pytest.raises(ServiceResponseTimeoutError, match="within 5 seconds"):
        await table.upsert_entity(DON, read_timeout=5)
    assert (engine.clock.now().datetime() - NOON).total_seconds() == 25


async def test_a_connection_reset_raises_the_error_of_azure_core(backend: Any, impatient: Any, faults: Faults) -> None:
    faults.lose_response()
    with pytest.raises(ServiceRequestError if backend.aio else ServiceResponseError):
        await impatient.create_entity(DON)


async def test_a_body_breaks_at_the_given_byte_unless_it_is_shorter(
    impatient: Any, faults: Faults, engine: Engine
) -> None:
    await impatient.create_entity(DON)
    assert [each async for each in impatient.list_entities()] == [DON]
    size = engine.ledger.records[-1].bytes_out
    with faults.break_body(size - 1), pytest.raises(IncompleteReadError):
        [each async for each in impatient.list_entities()]
    with faults.break_body(size) as whole:
        assert [each async for each in impatient.list_entities()] == [DON]
    assert whole.hits == 1


async def test_a_request_that_the_service_rejects_for_its_sender_meets_no_fault(
    backend: Any, faults: Faults, engine: Engine
) -> None:
    stranger = awaited(backend.connect(Engine(engine.account_name, "AAAA")).tables)
    wrong = backend.service(stranger.credential)
    rule = faults.busy()
    with pytest.raises(ClientAuthenticationError):
        await wrong.create_table("People")
    assert (rule.hits, engine.ledger.records[-1].fault) == (0, None)


async def test_an_interrupted_download_is_resumed(
    storage: Any, faults: Faults, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_time(seconds: float) -> None: ...

    # The SDK's downloads wait by themselves, not by the transport
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("asyncio.sleep", no_time)
    content = bytes(range(256)) * 40
    await awaited(storage.blobs).create_container("photos")
    blob = awaited(storage.blobs.get_blob_client("photos", "jones.jpg"))
    await blob.upload_blob(content)
    with faults.break_body(4000, container="photos", partition="jones.jpg", operation="GetBlob", times=1) as broken:
        download = await blob.download_blob()
        assert await download.readall() == content
    assert broken.hits == 1
    assert [record.fault for record in engine.ledger.records if record.operation == "GetBlob"] == ["body broken", None]


async def test_a_message_whose_answer_is_lost_is_in_the_queue_all_the_same(storage: Any, faults: Faults) -> None:
    await awaited(storage.queues).create_queue("work")
    queue = awaited(storage.queues.get_queue_client("work"))
    with faults.lose_response(queue="work", operation="PutMessage", times=1) as lost:
        await queue.send_message("once")
    # The SDK could not know that, and sent it again
    assert lost.hits == 1
    assert [each.content async for each in queue.receive_messages()] == ["once", "once"]


async def test_a_client_of_queues_waits_in_virtual_time_too(storage: Any, faults: Faults, engine: Engine) -> None:
    await awaited(storage.queues).create_queue("work")
    queue = awaited(storage.queues.get_queue_client("work"))
    with faults.busy(service="queue", times=2), engine.ledger.span() as span:
        await queue.send_message("once")
    assert [record.status for record in span.records] == [503, 503, 201]
    assert engine.clock.now().datetime() > NOON


@given(st.lists(st.sampled_from([None, *MAKE]), max_size=12))
def test_the_account_holds_what_was_carried_out_whatever_the_client_heard(kinds: list[str | None]) -> None:
    engine = Engine(clock=Clock(NOON))
    engine.tables.create("Employees")
    table = tablepatterns.connect(engine, retry_total=0).tables.get_table_client("Employees")
    heard: list[bool] = []
    for number, kind in enumerate(kinds):
        if kind:
            MAKE[kind](engine.faults)
        try:
            table.upsert_entity({**DON, "Age": number})
            heard.append(True)
        except AzureError:
            heard.append(False)
        engine.faults.clear()
    assert heard == [kind is None for kind in kinds]
    done = [number for number, kind in enumerate(kinds) if kind is None or SEEN[kind][2]]
    assert list(rows(engine).values()) == done[-1:]
    check_tables(engine.tables)


# -- Whom a rule meets


@pytest.mark.parametrize(
    ("where", "meets"),
    [
        ({}, True),
        ({"service": "table"}, True),
        ({"service": "queue"}, False),
        ({"operation": "InsertEntity"}, True),
        ({"operation": "Transaction"}, False),
        ({"table": "employees"}, True),
        ({"table": "Employee"}, False),
        ({"table": ""}, False),
        ({"queue": "employees"}, False),
        ({"container": "employees"}, False),
        ({"partition": "Sales"}, True),
        ({"partition": "sales"}, False),
        ({"partition": ""}, False),
        ({"service": "table", "operation": "InsertEntity", "table": "Employees", "partition": "Sales"}, True),
        ({"service": "table", "operation": "InsertEntity", "table": "Employees", "partition": "Marketing"}, False),
    ],
)
def test_a_rule_meets_what_is_all_that_it_says(where: Any, meets: bool) -> None:
    faults = Faults()
    rule = faults.busy(**where)
    assert faults.match(INSERT) == (rule.fault if meets else None)
    assert rule.hits == int(meets)


def hits(faults: Faults, requests: int) -> list[int]:
    """Return which of so many equal requests fail."""
    return [number for number in range(requests) if faults.match(INSERT)]


def test_the_first_ones_pass_and_then_so_many_fail() -> None:
    faults = Faults()
    rule = faults.busy(operation="InsertEntity", after=2, times=3)
    assert faults.match(INSERT._replace(operation="DeleteEntity")) is None
    assert hits(faults, 8) == [2, 3, 4]
    assert rule.hits == 3


def test_chances_are_drawn_with_the_seed_and_are_what_they_are_said_to_be() -> None:
    def drawn(**where: Any) -> list[int]:
        faults = Faults()
        faults.busy(probability=0.3, **where)
        return hits(faults, 1000)

    assert drawn() == drawn(seed=0) != drawn(seed=1)
    assert all(250 < len(drawn(seed=seed)) < 350 for seed in range(5))
    assert len(drawn(times=10)) == 10


def test_the_oldest_rule_decides_and_the_others_do_not_count_what_it_takes() -> None:
    faults = Faults()
    oldest, younger = faults.busy(times=2), faults.lose_response(times=1)
    met = [faults.match(INSERT) for _ in range(4)]
    assert met == [oldest.fault, oldest.fault, younger.fault, None]
    assert (oldest.hits, younger.hits) == (2, 1)


def test_a_rule_ends_when_it_is_stopped_or_with_its_block() -> None:
    faults = Faults()
    with faults.busy() as rule:
        assert faults.match(INSERT)
    assert faults.match(INSERT) is None
    rule.stop()
    kept, stopped = faults.busy(), faults.lose_response()
    stopped.stop()
    assert faults.match(INSERT) == kept.fault
    faults.clear()
    assert faults.match(INSERT) is None
    assert repr(kept) == "<Rule busy, 1 hits>"


def test_threads_meet_a_rule_no_more_often_than_it_says() -> None:
    faults = Faults()
    rule = faults.busy(times=100)
    with ThreadPoolExecutor(4) as pool:
        met = [fault for fault in pool.map(lambda _: faults.match(INSERT), range(2000)) if fault]
    assert len(met) == rule.hits == 100


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"times": 0}, "must be at least 1"),
        ({"after": -1}, "must be at least 0"),
        ({"probability": 0}, "above 0"),
        ({"probability": 1.01}, "at most 1"),
        ({"probability": float("nan")}, "above 0"),
        ({"operation": "InsertEntitys"}, "InsertEntity,"),
        ({"table": "Employees", "queue": "employees"}, "create a rule for each"),
        ({"service": "blob", "queue": "employees"}, "create a rule for each"),
    ],
)
def test_a_rule_that_could_never_be_met_is_rejected(where: Any, said: str) -> None:
    faults = Faults()
    with pytest.raises(BadInput, match=said):
        faults.busy(**where)
    assert faults.match(INSERT) is None


def test_a_fault_out_of_its_range_is_rejected() -> None:
    with pytest.raises(BadInput, match="must be above 0"):
        Faults().delay(0)
    with pytest.raises(BadInput, match="must be at least 0"):
        Faults().break_body(-1)
    with pytest.raises(TypeError, match="tabel"):
        Faults().busy(tabel="Employees")  # type: ignore[call-arg]
