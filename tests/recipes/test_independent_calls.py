"""Recipes whose concurrent calls are independent end the same if the explorer tries every order of these calls."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import tablepatterns
from support.blob_logs import fill, log_of, minute
from support.call_orders import assert_order_makes_no_difference, assert_same_endings, endings
from support.encrypted_staff import NEW, OLD, encrypted
from tablepatterns import (
    DataSeries,
    EntitySet,
    InBlobs,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    KeyRotation,
    LargeProperties,
    LargePropertyStore,
    LogTail,
    OneToMany,
    ParallelReads,
    Period,
    PeriodTables,
    Rekey,
    WideEntity,
    rate_limit,
)
from tablepatterns.jobs import backfill, migrate, repair, verify
from tablepatterns.jobs.migration import check_rows
from tablepatterns_explore import World
from tablepatterns_explore.world import START, SteppedStorage

KEY = Key("{Department}", "id_{Number}")
ONE, TWO = ({"Department": "Sales", "Number": number} for number in "12")
BOTH = [ONE, TWO]
BY_NAME = IntraPartitionIndex(Key("{Department}", "name_{Name}_{Number}"))


@dataclass
class Person:
    Department: str
    Number: str
    Name: str


Make = Callable[[World], list[Any]]
CASES: dict[str, Make] = {}
"""The actors that make the concurrent calls, by the module and the function that declares the calls as independent."""


def case(*sites: str) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        CASES.update(dict.fromkeys(sites, make))
        return make

    return add


def staff(world: World, *derived: Any, entities: Any = (), **options: Any) -> Any:
    """Return a set with entities that have no derived rows yet."""
    made = EntitySet(world.storage, "Staff", KEY, derived=derived, **options)
    world.prepare(made.create_table())
    for name in ("staff-intents", "moves", "moves-poison"):
        world.engine.queues.create(name)
    plain = EntitySet(world.storage, "Staff", KEY)
    for entity in entities:
        world.prepare(plain.insert({**entity, "Name": "jo"}))
    return made


def rename(entities: Any, key: Any = TWO) -> Any:
    return entities.update(lambda entity: entity.update(Name="jones"), **key)


@case("entity_set._rows_at")
def many_reads(world: World) -> list[Any]:
    entities = staff(world, entities=BOTH)
    return [entities.get_many([*BOTH, {**ONE, "Number": "3"}]), rename(entities)]


@case("hooks._many")
def many_reads_of_wide_entities(world: World) -> list[Any]:
    wide = WideEntity(world.storage, "Wide", KEY)
    for key in BOTH:
        world.prepare(wide.insert({**key, "Name": "jo"}))
    return [wide.get_many([*BOTH, {**ONE, "Number": "3"}]), rename(wide)]


@case("derived_data.compare")
def verification(world: World) -> list[Any]:
    return [verify(staff(world, BY_NAME, entities=BOTH), BY_NAME)]


@case("migration.check_page")
def row_check(world: World) -> list[Any]:
    entities = staff(world, mappings=[LargeProperties(["Photo", "Report"], container="files", above=0)])
    for key in BOTH:
        world.prepare(entities.insert({**key, "Photo": b"photo", "Report": b"report"}))
    return [check_rows(entities)]


@case("migration.rewrite_stale")
def migration(world: World) -> list[Any]:
    entities = staff(world, entities=BOTH, model=Person, versions=[(1, dict)])
    return [migrate(entities), entities.update(Person("Sales", "2", "jo"), Name="jones")]


@case("repairer._insert_missing")
def backfill_of_two(world: World) -> list[Any]:
    entities = staff(world, BY_NAME, entities=[ONE, {**TWO, "Department": "Marketing"}])
    return [backfill(entities, BY_NAME), rename(entities, ONE)]


@case("repairer._repair_in_partition")
def repair_of_two(world: World) -> list[Any]:
    entities = staff(world, BY_NAME, entities=BOTH)
    return [repair(entities, BY_NAME, world.run(verify(entities, BY_NAME)))]


@case("intents._at_once")
def derived_rows(world: World) -> list[Any]:
    indexes = (InterPartitionIndex(Key(f"{name}_{{Name}}", "{Number}"), table=name) for name in ("One", "Two"))
    entities = staff(world, *indexes)
    return [entities.insert({**ONE, "Name": "jo"})]


@case("index_entities.page")
def lists_in_blobs(world: World) -> list[Any]:
    by_name = IndexEntity("Name", store=InBlobs("lists"))
    entities = staff(world, by_name)
    world.prepare(world.storage.container("lists").create())
    for entity, name in zip(BOTH, ("jo", "jones"), strict=True):
        world.prepare(entities.insert({**entity, "Name": name}))
    return [verify(entities, by_name)]


@case("one_to_many.family")
def family(world: World) -> list[Any]:
    children = EntitySet(world.storage, "Staff", Key("{Department}", "empid_{Number}"))
    parents = EntitySet(world.storage, "Staff", Key("{Department}", "department"))
    world.prepare(children.create_table())
    world.prepare(parents.insert({"Department": "Sales"}))
    return [OneToMany(parents, children).family(Department="Sales"), children.insert(ONE)]


@case("period_tables.preceding", "data_series.preceding")
def points(world: World) -> list[Any]:
    key = Key("{Employee}", "{Day:%Y-%m-%d}")

    def hours(account: Any, table: str) -> Any:
        return DataSeries(account, table, key, 24, prefix="Hour", value_type=int)

    series = hours(world.storage, "Hours")
    world.prepare(series.table.create())
    tables: Any = PeriodTables(world.storage, "Hours", Period.DAY, factory=hours, at="Day")
    noon = START + timedelta(hours=1)
    return [
        series.preceding(3, noon, "Day", Employee="jo"),
        series.set(0, 7, Employee="jo", Day=START.date()),
        tables.preceding(3, noon, Employee="jo"),
    ]


@case("log_tail.latest_of_each")
def latest(world: World) -> list[Any]:
    log = LogTail(world.storage, "Claims", "{User}")
    world.prepare(log.create_table())
    return [log.latest_of_each(1, [{"User": "jo"}, {"User": "bob"}]), log.append({"User": "bob"})]


@case("key_rotation.rotate_page")
def rotation(world: World) -> list[Any]:
    old, new = (staff(world, mappings=[encrypted("Salary", keys=keys)]) for keys in (OLD, [NEW, OLD]))
    for entity in BOTH:
        world.prepare(old.insert({**entity, "Salary": 1}))
    return [KeyRotation(new).rotate(), old.delete(TWO, force=True)]


@case("key_rotation._stored")
def keys_of_wide_entities(world: World) -> list[Any]:
    wide = WideEntity(world.storage, "Wide", KEY, mappings=[encrypted("Salary")])
    world.engine.tables.create("Wide")
    for entity in BOTH:
        world.prepare(wide.insert({**entity, "Salary": 1}))
    return [KeyRotation(wide).in_use(), wide.delete(TWO, force=True)]


def rekey(world: World) -> Any:
    new = EntitySet(world.storage, "ByName", Key("{Name}", "{Number}"))
    world.prepare(new.create_table())
    return Rekey(staff(world, entities=BOTH), new, queue="moves", name="staff", lease=60)


@case("rekey._copy_batch")
def copy_to_new_keys(world: World) -> list[Any]:
    return [rekey(world).copy()]


@case("rekey.compare_page")
def verification_of_new_keys(world: World) -> list[Any]:
    return [rekey(world).verify()]


def interrupted(world: World, move: Any) -> list[Any]:
    """Return what processes the message of a writer of two entities, of which only one was written."""
    writer = move.entities._writer

    async def interrupt() -> None:
        await writer.begin([writer.claim({**entity, "Name": "jo"}) for entity in (ONE, {**TWO, "Number": "3"})])
        await world.storage.sleep(60)

    world.prepare(interrupt())
    return [move.process_intents()]


@case("dual_writer.handle")
def interrupted_update(world: World) -> list[Any]:
    move = rekey(world)
    world.prepare(move.copy())
    world.prepare(move.verify())
    return interrupted(world, move)


def interrupted_insert(world: World) -> list[Any]:
    """The same, where the entity has no copy yet: 30,000 states if all orders are tried."""
    move = rekey(world)
    world.prepare(move.verify())
    return interrupted(world, move)


@case("rekey.clean_up")
def deletion_of_old_entities(world: World) -> list[Any]:
    move = rekey(world)

    async def commit() -> None:
        for step in (move.copy, move.verify, move.cut_over, move.verify, move.commit):
            await step()

    world.prepare(commit())
    return [move.clean_up(), move.old_set.delete(TWO, force=True)]


@case("blob_log.drop_before")
def deletion_of_blobs(world: World) -> list[Any]:
    log = log_of(world.storage, "logs")
    world.prepare(fill(log, 0, 60, 120))
    world.prepare(log.flush())
    return [log.drop_before(minute(180)), log.drop_before(minute(120))]


@case("large_properties.decode")
def downloads(world: World) -> list[Any]:
    entities = staff(world, mappings=[LargeProperties(["Photo", "Report"], container="files", above=0)])
    world.prepare(entities.insert({**ONE, "Photo": b"a", "Report": b"b"}))
    return [entities.get(ONE), entities.update(lambda entity: entity.update(Photo=b"c"), **ONE)]


@case("large_values._collect")
def collection(world: World) -> list[Any]:
    entities = staff(world, mappings=[LargeProperties(["Photo", "Report"], container="files", above=0)])
    world.prepare(entities.insert({**ONE, "Photo": b"a", "Report": b"b"}))
    world.prepare(EntitySet(world.storage, "Staff", KEY).delete(ONE, force=True))
    store, hour = LargePropertyStore(entities), timedelta(hours=1)

    async def collect() -> list[Any]:
        found = []
        for _ in range(2):
            await world.storage.sleep(4000)
            found.append(await store.collect_orphans(grace=hour))
        return found

    return [collect()]


@case("large_values._blobs_moved")
def collection_of_wide_entities(world: World) -> list[Any]:
    large = LargeProperties(["Photo"], container="files", above=0)
    wide = WideEntity(world.storage, "Wide", KEY, mappings=[large])
    world.engine.tables.create("Wide")
    for entity in BOTH:
        world.prepare(wide.insert({**entity, "Photo": b"a"}))
        world.prepare(wide.delete(entity, force=True))
    return [LargePropertyStore(wide).verify(grace=timedelta(0))]


@case("parallel_reads._read_all")
def parallel_reads(world: World) -> list[Any]:
    entities = staff(world, entities=BOTH)
    return [ParallelReads(entities).points(BOTH), rename(entities)]


@contextmanager
def observed() -> Iterator[set[str]]:
    """Yield the modules and functions that make independent calls."""
    gather, seen = SteppedStorage.gather, set[str]()

    async def note(storage: SteppedStorage, *calls: Any, independent: bool = False, **options: Any) -> Any:
        if independent and len(calls) > 1:
            frame: Any = sys._getframe(1)
            while frame.f_code.co_filename == rate_limit.__file__:
                frame = frame.f_back
            code = frame.f_code
            seen.add(f"{Path(code.co_filename).stem}.{code.co_name}")
        return await gather(storage, *calls, independent=independent, **options)

    with patch.object(SteppedStorage, "gather", note):
        yield seen


MANY_ORDERS = {"dual_writer.handle"}
"""The calls of these sites have thousands of orders: all are tried with --nightly, and one of them in every run."""


@pytest.mark.parametrize("site", CASES)
@pytest.mark.few(6)
def test_the_order_of_independent_calls_makes_no_difference(site: str, pytestconfig: pytest.Config) -> None:
    with observed() as seen:
        if site in MANY_ORDERS and not pytestconfig.getoption("nightly"):
            endings(CASES[site], preemptions=1)
        else:
            assert_order_makes_no_difference(CASES[site], preemptions=1)
    assert site in seen


@pytest.mark.nightly
@pytest.mark.parametrize("fault", ["crashes", "lost_responses"])
@pytest.mark.parametrize("site", CASES)
def test_the_order_of_independent_calls_makes_no_difference_after_a_fault(site: str, fault: str) -> None:
    # Without preemptions, there may be no two orders to merge
    assert_same_endings(CASES[site], preemptions=0, **{fault: 1})


@pytest.mark.nightly
def test_the_order_of_copies_of_a_processed_message_makes_no_difference() -> None:
    assert_order_makes_no_difference(interrupted_insert, preemptions=1)


def test_all_independent_calls_are_explored() -> None:
    package = Path(tablepatterns.__file__).parent
    paths = [path for path in package.rglob("*.py") if "testing" not in path.parts]
    assert {site for path in paths for site in declared(path)} == CASES.keys()


def declared(path: Path) -> Iterator[str]:
    """Yield the functions of a module that declare concurrent calls as independent."""
    text = path.read_text(encoding="utf-8")
    if path.stem != "rate_limit" and ("independent=" in text or "pool." in text):
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.AsyncFunctionDef) and any(map(is_independent, own_calls(function))):
                yield f"{path.stem}.{function.name}"


def own_calls(function: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a function, without those of functions inside it."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from own_calls(node)


def is_independent(call: ast.Call) -> bool:
    """Whether a call declares calls as independent, itself or by a `Pool`."""
    text = ast.unparse(call.func)
    is_of_pool = text.endswith(("pool.map", "pool.gather"))
    return is_of_pool or any(keyword.arg == "independent" for keyword in call.keywords)
