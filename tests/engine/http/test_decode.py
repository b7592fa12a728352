"""JSON bodies: types, type annotations, nulls, and invalid values."""

from __future__ import annotations

import json
import math
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty, TableClient
from hypothesis import given
from hypothesis import strategies as st

from support.table_requests import JSON, Wire, attempt, entity_path
from tablepatterns.edm import Int64, Ticks
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.tables.json import read_body

GUID = "c9da6455-213d-42c9-9a79-3e9149a57833"


def value_of(value: Any, edm: str | None = None) -> Any:
    members = {"X": value} if edm is None else {"X@odata.type": edm, "X": value}
    return read_body(json.dumps(members).encode()).properties()["X"]


@pytest.mark.parametrize(
    ("value", "edm", "stored"),
    [
        ("Don", None, "Don"),
        ("Don", "Edm.String", "Don"),
        (True, None, True),
        ("TRUE", "Edm.Boolean", True),
        ("False", "Edm.Boolean", False),
        (2**31 - 1, None, 2**31 - 1),
        (-(2**31), "Edm.Int32", -(2**31)),
        ("12345", "Edm.Int32", 12345),
        (1.5, None, 1.5),
        (2**31, None, float(2**31)),
        (3, "Edm.Double", 3.0),
        ("3.14", "Edm.Double", 3.14),
        ("1e3", "Edm.Double", 1000.0),
        ("Infinity", "Edm.Double", math.inf),
        ("-Infinity", "Edm.Double", -math.inf),
        (str(2**63 - 1), "Edm.Int64", Int64(2**63 - 1)),
        ("5", "Edm.Int64", Int64(5)),
        ("1973-10-04T00:00:00.1234567Z", "Edm.DateTime", Ticks.parse("1973-10-04T00:00:00.1234567Z")),
        ("1973-10-04T02:00:00+02:00", "Edm.DateTime", Ticks.parse("1973-10-04T00:00:00Z")),
        ("1973-10-04T00:00:00", "Edm.DateTime", Ticks.parse("1973-10-04T00:00:00Z")),
        (GUID.upper(), "Edm.Guid", UUID(GUID)),
        ("AP8=", "Edm.Binary", b"\x00\xff"),
        ("", "Edm.Binary", b""),
    ],
)
def test_a_value_is_stored_with_the_type_that_the_service_gives_it(value: Any, edm: str | None, stored: Any) -> None:
    found = value_of(value, edm)
    assert (found, type(found)) == (stored, type(stored))


def test_nan_is_a_double() -> None:
    assert math.isnan(value_of("NaN", "Edm.Double"))


@pytest.mark.parametrize(
    ("value", "edm"),
    [
        (5, "Edm.String"),
        (1, "Edm.Boolean"),
        ("yes", "Edm.Boolean"),
        (2**31, "Edm.Int32"),
        (1.5, "Edm.Int32"),
        (True, "Edm.Int32"),
        ("1.5", "Edm.Int32"),
        ("٣", "Edm.Int32"),
        (5, "Edm.Int64"),
        ("abc", "Edm.Int64"),
        (str(2**63), "Edm.Int64"),
        (True, "Edm.Double"),
        ("nan", "Edm.Double"),
        ("1e400", "Edm.Double"),
        ("", "Edm.Double"),
        ("", "Edm.DateTime"),
        ("x", "Edm.DateTime"),
        ("2014-13-01T00:00:00Z", "Edm.DateTime"),
        (5, "Edm.DateTime"),
        (GUID[:-1], "Edm.Guid"),
        (f"{{{GUID}}}", "Edm.Guid"),
        ("AP8", "Edm.Binary"),
        ("A-8=", "Edm.Binary"),
        ("x", "Edm.Unknown"),
        ("x", ""),
        (10**400, None),
        ([], None),
        ({}, None),
        ([1], "Edm.Int32"),
    ],
)
def test_a_value_that_its_type_cannot_be_is_rejected(value: Any, edm: str | None) -> None:
    with pytest.raises(ServiceError, match="InvalidInput: One of the request inputs is not valid"):
        value_of(value, edm)


@pytest.mark.parametrize("note", [None, 5, [], {"a": 1}])
def test_a_note_that_is_no_type_is_rejected(note: Any) -> None:
    with pytest.raises(ServiceError, match="InvalidInput"):
        value_of("x", note) if note is not None else read_body(b'{"X@odata.type":null,"X":"x"}').properties()


def test_null_is_no_value_with_or_without_a_note() -> None:
    assert read_body(b'{"A":null,"B":null,"B@odata.type":"Edm.String"}').properties() == {}


def test_a_note_may_follow_its_value_and_a_note_of_a_note_says_nothing() -> None:
    body = b'{"D":"5","D@odata.type":"Edm.Int64","D@odata.type@odata.type":"Edm.String"}'
    assert read_body(body).properties() == {"D": Int64(5)}


def test_keys_the_timestamp_and_odata_members_are_no_properties() -> None:
    body = {
        "PartitionKey": 1,
        "RowKey": [],
        "Timestamp": None,
        "odata.etag": "x",
        "odata.x@odata.type": 1,
        "timestamp": 1,
    }
    assert read_body(json.dumps(body).encode()).properties() == {"timestamp": 1}


@pytest.mark.parametrize("body", [b'{"A":1,"A":1}', b'{"A@odata.type":"Edm.Int32","A@odata.type":"Edm.Int32","A":1}'])
def test_a_name_given_twice_is_rejected(body: bytes) -> None:
    with pytest.raises(ServiceError, match="DuplicatePropertiesSpecified: A property is specified more than one time"):
        read_body(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"5",
        b"null",
        b"{",
        b'{"A":NaN}',
        b'{"A":Infinity}',
        b"\xff",
        b'{"A":' + b"1" * 5000 + b"}",
        b"[" * 100_000,
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_json_object_is_rejected(body: bytes, wire: Wire) -> None:
    assert wire.error("POST", "/Employees", JSON, body) == (
        400,
        "InvalidInput",
        "One of the request inputs is not valid.",
    )


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"RowKey": "b"}, "PropertiesNeedValue"),
        ({"PartitionKey": "a"}, "PropertiesNeedValue"),
        ({"PartitionKey": "a", "RowKey": None}, "PropertiesNeedValue"),
        ({"PartitionKey": 5, "RowKey": "b"}, "InvalidInput"),
        ({"PartitionKey": True, "RowKey": "b"}, "InvalidInput"),
        ({"PartitionKey": GUID, "PartitionKey@odata.type": "Edm.Guid", "RowKey": "b"}, "InvalidInput"),
    ],
)
def test_an_insert_needs_both_keys_as_strings(members: dict[str, Any], code: str, wire: Wire) -> None:
    assert wire.error("POST", "/Employees", JSON, members)[:2] == (400, code)


@pytest.mark.parametrize("method", ["PUT", "MERGE", "PATCH"])
def test_an_upsert_takes_its_keys_from_the_url_whatever_the_body_says(method: str, wire: Wire) -> None:
    body = {"PartitionKey": GUID, "PartitionKey@odata.type": "Edm.Guid", "RowKey": "other", "A": 1}
    assert wire.status(method, entity_path(GUID, "b"), JSON, body) == 204
    assert wire.engine.tables.get("Employees", GUID, "b").properties == {"A": 1}


def test_every_type_survives_the_sdk(table: TableClient) -> None:
    entity = {
        "PartitionKey": "Sales",
        "RowKey": "1",
        "Text": "é🛫",
        "Flag": True,
        "Small": 34,
        "Big": EntityProperty(5, EdmType.INT64),
        "Ratio": 4.0,
        "Odd": math.inf,
        "Hired": datetime(1973, 10, 4, 1, 2, 3, 4, tzinfo=timezone.utc),
        "Id": UUID(GUID),
        "Photo": b"\x00\xff",
    }
    table.create_entity(entity)
    assert dict(table.get_entity("Sales", "1")) == entity


def test_a_timestamp_from_the_service_is_written_with_all_its_digits(table: TableClient, wire: Wire) -> None:
    body = {"PartitionKey": "a", "RowKey": "b", "At": "2014-08-22T00:50:32.1234567Z", "At@odata.type": "Edm.DateTime"}
    wire.send("POST", "/Employees", JSON, body)
    table.upsert_entity(table.get_entity("a", "b"))
    assert wire.engine.tables.get("Employees", "a", "b").properties == {
        "At": Ticks.parse("2014-08-22T00:50:32.1234567Z")
    }


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda children: st.one_of(st.lists(children), st.dictionaries(st.text(), children)),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["A", "A@odata.type", "B"]), st.one_of(JSON_VALUES, st.sampled_from(["Edm.Guid", "Edm.Int64"]))
    )
)
def test_any_json_is_read_or_rejected(members: dict[str, Any]) -> None:
    read = attempt(lambda: read_body(json.dumps(members).encode()).properties())
    if isinstance(read, ServiceError):
        assert read.code == "InvalidInput"
    else:
        assert {type(value) for value in read.values()} <= {str, bool, int, float, Int64, UUID}
