"""PartitionKey and RowKey: valid strings, comparison and order."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty

from conformance.deviations import CRASHES, KEY_CHARACTERS, KEY_TYPES
from conformance.raw import Raw, entity_path
from conformance.service_errors import ServiceError
from conformance.table_errors import (
    INVALID_INPUT,
    NEED_VALUE,
    NOT_FOUND,
    OUT_OF_RANGE,
    QUERY_SYNTAX,
    VALUE_TOO_LARGE,
    value_out_of_range,
)
from tablepatterns.limits import MAX_KEY_UNITS

KEYS = ["PartitionKey", "RowKey"]


def with_key(name: str, value: Any) -> dict[str, Any]:
    return {"PartitionKey": "Sales", "RowKey": "000223", name: value}


# ------------------------------------------------------------------ what a key may be


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-037")
@pytest.mark.parametrize(
    "key",
    [
        pytest.param("", id="empty"),
        pytest.param(" ", id="space"),
        pytest.param("email_jonesj@contoso.com", id="address"),
        pytest.param("O'Neill", id="quote"),
        pytest.param("''", id="quotes"),
        pytest.param('"100%" + $5, a=b; c&d: [e]{f}|^`~!*<g>', id="punctuation"),
        pytest.param("%2F%27", id="looks encoded"),
        pytest.param("naïve Ωmega 日本", id="letters"),
        pytest.param("🛫", id="outside the BMP"),
        pytest.param("\u00a0\u2028", id="spaces of other kinds"),
    ],
)
@pytest.mark.parametrize("name", KEYS)
async def test_a_key_is_any_string_without_the_forbidden_characters(table: Any, name: str, key: str) -> None:
    entity = with_key(name, key)
    await table.create_entity({**entity, "Name": "Jones"})
    assert await table.get_entity(entity["PartitionKey"], entity["RowKey"]) == {**entity, "Name": "Jones"}
    await table.update_entity({**entity, "Name": "Smith"})
    assert [dict(found) async for found in table.query_entities(f"{name} eq @key", parameters={"key": key})] == [
        {**entity, "Name": "Smith"}
    ]
    await table.delete_entity(entity)
    assert [found async for found in table.list_entities()] == []


@pytest.mark.guide("G-041")
async def test_the_same_row_key_in_two_partitions_is_two_entities(table: Any) -> None:
    for department in ("Sales", "Research"):
        await table.create_entity({"PartitionKey": department, "RowKey": "1", "Department": department})
    assert (await table.get_entity("Sales", "1"))["Department"] == "Sales"
    assert (await table.get_entity("Research", "1"))["Department"] == "Research"


async def test_keys_that_differ_in_case_are_two_entities(table: Any) -> None:
    for key in ("sales", "Sales"):
        await table.create_entity({"PartitionKey": key, "RowKey": key})
    assert [found["PartitionKey"] async for found in table.list_entities()] == ["Sales", "sales"]


# ------------------------------------------------------------------ forbidden characters


def forbidden(*characters: str) -> list[Any]:
    return [pytest.param(character, id=f"U+{ord(character):04X}") for character in characters]


@KEY_CHARACTERS
@pytest.mark.guide("G-031", "G-032", "G-033", "G-034", "G-035", "G-036")
@pytest.mark.parametrize(
    "character", forbidden("/", "\\", "#", "?", "\x00", "\t", "\n", "\r", "\x1f", "\x7f", "\x80", "\x9f")
)
@pytest.mark.parametrize("name", KEYS)
async def test_an_insert_of_a_key_with_a_forbidden_character_is_rejected(
    table: Any, rejected: Any, name: str, character: str
) -> None:
    key = f"a{character}b"
    async with rejected(value_out_of_range(name, key)):
        await table.create_entity(with_key(name, key))


@KEY_CHARACTERS
@pytest.mark.parametrize("character", forbidden("/", "\\"))
@pytest.mark.parametrize("name", KEYS)
async def test_a_slash_in_a_key_of_the_url_is_a_syntax_error(
    table: Any, rejected: Any, name: str, character: str
) -> None:
    entity = with_key(name, f"a{character}b")
    async with rejected(QUERY_SYNTAX):
        await table.upsert_entity(entity)
    async with rejected(QUERY_SYNTAX):
        await table.get_entity(entity["PartitionKey"], entity["RowKey"])


@KEY_CHARACTERS
@pytest.mark.parametrize("character", forbidden("#", "?", "\x80", "\x9f"))
@pytest.mark.parametrize("name", KEYS)
async def test_any_other_forbidden_character_in_a_key_of_the_url_is_out_of_range(
    table: Any, rejected: Any, name: str, character: str
) -> None:
    entity = with_key(name, f"a{character}b")
    async with rejected(OUT_OF_RANGE):
        await table.upsert_entity(entity)
    async with rejected(OUT_OF_RANGE):
        await table.update_entity(entity)
    async with rejected(OUT_OF_RANGE):
        await table.get_entity(entity["PartitionKey"], entity["RowKey"])


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("character", forbidden("\\", "#", "?", "\t", "\n", "\x7f", "\x80"))
@pytest.mark.parametrize("name", KEYS)
async def test_no_write_brings_a_forbidden_character_into_a_key(
    table: Any, rejected: Any, name: str, character: str
) -> None:
    entity = with_key(name, f"a{character}b")
    for write in (table.create_entity, table.upsert_entity):
        async with rejected(ServiceError(400)):
            await write(entity)


# ------------------------------------------------------------------ size


async def test_a_key_of_1_kib_is_accepted(table: Any) -> None:
    key = "k" * MAX_KEY_UNITS
    await table.create_entity({"PartitionKey": key, "RowKey": key})
    assert (await table.get_entity(key, key))["RowKey"] == key


@KEY_CHARACTERS
@pytest.mark.parametrize("write", ["create_entity", "upsert_entity"])
@pytest.mark.parametrize("name", KEYS)
async def test_storing_a_longer_key_is_rejected(table: Any, rejected: Any, name: str, write: str) -> None:
    async with rejected(VALUE_TOO_LARGE):
        await getattr(table, write)(with_key(name, "k" * 2048))


@KEY_CHARACTERS
async def test_a_key_that_is_too_long_is_not_found(raw: Raw, rejected: Any, table: Any) -> None:
    path = entity_path(table.table_name, "Sales", "k" * 2048)
    async with rejected(NOT_FOUND):
        await raw("DELETE", path, {"If-Match": "*"})
    async with rejected(NOT_FOUND):
        await raw("PUT", path, {"If-Match": "*"}, {})


# ------------------------------------------------------------------ missing keys, other types


@pytest.mark.parametrize("name", KEYS)
async def test_an_insert_without_a_key_is_rejected(raw: Raw, rejected: Any, table: Any, name: str) -> None:
    entity = with_key(name, None)
    async with rejected(NEED_VALUE):
        await raw("POST", f"/{table.table_name}", body=entity)
    del entity[name]
    async with rejected(NEED_VALUE):
        await raw("POST", f"/{table.table_name}", body=entity)


@pytest.mark.parametrize("name", KEYS)
async def test_the_sdk_takes_an_insert_without_a_key_for_a_bad_argument(table: Any, unchanged: Any, name: str) -> None:
    entity = with_key(name, None)
    del entity[name]
    async with unchanged():
        with pytest.raises(ValueError, match=f"{name} must be present in an entity"):
            await table.create_entity(entity)


NOT_STRINGS = [
    pytest.param(7, id="Int32"),
    pytest.param(True, id="Boolean"),
    pytest.param(7.5, id="Double"),
    pytest.param(EntityProperty(7, EdmType.INT64), id="Int64"),
    pytest.param(UUID("c9da6455-213d-42c9-9a79-3e9149a57833"), id="Guid"),
    pytest.param(b"key", id="Binary"),
    pytest.param(EntityProperty("2014-08-22T00:50:32Z", EdmType.DATETIME), id="DateTime"),
]


@KEY_TYPES
@pytest.mark.guide("G-030")
@pytest.mark.parametrize("key", NOT_STRINGS)
@pytest.mark.parametrize("name", KEYS)
async def test_an_insert_of_a_key_that_is_no_string_is_rejected(table: Any, rejected: Any, name: str, key: Any) -> None:
    async with rejected(INVALID_INPUT):
        await table.create_entity(with_key(name, key))


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("note", ["Edm.DateTime", "Edm.Guid", "Edm.Binary", "Edm.String"])
@pytest.mark.parametrize(("method", "headers"), [("PUT", {}), ("MERGE", {}), ("PUT", {"If-Match": "*"})], ids=str)
async def test_where_the_url_has_the_keys_the_body_may_repeat_them_in_any_type(
    raw: Raw, table: Any, method: str, headers: dict[str, str], note: str
) -> None:
    await table.create_entity({"PartitionKey": "Sales", "RowKey": "000223"})
    body = {**with_key("Age", 34), **{f"{name}@odata.type": note for name in KEYS}}
    await raw(method, entity_path(table.table_name, "Sales", "000223"), headers, body)
    assert await table.get_entity("Sales", "000223") == {"PartitionKey": "Sales", "RowKey": "000223", "Age": 34}


@pytest.mark.parametrize("method", ["PUT", "MERGE"])
async def test_where_the_url_has_the_keys_the_body_may_leave_them_out(raw: Raw, table: Any, method: str) -> None:
    await raw(method, entity_path(table.table_name, "Sales", "000223"), body={"Age": 34})
    assert [dict(found) async for found in table.list_entities()] == [with_key("Age", 34)]


# ------------------------------------------------------------------ URLs


@pytest.mark.parametrize("between", [",", ",%20"], ids=["comma", "comma and space"])
async def test_a_space_may_part_the_keys_of_a_url(raw: Raw, table: Any, between: str) -> None:
    await table.create_entity(with_key("Age", 34))
    path = f"/{table.table_name}(PartitionKey='Sales'{between}RowKey='000223')"
    assert (await raw("GET", path)).json["Age"] == 34


@CRASHES
@pytest.mark.parametrize(
    "keys",
    ["PartitionKey='Sales'", "RowKey='000223'", "'Sales','000223'", "PartitionKey='Sales',RowKey=5"],
    ids=["no row", "no partition", "no names", "number"],
)
async def test_a_url_without_both_keys_is_rejected(raw: Raw, rejected: Any, table: Any, keys: str) -> None:
    async with rejected(ServiceError(400, "InvalidInput")):
        await raw("GET", f"/{table.table_name}({keys})")


# ------------------------------------------------------------------ order


@pytest.mark.guide("G-097")
async def test_entities_are_in_the_order_of_their_keys_by_utf_16_code_unit(table: Any) -> None:
    keys = ["", "!", "-", "0", "10", "9", "A", "Z", "_", "a", "aa", "é", "日", "🛫", "\uffee"]
    for key in reversed(keys):
        await table.create_entity({"PartitionKey": "p", "RowKey": key})
        await table.create_entity({"PartitionKey": key, "RowKey": "r"})
    assert [found["RowKey"] async for found in table.query_entities("PartitionKey eq 'p'")] == keys
    assert [found["PartitionKey"] async for found in table.query_entities("RowKey eq 'r'")] == keys


@pytest.mark.guide("G-097")
async def test_the_partition_key_counts_more_than_the_row_key(table: Any) -> None:
    pairs = [("A", "2"), ("A", "3"), ("B", "1"), ("B", "2"), ("C", "")]
    for partition_key, row_key in reversed(pairs):
        await table.create_entity({"PartitionKey": partition_key, "RowKey": row_key})
    assert [(found["PartitionKey"], found["RowKey"]) async for found in table.list_entities()] == pairs
