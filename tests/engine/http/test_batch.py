"""Batches: what is carried out, the parts of the response, and the index of a failed operation."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableClient, TableTransactionError

from support.batch_responses import read_responses
from support.table_requests import JSON, Wire, batch, entity_path, error_of, query_batch
from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.message import Response
from tablepatterns_engine.tables.service import Operation
from tablepatterns_engine.transport import EngineTransport

NEXT = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
INVALID = ("InvalidInput", "One of the request inputs is not valid.")
ANY = {**JSON, "If-Match": "*"}


def entity(row: str, **properties: object) -> dict[str, object]:
    return {"PartitionKey": "p", "RowKey": row, **properties}


def insert(row: str, **properties: object) -> tuple[str, str, dict[str, str], object]:
    return "POST", "/Employees", JSON, entity(row, **properties)


def send(wire: Wire, request: tuple[dict[str, str], bytes]) -> list[Response]:
    response = wire.send("POST", "/$batch", *request)
    assert response.status == 202
    parts = list(read_responses(response.body, response.headers["Content-Type"]))
    assert list(map(content_of, response.parts or ())) == list(map(content_of, parts))
    return parts


def content_of(part: Response) -> tuple[int, str, dict[str, str], bytes]:
    return part.status, part.reason, {name.lower(): value for name, value in part.headers.items()}, part.body


def rejected(wire: Wire, *operations: Any) -> tuple[int, str, str]:
    """Send a transaction that fails; there must be one part, and no entity."""
    (part,) = send(wire, batch(*operations))
    return (part.status, *error_of(part))


def rows(wire: Wire) -> list[str]:
    return [found.row_key for found in wire.engine.tables.query("Employees").entities]


def test_the_answer_is_written_as_the_service_writes_it(wire: Wire) -> None:
    response = wire.send("POST", "/$batch", *batch(("DELETE", entity_path("p", "a"), ANY, b"")))
    guid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
    lines = response.body.decode().split("\r\n")
    outer, inner = lines[0][2:], lines[3][2:]
    assert re.fullmatch(f"batchresponse_{guid}", outer)
    assert re.fullmatch(f"changesetresponse_{guid}", inner)
    assert response.headers["Content-Type"] == f"multipart/mixed; boundary={outer}"
    assert lines[:13] == [
        f"--{outer}",
        f"Content-Type: multipart/mixed; boundary={inner}",
        "",
        f"--{inner}",
        "Content-Type: application/http",
        "Content-Transfer-Encoding: binary",
        "",
        "HTTP/1.1 404 Not Found",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-cache",
        "DataServiceVersion: 3.0;",
        f"Content-Type: {NEXT}",
        "",
    ]
    assert lines[14:] == [f"--{inner}--", "", f"--{outer}--", ""]


@pytest.mark.parametrize("difference", [-1, 1])
def test_a_content_of_another_length_is_rejected(difference: int, wire: Wire) -> None:
    length = len(json.dumps(entity("z"))) + difference
    headers, body = batch(insert("a"), ("POST", "/Employees", {**JSON, "Content-Length": str(length)}, entity("z")))
    response = wire.send("POST", "/$batch", headers, body)
    errors = [response] if response.status != 202 else list(response.parts)
    assert [(error.status, error_of(error)[0]) for error in errors] == [(400, "InvalidInput")]
    assert rows(wire) == []


def test_an_option_of_a_part_is_given_once(wire: Wire) -> None:
    path = entity_path("p", "a")
    said = rejected(wire, ("MERGE", f"{path}?timeout=1&timeout=1", JSON, {}))
    assert said[:2] == (400, "InvalidQueryParameterValue")
    assert rows(wire) == []


class TestWhoIsAtFault:
    def test_the_fourth_of_four(self, wire: Wire) -> None:
        send(wire, batch(insert("d")))
        assert rejected(wire, *(insert(row) for row in "abcd")) == (
            409,
            "EntityAlreadyExists",
            "3:The specified entity already exists.",
        )
        assert rows(wire) == ["d"]

    @pytest.mark.parametrize(
        ("operation", "error"),
        [
            (("POST", "/Nobody", JSON, entity("a")), (404, "TableNotFound", "0:The table specified does not exist.")),
            (insert("x/y"), (400, "OutOfRangeInput", "0:The 'RowKey' parameter of value 'x/y' is out of range.")),
            (insert("x", Name=[]), (400, "InvalidInput", "0:One of the request inputs is not valid.")),
            (
                ("GET", entity_path("p", "a"), JSON, b""),
                (400, "InvalidInput", "0:One of the request inputs is not valid."),
            ),
            (
                ("PUT", "/Employees", JSON, {}),
                (405, "UnsupportedHttpVerb", "0:The resource doesn't support specified Http Verb."),
            ),
            (
                ("DELETE", entity_path("p", "a"), JSON, b""),
                (400, "MissingRequiredHeader", "0:An HTTP header that's mandatory for this request is not specified."),
            ),
            (
                ("DELETE", entity_path("p", "a"), ANY, b""),
                (404, "ResourceNotFound", "The specified resource does not exist."),
            ),
            (insert("held"), (409, "EntityAlreadyExists", "The specified entity already exists.")),
        ],
    )
    def test_a_single_operation_has_its_index_unless_the_storage_rejects_it(
        self, operation: Any, error: tuple[int, str, str], wire: Wire
    ) -> None:
        send(wire, batch(insert("held")))
        assert rejected(wire, operation) == error
        assert rows(wire) == ["held"]

    def test_the_sdk_knows_which_one(self, table: TableClient) -> None:
        table.create_entity(entity("b"))
        with pytest.raises(TableTransactionError, match="1:The specified entity already exists") as caught:
            table.submit_transaction([("create", entity("a")), ("create", entity("b"))])
        error: Any = caught.value
        assert (error.index, error.error_code, error.status_code) == (
            1,
            "EntityAlreadyExists",
            409,
        )


@pytest.mark.parametrize(
    "url",
    [
        "/Employees",
        "Employees",
        "https://contoso.table.core.windows.net/Employees",
        "http://127.0.0.1:10002/contoso/Employees",
    ],
)
def test_the_url_of_an_operation_may_be_absolute_or_relative(url: str, wire: Wire) -> None:
    assert [part.status for part in send(wire, batch(("POST", url, JSON, entity("a"))))] == [201]


@pytest.mark.parametrize("url", ["/contoso/Employees", "Employees", "/contoso/employees()"])
def test_a_relative_url_is_relative_to_the_endpoint_or_to_its_host(url: str, wire: Wire) -> None:
    headers, body = batch(("POST", url, JSON, entity("a")))
    wire.send("POST", "/$batch", headers, body, base="http://127.0.0.1:10002/contoso")
    assert rows(wire) == ["a"]


def test_the_echo_of_an_operation_has_the_format_that_it_asks_for(wire: Wire) -> None:
    full = {"Accept": "application/json;odata=nometadata"}
    (part,) = send(wire, batch(("POST", "/Employees", full, entity("a"))))
    assert set(json.loads(part.body)) == {"PartitionKey", "RowKey", "Timestamp"}
    assert rejected(wire, ("POST", "/Employees", {"Accept": "text/html"}, entity("b")))[:2] == (
        415,
        "AtomFormatNotSupported",
    )


class TestQueries:
    def test_one_point_query_is_answered_outside_of_any_changeset(self, wire: Wire) -> None:
        send(wire, batch(insert("a")))
        (part,) = send(wire, query_batch("GET", entity_path("p", "a")))
        assert (part.status, json.loads(part.body)["RowKey"]) == (200, "a")
        (record,) = list(wire.engine.ledger.records)[-1:]
        assert (record.operation, record.table, record.partition, record.query_class) == (
            "QueryEntity",
            "Employees",
            "p",
            "point query",
        )

    @pytest.mark.parametrize(
        ("method", "url", "error"),
        [
            ("GET", entity_path("p", "a"), (404, "ResourceNotFound", "The specified resource does not exist.")),
            ("GET", "/Nobody()", (404, "TableNotFound", "0:The table specified does not exist.")),
            ("GET", "/Tables", (400, "InvalidInput", "0:One of the request inputs is not valid.")),
            ("DELETE", entity_path("p", "a"), (400, "InvalidInput", "0:One of the request inputs is not valid.")),
        ],
    )
    def test_a_rejected_operation_has_its_error_in_its_own_part(
        self, method: str, url: str, error: tuple[int, str, str], wire: Wire
    ) -> None:
        (part,) = send(wire, query_batch(method, url))
        assert (part.status, *error_of(part)) == error


def test_an_empty_changeset_is_rejected_as_the_service_does_and_succeeds_in_the_sdk(
    wire: Wire, table: TableClient
) -> None:
    assert table.submit_transaction([]) == []
    assert rejected(wire) == (400, *INVALID)


def test_a_batch_that_was_cut_off_on_its_way_changes_nothing(wire: Wire) -> None:
    headers, body = batch(insert("a"), insert("b"), insert("c"))
    for length in range(len(body) - len("--\r\n")):
        assert wire.status("POST", "/$batch", headers, body[:length]) == 400
    assert rows(wire) == []


def test_a_batch_whose_lines_end_with_cr_alone_is_rejected_and_changes_nothing(wire: Wire) -> None:
    headers, body = batch(insert("a"), insert("b"))
    assert wire.error("POST", "/$batch", headers, body.replace(b"\r\n", b"\r"))[:2] == (400, "InvalidInput")
    assert rows(wire) == []
    assert wire.status("POST", "/$batch", headers, body) == 202
    assert rows(wire) == ["a", "b"]


OPERATION = ["Content-Type: application/http", "Content-Transfer-Encoding: binary", ""]
STARTED = ["--batch_1", "Content-Type: multipart/mixed; boundary=changeset_2", "", "--changeset_2", *OPERATION]
NEW = '{"PartitionKey": "p", "RowKey": "new"}'
# What azure-cosmosdb-table for Python 1.0.6 and azure-storage for Node 2.10.7 send
COSMOSDB = [
    *STARTED,
    "POST /Employees HTTP/1.1",
    "Content-ID: 1",
    "Prefer: return-no-content",
    "DataServiceVersion: 3.0;NetFx",
    "Content-Type: application/json",
    "Accept: application/json;odata=minimalmetadata",
    f"Content-Length: {len(NEW)}",
    "",
    NEW,
    "",
    "--changeset_2",
    *OPERATION,
    "DELETE /Employees(PartitionKey='p',RowKey='old') HTTP/1.1",
    "Content-ID: 2",
    "If-Match: *",
    "DataServiceVersion: 3.0;NetFx",
    "Accept: application/json;odata=minimalmetadata",
    "",
    "--changeset_2--",
    "--batch_1--",
]
NODE = [
    *STARTED,
    "POST https://contoso.table.core.windows.net:443/Employees HTTP/1.1",
    "accept: application/json;odata=minimalmetadata",
    "prefer: return-no-content",
    "content-type: application/json;type=entry",
    "",
    NEW,
    "--changeset_2",
    *OPERATION,
    "DELETE https://contoso.table.core.windows.net:443/Employees(PartitionKey=%27p%27,RowKey=%27old%27) HTTP/1.1",
    "if-match: *",
    "content-id: 1",
    "",
    "",
    "--changeset_2--",
    "--batch_1--",
]


@pytest.mark.parametrize("lines", [COSMOSDB, NODE], ids=["azure-cosmosdb-table", "azure-storage for Node"])
def test_older_clients_end_their_lines_with_lf_alone(wire: Wire, lines: list[str]) -> None:
    wire.engine.tables.apply("Employees", Operation("insert", "p", "old"))
    headers = {**JSON, "content-type": 'multipart/mixed; charset="utf-8"; boundary=batch_1'}
    parts = send(wire, (headers, "\n".join(lines).encode()))
    assert [part.status for part in parts] == [204, 204]
    assert rows(wire) == ["new"]


def test_a_transaction_of_the_sdk_in_path_style_names_its_path(engine: Engine, key: AzureNamedKeyCredential) -> None:
    table = TableClient(
        "http://127.0.0.1:10002/contoso", "Employees", credential=key, transport=EngineTransport(engine)
    )
    assert len(table.submit_transaction([("create", entity("a")), ("create", entity("b"))])) == 2


def test_a_transaction_is_one_request_and_one_line_of_the_ledger(wire: Wire) -> None:
    send(wire, batch(insert("a"), insert("b")))
    (record,) = wire.engine.ledger.records
    assert (record.operation, record.table, record.partition) == ("Transaction", "Employees", "p")
    assert (record.billable, record.status, record.error) == (1, 202, None)
    send(wire, batch(insert("a")))
    assert wire.engine.ledger.records[-1].error == "EntityAlreadyExists"
