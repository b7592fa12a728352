"""Shared access signatures of a table, of a key range, and with a stored policy."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.data.tables import TableAccessPolicy, generate_table_sas

from conformance.deviations import SAS_ADDRESSES, SAS_BATCH, SAS_DELETES_TABLE, SAS_ERRORS, SAS_RANGES, SAS_UPSERTS
from conformance.entities import KEYS, stored
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from conformance.signatures import HOUR, NEW, OPERATIONS, UPSERTS, now, operations
from conformance.table_errors import NOT_AUTHENTIC, NOT_AUTHORIZED, NOT_PERMITTED
from support.backends import Backend

policies_take_effect = pytest.mark.owns_account("a stored policy takes up to 30 seconds until it is known everywhere")


@pytest.fixture
def holder(backend: Backend, table: Any, key: AzureNamedKeyCredential) -> Callable[..., Any]:
    """A function that returns the table's client of someone who has a signature with these terms."""

    def client(permission: str | None = "raud", **terms: Any) -> Any:
        if "policy_id" not in terms:
            terms = {"expiry": now() + HOUR, **terms}
        token = generate_table_sas(key, table.table_name, permission=permission, **terms)
        return backend.service(AzureSasCredential(token)).get_table_client(table.table_name)

    return client


# ------------------------------------------------------------------ permissions


@operations(OPERATIONS)
async def test_a_signature_allows_what_its_permissions_say(
    table: Any, holder: Callable[..., Any], letters: str, call: Callable[[Any], Any]
) -> None:
    await table.create_entity(KEYS)
    await call(holder(letters))


@operations([name for name in OPERATIONS if name not in UPSERTS])
async def test_a_signature_allows_nothing_else(
    table: Any, holder: Callable[..., Any], rejected: Any, letters: str, call: Callable[[Any], Any]
) -> None:
    await table.create_entity(KEYS)
    async with rejected(NOT_PERMITTED):
        await call(holder("raud".replace(letters, "")))


@operations(UPSERTS)
async def test_an_upsert_needs_the_permission_to_update(
    table: Any, holder: Callable[..., Any], rejected: Any, letters: str, call: Callable[[Any], Any]
) -> None:
    await table.create_entity(KEYS)
    async with rejected(NOT_PERMITTED):
        await call(holder("rad"))


@SAS_UPSERTS
@operations(UPSERTS)
async def test_an_upsert_needs_the_permission_to_add_too(
    table: Any, holder: Callable[..., Any], rejected: Any, letters: str, call: Callable[[Any], Any]
) -> None:
    await table.create_entity(KEYS)
    async with rejected(NOT_PERMITTED):
        await call(holder("rud"))


async def test_a_table_is_named_in_any_case(backend: Backend, table: Any, key: AzureNamedKeyCredential) -> None:
    await table.create_entity(KEYS)
    token = generate_table_sas(key, table.table_name.upper(), permission="r", expiry=now() + HOUR)
    there = backend.service(AzureSasCredential(token))
    for name in (table.table_name, table.table_name.upper()):
        assert await there.get_table_client(name).get_entity("Sales", "000223") == KEYS


async def test_a_signature_is_of_one_table_only(
    backend: Backend, new_table: Any, table: Any, key: AzureNamedKeyCredential, rejected: Any
) -> None:
    other = await new_table()
    token = generate_table_sas(key, table.table_name, permission="raud", expiry=now() + HOUR)
    async with rejected(ServiceError(403)):
        await backend.service(AzureSasCredential(token)).get_table_client(other.table_name).create_entity(KEYS)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda table: table.create_table(), id="create table"),
        pytest.param(lambda table: table.get_table_access_policy(), id="get policies"),
        pytest.param(lambda table: table.set_table_access_policy({}), id="set policies"),
    ],
)
async def test_a_signature_of_a_table_reaches_its_entities_only(
    holder: Callable[..., Any], rejected: Any, call: Callable[[Any], Any]
) -> None:
    async with rejected(ServiceError(403)):
        await call(holder())


@SAS_DELETES_TABLE
async def test_a_signature_of_a_table_does_not_delete_it(holder: Callable[..., Any], rejected: Any) -> None:
    async with rejected(ServiceError(403)):
        await holder().delete_table()


# ------------------------------------------------------------------ validity


@SAS_ERRORS
@pytest.mark.parametrize(
    ("start", "expiry"), [(-2 * HOUR, -HOUR), (HOUR, 2 * HOUR)], ids=["no longer valid", "not yet valid"]
)
async def test_a_signature_is_valid_from_its_start_to_its_expiry(
    holder: Callable[..., Any], rejected: Any, start: timedelta, expiry: timedelta
) -> None:
    client = holder(start=now() + start, expiry=now() + expiry)
    async with rejected(NOT_AUTHENTIC):
        await client.create_entity(KEYS)


@pytest.mark.parametrize(
    ("start", "expiry"), [(-2 * HOUR, -HOUR), (HOUR, 2 * HOUR)], ids=["no longer valid", "not yet valid"]
)
async def test_outside_that_time_nothing_is_done(
    holder: Callable[..., Any], rejected: Any, start: timedelta, expiry: timedelta
) -> None:
    async with rejected(ServiceError(403)):
        await holder(start=now() + start, expiry=now() + expiry).create_entity(KEYS)


async def test_a_signature_ends_when_the_clock_passes_its_expiry(
    engine: Any, holder: Callable[..., Any], rejected: Any
) -> None:
    client = holder()
    await client.create_entity(KEYS)
    engine.clock.advance(HOUR.total_seconds())
    async with rejected(NOT_AUTHENTIC):
        await client.create_entity(NEW)


@SAS_ERRORS
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sp", "raud"),
        ("se", "2099-01-01T00:00:00Z"),
        ("sig", "AAAA"),
        ("sv", "2020-12-06"),
        ("spk", "A"),
        ("tn", "other"),
    ],
)
async def test_a_signature_that_was_tampered_with_is_rejected(
    raw: Raw, table: Any, key: AzureNamedKeyCredential, rejected: Any, name: str, value: str
) -> None:
    token = generate_table_sas(key, table.table_name, permission="r", expiry=now() + HOUR)
    options = urlencode({**dict(parse_qsl(token)), name: value})
    async with rejected(ServiceError(403, "AuthenticationFailed")):
        await raw("GET", f"/{table.table_name}()?{options}", signed=False)


@SAS_ADDRESSES
async def test_a_signature_may_be_for_some_addresses_only(holder: Callable[..., Any], rejected: Any) -> None:
    async with rejected(ServiceError(403)):
        await holder(ip_address_or_range="203.0.113.1-203.0.113.9").create_entity(KEYS)


@SAS_ERRORS
async def test_a_signature_by_another_key_is_rejected(
    backend: Backend, table: Any, rejected: Any, storage: Any
) -> None:
    other = AzureNamedKeyCredential(storage.target.credential.named_key.name, "d3Jvbmc=")
    token = generate_table_sas(other, table.table_name, permission="raud", expiry=now() + HOUR)
    async with rejected(NOT_AUTHENTIC):
        await backend.service(AzureSasCredential(token)).get_table_client(table.table_name).create_entity(KEYS)


# ------------------------------------------------------------------ a stretch of the keys

PAIRS = [("A", "1"), ("A", "5"), ("A", "9"), ("B", "1"), ("B", "5"), ("B", "9"), ("C", "1"), ("C", "5"), ("C", "9")]
RANGES: dict[str, tuple[dict[str, str], list[tuple[str, str]]]] = {
    "from a partition": ({"start_pk": "B"}, PAIRS[3:]),
    "to a partition": ({"end_pk": "B"}, PAIRS[:6]),
    "one partition": ({"start_pk": "B", "end_pk": "B"}, PAIRS[3:6]),
    "from an entity": ({"start_pk": "B", "start_rk": "5"}, PAIRS[4:]),
    "to an entity": ({"end_pk": "B", "end_rk": "5"}, PAIRS[:5]),
    "one entity": ({"start_pk": "B", "start_rk": "5", "end_pk": "B", "end_rk": "5"}, PAIRS[4:5]),
    "across partitions": ({"start_pk": "A", "start_rk": "5", "end_pk": "C", "end_rk": "1"}, PAIRS[1:7]),
    "nothing": ({"start_pk": "C", "end_pk": "A"}, []),
}
every_range = pytest.mark.parametrize(("terms", "inside"), RANGES.values(), ids=RANGES)


@SAS_RANGES
@every_range
async def test_a_query_finds_only_what_is_in_the_stretch(
    table: Any, holder: Callable[..., Any], terms: dict[str, str], inside: list[tuple[str, str]]
) -> None:
    for partition_key, row_key in PAIRS:
        await table.create_entity({"PartitionKey": partition_key, "RowKey": row_key})
    pages = holder(**terms).list_entities(results_per_page=2)
    assert [(found["PartitionKey"], found["RowKey"]) async for found in pages] == inside


@SAS_RANGES
@every_range
async def test_entities_outside_it_cannot_be_read_or_written(
    holder: Callable[..., Any], rejected: Any, terms: dict[str, str], inside: list[tuple[str, str]]
) -> None:
    client = holder(**terms)
    for partition_key, row_key in PAIRS:
        entity = {"PartitionKey": partition_key, "RowKey": row_key}
        if (partition_key, row_key) in inside:
            await client.create_entity(entity)
            await client.upsert_entity(entity)
            await client.get_entity(partition_key, row_key)
            await client.delete_entity(partition_key, row_key)
        else:
            for call in (client.create_entity, client.upsert_entity, client.update_entity, client.delete_entity):
                async with rejected(NOT_AUTHORIZED):
                    await call(entity)
            async with rejected(NOT_AUTHORIZED):
                await client.get_entity(partition_key, row_key)


@SAS_RANGES
async def test_a_transaction_outside_it_is_rejected(table: Any, holder: Callable[..., Any], rejected: Any) -> None:
    client = holder(start_pk="B", start_rk="1", end_pk="B", end_rk="5")
    operations = [("create", {"PartitionKey": "B", "RowKey": row_key}) for row_key in ("1", "5", "9")]
    await client.submit_transaction(operations[:2])
    await table.delete_entity("B", "1")
    async with rejected(ServiceError(403, "AuthorizationFailure")):
        await client.submit_transaction([operations[0], operations[2]])


# ------------------------------------------------------------------ transactions


@SAS_BATCH
async def test_a_transaction_needs_the_permission_of_each_operation(
    table: Any, holder: Callable[..., Any], rejected: Any
) -> None:
    await table.create_entity(KEYS)
    operations = [("create", NEW), ("delete", KEYS)]
    for letters in ("rau", "rud"):
        async with rejected(ServiceError(403, "AuthorizationPermissionMismatch")):
            await holder(letters).submit_transaction(operations)
    await holder("ad").submit_transaction(operations)
    assert await stored(table) == [NEW]


# ------------------------------------------------------------------ stored policies


@policies_take_effect
async def test_a_policy_gives_the_terms_of_a_signature(table: Any, holder: Callable[..., Any], rejected: Any) -> None:
    await table.create_entity(KEYS)
    await table.set_table_access_policy(
        {"readers": TableAccessPolicy(permission="r", start=now() - HOUR, expiry=now() + HOUR)}
    )
    client = holder(None, policy_id="readers")
    assert await client.get_entity("Sales", "000223") == KEYS
    async with rejected(NOT_PERMITTED):
        await client.create_entity(NEW)


@SAS_ERRORS
@policies_take_effect
async def test_a_signature_ends_with_its_policy(table: Any, holder: Callable[..., Any], rejected: Any) -> None:
    terms = {"permission": "raud", "start": now() - HOUR, "expiry": now() + HOUR}
    await table.set_table_access_policy({"owners": TableAccessPolicy(**terms)})
    client = holder(None, policy_id="owners")
    await client.create_entity(KEYS)
    await table.set_table_access_policy(
        {"owners": TableAccessPolicy(**{**terms, "expiry": now() - timedelta(minutes=1)})}
    )
    async with rejected(NOT_AUTHENTIC):
        await client.create_entity(NEW)
    await table.set_table_access_policy({})
    async with rejected(NOT_AUTHENTIC):
        await client.create_entity(NEW)


@SAS_ERRORS
async def test_a_policy_that_the_table_lacks_gives_nothing(holder: Callable[..., Any], rejected: Any) -> None:
    async with rejected(NOT_AUTHENTIC):
        await holder(None, policy_id="nobody").create_entity(KEYS)


@SAS_ERRORS
@policies_take_effect
async def test_policy_and_signature_complete_each_other_but_never_say_the_same(
    table: Any, holder: Callable[..., Any], rejected: Any
) -> None:
    await table.set_table_access_policy({"writers": TableAccessPolicy(permission="a")})
    await holder(None, policy_id="writers", expiry=now() + HOUR).create_entity(KEYS)
    async with rejected(ServiceError()):
        await holder("a", policy_id="writers", expiry=now() + HOUR).create_entity(NEW)
    async with rejected(NOT_AUTHENTIC):
        await holder(None, policy_id="writers").create_entity(NEW)
