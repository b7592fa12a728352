"""Projections, and the other options of a query."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.deviations import ENTITY_SET_URL, OPTIONS, SELECT_MISSING, SELECT_STAR
from conformance.entities import KEYS, path_of
from conformance.raw import Raw
from conformance.service_errors import ServiceError

JONES = {**KEYS, "Name": "Jones", "Age": 34, "Email": "jonesj@contoso.com"}


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-095")
@pytest.mark.parametrize(
    ("select", "left"),
    [
        ("Email", {"Email": "jonesj@contoso.com"}),
        (["Email", "Age"], {"Email": "jonesj@contoso.com", "Age": 34}),
        (["PartitionKey", "RowKey", "Age"], {**KEYS, "Age": 34}),
        ("RowKey", {"RowKey": "000223"}),
        ("Age,Age", {"Age": 34}),
    ],
    ids=str,
)
async def test_only_the_properties_that_are_named_come_back(table: Any, select: Any, left: dict[str, Any]) -> None:
    await table.create_entity(JONES)
    assert await table.get_entity("Sales", "000223", select=select) == left
    assert [dict(found) async for found in table.list_entities(select=select)] == [left]
    assert [dict(found) async for found in table.query_entities("Age eq 34", select=select)] == [left]


async def test_the_etag_comes_back_whatever_is_named(table: Any) -> None:
    etag = (await table.create_entity(JONES))["etag"]
    assert (await table.get_entity("Sales", "000223", select="Age")).metadata["etag"] == etag
    assert [found.metadata["etag"] async for found in table.list_entities(select="Age")] == [etag]


async def test_the_timestamp_comes_back_only_where_it_is_named(table: Any) -> None:
    await table.create_entity(JONES)
    assert (await table.get_entity("Sales", "000223", select="Age")).metadata["timestamp"] is None
    named = await table.get_entity("Sales", "000223", select="Timestamp")
    assert named.metadata["timestamp"] == (await table.get_entity("Sales", "000223")).metadata["timestamp"]


async def test_a_filter_sees_properties_that_are_not_named(table: Any) -> None:
    await table.create_entity(JONES)
    await table.create_entity({"PartitionKey": "Sales", "RowKey": "1", "Name": "Smith", "Age": 35})
    assert [dict(found) async for found in table.query_entities("Age gt 34", select="Name")] == [{"Name": "Smith"}]


@SELECT_MISSING
async def test_a_named_property_that_the_entity_lacks_is_null(raw: Raw, table: Any) -> None:
    await table.create_entity(KEYS)
    assert await table.get_entity("Sales", "000223", select="Email") == {"Email": None}
    assert [dict(found) async for found in table.list_entities(select="Email")] == [{"Email": None}]
    assert '"Email":null' in (await raw("GET", f"{path_of(table)}?$select=Email")).text


async def test_names_are_case_sensitive(table: Any) -> None:
    await table.create_entity(JONES)
    assert (await table.get_entity("Sales", "000223", select="email")).get("email") is None


@ENTITY_SET_URL
async def test_a_page_says_which_properties_were_named(raw: Raw, table: Any) -> None:
    found = await raw("GET", f"/{table.table_name}()?$select=Email,Age")
    assert found.json["odata.metadata"] == f"{raw.base}/$metadata#{table.table_name}&$select=Email,Age"


@ENTITY_SET_URL
async def test_a_blank_selection_is_no_selection(raw: Raw, table: Any) -> None:
    await table.create_entity(JONES)
    found = (await raw("GET", f"/{table.table_name}()?$select=%20")).json
    assert found["odata.metadata"] == f"{raw.base}/$metadata#{table.table_name}&$select="
    assert [row["Name"] for row in found["value"]] == ["Jones"]


@SELECT_STAR
async def test_a_star_is_no_selection(table: Any) -> None:
    await table.create_entity(JONES)
    assert await table.get_entity("Sales", "000223", select="*") == JONES
    assert [dict(found) async for found in table.list_entities(select="*")] == [JONES]


@OPTIONS
@pytest.mark.parametrize("option", ["$orderby=Age", "$skip=1", "$count=true", "$expand=Name", "$inlinecount=allpages"])
async def test_the_options_of_odata_that_the_service_lacks_are_not_implemented(
    raw: Raw, rejected: Any, table: Any, option: str
) -> None:
    async with rejected(ServiceError(501, "NotImplemented")):
        await raw("GET", f"/{table.table_name}()?{option}")
