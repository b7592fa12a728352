"""The secondary endpoint: it reads, and rejects every write."""

from __future__ import annotations

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableClient

from support.table_requests import JSON, Wire, batch, entity_path
from tablepatterns_engine.account import Engine
from tablepatterns_engine.tables.service import Operation
from tablepatterns_engine.transport import EngineTransport

ENDPOINTS = ["https://contoso-secondary.table.core.windows.net", "http://127.0.0.1:10002/contoso-secondary"]
WRITES = [
    ("POST", "/Tables"),
    ("DELETE", "/Tables('Employees')"),
    ("POST", "/Employees"),
    ("PUT", entity_path("a", "b")),
    ("MERGE", entity_path("a", "b")),
    ("DELETE", entity_path("a", "b")),
    ("POST", "/$batch"),
    ("PUT", "/Employees"),
]


@pytest.mark.parametrize("base", ENDPOINTS)
@pytest.mark.parametrize(("method", "path"), WRITES)
def test_a_write_is_rejected(method: str, path: str, base: str, wire: Wire) -> None:
    assert wire.error(method, path, {**JSON, "if-match": "*"}, {"TableName": "Payroll"}, base=base) == (
        403,
        "InsufficientAccountPermissions",
        "Write operations are not allowed.",
    )
    assert wire.engine.tables.names() == (["Employees"], None)


@pytest.mark.parametrize("path", ["/Employees?comp=acl", "/?restype=service&comp=properties"])
def test_settings_are_not_written_there(path: str, wire: Wire) -> None:
    response = wire.send("PUT", path, JSON, base=ENDPOINTS[0])
    assert (response.status, response.headers["x-ms-error-code"]) == (403, "InsufficientAccountPermissions")


@pytest.mark.parametrize("base", ENDPOINTS)
@pytest.mark.parametrize(
    "path",
    ["/Tables", "/Employees()", entity_path("a", "b"), "/Employees?comp=acl", "/?restype=service&comp=properties"],
)
def test_a_read_is_answered(path: str, base: str, engine: Engine, wire: Wire) -> None:
    engine.tables.apply("Employees", Operation("insert", "a", "b"))
    response = wire.send("GET", path, base=base)
    assert response.status == 200
    assert b"core.windows.net" not in response.body or b"contoso-secondary" in response.body


def test_the_sdk_reads_from_the_secondary_what_it_wrote_to_the_primary(
    engine: Engine, key: AzureNamedKeyCredential
) -> None:
    url, transport = "https://contoso.table.core.windows.net", EngineTransport(engine)
    primary = TableClient(url, "Employees", credential=key, transport=transport)
    primary.create_entity({"PartitionKey": "a", "RowKey": "b"})
    secondary = TableClient(url, "Employees", credential=key, transport=transport, location_mode="secondary")
    assert secondary.get_entity("a", "b") == {"PartitionKey": "a", "RowKey": "b"}
    with pytest.raises(HttpResponseError, match="Write operations are not allowed"):
        secondary.upsert_entity({"PartitionKey": "a", "RowKey": "b"})


def test_a_batch_is_a_write_whatever_is_in_it(wire: Wire) -> None:
    headers, body = batch(("DELETE", entity_path("a", "b"), {"If-Match": "*"}, b""))
    assert wire.error("POST", "/$batch", headers, body, base=ENDPOINTS[0])[0] == 403
