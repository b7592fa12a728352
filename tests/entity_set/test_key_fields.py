"""Key fields may have any name: every call that takes them as keywords also takes a mapping."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

import tablepatterns
from tablepatterns import (
    Archive,
    ChildSet,
    DataSeries,
    EntitySet,
    IndexEntity,
    InTable,
    IntraPartitionIndex,
    Key,
    LogTail,
    Lookup,
    OneToMany,
    ParallelReads,
    PartitionMove,
    PartitionSpread,
    Period,
    PeriodTables,
    SharedFields,
    Summary,
    WideEntity,
    explain,
    prefix,
)
from tablepatterns.errors import BadInput, BadKey
from tablepatterns.jobs import recount
from tablepatterns.recipe import recipe, stream
from tablepatterns_review.plans.explain import Plans

NOW = datetime(2026, 7, 31, 12, tzinfo=timezone.utc)
PARTITION = {"self": "a", "limit": "b"}
ROW = {"size": 3, "token": "t"}
NAMED = PARTITION | ROW
BY_NAMES = Key("{self}_{limit:escape}", "n_{size:03d}_{token}")


def calls_with_fields() -> Iterator[tuple[str, inspect.Signature]]:
    """Return every public method that takes fields as keywords."""
    classes = [each for name in tablepatterns.__all__ if inspect.isclass(each := getattr(tablepatterns, name))]
    for owner in (*classes, Plans):
        for name in dir(owner):
            method = inspect.getattr_static(owner, name)
            function = method._function if isinstance(method, (recipe, stream)) else method
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            signature = inspect.signature(function)
            if any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()):
                yield f"{owner.__name__}.{name}", signature


@pytest.mark.parametrize(("name", "signature"), [pytest.param(*each, id=each[0]) for each in calls_with_fields()])
def test_every_call_that_takes_fields_takes_them_as_a_mapping(name: str, signature: inspect.Signature) -> None:
    given_by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    first = (each for each in signature.parameters.values() if each.kind in given_by_position)
    # `K` is a mapping, or the class of the key
    of_fields = {
        each.name for each in first if any(kind in str(each.annotation) for kind in ("Mapping[str, Any]", "K | None"))
    }
    assert of_fields & {"key", "values", "slots"}, name


async def test_an_entity_set_takes_fields_of_any_name(storage: Any, new_name: Any) -> None:
    emails = IntraPartitionIndex(Key(BY_NAMES.partition_template, "email_{select}"))
    ages = IndexEntity("where", key=Key(BY_NAMES.partition_template, "age_{where}"))
    total = Summary(Key(BY_NAMES.partition_template, "total"), count="count")
    entities = EntitySet(storage, new_name(), BY_NAMES, derived=[emails, ages, total])
    await entities.insert(NAMED | {"select": "jo", "where": "x", "Age": 1})
    assert (await entities.get(NAMED))["select"] == "jo"
    assert (await entities.get({"size": 3}, limit="b", token="t", self="a"))["Age"] == 1
    assert (await entities.find(emails, PARTITION | {"select": "jo"}))["size"] == 3
    assert await entities.keys_of(ages, PARTITION | {"where": "x"}) == [NAMED]
    assert len(await entities.find_all(ages, PARTITION | {"where": "x"}, max_concurrency=2)) == 1
    assert await entities.totals(total, PARTITION) == {"count": 1}
    assert await recount(entities, total, PARTITION) == []
    assert len([each async for each in entities.range(PARTITION | {"size": 3, "token": prefix("t")})]) == 1
    assert len([each async for each in entities.range(emails, PARTITION, select=["Age"])]) == 1
    assert len((await entities.page(PARTITION, size=1)).items) == 1
    assert len(await entities.take(1, None, PARTITION)) == 1
    assert len(await entities.take(1, PARTITION)) == 1
    assert (await entities.update(lambda each: each.update(Age=2), NAMED))["Age"] == 2
    assert (await ParallelReads(entities).points([NAMED])).entities[0]["Age"] == 2
    assert len((await ParallelReads(entities).ranges([PARTITION])).entities) == 1
    assert (await Lookup(entities).get(NAMED))["Age"] == 2
    Lookup(entities).forget(NAMED)
    with pytest.raises(BadKey, match="pass each field once"):
        await entities.get(NAMED, size=3)
    with pytest.raises(BadInput, match="as one mapping or as keywords, not as list"):
        await entities.get([("size", 3)])


async def test_moves_and_archives_take_fields_of_any_name(storage: Any, new_name: Any) -> None:
    entities = EntitySet(storage, new_name(), BY_NAMES)
    stored = await entities.insert(NAMED | {"Age": 1})
    moved = await PartitionMove(entities).move(stored, {"limit": "c"})
    assert (moved["limit"], moved["Age"]) == ("c", 1)
    assert await Archive(entities, EntitySet(storage, new_name(), BY_NAMES)).get(NAMED) is None


async def test_related_entities_take_fields_of_any_name(storage: Any, new_name: Any) -> None:
    table = new_name()
    parents = EntitySet(storage, table, Key(BY_NAMES.partition_template, "p_{size:03d}"))
    children = ChildSet(storage, table, parents.key, "_{count:02d}")
    await parents.insert(PARTITION | {"size": 3})
    await children.insert(PARTITION | {"size": 3, "count": 1, "Floor": 1})
    owner = PARTITION | {"size": 3}
    assert len([each async for each in children.children(owner)]) == 1
    parent, found = await children.family(owner)
    assert (parent is not None, len(found)) == (True, 1)
    many = OneToMany(parents, children)
    assert len([each async for each in many.children_of(owner)]) == 1
    assert len((await many.family(owner)).children) == 1
    assert (await SharedFields(children, ["Floor"]).change({"Floor": 2}, owner)).written == 1


async def test_series_and_wide_entities_take_fields_of_any_name(storage: Any, new_name: Any) -> None:
    series = DataSeries(storage, new_name(), BY_NAMES, 24, prefix="Hour", value_type=int)
    await series.set(1, 5, NAMED)
    await series.set_many({2: 6}, NAMED)
    assert await series.add(1, 2, NAMED) == 7
    await series.clear(2, NAMED)
    assert await series.read([1, 2], NAMED) == [7, None]
    assert (await series.read(NAMED))[:3] == [None, 7, None]
    assert [key async for key, _ in series.range(PARTITION)] == [NAMED]
    assert await series.delete(NAMED)
    wide = WideEntity(storage, new_name(), BY_NAMES)
    await wide.insert(NAMED | {"Age": 1})
    assert (await wide.get(NAMED, select=["Age"]))["Age"] == 1
    assert (await wide.update(lambda each: each.update(Age=2), NAMED))["Age"] == 2
    assert await wide.sweep(NAMED) == 0


async def test_logs_take_fields_of_any_name(storage: Any, new_name: Any) -> None:
    log = LogTail(storage, new_name(), "{self}_{limit}")
    await log.append(PARTITION | {"At": NOW})
    assert len(await log.latest(1, PARTITION)) == 1
    assert len([each async for each in log.between(NOW, None, PARTITION)]) == 1
    by_time = Key("{self}_{limit}", "{At:inverted}")
    spread = PartitionSpread(storage, new_name(), by_time, buckets=2)
    await spread.insert(PARTITION | {"At": NOW})
    assert await spread.get(PARTITION | {"At": NOW}) is not None
    assert len(await spread.latest(1, PARTITION)) == 1
    assert len([each async for each in spread.range(PARTITION)]) == 1
    assert len(await spread.take(1, PARTITION)) == 1


async def test_period_tables_take_fields_of_any_name(storage: Any, new_name: Any) -> None:
    by_time = Key("{self}_{limit}", "{At:inverted}")
    tables = PeriodTables(
        storage, new_name() + "x", Period.DAY, factory=lambda account, name: EntitySet(account, name, by_time)
    )
    await tables.insert(PARTITION | {"At": NOW})
    assert await tables.get(PARTITION | {"At": NOW}) is not None
    assert await tables.search(PARTITION | {"At": NOW}) is not None
    assert len(await tables.latest(1, PARTITION)) == 1
    assert len([each async for each in tables.range(NOW, NOW, PARTITION)]) == 1


def test_plans_take_fields_of_any_name() -> None:
    by_age = IndexEntity("where", key=Key("{self}_{limit}", "age_{where}"), store=InTable())
    storage = tablepatterns.connect()
    plans = explain(EntitySet(storage, "Names", BY_NAMES, derived=[by_age]))
    assert plans.get(NAMED).query_class is plans.get_many([NAMED]).query_class
    assert plans.range(PARTITION).query_class is not plans.get(NAMED).query_class
    assert "1 for the list" in plans.find_all(by_age, PARTITION | {"where": "x"}).cost
