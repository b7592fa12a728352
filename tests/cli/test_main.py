"""The command line shows where to start, does not change an account, and fails with clear messages."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from tablepatterns import connect
from tablepatterns.cli.main import main
from tablepatterns.connection import CONNECTION_VARIABLE
from tablepatterns.extras import how_to_install
from tablepatterns.tour import data, visit
from tablepatterns.tour.questions import QUESTIONS

SECONDS_TO_STOP = 4
ANY_PORTS = ("--table-port", "0", "--queue-port", "0", "--blob-port", "0")
UNUSED_PORT = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=c2VjcmV0;TableEndpoint=http://127.0.0.1:9/a;"
UNUSED_PORT += "QueueEndpoint=http://127.0.0.1:9/a;BlobEndpoint=http://127.0.0.1:9/a"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def tables_of(target: str) -> list[str]:
    with connect(target) as storage:
        return [table.name for table in storage.tables.list_tables()]


@pytest.fixture
def account() -> str:
    """An account in memory that outlives the command."""
    return f"memory://{uuid4().hex}"


@pytest.mark.parametrize(
    "arguments", [["tour", "--storage", "nowhere"], ["serve", "--account", "A"], ["patterns", "no"]]
)
def test_an_error_is_printed_with_where_to_read_more(arguments: list[str]) -> None:
    said = run(*arguments)
    assert said.exit_code > 0
    assert said.stderr.splitlines()[-1].startswith("(more: tablepatterns help Bad")


def test_the_command_alone_says_where_to_begin() -> None:
    said = run()
    assert said.exit_code == 0
    assert "tablepatterns tour --storage azurite" in said.output
    assert max(map(len, said.output.splitlines())) <= 100


def test_the_tour_answers_every_question_and_leaves_nothing_behind(account: str) -> None:
    said = run("tour", "--storage", account, "--days", "1")
    assert said.exit_code == 0, said.output
    assert [question.words for question in QUESTIONS if question.words not in said.output] == []
    assert "163 flights, 36 of them more than 15 min late" in said.output
    assert "The tables are deleted." in said.output
    assert tables_of(account) == []
    # A pipe takes plain text
    assert said.stderr == ""
    assert all(line.isprintable() and len(line) <= 100 for line in said.stdout.splitlines())


@pytest.mark.nightly
def test_the_tour_prints_plain_text_into_a_pipe() -> None:
    command = [sys.executable, "-m", "tablepatterns.cli.main", "tour", "--days", "1"]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR")}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    lines = done.stdout.decode().splitlines()
    assert done.stderr == b""
    assert all(line.isprintable() and len(line) <= 100 for line in lines)


def test_tables_are_kept_where_that_is_asked_for(account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit, "load", lambda *_: None)
    said = run("tour", "--storage", account, "--keep")
    assert said.exit_code == 0, said.output
    assert "there is no such flight" in said.output
    assert "The tables are kept." in said.output
    assert tables_of(account) == ["Airports", "Flights", "Planes"]


def test_a_tour_that_breaks_off_deletes_its_tables(account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        assert len(tables_of(account)) == 3
        raise KeyboardInterrupt

    monkeypatch.setattr(visit, "load", fail)
    assert run("tour", "--storage", account).exit_code == 130
    assert tables_of(account) == []


def test_a_tour_touches_no_table_that_was_there_before(account: str) -> None:
    with connect(account) as storage:
        storage.tables.create_table("Planes")
        storage.tables.get_table_client("Planes").create_entity({"PartitionKey": "p", "RowKey": "r"})
        said = run("tour", "--storage", account)
        assert said.exit_code == 1
        assert "already exists" in said.output
        assert len(list(storage.tables.get_table_client("Planes").list_entities())) == 1
    assert tables_of(account) == ["Planes"]


def test_an_unknown_storage_is_rejected_with_what_is_accepted() -> None:
    said = run("tour", "--storage", "nowhere")
    assert said.exit_code == 1
    assert "'nowhere'" in said.output
    assert '"azurite", "env", a connection string' in said.output


def test_an_environment_without_an_account_is_rejected_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONNECTION_VARIABLE, raising=False)
    said = run("tour", "--storage", "env")
    assert said.exit_code == 1
    assert CONNECTION_VARIABLE in said.output


def test_an_account_that_does_not_answer_is_said_so_without_its_key() -> None:
    said = run("tour", "--storage", UNUSED_PORT)
    assert said.exit_code == 1
    assert "docker compose up" in said.output
    assert "c2VjcmV0" not in said.output


def test_missing_flights_are_named_before_anything_is_made(account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "find_spec", lambda name: None)
    said = run("tour", "--storage", account)
    assert said.exit_code == 1
    assert how_to_install("tour") in said.output
    assert tables_of(account) == []


@pytest.mark.nightly
def test_the_tour_runs_on_azurite_where_no_examined_figure_is_invented(azurite: str) -> None:
    before = tables_of(azurite)
    said = run("tour", "--storage", azurite, "--days", "1")
    assert said.exit_code == 0, said.output
    assert "163 flights, 36 of them more than 15 min late" in said.output
    assert "- the service does not report" in said.output
    assert tables_of(azurite) == before


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
    assert said.exit_code == 1
    assert "whose key is published" in said.output
    assert "--anywhere" in said.output


def test_a_port_that_is_taken_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = str(server.getsockname()[1])
        said = run("serve", *ANY_PORTS, "--table-port", taken)
    assert said.exit_code == 1
    assert taken in said.output


def test_a_missing_server_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("server", "connection"):
        monkeypatch.delitem(sys.modules, f"tablepatterns_engine.server.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "h11", None)
    said = run("serve", *ANY_PORTS)
    assert said.exit_code == 1
    assert how_to_install("serve") in said.output
