"""Point queries and pages: projection, page sizes, continuation tokens, filters."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from azure.data.tables import TableClient
from hypothesis import given
from hypothesis import strategies as st

from support.table_requests import JSON, Wire, attempt, entity_path
from tablepatterns_engine.account import Engine
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.http.headers import read_token, write_token
from tablepatterns_engine.tables.service import Operation

INVALID = (400, "InvalidInput", "One of the request inputs is not valid.")
NONE = {"accept": "application/json;odata=nometadata"}


def fill(engine: Engine, count: int, partition_key: str = "Sales") -> None:
    for number in range(count):
        engine.tables.apply("Employees", Operation("insert", partition_key, f"{number:04d}", {"Age": number}))


def rows(wire: Wire, options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(wire.send("GET", f"/Employees()?{options}", NONE).body)["value"]
    return found


def test_a_page_ends_at_a_thousand_and_the_token_names_the_next_entity(engine: Engine, wire: Wire) -> None:
    fill(engine, 1001)
    response = wire.send("GET", "/Employees()")
    assert len(json.loads(response.body)["value"]) == 1000
    assert response.headers["x-ms-continuation-NextPartitionKey"] == write_token("Sales")
    assert response.headers["x-ms-continuation-NextRowKey"] == write_token("1000")
    rest = wire.send("GET", f"/Employees()?NextPartitionKey={write_token('Sales')}&NextRowKey={write_token('1000')}")
    assert [row["RowKey"] for row in json.loads(rest.body)["value"]] == ["1000"]
    assert not [name for name in rest.headers if "continuation" in name]


def test_the_sdk_pages_through_keys_that_fit_in_no_header(engine: Engine, table: TableClient) -> None:
    for key in ("", "é", "日本", "🛫"):
        engine.tables.apply("Employees", Operation("insert", key, key))
    pages = table.list_entities(results_per_page=1).by_page()
    assert [[entity["RowKey"] for entity in page] for page in pages] == [[""], ["é"], ["日本"], ["🛫"]]


def test_a_page_may_be_empty_although_more_follows() -> None:
    engine = Engine("contoso", page_examines=2)
    engine.tables.create("Employees")
    fill(engine, 5)
    response = Wire(engine).send("GET", f"/Employees()?$filter={quote('Age eq 4')}")
    assert json.loads(response.body)["value"] == []
    assert response.headers["x-ms-continuation-NextRowKey"] == write_token("0002")


@pytest.mark.parametrize("top", ["-1", "1001", "abc", "", "1.5", "99999999999999999999", "٣"])
@pytest.mark.parametrize("path", ["/Employees()", "/Tables"])
def test_a_page_size_out_of_range_is_rejected(path: str, top: str, wire: Wire) -> None:
    assert wire.error("GET", f"{path}?$top={quote(top)}") == INVALID


@pytest.mark.parametrize(
    "token",
    [
        "NextRowKey=1!4!YQ--",
        "NextPartitionKey=",
        "NextPartitionKey=a",
        "NextPartitionKey=1!5!YQ--",
        "NextPartitionKey=1!4!Y%3D%3D%3D",
        "NextPartitionKey=1!4!YQ--&NextRowKey=",
        "NextPartitionKey=1!4!/w--",
    ],
)
def test_what_is_no_token_is_rejected(token: str, wire: Wire) -> None:
    assert wire.error("GET", f"/Employees()?{token}") == INVALID


def test_a_token_without_a_row_begins_with_the_partition(engine: Engine, wire: Wire) -> None:
    fill(engine, 1, "a")
    fill(engine, 2, "b")
    assert [row["PartitionKey"] for row in rows(wire, f"NextPartitionKey={write_token('b')}")] == ["b", "b"]


@given(st.text(st.characters(exclude_categories=())))
def test_a_token_gives_its_key_back_and_fits_a_header(key: str) -> None:
    token = write_token(key)
    assert token.isascii()
    assert token.isprintable()
    assert read_token(token) == key


@given(st.text())
def test_any_text_is_a_token_or_is_rejected(text: str) -> None:
    read = attempt(lambda: read_token(text))
    assert read.code == "InvalidInput" if isinstance(read, ServiceError) else write_token(read) == text


class TestProjection:
    @pytest.fixture(autouse=True)
    def _stored(self, engine: Engine) -> None:
        engine.tables.apply("Employees", Operation("insert", "Sales", "1", {"Age": 34, "Name": "Don"}))

    def test_only_what_is_selected_comes_the_keys_included_and_what_is_missing_is_null(self, wire: Wire) -> None:
        response = wire.send("GET", "/Employees()?$select=Name,%20Nothing,RowKey", JSON)
        assert json.loads(response.body) == {
            "odata.metadata": f"{wire.base}/$metadata#Employees&$select=Name,%20Nothing,RowKey",
            "value": [
                {
                    "odata.etag": "W/\"datetime'2014-08-22T00%3A50%3A32.5Z'\"",
                    "Name": "Don",
                    "Nothing": None,
                    "RowKey": "1",
                }
            ],
        }

    @pytest.mark.parametrize("select", ["%20", "*", ""])
    def test_a_blank_and_a_star_select_everything(self, select: str, wire: Wire) -> None:
        (row,) = rows(wire, f"$select={select}")
        assert row == {
            "PartitionKey": "Sales",
            "RowKey": "1",
            "Timestamp": "2014-08-22T00:50:32.5Z",
            "Age": 34,
            "Name": "Don",
        }

    def test_a_blank_selection_is_named_in_the_metadata(self, wire: Wire) -> None:
        assert b'$metadata#Employees&$select="' in wire.send("GET", "/Employees()?$select=%20").body

    def test_the_timestamp_of_a_selection_is_noted_at_the_full_level_only(self, wire: Wire) -> None:
        for level, noted in (("nometadata", False), ("minimalmetadata", False), ("fullmetadata", True)):
            accept = {"accept": f"application/json;odata={level}"}
            (row,) = json.loads(wire.send("GET", "/Employees()?$select=Timestamp", accept).body)["value"]
            assert row["Timestamp"] == "2014-08-22T00:50:32.5Z"
            assert ("Timestamp@odata.type" in row) is noted


class TestFilters:
    @pytest.mark.parametrize(
        ("text", "error"),
        [
            ("aaa bbb ccc", (400, "InvalidInput", "Syntax error at position 7 in 'aaa bbb ccc'.")),
            ("Name eq null", INVALID),
            (" or ".join(["A eq 1"] * 16), INVALID),
            ("not " * 5000 + "true", INVALID),
            (
                "(1 eq 1)",
                (501, "NotImplemented", "The requested operation is not implemented on the specified resource."),
            ),
            (
                "startswith(Name,'D')",
                (501, "NotImplemented", "The requested operation is not implemented on the specified resource."),
            ),
        ],
        ids=["syntax", "null", "16 comparisons", "deep", "constants", "function"],
    )
    def test_a_filter_that_the_service_does_not_take_is_rejected(
        self, text: str, error: tuple[int, str, str], wire: Wire
    ) -> None:
        assert wire.error("GET", "/Employees()?$filter=" + quote(text)) == error
        assert wire.error("GET", "/Tables?$filter=" + quote(text)) == error


@pytest.mark.parametrize(
    "option", ["$orderby=Age", "$skip=1", "$count=true", "$inlinecount=allpages", "$expand=x", "$apply=x"]
)
@pytest.mark.parametrize("path", ["/Employees()", entity_path("a", "b"), "/Tables"])
def test_an_option_of_odata_that_the_service_lacks_is_not_implemented(path: str, option: str, wire: Wire) -> None:
    assert wire.error("GET", f"{path}?{option}")[:2] == (501, "NotImplemented")
