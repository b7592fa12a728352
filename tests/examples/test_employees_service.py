"""The example of an async application: employees over HTTP with a model, whose ETags are those of the table."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from support.example_programs import example
from tablepatterns import aio, connect
from tablepatterns_engine import Engine

SALES = "/employees/Sales"
JONES = {
    "department": "Sales",
    "employee_id": 223,
    "email": "jonesj@contoso.com",
    "name": "Jones",
    "hired": "2024-03-01",
}
CHANGES = {name: JONES[name] for name in ("email", "name", "hired")}
Steps = Callable[[httpx.AsyncClient], Awaitable[None]]


@pytest.fixture(params=["memory", pytest.param("azurite", marks=pytest.mark.azurite)])
def account(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Any]:
    if request.param == "memory":
        yield engine
        return
    target = request.getfixturevalue("azurite")
    with connect(target) as storage:
        storage.tables.delete_table("Employees")
        yield target
        storage.tables.delete_table("Employees")


def run(account: Any, steps: Steps) -> None:
    """Run the steps of a client against the application, whose lifespan lasts as long."""

    async def serve() -> None:
        app = example("employees_service", "employees_service").create_app(aio.connect(account))
        transport = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://a") as it:
            await steps(it)

    asyncio.run(serve())


def test_an_employee_is_added_read_changed_and_removed(account: Any) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        added = await client.post("/employees", json=JONES)
        assert (added.status_code, added.json()) == (201, JONES)
        shown = await client.get(f"{SALES}/223")
        assert (shown.status_code, shown.json(), shown.headers["ETag"]) == (200, JONES, added.headers["ETag"])
        match = {"If-Match": shown.headers["ETag"]}
        changed = await client.put(f"{SALES}/223", json=CHANGES | {"email": "jo@contoso.com"}, headers=match)
        assert (changed.status_code, changed.json()["email"]) == (200, "jo@contoso.com")
        assert changed.headers["ETag"] != shown.headers["ETag"]
        assert (await client.get(f"{SALES}?email=jonesj")).json()["employees"] == []
        assert [each["employee_id"] for each in (await client.get(f"{SALES}?email=jo%40")).json()["employees"]] == [223]
        for method in ("PUT", "DELETE"):
            late = await client.request(method, f"{SALES}/223", json=CHANGES, headers=match)
            assert late.status_code == 412
        removed = await client.delete(f"{SALES}/223", headers={"If-Match": changed.headers["ETag"]})
        assert removed.status_code == 204
        assert (await client.get(f"{SALES}/223")).status_code == 404
        assert (await client.get(SALES)).json() == {"employees": [], "token": None}

    run(account, steps)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (JONES, 409),
        (JONES | {"employee_id": 224}, 409),
        (JONES | {"employee_id": 1_000_000}, 400),
        (JONES | {"hired": "yesterday"}, 422),
    ],
)
def test_a_bad_employee_is_rejected_and_nothing_is_written(engine: Engine, body: Any, status: int) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        await client.post("/employees", json=JONES)
        assert (await client.post("/employees", json=body)).status_code == status
        assert [each["employee_id"] for each in (await client.get(SALES)).json()["employees"]] == [223]

    run(engine, steps)


def test_a_change_without_a_version_is_428(engine: Engine) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        await client.post("/employees", json=JONES)
        assert (await client.put(f"{SALES}/223", json=CHANGES)).status_code == 428

    run(engine, steps)


def test_of_two_clients_with_the_same_version_one_succeeds(engine: Engine) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        match = {"If-Match": (await client.post("/employees", json=JONES)).headers["ETag"]}
        calls = [client.put(f"{SALES}/223", json=CHANGES | {"name": name}, headers=match) for name in ("a", "b")]
        assert sorted(each.status_code for each in await asyncio.gather(*calls)) == [200, 412]

    run(engine, steps)


def test_pages_follow_each_other_in_the_order_of_emails(engine: Engine) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        for number, letter in enumerate("cab"):
            await client.post("/employees", json=JONES | {"employee_id": number, "email": f"{letter}@contoso.com"})
        found: list[str] = []
        params: dict[str, Any] = {"size": 2}
        while params:
            page = (await client.get(SALES, params=params)).json()
            found += [each["email"][0] for each in page["employees"]]
            params = {"size": 2, "token": page["token"]} if page["token"] else {}
        assert found == ["a", "b", "c"]

    run(engine, steps)


def test_the_health_check_is_one_request_and_tells_if_the_table_cannot_be_read(engine: Engine) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        with engine.ledger.span() as span:
            assert (await client.get("/health")).json() == {"status": "ok"}
        assert span.totals.requests == 1
        with engine.faults.refuse_connection(service="table"):
            down = await client.get("/health")
        assert (down.status_code, down.json()) == (503, {"detail": "the table cannot be read: ServiceRequestError"})

    run(engine, steps)
