"""The rate of a bulk load: partitions in parallel, one transaction per partition at a time, and a limit."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import pytest

from support.employees import employees_of
from support.staff_rows import staff
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

PARTITIONS = 3


class Watch:
    """Sees which partitions' transactions are under way together."""

    def __init__(self) -> None:
        self.together: list[tuple[str, ...]] = []
        self.gate = threading.Barrier(PARTITIONS, timeout=30)
        self._under_way: list[str] = []
        self._lock = threading.Lock()

    @contextmanager
    def over(self, request: Any) -> Generator[None, None, None]:
        partition = re.findall(r'"PartitionKey": ?"(\w+)"', str(request.body))[0]
        with self._lock:
            self._under_way.append(partition)
            self.together.append(tuple(sorted(self._under_way)))
        yield
        with self._lock:
            self._under_way.remove(partition)


class Watched(EngineTransport):
    """Each request waits until there is one of every partition."""

    def __init__(self, engine: Engine, watch: Watch) -> None:
        super().__init__(engine)
        self._watch = watch

    def send(self, request: Any, **options: Any) -> Any:
        with self._watch.over(request):
            self._watch.gate.wait()
            return super().send(request, **options)


class AioWatched(AioEngineTransport):
    """Each request lets all other tasks go on until they wait."""

    def __init__(self, engine: Engine, watch: Watch) -> None:
        super().__init__(engine)
        self._watch = watch

    async def send(self, request: Any, **options: Any) -> Any:
        with self._watch.over(request):
            for _ in range(100):
                await asyncio.sleep(0)
            return await super().send(request, **options)


@pytest.mark.guide("G-074")
async def test_partitions_are_written_at_once_but_never_two_transactions_of_one(
    backend: Any, engine: Engine, storage: Any, table_name: str
) -> None:
    await employees_of(storage, table_name).table.create()
    watch = Watch()
    watched = backend.connect(engine, transport=(AioWatched if backend.aio else Watched)(engine, watch))
    load = BulkLoad(employees_of(watched, table_name), max_concurrency=PARTITIONS, window=360)
    await load.load(staff(540, departments=PARTITIONS))
    assert len(watch.together) == PARTITIONS * (3 + 2)
    assert [seen for seen in watch.together if len(set(seen)) < len(seen)] == []
    assert ("D0", "D1", "D2") in watch.together


@pytest.mark.guide("G-108")
@pytest.mark.parametrize("max_concurrency", [1, 3])
async def test_requests_are_paced(backend: Any, engine: Engine, table_name: str, max_concurrency: int) -> None:
    start = datetime(2014, 8, 22, tzinfo=timezone.utc)
    engine = Engine(clock=Clock(start))
    employees = employees_of(backend.connect(engine), table_name)
    await employees.table.create()
    with engine.ledger.span() as span:
        await BulkLoad(employees, max_concurrency=max_concurrency, max_per_second=4).load(staff(550, departments=3))
    seconds = [(record.moment.datetime() - start).total_seconds() for record in span.records]
    assert len(seconds) == 12
    assert seconds[-1] >= 11 / 4
    if max_concurrency == 1:
        assert seconds == [number / 4 for number in range(12)]


@pytest.mark.guide("G-108")
async def test_reads_are_paced_too(backend: Any, engine: Engine, table_name: str) -> None:
    start = datetime(2014, 8, 22, tzinfo=timezone.utc)
    engine = Engine(clock=Clock(start))
    employees = employees_of(backend.connect(engine), table_name)
    await employees.table.create()
    with engine.ledger.span() as span:
        await BulkLoad(employees, max_concurrency=1, max_per_second=4).load(staff(10), mode="insert_or_replace")
    assert len(span.records) == 11
    assert (engine.clock.now().datetime() - start).total_seconds() == 10 / 4
