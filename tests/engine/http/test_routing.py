"""URLs: host style, path style, all forms of keys, and invalid URLs."""

from __future__ import annotations

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableClient, TableServiceClient

from support.table_requests import JSON, Wire
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import EngineTransport

KEYS = ["", "O'Brien", "''", "a b", "é", "日本", "a+b", "a&b=c", "100%", "(x)", "a,b", '~!@$^*()_-=[]{}|;:"<>.', "🛫"]


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:10002/contoso", "http://localhost:10002/contoso", "https://CONTOSO.table.localhost"]
)
def test_every_endpoint_that_names_the_account_reaches_it(
    endpoint: str, engine: Engine, key: AzureNamedKeyCredential
) -> None:
    service = TableServiceClient(endpoint, credential=key, transport=EngineTransport(engine))
    table = service.create_table("Departments")
    table.create_entity({"PartitionKey": "a", "RowKey": "b"})
    assert [found.name for found in service.list_tables()] == ["Departments", "Employees"]
    assert table.submit_transaction([("delete", {"PartitionKey": "a", "RowKey": "b"})]) == [{}]


@pytest.mark.parametrize(
    "url",
    [
        "https://fabrikam.table.core.windows.net/Tables",
        "http://127.0.0.1:10002/fabrikam/Tables",
        "http://127.0.0.1:10002/",
        "ftp://contoso/Tables",
        "Tables",
        "",
    ],
)
def test_a_url_of_no_account_or_of_another_represents_nothing(url: str, wire: Wire) -> None:
    assert wire.error("GET", url, base="") == (
        400,
        "InvalidUri",
        "The requested URI does not represent any resource on the server.",
    )


@pytest.mark.parametrize("partition_key", KEYS)
def test_a_key_comes_back_as_it_was_whatever_is_in_it(partition_key: str, table: TableClient) -> None:
    entity = {"PartitionKey": partition_key, "RowKey": partition_key[::-1]}
    table.create_entity(entity)
    assert table.upsert_entity(entity)
    assert table.get_entity(partition_key=partition_key, row_key=partition_key[::-1]) == entity
    assert list(table.list_entities()) == [entity]
    table.delete_entity(entity)
    assert list(table.list_entities()) == []


@pytest.mark.parametrize(
    "path",
    [
        "/Employees(PartitionKey='a',RowKey='b')",
        "/Employees(PartitionKey='a', RowKey='b')",
        "/Employees(RowKey='b',PartitionKey='a')",
        "/Employees%28PartitionKey=%27a%27,RowKey=%27b%27%29",
        "/employees(PartitionKey='a',RowKey='b')",
    ],
)
def test_the_named_keys_of_a_url_may_be_spelled_in_every_way(path: str, wire: Wire) -> None:
    assert wire.status("POST", "/Employees", JSON, {"PartitionKey": "a", "RowKey": "b"}) == 201
    assert wire.status("GET", path) == 200


@pytest.mark.parametrize(
    "path",
    [
        "/Employees(PartitionKey='a')",
        "/Employees('a')",
        "/Employees(PartitionKey='a',RowKey='b',RowKey='c')",
        "/Employees(PartitionKey='a',RowKey='it's')",
        "/Employees(PartitionKey='a',RowKey='it%27s')",
        "/Employees)(PartitionKey='a',RowKey='b')",
        "/Employees%28%29(PartitionKey='a',RowKey='b')",
        "/Employees(a)",
    ],
)
def test_keys_that_are_not_the_two_keys_are_rejected(path: str, wire: Wire) -> None:
    assert wire.error("GET", path) == (
        400,
        "InvalidInput",
        "The number of keys specified in the URI does not match number of key properties for the resource.",
    )


@pytest.mark.parametrize("end", ["#(PartitionKey='a',RowKey='b')", "?x=(PartitionKey='a',RowKey='b')"])
def test_keys_after_the_path_name_no_entity(end: str, wire: Wire) -> None:
    assert wire.status("GET", f"/Employees{end}") == 200


@pytest.mark.parametrize(
    ("end", "status"), [("/(PartitionKey='a',RowKey='b')", 501), ("(PartitionKey='a/b',RowKey='c')", 400)]
)
def test_a_longer_path_names_no_entity(end: str, status: int, wire: Wire) -> None:
    assert wire.status("GET", f"/Employees{end}") == status


@pytest.mark.parametrize("path", ["/Employees(PartitionKey='%ff',RowKey='b')", "/%ff"])
def test_a_path_that_is_no_utf_8_is_rejected(path: str, wire: Wire) -> None:
    assert wire.error("GET", path)[:2] == (400, "InvalidInput")


def test_an_option_that_is_no_utf_8_is_rejected(wire: Wire) -> None:
    assert wire.error("GET", "/Employees()?$filter=%ff")[:2] == (400, "InvalidUri")


def test_a_plus_is_a_space_in_a_query_and_a_plus_in_a_path(wire: Wire) -> None:
    wire.send("POST", "/Employees", JSON, {"PartitionKey": "a+b", "RowKey": "c d"})
    assert wire.status("GET", "/Employees(PartitionKey='a+b',RowKey='c%20d')") == 200
    assert b"a+b" in wire.send("GET", "/Employees()?$filter=RowKey+eq+'c%20d'").body


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/Tables"),
        ("POST", "/Employees(PartitionKey='a',RowKey='b')"),
        ("DELETE", "/Employees"),
        ("GET", "/$batch"),
        ("BREW", "/Employees"),
    ],
)
def test_a_verb_that_the_resource_does_not_know_is_rejected(method: str, path: str, wire: Wire) -> None:
    assert wire.error(method, path) == (
        405,
        "UnsupportedHttpVerb",
        "The resource doesn't support specified Http Verb.",
    )


def test_an_answer_to_head_has_no_body(wire: Wire) -> None:
    response = wire.send("HEAD", "/Tables")
    assert (response.status, response.body) == (405, b"")


def test_post_carries_no_other_verb(wire: Wire) -> None:
    headers = {**JSON, "x-http-method": "BOGUS"}
    assert wire.status("POST", "/Employees", headers, {"PartitionKey": "a", "RowKey": "b"}) == 405


def test_the_root_has_no_service_document(wire: Wire) -> None:
    assert wire.error("GET", "/")[:2] == (501, "NotImplemented")
