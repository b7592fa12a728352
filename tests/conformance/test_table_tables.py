"""Tables: names, creation, deletion, and lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

from conformance.deviations import CRASHES, HEADERS, TABLE_ENTRY, TABLE_NAMES
from conformance.entities import KEYS
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from conformance.table_errors import (
    INVALID_INPUT,
    NO_TABLE,
    NOT_FOUND,
    TABLE_EXISTS,
    TABLE_NAME_CHARACTERS,
    TABLE_NAME_LENGTH,
)
from support.backends import Backend


async def names_of(service: Any, prefix: str) -> list[str]:
    """Return the names that begin with this one; of an account that others use too."""
    wanted = f"TableName ge '{prefix}' and TableName lt '{prefix}~'"
    return [table.name async for table in service.query_tables(wanted)]


# ------------------------------------------------------------------ names


@pytest.mark.guide("G-002")
async def test_a_name_of_3_characters_is_accepted(service: Any) -> None:
    name = f"t{uuid4().hex[:2]}"
    try:
        await service.create_table(name)
        assert name in await names_of(service, name)
    finally:
        await service.delete_table(name)


@pytest.mark.guide("G-002")
async def test_a_name_of_63_characters_is_accepted(service: Any, new_name: Callable[..., str]) -> None:
    name = new_name("t" * 31)
    assert len(name) == 63
    await service.create_table(name)
    assert await names_of(service, name) == [name]


@TABLE_NAMES
@pytest.mark.guide("G-004", "G-005")
@pytest.mark.parametrize(
    "name",
    ["my-table", "my_table", "my.table", "my table", "täble", "1table", "0ab", "tablé", "$Metrics", "a'b"],
)
async def test_a_name_of_other_characters_is_rejected(service: Any, rejected: Any, name: str) -> None:
    async with rejected(TABLE_NAME_CHARACTERS):
        await service.create_table(name)


@TABLE_NAMES
@pytest.mark.parametrize("name", ["a", "ab", "a" * 64, "a" * 255])
async def test_a_name_of_another_length_is_rejected(service: Any, rejected: Any, name: str) -> None:
    async with rejected(TABLE_NAME_LENGTH):
        await service.create_table(name)


@TABLE_NAMES
@pytest.mark.parametrize("name", ["tables", "Tables", "TABLES"])
async def test_the_reserved_name_is_rejected(service: Any, rejected: Any, name: str) -> None:
    async with rejected(INVALID_INPUT):
        await service.create_table(name)


@TABLE_NAMES
@pytest.mark.parametrize("name", ["my_table", "1table", "ab", "a" * 64])
async def test_the_sdk_takes_a_rejected_name_for_a_bad_argument(service: Any, unchanged: Any, name: str) -> None:
    async with unchanged():
        with pytest.raises(ValueError, match="Storage table names must be alphanumeric"):
            await service.create_table(name)


@TABLE_NAMES
@pytest.mark.parametrize(
    ("name", "error"),
    [("my_table", TABLE_NAME_CHARACTERS), ("a" * 64, TABLE_NAME_LENGTH)],
    ids=["characters", "length"],
)
@pytest.mark.parametrize("operation", ["create_entity", "upsert_entity", "update_entity"])
async def test_the_name_is_checked_when_an_entity_is_written(
    service: Any, rejected: Any, operation: str, name: str, error: ServiceError
) -> None:
    table = service.get_table_client(name)
    async with rejected(error):
        await getattr(table, operation)(KEYS)


@pytest.mark.guide("G-008")
async def test_names_that_differ_in_case_are_one_table(service: Any, rejected: Any, table_name: str) -> None:
    made = await service.create_table(table_name)
    await made.create_entity(KEYS)
    other = service.get_table_client(table_name.upper())
    assert await other.get_entity("Sales", "000223") == KEYS
    async with rejected(TABLE_EXISTS):
        await service.create_table(table_name.upper())


@pytest.mark.guide("G-009")
async def test_the_case_of_the_name_is_kept(service: Any, new_name: Callable[..., str]) -> None:
    name = new_name("Mixed")
    await service.create_table(name)
    assert await names_of(service, name) == [name]


# ------------------------------------------------------------------ create and delete


async def test_creating_a_table_twice_is_rejected(service: Any, rejected: Any, table: Any) -> None:
    async with rejected(TABLE_EXISTS):
        await service.create_table(table.table_name)


async def test_the_sdk_has_an_error_of_its_own_for_a_table_that_exists(table: Any, unchanged: Any) -> None:
    async with unchanged():
        with pytest.raises(ResourceExistsError):
            await table.create_table()


async def test_creating_a_table_if_it_does_not_exist_keeps_its_entities(service: Any, table: Any) -> None:
    await table.create_entity(KEYS)
    same = await service.create_table_if_not_exists(table.table_name)
    assert await same.get_entity("Sales", "000223") == KEYS


async def test_a_deleted_table_is_gone_with_its_entities(service: Any, rejected: Any, table: Any) -> None:
    name = table.table_name
    await table.create_entity(KEYS)
    await service.delete_table(name)
    assert await names_of(service, name) == []
    async with rejected(NO_TABLE):
        await table.get_entity("Sales", "000223")


@pytest.mark.owns_account("a live account takes up to a minute until the name is free again")
async def test_a_table_that_is_made_again_is_empty(service: Any, table: Any) -> None:
    await table.create_entity(KEYS)
    await service.delete_table(table.table_name)
    again = await service.create_table(table.table_name)
    assert [entity async for entity in again.list_entities()] == []


async def test_deleting_a_table_that_does_not_exist_is_rejected(
    raw: Raw, rejected: Any, new_name: Callable[..., str]
) -> None:
    async with rejected(NOT_FOUND):
        await raw("DELETE", f"/Tables('{new_name()}')")


async def test_the_sdk_deletes_a_table_that_does_not_exist_without_an_error(
    service: Any, unchanged: Any, table_name: str
) -> None:
    async with unchanged():
        await service.delete_table(table_name)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda table: table.create_entity(KEYS), id="insert"),
        pytest.param(lambda table: table.upsert_entity(KEYS), id="insert or merge"),
        pytest.param(lambda table: table.upsert_entity(KEYS, mode="replace"), id="insert or replace"),
        pytest.param(lambda table: table.update_entity(KEYS), id="merge"),
        pytest.param(lambda table: table.update_entity(KEYS, mode="replace"), id="replace"),
        pytest.param(lambda table: table.get_entity("Sales", "000223"), id="point query"),
        pytest.param(lambda table: anext(table.list_entities()), id="query"),
    ],
)
async def test_a_missing_table_and_a_missing_entity_have_different_errors(
    service: Any, rejected: Any, table_name: str, call: Callable[[Any], Any]
) -> None:
    async with rejected(NO_TABLE):
        await call(service.get_table_client(table_name))


async def test_deleting_an_entity_of_a_missing_table_is_rejected(raw: Raw, rejected: Any, table_name: str) -> None:
    async with rejected(NO_TABLE):
        await raw("DELETE", f"/{table_name}(PartitionKey='Sales',RowKey='000223')", {"If-Match": "*"})


async def test_the_sdk_has_an_error_of_its_own_for_a_missing_table(
    service: Any, unchanged: Any, table_name: str
) -> None:
    async with unchanged():
        with pytest.raises(ResourceNotFoundError):
            await service.get_table_client(table_name).get_entity("Sales", "000223")


# ------------------------------------------------------------------ the answer to a creation


@HEADERS
async def test_a_creation_says_where_the_table_is(raw: Raw, table_name: str) -> None:
    made = await raw("POST", "/Tables", body={"TableName": table_name})
    assert made.status == 201
    assert made.headers["Location"] == f"{raw.base}/Tables('{table_name}')"
    assert "Preference-Applied" not in made.headers
    assert "DataServiceId" not in made.headers


@HEADERS
async def test_a_creation_without_an_echo_says_so(raw: Raw, table_name: str) -> None:
    made = await raw("POST", "/Tables", {"Prefer": "return-no-content"}, {"TableName": table_name})
    assert (made.status, made.text) == (204, "")
    assert made.headers["Preference-Applied"] == "return-no-content"
    assert made.headers["Location"] == made.headers["DataServiceId"] == f"{raw.base}/Tables('{table_name}')"


async def test_a_creation_can_be_asked_for_its_echo(raw: Raw, table_name: str) -> None:
    made = await raw("POST", "/Tables", {"Prefer": "return-content"}, {"TableName": table_name})
    assert made.status == 201
    assert made.headers["Preference-Applied"] == "return-content"
    assert made.json["TableName"] == table_name


@pytest.mark.parametrize("body", [{}, {"Name": "People"}], ids=["empty", "other name"])
async def test_a_table_without_a_name_is_rejected(raw: Raw, rejected: Any, body: Any) -> None:
    async with rejected(ServiceError(400)):
        await raw("POST", "/Tables", body=body)


@CRASHES
async def test_a_table_whose_name_is_null_is_rejected(raw: Raw, rejected: Any) -> None:
    async with rejected(ServiceError(400)):
        await raw("POST", "/Tables", body={"TableName": None})


# ------------------------------------------------------------------ the list


@pytest.fixture
def listed(backend: Backend, new_table: Callable[..., Any]) -> tuple[str, list[str]]:
    """Five tables, made in no order: what their names begin with, and their names in order."""
    prefix = f"t{uuid4().hex[:8]}"
    tables = [backend.run(new_table(prefix + letter)) for letter in "dbeac"]
    return prefix, sorted(table.table_name for table in tables)


async def test_tables_are_listed_in_the_order_of_their_names(service: Any, listed: tuple[str, list[str]]) -> None:
    _, names = listed
    assert [table.name async for table in service.list_tables() if table.name in names] == names


async def test_tables_are_found_by_their_names(service: Any, listed: tuple[str, list[str]]) -> None:
    prefix, names = listed
    assert await names_of(service, prefix) == names
    found = service.query_tables("TableName eq @name", parameters={"name": names[3]})
    assert [table.name async for table in found] == [names[3]]


async def test_the_list_comes_in_pages_which_a_token_links(service: Any, listed: tuple[str, list[str]]) -> None:
    prefix, names = listed
    wanted = f"TableName ge '{prefix}' and TableName lt '{prefix}~'"
    pages = service.query_tables(wanted, results_per_page=2).by_page()
    assert [table.name async for table in await anext(pages)] == names[:2]
    resumed = service.query_tables(wanted, results_per_page=2).by_page(pages.continuation_token)
    assert [[table.name async for table in page] async for page in resumed] == [names[2:4], names[4:]]


@pytest.mark.parametrize(("wanted", "count"), [("true", 5), ("false", 0)])
async def test_a_boolean_is_a_filter_of_tables_too(
    service: Any, listed: tuple[str, list[str]], wanted: str, count: int
) -> None:
    _, names = listed
    assert len([table.name async for table in service.query_tables(wanted) if table.name in names]) == count


@TABLE_ENTRY
async def test_one_table_of_the_list_can_be_read(raw: Raw, rejected: Any, table: Any, table_name: str) -> None:
    assert (await raw("GET", f"/Tables('{table.table_name}')")).json["TableName"] == table.table_name
    async with rejected(NOT_FOUND):
        await raw("GET", f"/Tables('{table_name}')")
