"""Exports in a blob container: written, continued, checked and restored as those in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.maintained_set import BY_ID
from support.worker_sets import served, staff_table, store_staff
from tablepatterns import EntitySet, aio, connect
from tablepatterns.cli.main import main
from tablepatterns.errors import BadInput
from tablepatterns.jobs import Workers
from tablepatterns_engine.account import Engine
from tablepatterns_transfer import BadExport, TableTransfer, compare_exports

PLACE = "container:backups/monday"
ROWS = 2_400
DAY = 86_400


@pytest.fixture
def storage() -> Any:
    storage = connect()
    store_staff(storage, ROWS)
    return storage


@pytest.fixture
def account(storage: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    with served(monkeypatch, storage.engine) as engine:
        yield engine


def blobs(storage: Any) -> Any:
    return storage.blobs.get_container_client("backups")


def names(storage: Any) -> set[str]:
    return {blob.name for blob in blobs(storage).list_blobs()}


def check(storage: Any, place: str = PLACE) -> None:
    """Check that a place has the table, and restores it."""
    assert TableTransfer(storage, "Staff").compare(place).are_none
    restored = TableTransfer(storage, "Restored")
    restored.restore(place)
    assert restored.compare(place).are_none


@pytest.mark.parametrize("file_format", ["jsonl", pytest.param("parquet", marks=pytest.mark.parquet)])
def test_a_table_is_exported_to_a_container_and_restored(storage: Any, file_format: Any) -> None:
    manifest = TableTransfer(storage, "Staff").export(PLACE, format=file_format, workers=Workers(1, seconds=0.0))
    assert len(manifest.files) > 1
    assert names(storage) == {"monday/manifest.json", *(f"monday/{file.name}" for file in manifest.files)}
    check(storage)


def test_exports_in_containers_and_folders_are_compared(account: Engine, storage: Any, tmp_path: Path) -> None:
    transfer = TableTransfer(storage, "Staff")
    transfer.export(PLACE)
    staff = EntitySet(storage, "Staff", BY_ID)
    staff.delete(staff.get(Department="D7", EmployeeId=7))
    transfer.export(tmp_path / "tuesday")
    found = compare_exports(PLACE, tmp_path / "tuesday", account=storage)
    assert (found.equal, found.counts) == (ROWS - 1, {"added": 0, "removed": 1, "changed": 0})
    assert compare_exports(PLACE, PLACE, account=storage).are_none
    with pytest.raises(BadInput, match="sync account"):
        compare_exports(PLACE, tmp_path / "tuesday")
    result = CliRunner().invoke(main, ["compare", str(tmp_path / "tuesday"), PLACE])
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        1,
        f"{ROWS - 1:,} equal rows, 1 added, 0 removed, 0 changed",
    )


def test_processes_upload_their_own_files(account: Engine, storage: Any) -> None:
    manifest = staff_table().export(PLACE, workers=Workers(2, source=staff_table, seconds=0.1))
    assert manifest.rows == ROWS
    check(storage)


def test_an_interrupted_export_is_continued(storage: Any) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(report: Any) -> None:
        if len(report.files) == 2:
            raise Interrupted

    transfer = TableTransfer(storage, "Staff")
    with pytest.raises(Interrupted):
        transfer.export(PLACE, workers=Workers(1, seconds=0.0), progress=interrupt)
    with pytest.raises(BadExport, match="no manifest"):
        transfer.compare(PLACE)
    done = names(storage)
    # A worker that died after its upload
    blobs(storage).upload_blob("monday/rows/late.jsonl.gz", b"")
    manifest = transfer.export(PLACE)
    assert len(manifest.files) == 3
    assert names(storage) >= done - {"monday/unfinished.json"}
    assert not names(storage) & {"monday/unfinished.json", "monday/rows/late.jsonl.gz"}
    check(storage)


def test_a_blob_that_a_late_worker_uploads_is_ignored(storage: Any) -> None:
    TableTransfer(storage, "Staff").export(PLACE)
    blobs(storage).upload_blob("monday/rows/late.jsonl.gz", b"")
    check(storage)


@pytest.mark.parametrize("damage", ["missing", "truncated", "swapped", "manifest"])
def test_a_damaged_export_is_rejected_before_anything_is_written(storage: Any, damage: str) -> None:
    files = TableTransfer(storage, "Staff").export(PLACE, workers=Workers(1, seconds=0.0)).files
    one, other = (blobs(storage).get_blob_client(f"monday/{file.name}") for file in files[:2])
    content = one.download_blob().readall()
    if damage == "missing":
        one.delete_blob()
    elif damage == "truncated":
        one.upload_blob(content[:-1], overwrite=True)
    elif damage == "swapped":
        one.upload_blob(other.download_blob().readall(), overwrite=True)
        other.upload_blob(content, overwrite=True)
    else:
        blobs(storage).delete_blob("monday/manifest.json")
    with pytest.raises(BadExport):
        TableTransfer(storage, "Restored").restore(PLACE)
    assert [table.name for table in storage.tables.list_tables()] == ["Staff"]


def test_a_chain_of_changes_is_restored(storage: Any, tmp_path: Path) -> None:
    rows = EntitySet(storage, "Staff", BY_ID)
    storage.engine.clock.advance(DAY)
    transfer = TableTransfer(storage, "Staff")
    transfer.export("container:backups/2026/monday")
    storage.engine.clock.advance(DAY)
    rows.delete(rows.get(Department="D7", EmployeeId=7))
    rows.merge(rows.get(Department="D8", EmployeeId=8), {"Age": 99})
    changes = transfer.export("container:backups/2026/tuesday", since="container:backups/2026/monday")
    assert changes.rows == 1
    assert changes.deleted is not None
    assert changes.base is not None
    assert changes.base[0] == "../monday"
    check(storage, "container:backups/2026/tuesday")
    for place in (tmp_path / "wednesday", "container:others/wednesday"):
        with pytest.raises(BadInput, match="not beside"):
            transfer.export(place, since="container:backups/2026/monday")


@pytest.mark.parametrize(
    "place", ["container:", "container:backups", "container:backups/", "container:backups/../x", "container:backups//x"]
)
def test_a_place_names_a_container_and_a_path(storage: Any, place: str) -> None:
    with pytest.raises(BadInput, match="container:NAME/PATH"):
        TableTransfer(storage, "Staff").export(place)


async def test_an_async_account_exports_to_folders_only(tmp_path: Path) -> None:
    async with aio.connect() as storage:
        await storage.tables.create_table("Staff")
        with pytest.raises(BadInput, match="sync account"):
            await TableTransfer(storage, "Staff").export(PLACE)
        assert (await TableTransfer(storage, "Staff").export(tmp_path / "new")).rows == 0
