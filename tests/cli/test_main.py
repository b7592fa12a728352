"""The command line shows where to start, does not change an account, and fails with clear messages."""

from __future__ import annotations

import ast
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.progress import TextColumn
from typer.testing import CliRunner, Result

import tablepatterns
from tablepatterns import connect
from tablepatterns.cli.main import main
from tablepatterns.cli.output import console, progress_bars, shows_progress
from tablepatterns.extras import how_to_install
from tablepatterns_engine import serving
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import Listeners

SECONDS_TO_STOP = 4
ANY_PORTS = ("--table-port", "0", "--queue-port", "0", "--blob-port", "0")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def tables_of(target: str) -> list[str]:
    with connect(target) as storage:
        return [table.name for table in storage.tables.list_tables()]


@pytest.mark.parametrize(
    "arguments",
    [["design", "--from-table", "T", "--storage", "nowhere"], ["serve", "--account", "A"], ["patterns", "no"]],
)
def test_an_error_is_printed_with_where_to_read_more(arguments: list[str]) -> None:
    said = run(*arguments)
    assert said.exit_code > 0
    assert said.stderr.splitlines()[-1].startswith("(more: tablepatterns help Bad")


def test_the_command_alone_says_where_to_begin() -> None:
    said = run()
    assert said.exit_code == 0
    assert "tablepatterns review design.toml" in said.output
    assert max(map(len, said.output.splitlines())) <= 100


@pytest.fixture
def served() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves an account, and the connection string that it printed.

    The package run as a module is the command.
    """
    command = [sys.executable, "-m", "tablepatterns", "serve", *ANY_PORTS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process, next(line.strip() for line in process.stdout if line.startswith("DefaultEndpointsProtocol"))
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_served_account_answers_until_a_signal_comes(
    served: tuple[subprocess.Popen[str], str], number: signal.Signals
) -> None:
    process, connection_string = served
    with connect(connection_string) as storage:
        storage.tables.create_table("Employees")
        assert tables_of(connection_string) == ["Employees"]
        process.send_signal(number)
        # The storage's connection is still open, and no reason to wait
        _, complaints = process.communicate(timeout=SECONDS_TO_STOP)
    assert (process.returncode, complaints) == (0, "")


def test_serving_to_other_machines_is_rejected_with_the_reason_and_the_option() -> None:
    said = run("serve", "--host", "0.0.0.0", *ANY_PORTS)  # noqa: S104
    assert said.exit_code == 2
    assert "whose key is published" in said.output
    assert "--anywhere" in said.output


def test_a_port_that_is_taken_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = str(server.getsockname()[1])
        said = run("serve", *ANY_PORTS, "--table-port", taken)
    assert said.exit_code == 1
    assert taken in said.output


def test_a_served_account_keeps_versions_of_blobs_if_told(monkeypatch: pytest.MonkeyPatch) -> None:
    engines: list[Engine] = []

    def answer(engine: Engine, listeners: Listeners) -> None:
        engines.append(engine)
        listeners.close()

    monkeypatch.setattr(serving, "serve", answer)
    assert run("serve", *ANY_PORTS).exit_code == 0
    assert run("serve", *ANY_PORTS, "--keep-blob-versions").exit_code == 0
    assert [engine.keep_blob_versions for engine in engines] == [False, True]


def test_a_missing_server_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("serving", "server.connection"):
        monkeypatch.delitem(sys.modules, f"tablepatterns_engine.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "h11", None)
    said = run("serve", *ANY_PORTS)
    assert said.exit_code == 1
    assert how_to_install("serve") in said.output


def test_a_command_loads_no_module_of_another_one() -> None:
    code = """
import sys
from tablepatterns.cli.main import main
main(["patterns", "log_tail"], standalone_mode=False)
print(sorted(name for name in sys.modules if name.startswith(("tablepatterns", "azure.storage", "rich.progress"))))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(ended.stdout.splitlines()[-1])
    assert "tablepatterns.cli.patterns" in loaded
    others = ("cli.maintenance", "entity_set", "recipes", "storage")
    assert [name for name in loaded if name.removeprefix("tablepatterns.").startswith(others)] == []
    assert [name for name in loaded if name.startswith(("tablepatterns_", "azure.storage"))] == []


def test_a_command_without_its_extra_names_it_and_the_help_lists_all(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = re.findall(r"^  ([a-z-]+)  ", run("--help").output, re.MULTILINE)
    for module in [name for name in sys.modules if name.startswith("tablepatterns_review")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "annotated_types", None)
    for command in ("explain", "review", "mcp"):
        said = run(command, "--json")
        assert (said.exit_code, how_to_install("review") in json.loads(said.stdout)["error"]["message"]) == (1, True)
    assert re.findall(r"^  ([a-z-]+)  ", run("--help").output, re.MULTILINE) == everything


def test_a_misspelled_command_gets_a_suggestion() -> None:
    said = run("reveiw")
    assert (said.exit_code, "Did you mean 'review'" in said.output) == (2, True)


@pytest.mark.parametrize(
    ("is_terminal", "environment", "is_shown"),
    [
        (True, {}, True),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, False),
        (True, {"TTY_COMPATIBLE": "0"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, environment: dict[str, str], is_shown: bool
) -> None:
    stderr = StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", stderr)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm"} | environment).items():
        monkeypatch.setenv(name, value)
    with progress_bars(TextColumn("reading")) as bars:
        bars.add_task("")
    assert ("reading" in stderr.getvalue()) is is_shown
    assert shows_progress(console(stderr=True)) is is_shown


def test_all_progress_is_shown_by_the_same_check() -> None:
    checks = re.compile(r"stderr\.isatty|is_terminal|rich\.progress import .*\bProgress\b")
    sources = Path(tablepatterns.__file__).parents[1].rglob("*.py")
    assert [path.name for path in sources if checks.search(path.read_text(encoding="utf-8"))] == ["output.py"]
