"""Inventories of tables: shapes of keys, types and sizes, from a bounded number of queries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tablepatterns import BulkLoad, EntitySet, IntraPartitionIndex, Key, connect
from tablepatterns.cli.main import main
from tablepatterns.errors import BadInput
from tablepatterns.inventory import TableInventory, take_inventory
from tablepatterns.jobs.ranges import middle
from tablepatterns.recipe import as_async, finish
from tablepatterns.storage import Storage
from tablepatterns.traffic import Traffic

KEYS = st.text(st.characters(exclude_categories=["C"], exclude_characters="/\\#?"), max_size=8)


def created(storage: Storage, name: str) -> Any:
    """Create a table; return the SDK's client, for writes without the library."""
    tables: Any = storage.tables
    return tables.create_table(name)


def inventory(storage: Storage, table: str, max_queries: int = 50) -> TableInventory:
    return finish(take_inventory(as_async(storage), table, max_queries))


def shapes(found: TableInventory) -> set[tuple[str, str]]:
    return {(shape.partition, shape.row) for shape in found.shapes}


def employees(count: int, target: str = "memory://") -> Storage:
    """Store employees of one large department, with an index, and of many small ones."""
    storage = connect(target)
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    people = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email])
    BulkLoad(people).load(
        {
            "Department": "Sales" if number % 2 else f"Branch{number % 40:02d}",
            "EmployeeId": number,
            "Email": f"{number * 7919 % 10_007:05d}@contoso.com",
            "Age": 20 + number % 40,
        }
        for number in range(count)
    )
    return storage


@pytest.fixture(scope="module")
def staff() -> Storage:
    """An account with more employees than a sample reads."""
    return employees(3_000)


class TestSampling:
    def test_sends_only_so_many_queries(self, staff: Storage) -> None:
        for most in (5, 8, 12):
            with Traffic(staff) as traffic:
                found = inventory(staff, "Staff", most)
            assert 3 <= len(traffic.requests) == found.queries <= most
            assert {each.operation for each in traffic.requests} == {"QueryEntities"}
            assert all("or" not in each.reason.split("'") for each in traffic.requests)

    def test_finds_rows_that_the_first_page_does_not_have(self, staff: Storage) -> None:
        found = inventory(staff, "Staff", 9)
        assert not found.is_whole
        assert {row for _, row in shapes(found)} == {"empid_{6 digits}", "email_{5 digits}{text}"}

    def test_knows_all_of_a_table_that_it_read_whole(self) -> None:
        found = inventory(employees(900), "Staff")
        assert found.is_whole
        assert (found.rows, found.partitions) == (1_800, 21)
        for shape in found.shapes:
            ages = next(each for each in shape.properties if each.name == "Age")
            assert (ages.types, ages.share, ages.mean_size, ages.largest) == (("Int32",), 1, 4, 4)

    @given(keys=st.lists(st.text(st.characters(codec="ascii"), min_size=1, max_size=6), min_size=2, unique=True))
    def test_the_middle_of_two_keys_is_between_them(self, keys: list[str]) -> None:
        lower, upper = sorted(keys[:2])
        found = middle(lower, upper)
        assert found is None or lower < found < upper


class TestShapes:
    @pytest.mark.parametrize(
        ("keys", "shape"),
        [
            (["empid_000223", "empid_000152"], "empid_{6 digits}"),
            (["1", "20", "300"], "{1 to 3 digits}"),
            (["2014-08-22T18", "2014-09-01T07"], "{date}{text}"),
            (["2014-08-22_7", "2014-09-01_8"], "{date}_{1 digits}"),
            (["0f3c9a4b-e1d2-4c7f-b0c5-a7e2d9186b3a"], "{guid}"),
            (["000123_2012", "000124_2013"], "{6 digits}_{4 digits}"),
            (["jo@contoso.com", "lee@fabrikam.com"], "{text}"),
        ],
    )
    def test_examples(self, keys: list[str], shape: str) -> None:
        storage = connect()
        client = created(storage, "Things")
        for key in keys:
            client.create_entity({"PartitionKey": "p", "RowKey": key})
        assert {row for _, row in shapes(inventory(storage, "Things"))} == {shape}

    def test_a_property_of_two_types_names_both(self) -> None:
        storage = connect()
        client = created(storage, "Things")
        for number in range(4):
            client.create_entity({"PartitionKey": "p", "RowKey": str(number), "Age": str(number) if number else 1})
        (shape,) = inventory(storage, "Things").shapes
        assert [each.types for each in shape.properties] == [("String", "Int32")]

    def test_a_table_without_rows_is_an_error(self) -> None:
        with pytest.raises(BadInput, match="has no rows"):
            inventory(connect(), "Nothing")

    @given(
        rows=st.lists(
            st.tuples(
                KEYS,
                KEYS,
                st.dictionaries(
                    st.sampled_from(["Type", "Name", "Age", "At", "x"]),
                    st.one_of(st.integers(-5, 5), st.text("ab/#", max_size=4), st.booleans(), st.floats(-1, 1)),
                ),
            ),
            min_size=1,
            max_size=40,
            unique_by=lambda row: row[:2],
        )
    )
    def test_each_row_of_any_table_is_counted_once(self, rows: list[tuple[str, str, dict[str, Any]]]) -> None:
        storage = connect()
        client = created(storage, "Things")
        for partition, row, properties in rows:
            client.create_entity({"PartitionKey": partition, "RowKey": row, **properties})
        found = inventory(storage, "Things")
        assert sum(shape.rows for shape in found.shapes) == found.rows == len(rows)
        assert len(shapes(found)) <= len(found.shapes) <= 24 * 24


class TestCommand:
    def test_prints_the_shapes_of_a_table(self) -> None:
        employees(20, "memory://inventory")
        found = CliRunner().invoke(main, ["design", "--from-table", "Staff", "--storage", "memory://inventory"])
        assert found.exit_code == 0, found.output
        assert "Reading Staff: at most 50 queries for each, of up to 1,000 entities." in found.stderr
        assert "The whole table was read with 1 query: 40 rows in 11 partitions." in found.stdout
        assert "RowKey empid_{6 digits}" in found.stdout
        assert "String" in found.stdout

    def test_prints_json(self) -> None:
        employees(20, "memory://inventory-json")
        arguments = ["design", "--from-table", "Staff", "--storage", "memory://inventory-json", "--json"]
        (table,) = json.loads(CliRunner().invoke(main, arguments).stdout)
        assert (table["table"], table["rows"], table["is_whole"]) == ("Staff", 40, True)

    def test_foreign_text_cannot_send_control_characters_to_the_terminal(self) -> None:
        storage = connect("memory://foreign")
        client = created(storage, "Things")
        client.create_entity({"PartitionKey": "p", "RowKey": "empid\u202e_1"})
        found = CliRunner().invoke(main, ["design", "--from-table", "Things", "--storage", "memory://foreign"])
        assert found.exit_code == 0, found.output
        assert "\u202e" not in found.stdout

    def test_needs_a_table(self) -> None:
        assert CliRunner().invoke(main, ["design"]).exit_code == 2
