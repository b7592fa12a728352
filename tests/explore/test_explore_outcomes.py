"""Explore: the outcomes are those of all schedules, each run from its start, with every request executed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

import pytest
from azure.core.exceptions import HttpResponseError
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import EntitySet, InterPartitionIndex, Key, Summary
from tablepatterns_explore import World, explore
from tablepatterns_explore.choice import Chance, Choice
from tablepatterns_explore.request_points import ready_loop
from tablepatterns_explore.run import attempt
from tablepatterns_explore.scenario import Scenario
from tablepatterns_explore.search import Bound

Step: TypeAlias = Callable[[World, list[Any]], Coroutine[Any, Any, None]]
Outcomes: TypeAlias = set[str]


# ------------------------------------------------------------------ what actors do


async def insert(world: World, seen: list[Any]) -> None:
    await world.table_client("Pages").create_entity({"PartitionKey": "p", "RowKey": "1", "Seen": repr(seen)})


async def upsert(world: World, seen: list[Any]) -> None:
    await world.table_client("Pages").upsert_entity({"PartitionKey": "p", "RowKey": "1", "Seen": repr(seen)})


async def count(world: World, seen: list[Any]) -> None:
    seen.append([row["Seen"] async for row in world.table_client("Pages").query_entities("PartitionKey eq 'p'")])


async def remove(world: World, seen: list[Any]) -> None:
    await world.table_client("Pages").delete_entity("p", "1")


async def transact(world: World, seen: list[Any]) -> None:
    rows = [{"PartitionKey": "q", "RowKey": row, "Seen": len(seen)} for row in "12"]
    await world.table_client("Others").submit_transaction([("create", row) for row in rows])


async def create_table(world: World, seen: list[Any]) -> None:
    await world.table_client("New").create_table()


async def insert_into_new_table(world: World, seen: list[Any]) -> None:
    await world.table_client("New").create_entity({"PartitionKey": "p", "RowKey": "1", "Seen": repr(seen)})


async def drop_new_table(world: World, seen: list[Any]) -> None:
    await world.table_client("New").delete_table()


async def drop_table(world: World, seen: list[Any]) -> None:
    await world.table_client("Others").delete_table()


async def list_tables(world: World, seen: list[Any]) -> None:
    seen.append([table.name async for table in world.storage.tables.list_tables()])


async def send(world: World, seen: list[Any]) -> None:
    await world.storage.queues.get_queue_client("work").send_message(f"{len(seen)}")


async def send_another(world: World, seen: list[Any]) -> None:
    await world.storage.queues.get_queue_client("work").send_message(f"another {len(seen)}")


async def receive(world: World, seen: list[Any]) -> None:
    message = await world.storage.queues.get_queue_client("work").receive_message(visibility_timeout=30)
    seen.append(message and message.content)


async def clear(world: World, seen: list[Any]) -> None:
    await world.storage.queues.get_queue_client("work").clear_messages()


async def upload(world: World, seen: list[Any]) -> None:
    await world.storage.blobs.get_blob_client("photos", "a").upload_blob(repr(seen).encode(), overwrite=True)


async def download(world: World, seen: list[Any]) -> None:
    stream = await world.storage.blobs.get_blob_client("photos", "a").download_blob()
    seen.append(await stream.readall())


async def sleep(world: World, seen: list[Any]) -> None:
    await world.storage.sleep(40)


STEPS: list[Step] = [
    *(insert, upsert, count, remove, transact, drop_table, list_tables),
    *(create_table, insert_into_new_table, drop_new_table),
    *(send, send_another, receive, clear, upload, download, sleep),
]


async def prepare(world: World) -> None:
    world.engine.deletion_seconds = 30
    for table in ("Pages", "Others"):
        await world.table_client(table).create_table()
    await world.storage.queues.create_queue("work")
    await world.storage.queues.get_queue_client("work").send_message("first")
    await world.storage.blobs.create_container("photos")


def at_once(*steps: Step, share: bool = False) -> Step:
    """Return a step that takes others concurrently. Each has a list of its own, unless they share one."""

    async def gather(world: World, seen: list[Any]) -> None:
        each = [seen if share else [] for _ in steps]
        calls = (take(step, world, own) for step, own in zip(steps, each, strict=True))
        await world.storage.gather(*calls, independent=not share)
        seen.extend([] if share else each)

    return gather


async def act(world: World, steps: list[Step]) -> list[Any]:
    """Take steps, and return what they learned; an error of the service is learned, too."""
    seen: list[Any] = []
    for step in steps:
        await take(step, world, seen)
    return seen


async def take(step: Step, world: World, seen: list[Any]) -> None:
    try:
        await step(world, seen)
    except HttpResponseError as error:
        seen.append(error.status_code)


def actors(*programs: list[Step]) -> Callable[[World], list[Coroutine[Any, Any, Any]]]:
    def make(world: World) -> list[Coroutine[Any, Any, Any]]:
        world.run(prepare(world))
        return [act(world, steps) for steps in programs]

    return make


# ------------------------------------------------------------------ what comes of it


def outcome_of(world: World) -> str:
    """Return all that can be seen of an account and its actors in the end."""
    engine = world.engine
    rows = {
        name: [(row.row_key, row.properties) for row in engine.tables.query(name).entities]
        for name in engine.tables.names()[0]
    }
    messages = {
        queue.name: (engine.queues.count(queue.name), [each.text for each in engine.queues.peek(queue.name, 32)])
        for queue in engine.queues.page()[0]
    }
    blobs = [bytes(engine.blobs.get("photos", "a").content)] if has_blob(world) else []
    raised = {name: type(error).__name__ for name, error in world.raised.items()}
    return repr((rows, messages, blobs, world.returned, raised, sorted(world.crashed)))


def has_blob(world: World) -> bool:
    try:
        world.engine.blobs.get("photos", "a")
    except Exception:  # noqa: BLE001 - there is no container, or no blob
        return False
    return True


def each_alone(make: Any, **bound: Any) -> Iterator[str]:
    """Yield the outcomes of all schedules, of which nothing is shared and none is left out."""
    scenario, within = Scenario(make, expected=Exception), Bound(**bound)
    pending: list[tuple[Choice, ...]] = [()]
    with ready_loop(), Chance() as chance:
        world = World(chance)
        while pending:
            choices = pending.pop()
            with attempt(scenario, world) as run:
                run.repeat(choices)
                if not run.running:
                    yield outcome_of(run.world)
                options = within.options(run) if run.running else []
                pending += [(*choices, choice) for choice in options if within.permits(run, choice)]


def assert_same_outcomes(make: Any, **bound: Any) -> None:
    found: Outcomes = set()
    assert explore(make, invariant=lambda world: found.add(outcome_of(world)), expected=Exception, **bound).exhaustive
    assert found == set(each_alone(make, **bound))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([insert, count], [upsert, remove]),
        ([transact, count], [drop_table, list_tables]),
        ([create_table, insert], [list_tables, count]),
        ([create_table, drop_new_table], [insert_into_new_table, list_tables]),
        ([send, receive], [send_another]),
        ([send, send], [receive, clear]),
        ([upload, download], [download, upload]),
        ([receive, sleep, receive], [send, receive]),
        ([at_once(insert, transact), list_tables], [count, upsert]),
        ([at_once(insert, count, share=True), insert], [upsert]),
        ([at_once(send, at_once(upload, count)), receive], [receive]),
        ([at_once(sleep, receive), upsert], [send_another, at_once(insert, count)]),
    ],
)
@pytest.mark.parametrize(
    "bound",
    [
        {},
        pytest.param({"crashes": 1}, marks=pytest.mark.nightly),
        pytest.param({"lost_responses": 1, "preemptions": 1}, marks=pytest.mark.nightly),
    ],
    ids=str,
)
@pytest.mark.few(6)
def test_no_outcome_of_two_actors_is_missed(first: list[Step], second: list[Step], bound: dict[str, Any]) -> None:
    assert_same_outcomes(actors(first, second), **bound)


programs = st.lists(st.sampled_from(STEPS), min_size=1, max_size=2)


@examples(10)
@given(st.lists(st.sampled_from(STEPS), min_size=2, max_size=3), programs, st.booleans())
def test_no_outcome_of_concurrent_calls_is_missed(calls: list[Step], after: list[Step], share: bool) -> None:
    assert_same_outcomes(actors([at_once(*calls, share=share)], after[:1]))


@examples(20)
@given(programs, programs, programs)
def test_no_outcome_of_random_actors_is_missed(first: list[Step], second: list[Step], third: list[Step]) -> None:
    assert_same_outcomes(actors(first, second, third[:1]))


def test_no_outcome_of_a_recipe_is_missed() -> None:
    def make(world: World) -> list[Coroutine[Any, Any, Any]]:
        by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), table="ByEmail")
        payroll = Summary(Key("{Department}", "department"), count="Count", sums={"Salary": "Payroll"})
        world.run(world.storage.queues.create_queue("work"))
        staff = EntitySet(
            world.storage, "Staff", Key("{Department}", "{Email}"), derived=[by_email, payroll], intents="work"
        )
        return [staff.insert({"Department": "Sales", "Email": email, "Salary": 5}) for email in ("jo", "jo")]

    assert_same_outcomes(make, preemptions=1)
