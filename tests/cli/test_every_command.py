"""What holds for every command: `--json`, dry runs, one set of exit codes, and escaped text of others."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime, timedelta, timezone
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from azure.storage.blob import generate_account_sas
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command
from typer.testing import CliRunner, Result

from tablepatterns import cli
from tablepatterns.cli.main import main
from tablepatterns.cli.output import console, printable
from tablepatterns.jobs import backfill
from tablepatterns_engine.serving import serving
from tablepatterns_transfer import TableTransfer

HOSTILE = "\u202e[red]\u200bx[]\u2066 [link=a]:smile:"
"""What a key may hold: bidirectional and zero-width characters, and markup."""
WORSE = "\x1b]0;owned\x07\x1b[2J\r\x9b31m" + HOSTILE
"""What a property, a message and a header may hold."""
MODULE = """
from dataclasses import dataclass
from datetime import timedelta
from tablepatterns import *

storage = connect({account!r})
by_email = InterPartitionIndex(Key("email_{{Department}}", "{{Email}}"), name="by_email")
by_name = IntraPartitionIndex(Key("empid_{{Department}}", "name_{{Name}}"), name="by_name")
key = Key("empid_{{Department}}", "id_{{EmployeeId:06d}}")

@dataclass
class Employee:
    Department: str
    EmployeeId: int
    Email: str
    FullName: str

def one_to_two(fields):
    return fields | {{"FullName": fields.pop("Name")}}

plain = EntitySet(storage, "Employees", key)
employees = EntitySet(storage, "Employees", key, derived=[by_email, by_name])
people = EntitySet(storage, "Employees", key, model=Employee, versions=[(1, one_to_two)])
worker = Worker(storage, [employees.reconciler()], max_deliveries=1)
old, new = LocalKey("old", bytes(32)), LocalKey("new", bytes(range(32)))
before = EntitySet(storage, "Paid", Key("{{Name}}", "row"), mappings=[EncryptedProperties(["Salary"], keys=old)])
paid = EntitySet(storage, "Paid", Key("{{Name}}", "row"), mappings=[EncryptedProperties(["Salary"], keys=[new, old])])
photos = EntitySet(storage, "Photos", Key("{{Name}}", "row"), mappings=[LargeProperties(["Photo"], container="photos")])
logins = PeriodTables(
    storage, "Logins", Period.DAY, factory=lambda on, table: EntitySet(on, table, Key("{{User}}", "{{At:ticks}}")),
    retention=timedelta(days=30),
)
source = EntitySet(storage, "Old", Key("{{Department}}", "{{EmployeeId:06d}}"))
move = Rekey(source, EntitySet(storage, "New", Key("{{Email}}", "employee")))
"""
CHANGING = {
    "repair {app}:employees": [],
    "backfill {app}:employees": [],
    "migrate {app}:people": [],
    "rotate {app}:paid": [],
    "collect-orphans {app}:photos --grace-hours 0": [],
    "bulk-delete {app}:plain --where Note{sp}ne{sp}''": ["--yes"],
    "drop-expired {app}:logins": ["--yes"],
    "poison requeue {app}:worker": [],
    "poison drop {app}:worker": ["--yes"],
    "import {saved} --to Restored --storage {account}": [],
    "rekey copy {app}:move": [],
    "rekey repair {app}:move": [],
    "rekey cut-over {app}:move": [],
    "rekey roll-back {app}:move": [],
    "rekey commit {app}:move": ["--yes"],
    "rekey clean-up {app}:move": [],
}
READING = [
    "verify {app}:employees",
    "check {app}:people",
    "count {app}:employees --by-partition",
    "count Employees --storage {account}",
    "status {app}",
    "poison list {app}:worker",
    "poison show {app}:worker {poison}",
    "rekey status {app}:move",
    "rekey verify {app}:move",
    "traffic PT1H.json",
    "explain {filter}",
    "explain Age",
    "explain Age{sp}gt{sp}3",
    "patterns",
    "patterns log_tail",
    "help",
    "help BadKey",
    "review design.toml --fail-on never",
    "design --from-table Employees --storage {account}",
    "export Employees --to {folder} --storage {account}",
    "compare {saved} Old --storage {account}",
]
ALONE = ("mcp", "serve", "worker")
"""Commands that run until a signal or the end of their input; other tests start them."""
DESIGN = """
name = "Staff"
[[set]]
name = "Employees"
key = {partition = "{Department}", row = "{EmployeeId:06d}"}
count = 10
[set.fields]
Department = { size = 10 }
EmployeeId = { type = "int32" }
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module whose account holds hostile text in keys, properties, messages and logs."""
    name = f"app_{uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(account=f"memory://{name}"), "utf-8")
    (tmp_path / "design.toml").write_text(DESIGN, "utf-8")
    uri = f"https://contoso.table.core.windows.net/T{WORSE}(PartitionKey='{WORSE}',RowKey='r')"
    record = {"time": "2026-11-01T09:30:00Z", "operationName": "QueryEntity", "statusText": WORSE, "uri": uri}
    (tmp_path / "PT1H.json").write_text(json.dumps(record | {"properties": {"userAgentHeader": WORSE}}), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    app = __import__(name)
    fields = {"Department": HOSTILE, "Email": HOSTILE, "Name": HOSTILE}
    for number in range(3):
        app.plain.insert(fields | {"EmployeeId": number, "Note": WORSE})
        app.source.insert(fields | {"EmployeeId": number})
    table = app.storage.tables.get_table_client("Employees")
    table.create_entity({"PartitionKey": HOSTILE, "RowKey": HOSTILE})
    table.create_entity({"PartitionKey": f"empid_{HOSTILE}", "RowKey": "id_000009", "ModelVersion": WORSE})
    app.before.insert({"Name": HOSTILE, "Salary": 1})
    TableTransfer(app.storage, "Employees").export("saved")
    app.photos.insert({"Name": HOSTILE, "Photo": bytes(100_000)})
    app.photos.delete(app.photos.get(Name=HOSTILE))
    app.logins.insert({"User": HOSTILE, "At": datetime.now(timezone.utc) - timedelta(days=29)})
    app.storage.engine.clock.advance(3 * 86_400)
    queue = app.storage.queues.create_queue(app.employees.reconciler().queue)
    queue.send_message(json.dumps({"kind": WORSE}))
    app.worker.run_once()
    app.storage.queues.create_queue(f"{queue.queue_name}-poison-none")
    yield app
    del sys.modules[name]


def words_of(app: Any, command: str) -> list[str]:
    places = {"{app}": app.__name__, "{account}": f"memory://{app.__name__}", "{filter}": f"{WORSE} eq", "{sp}": " "}
    places |= {"{saved}": "saved", "{folder}": uuid4().hex}
    words = []
    for word in command.split():
        for place, value in places.items():
            word = word.replace(place, value)
        words.append(app.worker.poisoned(app.worker.queues[0])[0].id if word == "{poison}" else word)
    return words


def run(app: Any, command: str, *options: str) -> Result:
    return CliRunner().invoke(main, [*words_of(app, command), *options])


def state_of(app: Any) -> dict[str, Any]:
    """Everything that the account stores."""
    storage = app.storage
    tables = {
        each.name: list(map(dict, storage.tables.get_table_client(each.name).list_entities()))
        for each in storage.tables.list_tables()
    }
    names = [each.name for each in storage.queues.list_queues()]
    queues = {name: storage.queues.get_queue_client(name).peek_messages(32) for name in names}
    blobs = {
        each.name: [blob.name for blob in storage.blobs.get_container_client(each.name).list_blobs()]
        for each in storage.blobs.list_containers()
    }
    return {
        "tables": {name: rows for name, rows in tables.items() if name != "Rekeys" and rows},
        "queues": {name: [message.content for message in messages] for name, messages in queues.items() if messages},
        "blobs": blobs,
    }


def commands(group: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by its name."""
    group = group or get_command(main)
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} ")
        else:
            yield f"{prefix}{name}", command


def test_the_tests_walk_all_commands() -> None:
    walked = [each.split(" {")[0] for each in (*CHANGING, *READING)]
    missing = {name for name, _ in commands() if not any(f"{each} ".startswith(f"{name} ") for each in walked)}
    assert missing == set(ALONE)


def test_every_command_takes_json_and_every_change_a_dry_run() -> None:
    parameters = {name: [parameter.name for parameter in command.params] for name, command in commands()}
    assert [name for name, own in parameters.items() if "as_json" not in own] == []
    changing = {each.split(" {")[0] for each in CHANGING}
    assert {name for name, own in parameters.items() if "dry_run" in own} == changing
    asking = {"bulk-delete", "drop-expired", "poison drop", "rekey commit"}
    assert {name for name, own in parameters.items() if "yes" in own} == asking


def check_json(result: Result) -> None:
    """Check that standard output is one JSON document."""
    assert isinstance(json.loads(result.stdout), (dict, list)), result.output
    assert "Traceback" not in result.stderr


def check_text(result: Result) -> None:
    """Check that no text of others changes the terminal."""
    for output in (result.stdout, result.stderr):
        assert all(line.isprintable() for line in output.split("\n")), output
    assert not isinstance(result.exception, (UnicodeError, ValueError)), result.exception


@pytest.mark.parametrize("command", READING)
@pytest.mark.few(10)
def test_a_command_that_reads_prints_printable_text_or_one_json_document_with_one_status(
    module: Any, command: str
) -> None:
    as_json, as_text = run(module, command, "--json"), run(module, command)
    check_json(as_json)
    check_text(as_text)
    assert as_text.exit_code == as_json.exit_code


@pytest.mark.parametrize("command", CHANGING)
def test_a_command_that_changes_something_prints_one_json_document(module: Any, command: str) -> None:
    check_json(run(module, command, *CHANGING[command], "--json"))


@pytest.mark.parametrize("command", CHANGING)
def test_a_command_that_changes_something_prints_printable_text(module: Any, command: str) -> None:
    check_text(run(module, command, *CHANGING[command]))


def test_markup_in_text_of_others_is_shown(module: Any) -> None:
    assert "[red]\\u200bx[]\\u2066 [link=a]:smile:" in run(module, "verify {app}:employees").stdout
    assert "[red]\\u200bx[]\\u2066 [link=a]:smile:" in run(module, "check {app}:people").stdout


@given(st.text())
def test_text_of_any_kind_is_printable(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
    assert not text.isprintable() or printable(text) == text


@given(st.text(max_size=20))
def test_a_console_escapes_whatever_is_printed_in_any_renderable(text: str) -> None:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    out = StringIO()
    table = Table("title")
    table.add_row(Text(text))
    console(file=out).print(Group(Text(text), table), text)
    assert all(line.isprintable() for line in out.getvalue().split("\n"))


@pytest.mark.parametrize("command", CHANGING)
def test_a_dry_run_changes_nothing(module: Any, command: str) -> None:
    module.move.status()
    before = state_of(module)
    dry = run(module, command, "--dry-run", "--json")
    assert dry.exit_code in (0, 1), dry.output
    assert "error" not in json.loads(dry.stdout)
    assert state_of(module) == before


@pytest.mark.parametrize(
    "command", ["drop-expired {app}:logins", "poison drop {app}:worker", "rekey commit {app}:move"]
)
def test_what_loses_something_is_rejected_without_a_terminal_and_without_yes(module: Any, command: str) -> None:
    before = state_of(module)
    result = run(module, command)
    assert result.exit_code == 1
    assert "--yes" in result.stderr
    assert state_of(module) == before


@pytest.mark.parametrize(
    "command",
    [
        "verify {app}:nothing",
        "check {app}:worker",
        "worker {app}:nothing",
        "worker {app}:worker --log-level LOUD",
        "status nothing",
        "poison drop {app}:worker other --yes",
        "poison list {app}:worker --queue other",
        "rekey copy {app}:nothing",
        "serve --account A",
        "patterns no",
        "help no",
        "explain (",
        "traffic nothing",
        "review nothing.toml",
        "review",
        "design",
    ],
)
def test_a_wrong_command_has_the_status_2_and_its_error_as_json(module: Any, command: str) -> None:
    for options in ((), ("--json",)):
        result = run(module, command, *options)
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith("Error: ")
    assert set(json.loads(result.stdout)["error"]) >= {"type", "message", "help"}


def test_a_message_is_requeued_or_dropped_by_its_id(module: Any) -> None:
    queue = module.worker.queues[0]
    module.storage.queues.get_queue_client(f"{queue}-poison").send_message("another program's")
    first, second = (note["id"] for note in json.loads(run(module, "poison list {app}:worker --json").stdout))
    assert json.loads(run(module, f"poison drop {{app}}:worker {second} --queue {queue} --yes --json").stdout) == {
        "deleted": {queue: 1}
    }
    left = [note["id"] for note in json.loads(run(module, "poison list {app}:worker --json").stdout)]
    assert left == [first]
    assert json.loads(run(module, f"poison requeue {{app}}:worker {first} --json").stdout) == {"requeued": {queue: 1}}


def test_rows_that_do_not_fit_are_all_reported(module: Any) -> None:
    result = run(module, "check {app}:people --json --max-per-second 1000")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (found["rows"], found["entities"], found["earlier_versions"]) == (5, 4, 3)
    reasons = {tuple(each["row"]): each["reason"] for each in found["misfits"]}
    assert set(reasons) == {(HOSTILE, HOSTILE), (f"empid_{HOSTILE}", "id_000009")}
    assert "ModelVersion" in reasons[f"empid_{HOSTILE}", "id_000009"]
    backfill(module.employees, module.by_name)
    # Its derived rows and those of other sets belong in the table
    assert json.loads(run(module, "check {app}:employees --json").stdout)["rows"] > 5
    assert [each["row"] for each in json.loads(run(module, "check {app}:employees --json").stdout)["misfits"]] == [
        [HOSTILE, HOSTILE]
    ]


def run_to(stream: Any, app: Any, command: str, *options: str) -> int:
    """Run a command whose standard output is a file; return its exit status."""
    own, sys.stdout = sys.stdout, stream
    try:
        main([*words_of(app, command), *options], prog_name="tablepatterns")
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.stdout = own
    raise AssertionError(command)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /dev/full")
def test_output_that_cannot_be_written_ends_every_command_with_one_line_and_a_status_of_its_own(
    module: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    # With --json, each command prints its result or its error to standard output
    documents = [f"{command} --json" for command in (*READING, *CHANGING)]
    for command in ("--version", "--help", "", "review design.toml --fail-on never", *documents):
        options = CHANGING.get(command.removesuffix(" --json"), ())
        # Each line is written at once, while the command runs, as those of a long text are
        with open("/dev/full", "w", 1, encoding="utf-8") as full:
            assert run_to(full, module, command, *options) == 3, command
        assert capfd.readouterr().err.endswith("Error: the output cannot be written: No space left on device\n"), (
            command
        )
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "w", 1, encoding="utf-8") as closed:
            assert run_to(closed, module, command, *options) == 1, command
        assert "rror" not in capfd.readouterr().err, command


WALKS = ("verify", "check", "count", "repair", "backfill", "migrate", "rotate", "collect-orphans", "bulk-delete")
WALKS_OF_MOVES = ("rekey copy", "rekey verify", "rekey repair")


def run_interrupted(calls: int, *words: str) -> tuple[int, str]:
    """Run a command that gets SIGINT once it has called so many functions; return its status and standard error."""
    left, errors = calls, StringIO()

    def count(_: object, event: str, __: object) -> None:
        nonlocal left
        left -= event == "call"
        if not left:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    with redirect_stdout(StringIO()), redirect_stderr(errors):
        sys.setprofile(count)
        try:
            main(words, prog_name="tablepatterns")
        except SystemExit as ended:
            return int(ended.code or 0), errors.getvalue()
        finally:
            sys.setprofile(None)
    raise AssertionError(words)


@pytest.fixture
def as_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Handle signals as the process of a command does."""
    monkeypatch.setattr(cli, "_received", [])
    monkeypatch.setattr(sys, "unraisablehook", cli.repeat_dropped_interrupt)
    own = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, own)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 22))])
@pytest.mark.usefixtures("as_process")
def test_ctrl_c_at_any_moment_ends_every_command_without_a_traceback_and_it_is_continued(
    module: Any, tmp_path: Path, seed: int
) -> None:
    chance, interrupted, resumed = random.Random(seed), 0, 0
    table = module.storage.tables.get_table_client("Employees")
    # It ends a migration with an error
    table.delete_entity({"PartitionKey": f"empid_{HOSTILE}", "RowKey": "id_000009"})
    for command in (*READING, *CHANGING):
        # Pages of one row, so that some are done
        is_walk = command.startswith((*WALKS, *WALKS_OF_MOVES))
        options = [*CHANGING.get(command, ()), *(["--max-per-second", "0.1"] if is_walk else [])]
        words = words_of(module, command)
        signal.signal(signal.SIGINT, cli.stop)
        status, errors = run_interrupted(int(10 ** chance.uniform(2 + is_walk, 4.3)), *words, *options)
        cli._received.clear()
        assert "Traceback" not in errors, command
        if status != 130:
            assert status in (0, 1, 2), (command, errors)
            continue
        interrupted += 1
        for file in tmp_path.glob("*.resume.json"):
            assert f"continue with --resume {file.name}" in errors, command
            options += ["--resume", file.name]
            resumed += 1
        again = CliRunner().invoke(main, [*words, *options])
        # A wrong filter, an export that was done, and steps of a move that are not due
        is_rejected = command.startswith(("explain", "export", "rekey"))
        assert again.exit_code in (0, 1) or is_rejected, (command, again.output)
        assert not list(tmp_path.glob("*.resume.json")), command
    assert interrupted > 10
    assert resumed or seed > 1


RIGHTS = "rwdlacup"


@pytest.mark.parametrize(
    "lacking", [letter if letter in "rd" else pytest.param(letter, marks=pytest.mark.nightly) for letter in RIGHTS]
)
def test_a_sas_that_lacks_a_right_ends_every_command_that_needs_it_without_a_traceback(
    module: Any, tmp_path: Path, lacking: str
) -> None:
    engine, name, rejected = module.storage.engine, f"sas_{uuid4().hex}", 0
    rights = RIGHTS.replace(lacking, "")
    expiry = datetime.now(timezone.utc) + timedelta(days=30)
    sas = generate_account_sas(engine.account_name, engine.account_key, "sco", rights, expiry, services="tqb")
    with serving(engine) as connection_string:
        urls = [part for part in connection_string.split(";") if "Endpoint=" in part]
        account = ";".join([*urls, f"SharedAccessSignature={sas}"])
        (tmp_path / f"{name}.py").write_text(MODULE.format(account=account), "utf-8")
        for command in (*READING, *CHANGING):
            own = f"memory://{module.__name__}"
            words = [account if word == own else word for word in words_of(module, command)]
            # A command closes the connection of its module
            sys.modules.pop(name, None)
            first = len(engine.ledger.records)
            words = [word.replace(module.__name__, name) for word in words]
            result = CliRunner().invoke(main, [*words, *CHANGING.get(command, ())])
            is_rejected = any(record.status == 403 for record in list(engine.ledger.records)[first:])
            lines = [text for text in result.stderr.splitlines() if "using this permission" in text]
            # The status of a transaction is that of the whole request
            assert lines or not is_rejected, (command, result.output)
            assert "Traceback" not in result.stderr, command
            assert result.exit_code == 1 or not lines, (command, result)
            rejected += len(lines)
            assert sas not in result.output
    del sys.modules[name]
    assert rejected or lacking in "cw"
