"""Reads across the tables of periods, and the life of a table."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.logins import BY_SESSION, DAY, NOON, login, logins_of, logs_of, names_of
from tablepatterns import Key, connect, prop
from tablepatterns.errors import BadDesign, BadInput, BadKey, EntityAlreadyExists, PeriodExpired, TableBeingDeleted
from tablepatterns.recipes.period import Period
from tablepatterns_engine.account import Engine


@pytest.mark.guide("G-222")
async def test_a_range_reads_only_the_tables_of_its_span_oldest_first(
    storage: Any, engine: Engine, series: str
) -> None:
    logins = logins_of(storage, series)
    for days in (3, 0, 5, 1):
        for hours in (6, 0):
            await logins.insert(login(NOON + days * DAY + timedelta(hours=hours)))
    with engine.ledger.span() as span:
        found = [each["At"] async for each in logins.range(NOON + timedelta(hours=1), NOON + 3 * DAY, User="jo")]
    assert found == [NOON + timedelta(hours=6), NOON + DAY, NOON + DAY + timedelta(hours=6), NOON + 3 * DAY]
    assert [record.table and record.table.removeprefix(series) for record in span.records] == [
        None,
        "20140731",
        "20140801",
        "20140803",
    ]
    assert span.totals.examined == 4


@pytest.mark.guide("G-222")
async def test_spans_are_the_same_on_every_backend(storage: Any, series: str) -> None:
    logins, logs = logins_of(storage, series), logs_of(storage, series, Period.MONTH)
    for days in (3, 0, 40, 1):
        await logins.insert(login(NOON + days * DAY))
        await logs.insert(login(NOON + days * DAY))
    assert [each["At"] async for each in logins.range(NOON, NOON + 2 * DAY, User="jo")] == [NOON, NOON + DAY]
    assert [each["At"] async for each in logs.range(NOON, User="jo")] == [NOON + n * DAY for n in (40, 3, 1, 0)]
    assert [each["At"] for each in await logs.latest(3, User="jo")] == [NOON + n * DAY for n in (40, 3, 1)]
    assert await logins.periods() == [NOON.replace(hour=0) + n * DAY for n in (0, 1, 3, 40)]
    assert await logins.periods(NOON + DAY, NOON + 3 * DAY) == [NOON.replace(hour=0) + n * DAY for n in (1, 3)]


@pytest.mark.guide("G-222")
async def test_a_span_within_one_day_reads_only_its_table(storage: Any, engine: Engine, series: str) -> None:
    logins = logins_of(storage, series)
    await logins.insert(login(NOON))
    with engine.ledger.span() as span:
        assert [each["At"] async for each in logins.range(NOON, NOON, User="jo")] == [NOON]
        assert [each async for each in logins.range(NOON + DAY, NOON + DAY, User="jo")] == []
    assert [record.operation for record in span.records] == ["QueryEntities", "QueryEntities"]


@pytest.mark.guide("G-222")
@pytest.mark.parametrize(
    "row",
    ["{At:ticks}_{Session:04d}", "{Session:04d}_{At:ticks}", "{Session:04d}_{At:inverted}", "{Session:04d}"],
)
@pytest.mark.parametrize("select", [None, ["Even"]])
async def test_a_span_has_the_same_entities_wherever_the_instant_is_in_the_row_key(
    storage: Any, series: str, row: str, select: list[str] | None
) -> None:
    logins = logins_of(storage, series, key=Key("{User}", row))
    moments = [NOON + number * DAY / 4 for number in range(9)]
    for number, moment in enumerate(moments):
        await logins.insert(login(moment, Session=number, Even=number % 2 == 0))
    for low, high in ((0, 8), (1, 6), (3, 3), (5, None), (4, 5)):
        end = None if high is None else moments[high]
        found = [each["Session"] async for each in logins.range(moments[low], end, User="jo", select=select)]
        assert sorted(found) == list(range(9))[low : None if high is None else high + 1]
    if "{At" in row:
        with pytest.raises(BadKey, match="pass each field once"):
            _ = [each async for each in logins.range(NOON, User="jo", Session=4, At=NOON)]
    if row.startswith("{Session"):
        assert [each["Session"] async for each in logins.range(NOON, User="jo", Session=4)] == [4]


@pytest.mark.guide("G-222")
@pytest.mark.parametrize("row", ["{At:%Y-%m-%d}_{Session:04d}", "{Session:04d}_{At:%Y-%m-%d}"])
async def test_a_date_in_the_key_is_a_day_in_utc(storage: Any, series: str, row: str) -> None:
    logins = logins_of(storage, series, Period.MONTH, key=Key("{User}", row))
    days = [date(2014, 7, 30) + number * DAY for number in range(4)]
    for number, day in enumerate(days):
        await logins.insert({"User": "jo", "At": day, "Session": number})
    assert await names_of(storage, series) == ["201407", "201408"]
    assert (await logins.get(User="jo", At=days[2], Session=2))["At"] == days[2]
    for low, high in ((0, 3), (1, 2), (2, 2)):
        found = [each["Session"] async for each in logins.range(days[low], days[high], User="jo")]
        assert sorted(found) == list(range(low, high + 1))
    await logins.delete({"User": "jo", "At": days[0], "Session": 0}, force=True)
    assert [each["At"] async for each in logins.of(days[0]).range(User="jo")] == [days[1]]


async def test_a_date_has_no_hour(storage: Any, series: str) -> None:
    logins = logins_of(storage, series, Period.HOUR, key=Key("{User}", "{At:%Y-%m-%d}"))
    with pytest.raises(BadKey, match="a date has no hour; pass an aware datetime"):
        await logins.insert({"User": "jo", "At": date(2014, 7, 31)})


@pytest.mark.guide("G-222")
async def test_a_span_applies_to_an_instant_outside_the_key(storage: Any, engine: Engine, series: str) -> None:
    logins = logins_of(storage, series, key=BY_SESSION)
    for number in range(6):
        await logins.insert(login(NOON + number * DAY / 2, Session=number, Even=number % 2 == 0))
    low, high = NOON + DAY * 3 / 4, NOON + 2 * DAY
    assert [each["Session"] async for each in logins.range(low, high, User="jo")] == [2, 3, 4]
    assert [each["Session"] async for each in logins.range(low, high - DAY / 4, User="jo")] == [2, 3]
    even = logins.range(low, high, User="jo", where=prop("Even") == True)  # noqa: E712
    assert [each["Session"] async for each in even] == [2, 4]
    assert [each["Session"] async for each in logins.range(low, User="jo", select=["Even"])] == [2, 3, 4, 5]
    assert (await logins.get(User="jo", Session=3, At=NOON + 3 * DAY / 2))["Session"] == 3
    assert (await logins.search(User="jo", Session=0))["At"] == NOON
    assert await logins.search(User="jo", Session=9) is None
    with engine.ledger.span() as span:
        await logins.search(User="jo", Session=5)
    assert span.totals.requests == 2


async def test_the_latest_of_keys_that_sort_oldest_first_are_rejected(
    storage: Any, engine: Engine, series: str
) -> None:
    with engine.ledger.span() as span, pytest.raises(BadInput, match="use a LogTail"):
        await logins_of(storage, series).latest(3, User="jo")
    assert span.totals.requests == 0


@pytest.mark.guide("G-222")
async def test_latest_reads_as_few_tables_as_possible(storage: Any, engine: Engine, series: str) -> None:
    logs = logs_of(storage, series)
    for days in range(4):
        for hours in range(3):
            await logs.insert(login(NOON + days * DAY + timedelta(hours=hours)))
    with engine.ledger.span() as span:
        latest = await logs.latest(4, User="jo")
    assert [each["At"] for each in latest] == [
        *(NOON + 3 * DAY + timedelta(hours=hours) for hours in (2, 1, 0)),
        NOON + 2 * DAY + timedelta(hours=2),
    ]
    assert (span.totals.billable, span.totals.examined) == (3, 4)
    assert len(await logs.latest(99, User="jo")) == 12
    assert await logs.latest(0, User="jo") == await logs.latest(3, User="nobody") == []


@pytest.mark.guide("G-222", "G-213")
@examples(15)
@given(
    moments=st.lists(
        st.datetimes(datetime(2013, 12, 20), datetime(2014, 1, 10), timezones=st.just(timezone.utc)), unique=True
    ),
    ends=st.tuples(*[st.datetimes(datetime(2013, 12, 20), datetime(2014, 1, 10), timezones=st.just(timezone.utc))] * 2),
    period=st.sampled_from(Period),
)
async def test_any_span_returns_its_entities_in_time_order(
    storage: Any,
    engine: Engine,
    new_name: Any,
    moments: list[datetime],
    ends: tuple[datetime, datetime],
    period: Period,
) -> None:
    logins, logs = logins_of(storage, new_name() + "a", period), logs_of(storage, new_name() + "b", period)
    for moment in moments:
        await logins.insert(login(moment))
        await logs.insert(login(moment))
    low, high = sorted(ends)
    within = sorted(moment for moment in moments if low <= moment <= high)
    assert [each["At"] async for each in logins.range(low, high, User="jo")] == within
    assert [each["At"] async for each in logs.range(low, high, User="jo")] == within[::-1]
    assert [each["At"] for each in await logs.latest(5, User="jo")] == sorted(moments, reverse=True)[:5]


@pytest.mark.parametrize("keep", [0, -1, timedelta(0), -DAY])
def test_a_retention_of_zero_is_rejected(keep: Any) -> None:
    with pytest.raises(BadDesign, match="nothing would be kept"):
        logins_of(connect(), "Logins", retention=keep)


@pytest.mark.guide("G-215")
@pytest.mark.parametrize(
    ("now", "dropped"),
    [
        (datetime(2014, 9, 29, 23, 59, 59, 999999, tzinfo=timezone.utc), ["20140730"]),
        (datetime(2014, 9, 30, tzinfo=timezone.utc), ["20140730", "20140731"]),
    ],
)
async def test_a_day_expires_when_its_last_entity_is_older_than_60_days(
    storage: Any, engine: Engine, series: str, now: datetime, dropped: list[str]
) -> None:
    logins = logins_of(storage, series, retention=60 * DAY)
    for days in (-1, 0, 1):
        await logins.insert(login(NOON + days * DAY))
    engine.clock.set(now)
    assert await logins.drop_expired() == [series + label for label in dropped]
    assert await names_of(storage, series) == [
        label for label in ("20140730", "20140731", "20140801") if label not in dropped
    ]


@pytest.mark.guide("G-215")
@pytest.mark.parametrize(
    ("period", "labels"),
    [
        (Period.HOUR, ["2014073111", "2014073112"]),
        (Period.DAY, ["20140730", "20140731"]),
        (Period.WEEK, ["2014W30", "2014W31"]),
        (Period.MONTH, ["201406", "201407"]),
    ],
)
async def test_a_retention_in_periods_includes_the_current_one(
    storage: Any, engine: Engine, series: str, period: Period, labels: list[str]
) -> None:
    logins = logins_of(storage, series, period)
    for count in range(4):
        await logins.insert(login(period.shifted(period.start(NOON), -count)))
    await logins_of(storage, series, period, retention=2).drop_expired()
    assert await names_of(storage, series) == labels


@pytest.mark.guide("G-216", "G-012")
async def test_dropping_a_day_takes_one_request_and_reads_no_entity(storage: Any, engine: Engine, series: str) -> None:
    logins = logins_of(storage, series, retention=60 * DAY)
    for hours in range(20):
        await logins.insert(login(NOON - timedelta(hours=hours), user=f"user{hours}"))
    engine.clock.advance(100 * 86400)
    with engine.ledger.span() as span:
        assert await logins.drop(NOON) == series + "20140731"
    (record,) = span.records
    assert (record.operation, record.billable, record.examined) == ("DeleteTable", 1, 0)
    with engine.ledger.span() as span:
        assert await logins.drop_expired() == [series + "20140730"]
        assert await logins.drop_expired() == []
    assert [record.operation for record in span.records] == ["QueryTables", "DeleteTable", "QueryTables"]


@pytest.mark.guide("G-217", "G-214")
async def test_other_tables_are_not_touched(storage: Any, series: str) -> None:
    mine, others = (
        "20130731",
        ["", "Archive", "2", "2013073", "201307311", "20130231", "2013W31", "201307", "Old20130731"],
    )
    for rest in [mine, *others]:
        await storage.table(series + rest).create()
    logins = logins_of(storage, series, retention=DAY)
    assert await logins.expired() == [datetime(2013, 7, 31, tzinfo=timezone.utc)]
    assert await logins.drop_expired() == [series + mine]
    assert await names_of(storage, series) == sorted(others)


async def test_an_expired_period_is_neither_read_nor_written_but_can_be_archived(
    storage: Any, engine: Engine, series: str
) -> None:
    logs = logs_of(storage, series, retention=2)
    entity = await logs.insert(login(NOON))
    engine.clock.advance(2 * 86400)
    assert not logs.is_kept(NOON)
    assert [each async for each in logs.range(NOON - DAY, User="jo")] == []
    assert [each async for each in logs.range(NOON, NOON, User="jo")] == []
    assert await logs.latest(5, User="jo") == []
    assert await logs.get(User="jo", At=NOON, EntryId=entity["EntryId"]) is None
    assert await logs.search(User="jo", At=NOON, EntryId=entity["EntryId"]) is None
    (expired,) = await logs.expired()
    assert [each async for each in logs.of(expired).scan()] == [entity]
    with engine.ledger.span() as span:
        for write in (logs.insert(login(NOON)), logs.of(entity).delete(entity), logs.of(NOON).create_table()):
            with pytest.raises(PeriodExpired, match="kept for 2 days, and has expired"):
                await write
    assert span.totals.requests == 0


@pytest.mark.guide("G-220")
async def test_a_dropped_table_is_not_created_again(storage: Any, engine: Engine, series: str) -> None:
    engine.deletion_seconds = 40
    logins = logins_of(storage, series, retention=DAY)
    await logins.insert(login(NOON))
    engine.clock.advance(2 * 86400)
    await logins.drop_expired()
    for seconds in (0, 39, 3600):
        engine.clock.advance(seconds)
        with pytest.raises(PeriodExpired):
            await logins.insert(login(NOON))
        assert await logins.drop(NOON)
        assert await logins.of(NOON).get(User="jo", At=NOON) is None
        assert [each async for each in logins.of(NOON).range(User="jo")] == []
    assert await names_of(storage, series) == []


@pytest.mark.guide("G-220")
async def test_a_table_being_deleted_reads_as_empty_and_rejects_writes(
    storage: Any, engine: Engine, series: str
) -> None:
    engine.deletion_seconds = 40
    logins = logins_of(storage, series, retention=2)
    entity = await logins.insert(login(NOON))
    engine.tables.delete(series + "20140731")
    assert await logins.get(User="jo", At=NOON) is None
    assert [each async for each in logins.range(NOON, User="jo")] == []
    inner = logins.of(NOON)
    many = [login(NOON + timedelta(minutes=minute)) for minute in range(3)]
    for write in (logins.insert(login(NOON)), inner.create_table(), inner.replace(entity)):
        with pytest.raises(TableBeingDeleted, match="Nothing was written; write to the table of another period"):
            await write
    with pytest.raises(TableBeingDeleted):
        await inner.table.submit(*(inner.inserting(each).primary() for each in many))
    assert await names_of(storage, series) == []
    engine.clock.advance(40)
    await logins.insert(login(NOON))


@pytest.mark.guide("G-220")
async def test_a_table_name_is_never_reused(storage: Any, engine: Engine, series: str) -> None:
    logins = logins_of(storage, series, retention=2)
    await logins.insert(login(NOON))
    with engine.ledger.span() as span:
        for drop in (logins.drop(NOON), logins.of(NOON).drop_table(), logins.drop(NOON + DAY)):
            with pytest.raises(BadInput, match="table names are not reused"):
                await drop
        with pytest.raises(BadInput, match="may still be written"):
            await logins.drop_expired(NOON + 2 * DAY)
        with pytest.raises(BadInput, match="is not an instant"):
            await logins.drop_expired(NOON.replace(tzinfo=None))
        with pytest.raises(BadInput, match="kept indefinitely"):
            await logins_of(storage, series).drop_expired()
        with pytest.raises(BadInput, match="kept indefinitely"):
            await logins_of(storage, series).drop(NOON)
    assert span.totals.requests == 0
    engine.clock.advance(2 * 86400)
    assert await logins.drop_expired(NOON + DAY) == []
    assert await logins.drop_expired(NOON + 2 * DAY) == [series + "20140731"]


@pytest.mark.guide("G-219")
async def test_the_first_write_creates_the_table(storage: Any, engine: Engine, series: str) -> None:
    logins = logins_of(storage, series)
    with engine.ledger.span() as span:
        await logins.insert(login(NOON))
        await logins.insert(login(NOON + timedelta(hours=1)))
    assert [record.operation for record in span.records] == [
        "InsertEntity",
        "CreateTable",
        "InsertEntity",
        "InsertEntity",
    ]
    with pytest.raises(EntityAlreadyExists):
        await logins.insert(login(NOON))


@pytest.mark.guide("G-219")
async def test_the_next_table_can_be_created_in_advance(storage: Any, engine: Engine, series: str) -> None:
    logins = logins_of(storage, series, retention=1)
    tomorrow = logins.of(NOON + timedelta(days=1))
    with engine.ledger.span() as span:
        assert (await tomorrow.create_table(), await tomorrow.create_table()) == (True, False)
    assert span.totals.billable == 2
    engine.clock.advance(86400)
    with engine.ledger.span() as span:
        await logins.insert({"User": "jo"})
    assert span.totals.requests == 1


@pytest.mark.guide("G-221")
async def test_a_throttled_new_table_is_retried(storage: Any, engine: Engine, series: str) -> None:
    logins = logins_of(storage, series)
    with engine.faults.busy(table=series + "20140731", times=3) as busy:
        await logins.insert(login(NOON))
    assert busy.hits == 3
    assert await logins.get(User="jo", At=NOON)
