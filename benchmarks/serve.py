"""Requests per second over HTTP: `tablepatterns serve` and Azurite, with one client and with eight.

The clients send signed point reads over connections that stay open, and read each response to its end. They do not use
the SDK, which would take longer than either server.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from hmac import digest
from itertools import count
from pathlib import Path
from statistics import median
from threading import Thread
from urllib.parse import urlsplit

from azure.data.tables import TableServiceClient

from tablepatterns.connection import resolve

from .case import AZURITE
from .environment import environment

TARGETS = {1: 1.5, 8: 2}
"""How many times Azurite's requests per second `serve` should reach, by the number of clients."""
CLIENTS = tuple(TARGETS)
SERVE = "serve"
_ROWS = 100
_DATE = "Fri, 22 Aug 2014 00:00:00 GMT"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


@dataclass(frozen=True)
class Load:
    """How long each server is measured in each round, in seconds."""

    rounds: int
    seconds: float


FULL_SERVE = Load(rounds=30, seconds=0.5)
QUICK_SERVE = Load(rounds=1, seconds=0.1)


@dataclass
class Rates:
    """The measurements of one server with one number of clients, a value for each round.

    :param per_second: requests per second
    :param p99: the 99th percentile of the response time, in seconds
    """

    per_second: list[float] = field(default_factory=list[float])
    p99: list[float] = field(default_factory=list[float])


@dataclass
class ServeResults:
    """The results by number of clients and by server."""

    environment: dict[str, str]
    load: Load
    rates: dict[int, dict[str, Rates]]

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def ratio(self, clients: int) -> float | None:
        """Return how many times Azurite's requests per second `serve` reaches, the median of the rounds."""
        found = self.rates[clients]
        if AZURITE not in found:
            return None
        pairs = zip(found[SERVE].per_second, found[AZURITE].per_second, strict=True)
        return median(ours / theirs for ours, theirs in pairs)


def read_serve(path: Path) -> ServeResults:
    found = json.loads(path.read_text(encoding="utf-8"))
    rates = {
        int(clients): {server: Rates(**each) for server, each in by_server.items()}
        for clients, by_server in found["rates"].items()
    }
    return ServeResults(found["environment"], Load(**found["load"]), rates)


def measure_serve(load: Load, azurite: str | None) -> ServeResults:
    """Return the rates; the servers take turns.

    :param azurite: the connection string of an Azurite, None to leave it out
    """
    machine = environment()
    with _serve() as ours:
        servers = {SERVE: _prepared(ours), **({AZURITE: _prepared(azurite)} if azurite else {})}
        rates = {clients: {name: Rates() for name in servers} for clients in CLIENTS}
        for server in servers.values():
            _run(server, 1, load.seconds)
        for _ in range(load.rounds):
            for clients, by_server in rates.items():
                for name, each in by_server.items():
                    times = sorted(_run(servers[name], clients, load.seconds))
                    each.per_second.append(round(len(times) / load.seconds, 1))
                    each.p99.append(round(times[int(len(times) * 0.99)], 6))
    return ServeResults(machine, load, rates)


def report(results: ServeResults) -> str:
    """Return the page."""
    lines = [
        "# Requests per second of `tablepatterns serve`",
        "",
        "`make bench` writes this page. Clients in one process send signed point reads over open connections, and the",
        "servers take turns. Figures are medians of the rounds; ratios compare the same round. p99 is the 99th",
        "percentile of the response time.",
        "",
        "| clients | server | requests per second | p99 | times Azurite |",
        "| --- | --- | --- | --- | --- |",
    ]
    for clients, by_server in results.rates.items():
        for name, rates in by_server.items():
            ratio = results.ratio(clients) if name == SERVE else None
            times = "" if ratio is None else f"{ratio:.2f} (target {TARGETS[clients]})"
            figures = f"{median(rates.per_second):,.0f} | {median(rates.p99) * 1000:.1f} ms"
            lines.append(f"| {clients} | {name} | {figures} | {times} |")
    lines += ["", "## Environment", "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in results.environment.items()]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Server:
    port: int
    requests: Sequence[bytes]


@contextmanager
def _serve() -> Generator[str, None, None]:
    ports = [part for service in ("table", "queue", "blob") for part in (f"--{service}-port", "0")]
    command = [sys.executable, "-m", "tablepatterns", "serve", *ports]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield next(line.strip() for line in process.stdout if "TableEndpoint=" in line)
    finally:
        process.terminate()
        process.wait()


def _prepared(connection_string: str) -> _Server:
    """Create the entities, and sign a read of each."""
    with TableServiceClient.from_connection_string(connection_string) as service:
        table = service.create_table("Served")
        for row in range(_ROWS):
            table.create_entity({"PartitionKey": "Sales", "RowKey": f"{row:06}", "Name": "Don Hall", "Age": 34})
    found = resolve(connection_string)
    url, key = urlsplit(found.urls["table"]), found.credential.named_key
    requests = []
    for row in range(_ROWS):
        path = f"{url.path}/Served(PartitionKey='Sales',RowKey='{row:06}')"
        signed = digest(b64decode(key.key), f"{_DATE}\n/{key.name}{path}".encode(), "sha256")
        head = {
            "Host": url.netloc,
            "x-ms-date": _DATE,
            "x-ms-version": "2019-02-02",
            "Accept": "application/json;odata=minimalmetadata",
            "User-Agent": "azsdk-python-data-tables/12.7.0 Python/3.11.7",
            "x-ms-client-request-id": "5dc99334-e6b9-11f1-ab82-02fc00000001",
            "Authorization": f"SharedKeyLite {key.name}:{b64encode(signed).decode()}",
        }
        fields = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        requests.append(f"GET {path} HTTP/1.1\r\n{fields}\r\n".encode())
    return _Server(url.port or 80, requests)


def _run(server: _Server, clients: int, seconds: float) -> list[float]:
    """Return the time that each response took."""
    times: list[list[float]] = [[] for _ in range(clients)]
    threads = [Thread(target=_send, args=(server, each, seconds)) for each in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [time for each in times for time in each]


def _send(server: _Server, times: list[float], seconds: float) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.perf_counter() + seconds
        for number in count():
            start = time.perf_counter()
            if start > end:
                return
            connection.sendall(server.requests[number % _ROWS])
            _receive(connection)
            times.append(time.perf_counter() - start)


def _receive(connection: socket.socket) -> None:
    """Read one response to its end; raise unless it is a success."""
    data = connection.recv(65536)
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += connection.recv(65536)
    if not data.startswith(b"HTTP/1.1 200"):
        raise AssertionError(data[:200])
    length = _LENGTH.search(data, 0, end + 2)
    while len(data) < end + 4 + int(length[1]) if length else not data.endswith(b"0\r\n\r\n"):
        data += connection.recv(65536)
