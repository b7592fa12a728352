"""Tables: create, query and delete, with the responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from azure.core.exceptions import ResourceExistsError
from azure.data.tables import TableServiceClient

from support.table_requests import JSON, Wire
from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.headers import write_token

BASE = "https://contoso.table.core.windows.net"


def names(response: Any) -> list[str]:
    return [row["TableName"] for row in json.loads(response.body)["value"]]


def test_a_creation_is_echoed_with_its_location(wire: Wire) -> None:
    response = wire.send("POST", "/Tables", JSON, {"TableName": "Departments"})
    assert (response.status, response.headers["Location"]) == (201, f"{BASE}/Tables('Departments')")
    assert json.loads(response.body) == {
        "odata.metadata": f"{BASE}/$metadata#Tables/@Element",
        "TableName": "Departments",
    }
    assert "Preference-Applied" not in response.headers


def test_a_creation_that_wants_no_content_has_none(wire: Wire) -> None:
    response = wire.send("POST", "/Tables", {**JSON, "prefer": "return-no-content"}, {"TableName": "Departments"})
    assert (response.status, response.body, response.headers["Preference-Applied"]) == (204, b"", "return-no-content")
    assert response.headers["Location"] == response.headers["DataServiceId"] == f"{BASE}/Tables('Departments')"


def test_a_creation_that_prefers_content_has_it_confirmed(wire: Wire) -> None:
    response = wire.send("POST", "/Tables", {**JSON, "prefer": "return-content"}, {"TableName": "Departments"})
    assert (response.status, response.headers["Preference-Applied"]) == (201, "return-content")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("EMPLOYEES", (409, "TableAlreadyExists", "The table specified already exists.")),
        ("tables", (400, "InvalidInput", "One of the request inputs is not valid.")),
        ("a_b", (400, "InvalidResourceName", "The specifed resource name contains invalid characters.")),
        ("ab", (400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.")),
        (
            "a" * 64,
            (400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits."),
        ),
        (None, (400, "PropertiesNeedValue", "The values are not specified for all properties in the entity.")),
        (5, (400, "InvalidInput", "One of the request inputs is not valid.")),
    ],
)
def test_a_name_that_cannot_be_is_rejected(name: object, error: tuple[int, str, str], wire: Wire) -> None:
    assert wire.error("POST", "/Tables", JSON, {"TableName": name}) == error


def test_a_deletion_answers_nothing_and_a_second_one_finds_no_resource(wire: Wire) -> None:
    response = wire.send("DELETE", "/Tables('employees')")
    assert (response.status, response.body, response.headers["Content-Length"]) == (204, b"", "0")
    assert wire.error("DELETE", "/Tables('Employees')") == (
        404,
        "ResourceNotFound",
        "The specified resource does not exist.",
    )


def test_one_entry_is_read_as_a_resource_of_its_own(wire: Wire) -> None:
    assert json.loads(wire.send("GET", "/Tables('employees')").body)["TableName"] == "Employees"
    assert wire.error("GET", "/Tables('Nobody')")[:2] == (404, "ResourceNotFound")
    assert wire.error("GET", "/Tables('a_b')")[:2] == (400, "InvalidResourceName")


def test_the_list_comes_in_pages_and_in_order(engine: Engine, wire: Wire) -> None:
    for name in ("bbb", "AAA", "ccc"):
        engine.tables.create(name)
    first = wire.send("GET", "/Tables?$top=2")
    token = first.headers["x-ms-continuation-NextTableName"]
    second = wire.send("GET", f"/Tables?$top=2&NextTableName={token}")
    assert names(first) + names(second) == ["AAA", "bbb", "ccc", "Employees"]
    assert "x-ms-continuation-NextTableName" not in second.headers
    assert names(wire.send("GET", "/Tables?$top=0")) == []
    assert wire.status("GET", "/Tables?NextTableName=x") == 400
    assert names(wire.send("GET", f"/Tables?NextTableName={write_token('d')}")) == ["Employees"]


def test_a_thousand_tables_fill_a_page(engine: Engine, service: TableServiceClient, wire: Wire) -> None:
    for number in range(1000):
        engine.tables.create(f"t{number:04d}")
    assert len(names(wire.send("GET", "/Tables"))) == 1000
    assert len(list(service.list_tables())) == 1001


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("TableName eq 'Employees'", ["Employees"]),
        ("TableName ge 'F'", ["Payroll"]),
        ("false", []),
        ("Other eq 'x'", []),
    ],
)
def test_tables_are_filtered_by_their_name(
    text: str, found: list[str], engine: Engine, service: TableServiceClient
) -> None:
    engine.tables.create("Payroll")
    assert [table.name for table in service.query_tables(text)] == found


def test_the_sdk_reports_that_a_table_exists(service: TableServiceClient) -> None:
    with pytest.raises(ResourceExistsError, match="The table specified already exists"):
        service.create_table("Employees")
    assert service.create_table_if_not_exists("Employees").table_name == "Employees"
    service.delete_table("Employees")
    service.delete_table("Employees")
    with pytest.raises(ValueError, match="Storage table names must be alphanumeric"):
        service.create_table("a_b")
