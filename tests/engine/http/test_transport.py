"""The two transports: genuine SDK clients over the engine, and all forms of request content."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import IncompleteReadError
from azure.core.pipeline.transport import HttpRequest as LegacyRequest
from azure.core.rest import HttpRequest
from azure.data.tables import TableClient, TableServiceClient
from azure.data.tables.aio import TableClient as AioTableClient

from support.table_requests import lite_signature
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

URL = "https://contoso.table.core.windows.net"
DON = {"PartitionKey": "Sales", "RowKey": "000223", "FirstName": "Don", "Age": 34}
DATE = "Fri, 22 Aug 2014 00:00:00 GMT"


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Finish a coroutine without an event loop; it must never wait for one."""
    try:
        waited = coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError(f"it waits for {waited!r}")


@pytest.mark.guide("G-045")
def test_a_sync_client_writes_reads_and_deletes_over_the_engine(table: TableClient) -> None:
    etag = table.create_entity(DON)["etag"]
    found = table.get_entity("Sales", "000223")
    assert (found, found.metadata["etag"]) == (DON, etag)
    assert table.upsert_entity({**DON, "Age": 35})["etag"] != etag
    assert [entity["Age"] for entity in table.query_entities("PartitionKey eq 'Sales'")] == [35]
    table.delete_entity("Sales", "000223")
    assert list(table.list_entities()) == []


def test_an_aio_client_is_stepped_without_an_event_loop(engine: Engine, key: AzureNamedKeyCredential) -> None:
    async def story() -> list[Any]:
        async with AioTableClient(URL, "Employees", credential=key, transport=AioEngineTransport(engine)) as table:
            await table.create_entity(DON)
            await table.upsert_entity({**DON, "Age": 35})
            return [dict(entity) async for entity in table.list_entities()]

    assert run(story()) == [{**DON, "Age": 35}]


def test_a_scheduler_has_its_turn_before_every_request(engine: Engine, key: AzureNamedKeyCredential) -> None:
    class Turn:
        def __await__(self) -> Generator[str, None, None]:
            yield "a turn"

    async def turn() -> None:
        await Turn()

    async def story() -> str:
        table = AioTableClient(URL, "Employees", credential=key, transport=AioEngineTransport(engine, turn))
        await table.create_entity(DON)
        return str((await table.get_entity("Sales", "000223"))["FirstName"])

    stepped = story()
    assert [stepped.send(None), stepped.send(None)] == ["a turn", "a turn"]
    assert engine.ledger.totals.requests == 1
    with pytest.raises(StopIteration, match="Don"):
        stepped.send(None)


def test_a_transaction_waits_only_for_what_azure_core_gathers(engine: Engine, key: AzureNamedKeyCredential) -> None:
    table = AioTableClient(URL, "Employees", credential=key, transport=AioEngineTransport(engine))
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        story: Any = table.submit_transaction([("create", DON), ("create", {**DON, "RowKey": "2"})])
        loop.run_until_complete(story.send(None))
        with pytest.raises(StopIteration) as stop:
            story.send(None)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert [set(result) for result in stop.value.value] == [{"etag"}, {"etag"}]


def test_the_back_off_of_a_retry_moves_the_clock_instead_of_waiting(engine: Engine) -> None:
    before = engine.clock.now()
    EngineTransport(engine).sleep(90)
    run(AioEngineTransport(engine).sleep(30))
    assert engine.clock.now() - before == 120 * 10_000_000


def chunks_of(body: bytes) -> Generator[bytes, None, None]:
    yield body[:7]
    yield body[7:]


BODY = b'{"PartitionKey":"Sales","RowKey":"1","Name":"\xc3\xa9"}'
CONTENTS: dict[str, Callable[[], Any]] = {
    "bytes": lambda: BODY,
    "text": lambda: BODY.decode(),
    "file": lambda: io.BytesIO(BODY),
    "text file": lambda: io.StringIO(BODY.decode()),
    "list": lambda: [BODY[:20], BODY[20:]],
    "generator": lambda: chunks_of(BODY),
}


@pytest.mark.parametrize("form", CONTENTS)
def test_a_content_of_any_form_arrives_whole(engine: Engine, form: str) -> None:
    request = HttpRequest("POST", f"{URL}/Employees", headers=signed(engine), content=CONTENTS[form]())
    # For text, azure-core would send text/plain
    request.headers["Content-Type"] = "application/json"
    assert EngineTransport(engine).send(request, stream=True, connection_timeout=1).status_code == 201
    assert engine.tables.get("Employees", "Sales", "1").properties == {"Name": "é"}


def test_an_asynchronous_content_arrives_whole(engine: Engine) -> None:
    async def content() -> AsyncIterator[bytes]:
        for chunk in chunks_of(BODY):
            yield chunk

    request = HttpRequest("POST", f"{URL}/Employees", headers=signed(engine), content=content())
    assert run(AioEngineTransport(engine).send(request)).status_code == 201
    assert engine.tables.get("Employees", "Sales", "1").properties == {"Name": "é"}


def test_a_request_of_the_legacy_class_is_answered_too(engine: Engine) -> None:
    request: Any = LegacyRequest("POST", f"{URL}/Employees", headers=signed(engine))
    request.set_bytes_body(BODY)
    response: Any = EngineTransport(engine).send(request)
    assert (response.status_code, response.body()[:1], b"".join(response.stream_download(None))[:1]) == (
        201,
        b"{",
        b"{",
    )


def test_a_content_that_is_no_content_is_a_type_error_and_sends_nothing(engine: Engine) -> None:
    request = HttpRequest("POST", f"{URL}/Employees", headers=signed(engine), data={"a": "b"})
    with pytest.raises(TypeError, match="a request's content is bytes, text or an iterable of them, not dict"):
        EngineTransport(engine).send(request)
    assert engine.ledger.totals.requests == 0


def test_a_closed_transport_sends_nothing_and_others_go_on(engine: Engine, key: AzureNamedKeyCredential) -> None:
    transport, other = EngineTransport(engine), EngineTransport(engine)
    transport.open()
    with TableServiceClient(URL, credential=key, transport=transport) as service:
        service.create_table("Departments")
    requests = engine.ledger.totals.requests
    with pytest.raises(ValueError, match="HTTP transport has already been closed"):
        list(service.list_tables())
    assert engine.ledger.totals.requests == requests
    service = TableServiceClient(URL, credential=key, transport=other)
    assert [table.name for table in service.list_tables()] == ["Departments", "Employees"]


def test_threads_share_a_client(engine: Engine, table: TableClient) -> None:
    def work(worker: int) -> None:
        for number in range(20):
            table.create_entity({"PartitionKey": f"p{worker}", "RowKey": str(number)})

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(table.list_entities(results_per_page=7))) == 80
    assert engine.ledger.totals.by_operation["InsertEntity"] == 80


def test_two_requests_never_have_the_same_id(engine: Engine) -> None:
    transports = [EngineTransport(engine), EngineTransport(engine)]
    request = HttpRequest("GET", f"{URL}/Tables")
    ids = [transport.send(request).headers["x-ms-request-id"] for transport in transports for _ in range(3)]
    assert len(set(ids)) == 6
    assert all(len(each) == 36 for each in ids)


def signed(engine: Engine) -> dict[str, str]:
    return {
        "x-ms-date": DATE,
        "Accept": "application/json",
        "Authorization": lite_signature(engine, f"{URL}/Employees", DATE),
    }


def test_a_streamed_body_comes_up_to_where_the_connection_breaks(engine: Engine) -> None:
    sync, aio = EngineTransport(engine, trust_tokens=True), AioEngineTransport(engine, trust_tokens=True)
    request = HttpRequest("GET", f"{URL}/Tables", headers={"Authorization": "Bearer token"})
    whole = sync.send(request, stream=True).read()
    engine.faults.break_body(10)
    came: list[bytes] = []
    with pytest.raises(IncompleteReadError):
        came.extend(sync.send(request, stream=True).iter_raw())
    with pytest.raises(IncompleteReadError):
        sync.send(request, stream=True).read()

    async def read() -> None:
        response = await aio.send(request, stream=True)
        async for chunk in response.iter_raw():
            came.append(chunk)  # noqa: PERF401 - what came before the break counts

    with pytest.raises(IncompleteReadError):
        run(read())
    assert came == [whole[:10]] * 2
