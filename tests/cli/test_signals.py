"""A signal at any moment ends a command with a true report: what was done, and how to continue."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablepatterns import EntitySet, Key, connect
from tablepatterns_engine.account import Engine
from tablepatterns_engine.serving import serving

SECONDS = 30
ENTITIES = 120
MODULE = """
from tablepatterns import *
by_name = IntraPartitionIndex(Key("{Department}", "name_{Name}"), name="by_name")

def staff(storage):
    return EntitySet(storage, "Employees", Key("{Department}", "id_{EmployeeId:06d}"), derived=[by_name])

def worker():
    return Worker(connect("env"), {"greetings": [EventualTransaction(connect("env"), "greetings", "greet", [print])]})
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals cannot be sent to one process")


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """An account over HTTP, with employees without their index rows."""
    with serving(Engine()) as connection_string:
        with connect(connection_string) as storage:
            employees = EntitySet(storage, "Employees", Key("{Department}", "id_{EmployeeId:06d}"))
            for number in range(ENTITIES):
                employees.insert({"Department": "Sales", "EmployeeId": number, "Name": f"n{number}"})
        yield connection_string


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the application's module."""
    (tmp_path / "app.py").write_text(MODULE)
    return tmp_path


def begin(folder: Path, served: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "AZURE_STORAGE_CONNECTION_STRING": served}
    command = [sys.executable, "-m", "tablepatterns", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for_handlers(process: subprocess.Popen[str]) -> None:
    """Wait until the command handles SIGTERM, which Python itself does not, so that its start-up is not measured."""
    status = Path(f"/proc/{process.pid}/status")
    deadline = time.monotonic() + SECONDS
    while status.exists() and time.monotonic() < deadline:
        caught = re.search(r"^SigCgt:\s*(\w+)", status.read_text(), re.MULTILINE)
        if caught is not None and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.005)


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, str]:
    process.send_signal(number)
    output, errors = process.communicate(timeout=SECONDS)
    return process.returncode, output, errors


nightly = pytest.mark.nightly


@pytest.mark.parametrize("after", [0.0, 0.5, *(pytest.param(after, marks=nightly) for after in (0.2, 0.8, 1.2, 2.0))])
def test_sigterm_at_any_moment_ends_a_worker_gracefully(folder: Path, served: str, after: float) -> None:
    process = begin(folder, served, "worker", "app:worker", "--log-level", "ERROR")
    wait_for_handlers(process)
    time.sleep(after)
    assert ended(process, signal.SIGTERM)[::2] == (0, "")


def test_signals_are_handled_before_anything_else_is_imported() -> None:
    """Start-up takes up to a second; a worker that gets SIGTERM during it ends as at any other moment."""
    code = """
import sys
sys.argv = ["tablepatterns", "worker", "app:worker"]
loaded = set(sys.modules)
import signal, tablepatterns
loaded |= set(sys.modules)
handle = signal.signal
signal.signal = lambda *args: (print(sorted(set(sys.modules) - loaded)), handle(*args))
import tablepatterns.__main__
signal.raise_signal(signal.SIGTERM)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
    assert ended.stdout.splitlines()[:2] == ["['tablepatterns.__main__', 'tablepatterns.cli']"] * 2
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_signal_is_not_lost_where_python_drops_exceptions() -> None:
    code = """
import sys
sys.argv = ["tablepatterns", "verify"]
import signal, tablepatterns.cli
class Dropping:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
Dropping()
print("still runs", flush=True)
tablepatterns.cli.check_not_stopped()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
    assert (ended.stdout, ended.returncode) == ("still runs\n", 143)


INTERRUPTED = (signal.SIGINT, 130)
TERMINATED = (signal.SIGTERM, 143)


@pytest.mark.parametrize(
    ("work", "number", "status"),
    [
        ("verify", *INTERRUPTED),
        ("repair", *TERMINATED),
        pytest.param("backfill", *INTERRUPTED, marks=nightly),
        pytest.param("check", *TERMINATED, marks=nightly),
        pytest.param("verify", *TERMINATED, marks=nightly),
        pytest.param("repair", *INTERRUPTED, marks=nightly),
        pytest.param("backfill", *TERMINATED, marks=nightly),
        pytest.param("check", *INTERRUPTED, marks=nightly),
    ],
)
@pytest.mark.few(1)
def test_interrupted_work_says_what_was_done_and_is_resumed(
    folder: Path, served: str, work: str, number: signal.Signals, status: int
) -> None:
    """At 10 entities a second, pages are small, so that the first token comes after some seconds."""
    arguments = (work, "app:staff", "--storage", "env", "--max-per-second", "10", "--json")
    process = begin(folder, served, *arguments)
    resume = folder / f"tablepatterns-{work}.resume.json"
    deadline = time.monotonic() + SECONDS
    while not resume.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    code, output, errors = ended(process, number)
    assert code == status, errors
    error = json.loads(output)["error"]
    ((figures),) = error["done"].values()
    done = next(iter(figures.values()))
    assert 0 < done < ENTITIES
    assert error["resume"] == resume.name
    assert f"continue with --resume {resume.name}" in errors
    assert "Traceback" not in errors
    rest = subprocess.run(
        [sys.executable, "-m", "tablepatterns", work, *arguments[1:4], "--resume", resume.name, "--json"],
        cwd=folder,
        env={**os.environ, "AZURE_STORAGE_CONNECTION_STRING": served},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert "error" not in json.loads(rest.stdout), rest.stderr
    assert not resume.exists()


@pytest.mark.parametrize(
    ("number", "status", "after"),
    [
        (*INTERRUPTED, 0.9),
        (*TERMINATED, 0.0),
        *(pytest.param(*INTERRUPTED, after, marks=nightly) for after in (0.0, 0.4, 1.5)),
        *(pytest.param(*TERMINATED, after, marks=nightly) for after in (0.4, 0.9, 1.5)),
    ],
)
def test_a_signal_at_any_moment_leaves_no_traceback(
    folder: Path, served: str, number: signal.Signals, status: int, after: float
) -> None:
    process = begin(folder, served, "verify", "app:staff", "--storage", "env", "--max-per-second", "2")
    wait_for_handlers(process)
    time.sleep(after)
    code, output, errors = ended(process, number)
    assert (code, output) == (status, "")
    assert re.fullmatch(r"(Interrupted: .*\n)?", errors), errors
    # Before the first page nothing can be continued, and it says so
    assert not errors or "it is safe to run it again" in errors or "ended before it was done" in errors


def test_an_interrupted_command_does_not_warn_of_calls_it_had_not_started() -> None:
    program = """
import typer
from tablepatterns.cli.output import command

app = typer.Typer()

async def read(): ...

@command(app)
def walk():
    calls = [read(), read()]
    raise KeyboardInterrupt

app()
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS)
    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr == "Interrupted: the command ended before it was done\n"


def test_ctrl_c_is_sent_again_where_python_drops_its_exception() -> None:
    code = """
import sys
sys.argv = ["tablepatterns", "verify"]
import signal, time, tablepatterns.cli
signal.signal(signal.SIGINT, signal.default_int_handler)
class Dropping:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
Dropping()
print("still runs", flush=True)
try:
    time.sleep(20)
except KeyboardInterrupt:
    print("interrupted")
"""
    # It ends what the main thread waits for
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=15)
    assert (ended.stdout, ended.stderr) == ("still runs\ninterrupted\n", "")
