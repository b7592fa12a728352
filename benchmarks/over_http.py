"""Compare single requests of the library and of the SDK over HTTP: `python -m benchmarks.over_http`.

A server in another process answers at once. All contestants take turns in each round; figures are of the CPU time of
the client's process.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import requests
import urllib3
from azure.core import MatchConditions
from azure.data.tables import TableClient, UpdateMode
from azure.data.tables.aio import TableClient as AioTableClient
from azure.storage.queue import QueueClient
from azure.storage.queue.aio import QueueClient as AioQueueClient

from tablepatterns import EntitySet, Key, LogTail, aio, connect
from tablepatterns.recipe import finish

from .environment import environment
from .page import page, table, time as time_cell, times, where
from .results import Series, spread

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = Path(__file__).parent / "results/over_http.json"
SDK, LIBRARY = "SDK", "library"
TARGET: Final = 0.45
"""The maximum CPU time of a call of the library, as a share of the SDK's."""
THREADS: Final = (1, 8, 64)
KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
TEXT: Final = "entity 223 of Sales has changed; " * 8
Call: TypeAlias = Callable[[], object]
AioCall: TypeAlias = Callable[[], Awaitable[object]]

_ETAG: Final = "W/\"datetime'2026-11-23T21%3A00%3A00.0000000Z'\""
_ROW: Final = {"LastName": "Jones", "Age": 34, "Email": "jonesj@contoso.com"}
_ENTITY: Final = {"Department": "Sales", "EmployeeId": 1, **_ROW}
_KEYS: Final = {"PartitionKey": "Sales", "RowKey": "empid_0000001"}
_ENTRY: Final = {"Employee": "1", "At": datetime(2026, 1, 1, tzinfo=timezone.utc), "Amount": 1, "Note": "a note"}
_LOGGED: Final = {"PartitionKey": "1", "RowKey": f"{10**19:019d}_{1:032x}", "Amount": 1, "Note": "a note"}
_MERGE: Final = {"mode": UpdateMode.MERGE, "match_condition": MatchConditions.IfNotModified, "etag": _ETAG}


# ------------------------------------------------------------------ the server


@contextmanager
def constant_server(certificate: Path | None = None) -> Generator[str, None, None]:
    """Run the server in a process of its own, and yield its address."""
    command = [sys.executable, "-m", "benchmarks.constant_server", *([str(certificate)] if certificate else [])]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield f"{'https' if certificate else 'http'}://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def write_certificate(folder: Path) -> Path:
    """Write a certificate of 127.0.0.1 that is its own CA, with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    from ipaddress import ip_address

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(timezone.utc)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    unencrypted = serialization.NoEncryption()
    path = folder / "certificate.pem"
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, unencrypted)
    path.write_bytes(certificate.public_bytes(pem) + private)
    return path


def connection_string(address: str) -> str:
    endpoints = ";".join(f"{service}Endpoint={address}/account" for service in ("Table", "Queue", "Blob"))
    return f"AccountName=account;AccountKey={KEY};{endpoints}"


# ------------------------------------------------------------------ the calls


def calls(address: str, certificate: Path | None = None) -> dict[str, dict[str, Call]]:
    """Return the calls by case and contestant."""
    options: dict[str, Any] = {"connection_verify": str(certificate)} if certificate else {}
    text = connection_string(address)
    storage = connect(text, **options)
    employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:07d}"))
    log: LogTail[Any] = LogTail(storage, "Log", "{Employee}")
    queue = storage.queue("tasks")
    client = TableClient.from_connection_string(text, "Employees", **options)
    sdk_queue = QueueClient.from_connection_string(text, "tasks", **options)
    stored = employees.get(Department="Sales", EmployeeId=1)
    get = {SDK: lambda: client.get_entity("Sales", "empid_0000001")}
    get[LIBRARY] = lambda: employees.get(Department="Sales", EmployeeId=1)
    return {
        "get": {**_http_clients(address, certificate), **get},
        "insert": {
            SDK: lambda: client.create_entity({**_KEYS, **_ROW}),
            LIBRARY: lambda: employees.insert(dict(_ENTITY)),
        },
        "merge": {
            SDK: lambda: client.update_entity({**_KEYS, "Age": 35}, **_MERGE),
            LIBRARY: lambda: employees.merge(stored, {"Age": 35}),
        },
        "append": {SDK: lambda: client.create_entity(dict(_LOGGED)), LIBRARY: lambda: log.append(dict(_ENTRY))},
        "queue send": {SDK: lambda: sdk_queue.send_message(TEXT), LIBRARY: lambda: finish(queue.send(TEXT))},
        "queue receive": {
            SDK: lambda: list(next(sdk_queue.receive_messages(messages_per_page=1, visibility_timeout=30).by_page())),
            LIBRARY: lambda: finish(queue.receive(1)),
        },
    }


def _http_clients(address: str, certificate: Path | None) -> dict[str, Call]:
    """Return calls that send the request of a read without the SDK, the cheapest first."""
    target = "/account/Employees(PartitionKey='Sales',RowKey='empid_0000001')"
    names = ("Accept", "x-ms-version", "x-ms-date", "Date", "Authorization", "User-Agent", "DataServiceVersion")
    headers = dict.fromkeys(names, "a value of usual length")
    host = address.partition("//")[2]
    verify = str(certificate) if certificate else None
    if certificate:
        import ssl

        tls = ssl.create_default_context(cafile=verify)
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, context=tls)
    else:
        connection = http.client.HTTPConnection(host)
    pools, session = urllib3.PoolManager(ca_certs=verify), requests.Session()

    def by_http_client() -> bytes:
        connection.request("GET", target, headers=headers)
        return connection.getresponse().read()

    return {
        "http.client": by_http_client,
        "urllib3": lambda: pools.request("GET", address + target, headers=headers).data,
        "requests": lambda: session.get(address + target, headers=headers, verify=verify).content,
    }


def aio_calls(address: str) -> tuple[dict[str, dict[str, AioCall]], list[Any]]:
    """Return the same calls of async clients, and what is to be closed."""
    text = connection_string(address)
    storage = aio.connect(text)
    employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:07d}"))
    log: LogTail[Any] = LogTail(storage, "Log", "{Employee}")
    queue = storage.queue("tasks")
    client = AioTableClient.from_connection_string(text, "Employees")
    sdk_queue = AioQueueClient.from_connection_string(text, "tasks")
    stored = {**_ENTITY}

    async def receive() -> list[Any]:
        pages = sdk_queue.receive_messages(messages_per_page=1, visibility_timeout=30).by_page()
        return [message async for message in await anext(pages)]

    async def merge() -> object:
        nonlocal stored
        stored = stored if hasattr(stored, "etag") else await employees.get(Department="Sales", EmployeeId=1)
        return await employees.merge(stored, {"Age": 35})

    found: dict[str, dict[str, AioCall]] = {
        "get": {
            SDK: lambda: client.get_entity("Sales", "empid_0000001"),
            LIBRARY: lambda: employees.get(Department="Sales", EmployeeId=1),
        },
        "insert": {
            SDK: lambda: client.create_entity({**_KEYS, **_ROW}),
            LIBRARY: lambda: employees.insert(dict(_ENTITY)),
        },
        "merge": {SDK: lambda: client.update_entity({**_KEYS, "Age": 35}, **_MERGE), LIBRARY: merge},
        "append": {SDK: lambda: client.create_entity(dict(_LOGGED)), LIBRARY: lambda: log.append(dict(_ENTRY))},
        "queue send": {SDK: lambda: sdk_queue.send_message(TEXT), LIBRARY: lambda: queue.send(TEXT)},
        "queue receive": {SDK: receive, LIBRARY: lambda: queue.receive(1)},
    }
    return found, [storage, client, sdk_queue]


# ------------------------------------------------------------------ the measurement


def rounds_of(works: Mapping[str, Mapping[str, Callable[[int], None]]], count: int, rounds: int) -> dict[str, Any]:
    """Return the figures by case and contestant; another contestant begins each round, and the first is a warm-up."""
    figures = {case: {who: Series(count) for who in sides} for case, sides in works.items()}
    gc.collect()
    gc.freeze()
    for number in range(rounds + 1):
        for case, sides in works.items():
            first = number % len(sides)
            for who in [*sides][first:] + [*sides][:first]:
                sides[who](2)
                gc.collect()
                wall, cpu = time.perf_counter(), time.process_time()
                sides[who](count)
                if number:
                    figures[case][who].cpu.append(round((time.process_time() - cpu) / count, 8))
                    figures[case][who].wall.append(round((time.perf_counter() - wall) / count, 8))
    gc.unfreeze()
    return {case: {who: asdict(series) for who, series in sides.items()} for case, sides in figures.items()}


def _in_turn(call: Call) -> Callable[[int], None]:
    def work(count: int) -> None:
        for _ in range(count):
            call()

    return work


def _in_threads(call: Call, pool: ThreadPoolExecutor, threads: int) -> Callable[[int], None]:
    def work(count: int) -> None:
        for done in [pool.submit(_in_turn(call), max(count // threads, 1)) for _ in range(threads)]:
            done.result()

    return work


def _in_tasks(call: AioCall, loop: asyncio.AbstractEventLoop, tasks: int) -> Callable[[int], None]:
    async def repeat(count: int) -> None:
        for _ in range(count):
            await call()

    async def run(count: int) -> None:
        await asyncio.gather(*(repeat(max(count // tasks, 1)) for _ in range(tasks)))

    return lambda count: loop.run_until_complete(run(count))


def measure(count: int, rounds: int, only: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each part and its figures."""
    with TemporaryDirectory() as folder, constant_server() as address:
        certificate = write_certificate(Path(folder))
        if only in "http":
            sync = calls(address)
            yield "http", rounds_of(_each(sync, _in_turn), count, rounds)
        if only in "https":
            with constant_server(certificate) as secure:
                yield "https", rounds_of(_each(calls(secure, certificate), _in_turn), count, rounds)
        if only in "threads":
            with ThreadPoolExecutor(max(THREADS)) as pool:
                sides = {who: calls(address)["get"][who] for who in (SDK, LIBRARY)}
                works = {
                    f"{threads}": {who: _in_threads(call, pool, threads) for who, call in sides.items()}
                    for threads in THREADS
                }
                yield "threads", rounds_of(works, max(count, 640), rounds)
        loop = asyncio.new_event_loop()
        aio_sides, open_clients = _opened(loop, address)
        if only in "asyncio":
            yield "asyncio", rounds_of(_each(aio_sides, lambda call: _in_tasks(call, loop, 1)), count, rounds)
        if only in "tasks":
            works = {
                f"{tasks}": {who: _in_tasks(call, loop, tasks) for who, call in aio_sides["get"].items()}
                for tasks in THREADS
            }
            yield "tasks", rounds_of(works, max(count, 640), rounds)
        for client in open_clients:
            loop.run_until_complete(client.close())
        loop.close()


def _opened(loop: asyncio.AbstractEventLoop, address: str) -> tuple[dict[str, dict[str, AioCall]], list[Any]]:
    async def opened() -> Any:
        return aio_calls(address)

    found: tuple[dict[str, dict[str, AioCall]], list[Any]] = loop.run_until_complete(opened())
    return found


def _each(sides: Mapping[str, Mapping[str, Any]], how: Callable[[Any], Any]) -> dict[str, dict[str, Any]]:
    return {case: {who: how(call) for who, call in contestants.items()} for case, contestants in sides.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.over_http", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="requests of a round")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="one part; nothing is written")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    parts = {}
    for part, figures in measure(given.count, given.rounds, given.only):
        parts[part] = figures
        for case, sides in figures.items():
            cpu = {who: spread(series["cpu"]).median for who, series in sides.items()}
            share = spread([one / two for one, two in zip(sides[LIBRARY]["cpu"], sides[SDK]["cpu"])]).median
            print(
                f"{part:8} {case:14} {share:.2f}  " + "  ".join(f"{who} {1e6 * s:.0f}" for who, s in cpu.items()),
                flush=True,
            )


if __name__ == "__main__":
    main()
