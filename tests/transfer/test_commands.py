"""The commands `export`, `import` and `compare`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.maintained_set import BY_ID, person
from support.worker_sets import served, store_staff
from tablepatterns import EntitySet, connect
from tablepatterns.cli.main import main

KEY = "DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=a2V5"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with served(monkeypatch) as engine:
        store_staff(connect(engine), 900, partitions=9)
        yield connect(engine)


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == status, result.output
    return result


def test_a_table_is_exported_imported_and_compared(account: Any, tmp_path: Path) -> None:
    folder = tmp_path / "monday"
    assert run("export", "Staff", "--to", folder).stdout.startswith("900 rows in 1 file: ")
    dry = json.loads(run("import", folder, "--to", "Copy", "--dry-run", "--json", status=1).stdout)
    assert dry["counts"] == {"added": 0, "removed": 900, "changed": 0}
    assert "900 rows of the export are in Copy, 900 of them written now" in run("import", folder, "--to", "Copy").stdout
    assert "900 equal rows, 0 added, 0 removed, 0 changed" in run("compare", folder, "Copy").stdout
    copy = EntitySet(account, "Copy", BY_ID)
    copy.delete(copy.get(Department="D0", EmployeeId=0))
    copy.merge(copy.get(Department="D1", EmployeeId=1), {"Age": 1})
    copy.insert(person(1_000))
    found = json.loads(run("compare", folder, "Copy", "--json", status=1).stdout)
    assert found["counts"] == {"added": 1, "removed": 1, "changed": 1}
    assert found["removed"] == [["empid_D0", "id_000000"]]
    run("export", "Copy", "--to", tmp_path / "copy", "--compression", "gzip")
    assert json.loads(run("compare", folder, tmp_path / "copy", "--json", status=1).stdout) == found
    run("import", folder, "--to", "Copy", "--if-exists", "replace")
    assert json.loads(run("compare", folder, "Copy", "--json", status=1).stdout)["counts"]["added"] == 1


def test_processes_export_and_import(account: Any, tmp_path: Path) -> None:
    folder = tmp_path / "monday"
    report = json.loads(run("export", "support.worker_sets:staff", "--to", folder, "--workers", 2, "--json").stdout)
    assert report["rows"] == 900
    restored = run("import", folder, "--to", "support.worker_sets:restored", "--workers", 2, "--json")
    assert json.loads(restored.stdout) == {"rows": 900, "written": 900}


@pytest.mark.parametrize(
    ("arguments", "text", "status"),
    [
        (["export", "Typo", "--to", "{folder}"], "there is no such table", 2),
        (["export", "Staff", "--to", "{folder}", "--where", "Age gt"], "Syntax error", 2),
        (["export", "Staff", "--to", "."], "not empty", 2),
        (["export", "Staff", "--to", "{folder}", "--decrypt"], "only a set", 2),
        (["import", "{folder}", "--to", "Staff"], "no manifest", 2),
        (["compare", "{folder}", "Staff"], "no manifest", 2),
        (["export", "Staff", "--to", "{folder}", "--workers", "2", "--storage", KEY], "not shown", 2),
    ],
)
@pytest.mark.few(3)
def test_a_wrong_argument_is_rejected(
    account: Any, tmp_path: Path, arguments: list[str], text: str, status: int
) -> None:
    given = [argument.replace("{folder}", str(tmp_path / "new")) for argument in arguments]
    assert text in " ".join(run(*given, status=status).stderr.split())
