"""The ledger's record of each request."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from azure.data.tables import TableClient, TableServiceClient

from support.table_requests import JSON, Wire, batch, entity_path
from tablepatterns_engine.account import Engine
from tablepatterns_engine.ledger import TableOperation

ENTITY = {"PartitionKey": "p", "RowKey": "r"}
KEYS = entity_path("p", "r")
ANY = {**JSON, "if-match": "*"}

# method, path, headers, body: operation, table, partition, query class, examined, returned
LINES: list[tuple[tuple[str, str, dict[str, str], object], tuple[Any, ...]]] = [
    (("POST", "/Employees", JSON, {**ENTITY, "RowKey": "2"}), ("InsertEntity", "Employees", "p", None, 0, 0)),
    (("PUT", KEYS, ANY, {}), ("UpdateEntity", "Employees", "p", None, 0, 0)),
    (("PUT", KEYS, JSON, {}), ("InsertOrReplaceEntity", "Employees", "p", None, 0, 0)),
    (("MERGE", KEYS, ANY, {}), ("MergeEntity", "Employees", "p", None, 0, 0)),
    (("PATCH", KEYS, JSON, {}), ("InsertOrMergeEntity", "Employees", "p", None, 0, 0)),
    (("DELETE", KEYS, ANY, b""), ("DeleteEntity", "Employees", "p", None, 0, 0)),
    (("GET", KEYS, JSON, b""), ("QueryEntity", "Employees", "p", "point query", 1, 1)),
    (("GET", "/Employees()", JSON, b""), ("QueryEntities", "Employees", None, "table scan", 1, 1)),
    (
        ("GET", "/Employees()?$filter=PartitionKey%20eq%20'q'", JSON, b""),
        ("QueryEntities", "Employees", "q", "range query", 0, 0),
    ),
    (("GET", "/Tables", JSON, b""), ("QueryTables", None, None, None, 0, 1)),
    (("GET", "/Tables('Employees')", JSON, b""), ("QueryTable", "Employees", None, None, 0, 1)),
    (("POST", "/Tables", JSON, {"TableName": "Payroll"}), ("CreateTable", "Payroll", None, None, 0, 0)),
    (("DELETE", "/Tables('Employees')", JSON, b""), ("DeleteTable", "Employees", None, None, 0, 0)),
    (("GET", "/Employees?comp=acl", JSON, b""), ("GetTableACL", "Employees", None, None, 0, 0)),
    (("PUT", "/Employees?comp=acl", JSON, b""), ("SetTableACL", "Employees", None, None, 0, 0)),
    (("GET", "/?restype=service&comp=properties", JSON, b""), ("GetTableServiceProperties", None, None, None, 0, 0)),
    (
        ("PUT", "/?restype=service&comp=properties", JSON, "<StorageServiceProperties> </StorageServiceProperties>"),
        ("SetTableServiceProperties", None, None, None, 0, 0),
    ),
]


@pytest.mark.parametrize(("request_", "line"), LINES, ids=[line[0] for _, line in LINES])
def test_a_request_is_one_line(
    request_: tuple[str, str, dict[str, str], object], line: tuple[Any, ...], wire: Wire
) -> None:
    wire.send("POST", "/Employees", JSON, ENTITY)
    response = wire.send(*request_)
    assert response.status < 300
    record = wire.engine.ledger.records[-1]
    found = (record.operation, record.table, record.partition, record.query_class, record.examined, record.returned)
    assert found == line
    assert (record.service, record.status, record.error, record.billable) == ("table", response.status, None, 1)
    assert (record.bytes_out, record.moment) == (len(response.body), wire.engine.clock.now())
    assert len(wire.engine.ledger.records) == 2


@pytest.mark.parametrize(("request_", "line"), LINES, ids=[line[0] for _, line in LINES])
def test_every_operation_can_be_made_to_fail_by_its_name_and_what_it_is_about(
    request_: tuple[str, str, dict[str, str], object], line: tuple[Any, ...], wire: Wire
) -> None:
    wire.send("POST", "/Employees", JSON, ENTITY)
    where = {"operation": line[0], "table": line[1], "partition": line[2]}
    given: Any = {name: value for name, value in where.items() if value is not None}
    with wire.engine.faults.busy(service="table", **given) as rule:
        assert wire.send(*request_).status == 503
    assert rule.hits == 1
    assert wire.engine.ledger.records[-1].fault == "busy"
    assert wire.send(*request_).status < 300


def test_the_names_that_faults_know_are_those_of_the_ledger() -> None:
    assert {line[0] for _, line in LINES} | {"GetTableServiceStats", "Transaction"} == set(get_args(TableOperation))


def test_writes_are_counted_by_the_entity(wire: Wire) -> None:
    wire.send("POST", "/$batch", *batch(*(("PUT", entity_path("p", row), JSON, {}) for row in "abc")))
    wire.send("DELETE", entity_path("p", "a"), ANY)
    wire.send("DELETE", entity_path("p", "a"), ANY)
    assert [record.written for record in wire.engine.ledger.records] == [3, 1, 0]


def test_statistics_are_a_line_too(service: TableServiceClient, engine: Engine) -> None:
    with engine.faults.busy(operation="GetTableServiceStats", times=1) as rule:
        service.get_service_stats()
    assert rule.hits == 1
    assert engine.ledger.records[-1].operation == "GetTableServiceStats"


@pytest.mark.parametrize(
    ("path", "headers", "error", "operation"),
    [
        (KEYS, JSON, "ResourceNotFound", "QueryEntity"),
        ("/Employees()?$filter=a", JSON, None, "QueryEntities"),
        ("/Employees()?$filter=a%20b", JSON, "InvalidInput", "QueryEntities"),
        ("/Employees(1)", JSON, "InvalidInput", "Unknown"),
    ],
)
def test_an_error_is_a_line_with_its_code(
    path: str, headers: dict[str, str], error: str | None, operation: str, wire: Wire
) -> None:
    wire.send("GET", path, headers)
    (record,) = wire.engine.ledger.records
    assert (record.error, record.operation) == (error, operation)


def test_bytes_are_those_of_the_bodies(wire: Wire) -> None:
    wire.send("POST", "/Employees", {**JSON, "prefer": "return-no-content"}, b'{"PartitionKey":"p","RowKey":"r"}')
    (record,) = wire.engine.ledger.records
    assert (record.bytes_in, record.bytes_out) == (33, 0)


def test_each_page_of_a_query_is_a_line(table: TableClient, engine: Engine) -> None:
    for number in range(5):
        table.upsert_entity({"PartitionKey": "p", "RowKey": str(number)})
    with engine.ledger.span() as span:
        assert len(list(table.query_entities("PartitionKey eq 'p' and RowKey ge '1'", results_per_page=2))) == 4
    assert [(each.query_class, each.returned) for each in span.records] == [("range query", 2)] * 2
