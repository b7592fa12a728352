"""What the services have in common: properties of the service, and statistics of the secondary endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
from azure.data.tables import TableAnalyticsLogging, TableCorsRule, TableMetrics, TableRetentionPolicy
from azure.storage import blob, queue

from conformance.deviations import SECONDARY, SERVICE_PROPERTIES
from conformance.queue_errors import BAD_OPTION, BAD_XML
from conformance.raw import XML
from conformance.service_properties import defaults_of, geo_replicated, owns_account, plain, properties
from support.backends import Backend
from tablepatterns.limits import MAX_CORS_RULES, MAX_RETENTION_DAYS


class Service(NamedTuple):
    """A service: its fixtures, and the SDK's classes for its properties."""

    client: Any
    raw: Any
    rejected: Any
    logging: Any
    metrics: Any
    retention: Any
    rule: Any


CLASSES: Final = {
    "table": (TableAnalyticsLogging, TableMetrics, TableRetentionPolicy, TableCorsRule),
    "queue": (queue.QueueAnalyticsLogging, queue.Metrics, queue.RetentionPolicy, queue.CorsRule),
    "blob": (blob.BlobAnalyticsLogging, blob.Metrics, blob.RetentionPolicy, blob.CorsRule),
}
FIXTURES: Final = {
    "table": ("service", "raw", "rejected"),
    "queue": ("queue_service", "raw_queues", "queue_rejected"),
    "blob": ("blob_service", "raw_blobs", "blob_rejected"),
}


@pytest.fixture(params=CLASSES)
def any_service(request: pytest.FixtureRequest, backend: Backend) -> Service:
    client, raw, rejected = map(request.getfixturevalue, FIXTURES[request.param])
    return Service(client, raw, rejected, *CLASSES[request.param])


@pytest.fixture
def defaults(backend: Backend, any_service: Service) -> Iterator[dict[str, Any]]:
    """The properties of a new account, which the account has before the test and after it."""
    yield from defaults_of(backend, any_service.client, any_service.logging, any_service.metrics)


def rule_of(service: Service) -> Any:
    return service.rule(
        ["https://contoso.com", "https://www.contoso.com"],
        ["GET", "PUT"],
        allowed_headers=["x-ms-meta-a", "x-ms-meta-b*"],
        exposed_headers=["x-ms-meta-*"],
        max_age_in_seconds=500,
    )


@owns_account
@pytest.mark.parametrize("name", ["analytics_logging", "hour_metrics", "minute_metrics", "cors"])
async def test_what_is_set_comes_back_and_the_rest_stays(
    any_service: Service, defaults: dict[str, Any], name: str
) -> None:
    kept = any_service.retention(enabled=True, days=5)
    changes = {
        "analytics_logging": any_service.logging(read=True, write=True, delete=True, retention_policy=kept),
        "hour_metrics": any_service.metrics(enabled=True, include_apis=True, retention_policy=kept),
        "minute_metrics": any_service.metrics(enabled=True, include_apis=False, retention_policy=kept),
        "cors": [rule_of(any_service)],
    }
    await any_service.client.set_service_properties(**{name: changes[name]})
    assert await properties(any_service.client) == {**defaults, name: plain(changes[name])}


@SERVICE_PROPERTIES
@pytest.mark.parametrize("any_service", ["queue", "blob"], indirect=True)
@owns_account
async def test_there_are_5_rules_of_cors_and_not_6(any_service: Service, defaults: dict[str, Any]) -> None:
    await any_service.client.set_service_properties(cors=[rule_of(any_service)] * MAX_CORS_RULES)
    async with any_service.rejected(BAD_XML):
        await any_service.client.set_service_properties(cors=[rule_of(any_service)] * (MAX_CORS_RULES + 1))
    assert len((await properties(any_service.client))["cors"]) == MAX_CORS_RULES


@SERVICE_PROPERTIES
@pytest.mark.parametrize("any_service", ["queue", "blob"], indirect=True)
@owns_account
async def test_logs_are_kept_for_a_year_and_no_day_longer(any_service: Service, defaults: dict[str, Any]) -> None:
    year = any_service.retention(enabled=True, days=MAX_RETENTION_DAYS)
    await any_service.client.set_service_properties(analytics_logging=any_service.logging(retention_policy=year))
    longer = any_service.retention(enabled=True, days=MAX_RETENTION_DAYS + 1)
    async with any_service.rejected(BAD_XML):
        await any_service.client.set_service_properties(analytics_logging=any_service.logging(retention_policy=longer))


async def test_the_primary_endpoint_has_no_statistics(any_service: Service) -> None:
    async with any_service.rejected(BAD_OPTION):
        await any_service.raw("GET", "/?restype=service&comp=stats", XML)


@SECONDARY
@geo_replicated
async def test_the_secondary_endpoint_has_statistics(any_service: Service) -> None:
    replication = (await any_service.client.get_service_stats())["geo_replication"]
    assert replication["status"] == "live"
    assert replication["last_sync_time"].utcoffset().total_seconds() == 0
