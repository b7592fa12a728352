"""Exports: the same rows whatever the workers do, continued after an interruption, and each row once beside writers."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import ResourceExistsError

import tablepatterns
from support import worker_sets
from support.maintained_set import BY_ID, person
from support.worker_sets import fragile_table, killing, old_staff, paid_staff, served, staff, staff_table
from tablepatterns import EntitySet, Key, connect, prop
from tablepatterns.errors import BadDesign, BadFilter, BadInput, RangesFailed
from tablepatterns.jobs import Workers
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad
from tablepatterns_engine.account import Engine
from tablepatterns_transfer import BadExport, Export, TableTransfer, compare_exports
from tablepatterns_transfer.manifest import FileWriter

ROWS = 2_400


@pytest.fixture
def account(storage: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    with served(monkeypatch, storage.engine) as engine:
        yield engine


@pytest.fixture(scope="module")
def whole(storage: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / "whole"
    TableTransfer(storage, "Staff").export(folder)
    return folder


def contents(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def check(folder: Path, whole: Path) -> None:
    """Check that an export has each row once, in files that the manifest lists, and nothing else."""
    export = Export.open(folder)
    assert export.manifest.rows == ROWS == sum(1 for _ in export.all_rows())
    assert compare_exports(whole, folder).are_none
    assert contents(folder) == {"manifest.json", *(file.name for file in export.manifest.files)}


@pytest.mark.parametrize("count", [1, 3])
def test_small_files_together_are_the_table(storage: Any, whole: Path, tmp_path: Path, count: int) -> None:
    manifest = TableTransfer(storage, "Staff").export(tmp_path / "new", workers=Workers(count, seconds=0.0))
    assert len(manifest.files) > 1
    check(tmp_path / "new", whole)


def test_threads_export_a_table(account: Engine, whole: Path, tmp_path: Path) -> None:
    with connect("env") as storage:
        TableTransfer(storage, "Staff").export(tmp_path / "new", workers=Workers(3, seconds=0.0))
    check(tmp_path / "new", whole)


def test_processes_that_die_export_a_table(account: Engine, whole: Path, tmp_path: Path) -> None:
    with killing(seed=3, every=0.2, most=6) as killed:
        shared = Workers(2, source=staff_table, seconds=0.05)
        staff_table().export(tmp_path / "new", workers=shared)
    assert killed
    check(tmp_path / "new", whole)


def test_an_interrupted_export_is_continued(storage: Any, whole: Path, tmp_path: Path) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(report: Any) -> None:
        if len(report.files) == 2:
            raise Interrupted

    transfer, folder = TableTransfer(storage, "Staff"), tmp_path / "new"
    with pytest.raises(Interrupted):
        transfer.export(folder, workers=Workers(1, seconds=0.0), progress=interrupt)
    with pytest.raises(BadExport, match="no manifest"):
        Export.open(folder)
    with pytest.raises(BadInput, match="another export, which was interrupted"):
        transfer.export(folder, select=["Age"])
    before = contents(folder)
    manifest = transfer.export(folder)
    assert contents(folder) > before - {"unfinished.json"}
    assert len(manifest.files) == 3
    check(folder, whole)


def test_an_export_that_ended_before_its_manifest_is_continued(storage: Any, whole: Path, tmp_path: Path) -> None:
    transfer, folder = TableTransfer(storage, "Staff"), tmp_path / "new"
    states: list[str] = []
    transfer.export(folder, progress=lambda _: states.append((folder / "unfinished.json").read_text()))
    (folder / "manifest.json").unlink()
    (folder / "unfinished.json").write_text(states[-1])
    transfer.export(folder)
    check(folder, whole)


def test_ranges_that_fail_are_exported_by_the_next_run(
    account: Engine, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablepatterns.jobs.workers._LONGEST_PAUSE", 0.01)
    monkeypatch.setenv(worker_sets.UNREADABLE, "empid_D17")
    monkeypatch.setenv(worker_sets.FAILURE, "raises")
    fragile = Workers(3, source=fragile_table, executor=lambda: ThreadPoolExecutor(1), seconds=0.0)
    with pytest.raises(RangesFailed, match="MemoryError"):
        staff_table().export(tmp_path / "new", workers=fragile)
    assert "manifest.json" not in contents(tmp_path / "new")
    staff_table().export(tmp_path / "new", workers=3)
    check(tmp_path / "new", whole)


def test_a_folder_with_other_files_is_left_alone(storage: Any, whole: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="not empty"):
        TableTransfer(storage, "Staff").export(tmp_path)
    with pytest.raises(BadInput, match="has an export already"):
        TableTransfer(storage, "Staff").export(whole)
    assert contents(tmp_path) == {"notes.txt"}


def test_a_filter_and_a_selection(storage: Any, tmp_path: Path) -> None:
    where = prop("EmployeeId") < 100
    wide = EntitySet(storage, "Wide", Key("{A}", "{B}"))
    for number in range(200):
        wide.insert({"A": f"a{number % 3}", "B": f"{number}", "EmployeeId": number, "Age": 1})
    transfer = TableTransfer(storage, "Wide")
    manifest = transfer.export(tmp_path / "new", where=where, select=["Age"], workers=Workers(2, seconds=0.0))
    assert (manifest.rows, manifest.where, manifest.select) == (100, "EmployeeId lt 100", ("Age",))
    assert {tuple(row) for row in Export.open(tmp_path / "new").all_rows()} == {("PartitionKey", "RowKey", "Age")}
    assert transfer.compare(tmp_path / "new").are_none


def test_an_empty_table_is_exported(tmp_path: Path) -> None:
    storage = connect()
    storage.tables.create_table("Empty")
    assert TableTransfer(storage, "Empty").export(tmp_path / "new").files == ()
    TableTransfer(storage, "Other").restore(tmp_path / "new")
    assert [table.name for table in storage.tables.list_tables()] == ["Empty", "Other"]


def test_the_entities_of_a_set_have_the_fields_of_their_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with served(monkeypatch):
        BulkLoad(staff()).load(person(number, Department=f"D{number % 3}") for number in range(30))
        transfer = TableTransfer(staff().account, staff())
        assert transfer.export(tmp_path / "new").rows == 30
        entity = next(Export.open(tmp_path / "new").all_rows())
        assert (entity["Department"], entity["EmployeeId"], entity["RowKey"]) == ("D0", 0, "id_000000")
        assert transfer.compare(tmp_path / "new").are_none


def test_entities_are_decrypted_only_if_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with served(monkeypatch):
        BulkLoad(old_staff()).load([person(1, LastName="Secret")])
        transfer = TableTransfer(paid_staff().account, paid_staff())
        assert transfer.export(tmp_path / "stored").content == "stored"
        assert b"Secret" not in next(Export.open(tmp_path / "stored").all_rows())["LastName"]
        assert transfer.compare(tmp_path / "stored").are_none
        with pytest.raises(BadInput, match="encrypted"):
            transfer.restore(tmp_path / "stored")
        assert transfer.export(tmp_path / "plain", decrypt=True).content == "entities"
        assert next(Export.open(tmp_path / "plain").all_rows())["LastName"] == "Secret"
        with pytest.raises(BadInput, match="only a set"):
            TableTransfer(paid_staff().account, "Staff").export(tmp_path / "new", decrypt=True)


@pytest.mark.parametrize("decrypt", [False, True])
@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        (prop("Department") == "D1", {1, 4}),
        ((prop("Department") == "D1") & (prop("EmployeeId") > 1), {4}),
        ((prop("EmployeeId") >= 4) & (prop("Department") == "D2") & (prop("Age") > 0), {5}),
        (prop("Age") == 0, set[int]()),
    ],
    ids=str,
)
def test_a_filter_and_a_selection_of_a_set_are_those_of_its_entities(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, decrypt: bool, where: Any, numbers: set[int]
) -> None:
    with served(monkeypatch):
        people = [person(number, Department=f"D{number % 3}", LastName="Secret") for number in range(6)]
        BulkLoad(paid_staff()).load(people)
        transfer = TableTransfer(paid_staff().account, paid_staff())
        transfer.export(tmp_path / "new", where=where, select=["LastName", "EmployeeId"], decrypt=decrypt)
        entities = [*Export.open(tmp_path / "new").all_rows()]
        assert {entity["EmployeeId"] for entity in entities} == numbers
        for entity in entities:
            assert ("Age" in entity, entity["LastName"] == "Secret") == (False, decrypt)
        assert transfer.compare(tmp_path / "new").equal == len(numbers)
        for rejected in (prop("LastName") == "Secret", prop("employeeid") == 1):
            with pytest.raises(BadFilter):
                transfer.export(tmp_path / "rejected", where=rejected, decrypt=decrypt)


def test_a_second_process_takes_an_export_over(storage: Any, whole: Path, tmp_path: Path) -> None:
    for at in (1, 2, 3):
        folder, transfer = tmp_path / f"{at}", TableTransfer(storage, "Staff")

        def continue_elsewhere(report: Any, at: int = at, folder: Path = folder) -> None:
            if len(report.files) == at:
                TableTransfer(storage, "Staff").export(folder)

        with pytest.raises(BadInput, match="another process has continued"):
            transfer.export(folder, workers=Workers(1, seconds=0.0), progress=continue_elsewhere)
        for unfinished in folder.glob("rows/.*.partial"):
            unfinished.unlink()
        check(folder, whole)


def test_the_manifest_says_what_is_in_each_file(whole: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_text())
    (file,) = manifest["files"]
    assert (manifest["table"], manifest["content"], manifest["version"]) == ("Staff", "rows", 1)
    assert (file["rows"], file["first"][0], file["last"][0]) == (ROWS, "empid_D0", "empid_D9")
    assert manifest["started"] <= manifest["finished"]
    assert manifest["newest"] == file["newest"] <= manifest["finished"]


def test_cosmos_is_rejected(tmp_path: Path) -> None:
    account: Any = tablepatterns.connect("https://x.table.cosmos.azure.com", credential=worker_sets.NO_CREDENTIAL)
    with pytest.raises(BadDesign, match="in key order"):
        TableTransfer(account, "Staff")


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_a_table_that_is_deleted_meanwhile_has_no_export(tmp_path: Path, seconds: float) -> None:
    storage: Any = connect()
    BulkLoad(EntitySet(storage, "Staff", BY_ID)).load(person(number) for number in range(1_500))

    def delete(response: Any) -> None:
        if "top=1000" in response.http_request.url and "Next" not in response.http_request.url:
            storage.tables.delete_table("Staff")

    transfer = TableTransfer(connect(storage.engine, raw_response_hook=delete), "Staff")
    with pytest.raises(BadInput, match="there is no such table"):
        transfer.export(tmp_path / "new", workers=Workers(1, seconds=seconds))
    with pytest.raises(BadExport, match="no manifest"):
        Export.open(tmp_path / "new")


def test_a_table_that_does_not_exist_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no such table"):
        TableTransfer(connect(), "Staff").export(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_export_of_another_account_is_not_continued(whole: Path, tmp_path: Path) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(_: Any) -> None:
        raise Interrupted

    def on(name: str) -> Any:
        storage = connect(f"memory://{name}")
        with suppress(ResourceExistsError):
            storage.tables.create_table("Staff").create_entity({"PartitionKey": name, "RowKey": "1"})
        return TableTransfer(storage, "Staff")

    with pytest.raises(Interrupted):
        on("first").export(tmp_path / "new", progress=interrupt)
    with pytest.raises(BadInput, match="another export, which was interrupted"):
        on("second").export(tmp_path / "new")
    with pytest.raises(BadInput, match="account"):
        on("second").export(tmp_path / "changes", since=whole)


def other_table() -> TableTransfer[Any]:
    return TableTransfer(connect("env"), "Other")


def table_of_another_account() -> TableTransfer[Any]:
    with served_elsewhere() as connection_string:
        return TableTransfer(connect(connection_string), "Staff")


def served_elsewhere() -> Any:
    return worker_sets.serving(Engine())


@pytest.mark.parametrize(
    ("source", "text"), [(other_table, "'export Other'"), (table_of_another_account, "to the same account")]
)
def test_workers_on_another_table_or_account_export_nothing(
    account: Engine, tmp_path: Path, source: Any, text: str
) -> None:
    threads = Workers(2, source=source, executor=lambda: ThreadPoolExecutor(1))
    with pytest.raises(RangesFailed, match=text):
        staff_table().export(tmp_path / "new", workers=threads)
    assert contents(tmp_path / "new") == {"unfinished.json"}


def test_the_file_of_a_worker_that_returns_late_is_no_part_of_the_export(
    storage: Any, whole: Path, tmp_path: Path
) -> None:
    rows = [*Export.open(whole).all_rows()]
    late: list[FileWriter] = []

    def stall(_: Any) -> None:
        # A worker that was taken for dead still writes its range, which another one has written
        late.append(FileWriter(tmp_path / "new", "jsonl"))
        late[-1].write(rows)

    TableTransfer(storage, "Staff").export(tmp_path / "new", workers=Workers(1, seconds=0.0), progress=stall)
    check(tmp_path / "new", whole)
    writer = FileWriter(tmp_path / "new", "jsonl")
    writer.write(rows)
    writer.close()
    shown = {f"rows/{path.name}" for path in (tmp_path / "new" / "rows").glob("*.jsonl.gz")}
    assert shown == {file.name for file in Export.open(tmp_path / "new").manifest.files}
    for unfinished in late:
        with suppress(FileNotFoundError):
            unfinished.close()


def test_a_full_disk_ends_an_export_which_is_continued_later(
    storage: Any, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablepatterns.jobs.workers._LONGEST_PAUSE", 0.01)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
    try:
        with pytest.raises(RangesFailed, match="File too large"):
            TableTransfer(storage, "Staff").export(tmp_path / "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert contents(tmp_path / "new") == {"unfinished.json"}
    TableTransfer(storage, "Staff").export(tmp_path / "new")
    check(tmp_path / "new", whole)


def test_any_executor_will_do(account: Engine, whole: Path, tmp_path: Path) -> None:
    threads = Workers(2, source=staff_table, executor=lambda: ThreadPoolExecutor(1), seconds=0.0)
    staff_table().export(tmp_path / "new", workers=threads, where=prop("Age") > 0)
    check(tmp_path / "new", whole)


def test_a_rate_that_reads_row_by_row_exports_whole_rows(tmp_path: Path) -> None:
    entities = EntitySet(connect(), "Few", BY_ID)
    for number in range(2):
        entities.insert(person(number))
    transfer = TableTransfer(entities.account, "Few")
    transfer.export(tmp_path / "new", max_per_second=0.1)
    assert transfer.compare(tmp_path / "new").equal == 2
