"""What is exported and restored is what was stored, for every entity that the service accepts."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.any_entities import entities
from tablepatterns import Entity, Int64, Ticks, connect
from tablepatterns.entity import same_value
from tablepatterns.recipe import as_async, finish
from tablepatterns.sdk.operation import Operation
from tablepatterns_transfer import TableTransfer, arrow, compare_exports, lines

FORMATS: list[Any] = [
    {"format": "jsonl"},
    pytest.param({"compression": "zstd"}, marks=pytest.mark.zstd),
    pytest.param({"format": "parquet"}, marks=pytest.mark.parquet),
]
EXACT: list[dict[str, Any]] = [
    {"PartitionKey": "", "RowKey": ""},
    {"PartitionKey": "a", "RowKey": "1", "Value": Ticks.parse("1601-01-01T00:00:00.0000001Z"), "value": "case"},
    {"PartitionKey": "a", "RowKey": "2", "Value": Ticks.MAX, "VALUE": float("nan")},
    {"PartitionKey": "a", "RowKey": "3", "Value": Int64(5), "_": float("-inf"), "Empty": "", "None": b""},
    {"PartitionKey": "a", "RowKey": "4", "Value": 5, "_": -0.0, "Guid": UUID(int=7)},
    {"PartitionKey": "a", "RowKey": "5", "Value": "5", "Guid": str(UUID(int=7)), "_": 1e300},
]
EXACT[2]["Value"] = Ticks(Ticks.MAX)


def stored(storage: Any, table: str) -> dict[tuple[str, str], list[str]]:
    """Return the properties of each row with their types, as the SDK reads them."""
    rows = storage.tables.get_table_client(table).list_entities()
    return {
        (row["PartitionKey"], row["RowKey"]): sorted(
            f"{name}: {type(value).__name__} {getattr(value, 'tables_service_value', '') or value!r}"
            for name, value in row.items()
            if name != "WriteId"
        )
        for row in rows
    }


@pytest.mark.parametrize("file_format", FORMATS, ids=str)
@given(st.lists(entities(), max_size=8, unique_by=lambda entity: (entity["PartitionKey"], entity["RowKey"])))
@example(EXACT)
def test_every_entity_is_restored_exactly(file_format: Any, rows: list[dict[str, Any]]) -> None:
    storage = connect()
    table = as_async(storage).table("Source")
    finish(table.create())
    for row in rows:
        finish(table.submit(Operation.insert(row)))
    with tempfile.TemporaryDirectory() as folder:
        manifest = TableTransfer(storage, "Source").export(Path(folder) / "one", **file_format)
        assert manifest.rows == len(rows)
        TableTransfer(storage, "Target").restore(Path(folder) / "one")
        assert stored(storage, "Target") == stored(storage, "Source")
        TableTransfer(storage, "Target").export(Path(folder) / "two")
        assert compare_exports(Path(folder) / "one", Path(folder) / "two").are_none


@pytest.mark.parquet
@pytest.mark.parametrize(("group", "most"), [(1, 2), (2, 3), (3, 1_000)])
def test_later_rows_and_many_names_are_restored_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int, most: int
) -> None:
    monkeypatch.setattr(arrow, "_ROWS_OF_A_GROUP", group)
    monkeypatch.setattr(arrow, "_MOST_COLUMNS", most)
    rows = [Entity({**row, f"Only{number}": number}) for number, row in enumerate([*EXACT, *EXACT])]
    writer = arrow.ParquetWriter(tmp_path / "rows.parquet")
    for start in range(0, len(rows), 2):
        writer.write(rows[start : start + 2])
    writer.close()
    for row, stored_row in zip(rows, arrow.read_parquet(tmp_path / "rows.parquet"), strict=True):
        assert same_value(row, stored_row), (row, stored_row)


def test_an_entity_of_the_greatest_size_is_restored(tmp_path: Path) -> None:
    storage = connect()
    table = as_async(storage).table("Source")
    for number in range(6):
        large = {f"P{at}": "\x00" * 32_000 for at in range(15)}
        finish(table.submit(Operation.insert({"PartitionKey": "p", "RowKey": f"{number}", **large})))
    TableTransfer(storage, "Source").export(tmp_path / "export")
    TableTransfer(storage, "Target").restore(tmp_path / "export")
    assert stored(storage, "Target") == stored(storage, "Source")


@pytest.mark.parquet
def test_parquet_is_read_without_the_library(tmp_path: Path) -> None:
    from pyarrow import parquet

    storage = connect()
    client = storage.tables.create_table("Source")
    for number in range(3):
        client.create_entity({"PartitionKey": "p", "RowKey": f"{number}", "Age": number, "Name": f"n{number}"})
    client.create_entity({"PartitionKey": "p", "RowKey": "3", "Age": "unknown"})
    (file,) = TableTransfer(storage, "Source").export(tmp_path / "export", format="parquet").files
    columns = parquet.read_table(tmp_path / "export" / file.name).to_pydict()
    assert columns["Age"] == [0, 1, 2, None]
    assert columns["Name"] == ["n0", "n1", "n2", None]
    assert columns["$exact"] == [None, None, None, '{"PartitionKey": "p", "RowKey": "3", "Age": "unknown"}']
    assert all(columns["Timestamp"])


def test_parquet_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow.arrow.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    storage = connect()
    storage.tables.create_table("Source").create_entity({"PartitionKey": "p", "RowKey": "r"})
    with pytest.raises(ModuleNotFoundError, match=r"Parquet needs pyarrow: pip install '.\[parquet\]'"):
        TableTransfer(storage, "Source").export(tmp_path / "export", format="parquet")
    arrow.arrow.cache_clear()


@pytest.mark.zstd
def test_zstd_is_read_by_other_programs_and_the_same_rows_make_the_same_bytes(tmp_path: Path) -> None:
    storage = connect()
    client = storage.tables.create_table("Source")
    for number in range(1_500):
        client.create_entity({"PartitionKey": "p", "RowKey": f"{number:04d}", "Name": "a name"})
    transfer, contents = TableTransfer(storage, "Source"), []
    for folder in (tmp_path / "one", tmp_path / "two"):
        (file,) = transfer.export(folder, compression="zstd").files
        assert file.name.endswith(".jsonl.zst")
        contents.append((folder / file.name).read_bytes())
    assert contents[0] == contents[1]
    with lines.zstd().open(folder / file.name, "rt") as reading:
        rows = [json.loads(line) for line in reading]
    assert [row["RowKey"] for row in rows] == [f"{number:04d}" for number in range(1_500)]


def test_zstd_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = connect()
    storage.tables.create_table("Source").create_entity({"PartitionKey": "p", "RowKey": "r"})
    lines.zstd.cache_clear()
    for module in ("backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    with pytest.raises(ModuleNotFoundError, match=r"compression by zstd needs backports: pip install '.\[zstd\]'"):
        TableTransfer(storage, "Source").export(tmp_path / "export", compression="zstd")
    assert not (tmp_path / "export").exists()
    lines.zstd.cache_clear()


@pytest.mark.parametrize(
    ("stored_values", "other_values", "are_same"),
    [
        ({"A": 1, "B": 2}, {"A": 1, "B": 2}, True),
        ({"A": 1, "B": 2}, {"B": 2, "A": 1}, True),
        ({"A": 1, "B": True}, {"B": 1, "A": True}, False),
        ({"A": 1}, {"A": 1.0}, False),
        ({"A": 1}, {"A": Int64(1)}, False),
        ({"A": float("nan")}, {"A": float("nan")}, True),
        ({"A": 0.0, "B": 0}, {"A": 0.0, "B": 0}, True),
        ({"A": 0.0}, {"A": -0.0}, False),
        ({"A": Ticks.parse("2026-01-01T00:00:00.0000001Z")}, {"A": Ticks.parse("2026-01-01T00:00:00.0000002Z")}, False),
        ({"A": Ticks.parse("2026-01-01T00:00:00.0000001Z")}, {"A": Ticks.parse("2026-01-01T00:00:00Z")}, False),
    ],
    ids=str,
)
def test_values_that_are_equal_in_python_but_not_when_stored_are_differences(
    tmp_path: Path, stored_values: dict[str, Any], other_values: dict[str, Any], are_same: bool
) -> None:
    storage, keys = connect(), {"PartitionKey": "a", "RowKey": "1"}
    for name, values in (("Source", stored_values), ("Other", other_values)):
        table = as_async(storage).table(name)
        finish(table.create())
        finish(table.submit(Operation.insert(keys | values)))
    TableTransfer(storage, "Source").export(tmp_path / "new")
    differences = TableTransfer(storage, "Other").compare(tmp_path / "new")
    assert (differences.equal, differences.counts["changed"]) == ((1, 0) if are_same else (0, 1))
