"""`tablepatterns worker` processes messages until a signal, and then exits cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.queue_workers import message
from tablepatterns import connect
from tablepatterns.cli.main import main
from tablepatterns.recipes.worker import stop_on_signals
from tablepatterns_engine.account import Engine
from tablepatterns_engine.serving import serving

SECONDS = 20
MODULE = """
import os
from tablepatterns import {connecting}
from tablepatterns.recipes.eventual_transaction import EventualTransaction
from tablepatterns.recipes.worker import Worker

{define}
def slow(body):
    print("begun", flush=True)
    for line in open(os.environ["GO"]):
        pass

def make():
    storage = connect("env")
    return Worker(storage, [
        EventualTransaction(storage, "greetings", "greet", [greet]),
        EventualTransaction(storage, "slow", "slow", [slow]),
    ])

{more}
not_a_worker = 7
"""
SYNC = """
def greet(body):
    print("hello", body["Name"], flush=True)
"""
AIO = """
async def greet(body):
    print("hello", body["Name"], flush=True)
"""


@pytest.fixture
def served() -> Iterator[str]:
    with serving(Engine()) as connection_string:
        yield connection_string


@pytest.fixture(params=["sync", "aio"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a module that has workers, sync or async."""
    is_sync = request.param == "sync"
    parts = {
        "connecting": "connect" if is_sync else "aio\nfrom tablepatterns.aio import connect",
        "define": SYNC if is_sync else AIO,
        "more": "worker = make()",
    }
    (tmp_path / "app.py").write_text(MODULE.format(**parts))
    os.mkfifo(tmp_path / "go")
    return tmp_path


@contextmanager
def working(folder: Path, served: str, name: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "AZURE_STORAGE_CONNECTION_STRING": served, "GO": str(folder / "go")}
    command = [sys.executable, "-m", "tablepatterns.cli.main", "worker", name, *options]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


@pytest.mark.guide("G-142", "G-146")
@pytest.mark.parametrize(
    ("folder", "name", "number"),
    [
        ("sync", "app:worker", signal.SIGTERM),
        ("aio", "app:make", signal.SIGINT),
        pytest.param("sync", "app:make", signal.SIGINT, marks=pytest.mark.nightly),
        pytest.param("aio", "app:worker", signal.SIGTERM, marks=pytest.mark.nightly),
    ],
    indirect=["folder"],
)
def test_a_worker_handles_messages_until_a_signal_comes(
    folder: Path, served: str, name: str, number: signal.Signals
) -> None:
    with connect(served) as storage:
        greetings = storage.queues.create_queue("greetings")
        with working(folder, served, name) as process:
            assert line_of(process) == "working on greetings, slow; stop with Ctrl+C"
            greetings.send_message(message(Name="Jones"))
            assert line_of(process) == "hello Jones"
            process.send_signal(number)
            said, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, errors
        assert said.strip() == "stopped: 1 handled, 0 failed, 0 poisoned"
        assert "INFO tablepatterns.worker greetings" in errors
        assert "Jones" not in errors
        assert greetings.get_queue_properties().approximate_message_count == 0


@pytest.mark.parametrize("folder", ["sync", pytest.param("aio", marks=pytest.mark.nightly)], indirect=True)
def test_the_message_in_hand_is_finished_before_the_process_ends(folder: Path, served: str) -> None:
    with connect(served) as storage:
        slow = storage.queues.create_queue("slow")
        slow.send_message(message("slow"))
        with working(folder, served, "app:worker", "--log-level", "WARNING") as process:
            assert [line_of(process), line_of(process)] == ["working on greetings, slow; stop with Ctrl+C", "begun"]
            process.send_signal(signal.SIGTERM)
            # Only now may the step end
            (folder / "go").write_text("go\n")
            said, errors = process.communicate(timeout=SECONDS)
        assert (process.returncode, errors) == (0, "")
        assert said.strip() == "stopped: 1 handled, 0 failed, 0 poisoned"
        assert slow.get_queue_properties().approximate_message_count == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("idle_app", "it is not a module and a name"),
        ("nowhere:worker", "module 'nowhere' was not found"),
        ("idle_app:nobody", "idle_app has no attribute 'nobody'"),
        ("idle_app:not_a_worker", "it is of the type"),
    ],
)
def test_an_unknown_worker_is_rejected_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    (tmp_path / "idle_app.py").write_text("not_a_worker = 7\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    said = CliRunner().invoke(main, ["worker", name])
    assert said.exit_code == 2
    assert reason in said.output
    assert "tablepatterns help BadInput" in said.output


@pytest.mark.parametrize("folder", ["sync", pytest.param("aio", marks=pytest.mark.nightly)], indirect=True)
def test_an_account_that_rejects_ends_the_process_with_an_error(folder: Path, served: str) -> None:
    wrong = served.replace("AccountKey=", "AccountKey=AAAA")
    with working(folder, wrong, "app:worker") as process:
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert "Error: " in errors
    assert "Traceback" not in errors
    assert "AccountKey" not in errors


def test_an_unknown_log_level_is_rejected() -> None:
    said = CliRunner().invoke(main, ["worker", "app:worker", "--log-level", "LOUD"])
    assert said.exit_code == 2
    assert "DEBUG, INFO, WARNING, ERROR" in said.output


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let Ctrl+C raise: a shell that runs the tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_the_first_signal_asks_and_the_second_does_what_it_did_before() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stop_on_signals() as stopping:
        assert not stopping()
        signal.raise_signal(signal.SIGTERM)
        assert stopping()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
