"""Limits: the names, the number and the size of properties, the size of entities and of requests."""

from __future__ import annotations

from typing import Any

import pytest
from azure.data.tables import UpdateMode

from conformance.deviations import ENTITY_LIMITS, PROPERTY_NAMES
from conformance.entities import KEYS
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from conformance.table_errors import (
    BODY_TOO_LARGE,
    ENTITY_TOO_LARGE,
    PROPERTY_NAME_INVALID,
    PROPERTY_NAME_TOO_LONG,
    TOO_MANY_PROPERTIES,
    VALUE_TOO_LARGE,
)
from tablepatterns.limits import (
    MAX_BINARY_BYTES,
    MAX_CUSTOM_PROPERTIES,
    MAX_ENTITY_BYTES,
    MAX_PROPERTY_NAME_LENGTH,
    MAX_REQUEST_BYTES,
    MAX_STRING_UNITS,
)

WRITES = {
    "insert": lambda table, entity: table.create_entity(entity),
    "insert or merge": lambda table, entity: table.upsert_entity(entity),
    "insert or replace": lambda table, entity: table.upsert_entity(entity, mode=UpdateMode.REPLACE),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)


# ------------------------------------------------------------------ names of properties


@pytest.mark.guide("G-016")
async def test_a_property_name_of_255_characters_is_accepted(table: Any) -> None:
    entity = {**KEYS, "n" * MAX_PROPERTY_NAME_LENGTH: 1}
    await table.create_entity(entity)
    assert await table.get_entity("Sales", "000223") == entity


@PROPERTY_NAMES
@pytest.mark.guide("G-016")
@every_write
async def test_a_property_name_of_256_characters_is_rejected(table: Any, rejected: Any, write: Any) -> None:
    async with rejected(PROPERTY_NAME_TOO_LONG):
        await write(table, {**KEYS, "n" * (MAX_PROPERTY_NAME_LENGTH + 1): 1})


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("name", ["_", "a1", "_1", "été", "Ωmega", "年齢", "from", "class", "Table"])
async def test_a_property_name_is_an_identifier(table: Any, name: str) -> None:
    await table.create_entity({**KEYS, name: 1})
    assert (await table.get_entity("Sales", "000223"))[name] == 1


@PROPERTY_NAMES
@pytest.mark.guide("G-019", "G-020", "G-021")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("first-name", id="dash"),
        pytest.param("123", id="digits"),
        pytest.param("1st", id="leading digit"),
        pytest.param("first name", id="space"),
        pytest.param("first.name", id="point"),
        pytest.param("first@name", id="at sign"),
        pytest.param("a<b>", id="brackets"),
        pytest.param("", id="empty"),
        pytest.param("a\tb", id="control character"),
        pytest.param("a\x80b", id="control character of Latin-1"),
        pytest.param("a\ue000b", id="private use"),
    ],
)
@every_write
async def test_any_other_property_name_is_rejected(table: Any, rejected: Any, write: Any, name: str) -> None:
    async with rejected(PROPERTY_NAME_INVALID):
        await write(table, {**KEYS, name: 1})


@pytest.mark.guide("G-017")
async def test_property_names_that_differ_in_case_are_two_properties(table: Any) -> None:
    entity = {**KEYS, "Email": "jonesj@contoso.com", "email": "jo@contoso.com"}
    await table.create_entity(entity)
    await table.update_entity({**KEYS, "EMAIL": "j@contoso.com"})
    assert await table.get_entity("Sales", "000223") == {**entity, "EMAIL": "j@contoso.com"}


@PROPERTY_NAMES
async def test_a_property_that_is_given_twice_is_rejected(raw: Raw, rejected: Any, table: Any) -> None:
    body = '{"PartitionKey":"Sales","RowKey":"000223","Age":34,"Age":35}'
    async with rejected(ServiceError(400, "DuplicatePropertiesSpecified")):
        await raw("POST", f"/{table.table_name}", body=body)


# ------------------------------------------------------------------ number of properties


def entity_of(count: int) -> dict[str, Any]:
    return {**KEYS, **{f"p{number}": number for number in range(count)}}


async def test_252_properties_are_accepted(table: Any) -> None:
    entity = entity_of(MAX_CUSTOM_PROPERTIES)
    await table.create_entity(entity)
    assert await table.get_entity("Sales", "000223") == entity


@ENTITY_LIMITS
@every_write
async def test_253_properties_are_rejected(table: Any, rejected: Any, write: Any) -> None:
    async with rejected(TOO_MANY_PROPERTIES):
        await write(table, entity_of(MAX_CUSTOM_PROPERTIES + 1))


@ENTITY_LIMITS
@pytest.mark.parametrize("method", ["upsert_entity", "update_entity"])
async def test_a_merge_that_makes_it_253_properties_is_rejected(table: Any, rejected: Any, method: str) -> None:
    await table.create_entity(entity_of(MAX_CUSTOM_PROPERTIES))
    async with rejected(TOO_MANY_PROPERTIES):
        await getattr(table, method)({**KEYS, "more": 1})
    await getattr(table, method)({**KEYS, "p0": "changed"})


async def test_properties_that_are_none_do_not_count(table: Any) -> None:
    await table.create_entity({**entity_of(MAX_CUSTOM_PROPERTIES), "nothing": None})
    assert await table.get_entity("Sales", "000223") == entity_of(MAX_CUSTOM_PROPERTIES)


async def test_system_properties_do_not_count(raw: Raw, table: Any) -> None:
    body = {**entity_of(MAX_CUSTOM_PROPERTIES), "Timestamp": "2014-08-22T00:50:32Z", "odata.etag": 'W/"x"'}
    await raw("POST", f"/{table.table_name}", body=body)
    assert await table.get_entity("Sales", "000223") == entity_of(MAX_CUSTOM_PROPERTIES)


# ------------------------------------------------------------------ size of values


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-046", "G-057")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("s" * MAX_STRING_UNITS, id="String"),
        pytest.param("日" * MAX_STRING_UNITS, id="String of three bytes each in UTF-8"),
        pytest.param("🛫" * (MAX_STRING_UNITS // 2), id="String outside the BMP"),
        pytest.param(bytes(MAX_BINARY_BYTES), id="Binary"),
    ],
)
async def test_a_value_of_64_kib_is_accepted(table: Any, value: Any) -> None:
    await table.create_entity({**KEYS, "Value": value})
    assert (await table.get_entity("Sales", "000223"))["Value"] == value


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-046", "G-057")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("s" * (MAX_STRING_UNITS + 1), id="String"),
        pytest.param("🛫" * (MAX_STRING_UNITS // 2) + "s", id="String outside the BMP"),
        pytest.param(bytes(MAX_BINARY_BYTES + 1), id="Binary"),
    ],
)
@every_write
async def test_a_larger_value_is_rejected(table: Any, rejected: Any, write: Any, value: Any) -> None:
    async with rejected(VALUE_TOO_LARGE):
        await write(table, {**KEYS, "Value": value})


@pytest.mark.parametrize("mode", UpdateMode)
async def test_an_update_with_a_larger_value_is_rejected(table: Any, rejected: Any, mode: UpdateMode) -> None:
    await table.create_entity({**KEYS, "Value": "small"})
    async with rejected(VALUE_TOO_LARGE):
        await table.update_entity({**KEYS, "Value": bytes(MAX_BINARY_BYTES + 1)}, mode=mode)


# ------------------------------------------------------------------ size of entities


def large(size: int) -> dict[str, Any]:
    """Return an entity with values of so many bytes in all."""
    whole, rest = divmod(size, MAX_BINARY_BYTES)
    values = [bytes(MAX_BINARY_BYTES)] * whole + [bytes(rest)]
    return {**KEYS, **{f"p{number}": value for number, value in enumerate(values)}}


# In the Base64 of a request, values of 700 KB take up to 1 MiB, which is where Azurite stops
async def test_an_entity_of_700_kb_is_accepted(table: Any) -> None:
    entity = large(700_000)
    await table.create_entity(entity)
    await table.update_entity({**entity, "p0": b"changed"}, mode=UpdateMode.REPLACE)
    assert await table.get_entity("Sales", "000223") == {**entity, "p0": b"changed"}


@ENTITY_LIMITS
async def test_an_entity_of_almost_1_mib_is_accepted(table: Any) -> None:
    entity = large(MAX_ENTITY_BYTES - 1024)
    await table.upsert_entity(entity, mode=UpdateMode.REPLACE)
    assert await table.get_entity("Sales", "000223") == entity


@ENTITY_LIMITS
async def test_an_insert_of_more_than_1_mib_is_rejected(table: Any, rejected: Any) -> None:
    async with rejected(ENTITY_TOO_LARGE):
        await table.create_entity(large(MAX_ENTITY_BYTES))


@pytest.mark.parametrize("mode", UpdateMode)
async def test_an_upsert_of_more_than_1_mib_is_rejected(table: Any, rejected: Any, mode: UpdateMode) -> None:
    async with rejected(ENTITY_TOO_LARGE):
        await table.upsert_entity(large(MAX_ENTITY_BYTES), mode=mode)


@ENTITY_LIMITS
async def test_a_merge_that_makes_the_entity_larger_than_1_mib_is_rejected(table: Any, rejected: Any) -> None:
    await table.create_entity(large(MAX_ENTITY_BYTES - 1024))
    async with rejected(ENTITY_TOO_LARGE):
        await table.update_entity({**KEYS, "more": bytes(1024)})


# ------------------------------------------------------------------ size of requests


BODY = b'{"PartitionKey":"Sales","RowKey":"000223"}'
large_bodies = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")


@large_bodies
async def test_a_request_of_more_than_4_mib_is_rejected(raw: Raw, rejected: Any, table: Any) -> None:
    async with rejected(BODY_TOO_LARGE):
        await raw("POST", f"/{table.table_name}", body=BODY.ljust(MAX_REQUEST_BYTES + 1))


@large_bodies
async def test_a_request_of_4_mib_is_read(raw: Raw, table: Any) -> None:
    await raw("POST", f"/{table.table_name}", body=BODY.ljust(MAX_REQUEST_BYTES))
    assert await table.get_entity("Sales", "000223") == KEYS
