"""`tablepatterns rekey`: each step of a move to new keys from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from tablepatterns.cli.main import main
from tablepatterns.cli.walks import ResumeTokens

MODULE = """
from tablepatterns import *
from tablepatterns import aio

def declared(storage, other=None):
    by_id = EntitySet(storage, "Employees", Key("{{Department}}", "{{EmployeeId:06d}}"))
    return Rekey(by_id, EntitySet(other or storage, "EmployeesByEmail", Key("{{Email}}", "employee")))

def on_loop():
    return declared(aio.connect({account!r}), aio.connect({account!r}))

move = declared(connect({account!r}))
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module that declares a move of 30 employees, on an account of its own."""
    name = f"app_{uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(account=f"memory://{name}"), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = __import__(name)
    for number in range(30):
        found.move.old_set.insert({"Department": "Sales", "EmployeeId": number, "Email": f"{number}@contoso.com"})
    yield found
    del sys.modules[name]


def run(command: str) -> Result:
    return CliRunner().invoke(main, ["rekey", *command.split()])


def test_a_table_is_moved_by_commands(app: Any) -> None:
    name = f"{app.__name__}:move"
    status = json.loads(run(f"status {name} --json").stdout)
    assert (status["phase"], status["is_verified"], status["primary"]) == ("copying", False, "Employees")
    copied = run(f"copy {name} --max-per-second 1000")
    assert copied.exit_code == 0
    assert "30 of 30 entities copied" in copied.stdout
    assert "30 entities and 30 copies compared" in run(f"verify {name}").stdout
    assert "phase: cut over" in run(f"cut-over {name}").stdout
    assert "primary table: Employees;" in run(f"roll-back {name}").stdout
    assert json.loads(run(f"cut-over {name} --json").stdout)["primary"] == "EmployeesByEmail"
    assert run(f"commit {name}").exit_code == 1
    assert "next: clean-up" in run(f"commit {name} --yes").stdout
    assert "30 old entities deleted" in run(f"clean-up {name}").stdout
    assert "dropped" in run(f"clean-up {name} --drop-table").stdout
    assert len([*app.move.new_set.scan()]) == 30


def test_a_move_of_an_async_connection_runs_too(app: Any) -> None:
    name = f"{app.__name__}:on_loop"
    assert run(f"copy {name} --json").exit_code == 0
    assert run(f"verify {name} --json").exit_code == 0
    assert json.loads(run(f"cut-over {name} --json").stdout)["phase"] == "cut over"


def test_what_blocks_the_cut_over_is_listed_with_the_exit_status_1(app: Any) -> None:
    name = f"{app.__name__}:move"
    app.move.old_set.insert({"Department": "Sales", "EmployeeId": 99, "Email": "7@contoso.com"})
    for command in ("copy", "verify"):
        found = run(f"{command} {name}")
        assert found.exit_code == 1
        assert "same key: ('Sales', '000099') and ('Sales', '000007') -> ('7@contoso.com'" in found.stdout
    (difference,) = json.loads(run(f"verify {name} --json").stdout)["differences"]
    assert (difference["mismatch"], difference["other"]) == ("same key", ["Sales", "000007"])
    refused = run(f"cut-over {name}")
    assert refused.exit_code == 1
    assert "verify" in refused.output


def test_differences_are_repaired(app: Any) -> None:
    name = f"{app.__name__}:move"
    run(f"copy {name}")
    app.move.old_set.insert({"Department": "Sales", "EmployeeId": 99, "Email": "99@contoso.com"})
    assert "1 copy repaired" in run(f"repair {name}").stdout
    assert run(f"verify {name}").exit_code == 0


@pytest.mark.parametrize("work", ["copy", "repair"])
def test_interrupted_work_is_continued(app: Any, monkeypatch: pytest.MonkeyPatch, work: str) -> None:
    name = f"{app.__name__}:move"
    monkeypatch.setattr("tablepatterns.jobs.walk.MAX_PAGE_ENTITIES", 10)
    pages: list[Any] = []

    def interrupt(self: Any, work: str, token: str | None) -> None:
        keep(self, work, token)
        pages.append(token)
        if len(pages) == 2:
            raise KeyboardInterrupt

    keep = ResumeTokens.keep
    monkeypatch.setattr(ResumeTokens, "keep", interrupt)
    stopped = run(f"{work} {name}")
    assert stopped.exit_code == 130
    assert f"{work}: 20 entities" in stopped.stderr
    found = json.loads(run(f"{work} {name} --resume tablepatterns-rekey-{work}.resume.json --json").stdout)
    assert found.get("entities", found.get("repaired")) == 10
    assert run(f"verify {name}").exit_code == 0


def test_a_dry_run_of_a_step_shows_the_state_and_what_is_next(app: Any) -> None:
    name = f"{app.__name__}:move"
    for done in ("status", "copy", "verify", "cut-over", "commit --yes"):
        assert run(f"{done} {name}").exit_code == 0
        for step in ("cut-over", "roll-back", "commit", "clean-up", "clean-up --drop-table"):
            assert run(f"{step} {name} --dry-run --json").stdout == run(f"status {name} --json").stdout
            assert run(f"{step} {name} --dry-run").stdout == run(f"status {name}").stdout


def test_the_rows_of_both_sets_are_checked(app: Any) -> None:
    name = f"{app.__name__}:move"
    run(f"copy {name}")
    app.move.entities.delete({"Department": "Sales", "EmployeeId": 1}, force=True)
    command = ["check", name]
    checks = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
    assert {work: (rows["entities"], rows["misfits"]) for work, rows in checks.items()} == {
        "old_set": (29, []),
        "new_set": (29, []),
    }
    keys = {"PartitionKey": "Sales", "RowKey": "boss"}
    app.move.old_set.account.tables.get_table_client("Employees").create_entity(keys)
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "Employees: " in result.stdout
    assert "EmployeesByEmail: " in result.stdout
    assert "('Sales', 'boss')" in result.stdout
