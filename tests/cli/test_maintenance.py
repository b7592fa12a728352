"""Maintenance commands: they work on what a module declares, can be interrupted and resumed, and report differences."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from tablepatterns import EntitySet, IntraPartitionIndex, Key, LargePropertyStore, Summary, connect
from tablepatterns.cli.main import main
from tablepatterns.cli.walks import ResumeTokens
from tablepatterns.sdk.table import Table

MODULE = """
from dataclasses import dataclass
from datetime import timedelta
from tablepatterns import *
from tablepatterns import aio

storage = connect({account!r})
by_email = InterPartitionIndex(Key("email_{{Department}}", "{{Email}}"), name="by_email")
by_name = IntraPartitionIndex(Key("empid_{{Department}}", "name_{{Name}}"), name="by_name")
key = Key("empid_{{Department}}", "id_{{EmployeeId:06d}}")

def staff(storage):
    return EntitySet(storage, "Employees", key, derived=[by_email, by_name])

def on_loop():
    return staff(aio.connect({account!r}))

plain = EntitySet(storage, "Employees", key)
employees = staff(storage)
worker = Worker(storage, [employees.reconciler()], max_deliveries=1)
old, new = LocalKey("old", bytes(32)), LocalKey("new", bytes(range(32)))
before = EntitySet(storage, "Paid", Key("{{Name}}", "row"), mappings=[EncryptedProperties(["Salary"], keys=old)])
paid = EntitySet(storage, "Paid", Key("{{Name}}", "row"), mappings=[EncryptedProperties(["Salary"], keys=[new, old])])
photos = EntitySet(storage, "Photos", Key("{{Name}}", "row"), mappings=[LargeProperties(["Photo"], container="photos")])

@dataclass
class Employee:
    Department: str
    EmployeeId: int
    Email: str
    FullName: str

def one_to_two(fields):
    return fields | {{"FullName": fields.pop("Name")}}

people = EntitySet(storage, "Employees", key, model=Employee, versions=[(1, one_to_two)])
logins = PeriodTables(
    storage, "Logins", Period.DAY, factory=lambda on, table: EntitySet(on, table, Key("{{User}}", "{{At:ticks}}")),
    retention=timedelta(days=30),
)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module that declares sets of 30 employees without their derived rows, on an account of its own."""
    name = f"app_{uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(account=f"memory://{name}"), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = __import__(name)
    for number in range(30):
        found.plain.insert(
            {"Department": "Sales", "EmployeeId": number, "Email": f"{number}@contoso.com", "Name": f"n{number}"}
        )
    yield found
    del sys.modules[name]


def run(command: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*command.split(), *arguments])


@pytest.mark.parametrize("name", ["employees", "on_loop"])
def test_differences_are_found_repaired_and_gone(module: Any, name: str) -> None:
    app = f"{module.__name__}:{name}"
    missing = run(f"verify {app} --json")
    assert missing.exit_code == 1
    found = json.loads(missing.stdout)
    assert [(each, len(kind["differences"])) for each, kind in found.items()] == [("by_email", 30), ("by_name", 30)]
    assert json.loads(run(f"repair {app} --json").stdout) == {
        "by_email": {"repaired": 30, "contested": 0},
        "by_name": {"repaired": 30, "contested": 0},
    }
    clean = run(f"verify {app}")
    assert clean.exit_code == 0
    assert "by_email" in clean.stdout


def test_totals_in_the_partition_are_rows_of_the_set_and_left_out_of_verify(module: Any) -> None:
    derived = [IntraPartitionIndex(Key("{Department}", "name_{Name}")), Summary(Key("{Department}", "total"))]
    module.counted = EntitySet(module.storage, "Counted", Key("{Department}", "{EmployeeId:06d}"), derived=derived)
    module.counted.insert({"Department": "Sales", "EmployeeId": 1, "Name": "Jo"})
    app = f"{module.__name__}:counted"
    for work in ("verify", "repair", "backfill"):
        result = run(f"{work} {app} --json")
        assert (result.exit_code, [*json.loads(result.stdout)]) == (0, ["name_{Name}"])
        assert "without total, of which each row combines several entities: use recount" in result.stderr
    assert run(f"check {app}").exit_code == 0
    assert run(f"verify {app} --derived total").exit_code == 2


def test_entities_of_earlier_versions_are_rewritten(module: Any) -> None:
    done = run(f"migrate {module.__name__}:people")
    assert (done.exit_code, done.stdout) == (0, "30 entities checked, 30 rewritten\n")
    assert json.loads(run(f"migrate {module.__name__}:people --json").stdout) == {"entities": 30, "rewritten": 0}
    assert module.plain.get(Department="Sales", EmployeeId=7)["FullName"] == "n7"


def test_chosen_derived_data_is_backfilled(module: Any) -> None:
    done = run(f"backfill {module.__name__}:employees --derived by_name --json")
    assert json.loads(done.stdout) == {"by_name": {"entities": 30}}
    left = json.loads(run(f"verify {module.__name__}:employees --json").stdout)
    assert {each: len(kind["differences"]) for each, kind in left.items()} == {"by_email": 30, "by_name": 0}


def test_what_two_entities_claim_is_reported_and_left(module: Any) -> None:
    module.plain.insert({"Department": "Sales", "EmployeeId": 99, "Email": "x@contoso.com", "Name": "n1"})
    repair = f"repair {module.__name__}:employees --derived by_name --json"
    run(repair)
    again = run(repair)
    assert json.loads(again.stdout) == {"by_name": {"repaired": 0, "contested": 1}}
    assert again.exit_code == 1


def test_an_interrupted_command_continues_where_it_stopped(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = ResumeTokens.keep

    def interrupted(tokens: ResumeTokens, work: str, token: str | None) -> None:
        keep(tokens, work, token)
        raise KeyboardInterrupt

    for number in range(30, 1100):
        module.plain.insert({"Department": "Sales", "EmployeeId": number})
    app = f"{module.__name__}:employees"
    with monkeypatch.context() as patch:
        patch.setattr(ResumeTokens, "keep", interrupted)
        stopped = run(f"verify {app} --derived by_name --resume position.json")
    assert stopped.exit_code == 130
    assert "continue with --resume position.json" in stopped.stderr
    assert list(json.loads(Path("position.json").read_text())) == ["verify by_name"]
    rest = json.loads(run(f"verify {app} --derived by_name --resume position.json --json").stdout)
    assert rest["by_name"]["entities"] == 100
    assert not Path("position.json").exists()


def test_a_function_gets_the_storage_that_the_command_names(module: Any) -> None:
    app = f"{module.__name__}:staff"
    assert run(f"verify {app} --storage memory://{module.__name__}").exit_code == 1
    assert run(f"verify {app} --storage memory://{uuid4().hex}").exit_code == 0


def test_entities_are_encrypted_under_the_current_key(module: Any) -> None:
    module.before.insert({"Name": "Jones", "Salary": 90_000})
    done = run(f"rotate {module.__name__}:paid --json")
    assert json.loads(done.stdout) == {"rewritten": 1, "rows_by_key": {"new": 1}}


def test_unused_blobs_are_marked_and_later_deleted(module: Any) -> None:
    module.photos.insert({"Name": "Jones", "Photo": bytes(100_000)})
    module.photos.delete(module.photos.get(Name="Jones"))
    command = f"collect-orphans {module.__name__}:photos --grace-hours 0"
    (blob,) = json.loads(run(f"{command} --dry-run --json").stdout)["orphans"]
    assert run(f"{command} --dry-run").stdout.splitlines() == ["1 blob unused", blob]
    marked = {"seen": 1, "marked": 1, "deleted": 0, "marked_names": [blob], "deleted_names": []}
    assert json.loads(run(f"{command} --json").stdout) == marked
    assert run(command).stdout.splitlines() == ["1 blob seen, 0 marked, 1 deleted", f"deleted: {blob}"]
    assert run(command).stdout.splitlines() == ["0 blobs seen, 0 marked, 0 deleted"]


def test_an_interrupted_collection_says_what_was_deleted(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Jones", "Smith"):
        module.photos.insert({"Name": name, "Photo": bytes(100_000)})
        module.photos.delete(module.photos.get(Name=name))
    collect, batches = LargePropertyStore._collect, list[object]()

    async def interrupt(*args: Any) -> Any:
        if batches:
            raise KeyboardInterrupt
        batches.append(args)
        return await collect(*args)

    monkeypatch.setattr(LargePropertyStore, "_collect", interrupt)
    stopped = run(f"collect-orphans {module.__name__}:photos --grace-hours 0 --json")
    assert stopped.exit_code == 130
    assert json.loads(stopped.stdout)["error"]["done"] == {"collect-orphans": {"seen": 1, "marked": 1, "deleted": 0}}
    assert "1 marked" in stopped.stderr


def test_entities_that_match_a_filter_are_deleted_after_asking(module: Any) -> None:
    command, where = f"bulk-delete {module.__name__}:plain", ("--where", "EmployeeId ge 20")
    assert run(command, *where, "--dry-run").stdout == "10 entities\n"
    assert "nothing was changed; give --yes" in run(command, *where).stderr
    assert run(f"count {module.__name__}:plain").stdout == "30 entities\n"
    assert json.loads(run(f"{command} --yes --json", *where).stdout) == {"deleted": 10, "left": 0}
    assert run(f"count {module.__name__}:plain").stdout == "20 entities\n"


def test_the_rate_of_a_deletion_is_that_of_entities(module: Any) -> None:
    command, before = (
        f"bulk-delete {module.__name__}:plain --yes --max-per-second 10",
        module.storage.engine.clock.now(),
    )
    for number in range(100, 350):
        module.plain.insert({"Department": "Sales", "EmployeeId": number})
    assert run(command, "--where", "EmployeeId ge 100").exit_code == 0
    # 250 entities, evenly spaced
    assert 24.9 <= (module.storage.engine.clock.now() - before) / 10_000_000 < 30


@pytest.mark.parametrize("where", ["", "  "])
def test_a_blank_filter_deletes_nothing(module: Any, where: str) -> None:
    result = run(f"bulk-delete {module.__name__}:plain --yes", "--where", where)
    assert result.exit_code == 2
    assert "to delete everything, delete the table" in result.stderr
    assert run(f"count {module.__name__}:plain").stdout == "30 entities\n"


def test_rows_are_counted_and_added_up_by_partition(module: Any) -> None:
    table = module.storage.tables.get_table_client("Employees")
    for row_key, points in (("", 5), ("\u202e[red]", 0.25)):
        table.create_entity({"PartitionKey": "", "RowKey": row_key, "Points": points})
    command = f"count Employees --storage memory://{module.__name__} --sum Points --by-partition"
    counted = json.loads(run(f"{command} --json").stdout)
    assert (counted["entities"], counted["sums"]) == (32, {"Points": 5.25})
    assert counted["partitions"][""] == {"entities": 2, "sums": {"Points": 5.25}}
    assert [line.split()[-2] for line in run(command).stdout.splitlines() if "(all)" in line] == ["5.25"]


def test_interrupted_drops_are_listed(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(timezone.utc)
    for days in (28, 29):
        module.logins.insert({"User": "jo", "At": now - timedelta(days=days)})
    module.storage.engine.clock.advance(4 * 86_400)
    drop, dropped = Table.drop, list[object]()

    async def interrupt(table: Table) -> None:
        if dropped:
            raise KeyboardInterrupt
        dropped.append(table.name)
        await drop(table)

    monkeypatch.setattr(Table, "drop", interrupt)
    stopped = run(f"drop-expired {module.__name__}:logins --yes --json")
    assert stopped.exit_code == 130
    assert json.loads(stopped.stdout)["error"]["done"] == {"dropped": dropped}
    assert str(dropped[0]) in stopped.stderr


def test_expired_periods_are_dropped(module: Any) -> None:
    now = datetime.now(timezone.utc)
    module.logins.insert({"User": "jo", "At": now - timedelta(days=29)})
    module.storage.engine.clock.advance(3 * 86_400)
    dropped = json.loads(run(f"drop-expired {module.__name__}:logins --yes --json").stdout)["dropped"]
    assert dropped == [f"Logins{now - timedelta(days=29):%Y%m%d}"]
    assert "no period has expired" in run(f"drop-expired {module.__name__}:logins").stdout


def test_poison_messages_are_listed_shown_requeued_and_dropped(module: Any) -> None:
    app, queue = f"{module.__name__}:worker", module.employees.reconciler().queue
    client = module.storage.queues.create_queue(queue)
    client.send_message("nonsense")
    module.worker.run_once()
    (note,) = json.loads(run(f"poison list {app} --json").stdout)
    assert (note["queue"], note["error"], "text" in note) == (queue, "BadMessage", False)
    assert json.loads(run(f"poison show {app} {note['id']}").stdout)["text"] == "nonsense"
    assert run(f"poison show {app} other").exit_code == 2
    assert f"{queue}: 1 message requeued" in run(f"poison requeue {app}").stdout
    assert client.get_queue_properties().approximate_message_count == 1
    module.worker.run_once()
    assert f"{queue}: 1 message deleted" in run(f"poison drop {app} --yes").stdout
    assert "0 messages" in run(f"poison list {app}").stdout


def test_the_status_of_a_module_names_what_needs_attention(module: Any) -> None:
    queue = module.employees.reconciler().queue
    module.storage.queues.create_queue(queue).send_message("nonsense")
    result = run(f"status {module.__name__} --json")
    state = json.loads(result.stdout)
    derived = [{"name": "by_email", "is_eventual": True}, {"name": "by_name", "is_eventual": False}]
    assert state["employees"]["derived"] == derived
    assert state["employees"]["intents"][queue]["messages"] == 1
    assert state["employees"]["intents"][queue]["age_seconds"] >= 0
    assert state["worker"]["queues"][queue]["poison"] == 0
    assert state["logins"] == {"kind": "PeriodTables", "expired_periods": 0}
    assert result.exit_code == 0
    module.worker.run_once()
    poisoned = run(f"status {module.__name__} --json")
    assert json.loads(poisoned.stdout)["worker"]["queues"][queue]["poison"] == 1
    assert poisoned.exit_code == run(f"status {module.__name__}").exit_code == 1
    assert run("status json").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("verify nonsense", "it is not a module and a name"),
        ("verify missing_module:x", "was not found"),
        ("verify {app}:nothing", "has no attribute 'nothing'"),
        ("verify {app}:worker", "it is of the type Worker"),
        ("verify {app}:staff", "say which one, such as --storage env"),
        ("verify {app}:employees --storage env", "needs a function that takes the storage"),
        ("verify {app}:employees --derived other", "the set derives by_email, by_name"),
        ("rotate {app}:employees", "no mapping for encrypted properties"),
        ("migrate {app}:employees", "the set has no model"),
        ("poison list {app}:worker --queue other", "this worker polls"),
        ("worker {app}:worker", "its account is in memory"),
    ],
)
def test_a_wrong_name_is_reported(module: Any, arguments: str, text: str) -> None:
    said = run(arguments.format(app=module.__name__))
    assert said.exit_code == 2
    assert text in " ".join(said.stderr.split())


def test_a_broken_resume_file_is_reported(module: Any) -> None:
    Path("broken.json").write_text("{")
    said = run(f"verify {module.__name__}:employees --resume broken.json")
    assert said.exit_code == 2
    assert "it is not a resume file" in said.stderr


def test_the_version_is_printed() -> None:
    assert run("--version").stdout.startswith("tablepatterns ")


def test_the_account_of_a_module_outlives_a_command(module: Any) -> None:
    run(f"verify {module.__name__}:employees")
    with connect(f"memory://{module.__name__}") as storage:
        assert [table.name for table in storage.tables.list_tables()] == ["Employees"]
