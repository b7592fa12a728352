"""Drafts of designs from tables: what the library wrote is recognized again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tablepatterns import BulkLoad, EntitySet, IntraPartitionIndex, Key, connect
from tablepatterns.cli.main import main
from tablepatterns.errors import BadInput
from tablepatterns.recipe import as_async, finish
from tablepatterns.review.design.file import read_design
from tablepatterns.review.design.model import DeclaredSet, Design, Field
from tablepatterns.review.draft.from_table import draft_of_tables
from tablepatterns.review.draft.sampling import middle
from tablepatterns.review.draft.write import design_text
from tablepatterns.review.key_parts import pieces_of
from tablepatterns.review.measure.account import sample_design, set_up
from tablepatterns.storage import Storage
from tablepatterns.traffic import Traffic

DESIGNS = Path(__file__).parents[3] / "docs" / "reviews"
RECALL = Path(__file__).parents[1] / "recall"
ROWS = 200


def stored(design: Design) -> tuple[Storage, list[str]]:
    """Store sample entities of a design; return the account, and its tables with rows, one of each period."""
    storage = connect()
    set_up(sample_design(design, ROWS), storage)
    client: Any = storage.tables
    tables: dict[str, str] = {}
    for each in client.list_tables():
        rows = client.get_table_client(each.name).list_entities(results_per_page=1)
        if next(iter(rows), None) is not None:
            tables.setdefault(each.name.rstrip("0123456789"), each.name)
    return storage, sorted(tables.values())


def created(storage: Storage, name: str) -> Any:
    """Create a table; return the SDK's client, for writes without the library."""
    tables: Any = storage.tables
    return tables.create_table(name)


def drafted(storage: Storage, tables: Sequence[str], most: int = 50) -> Design:
    return read_design(design_text(finish(draft_of_tables(as_async(storage), tables, most))))


def shape(template: str) -> list[tuple[str, str]]:
    """Return the literals and formats of a template, without the names of its fields."""
    return [(piece.literal, piece.spec if piece.name else "-") for piece in pieces_of(template)]


def shapes(declared: DeclaredSet) -> tuple[Any, Any]:
    return shape(declared.key.partition_template), shape(declared.key.row_template)


def compared(design: Design) -> list[str]:
    """Return in what a draft differs from the design that its rows were stored with."""
    storage, tables = stored(design)
    found = drafted(storage, tables)
    wrong: list[str] = []
    for declared in design.sets:
        same = [each for each in found.sets if shapes(each) == shapes(declared)]
        if not same:
            wrong.append(f"{declared.name}: no set has the key {declared.key}: {[each.key for each in found.sets]}")
            continue
        best = max(same, key=lambda each: len(each.shape.fields.keys() & declared.shape.fields.keys()))
        wrong += [f"{declared.name}: {each}" for each in _differences(declared, best)]
    return wrong


def _differences(declared: DeclaredSet, found: DeclaredSet) -> list[str]:
    wrong: list[str] = []
    for name, field in declared.shape.fields.items():
        if name not in declared.key.fields and name in found.shape.fields:
            one = found.shape.fields[name]
            if one.type != field.type:
                wrong.append(f"{name} is {one.type}, and was {field.type}")
    missing = declared.shape.fields.keys() - declared.key.fields - found.shape.fields.keys()
    if missing and declared.pattern != "data_series":
        wrong.append(f"it has no {missing}")
    patterns = [sorted(profile.pattern for _, profile in each.profiles()) for each in (declared, found)]
    if patterns[0] != patterns[1]:
        wrong.append(f"derived {patterns[1]}, and was {patterns[0]}")
    return wrong


LIMITS = {
    "employees_improved": "the totals are properties of another set's entities",
    "departments_denormalized": "copies of single properties look like any others",
    "survey_of_300_questions": "the sample entities have 252 of 300 properties",
    "web_log_by_server": "the sample is of one partition",
    "reports_copied_ten_times": "ten copies with the same properties differ in one letter",
    "titles_in_keys": "no title has a character that is escaped",
    "laboratory": "the copies have no properties, as the entities",
    "payroll_by_name": "the copies have the same properties as the entities",
    "shop_stock_from_secondary": "either of two keys may be the primary one",
    "marketplace_listings": "either of two keys may be the primary one",
}
"""What a draft does not recognize of some designs."""


def is_in_every_run(path: Path) -> bool:
    """Return whether a design is drafted in every run: those of the docs, the sound ones, and those with limits."""
    return path.parent in (DESIGNS, RECALL / "sound") or path.stem in LIMITS.keys() - {"reports_copied_ten_times"}


FILES = sorted(
    each
    for each in [*DESIGNS.glob("*.toml"), *RECALL.rglob("*.toml")]
    # Drafts are of tables, and not of blob logs
    if each.stem != "expected" and "[[set]]" in each.read_text("utf-8")
)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            each,
            id=each.stem,
            marks=[] if is_in_every_run(each) else [pytest.mark.nightly],
        )
        for each in FILES
    ],
)
def test_a_draft_recognizes_what_the_library_stored(path: Path) -> None:
    found = compared(read_design(path))
    assert bool(found) == (path.stem in LIMITS), found


def employees(count: int) -> Storage:
    """Store employees of one large department, with an index, and of many small ones."""
    storage = connect()
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
                finish(draft_of_tables(as_async(staff), ["Staff"], most))
            assert 3 <= len(traffic.requests) <= most
            assert {each.operation for each in traffic.requests} <= {"QueryEntities", "QueryEntity"}
            assert all("or" not in each.reason.split("'") for each in traffic.requests)

    def test_finds_copies_and_kinds_that_the_first_page_does_not_have(self, staff: Storage) -> None:
        (found,) = drafted(staff, ["Staff"], 9).sets
        assert str(found.key) == str(Key(found.key.partition_template, "empid_{EmployeeId:06d}"))
        ((index, profile),) = found.profiles()
        assert (profile.pattern, index.name) == ("intra_partition_index", "email_{Email}")

    def test_estimates_what_it_did_not_read(self, staff: Storage) -> None:
        (found,) = drafted(staff, ["Staff"], 10).sets
        assert 1_000 <= found.shape.count <= 9_000

    def test_knows_all_of_a_table_that_it_read_whole(self) -> None:
        (found,) = drafted(employees(900), ["Staff"]).sets
        assert found.shape.count == 900
        assert found.shape.fields["Age"] == Field("int32", distinct=40)
        assert found.shape.fields["Email"] == Field(size=17)

    @given(keys=st.lists(st.text(st.characters(codec="ascii"), min_size=1, max_size=6), min_size=2, unique=True))
    def test_the_middle_of_two_keys_is_between_them(self, keys: list[str]) -> None:
        lower, upper = sorted(keys[:2])
        found = middle(lower, upper)
        assert found is None or lower < found < upper


class TestOtherPrograms:
    """Tables that were written without the library."""

    def test_kinds_by_a_type_property(self) -> None:
        storage = connect()
        client = created(storage, "Things")
        for number in range(30):
            client.create_entity({"PartitionKey": "p", "RowKey": f"c-{number}", "Type": "Car", "Doors": 3})
            client.create_entity({"PartitionKey": "p", "RowKey": f"b-{number}", "Type": "Boat", "Doors": 0})
        found = {each.name: each for each in drafted(storage, ["Things"]).sets}
        assert {"Car", "Boat"} <= {each.shape.entity for each in found.values()} | found.keys()

    def test_properties_name_the_fields_of_the_key(self) -> None:
        storage = connect()
        client = created(storage, "Orders")
        for number in range(50):
            entity = {"PartitionKey": f"c{number % 7:04d}", "RowKey": f"{number:08d}", "OrderNo": number, "Total": 1.5}
            client.create_entity(entity)
        (found,) = drafted(storage, ["Orders"]).sets
        assert found.key.row_template == "{OrderNo:08d}"
        assert found.shape.fields["Total"].type == "double"

    def test_numbers_without_padding_are_a_finding_of_the_review(self) -> None:
        storage = connect()
        client = created(storage, "Orders")
        for number in range(50):
            client.create_entity({"PartitionKey": "all", "RowKey": str(number), "Total": number})
        assert [flaw.kind for flaw in drafted(storage, ["Orders"]).flaws] == ["unpadded"]

    def test_a_table_without_rows_is_an_error(self) -> None:
        with pytest.raises(BadInput, match="has no rows"):
            drafted(connect(), ["Nothing"])

    @given(
        rows=st.lists(
            st.tuples(
                st.text(st.characters(exclude_categories=["C"], exclude_characters="/\\#?"), max_size=8),
                st.text(st.characters(exclude_categories=["C"], exclude_characters="/\\#?"), max_size=8),
                st.dictionaries(
                    st.sampled_from(["Type", "Name", "Age", "At", "x", "Hour0", "Hour1", "Hour2", "Hour3"]),
                    st.one_of(st.integers(-5, 5), st.text("ab/#", max_size=4), st.booleans(), st.floats(-1, 1)),
                ),
            ),
            min_size=1,
            max_size=12,
            unique_by=lambda row: row[:2],
        )
    )
    def test_any_table_gives_a_draft_that_can_be_read(self, rows: list[tuple[str, str, dict[str, Any]]]) -> None:
        storage = connect()
        client = created(storage, "Things")
        for partition, row, properties in rows:
            client.create_entity({"PartitionKey": partition, "RowKey": row, **properties})
        assert drafted(storage, ["Things"]).sets


class TestCommand:
    def test_writes_a_design_that_can_be_reviewed(self, tmp_path: Path) -> None:
        path = tmp_path / "design.toml"
        memory = "memory://drafted"
        storage = connect(memory)
        people = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        for number in range(20):
            people.insert({"Department": f"D{number % 3}", "EmployeeId": number, "Age": 30})
        found = CliRunner().invoke(
            main, ["design", "--from-table", "Employees", "--storage", memory, "--output", str(path)]
        )
        assert found.exit_code == 0, found.output
        assert "Reading Employees: at most 50 queries for each, of up to 1,000 entities." in found.stderr
        assert "The whole table Employees was read with 1 query" in path.read_text(encoding="utf-8")
        assert CliRunner().invoke(main, ["review", str(path), "--fail-on", "never"]).exit_code == 0

    def test_needs_something_to_draft_from(self) -> None:
        found = CliRunner().invoke(main, ["design"])
        assert found.exit_code == 2
        assert "nothing to draft a design from" in found.stderr
