"""The Queue service as a whole: the account's key, its properties, its secondary endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.queue import CorsRule, Metrics, QueueAnalyticsLogging, RetentionPolicy

from conformance.deviations import QUEUE_PROPERTIES, SECONDARY
from conformance.queue_errors import BAD_OPTION, BAD_XML, NOT_AUTHENTIC, READ_ONLY
from conformance.raw import Raw, http_date
from conformance.service_errors import ServiceError
from conformance.service_properties import defaults_of, geo_replicated, owns_account, plain, properties
from support.backends import Backend
from tablepatterns.limits import MAX_CORS_RULES, MAX_RETENTION_DAYS

TEXT = "<QueueMessage><MessageText>text</MessageText></QueueMessage>"
WRONG_KEY = "d3Jvbmc="
RULE = CorsRule(
    ["https://contoso.com"], ["GET", "PUT"], allowed_headers=["x-ms-meta-a"], exposed_headers=["x-ms-meta-b"]
)
KEPT = RetentionPolicy(enabled=True, days=5)
CHANGES = {
    "analytics_logging": QueueAnalyticsLogging(read=True, write=True, delete=True, retention_policy=KEPT),
    "hour_metrics": Metrics(enabled=True, include_apis=True, retention_policy=KEPT),
    "minute_metrics": Metrics(enabled=True, include_apis=False, retention_policy=KEPT),
    "cors": [RULE],
}


# ------------------------------------------------------------------ the account's key


async def test_a_request_with_another_key_is_rejected(
    backend: Backend, queue: Any, key: AzureNamedKeyCredential, queue_rejected: Any
) -> None:
    stranger = backend.service(AzureNamedKeyCredential(key.named_key.name, WRONG_KEY), "queue")
    async with queue_rejected(NOT_AUTHENTIC):
        await stranger.get_queue_client(queue.queue_name).send_message("text")


async def test_the_lite_signature_is_accepted(raw_queues: Raw, queue: Any) -> None:
    path, headers = f"/{queue.queue_name}/messages", {**raw_queues.headers, "x-ms-date": http_date()}
    headers["Authorization"] = raw_queues.authorization("POST", path, headers, lite=True)
    assert (await raw_queues("POST", path, headers, TEXT, signed=False)).status == 201


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("method", "path", "changed"),
    [
        ("PUT", "/{queue}/messages", {}),
        ("POST", "/other/messages", {}),
        ("POST", "/{queue}/messages?messagettl=60", {}),
        ("POST", "/{queue}/messages", {"Content-Type": "text/plain"}),
        ("POST", "/{queue}/messages", {"Content-Length": "1"}),
        ("POST", "/{queue}/messages", {"x-ms-date": "Fri, 22 Aug 2014 00:50:32 GMT"}),
        ("POST", "/{queue}/messages", {"x-ms-meta-colour": "red"}),
    ],
    ids=["verb", "path", "option", "content type", "length", "date", "header"],
)
async def test_the_signature_of_another_request_is_rejected(
    raw_queues: Raw, queue: Any, queue_rejected: Any, method: str, path: str, changed: dict[str, str]
) -> None:
    headers = {**raw_queues.headers, "x-ms-date": http_date(), "Content-Length": str(len(TEXT))}
    other = raw_queues.authorization(method, path.format(queue=queue.queue_name), {**headers, **changed})
    async with queue_rejected(ServiceError(403)):
        await raw_queues(
            "POST", f"/{queue.queue_name}/messages", {**headers, "Authorization": other}, TEXT, signed=False
        )


async def test_metadata_are_signed_in_the_sdk_s_order(queue: Any) -> None:
    metadata = {"a_b": "1", "a1": "2", "ab": "3", "B": "4"}
    await queue.set_queue_metadata(metadata)
    assert (await queue.get_queue_properties()).metadata == metadata


# ------------------------------------------------------------------ properties


@pytest.fixture
def defaults(backend: Backend, queue_service: Any) -> Iterator[dict[str, Any]]:
    """The properties of a new account, which the account has before the test and after it."""
    yield from defaults_of(backend, queue_service, QueueAnalyticsLogging, Metrics)


@owns_account
@pytest.mark.parametrize(("name", "value"), CHANGES.items(), ids=CHANGES)
async def test_what_is_set_comes_back_and_the_rest_stays(
    queue_service: Any, defaults: dict[str, Any], name: str, value: Any
) -> None:
    await queue_service.set_service_properties(**{name: value})
    assert await properties(queue_service) == {**defaults, name: plain(value)}


@QUEUE_PROPERTIES
@owns_account
async def test_there_are_5_rules_of_cors_and_not_6(
    queue_service: Any, queue_rejected: Any, defaults: dict[str, Any]
) -> None:
    await queue_service.set_service_properties(cors=[RULE] * MAX_CORS_RULES)
    async with queue_rejected(BAD_XML):
        await queue_service.set_service_properties(cors=[RULE] * (MAX_CORS_RULES + 1))
    assert len((await properties(queue_service))["cors"]) == MAX_CORS_RULES


@QUEUE_PROPERTIES
@owns_account
async def test_logs_are_kept_for_a_year_and_no_day_longer(
    queue_service: Any, queue_rejected: Any, defaults: dict[str, Any]
) -> None:
    year = RetentionPolicy(enabled=True, days=MAX_RETENTION_DAYS)
    await queue_service.set_service_properties(analytics_logging=QueueAnalyticsLogging(retention_policy=year))
    longer = RetentionPolicy(enabled=True, days=MAX_RETENTION_DAYS + 1)
    async with queue_rejected(BAD_XML):
        await queue_service.set_service_properties(analytics_logging=QueueAnalyticsLogging(retention_policy=longer))


# ------------------------------------------------------------------ the secondary endpoint


async def test_the_primary_endpoint_has_no_statistics(raw_queues: Raw, queue_rejected: Any) -> None:
    async with queue_rejected(BAD_OPTION):
        await raw_queues("GET", "/?restype=service&comp=stats")


@SECONDARY
@geo_replicated
async def test_the_secondary_endpoint_has_statistics(queue_service: Any) -> None:
    replication = (await queue_service.get_service_stats())["geo_replication"]
    assert replication["status"] == "live"
    assert replication["last_sync_time"] is not None


@pytest.fixture
def raw_secondary(raw_queues: Raw) -> Raw:
    """A function that sends requests to the secondary endpoint."""
    raw_queues.base = raw_queues.base.replace(raw_queues.account, f"{raw_queues.account}-secondary")
    return raw_queues


@geo_replicated
async def test_the_secondary_endpoint_reads(raw_secondary: Raw, queue: Any) -> None:
    await queue.send_message("text")
    answer = await raw_secondary("GET", f"/{queue.queue_name}/messages?peekonly=true")
    assert "<MessageText>text</MessageText>" in answer.text


@SECONDARY
@geo_replicated
async def test_the_secondary_endpoint_does_not_write(raw_secondary: Raw, queue: Any, queue_rejected: Any) -> None:
    async with queue_rejected(READ_ONLY):
        await raw_secondary("POST", f"/{queue.queue_name}/messages", body=TEXT)
