"""Imports: what is not a whole and unchanged export is rejected, and an import that dies can be run again."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from support.crashing_client import Crash, Crashed, CrashingTransport
from support.maintained_set import BY_ID, KINDS, person
from support.worker_sets import killing, old_staff, paid_staff, restored_table, served
from tablepatterns import EntitySet, Int64, Key, Ticks, connect
from tablepatterns.errors import BadInput, EntityAlreadyExists, RangesFailed
from tablepatterns.jobs import Workers, verify
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad
from tablepatterns_engine.account import Engine
from tablepatterns_transfer import BadExport, ImportDiffers, TableTransfer, compare_exports

ROWS = 2_400
WRITES = ("InsertEntity", "Transaction", "UpdateEntity", "MergeEntity", "DeleteEntity", "CreateTable")


@pytest.fixture(scope="module")
def whole(storage: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export the table to three files."""
    folder = tmp_path_factory.mktemp("exports") / "whole"
    TableTransfer(storage, "Staff").export(folder, workers=Workers(1, seconds=0.0))
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    with served(monkeypatch) as engine:
        yield engine


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("rows/*"))


def truncate(folder: Path) -> None:
    file = files(folder)[0]
    file.write_bytes(file.read_bytes()[:-9])


def swap(folder: Path) -> None:
    one, other = files(folder)[:2]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def duplicate(folder: Path) -> None:
    one, other = files(folder)[:2]
    shutil.copy(one, other)


def edit(folder: Path) -> None:
    file = files(folder)[1]
    with gzip.open(file) as reading:
        text = reading.read().replace(b'"Age": 34', b'"Age": 35', 1)
    file.write_bytes(gzip.compress(text))


def remove(folder: Path) -> None:
    files(folder)[2].unlink()


def edit_manifest(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"table": "Staff"', '"table": "Other"'))


def truncate_manifest(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text()[:-2])


def remove_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a manifest, and its digest as well."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    del content["sha256"]
    change(content)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content | {"sha256": digest}))


def list_twice(folder: Path) -> None:
    change_manifest(folder, lambda content: content["files"].append(content["files"][-1]))


def list_fewer(folder: Path) -> None:
    change_manifest(folder, lambda content: content["files"].pop())


def point_elsewhere(folder: Path) -> None:
    shutil.copy(files(folder)[0], folder.parent / "elsewhere")
    change_manifest(folder, lambda content: content["files"][0].update(name="../elsewhere"))


def be_newer(folder: Path) -> None:
    change_manifest(folder, lambda content: content.update(version=2))


DAMAGE = [
    *(truncate, swap, duplicate, edit, remove, edit_manifest, truncate_manifest, remove_manifest),
    *(list_twice, list_fewer, point_elsewhere, be_newer),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_export_that_was_changed_is_rejected_before_anything_is_written(
    copy: Path, damage: Callable[[Path], None]
) -> None:
    damage(copy)
    target = connect()
    with pytest.raises(BadExport, match="export = "):
        TableTransfer(target, "Staff").restore(copy)
    with pytest.raises(BadExport):
        TableTransfer(target, "Staff").compare(copy)
    assert [record for record in target.engine.ledger.records if record.operation in WRITES] == []


def check(target: Any, table: str, whole: Path, tmp_path: Path) -> None:
    TableTransfer(target, table).export(tmp_path / "again")
    assert compare_exports(whole, tmp_path / "again").are_none


def test_threads_import_files(account: Engine, whole: Path, tmp_path: Path) -> None:
    with connect("env") as target:
        report = TableTransfer(target, "Staff").restore(whole, workers=3)
        assert (report.rows, report.written) == (ROWS, ROWS)
        check(target, "Staff", whole, tmp_path)


def test_an_import_whose_workers_die_ends_in_the_same_state(account: Engine, whole: Path, tmp_path: Path) -> None:
    with killing(seed=4, every=0.2, most=6) as killed:
        restored_table().restore(whole, workers=Workers(2, source=restored_table))
    assert killed
    check(restored_table().account, "Restored", whole, tmp_path)


def killed_after(engine: Engine, requests: int) -> Any:
    """Connect from a process that crashes once the engine has carried out this many requests."""
    return connect(engine, transport=CrashingTransport(engine, Crash(at=requests - 1, after=True)))


@pytest.mark.parametrize("at", [1, 3, 25, *(pytest.param(at, marks=pytest.mark.nightly) for at in (2, 11, 40))])
def test_an_import_that_was_killed_anywhere_is_run_again(whole: Path, tmp_path: Path, at: int) -> None:
    engine = Engine()
    with pytest.raises(Crashed):
        TableTransfer(killed_after(engine, at), "Staff").restore(whole)
    report = TableTransfer(connect(engine), "Staff").restore(whole)
    assert report.rows == ROWS
    assert report.written > 0
    assert report.written < ROWS or at < 3
    check(connect(engine), "Staff", whole, tmp_path)


@pytest.mark.parametrize("at", [2, 5, 12, 30, 45])
@pytest.mark.parametrize("form", ["export", "file"])
@pytest.mark.few(5)
def test_an_import_to_a_set_that_was_killed_anywhere_is_run_again(tmp_path: Path, at: int, form: str) -> None:
    engine = Engine()

    def run(storage: Any) -> Any:
        target = EntitySet(storage, "Staff", BY_ID, derived=list(KINDS.values()))
        transfer = TableTransfer(storage, target)
        if form == "export":
            transfer.restore(tmp_path / "new")
        else:
            assert transfer.import_file(tmp_path / "staff.csv").rejected == 0
        return target

    plain = EntitySet(connect(), "Staff", BY_ID)
    people = [person(number, Department=f"D{number % 5}") for number in range(20)]
    BulkLoad(plain).load(people)
    TableTransfer(plain.account, "Staff").export(tmp_path / "new")
    with (tmp_path / "staff.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["Department", "EmployeeId", "Email"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(people)
    with pytest.raises(Crashed):
        run(killed_after(engine, at))
    target = run(connect(engine))
    engine.clock.advance(600)
    target.process_intents()
    assert sorted(entity["EmployeeId"] for entity in target.scan()) == list(range(20))
    assert all(verify(target, kind).is_clean for kind in KINDS.values())


def test_an_import_is_resumed_from_a_token(whole: Path) -> None:
    tokens: list[str | None] = []
    TableTransfer(connect(), "Staff").restore(whole, progress=lambda report: tokens.append(report.token))
    target = connect()
    with pytest.raises(ImportDiffers, match="1000 removed"):
        # The first page was not imported here
        TableTransfer(target, "Staff").restore(whole, resume=tokens[0])


@pytest.mark.parametrize("by", [None, 2])
def test_a_row_with_other_values_stops_the_import(whole: Path, by: int | None) -> None:
    target = connect()
    TableTransfer(target, "Staff").restore(whole)
    rows = EntitySet(target, "Staff", BY_ID)
    other = rows.get(Department="D7", EmployeeId=7)
    rows.merge(other, {"Age": 99})
    with pytest.raises(EntityAlreadyExists if by is None else RangesFailed, match="exists with other values"):
        TableTransfer(target, "Staff").restore(whole, workers=by)
    assert rows.get(Department="D7", EmployeeId=7)["Age"] == 99
    assert TableTransfer(target, "Staff").compare(whole).changed == [("empid_D7", "id_000007")]
    assert TableTransfer(target, "Staff").restore(whole, if_exists="skip").written == 0
    assert rows.get(Department="D7", EmployeeId=7)["Age"] == 99
    TableTransfer(target, "Staff").restore(whole, if_exists="replace")
    assert rows.get(Department="D7", EmployeeId=7)["Age"] == 34


@pytest.mark.parametrize("select", [["Age"], []], ids=str)
def test_rows_are_not_replaced_by_some_of_their_properties(storage: Any, tmp_path: Path, select: list[str]) -> None:
    TableTransfer(storage, "Staff").export(tmp_path / "some", select=select)
    engine = Engine()
    target = connect(engine)
    with pytest.raises(BadInput, match="rows would lose their others"):
        TableTransfer(target, "Staff").restore(tmp_path / "some", if_exists="replace")
    assert not engine.ledger.records
    TableTransfer(target, "Staff").restore(tmp_path / "some")
    assert TableTransfer(storage, "Staff").compare(tmp_path / "some").are_none


def test_rows_that_are_not_in_the_export_stay(whole: Path) -> None:
    target = connect()
    EntitySet(target, "Staff", BY_ID).insert(person(9_999))
    transfer = TableTransfer(target, "Staff")
    transfer.restore(whole)
    found = transfer.compare(whole)
    assert (found.added, found.removed, found.changed) == ([("empid_Sales", "id_009999")], [], [])


def test_an_import_says_if_the_table_differs_in_the_end(whole: Path) -> None:
    target = connect()
    rows = EntitySet(target, "Staff", BY_ID)

    def delete(report: Any) -> None:
        if report.token is None:
            rows.delete(rows.get(Department="D1", EmployeeId=1))

    with pytest.raises(ImportDiffers, match="1 removed"):
        TableTransfer(target, "Staff").restore(whole, progress=delete)


@pytest.mark.parametrize("content", ["rows", "entities"])
def test_a_set_creates_its_derived_rows(tmp_path: Path, content: str) -> None:
    source, folder = connect(), tmp_path / "new"
    plain = EntitySet(source, "Staff", BY_ID)
    BulkLoad(plain).load(person(number, Department=f"D{number % 40}") for number in range(200))
    TableTransfer(source, "Staff" if content == "rows" else plain).export(folder)
    target = EntitySet(connect(), "Indexed", BY_ID, derived=[KINDS["near"]])
    transfer = TableTransfer(target.account, target)
    assert transfer.restore(folder).written == 200
    assert verify(target, KINDS["near"]).is_clean
    assert target.find(KINDS["near"], Department="D7", Email="7@contoso.com")["EmployeeId"] == 7
    # Again, and with other values
    assert transfer.restore(folder).rows == 200
    target.merge(target.get(Department="D7", EmployeeId=7), {"Age": 99})
    with pytest.raises(Exception, match="exists"):
        transfer.restore(folder)
    transfer.restore(folder, if_exists="replace")
    assert transfer.compare(folder).are_none
    with pytest.raises(BadInput, match="fail or replace"):
        transfer.restore(folder, if_exists="skip")


def test_entities_of_a_set_are_no_rows(storage: Any, tmp_path: Path) -> None:
    TableTransfer(storage, EntitySet(storage, "Staff", BY_ID)).export(tmp_path / "new")
    with pytest.raises(BadInput, match="import it to a set"):
        TableTransfer(connect(), "Staff").restore(tmp_path / "new")
    with pytest.raises(BadInput, match="compare it with the set"):
        TableTransfer(storage, "Staff").compare(tmp_path / "new")


@pytest.mark.parametrize("options", [{}, {"format": "parquet"}], ids=str)
def test_each_type_of_a_field_in_the_key_is_restored(tmp_path: Path, options: dict[str, Any]) -> None:
    if options:
        pytest.importorskip("pyarrow")
    values: dict[str, Any] = {
        "Day:%Y-%m-%d": date(2014, 8, 22),
        "At:ticks": Ticks.parse("2014-08-22T00:50:32.1234567Z"),
        "Id:uuid": UUID(int=7),
        "Number:+020d": Int64(2**62),
        "Name:escape": "é '%/#",
        "Hour:%Y-%m-%dT%H": datetime(2014, 8, 22, 5, tzinfo=timezone.utc),
        "Month:%Y-%m": date(2014, 8, 1),
    }
    for field, value in values.items():
        key, name = Key(f"{{{field}}}", "{Row:04d}"), field.partition(":")[0]
        source, target = (EntitySet(connect(), "Source", key) for _ in range(2))
        source.insert({name: value, "Row": 1, "Age": 34})
        folder = tmp_path / name
        TableTransfer(source.account, source).export(folder, **options)
        restored = TableTransfer(target.account, target)
        assert restored.restore(folder).written == 1
        assert dict(target.get({name: value, "Row": 1})) == {name: value, "Row": 1, "Age": 34}
        assert restored.compare(folder).are_none


@pytest.mark.parametrize("key", [Key("{Department}", "emp_{EmployeeId:06d}"), Key("{Email}", "{EmployeeId:04d}")])
@pytest.mark.parametrize("content", ["rows", "entities"])
def test_a_set_with_another_key_imports_nothing(
    whole: Path, storage: Any, tmp_path: Path, content: str, key: Key
) -> None:
    folder = whole
    if content == "entities":
        folder = tmp_path / "new"
        TableTransfer(storage, EntitySet(storage, "Staff", BY_ID)).export(folder)
    target = EntitySet(connect(), "Other", key)
    transfer = TableTransfer(target.account, target)
    with pytest.raises(BadInput, match=r"none of its rows is an entity|its entities have the key"):
        transfer.restore(folder)
    assert [*target.scan()] == []
    if content == "rows":
        with pytest.raises(BadInput, match="none of its rows is an entity"):
            transfer.compare(folder)


def test_a_set_encrypts_what_was_exported_decrypted(account: Engine, tmp_path: Path) -> None:
    BulkLoad(old_staff()).load([person(number, LastName="Secret") for number in range(3)])
    TableTransfer(old_staff().account, old_staff()).export(tmp_path / "new", decrypt=True)
    old_staff().drop_table()
    TableTransfer(paid_staff().account, paid_staff()).restore(tmp_path / "new")
    stored = TableTransfer(paid_staff().account, "Staff")
    stored.export(tmp_path / "rows")
    assert b"Secret" not in b"".join(gzip.decompress(file.read_bytes()) for file in files(tmp_path / "rows"))
    assert paid_staff().get(Department="Sales", EmployeeId=1)["LastName"] == "Secret"
