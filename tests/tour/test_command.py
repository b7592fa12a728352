"""The command of the tour: it answers every question, and leaves an account as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from uuid import uuid4

import pytest
from examples.tour import data, visit
from examples.tour.__main__ import main
from examples.tour.questions import QUESTIONS
from typer.testing import CliRunner, Result

from tablepatterns import connect
from tablepatterns.connection import CONNECTION_VARIABLE
from tablepatterns.extras import how_to_install

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


def test_the_tour_answers_every_question_and_leaves_nothing_behind(account: str) -> None:
    said = run("--storage", account, "--days", "1")
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
    command = [sys.executable, "-m", "examples.tour", "--days", "1"]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR")}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    lines = done.stdout.decode().splitlines()
    assert done.stderr == b""
    assert all(line.isprintable() and len(line) <= 100 for line in lines)


def test_tables_are_kept_where_that_is_asked_for(account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit, "load", lambda *_: None)
    said = run("--storage", account, "--keep")
    assert said.exit_code == 0, said.output
    assert "there is no such flight" in said.output
    assert "The tables are kept." in said.output
    assert tables_of(account) == ["Airports", "Flights", "Planes"]


def test_a_tour_that_breaks_off_deletes_its_tables(account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        assert len(tables_of(account)) == 3
        raise KeyboardInterrupt

    monkeypatch.setattr(visit, "load", fail)
    assert run("--storage", account).exit_code == 130
    assert tables_of(account) == []


def test_a_tour_touches_no_table_that_was_there_before(account: str) -> None:
    with connect(account) as storage:
        storage.tables.create_table("Planes")
        storage.tables.get_table_client("Planes").create_entity({"PartitionKey": "p", "RowKey": "r"})
        said = run("--storage", account)
        assert said.exit_code == 1
        assert "already exists" in said.output
        assert len(list(storage.tables.get_table_client("Planes").list_entities())) == 1
    assert tables_of(account) == ["Planes"]


def test_an_unknown_storage_is_rejected_with_what_is_accepted() -> None:
    said = run("--storage", "nowhere")
    assert said.exit_code == 1
    assert "'nowhere'" in said.output
    assert '"azurite", "env", a connection string' in said.output


def test_an_environment_without_an_account_is_rejected_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONNECTION_VARIABLE, raising=False)
    said = run("--storage", "env")
    assert said.exit_code == 1
    assert CONNECTION_VARIABLE in said.output


def test_an_account_that_does_not_answer_is_said_so_without_its_key() -> None:
    said = run("--storage", UNUSED_PORT)
    assert said.exit_code == 1
    assert "docker compose up" in said.output
    assert "c2VjcmV0" not in said.output


def test_missing_flights_are_named_before_anything_is_made(account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "find_spec", lambda name: None)
    said = run("--storage", account)
    assert said.exit_code == 1
    assert how_to_install("tour") in said.output
    assert tables_of(account) == []


@pytest.mark.nightly
def test_the_tour_runs_on_azurite_where_no_examined_figure_is_invented(azurite: str) -> None:
    before = tables_of(azurite)
    said = run("--storage", azurite, "--days", "1")
    assert said.exit_code == 0, said.output
    assert "163 flights, 36 of them more than 15 min late" in said.output
    assert "- the service does not report" in said.output
    assert tables_of(azurite) == before
