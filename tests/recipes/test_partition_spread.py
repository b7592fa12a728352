"""Partition spread: many partitions are read as one, in order, by every program with the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import (
    BulkLoad,
    EntityGroupTransaction,
    EntitySet,
    IntraPartitionIndex,
    Key,
    PartitionMove,
    QueryClass,
    between,
    connect,
    prefix,
    prop,
)
from tablepatterns.errors import BadDesign, BadFilter, BadInput, BadKey, EntityAlreadyExists, LoadInterrupted
from tablepatterns.recipes.partition_spread.partition_spread import Buckets, PartitionSpread
from tablepatterns_engine.account import Engine

HOUR = datetime(2014, 7, 31, 18, tzinfo=timezone.utc)
BY_TIME = Key("{Hour:%Y-%m-%dT%H}", "{At:ticks}_{EventId:06d}")
NEWEST_FIRST = Key("{Service}", "{At:inverted}_{EventId:06d}")


def events_of(storage: Any, table: str, key: Key = BY_TIME, **options: Any) -> Any:
    return PartitionSpread(storage, table, key, **({"buckets": 4} | options))


def event(number: int, **fields: Any) -> dict[str, Any]:
    """Return an event of the hour, a second after the one before."""
    return {"Hour": HOUR, "At": HOUR + timedelta(seconds=number), "EventId": number} | fields


def entry(number: int, service: str = "web") -> dict[str, Any]:
    return {"Service": service, "At": HOUR + timedelta(seconds=number), "EventId": number}


async def ids(found: Any) -> list[int]:
    return [each["EventId"] async for each in found]


@pytest.mark.guide("G-253")
async def test_what_one_partition_would_hold_is_spread_over_the_buckets(
    storage: Any, engine: Engine, table_name: str
) -> None:
    events = events_of(storage, table_name)
    for number in range(40):
        await events.insert(event(number))
    rows = [row for row in engine.tables.query(table_name).entities if row.partition_key != "_spread"]
    assert {row.partition_key for row in rows} == {f"{bucket:02d}_2014-07-31T18" for bucket in range(4)}
    assert len(rows) == 40


async def test_all_buckets_are_read_as_one_in_key_order(storage: Any, table_name: str) -> None:
    events = events_of(storage, table_name)
    for number in (7, 3, 9, 1, 8, 2, 0, 6, 4, 5):
        await events.insert(event(number, Even=number % 2 == 0))
    assert await ids(events.range(Hour=HOUR)) == list(range(10))
    span = between(HOUR + timedelta(seconds=3), HOUR + timedelta(seconds=6))
    assert await ids(events.range(Hour=HOUR, At=span)) == [3, 4, 5, 6]
    even: Any = {"where": prop("Even") == True, "select": ["Even"]}  # noqa: E712
    assert await ids(events.range(Hour=HOUR, allow=QueryClass.PARTITION_SCAN, **even)) == [0, 2, 4, 6, 8]
    with pytest.raises(BadFilter, match="allow=QueryClass"):
        await ids(events.range(Hour=HOUR, **even))
    assert [each["EventId"] for each in await events.take(3, Hour=HOUR)] == [0, 1, 2]
    assert [each["EventId"] for each in await events.take(99, Hour=HOUR)] == list(range(10))
    assert await events.take(0, Hour=HOUR) == await events.take(5, Hour=HOUR + timedelta(hours=1)) == []


async def test_an_entity_is_found_with_one_point_query(storage: Any, engine: Engine, table_name: str) -> None:
    events = events_of(storage, table_name)
    written = await events.insert(event(5, Text="started"))
    with engine.ledger.span() as span:
        assert await events.get(**event(5)) == written
        assert await events.get(**event(6)) is None
    assert [record.query_class for record in span.records] == ["point query"] * 2
    with pytest.raises(EntityAlreadyExists):
        await events.insert(event(5))


async def test_the_set_behind_does_all_that_a_set_can(storage: Any, table_name: str) -> None:
    events = events_of(storage, table_name)
    found = await events.insert(event(5, Text="started"))
    found["Text"] = "stopped"
    await events.entity_set.replace(found)
    assert (await events.get(**event(5)))["Text"] == "stopped"
    await events.entity_set.insert_or_merge(events.placed(event(5, Level=3)))
    assert (await events.get(**event(5)))["Level"] == 3
    await events.entity_set.delete(events.placed(event(5)), force=True)
    assert await events.get(**event(5)) is None


async def test_fields_that_say_the_bucket_keep_what_belongs_together_in_one(
    storage: Any, engine: Engine, table_name: str
) -> None:
    key = Key("{Hour:%Y-%m-%dT%H}", "{Device}_{At:ticks}")
    readings = events_of(storage, table_name, key, by=["Device"])
    for number in range(12):
        at = HOUR + timedelta(seconds=number)
        await readings.insert({"Hour": HOUR, "Device": f"d{number % 3}", "At": at, "EventId": number})
    with engine.ledger.span() as span:
        assert await ids(readings.range(Hour=HOUR, Device="d1")) == [1, 4, 7, 10]
    assert (span.totals.requests, span.totals.examined) == (1, 4)
    assert await ids(readings.range(Hour=HOUR, Device=prefix("d"))) == [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]


async def test_the_latest_of_all_buckets_cost_one_query_each(
    storage: Any, engine: Engine, table_name: str, new_name: Any
) -> None:
    log = events_of(storage, table_name, NEWEST_FIRST)
    for number in range(60):
        await log.insert(entry(number))
    await log.insert(entry(99, "api"))
    with engine.ledger.span() as span:
        assert [each["EventId"] for each in await log.latest(10, Service="web")] == list(range(59, 49, -1))
    assert span.totals.requests == span.totals.billable == 4
    assert span.totals.examined <= 40
    with pytest.raises(BadInput, match="does not sort newest first"):
        await events_of(storage, new_name()).latest(3, Hour=HOUR)


async def test_pages_are_read_when_they_are_come_to(backend: Any, engine: Engine, table_name: str) -> None:
    engine = Engine(page_examines=3)
    events = events_of(backend.connect(engine), table_name)
    for number in range(40):
        await events.insert(event(number))
    with engine.ledger.span() as span:
        found = await events.take(4, Hour=HOUR)
    assert [each["EventId"] for each in found] == [0, 1, 2, 3]
    assert 4 <= span.totals.requests <= 5
    assert await ids(events.range(Hour=HOUR)) == list(range(40))


async def test_an_index_within_the_buckets_is_read_across_them(storage: Any, table_name: str) -> None:
    by_text = IntraPartitionIndex(Key("{Bucket:02d}_{Service}", "text_{Text}_{EventId:06d}"))
    log = events_of(
        storage,
        table_name,
        Key("{Service}", "event_{EventId:06d}"),
        factory=lambda account, table, key: EntitySet(account, table, key, derived=[by_text]),
    )
    for number, text in enumerate("bdacfe"):
        await log.insert({"Service": "web", "EventId": number, "Text": text})
    assert [each["Text"] async for each in log.range(by_text, Service="web")] == list("abcdef")
    assert [each["Text"] for each in await log.take(2, by_text, Service="web", Text="c")] == ["c"]


# -- how many buckets


async def test_the_buckets_of_a_table_cannot_be_changed_unnoticed(
    storage: Any, engine: Engine, table_name: str
) -> None:
    await events_of(storage, table_name).insert(event(1))
    for options in ({"buckets": 8}, {"by": ["EventId"]}):
        other = events_of(storage, table_name, **options)
        with engine.ledger.span() as span:
            for call in (
                other.insert(event(2)),
                other.get(**event(1)),
                other.take(3, Hour=HOUR),
                ids(other.range(Hour=HOUR)),
                other.entity_set.insert(other.placed(event(2))),
            ):
                with pytest.raises(BadDesign, match="would be in other buckets; use those, or load the entities"):
                    await call
            with pytest.raises(Exception, match="would be in other buckets"):
                await BulkLoad(other.entity_set).load(map(other.placed, [event(2)]))
        assert span.totals.written == 0
    assert await ids(events_of(storage, table_name).range(Hour=HOUR)) == [1]


async def test_entities_are_spread_again_by_loading_them_into_another_table(storage: Any, new_name: Any) -> None:
    old, new = events_of(storage, new_name()), events_of(storage, new_name(), buckets=16)
    for number in range(20):
        await old.insert(event(number))
    stored = [entity async for entity in old.entity_set.scan()]
    assert (await BulkLoad(new.entity_set).load(map(new.placed, stored))).entities == 20
    assert await ids(new.range(Hour=HOUR)) == list(range(20))
    assert (await new.get(**event(7)))["EventId"] == 7


async def test_how_entities_are_spread_is_asked_once(storage: Any, engine: Engine, table_name: str) -> None:
    events, same = events_of(storage, table_name), events_of(storage, table_name)
    await events.entity_set.create_table()
    with engine.ledger.span() as span:
        await events.insert(event(1))
    assert [record.operation for record in span.records] == ["QueryEntity", "InsertEntity", "InsertEntity"]
    with engine.ledger.span() as span:
        await events.insert(event(2))
        await events.take(2, Hour=HOUR)
    assert span.totals.requests == 1 + 4
    with engine.ledger.span() as span:
        await same.insert(event(3))
    assert span.totals.requests == 2
    with engine.ledger.span() as span:
        await events_of(storage, table_name).take(2, Hour=HOUR)
    assert span.totals.requests == 1 + 4


async def test_a_table_that_was_dropped_can_be_spread_otherwise(storage: Any, engine: Engine, table_name: str) -> None:
    events = events_of(storage, table_name)
    await events.insert(event(1))
    await events.entity_set.drop_table()
    await events.insert(event(2))
    with pytest.raises(BadDesign):
        await events_of(storage, table_name, buckets=5).insert(event(3))
    await events.entity_set.drop_table()
    await events_of(storage, table_name, buckets=5).insert(event(3))
    with pytest.raises(BadDesign):
        await events.insert(event(4))


async def test_what_cannot_be_asked_is_rejected_before_any_request(
    storage: Any, engine: Engine, table_name: str
) -> None:
    events = events_of(storage, table_name)
    with engine.ledger.span() as span:
        for call in (ids(events.range()), events.take(3, Hour="noon"), events.insert({"Hour": HOUR}), events.get()):
            with pytest.raises(BadKey):
                await call
        with pytest.raises(BadInput, match="at least 0"):
            await events.take(-1, Hour=HOUR)
    assert span.totals.requests == 0


@pytest.mark.parametrize("options", [{"buckets": 0}, {"buckets": -1}, {"by": []}, {"by": ["Text"]}, {"bucket": "At"}])
def test_a_spread_that_cannot_work_is_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(BadDesign):
        events_of(connect(), "Events", **options)


@pytest.mark.parametrize("bucket", range(4))
async def test_an_entity_is_written_to_the_bucket_where_it_is_found_or_not_at_all(
    storage: Any, engine: Any, new_name: Any, bucket: int
) -> None:
    events = PartitionSpread(storage, new_name(), Key("{Site}", "{Number:03d}"), buckets=4)
    transaction = EntityGroupTransaction(storage, events.entity_set.table.name)
    fields = {"Site": "york", "Number": 7}
    writes: list[Any] = [
        lambda entity: events.entity_set.insert(entity),
        lambda entity: events.entity_set.insert_or_replace(entity),
        lambda entity: events.entity_set.insert_or_merge(entity),
        lambda entity: BulkLoad(events.entity_set).load([entity]),
        lambda entity: transaction.commit(events.entity_set.inserting(entity)),
    ]
    for write in writes:
        with engine.ledger.span() as span:
            if bucket == events.placed(fields)["Bucket"]:
                await write({**fields, "Bucket": bucket})
                assert await events.get(fields) is not None
                await events.delete(fields, force=True)
            else:
                with pytest.raises((BadKey, LoadInterrupted), match=r"pass placed\(entity\)"):
                    await write({**fields, "Bucket": bucket})
                assert span.totals.requests == 0
        assert [entity async for entity in events.range(Site="york")] == []


def test_the_bucket_of_a_new_entity_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    events, number_of, calls = events_of(connect(), "Events", Key("{Site}", "{Number:03d}")), Buckets.of, list[Any]()

    def counted(buckets: Buckets, fields: Mapping[str, Any]) -> int:
        calls.append(fields)
        return number_of(buckets, fields)

    monkeypatch.setattr(Buckets, "of", counted)
    fields = [{"Site": "york", "Number": number} for number in range(3)]
    events.insert(fields[0])
    events.insert_or_replace(fields[1])
    EntityGroupTransaction(events.account, "Events").commit(events.inserting(fields[2]))
    assert len(calls) == 3


async def test_a_move_to_another_partition_names_the_new_bucket(storage: Any, engine: Any, new_name: Any) -> None:
    events = PartitionSpread(storage, new_name(), Key("{Site}", "{Number:03d}"), buckets=4, by=["Site"])
    (old, new) = ({"Site": site, "Number": 7} for site in ("york", "leeds"))
    event = await events.insert(old)
    assert events.placed(old)["Bucket"] != events.placed(new)["Bucket"]
    move = PartitionMove(events.entity_set, queue=new_name().lower())
    with engine.ledger.span() as span, pytest.raises(BadKey, match=r"pass placed\(entity\)"):
        await move.move(event, Site="leeds")
    assert span.totals.requests == 0
    await move.move(event, events.placed(new))
    assert [await events.get(old), (await events.get(new))["Site"]] == [None, "leeds"]


async def test_what_one_spread_has_can_be_loaded_into_another(storage: Any, new_name: Any) -> None:
    key = Key("{Site}", "{Number:03d}")
    few, many = (PartitionSpread(storage, new_name(), key, buckets=buckets) for buckets in (2, 8))
    keys = [{"Site": "york", "Number": number} for number in range(20)]
    for fields in keys:
        await few.insert(fields)
    await BulkLoad(many.entity_set).load([many.placed(entity) async for entity in few.scan()])
    assert None not in await many.get_many(keys)


@pytest.mark.parametrize(
    "make",
    [
        lambda account, table, key: EntitySet(account, table, BY_TIME),
        lambda account, table, key: EntitySet(account, "Others", key),
        lambda account, table, key: EntitySet(connect(), table, key),
        lambda account, table, key: None,
    ],
)
def test_a_factory_must_return_a_set_of_the_account_the_table_and_the_key(make: Any) -> None:
    with pytest.raises(BadDesign, match="use the account, the table and the key that the factory receives"):
        events_of(connect(), "Events", factory=make)


@examples(15)
@given(
    texts=st.lists(st.text(max_size=3), unique=True, max_size=20), buckets=st.integers(1, 7), count=st.integers(0, 9)
)
async def test_any_keys_come_in_the_order_of_the_service(
    storage: Any, engine: Engine, new_name: Any, texts: list[str], buckets: int, count: int
) -> None:
    key = Key("{Service}", "{Text:escape}")
    spread, plain = events_of(storage, new_name(), key, buckets=buckets), EntitySet(storage, new_name(), key)
    for text in texts:
        await spread.insert({"Service": "web", "Text": text})
        await plain.insert({"Service": "web", "Text": text})
    in_order = [each["Text"] async for each in plain.range(Service="web")]
    assert [each["Text"] async for each in spread.range(Service="web")] == in_order
    assert [each["Text"] for each in await spread.take(count, Service="web")] == in_order[:count]
