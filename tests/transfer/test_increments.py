"""Exports of changes: with the exports that they continue, they restore the exact table."""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.maintained_set import BY_ID, person
from support.worker_sets import served
from tablepatterns import EntitySet, IntraPartitionIndex, Key, connect, prop
from tablepatterns.entity_set.derived import TOMBSTONE
from tablepatterns.errors import BadInput
from tablepatterns_transfer import BadExport, Export, TableTransfer, compare_exports

DAY = 86_400
FORMATS: list[Any] = [
    {"format": "jsonl"},
    pytest.param({"compression": "zstd"}, marks=pytest.mark.zstd),
    pytest.param({"format": "parquet"}, marks=pytest.mark.parquet),
]
WRITES = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("0123"), st.none() | st.integers(0, 3)), max_size=8)
"""Writes of a day: the keys of a row, and its value; None to delete it."""


def write(client: Any, partition_key: str, row_key: str, value: int | None) -> None:
    row = {"PartitionKey": partition_key, "RowKey": row_key}
    if value is None:
        client.delete_entity(row)
    else:
        client.upsert_entity(row | {"Value": value}, mode="replace")


@pytest.fixture
def week(tmp_path: Path) -> tuple[Any, Path]:
    """A table of three rows, and a folder with its export and that of a day's changes."""
    storage = connect()
    client = storage.tables.create_table("Source")
    for row_key in "012":
        write(client, "a", row_key, 0)
    storage.engine.clock.advance(DAY)
    TableTransfer(storage, "Source").export(tmp_path / "monday")
    storage.engine.clock.advance(DAY)
    write(client, "a", "1", 1)
    write(client, "a", "2", None)
    TableTransfer(storage, "Source").export(tmp_path / "tuesday", since=tmp_path / "monday")
    return storage, tmp_path


@pytest.mark.parametrize("file_format", FORMATS, ids=str)
@given(st.lists(WRITES, min_size=1, max_size=4))
@example([[("a", "0", 1)], [("a", "0", None)], [("a", "0", 2)], []])
def test_a_chain_of_changes_restores_the_exact_table(file_format: Any, days: list[list[Any]]) -> None:
    storage = connect()
    client = storage.tables.create_table("Source")
    table, previous = TableTransfer(storage, "Source"), None
    with tempfile.TemporaryDirectory() as folder:
        for number, writes in enumerate(days):
            for values in writes:
                write(client, *values)
            latest = Path(folder) / str(number)
            table.export(latest, **file_format, since=previous)
            restored = TableTransfer(storage, f"Restored{number}")
            restored.restore(latest)
            assert restored.compare(latest).are_none
            assert table.compare(latest).are_none
            TableTransfer(storage, "Source").export(Path(folder) / f"whole{number}")
            assert compare_exports(latest, Path(folder) / f"whole{number}").are_none
            storage.engine.clock.advance(DAY)
            previous = latest


def test_only_changed_rows_are_exported(week: tuple[Any, Path]) -> None:
    tuesday = Export.open(week[1] / "tuesday")
    assert [row["RowKey"] for file in tuesday.manifest.files for row in tuesday.rows(file)] == ["1"]
    assert [row["RowKey"] for row in tuesday.deleted_rows()] == ["2"]
    assert [(row["RowKey"], row["Value"]) for row in tuesday.all_rows()] == [("0", 0), ("1", 1)]


def test_a_row_that_changed_after_it_was_read_is_in_the_next_export(tmp_path: Path) -> None:
    storage = connect()
    client = storage.tables.create_table("Source")
    for row_key in "12":
        write(client, "a", row_key, 0)

    def change(response: Any) -> None:
        if "top=1000" in response.http_request.url:
            # The page was read: the first row changes, and later the second one is newer than that
            write(client, "a", "1", 1)

    TableTransfer(connect(storage.engine, raw_response_hook=change), "Source").export(tmp_path / "monday")
    storage.engine.clock.advance(DAY)
    TableTransfer(storage, "Source").export(tmp_path / "tuesday", since=tmp_path / "monday")
    assert [row["Value"] for row in Export.open(tmp_path / "monday").all_rows()] == [0, 0]
    assert [row["Value"] for row in Export.open(tmp_path / "tuesday").all_rows()] == [1, 0]


@pytest.mark.parametrize(("minutes", "rows"), [(14, 1), (16, 0)])
def test_clocks_may_differ_by_a_quarter_of_an_hour(tmp_path: Path, minutes: int, rows: int) -> None:
    """The service rejects requests of clocks that differ more. Its clock sets the Timestamp, and ours the start."""
    storage = connect()
    write(storage.tables.create_table("Source"), "a", "1", 0)
    storage.engine.clock.advance(60 * minutes)
    TableTransfer(storage, "Source").export(tmp_path / "monday")
    assert TableTransfer(storage, "Source").export(tmp_path / "tuesday", since=tmp_path / "monday").rows == rows


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_client_whose_clock_is_wrong_misses_no_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hours: int
) -> None:
    """A SAS does not state the time, so the service accepts any clock."""
    with served(monkeypatch) as engine, connect("env") as storage:
        engine.clock.set(datetime.now(timezone.utc) - timedelta(days=1, hours=hours))
        client = storage.tables.create_table("Source")
        write(client, "a", "1", 0)
        engine.clock.advance(DAY)
        table = TableTransfer(storage, "Source")
        table.export(tmp_path / "monday")
        write(client, "a", "1", 1)
        assert table.export(tmp_path / "tuesday", since=tmp_path / "monday").rows == 1


@pytest.mark.parametrize("select", [None, ["Age"]])
def test_an_entity_that_a_rekey_has_moved_away_is_deleted(tmp_path: Path, select: list[str] | None) -> None:
    storage = connect()
    staff = EntitySet(storage, "Staff", BY_ID)
    for number in range(3):
        staff.insert(person(number))
    storage.engine.clock.advance(DAY)
    transfer = TableTransfer(storage, staff)
    transfer.export(tmp_path / "monday", select=select)
    storage.engine.clock.advance(DAY)
    keys = {"PartitionKey": "empid_Sales", "RowKey": "id_000001"}
    storage.tables.get_table_client("Staff").upsert_entity(keys | {TOMBSTONE: True}, mode="replace")
    changes = transfer.export(tmp_path / "tuesday", since=tmp_path / "monday", select=select)
    assert (changes.rows, changes.deleted and changes.deleted.rows) == (0, 1)
    assert transfer.compare(tmp_path / "tuesday").equal == 2
    assert transfer.export(tmp_path / "whole", select=select).rows == 2


def test_changes_of_a_set_leave_out_derived_rows(tmp_path: Path) -> None:
    storage = connect()
    by_email = IntraPartitionIndex(Key("empid_{Department}", "email_{Email}"))
    staff = EntitySet(storage, "Staff", BY_ID, derived=[by_email])
    for number in range(3):
        staff.insert(person(number, Department="Sales"))
    storage.engine.clock.advance(DAY)
    TableTransfer(storage, staff).export(tmp_path / "monday")
    storage.engine.clock.advance(DAY)
    staff.delete(staff.get(Department="Sales", EmployeeId=0))
    staff.merge(staff.get(Department="Sales", EmployeeId=1), {"Age": 1})
    changes = TableTransfer(storage, staff).export(tmp_path / "tuesday", since=tmp_path / "monday")
    assert changes.rows == 1
    copy = EntitySet(storage, "Copy", BY_ID, derived=[by_email])
    TableTransfer(storage, copy).restore(tmp_path / "tuesday")
    assert sorted((e["EmployeeId"], e["Age"]) for e in copy.scan()) == sorted(
        (e["EmployeeId"], e["Age"]) for e in staff.scan()
    )


def test_an_interrupted_export_of_changes_is_continued(week: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    storage, folder = week
    arguments: dict[str, Any] = {"since": folder / "tuesday"}
    write(storage.tables.get_table_client("Source"), "a", "0", None)

    def kill(request: Any) -> None:
        if "select" in request.http_request.url:  # the keys of all rows, after the changed rows
            raise SystemExit("killed")

    with pytest.raises(SystemExit):
        TableTransfer(connect(storage.engine, raw_request_hook=kill), "Source").export(
            folder / "wednesday", **arguments
        )
    with pytest.raises(BadExport, match="no manifest"):
        Export.open(folder / "wednesday")
    TableTransfer(storage, "Source").export(folder / "wednesday", **arguments)
    assert [row["RowKey"] for row in Export.open(folder / "wednesday").all_rows()] == ["1"]


def test_folders_may_move_together(week: tuple[Any, Path], tmp_path: Path) -> None:
    shutil.copytree(week[1] / "monday", tmp_path / "elsewhere" / "monday")
    shutil.copytree(week[1] / "tuesday", tmp_path / "elsewhere" / "tuesday")
    assert compare_exports(week[1] / "tuesday", tmp_path / "elsewhere" / "tuesday").are_none


@pytest.mark.parametrize("damage", ["missing", "another", "edited", "keys"])
def test_a_damaged_chain_is_rejected_before_anything_is_written(week: tuple[Any, Path], damage: str) -> None:
    storage, folder = week
    if damage == "missing":
        (folder / "monday").rename(folder / "gone")
    elif damage == "another":
        shutil.rmtree(folder / "monday")
        TableTransfer(storage, "Source").export(folder / "monday")
    elif damage == "edited":
        next((folder / "monday").glob("rows/*")).write_bytes(b"")
    else:
        (folder / "tuesday" / "deleted.keys").write_bytes(b"")
    with pytest.raises(BadExport):
        TableTransfer(storage, "Restored").restore(folder / "tuesday")
    assert [table.name for table in storage.tables.list_tables()] == ["Source"]


def test_changes_are_exported_as_the_whole_was(week: tuple[Any, Path]) -> None:
    storage, folder = week
    table = TableTransfer(storage, "Source")
    table.export(folder / "filtered", where=prop("Value") > 0)
    storage.tables.create_table("Other")
    for transfer, arguments in (
        (table, {"since": folder / "filtered"}),
        (table, {"since": folder / "monday", "where": prop("Value") > 0}),
        (table, {"since": folder / "monday", "select": ["Value"]}),
        (TableTransfer(storage, "Other"), {"since": folder / "monday"}),
        (table, {"since": folder / "nowhere"}),
    ):
        with pytest.raises(BadInput):
            transfer.export(folder / "new", **arguments)
    assert not (folder / "new").exists()
