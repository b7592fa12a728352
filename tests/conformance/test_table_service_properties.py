"""Properties and statistics of the service, and the read-only secondary endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from azure.data.tables import TableAnalyticsLogging, TableCorsRule, TableMetrics, TableRetentionPolicy

from conformance.deviations import CORS, RETENTION, SECONDARY, TABLE_IN_URL
from conformance.entities import KEYS
from conformance.raw import XML, Raw
from conformance.service_errors import ServiceError
from conformance.service_properties import defaults_of, geo_replicated, owns_account, plain, properties
from conformance.table_errors import BAD_OPTION, BAD_XML, KEY_COUNT, NEED_VALUE, NO_TABLE, NOT_IMPLEMENTED, READ_ONLY
from support.backends import Backend
from tablepatterns.limits import MAX_CORS_RULES, MAX_RETENTION_DAYS

PROPERTIES = "/?restype=service&comp=properties"
RULE = TableCorsRule(
    ["https://contoso.com", "https://www.contoso.com"],
    ["GET", "PUT"],
    allowed_headers=["x-ms-meta-a", "x-ms-meta-b*"],
    exposed_headers=["x-ms-meta-*"],
    max_age_in_seconds=500,
)


@pytest.fixture
def defaults(backend: Backend, service: Any) -> Iterator[dict[str, Any]]:
    """The properties of a new account, which the account has before the test and after it."""
    yield from defaults_of(backend, service, TableAnalyticsLogging, TableMetrics)


@owns_account
async def test_at_first_nothing_is_logged_measured_or_shared(service: Any, defaults: dict[str, Any]) -> None:
    nothing_kept = {"enabled": False, "days": None}
    metrics = {"version": "1.0", "enabled": False, "include_apis": None, "retention_policy": nothing_kept}
    logging = {"version": "1.0", "read": False, "write": False, "delete": False, "retention_policy": nothing_kept}
    assert await properties(service) == {
        "analytics_logging": logging,
        "hour_metrics": metrics,
        "minute_metrics": metrics,
        "cors": [],
    }


@owns_account
async def test_rules_of_cors_are_replaced_all_at_once(service: Any, defaults: dict[str, Any]) -> None:
    await service.set_service_properties(cors=[RULE] * MAX_CORS_RULES)
    assert len((await properties(service))["cors"]) == MAX_CORS_RULES
    await service.set_service_properties(cors=[])
    assert (await properties(service))["cors"] == []


@CORS
@owns_account
async def test_a_rule_of_cors_needs_no_headers(service: Any, defaults: dict[str, Any]) -> None:
    await service.set_service_properties(cors=[TableCorsRule(["*"], ["GET"])])
    assert (await properties(service))["cors"] == [plain(TableCorsRule(["*"], ["GET"]))]


@CORS
@owns_account
async def test_six_rules_of_cors_are_rejected(service: Any, rejected: Any, defaults: dict[str, Any]) -> None:
    async with rejected(BAD_XML):
        await service.set_service_properties(cors=[RULE] * (MAX_CORS_RULES + 1))
    assert await properties(service) == defaults


@owns_account
async def test_logs_are_kept_for_up_to_a_year(service: Any, defaults: dict[str, Any]) -> None:
    year = TableRetentionPolicy(enabled=True, days=MAX_RETENTION_DAYS)
    await service.set_service_properties(analytics_logging=TableAnalyticsLogging(retention_policy=year))
    assert (await properties(service))["analytics_logging"]["retention_policy"]["days"] == MAX_RETENTION_DAYS


@RETENTION
@owns_account
@pytest.mark.parametrize("name", ["analytics_logging", "hour_metrics", "minute_metrics"])
@pytest.mark.parametrize("days", [0, MAX_RETENTION_DAYS + 1])
async def test_nothing_is_kept_for_longer_or_for_no_time(
    service: Any, rejected: Any, defaults: dict[str, Any], name: str, days: int
) -> None:
    retention = TableRetentionPolicy(enabled=True, days=days)
    model = TableAnalyticsLogging if name == "analytics_logging" else TableMetrics
    async with rejected(BAD_XML):
        await service.set_service_properties(
            **{name: model(enabled=True, include_apis=True, retention_policy=retention)}
        )
    assert await properties(service) == defaults


@RETENTION
@owns_account
@pytest.mark.parametrize(
    "body",
    [
        "nonsense",
        "<Other />",
        "<StorageServiceProperties>",
        "<StorageServiceProperties><Logging><Read>perhaps</Read></Logging></StorageServiceProperties>",
    ],
    ids=["no XML", "other root", "cut", "no boolean"],
)
async def test_what_is_no_list_of_properties_is_rejected(
    raw: Raw, service: Any, rejected: Any, defaults: dict[str, Any], body: str
) -> None:
    async with rejected(BAD_XML):
        await raw("PUT", PROPERTIES, XML, body)
    assert await properties(service) == defaults


# ------------------------------------------------------------------ an account's URL that ends with a table


@TABLE_IN_URL
@pytest.mark.parametrize("exists", [True, False], ids=["table", "no table"])
async def test_a_table_has_no_properties_of_the_service(
    raw: Raw, rejected: Any, table: Any, new_name: Callable[..., str], exists: bool
) -> None:
    name = table.table_name if exists else new_name()
    for method in ("GET", "PUT"):
        async with rejected(BAD_OPTION):
            await raw(method, f"/{name}{PROPERTIES[1:]}", XML)


@TABLE_IN_URL
@pytest.mark.parametrize(
    ("method", "path", "error"),
    [("GET", "/Tables", NOT_IMPLEMENTED), ("DELETE", "/Tables('People')", KEY_COUNT)],
    ids=["list", "delete"],
)
async def test_a_table_has_no_tables(
    raw: Raw, rejected: Any, table: Any, method: str, path: str, error: ServiceError
) -> None:
    async with rejected(error):
        await raw(method, f"/{table.table_name}{path}")


async def test_a_table_cannot_be_made_in_a_table(raw: Raw, rejected: Any, table: Any) -> None:
    async with rejected(NEED_VALUE):
        await raw("POST", f"/{table.table_name}/Tables", body={"TableName": "People"})


@TABLE_IN_URL
async def test_a_missing_table_has_no_tables_either(raw: Raw, rejected: Any, table_name: str) -> None:
    async with rejected(NO_TABLE):
        await raw("POST", f"/{table_name}/Tables", body={"TableName": "People"})


# ------------------------------------------------------------------ statistics and the secondary endpoint


@geo_replicated
async def test_the_secondary_endpoint_is_read(backend: Backend, storage: Any, table: Any) -> None:
    await table.create_entity(KEYS)
    there = backend.service(storage.target.credential, location_mode="secondary")
    same = there.get_table_client(table.table_name)
    assert await same.get_entity("Sales", "000223") == KEYS
    assert [dict(found) async for found in same.list_entities()] == [KEYS]
    assert table.table_name in [found.name async for found in there.list_tables()]


@SECONDARY
@geo_replicated
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda table: table.create_table(), id="create table"),
        pytest.param(lambda table: table.delete_table(), id="delete table"),
        pytest.param(lambda table: table.create_entity(KEYS), id="insert"),
        pytest.param(lambda table: table.upsert_entity(KEYS), id="upsert"),
        pytest.param(lambda table: table.update_entity(KEYS), id="update"),
        pytest.param(lambda table: table.delete_entity("Sales", "000223"), id="delete"),
    ],
)
async def test_the_secondary_endpoint_is_not_written(
    backend: Backend, storage: Any, table: Any, rejected: Any, write: Any
) -> None:
    await table.create_entity(KEYS)
    there = backend.service(storage.target.credential, location_mode="secondary")
    async with rejected(READ_ONLY):
        await write(there.get_table_client(table.table_name))


@geo_replicated
async def test_a_transaction_goes_to_the_primary_endpoint_all_the_same(
    backend: Backend, storage: Any, table: Any
) -> None:
    there = backend.service(storage.target.credential, location_mode="secondary")
    await there.get_table_client(table.table_name).submit_transaction([("create", KEYS)])
    assert await table.get_entity("Sales", "000223") == KEYS
