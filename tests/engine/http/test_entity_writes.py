"""Writes of one entity: statuses, headers, conditions, preferences."""

from __future__ import annotations

import json
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import TableClient, UpdateMode

from support.table_requests import JSON, Wire, entity_path

BASE = "https://contoso.table.core.windows.net"
DON = {"PartitionKey": "Sales", "RowKey": "O'Brien", "Age": 34}
PATH = entity_path("Sales", "O'Brien")
LOCATION = f"{BASE}/Employees(PartitionKey='Sales',RowKey='O''Brien')"
ETAG = "W/\"datetime'2014-08-22T00%3A50%3A32.5Z'\""
NEXT_ETAG = "W/\"datetime'2014-08-22T00%3A50%3A32.5000001Z'\""
STALE = "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\""
COMMON = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Server": "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0",
    "x-ms-version": "2019-02-02",
    "Date": "Fri, 22 Aug 2014 00:50:32 GMT",
}


def headers_of(response: Any) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name != "x-ms-request-id"}


def test_an_insert_is_echoed_with_its_location_and_nothing_about_preferences(wire: Wire) -> None:
    response = wire.send("POST", "/Employees", JSON, DON)
    assert response.status == 201
    assert headers_of(response) == {
        **COMMON,
        "Content-Type": "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
        "Location": LOCATION,
        "ETag": ETAG,
    }
    assert json.loads(response.body) == {
        "odata.metadata": f"{BASE}/$metadata#Employees/@Element",
        "odata.etag": ETAG,
        **DON,
        "Timestamp": "2014-08-22T00:50:32.5Z",
    }


def test_an_insert_that_wants_no_content_has_none(wire: Wire) -> None:
    response = wire.send("POST", "/Employees", {**JSON, "prefer": "return-no-content"}, DON)
    assert (response.status, response.body) == (204, b"")
    assert headers_of(response) == {
        **COMMON,
        "Content-Length": "0",
        "Preference-Applied": "return-no-content",
        "DataServiceId": LOCATION,
        "Location": LOCATION,
        "ETag": ETAG,
    }


def test_a_preference_for_content_is_confirmed_and_an_unknown_one_is_not(wire: Wire) -> None:
    response = wire.send("POST", "/Employees", {**JSON, "prefer": "return-content"}, DON)
    assert (response.status, response.headers["Preference-Applied"]) == (201, "return-content")
    other = wire.send("POST", "/Employees", {**JSON, "prefer": "respond-async"}, {**DON, "RowKey": "2"})
    assert (other.status, "Preference-Applied" in other.headers) == (201, False)


@pytest.mark.parametrize("method", ["PUT", "MERGE", "PATCH"])
@pytest.mark.parametrize("etag", [None, "*", ETAG])
def test_an_update_answers_with_the_new_etag_only(method: str, etag: str | None, wire: Wire) -> None:
    wire.send("POST", "/Employees", JSON, DON)
    response = wire.send(method, PATH, {**JSON, **({"if-match": etag} if etag else {})}, {"Age": 35})
    assert (response.status, response.body) == (204, b"")
    assert headers_of(response) == {**COMMON, "Content-Length": "0", "ETag": NEXT_ETAG}


def test_a_delete_answers_without_an_etag(wire: Wire) -> None:
    wire.send("POST", "/Employees", JSON, DON)
    response = wire.send("DELETE", PATH, {**JSON, "if-match": "*"})
    assert (response.status, headers_of(response)) == (204, {**COMMON, "Content-Length": "0"})


@pytest.mark.parametrize("method", ["PUT", "MERGE", "PATCH", "DELETE"])
class TestConditions:
    def test_another_version_is_not_what_the_condition_expects(self, method: str, wire: Wire) -> None:
        wire.send("POST", "/Employees", JSON, DON)
        assert wire.error(method, PATH, {**JSON, "if-match": STALE}, {"Age": 35}) == (
            412,
            "UpdateConditionNotSatisfied",
            "The update condition specified in the request was not satisfied.",
        )
        assert wire.engine.tables.get("Employees", "Sales", "O'Brien").etag == ETAG

    @pytest.mark.parametrize("etag", ["*", STALE])
    def test_a_condition_on_nothing_finds_no_resource(self, method: str, etag: str, wire: Wire) -> None:
        assert wire.error(method, PATH, {**JSON, "if-match": etag}, {"Age": 35}) == (
            404,
            "ResourceNotFound",
            "The specified resource does not exist.",
        )

    @pytest.mark.parametrize("etag", ["", "x", ETAG + ", " + STALE, f"{ETAG}x", '"x"'])
    def test_what_is_not_one_etag_is_rejected(self, method: str, etag: str, wire: Wire) -> None:
        assert wire.error(method, PATH, {**JSON, "if-match": etag}, {"Age": 35}) == (
            400,
            "InvalidInput",
            f"The etag value '{etag}' specified in one of the request headers is not valid. Please make sure only one "
            "etag value is specified and is valid.",
        )

    def test_if_none_match_is_for_no_write(self, method: str, wire: Wire) -> None:
        assert wire.error(method, PATH, {**JSON, "if-none-match": "*"}, {"Age": 35}) == (
            400,
            "InvalidInput",
            f"If-None-Match HTTP header cannot be specified for {method} operations.",
        )


def test_a_delete_needs_a_condition(wire: Wire) -> None:
    wire.send("POST", "/Employees", JSON, DON)
    assert wire.error("DELETE", PATH)[:2] == (400, "MissingRequiredHeader")
    assert wire.status("GET", PATH) == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "MERGE", "PATCH", "DELETE"])
def test_every_write_to_a_missing_table_says_so(method: str, wire: Wire) -> None:
    path = "/Nobody" if method == "POST" else entity_path("a", "b", "Nobody")
    headers = {**JSON, "if-match": "*"} if method == "DELETE" else JSON
    assert wire.error(method, path, headers, DON) == (404, "TableNotFound", "The table specified does not exist.")


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("1abc", "InvalidResourceName", "The specifed resource name contains invalid characters."),
        ("my_table", "InvalidResourceName", "The specifed resource name contains invalid characters."),
        ("ab", "OutOfRangeInput", "The specified resource name length is not within the permissible limits."),
    ],
)
def test_a_table_name_that_cannot_be_is_rejected_by_entity_operations_too(
    name: str, code: str, text: str, wire: Wire
) -> None:
    assert wire.error("POST", f"/{name}", JSON, DON) == (400, code, text)
    assert wire.error("GET", entity_path("a", "b", name)) == (400, code, text)


def test_a_body_of_4_mib_is_read_and_one_byte_more_is_too_large(wire: Wire) -> None:
    body = json.dumps(DON).encode()
    assert wire.status("POST", "/Employees", JSON, body + b" " * (4 * 2**20 - len(body))) == 201
    assert wire.error("POST", "/Employees", JSON, body + b" " * (4 * 2**20 - len(body) + 1)) == (
        413,
        "RequestBodyTooLarge",
        "The request body is too large and exceeds the maximum permissible limit.",
    )


def test_the_sdk_turns_errors_into_its_own_errors(table: TableClient) -> None:
    table.create_entity(DON)
    read = table.get_entity("Sales", "O'Brien")
    table.upsert_entity(DON)
    with pytest.raises(ResourceExistsError, match="The specified entity already exists"):
        table.create_entity(DON)
    with pytest.raises(ResourceModifiedError, match="The update condition specified in the request was not satisfied"):
        table.update_entity(read, UpdateMode.REPLACE, match_condition=MatchConditions.IfNotModified)
    with pytest.raises(ResourceNotFoundError, match="The specified resource does not exist"):
        table.get_entity("Sales", "nobody")


def test_a_merge_keeps_what_it_does_not_name_and_null_removes_nothing(wire: Wire) -> None:
    wire.send("POST", "/Employees", JSON, {**DON, "Name": "Don"})
    assert wire.status("MERGE", PATH, {**JSON, "if-match": "*"}, {"Age": None, "City": "Oslo"}) == 204
    assert wire.engine.tables.get("Employees", "Sales", "O'Brien").properties == {
        "Age": 34,
        "Name": "Don",
        "City": "Oslo",
    }
    assert wire.status("PUT", PATH, {**JSON, "if-match": "*"}, {"Age": None, "City": "Rome"}) == 204
    assert wire.engine.tables.get("Employees", "Sales", "O'Brien").properties == {"City": "Rome"}
