"""Files of other programs: what fits is imported, what does not is rejected with a reason, and nothing is lost."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from azure.core.exceptions import ServiceRequestError
from typer.testing import CliRunner

from support.worker_sets import served
from tablepatterns import (
    EncryptedProperties,
    EntitySet,
    Int64,
    InterPartitionIndex,
    Key,
    LargeProperties,
    LocalKey,
    OneOf,
    Ticks,
    connect,
)
from tablepatterns.cli.main import main
from tablepatterns.errors import BadInput
from tablepatterns.jobs import verify
from tablepatterns_transfer import FileImport, TableTransfer

KEY = Key("{Department}", "{EmployeeId:06d}")
HEADER = "Department,EmployeeId,Name\n"


def staff(**options: Any) -> Any:
    return EntitySet(connect(), "Staff", KEY, **options)


def stored(entities: Any) -> list[dict[str, Any]]:
    return [dict(entity) for entity in entities.without_model().scan()]


def imported(entities: Any, folder: Path, content: str | bytes, **options: Any) -> tuple[FileImport, list[Any]]:
    """Import a CSV file, and return the report and what was rejected."""
    path = folder / "staff.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    report = TableTransfer(entities.account, entities).import_file(path, **options)
    rejects = folder / "staff.csv.rejects.jsonl"
    rows = [json.loads(line) for line in rejects.read_text("ascii").splitlines()] if rejects.exists() else []
    assert report.rows == report.written + report.rejected
    assert len(rows) == (0 if options.get("dry_run") else report.rejected)
    return report, rows


def test_rows_that_fit_are_stored_and_the_others_are_rejected(tmp_path: Path) -> None:
    entities = staff(derived=[InterPartitionIndex(Key("all", "{EmployeeId:06d}_{Department}"))])
    lines = [
        "Sales,7,=cmd|'/c calc'!A1",
        "Sales,x,Smith",
        "Sales,1234567,Long",
        "Legal,8",
        'Legal,9,"two\nlines"',
        ",1,No",
    ]
    report, rejects = imported(entities, tmp_path, "\ufeff" + HEADER + "\n".join(lines) + "\n")
    assert report == FileImport(6, 2, 4)
    assert [row["number"] for row in rejects] == [3, 4, 5, 8]
    assert rejects[0]["row"] == {"Department": "Sales", "EmployeeId": "x", "Name": "Smith"}
    assert rejects[2]["row"] == "Legal,8\n"
    assert "EmployeeId" in rejects[0]["error"]
    assert "2 cells, and the header has 3" in rejects[2]["error"]
    names = {(row["Department"], row["EmployeeId"]): row["Name"] for row in stored(entities)}
    assert names == {("Sales", 7): "=cmd|'/c calc'!A1", ("Legal", 9): "two\nlines"}
    assert verify(entities, entities.derived[0]).is_clean


def test_it_can_be_run_again_and_rejects_are_not_overwritten(tmp_path: Path) -> None:
    entities, content = staff(), HEADER + "Sales,1,a\nSales,2,b\nSales,x,c\n"
    assert imported(entities, tmp_path, content)[0] == FileImport(3, 2, 1)
    with pytest.raises(BadInput, match="an earlier import rejected"):
        imported(entities, tmp_path, content)
    (tmp_path / "staff.csv.rejects.jsonl").unlink()
    changed = content.replace("2,b", "2,other")
    report, rejects = imported(entities, tmp_path, changed)
    assert report == FileImport(3, 1, 2)
    assert [row["row"]["Name"] for row in rejects] == ["c", "other"]
    (tmp_path / "staff.csv.rejects.jsonl").unlink()
    assert imported(entities, tmp_path, changed, if_exists="replace")[0] == FileImport(3, 2, 1)
    assert [row["Name"] for row in stored(entities)] == ["a", "other"]


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    entities = staff()
    assert imported(entities, tmp_path, HEADER + "Sales,1,a\nSales,x,b\n", dry_run=True)[0] == FileImport(2, 1, 1)
    assert stored(entities) == []
    assert [path.name for path in tmp_path.iterdir()] == ["staff.csv"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"Sales,1,\xff\xfe\n", "not UTF-8"),
        (b'Sales,1,"a"b\n', "not CSV"),
        (b'Sales,1,"never closed\n', "not CSV"),
        (b"Sales,1," + b"x" * 10_000_000 + b"\n", "Name"),
        (b"Sa/les,1,a\n", "Department"),
        # Before Python 3.11, the csv module reads no NUL
        (b"Sa\x00les,1,a\n", "Department|NUL"),
        (b"Sales,1_0,a\n", "EmployeeId"),
        ("Sales,\uff11,a\n".encode(), "EmployeeId"),
        (b"Sales,99999999999999999999,a\n", "EmployeeId"),
    ],
)
def test_a_line_of_other_form_is_rejected_whole(tmp_path: Path, line: bytes, reason: str) -> None:
    entities = staff()
    report, rejects = imported(entities, tmp_path, HEADER.encode() + b"Sales,2,fits\n" + line)
    assert report == FileImport(2, 1, 1)
    assert re.search(reason, rejects[0]["error"])
    row = rejects[0]["row"]
    text = row if isinstance(row, str) else ",".join(row.values()) + "\n"
    assert text.encode("utf-8", "surrogateescape") == line
    assert [row["Name"] for row in stored(entities)] == ["fits"]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("Department,EmployeeId,Name,Name\n", "several columns 'Name'"),
        ("Department,EmployeeId,\n", "a column has no name"),
        ("Department,Name\n", "needs a column 'EmployeeId'"),
        ("", "needs a column 'Department'"),
    ],
)
def test_columns_that_do_not_fit_are_rejected_before_any_row(tmp_path: Path, header: str, reason: str) -> None:
    entities = staff()
    with pytest.raises(BadInput, match=reason):
        imported(entities, tmp_path, header + "Sales,1,a,b\n")
    assert stored(entities) == []


def test_stated_types_are_exact(tmp_path: Path) -> None:
    entities = staff()
    header = "Department,EmployeeId,Big,Big@type,At,At@type,On,On@type,Id,Id@type,Note\n"
    guid = UUID(int=7)
    lines = [
        f"Sales,1,{2**62},Edm.Int64,2026-11-28T09:30:00Z,Edm.DateTime,True,Boolean,{guid},Edm.Guid,",
        "Sales,2,many,Edm.Int64,,,,,,,x",
        "Sales,3,1,Edm.Colour,,,,,,,x",
        f"Sales,4,{2**63},Edm.Int64,,,,,,,x",
        f"Sales,5,{2**31},Edm.Int32,,,,,,,x",
        "Sales,6,,,2026-11-28,DateTime,,,,,x",
        "Sales,7,,,,,,,zz,Guid,x",
    ]
    report, rejects = imported(entities, tmp_path, header + "\n".join(lines))
    assert report == FileImport(7, 1, 6)
    assert all("is not of that type; correct the type" in reject["error"] for reject in rejects)
    at = datetime(2026, 11, 28, 9, 30, tzinfo=timezone.utc)
    expected = {"Department": "Sales", "EmployeeId": 1, "Big": Int64(2**62), "At": at, "On": True, "Id": guid}
    assert stored(entities) == [expected]
    assert type(stored(entities)[0]["Big"]) is Int64


@dataclass
class Employee:
    Department: str
    EmployeeId: int
    Name: str
    Pay: Decimal | None = None
    Since: datetime | None = None
    Active: bool = True

    def __post_init__(self) -> None:
        if self.Name == "Nobody":
            raise RuntimeError("there is no such employee")


def test_a_model_converts_and_checks(tmp_path: Path) -> None:
    entities = staff(model=Employee)
    header = "Department,EmployeeId,Name,Pay,Since,Active\n"
    lines = [
        "Sales,1,007,12.50,2026-01-02T03:04:05+00:00,FALSE",
        "Sales,2,,1,,true",
        "Sales,3,Jones,much,,true",
        "Sales,4,Nobody,1,,true",
        "Sales,5,Jones,1,,perhaps",
    ]
    report, rejects = imported(entities, tmp_path, header + "\n".join(lines))
    assert report == FileImport(5, 1, 4), rejects
    for row, field in zip(rejects, ["Name", "Pay", "there is no such employee", "Active"], strict=True):
        assert field in row["error"], row
    since = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    assert list(entities.scan()) == [Employee("Sales", 1, "007", Decimal("12.50"), since, False)]
    (tmp_path / "staff.csv.rejects.jsonl").unlink()
    with pytest.raises(BadInput, match="no field for the column 'Unknown'"):
        imported(entities, tmp_path, "Department,EmployeeId,Unknown\nSales,1,a\n")


@pytest.mark.parquet
@dataclass
class Engineer:
    Department: str
    EmployeeId: int
    Name: str = ""
    Grade: int = 0


@dataclass
class Guest:
    Department: str
    EmployeeId: int
    Name: str = ""


def test_the_type_property_names_the_class_of_each_row(tmp_path: Path) -> None:
    entities = staff(model=OneOf(Engineer, Guest))
    lines = ["Sales,1,Jo,2,Engineer", "Sales,2,Ann,,Guest", "Sales,3,Al,2,Guest", "Sales,4,Bo,,", "Sales,5,Cy,,Manager"]
    report, rejects = imported(entities, tmp_path, HEADER[:-1] + ",Grade,EntityType\n" + "\n".join(lines) + "\n")
    assert list(entities.scan()) == [Engineer("Sales", 1, "Jo", 2), Guest("Sales", 2, "Ann")]
    assert report == FileImport(5, 2, 3)
    for reject, reason in zip(
        rejects, ["column = 'Grade': Guest has the fields", "no EntityType", "'Manager'"], strict=True
    ):
        assert reason in reject["error"]


def test_parquet_keeps_its_types_and_odd_values_are_rejected(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    entities, at = staff(), datetime(2026, 1, 2, tzinfo=timezone.utc)
    numbers = [1, 2**40, 2**63, 4]
    columns = {
        "Department": ["Sales"] * 4,
        "EmployeeId": [1, 2, 3, None],
        "Number": pa.array(numbers, pa.uint64()),
        "At": [at] * 4,
        "Tags": [None, None, None, ["a"]],
        "Note": ["", None, "", ""],
    }
    pq.write_table(pa.table(columns), tmp_path / "staff.parquet")
    report = TableTransfer(entities.account, entities).import_file(tmp_path / "staff.parquet")
    assert report == FileImport(4, 2, 2)
    assert [row["Number"] for row in stored(entities)] == [1, Int64(2**40)]
    assert stored(entities)[0]["At"] == at
    assert [row.get("Note") for row in stored(entities)] == ["", None]
    rejects = (tmp_path / "staff.parquet.rejects.jsonl").read_text("ascii").splitlines()
    assert [json.loads(line)["number"] for line in rejects] == [3, 4]


@pytest.mark.parquet
def test_parquet_has_the_types_of_a_model(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    entities, at = staff(model=Employee), datetime(2026, 1, 2, tzinfo=timezone.utc)
    people = [Employee("Sales", number, "Jones", Decimal("12.50"), at, False) for number in range(3)]
    pq.write_table(pa.Table.from_pylist([vars(person) for person in people]), tmp_path / "staff.parquet")
    assert TableTransfer(entities.account, entities).import_file(tmp_path / "staff.parquet") == FileImport(3, 3, 0)
    assert list(entities.scan()) == people


def test_large_and_encrypted_properties_are_stored_as_the_set_stores_them(tmp_path: Path) -> None:
    mappings = [
        LargeProperties(["Photo"], container="staff"),
        EncryptedProperties(["Pay"], keys=LocalKey.generate("1")),
    ]
    entities = staff(mappings=mappings)
    photo = "x" * 200_000
    assert imported(entities, tmp_path, f"Department,EmployeeId,Photo,Pay\nSales,1,{photo},9\n")[0].written == 1
    assert stored(entities) == [{"Department": "Sales", "EmployeeId": 1, "Photo": photo, "Pay": "9"}]
    raw = list(entities.account.tables.get_table_client("Staff").list_entities())
    assert len(raw[0]["Photo"]) < 1_000
    assert raw[0]["Pay"] != "9"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"Department,EmployeeId\n"])
@pytest.mark.parquet
def test_a_file_that_is_no_parquet_is_rejected(tmp_path: Path, content: bytes) -> None:
    entities, path = staff(), tmp_path / "staff.parquet"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="cannot be read"):
        TableTransfer(entities.account, entities).import_file(path)


def test_a_table_and_other_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="needs a set"):
        TableTransfer(connect(), "Staff").import_file(tmp_path / "staff.csv")
    with pytest.raises(BadInput, match="neither"):
        TableTransfer(connect(), staff()).import_file(tmp_path / "staff.xlsx")


def test_a_command_imports_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "staff.csv"
    path.write_text("Department,EmployeeId,Email\nSales,1,a@contoso.com\nSales,x,b@contoso.com\n", "utf-8")
    with served(monkeypatch):
        command = ["import", str(path), "--to", "support.worker_sets:restored"]
        tried = CliRunner().invoke(main, [*command, "--dry-run"])
        assert (tried.exit_code, tried.stdout) == (1, "1 of 2 rows fit, 1 rejected\n")
        result = CliRunner().invoke(main, [*command, "--json"])
        assert (result.exit_code, json.loads(result.stdout)) == (1, {"rows": 2, "written": 1, "rejected": 1})
        shared = CliRunner().invoke(main, [*command, "--workers", "2"])
        assert shared.exit_code == 2


def test_a_service_that_fails_rejects_no_row(tmp_path: Path) -> None:
    class LostKeys(LocalKey):
        def wrap_key(self, *_: Any, **__: Any) -> Any:
            raise ServiceRequestError("no connection to the vault")

    keys = LostKeys("1", bytes(32))
    entities = staff(mappings=[EncryptedProperties(["Pay"], keys=keys)])
    with pytest.raises(ServiceRequestError, match="no connection"):
        imported(entities, tmp_path, "Department,EmployeeId,Pay\nSales,1,9\n")
    assert not (tmp_path / "staff.csv.rejects.jsonl").exists()


def test_instants_in_the_key_keep_their_seventh_digit(tmp_path: Path) -> None:
    entities = EntitySet(connect(), "Log", Key("{Service}", "{At:ticks}"))
    texts = ["2014-08-22T00:50:32.1234567Z", "2014-08-22T02:50:32.1234568+02:00", "2014-08-22T00:50:32.1234567"]
    report, rejects = imported(entities, tmp_path, "Service,At\n" + "".join(f"web,{text}\n" for text in texts))
    assert report == FileImport(3, 2, 1)
    assert [row["row"]["At"] for row in rejects] == texts[2:]
    assert {entity["At"] for entity in stored(entities)} == {
        Ticks.parse("2014-08-22T00:50:32.1234567Z"),
        Ticks.parse("2014-08-22T00:50:32.1234568Z"),
    }


@pytest.mark.parquet
def test_nanoseconds_of_parquet_are_exact_or_rejected(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    start = 1_408_668_632_000_000_000
    columns = {
        "Department": ["Sales"] * 5,
        "EmployeeId": range(5),
        "At": pa.array([start, start + 1_000, start + 100, start + 1, None], pa.timestamp("ns", "UTC")),
        "Local": pa.array([None, None, None, None, start], pa.timestamp("ns")),
    }
    parquet.write_table(pa.table(columns), tmp_path / "staff.parquet")
    entities = staff()
    report = TableTransfer(entities.account, entities).import_file(tmp_path / "staff.parquet")
    assert report == FileImport(5, 3, 2)
    instant = datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc)
    exact = Ticks.parse("2014-08-22T00:50:32.0000001Z")
    assert [entity["At"] for entity in stored(entities)] == [instant, instant.replace(microsecond=1), exact]
    rejects = [json.loads(line) for line in (tmp_path / "staff.parquet.rejects.jsonl").read_text().splitlines()]
    assert [row["error"] for row in rejects] == [
        "At: the service stores multiples of 100 ns; convert the column",
        "Local: it has no time zone; convert the column",
    ]
    assert (rejects[0]["row"]["At"], rejects[1]["row"]["Local"]) == (start + 1, start)
