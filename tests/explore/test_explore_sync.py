"""Explore plain functions: the same schedules, states and violations as of their async twins."""

from __future__ import annotations

import random
import threading
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError

from tablepatterns import EntitySet, EventualTransaction, InterPartitionIndex, Key, LogTail, Worker, connect
from tablepatterns.errors import BadInput
from tablepatterns_explore import Counterexample, World, code, explore, replay
from tablepatterns_explore.world import START

PAGE = {"PartitionKey": "docs", "RowKey": "home"}
STAFF = Key("{Department}", "name_{Name}")
JONES = {"Department": "Sales", "Name": "Jones"}

BOUNDS: list[Any] = [
    {},
    {"crashes": 1},
    {"lost_responses": 1},
    {"crashes": 1, "lost_responses": 1, "preemptions": 1},
    {"stalls": [60.0], "preemptions": 1},
    pytest.param({"crashes": 2, "lost_responses": 1, "preemptions": 2}, marks=pytest.mark.nightly),
]


async def aio_visit(table: Any) -> None:
    page = await table.get_entity("docs", "home")
    page["Visits"] += 1
    await table.update_entity(page, mode="replace")


def visit(table: Any) -> None:
    page = table.get_entity("docs", "home")
    page["Visits"] += 1
    table.update_entity(page, mode="replace")


async def aio_visit_carefully(table: Any) -> int:
    page = await table.get_entity("docs", "home")
    page["Visits"] += 1
    try:
        await table.update_entity(page, etag=page.metadata["etag"], match_condition=MatchConditions.IfNotModified)
    except ResourceModifiedError:
        return await aio_visit_carefully(table)
    return int(page["Visits"])


def visit_carefully(table: Any) -> int:
    page = table.get_entity("docs", "home")
    page["Visits"] += 1
    try:
        table.update_entity(page, etag=page.metadata["etag"], match_condition=MatchConditions.IfNotModified)
    except ResourceModifiedError:
        return visit_carefully(table)
    return int(page["Visits"])


def visitors(kinds: str, plain: Callable[[Any], object], aio: Callable[[Any], Any]) -> Callable[[World], list[Any]]:
    """Return what makes visitors: a letter for each, `s` for a plain function and `a` for a coroutine."""

    def make(world: World) -> list[Any]:
        table, aio_table = world.sync_table_client("Pages"), world.table_client("Pages")
        table.create_table()
        table.create_entity({**PAGE, "Visits": 0})
        return [partial(plain, table) if kind == "s" else aio(aio_table) for kind in kinds]

    return make


def both_count(world: World) -> bool:
    return bool(world.engine.tables.get("Pages", "docs", "home").properties["Visits"] == 2)


def account_of(world: World, is_sync: bool) -> Any:
    return world.sync_storage if is_sync else world.storage


def started(work: Callable[[], Any], is_sync: bool) -> Any:
    """Return an actor that does some work."""
    return work if is_sync else work()


def prepared(world: World, work: Callable[[], Any], is_sync: bool) -> None:
    world.prepare(work if is_sync else work())


# ------------------------------------------------------------------ recipes, written once


def updates(world: World, is_sync: bool) -> list[Any]:
    staff = EntitySet(account_of(world, is_sync), "Staff", STAFF)
    prepared(world, lambda: staff.insert({**JONES, "Age": 0}), is_sync)

    def birthday(employee: Any) -> None:
        employee["Age"] += 1

    return [started(lambda: staff.update(birthday, **JONES), is_sync) for _ in range(2)]


def indexed(world: World, is_sync: bool) -> list[Any]:
    by_city = InterPartitionIndex(Key("city_{City}", "city_{Name}"))
    staff = EntitySet(account_of(world, is_sync), "Staff", STAFF, derived=[by_city])
    return [started(partial(staff.insert, {**JONES, "City": city}), is_sync) for city in "AB"]


def tail(world: World, is_sync: bool) -> list[Any]:
    log = LogTail(account_of(world, is_sync), "Claims", "{Policy}")
    return [started(partial(log.append, {"Policy": "p", "Claim": claim}), is_sync) for claim in "AB"]


def worked(world: World, is_sync: bool) -> list[Any]:
    account = account_of(world, is_sync)
    table = EntitySet(account, "Staff", STAFF)
    hiring = EventualTransaction(account, "hiring", "hire", [table.insert_or_replace])
    prepared(world, lambda: hiring.start(JONES), is_sync)
    return [started(Worker(account, [hiring], lease=30).run_once, is_sync) for _ in range(2)]


RECIPES = [updates, indexed, tail, worked]


def states(make: Callable[[World], list[Any]], **bound: Any) -> tuple[set[Any], tuple[int, int, int, bool]]:
    """Return all final states, and the size of the search."""
    found: set[Any] = set()

    def note(world: World) -> None:
        tables = world.engine.tables
        names = {table.name for table in world.sync_storage.tables.list_tables()}
        rows = {
            name: sorted(
                (row.partition_key, row.row_key, repr({k: v for k, v in row.properties.items() if k != "WriteId"}))
                for row in tables.query(name).entities
            )
            for name in ("Pages", "Staff", "Claims")
            if name in names
        }
        raised = sorted((name, type(error).__name__) for name, error in world.raised.items())
        found.add(repr((rows, sorted(world.crashed), raised)))

    explored = explore(make, invariant=note, expected=Exception, schedules=400_000, **bound)
    return found, (explored.schedules, explored.pruned, explored.states, explored.exhaustive)


class TestTwins:
    @pytest.mark.parametrize("bound", BOUNDS, ids=repr)
    @pytest.mark.few(2)
    def test_plain_functions_reach_the_same_states(self, bound: dict[str, Any]) -> None:
        for plain, aio in ((visit, aio_visit), (visit_carefully, aio_visit_carefully)):
            expected = states(visitors("aa", plain, aio), **bound)
            for kinds in ("ss", "sa", "as"):
                assert states(visitors(kinds, plain, aio), **bound) == expected, kinds

    @pytest.mark.parametrize(
        "bound",
        [
            {"crashes": 1, "preemptions": 1},
            {"lost_responses": 1, "preemptions": 0},
            pytest.param({"crashes": 1, "lost_responses": 1, "preemptions": 1}, marks=pytest.mark.nightly),
        ],
        ids=repr,
    )
    @pytest.mark.parametrize("recipe", RECIPES)
    @pytest.mark.few(4)
    def test_recipes_reach_the_same_states(
        self, recipe: Callable[[World, bool], list[Any]], bound: dict[str, Any]
    ) -> None:
        sync, aio = (states(partial(recipe, is_sync=is_sync), **bound) for is_sync in (True, False))
        assert sync[0] == aio[0]
        assert sync[1][3]

    @pytest.mark.parametrize("kinds", ["ss", "sa", "as"])
    def test_they_have_the_same_counterexample(self, kinds: str) -> None:
        texts = []
        for each in (kinds, "aa"):
            with pytest.raises(Counterexample) as found:
                explore(visitors(each, visit, aio_visit), invariant=both_count)
            texts.append(str(found.value))
        assert texts[0] == texts[1]
        assert texts[0].endswith("reproduce with: replay(make, 'A B B A', ...)")


class TestReplay:
    def test_a_crash_is_replayed(self) -> None:
        world = replay(visitors("ss", visit, aio_visit), "A A! B B")
        assert world.crashed == {"A"}
        assert world.engine.tables.get("Pages", "docs", "home").properties["Visits"] == 1

    def test_an_error_is_that_of_the_function(self) -> None:
        def fail() -> None:
            raise ZeroDivisionError("no page")

        with pytest.raises(Counterexample, match="ZeroDivisionError") as found:
            explore(lambda world: [fail])
        assert "in fail" in "".join(traceback.format_exception(found.value.__cause__))


class TestRules:
    def test_ids_and_random_numbers_are_the_same_each_time(self) -> None:
        def make(world: World) -> list[Any]:
            table = world.sync_table_client("Pages")
            table.create_table()

            def draw() -> tuple[str, float]:
                table.create_entity({"PartitionKey": "p", "RowKey": str(uuid4())})
                return str(uuid4()), random.random()

            return [draw, draw]

        seen: list[Any] = []
        explored = explore(make, invariant=lambda world: seen.append(world.returned))
        assert (explored.schedules, explored.pruned) == (1, 1)
        assert seen == [replay(make, "B A").returned]

    def test_sleep_moves_the_clock(self) -> None:
        def make(world: World) -> list[Any]:
            worker = Worker(world.sync_storage, {"intents": [Idle()]}, idle=5)
            waits = iter([False, False, False, True])
            return [partial(worker.run, lambda: next(waits, True))]

        class Idle:
            kind = "k"

            async def handle(self, lease: Any) -> None: ...

        assert replay(make, "").storage.now() > START

    def test_no_thread_is_left(self) -> None:
        before = threading.active_count()
        explore(visitors("ss", visit_carefully, aio_visit_carefully), crashes=2, lost_responses=1)
        assert threading.active_count() == before

    def test_few_threads_wait_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make = visitors("ss", visit_carefully, aio_visit_carefully)
        expected = states(make, crashes=1, lost_responses=1)
        monkeypatch.setattr(code, "_MAX_THREADS", 1)
        most = 0

        def count(world: World) -> None:
            nonlocal most
            most = max(most, threading.active_count())

        before = threading.active_count()
        explore(make, always=count, crashes=1, lost_responses=1)
        assert most <= before + 4
        assert states(make, crashes=1, lost_responses=1) == expected

    def test_finally_sends_nothing_after_a_crash(self) -> None:
        def make(world: World) -> list[Any]:
            table = world.sync_table_client("Pages")
            table.create_table()

            def write() -> None:
                try:
                    table.create_entity({**PAGE, "Visits": 0})
                    table.create_entity({**PAGE, "RowKey": "second"})
                finally:
                    table.delete_entity("docs", "home")

            return [write]

        world = replay(make, "A A!")
        assert [row.row_key for row in world.engine.tables.query("Pages").entities] == ["home"]

    def test_the_sdks_own_transaction_is_stepped(self) -> None:
        def make(world: World) -> list[Any]:
            table = world.sync_table_client("Pages")
            table.create_table()
            rows = [("create", {**PAGE, "RowKey": key}) for key in "ab"]
            return [partial(table.submit_transaction, rows), partial(table.submit_transaction, rows)]

        explored = explore(make, expected=Exception, lost_responses=1)
        assert explored.exhaustive

    def test_actors_that_share_a_list_are_explored_as_their_twins(self) -> None:
        def make(world: World, *, is_sync: bool) -> list[Any]:
            seen: list[str] = []
            table, aio_table = world.sync_table_client("Pages"), world.table_client("Pages")
            table.create_table()

            def write(name: str) -> None:
                table.upsert_entity({**PAGE, "RowKey": name})
                seen.append(name)
                table.upsert_entity({**PAGE, "Order": "".join(seen)})

            async def aio_write(name: str) -> None:
                await aio_table.upsert_entity({**PAGE, "RowKey": name})
                seen.append(name)
                await aio_table.upsert_entity({**PAGE, "Order": "".join(seen)})

            return [partial(write, name) if is_sync else aio_write(name) for name in "AB"]

        found = []
        for is_sync in (True, False):
            orders: set[str] = set()

            def note(world: World, orders: set[str] = orders) -> None:
                orders.add(world.engine.tables.get("Pages", "docs", "home").properties["Order"])

            explore(partial(make, is_sync=is_sync), invariant=note)
            found.append(orders)
        assert found[0] == found[1]
        assert {"AB", "BA"} <= found[0]

    def test_a_request_in_another_thread_is_rejected(self) -> None:
        def make(world: World) -> list[Any]:
            table = world.sync_table_client("Pages")
            errors: list[BaseException] = []

            def create() -> None:
                try:
                    table.create_table()
                except BadInput as error:
                    errors.append(error)

            def start() -> None:
                thread = threading.Thread(target=create)
                thread.start()
                thread.join()
                raise errors[0]

            return [start]

        with pytest.raises(Counterexample, match="made in a thread of its own"):
            explore(make)

    def test_a_function_that_returns_a_coroutine_is_rejected(self) -> None:
        def make(world: World) -> list[Any]:
            return [lambda: aio_visit(world.table_client("Pages"))]

        with pytest.raises(Counterexample, match="it returned an awaitable"):
            explore(make)

    @pytest.mark.parametrize("wrong", [aio_visit, 1, "visit", None])
    def test_other_actors_are_rejected(self, wrong: Any) -> None:
        with pytest.raises(BadInput, match="call its `async def` function"):
            explore(lambda world: [wrong])

    def test_where_no_thread_can_start_the_error_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def start(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        make = visitors("ss", visit, aio_visit)
        monkeypatch.setattr(threading.Thread, "start", start)
        with pytest.raises(Counterexample, match="no thread can start here; write it with `async def`"):
            explore(make)

    def test_the_account_is_the_same(self) -> None:
        def make(world: World) -> list[Any]:
            world.sync_storage.tables.create_table("Pages")
            assert world.run(exists(world))
            return [lambda: None]

        async def exists(world: World) -> bool:
            return [table.name async for table in world.storage.tables.list_tables()] == ["Pages"]

        explore(make)
        assert connect().tables.list_tables() is not None
