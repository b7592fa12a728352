"""Log tail: the newest entries first, whatever their timestamps, and nothing is overwritten."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import IntraPartitionIndex, Key, LogTail
from tablepatterns.errors import BadInput, BadKey, EntityAlreadyExists
from tablepatterns_engine.account import Engine

NOON = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)


def claims_of(storage: Any, table: str, **options: Any) -> Any:
    return LogTail(storage, table, "{Employee}", at="ClaimedAt", **options)


def claim(moment: datetime, amount: float = 1.0, employee: str = "000223") -> dict[str, Any]:
    return {"Employee": employee, "ClaimedAt": moment, "Amount": amount}


@pytest.mark.guide("G-202", "G-203", "G-204")
async def test_the_row_key_is_the_guides_inverted_ticks_and_an_id(storage: Any, table_name: str) -> None:
    log = claims_of(storage, table_name)
    entry = await log.append(claim(datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc)))
    ticks, _, ident = entry.row_key.partition("_")
    assert ticks == "2519936321679999999"
    assert UUID(ident) == entry["EntryId"]
    assert log.key.parse(*entry.key)["ClaimedAt"] == entry["ClaimedAt"]


@pytest.mark.guide("G-206", "G-208", "G-211")
async def test_the_latest_come_newest_first(storage: Any, table_name: str) -> None:
    log = claims_of(storage, table_name)
    for minute in (3, 1, 4, 0, 2):
        await log.append(claim(NOON + timedelta(minutes=minute), amount=minute))
    await log.append(claim(NOON + timedelta(hours=1), employee="000224"))
    assert [entry["Amount"] for entry in await log.latest(3, Employee="000223")] == [4, 3, 2]
    assert [entry["Amount"] for entry in await log.latest(9, Employee="000223")] == [4, 3, 2, 1, 0]
    assert await log.latest(5, Employee="nobody") == []
    assert await log.latest(0, Employee="000223") == []


@pytest.mark.guide("G-206", "G-211", "G-076")
async def test_latest_is_one_query_of_one_partition_that_reads_no_more_than_asked(
    storage: Any, engine: Engine, table_name: str
) -> None:
    log = claims_of(storage, table_name)
    for minute in range(30):
        await log.append(claim(NOON + timedelta(minutes=minute)))
    with engine.ledger.span() as span:
        await log.latest(10, Employee="000223")
    (record,) = span.records
    assert (record.billable, record.partition, record.examined, record.returned) == (1, "000223", 10, 10)


@pytest.mark.guide("G-207", "G-305", "G-298")
async def test_latest_follows_pages_that_the_service_cuts_short(backend: Any, engine: Engine, table_name: str) -> None:
    engine = Engine(page_examines=3)
    log = claims_of(backend.connect(engine), table_name)
    for minute in range(12):
        await log.append(claim(NOON + timedelta(minutes=minute), amount=minute))
    with engine.ledger.span() as span:
        latest = await log.latest(7, Employee="000223")
    assert [entry["Amount"] for entry in latest] == [11, 10, 9, 8, 7, 6, 5]
    assert span.totals.requests == 3


@pytest.mark.guide("G-209")
async def test_two_entries_of_one_instant_are_both_kept(storage: Any, table_name: str) -> None:
    log = claims_of(storage, table_name)
    for amount in (1, 2, 3):
        await log.append(claim(NOON, amount))
    assert {entry["Amount"] for entry in await log.latest(10, Employee="000223")} == {1, 2, 3}


async def test_an_id_of_ones_own_makes_the_append_idempotent(storage: Any, table_name: str) -> None:
    log = claims_of(storage, table_name)
    entry = claim(NOON) | {"EntryId": uuid4()}
    await log.append(entry)
    with pytest.raises(EntityAlreadyExists):
        await log.append(entry)
    assert len(await log.latest(10, Employee="000223")) == 1


@pytest.mark.guide("G-210")
async def test_an_instant_without_a_time_zone_is_rejected(storage: Any, table_name: str) -> None:
    with pytest.raises(BadKey, match="ClaimedAt"):
        await claims_of(storage, table_name).append(claim(datetime(2014, 8, 22)))


@pytest.mark.guide("G-210")
async def test_an_instant_of_another_zone_is_the_same_instant(storage: Any, table_name: str) -> None:
    log = claims_of(storage, table_name)
    east = timezone(timedelta(hours=5, minutes=30))
    entry = await log.append(claim(NOON.astimezone(east)))
    assert entry.row_key.startswith((await log.append(claim(NOON))).row_key[:19])
    (first, second) = await log.latest(2, Employee="000223")
    assert first["ClaimedAt"] == second["ClaimedAt"] == NOON


async def test_without_an_instant_an_entry_is_of_now(storage: Any, engine: Engine, table_name: str) -> None:
    log = claims_of(storage, table_name)
    await log.append({"Employee": "000223", "Amount": 1.0})
    engine.clock.advance(60)
    await log.append({"Employee": "000223", "Amount": 2.0})
    newest, oldest = await log.latest(2, Employee="000223")
    assert [newest["Amount"], oldest["Amount"]] == [2.0, 1.0]
    assert timedelta(seconds=60) <= newest["ClaimedAt"] - oldest["ClaimedAt"] < timedelta(seconds=90)


async def test_a_span_of_time_has_both_its_ends_newest_first(storage: Any, engine: Engine, table_name: str) -> None:
    log = claims_of(storage, table_name)
    for minute in range(10):
        await log.append(claim(NOON + timedelta(minutes=minute), amount=minute))
    low, high = NOON + timedelta(minutes=2), NOON + timedelta(minutes=5)
    with engine.ledger.span() as span:
        found = [entry["Amount"] async for entry in log.between(low, high, Employee="000223")]
    assert found == [5, 4, 3, 2]
    assert span.totals.examined == 4
    assert [entry["Amount"] async for entry in log.between(high, Employee="000223")] == [9, 8, 7, 6, 5]


async def test_a_log_tail_shares_its_partition_and_can_be_indexed(storage: Any, table_name: str) -> None:
    by_amount = IntraPartitionIndex(Key("{Employee}", "amount_{Amount:float}_{EntryId:uuid}"))
    log = claims_of(storage, table_name, row_prefix="claim_", derived=[by_amount])
    for minute, amount in enumerate((30.0, 10.0, 20.0)):
        await log.append(claim(NOON + timedelta(minutes=minute), amount))
    assert [entry["Amount"] for entry in await log.latest(3, Employee="000223")] == [20.0, 10.0, 30.0]
    assert [entry["Amount"] async for entry in log.range(by_amount, Employee="000223")] == [10.0, 20.0, 30.0]


@pytest.mark.guide("G-205")
@examples(25)
@given(moments=st.lists(st.datetimes(timezones=st.just(timezone.utc)), max_size=8))
async def test_any_instants_come_back_newest_first(storage: Any, new_name: Any, moments: list[datetime]) -> None:
    log = claims_of(storage, new_name())
    for moment in moments:
        await log.append(claim(moment))
    found = [entry["ClaimedAt"] for entry in await log.latest(100, Employee="000223")]
    assert found == sorted(moments, reverse=True)


# ------------------------------------------------------------------ several partitions


@pytest.mark.guide("G-206", "G-354")
async def test_the_latest_of_several_partitions_come_in_the_order_asked_for(storage: Any, table_name: str) -> None:
    log = claims_of(storage, table_name)
    for minute in range(6):
        await log.append(claim(NOON + timedelta(minutes=minute), minute, f"00022{minute % 2}"))
    asked = [{"Employee": each} for each in ("000221", "nobody", "000220")]
    found = await log.latest_of_each(2, asked)
    assert [[entry["Amount"] for entry in each] for each in found] == [[5, 3], [], [4, 2]]
    assert await log.latest_of_each(2, []) == []
    assert await log.latest_of_each(9, iter(asked[:1])) == [await log.latest(9, Employee="000221")]


async def test_several_partitions_cost_a_request_each(storage: Any, engine: Engine, table_name: str) -> None:
    log = claims_of(storage, table_name)
    for number in range(12):
        await log.append(claim(NOON, number, f"{number:06d}"))
    with engine.ledger.span() as span:
        found = await log.latest_of_each(5, [{"Employee": f"{number:06d}"} for number in range(12)], max_concurrency=3)
    assert [entry["Amount"] for (entry,) in found] == list(range(12))
    assert {record.partition for record in span.records} == {f"{number:06d}" for number in range(12)}
    assert (span.totals.requests, span.totals.billable) == (12, 12)


@pytest.mark.parametrize("partitions", [None, "000223", {"Employee": "000223"}, ["000223"], [None], 3])
async def test_an_invalid_list_of_partitions_is_rejected_before_any_request(
    storage: Any, engine: Engine, table_name: str, partitions: Any
) -> None:
    log = claims_of(storage, table_name)
    with engine.ledger.span() as span, pytest.raises(BadInput):
        await log.latest_of_each(1, partitions)
    with engine.ledger.span() as again, pytest.raises(BadKey):
        await log.latest_of_each(1, [{"Employee": "000223"}, {"Employe": "000224"}])
    with pytest.raises(BadInput, match="max_concurrency"):
        await log.latest_of_each(1, [{"Employee": "000223"}], max_concurrency=0)
    assert not [*span.records, *again.records]
