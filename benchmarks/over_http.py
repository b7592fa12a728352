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
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
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
from .page import page, table, times, where
from .page import time as time_cell
from .results import Series, Spread, spread

ROOT: Final = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from support.certificates import Authority  # noqa: E402 - the tests are no package

RESULTS: Final = Path(__file__).parent / "results/over_http.json"
SDK, LIBRARY = "SDK", "library"
TARGET: Final = 0.45
"""The maximum CPU time of a call of the library, as a share of the SDK's."""
THREADS: Final = (1, 8, 64)
TITLES: Final = {
    "http": "Sync, HTTP",
    "https": "Sync, HTTPS",
    "threads": "get by a number of threads",
    "asyncio": "asyncio, HTTP",
    "tasks": "get by a number of tasks",
}
_HOW: Final = """\
`python -m benchmarks.over_http` writes this page. A server in another process answers each request at once, over the
loopback interface; the figures are the processor time of the client's process. All contestants take turns in each
round. Requests per second are those of one core, if the server had another one."""
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


def connection_string(address: str) -> str:
    endpoints = ";".join(f"{service}Endpoint={address}/account" for service in ("Table", "Queue", "Blob"))
    return f"AccountName=account;AccountKey={KEY};{endpoints}"


# ------------------------------------------------------------------ the calls


def _employees(storage: Any) -> Any:
    return EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:07d}"))


def _table_calls(storage: Any, employees: Any, client: Any, stored: Any) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return the calls of tables, sync or async as the clients are.

    :param stored: the entity to merge into, as the set read it
    """
    log: Any = LogTail(storage, "Log", "{Employee}")
    return {
        "get": {
            SDK: lambda: client.get_entity("Sales", "empid_0000001"),
            LIBRARY: lambda: employees.get(Department="Sales", EmployeeId=1),
        },
        "insert": {
            SDK: lambda: client.create_entity({**_KEYS, **_ROW}),
            LIBRARY: lambda: employees.insert(dict(_ENTITY)),
        },
        "merge": {
            SDK: lambda: client.update_entity({**_KEYS, "Age": 35}, **_MERGE),
            LIBRARY: lambda: employees.merge(stored, {"Age": 35}),
        },
        "append": {SDK: lambda: client.create_entity(dict(_LOGGED)), LIBRARY: lambda: log.append(dict(_ENTRY))},
    }


@contextmanager
def calls(address: str, authority: Path | None = None) -> Generator[dict[str, dict[str, Call]], None, None]:
    """Yield the calls by case and contestant; `authority` has the certificate of the server's CA."""
    options: dict[str, Any] = {"connection_verify": str(authority)} if authority else {}
    text = connection_string(address)
    storage = connect(text, **options)
    employees, queue = _employees(storage), storage.queue("tasks")
    client = TableClient.from_connection_string(text, "Employees", **options)
    sdk_queue = QueueClient.from_connection_string(text, "tasks", **options)
    stored = employees.get(Department="Sales", EmployeeId=1)
    by_case: dict[str, dict[str, Call]] = {
        **_table_calls(storage, employees, client, stored),
        "queue send": {SDK: lambda: sdk_queue.send_message(TEXT), LIBRARY: lambda: finish(queue.send(TEXT))},
        "queue receive": {
            SDK: lambda: list(next(sdk_queue.receive_messages(messages_per_page=1, visibility_timeout=30).by_page())),
            LIBRARY: lambda: finish(queue.receive(1)),
        },
    }
    with storage, client, sdk_queue, _http_clients(address, authority) as bare:
        yield {**by_case, "get": {**bare, **by_case["get"]}}


@contextmanager
def _http_clients(address: str, authority: Path | None) -> Generator[dict[str, Call], None, None]:
    """Yield calls that send the request of a read without the SDK, the cheapest first."""
    target = "/account/Employees(PartitionKey='Sales',RowKey='empid_0000001')"
    names = ("Accept", "x-ms-version", "x-ms-date", "Date", "Authorization", "User-Agent", "DataServiceVersion")
    headers = dict.fromkeys(names, "a value of usual length")
    host = address.partition("//")[2]
    verify = str(authority) if authority else None
    if authority:
        tls = ssl.create_default_context(cafile=verify)
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, context=tls)
    else:
        connection = http.client.HTTPConnection(host)
    pools, session = urllib3.PoolManager(ca_certs=verify), requests.Session()

    def by_http_client() -> bytes:
        connection.request("GET", target, headers=headers)
        return connection.getresponse().read()

    yield {
        "http.client": by_http_client,
        "urllib3": lambda: pools.request("GET", address + target, headers=headers).data,
        "requests": lambda: session.get(address + target, headers=headers, verify=verify).content,
    }
    connection.close()
    pools.clear()
    session.close()


async def aio_calls(address: str) -> tuple[dict[str, dict[str, AioCall]], list[Any]]:
    """Return the same calls of async clients, and what is to be closed."""
    text = connection_string(address)
    storage = aio.connect(text)
    employees, queue = _employees(storage), storage.queue("tasks")
    client = AioTableClient.from_connection_string(text, "Employees")
    sdk_queue = AioQueueClient.from_connection_string(text, "tasks")
    stored = await employees.get(Department="Sales", EmployeeId=1)

    async def receive() -> list[Any]:
        pages = sdk_queue.receive_messages(messages_per_page=1, visibility_timeout=30).by_page()
        return [message async for message in await anext(pages)]

    by_case: dict[str, dict[str, AioCall]] = {
        **_table_calls(storage, employees, client, stored),
        "queue send": {SDK: lambda: sdk_queue.send_message(TEXT), LIBRARY: lambda: queue.send(TEXT)},
        "queue receive": {SDK: receive, LIBRARY: lambda: queue.receive(1)},
    }
    return by_case, [storage, client, sdk_queue]


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
    parts = [only] if only else [*TITLES]
    many = max(count, 10 * max(THREADS))
    with TemporaryDirectory() as folder, constant_server() as address:
        if "http" in parts:
            with calls(address) as sides:
                yield "http", rounds_of(_each(sides, _in_turn), count, rounds)
        if "https" in parts:
            authority = Authority(Path(folder))
            with constant_server(authority.issue("server")) as secure, calls(secure, authority.path) as sides:
                yield "https", rounds_of(_each(sides, _in_turn), count, rounds)
        if "threads" in parts:
            with calls(address) as sides, ThreadPoolExecutor(max(THREADS)) as pool:
                works = {
                    f"{number}": {who: _in_threads(sides["get"][who], pool, number) for who in (SDK, LIBRARY)}
                    for number in THREADS
                }
                yield "threads", rounds_of(works, many, rounds)
        if {"asyncio", "tasks"} & set(parts):
            yield from _measure_asyncio(address, parts, count, many, rounds)


def _measure_asyncio(
    address: str, parts: Sequence[str], count: int, many: int, rounds: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    loop = asyncio.new_event_loop()
    sides, clients = loop.run_until_complete(aio_calls(address))
    if "asyncio" in parts:
        yield "asyncio", rounds_of(_each(sides, lambda call: _in_tasks(call, loop, 1)), count, rounds)
    if "tasks" in parts:
        works = {
            f"{number}": {who: _in_tasks(call, loop, number) for who, call in sides["get"].items()}
            for number in THREADS
        }
        yield "tasks", rounds_of(works, many, rounds)
    for client in clients:
        loop.run_until_complete(client.close())
    loop.close()


def _each(sides: Mapping[str, Mapping[str, Any]], how: Callable[[Any], Any]) -> dict[str, dict[str, Any]]:
    return {case: {who: how(call) for who, call in contestants.items()} for case, contestants in sides.items()}


def share(sides: Mapping[str, Mapping[str, list[float]]]) -> Spread:
    """Return the library's CPU time as a share of the SDK's, compared within each round."""
    pairs = zip(sides[LIBRARY]["cpu"], sides[SDK]["cpu"], strict=True)
    return spread([library / sdk for library, sdk in pairs])


def _page(facts: Mapping[str, str], parts: Mapping[str, Any]) -> str:
    """Return the results as a page."""
    sections: dict[str, str] = {}
    for part, title in TITLES.items():
        rows = [
            (
                case,
                time_cell(spread(sides[SDK]["cpu"])),
                time_cell(spread(sides[LIBRARY]["cpu"])),
                times(share(sides)),
                *(f"{1 / spread(sides[who]['cpu']).median:,.0f}" for who in (SDK, LIBRARY)),
            )
            for case, sides in parts[part].items()
        ]
        heads = ("request", "SDK", "library", "library / SDK", "SDK, per second", "library, per second")
        sections[title] = table(heads, rows)
    bare = [
        (who, *(time_cell(spread(parts[part]["get"][who]["cpu"])) for part in ("http", "https")))
        for who in ("http.client", "urllib3", "requests", SDK, LIBRARY)
    ]
    sections["The request of a read, by other clients"] = table(("client", "HTTP", "HTTPS"), bare)
    sections["Environment"] = where({"": facts})
    return page("Single requests over HTTP", f"{_HOW} The aim is at most {TARGET} of the SDK's time.", sections)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the shares, and store every round and the page."""
    parser = argparse.ArgumentParser(prog="benchmarks.over_http", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="requests of a round")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", choices=["", *TITLES], help="one part; nothing is written")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    facts, parts = environment(), {}
    for part, figures in measure(options.count, options.rounds, options.only):
        parts[part] = figures
        for case, sides in figures.items():
            cpu = "  ".join(f"{who} {1e6 * spread(series['cpu']).median:.0f}" for who, series in sides.items())
            print(f"{part:8} {case:14} {share(sides).median:.2f}  {cpu}", flush=True)
    if not options.only:
        facts |= {"load at the end": environment()["load"]}
        text = json.dumps({"environment": facts, "parts": parts}, indent=1)
        text = re.sub(r"\[[^][{}]*\]", lambda series: " ".join(series[0].split()), text)
        options.output.write_text(text + "\n", encoding="utf-8")
        options.output.with_suffix(".md").write_text(_page(facts, parts), encoding="utf-8")


if __name__ == "__main__":
    main()
