"""The three levels of metadata, byte for byte, and how a client selects one."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.table_requests import Wire, entity_path
from tablepatterns.edm import Int64, Ticks
from tablepatterns_engine.account import Engine
from tablepatterns_engine.tables.entities import Value
from tablepatterns_engine.tables.service import Operation

BASE = "https://contoso.table.core.windows.net"
LEVELS = ["nometadata", "minimalmetadata", "fullmetadata"]
ETAG = "W/\"datetime'2014-08-22T00%3A50%3A32.5Z'\""
MOMENT = "2014-08-22T00:50:32.5Z"
STORED: dict[str, Value] = {
    "Name": "Don",
    "Married": True,
    "Age": 34,
    "Big": Int64(5),
    "Ratio": 4.0,
    "Odd": float("-inf"),
    "Hired": Ticks.parse("1973-10-04T00:00:00.1234567Z"),
    "Id": UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
    "Photo": b"\x00\xff",
}
PLAIN = {
    "PartitionKey": "Sales",
    "RowKey": "O'B",
    "Timestamp": MOMENT,
    "Name": "Don",
    "Married": True,
    "Age": 34,
    "Big": "5",
    "Ratio": 4.0,
    "Odd": "-Infinity",
    "Hired": "1973-10-04T00:00:00.1234567Z",
    "Id": "c9da6455-213d-42c9-9a79-3e9149a57833",
    "Photo": "AP8=",
}
NOTES = {"Big": "Int64", "Odd": "Double", "Hired": "DateTime", "Id": "Guid", "Photo": "Binary"}
PATH = "Employees(PartitionKey='Sales',RowKey='O''B')"
LINKS = {
    "odata.type": "contoso.Employees",
    "odata.id": f"{BASE}/{PATH}",
    "odata.etag": ETAG,
    "odata.editLink": PATH,
}


@pytest.fixture(autouse=True)
def _stored(engine: Engine) -> None:
    engine.tables.apply("Employees", Operation("insert", "Sales", "O'B", STORED))


def ask(wire: Wire, path: str, level: str) -> tuple[list[tuple[str, Any]], str]:
    response = wire.send("GET", path, {"accept": f"application/json;odata={level}"})
    pairs: list[tuple[str, Any]] = json.loads(response.body, object_pairs_hook=list)
    return pairs, response.headers["Content-Type"]


def noted(extra: dict[str, str]) -> list[tuple[str, Any]]:
    """Return the plain members, each note right before its value."""
    pairs: list[tuple[str, Any]] = []
    for name, value in PLAIN.items():
        kind = {**NOTES, **extra}.get(name)
        pairs += [(f"{name}@odata.type", f"Edm.{kind}")] if kind else []
        pairs.append((name, value))
    return pairs


ROWS = {
    "nometadata": list(PLAIN.items()),
    "minimalmetadata": [("odata.etag", ETAG), *noted({})],
    "fullmetadata": [*LINKS.items(), *noted({"Timestamp": "DateTime"})],
}


@pytest.mark.guide("G-058")
@pytest.mark.parametrize("level", LEVELS)
def test_an_entity_has_exactly_the_members_of_its_level_in_the_services_order(level: str, wire: Wire) -> None:
    url = f"{BASE}/$metadata#Employees/@Element"
    metadata = [] if level == "nometadata" else [("odata.metadata", url)]
    pairs, content_type = ask(wire, f"/{PATH}", level)
    assert pairs == metadata + ROWS[level]
    assert content_type == f"application/json;odata={level};streaming=true;charset=utf-8"


@pytest.mark.parametrize("level", LEVELS)
def test_a_page_has_exactly_the_members_of_its_level(level: str, wire: Wire) -> None:
    metadata = [] if level == "nometadata" else [("odata.metadata", f"{BASE}/$metadata#Employees")]
    assert ask(wire, "/Employees()", level)[0] == [*metadata, ("value", [ROWS[level]])]


VALUES = st.sampled_from(["50%s", "%", "", *STORED.values(), float("nan"), 1.5])
PROPERTIES = st.dictionaries(st.sampled_from(["Name", "Größe", "Score"]), VALUES)
RUNS = st.tuples(PROPERTIES, st.integers(1, 20), st.none() | VALUES)
"""Rows with the same properties, and the value of Score in every other row, which may have another type."""


@pytest.mark.parametrize("level", LEVELS)
@given(runs=st.lists(RUNS, min_size=1, max_size=4))
def test_a_row_is_the_same_in_a_page_as_in_the_response_to_a_point_query(
    runs: list[tuple[dict[str, Value], int, Value | None]], level: str
) -> None:
    stored = [
        {**properties, "Score": other} if other is not None and number % 2 and "Score" in properties else properties
        for properties, count, other in runs
        for number in range(count)
    ]
    wire = Wire(Engine("contoso"))
    wire.engine.tables.fill("Employees", (("50%s", f"{row:03d}", each) for row, each in enumerate(stored)))
    accept = {"accept": f"application/json;odata={level}"}
    page = wire.send("GET", "/Employees()", accept).body.decode()
    rows = [wire.send("GET", entity_path("50%s", f"{row:03d}"), accept).body.decode() for row in range(len(stored))]
    metadata = "" if level == "nometadata" else f'"odata.metadata":"{BASE}/$metadata#Employees/@Element",'
    members = [row.removeprefix("{" + metadata) for row in rows]
    assert page.partition('"value":[{')[2] == ",{".join(members) + "]}"


@pytest.mark.parametrize("level", LEVELS)
def test_a_list_of_tables_has_exactly_the_members_of_its_level(level: str, wire: Wire) -> None:
    links = {
        "odata.type": "contoso.Tables",
        "odata.id": f"{BASE}/Tables('Employees')",
        "odata.editLink": "Tables('Employees')",
    }
    row = [*(links.items() if level == "fullmetadata" else ()), ("TableName", "Employees")]
    metadata = [] if level == "nometadata" else [("odata.metadata", f"{BASE}/$metadata#Tables")]
    assert ask(wire, "/Tables", level)[0] == [*metadata, ("value", [row])]
    metadata = [] if level == "nometadata" else [("odata.metadata", f"{BASE}/$metadata#Tables/@Element")]
    assert ask(wire, "/Tables('Employees')", level)[0] == metadata + row


def test_a_double_differs_from_an_integer_by_its_point_or_exponent(wire: Wire) -> None:
    for number, text in ((4.0, "4.0"), (1e20, "1e+20"), (-0.0, "-0.0")):
        wire.engine.tables.apply("Employees", Operation("insert_or_replace", "Sales", "n", {"Ratio": number}))
        assert wire.send("GET", "/Employees(PartitionKey='Sales',RowKey='n')").body.endswith(
            f'"Ratio":{text}}}'.encode()
        )


@pytest.mark.parametrize(
    ("accept", "option", "level"),
    [
        ("application/json", "", "minimalmetadata"),
        ("application/json;odata=nometadata", "", "nometadata"),
        ("Application/JSON; OData=FullMetadata; charset=utf-8", "", "fullmetadata"),
        ("text/html, application/json;odata=nometadata", "", "nometadata"),
        ("*/*", "", "minimalmetadata"),
        ("", "", "minimalmetadata"),
        ("application/json", "?$format=application/json;odata=fullmetadata", "fullmetadata"),
        ("application/atom+xml", "?$format=application/json", "minimalmetadata"),
    ],
)
def test_the_option_format_is_stronger_than_accept_and_the_default_is_minimal(
    accept: str, option: str, level: str, wire: Wire
) -> None:
    response = wire.send("GET", f"/Tables{option}", {"accept": accept})
    assert response.headers["Content-Type"] == f"application/json;odata={level};streaming=true;charset=utf-8"


@pytest.mark.parametrize("accept", ["application/atom+xml", "text/html", "application/json;odata=verbose"])
def test_another_format_is_rejected(accept: str, wire: Wire) -> None:
    response = wire.send("GET", "/Tables", {"accept": accept})
    assert (response.status, b"AtomFormatNotSupported" in response.body) == (415, True)


@pytest.mark.parametrize("path", ["/Employees", "/Tables"])
def test_a_body_in_atom_is_rejected(path: str, wire: Wire) -> None:
    headers = {"accept": "application/json", "content-type": "application/atom+xml"}
    assert wire.error("POST", path, headers, "<entry />") == (
        415,
        "AtomFormatNotSupported",
        "Atom format is not supported.",
    )


def test_text_outside_ascii_is_escaped_so_that_half_a_pair_can_be_sent_back(wire: Wire) -> None:
    sent = b'{"PartitionKey":"\\ud800","RowKey":"\xc3\xa9","Name":"\\udfff\\ud83d\\udeeb"}'
    echo = wire.send("POST", "/Employees", {"accept": "application/json;odata=nometadata"}, sent)
    assert echo.status == 201
    assert echo.body.isascii()
    assert json.loads(echo.body)["Name"] == "\udfff🛫"
