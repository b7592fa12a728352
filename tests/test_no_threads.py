"""The library where no thread can start, as in a browser: calls run in turn, and nothing else changes."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from budgets.budget import Budget, all_budgets, measured
from support.no_threads import forbid_threads
from support.queue_workers import RecordingHandler, message
from tablepatterns import EntitySet, Key, Worker, aio, connect
from tablepatterns_explore import Counterexample, World, explore


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_threads(monkeypatch.setattr)
    with pytest.raises(RuntimeError, match="new thread"):
        threading.Thread(target=print).start()


BUDGETS = all_budgets()
ONE_OF_EACH = list({row.recipe: row for row in reversed(BUDGETS)}.values())


@pytest.mark.parametrize(
    "rows",
    [pytest.param(ONE_OF_EACH, id="a call"), pytest.param(BUDGETS, id="all calls", marks=pytest.mark.nightly)],
)
def test_every_recipe_costs_the_same(rows: list[Budget]) -> None:
    found = {}
    for row in rows:
        with connect() as account:
            found[row.recipe, row.call, row.when] = measured(row, account)
    assert found == {(row.recipe, row.call, row.when): row.cost for row in rows}


def test_calls_run_in_turn_and_none_after_a_failure() -> None:
    begun: list[int] = []

    async def call(number: int) -> int:
        begun.append(number)
        if number == 3:
            raise LookupError(number)
        return number

    with connect() as storage:
        gather = storage.gather(*map(call, (1, 2)), needs_threads=True)
        with pytest.raises(StopIteration) as ended:
            gather.send(None)
        assert ended.value.value == [1, 2]
        with pytest.raises(LookupError):
            storage.gather(*map(call, (3, 4)), needs_threads=True).send(None)
    assert begun == [1, 2, 3]


def test_a_worker_polls_all_of_its_queues_until_it_stops() -> None:
    with connect() as storage:
        handlers = {name: RecordingHandler() for name in ("orders", "invoices")}
        worker = Worker(storage, {name: [handler] for name, handler in handlers.items()}, max_concurrency=4)
        for name in handlers:
            queue = storage.queues.get_queue_client(name)
            queue.create_queue()
            for number in range(3):
                queue.send_message(message(N=number))
        report = worker.run(stopping=lambda: all(len(each.bodies) == 3 for each in handlers.values()))
    assert report.received == 6


async def test_an_async_worker_processes_messages() -> None:
    async with aio.connect() as storage:
        handler = RecordingHandler()
        queue = storage.queues.get_queue_client("orders")
        await queue.create_queue()
        await queue.send_message(message(N=1))
        report = await Worker(storage, {"orders": [handler]}).run_once()
    assert (report.received, handler.bodies) == (1, [{"N": 1}])


def visits(world: World) -> list[Coroutine[Any, Any, Any]]:
    """Two actors, each with a transaction of the SDK's own, whose parts azure-core prepares in an event loop."""
    world.run(EntitySet(world.storage, "Pages", Key("{Site}", "{Page}")).insert({"Site": "docs", "Page": "home"}))
    table = world.storage.tables.get_table_client("Pages")

    async def visit(page: str) -> None:
        keys = {"PartitionKey": "docs", "RowKey": page}
        await table.submit_transaction([("create", keys), ("update", {"PartitionKey": "docs", "RowKey": "home"})])

    return [visit("a"), visit("b")]


def are_both_stored(world: World) -> bool:
    return all(world.engine.tables.get("Pages", "docs", page) for page in ("home", "a", "b"))


def explored() -> str:
    return str(explore(visits, invariant=are_both_stored))


async def test_schedules_are_explored_in_a_running_event_loop_too() -> None:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert explored() == await asyncio.sleep(0, explored())
    with pytest.raises(Counterexample):
        explore(visits, invariant=lambda _: False)
    assert (asyncio.current_task(), asyncio.get_running_loop()) == (task, loop)


def test_a_missing_package_cryptography_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == "cryptography" or name.startswith(("azure.storage.queue", "azure.storage.blob")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with connect() as storage:
        for service in ("queues", "blobs"):
            with pytest.raises(ModuleNotFoundError, match="import the package cryptography: pip install cryptography"):
                getattr(storage, service)
