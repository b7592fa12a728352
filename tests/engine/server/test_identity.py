"""The served account: any name, and a key that is never shown."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from azure.core.exceptions import ClientAuthenticationError
from typer.testing import CliRunner

from tablepatterns import connect
from tablepatterns.cli.main import main
from tablepatterns.errors import BadInput
from tablepatterns_engine.account import DEVELOPMENT_KEY
from tablepatterns_engine.server.listeners import KEY_VARIABLE, engine_of

KEY = "bXkgb3duIGtleQ=="
ANY_PORTS = ("--table-port", "0", "--queue-port", "0", "--blob-port", "0")


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What a process prints that serves the account contoso with a key of its own; it ends with the test."""
    command = [sys.executable, "-m", "tablepatterns.cli.main", "serve", *ANY_PORTS, "--account", "contoso"]
    environment = {**os.environ, KEY_VARIABLE: KEY}
    said: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            assert process.stdout
            while not said or not said[-1].startswith("Stop it"):
                said.append(next(process.stdout).strip())
            yield said
        finally:
            process.kill()


def test_the_account_answers_to_its_name_and_key_and_shows_no_key(lines: list[str]) -> None:
    printed = next(line for line in lines if line.startswith("DefaultEndpointsProtocol"))
    assert KEY not in "\n".join(lines)
    with connect(printed.replace(f"${{{KEY_VARIABLE}}}", KEY)) as storage:
        assert storage.tables.account_name == "contoso"
        storage.tables.create_table("Employees")
        storage.queues.create_queue("orders")
        storage.blobs.create_container("photos")
    published = printed.replace(f"${{{KEY_VARIABLE}}}", DEVELOPMENT_KEY)
    with connect(published, retry_total=0) as storage, pytest.raises(ClientAuthenticationError):
        storage.tables.create_table("Payroll")


@pytest.mark.parametrize("name", ["abc", "devstoreaccount1", "a" * 24, "0x9"])
def test_a_name_has_3_to_24_small_letters_and_digits(name: str) -> None:
    assert engine_of(name, {}).account_name == name
    assert engine_of(name, {}).account_key == DEVELOPMENT_KEY


@pytest.mark.parametrize("name", ["", "ab", "a" * 25, "Contoso", "con-toso", "contoso\n", "é" * 3])
def test_no_other_name_is_an_account_s(name: str) -> None:
    with pytest.raises(BadInput, match="3 to 24"):
        engine_of(name, {})


@pytest.mark.parametrize("key", ["", "secret!", "c2VjcmV", "c2VjcmV0\n", "é"])
def test_what_is_no_key_is_rejected_and_not_repeated(key: str) -> None:
    said = CliRunner().invoke(main, ["serve", *ANY_PORTS], env={KEY_VARIABLE: key})
    assert said.exit_code == 2
    assert f"{KEY_VARIABLE} = '***': it must be Base64" in said.output
    assert not key.strip() or key.strip() not in said.output
