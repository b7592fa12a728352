"""Compare transactions, pages and bulk loads of the library with the SDK's own calls: `python -m benchmarks.codec`.

Both take turns in every round, over the same transport. The constant transport has its response ready, so that only the
client is measured; the engine and Azurite process each request. Ratios are of CPU time, and over HTTP of wall time too.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport

from tablepatterns import BulkLoad, EntitySet, IntraPartitionIndex, Key, aio, connect
from tablepatterns.recipe import finish
from tablepatterns.sdk.operation import Operation, sdk_operation
from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.message import Response
from tablepatterns_engine.transport import AioEngineResponse, AioEngineTransport, EngineResponse, EngineTransport

from .data import FULL_RECIPES, QUICK_RECIPES
from .environment import environment
from .recipes.bulk import BARE, LOADED, SHARING, traced

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "benchmarks/results/codec.json"
TABLE: Final = "Employees"
ROWS: Final = 100
PAGE: Final = 1000
IN_FLIGHT: Final = 8
Work: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Compared:
    """The result of one case: seconds per entity in the median round, for the SDK and for the library."""

    case: str
    sdk_cpu: float
    sdk_wall: float
    cpu: float
    wall: float
    cpu_ratio: float
    wall_ratio: float

    def __str__(self) -> str:
        rates = f"SDK {1 / self.sdk_cpu:9,.0f}/CPU s   library {1 / self.cpu:9,.0f}/CPU s"
        return f"{self.case:46} {rates}   CPU {self.cpu_ratio:5.1f}x   wall {self.wall_ratio:5.1f}x"


def compared(case: str, sdk: Work, library: Work, *, entities: int, rounds: int, is_fresh: bool = False) -> Compared:
    """Run two ways to do the same in turn, and return the times of both.

    :param entities: how many entities each of them writes or reads
    :param is_fresh: whether each of the two only prepares the work, and returns it as a function
    """
    for each in (sdk, library):
        _timed(each, is_fresh=is_fresh)
    taken: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for number in range(rounds):
        # A different one starts each round, so that the order does not favor any
        if number % 2:
            second, first = _timed(library, is_fresh=is_fresh), _timed(sdk, is_fresh=is_fresh)
        else:
            first, second = _timed(sdk, is_fresh=is_fresh), _timed(library, is_fresh=is_fresh)
        taken.append((first, second))
    median = [[statistics.median(each[side][kind] for each in taken) / entities for kind in (0, 1)] for side in (0, 1)]
    ratios = [statistics.median(first[kind] / second[kind] for first, second in taken) for kind in (0, 1)]
    found = Compared(case, *median[0], *median[1], *ratios)
    print(found, flush=True)
    return found


def _timed(prepare: Work, *, is_fresh: bool) -> tuple[float, float]:
    """Return the CPU time and the wall time in seconds of some work, or of the work that it prepares."""
    work: Any = prepare() if is_fresh else prepare
    return _seconds(work)


def _seconds(work: Work) -> tuple[float, float]:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


# ------------------------------------------------------------------ transports


class Constant(HttpTransport[Any, Any]):
    """Returns the engine's response to the first request with the same verb and number of operations."""

    def __init__(self, engine: Engine) -> None:
        self._engine = EngineTransport(engine)
        self._known: dict[object, Response] = {}

    def answer(self, request: Any) -> Response:
        is_batch = request.url.endswith("$batch")
        asked = request.method, request.content.count(b"Content-ID: ") if is_batch else request.url
        known = self._known.get(asked)
        if known is None:
            sent = self._engine.send(request)
            known = Response(sent.status_code, dict(sent.headers), sent.content, sent.reason)
            if sent.status_code < 300:
                self._known[asked] = known
        return known

    def send(self, request: Any, **options: Any) -> Any:
        return EngineResponse(request, self.answer(request))

    def sleep(self, duration: float) -> None: ...

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


class AioConstant(AsyncHttpTransport[Any, Any]):
    """The same for async clients."""

    def __init__(self, engine: Engine) -> None:
        self._constant = Constant(engine)

    async def send(self, request: Any, **options: Any) -> Any:
        await asyncio.sleep(0)
        return AioEngineResponse(request, self._constant.answer(request))

    async def sleep(self, duration: float) -> None: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def __aexit__(self, *error: object) -> None: ...


# ------------------------------------------------------------------ transactions and pages


def employee(number: int) -> dict[str, Any]:
    return {
        "Department": "Sales",
        "EmployeeId": number,
        "Email": f"employee{number}@contoso.com",
        "LastName": f"Jones{number % 50}",
        "Age": 34,
        "Salary": 5432.5,
        "IsManager": number % 7 == 0,
    }


def upserts(partition: int) -> list[Operation]:
    """Return 100 unconditional writes, which can be repeated."""
    keys = ({"PartitionKey": f"p{partition:03d}", "RowKey": f"{row:05d}"} for row in range(ROWS))
    return [Operation.insert_or_replace({**each, **employee(row)}) for row, each in enumerate(keys)]


TRANSACTIONS: Final = [upserts(number) for number in range(2 * IN_FLIGHT)]
CALLS: Final = [[sdk_operation(each, ()) for each in operations] for operations in TRANSACTIONS]


def measure_sync(place: str, storage: Any, rounds: int) -> Iterator[Compared]:
    client, table = storage.tables.get_table_client(TABLE), storage.table(TABLE)
    count = len(CALLS) * ROWS

    def write(operations: Sequence[Operation]) -> object:
        return finish(table.submit(*operations))

    def read(_: object = None) -> object:
        return finish(table.page(None, size=PAGE))

    def read_by_sdk(_: object = None) -> object:
        return list(next(client.list_entities(results_per_page=PAGE).by_page()))

    # The tables hold exactly one full page
    yield compared(
        f"transaction, {place}, sync",
        lambda: [client.submit_transaction(each) for each in CALLS],
        lambda: [write(each) for each in TRANSACTIONS],
        entities=count,
        rounds=rounds,
    )
    yield compared(f"page, {place}, sync", read_by_sdk, read, entities=PAGE, rounds=2 * rounds)
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        yield compared(
            f"transaction, {place}, {IN_FLIGHT} threads",
            lambda: list(pool.map(client.submit_transaction, CALLS)),
            lambda: list(pool.map(write, TRANSACTIONS)),
            entities=count,
            rounds=rounds,
        )
        yield compared(
            f"page, {place}, {IN_FLIGHT} threads",
            lambda: list(pool.map(read_by_sdk, range(IN_FLIGHT))),
            lambda: list(pool.map(read, range(IN_FLIGHT))),
            entities=IN_FLIGHT * PAGE,
            rounds=rounds,
        )


def measure_aio(place: str, storage: Any, rounds: int, run: Callable[[Any], Any]) -> Iterator[Compared]:
    client, table = storage.tables.get_table_client(TABLE), storage.table(TABLE)

    def in_flight(calls: Sequence[Callable[[], Awaitable[object]]]) -> Work:
        async def all_of_them() -> None:
            gate = asyncio.Semaphore(IN_FLIGHT)

            async def one(call: Callable[[], Awaitable[object]]) -> None:
                async with gate:
                    await call()

            await asyncio.gather(*map(one, calls))

        return lambda: run(all_of_them())

    async def read_by_sdk() -> object:
        return [each async for each in await anext(client.list_entities(results_per_page=PAGE).by_page())]

    yield compared(
        f"transaction, {place}, asyncio, {IN_FLIGHT} in flight",
        in_flight([partial(client.submit_transaction, each) for each in CALLS]),
        in_flight([partial(table.submit, *each) for each in TRANSACTIONS]),
        entities=len(CALLS) * ROWS,
        rounds=rounds,
    )
    yield compared(
        f"page, {place}, asyncio, {IN_FLIGHT} in flight",
        in_flight([read_by_sdk] * IN_FLIGHT),
        in_flight([lambda: table.page(None, size=PAGE)] * IN_FLIGHT),
        entities=IN_FLIGHT * PAGE,
        rounds=rounds,
    )


# ------------------------------------------------------------------ bulk loads


BY_EMAIL: Final = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


def measure_loads(count: int, rounds: int) -> Iterator[Compared]:
    people = [employee(number) for number in range(count)]
    for name, derived in (("nothing derived", ()), ("one index", (BY_EMAIL,))):
        engine = Engine()
        storage = connect(engine, transport=Constant(engine))
        client: Any = _new_table(storage)
        entities = EntitySet(storage, TABLE, Key("{Department}", "empid_{EmployeeId:07d}"), derived=derived)
        rows = [
            {"PartitionKey": "Sales", "RowKey": f"{kind}{number:07d}", **each}
            for number, each in enumerate(people)
            for kind in ("empid_", "email_")[: 1 + len(derived)]
        ]
        batches = [[("create", row) for row in rows[start : start + ROWS]] for start in range(0, len(rows), ROWS)]
        yield compared(
            f"BulkLoad, {name}, constant transport (rows)",
            partial(_submit_all, client, batches),
            partial(BulkLoad(entities).load, people),
            entities=len(rows),
            rounds=rounds,
        )


def _new_table(storage: Any) -> Any:
    return storage.tables.create_table(TABLE)


def _submit_all(client: Any, batches: Sequence[Any]) -> None:
    for each in batches:
        client.submit_transaction(each)


def measure_shared_loads(rounds: int, *, quick: bool) -> Iterator[Compared]:
    """Compare loads whose entities share rows with SDK calls that read and write the same rows."""
    for each in traced(QUICK_RECIPES if quick else FULL_RECIPES):
        if each.name in SHARING:
            prepare = {run.contestant: run.prepare for run in each.runs()}
            case, count = f"BulkLoad, {each.name}, engine", len(each.rows)
            yield compared(case, prepare[BARE], prepare[LOADED], entities=count, rounds=rounds, is_fresh=True)


# ------------------------------------------------------------------ all of it


def measure_all(rounds: int, azurite: str | None) -> list[Compared]:
    engine, loop = Engine(), asyncio.new_event_loop()
    run = loop.run_until_complete
    found: list[Compared] = []
    with _closing(connect(engine, transport=Constant(engine))) as storage:
        found += measure_sync("constant", storage, rounds)
    with _closing(connect(Engine())) as storage:
        found += measure_sync("engine", storage, rounds)
    for place, other in (("constant", Engine()), ("engine", Engine())):
        transport = AioConstant(other) if place == "constant" else AioEngineTransport(other)
        constant = aio.connect(other, transport=transport)
        _fill(connect(other))
        found += measure_aio(place, constant, rounds, run)
    if azurite:
        with _closing(connect(azurite)) as storage:
            found += measure_sync("Azurite", storage, max(rounds // 2, 2))
        asynchronous = aio.connect(azurite)
        found += measure_aio("Azurite", asynchronous, max(rounds // 2, 2), run)
        run(asynchronous.close())
    found += measure_loads(500 * rounds, rounds)
    found += measure_shared_loads(rounds, quick=rounds < 5)
    loop.close()
    return found


def _fill(storage: Any) -> None:
    storage.tables.create_table_if_not_exists(TABLE)
    for operations in TRANSACTIONS:
        finish(storage.table(TABLE).submit(*operations))


@contextmanager
def _closing(storage: Any) -> Generator[Any, None, None]:
    _fill(connect(storage.engine) if storage.engine else storage)
    try:
        yield storage
    finally:
        storage.close()


def main() -> None:
    options = argparse.ArgumentParser(prog="benchmarks.codec", description=__doc__)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--no-azurite", action="store_true")
    options.add_argument("--output", type=Path, default=RESULTS)
    given = options.parse_args()
    before = environment()
    print("load before:", before["load"])
    if given.no_azurite:
        found = measure_all(given.rounds, None)
    else:
        sys.path.append(str(ROOT / "tests"))
        from support.azurite_server import azurite

        with azurite(ROOT / ".azurite/codec.log") as connection_string:
            found = measure_all(given.rounds, connection_string)
    after = environment()
    print("load after:", after["load"])
    facts = {**before, "load at the end": after["load"]}
    report = {"environment": facts, "cases": [asdict(each) for each in found]}
    given.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    given.output.with_suffix(".md").write_text(_page(facts, found), encoding="utf-8")


def _page(environment_of: Mapping[str, str], found: Sequence[Compared]) -> str:
    """Return the results as a page."""
    facts = "\n".join(f"- {name}: {value}" for name, value in environment_of.items())
    head = "| case | SDK, entities per CPU second | library | CPU | wall |\n|---|---:|---:|---:|---:|\n"
    rows = "".join(
        f"| {each.case} | {1 / each.sdk_cpu:,.0f} | {1 / each.cpu:,.0f} "
        f"| {each.cpu_ratio:.1f}x | {each.wall_ratio:.1f}x |\n"
        for each in found
    )
    text = "`python -m benchmarks.codec`: the library beside the SDK's own calls, in turn in each round; medians."
    return f"# Transactions, pages and bulk loads\n\n{text}\n\n{facts}\n\n{head}{rows}"


if __name__ == "__main__":
    main()
