"""Period tables: every entity is in the table of its timestamp."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from support.logins import BY_MOMENT, BY_SESSION, DAY, NOON, login, logins_of, logs_of, names_of
from tablepatterns import BulkLoad, EntitySet, IntraPartitionIndex, Key, LogTail, Ticks, WideEntity, connect
from tablepatterns.errors import BadDesign, BadKey, BadTableName, LoadInterrupted
from tablepatterns.recipes.period import Period
from tablepatterns.recipes.period_tables.period_tables import PeriodTables
from tablepatterns_engine.account import Engine


@pytest.mark.guide("G-213", "G-214")
@pytest.mark.parametrize(
    ("period", "label"),
    [(Period.HOUR, "2014073112"), (Period.DAY, "20140731"), (Period.WEEK, "2014W31"), (Period.MONTH, "201407")],
)
async def test_an_entity_is_written_to_the_table_of_its_instant(
    storage: Any, series: str, period: Period, label: str
) -> None:
    logins = logins_of(storage, series, period)
    entity = await logins.insert(login(NOON + timedelta(minutes=59)))
    assert await names_of(storage, series) == [label]
    assert logins.of(entity).table.name == series + label
    assert logins.period_of(series + label) == period.start(NOON)
    assert await logins.get(User="jo", At=entity["At"]) == entity


@pytest.mark.guide("G-213")
async def test_the_day_is_in_utc_for_every_time_zone(storage: Any, series: str) -> None:
    logins = logins_of(storage, series)
    east = datetime(2014, 8, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert (await logins.insert(login(east)))["At"] == east
    assert await names_of(storage, series) == ["20140731"]
    with pytest.raises(BadKey, match="time zone"):
        await logins.insert(login(datetime(2014, 8, 1)))


async def test_an_instant_of_100_nanoseconds_is_routed_and_kept(storage: Any, series: str) -> None:
    logins = logins_of(storage, series)
    moment = Ticks(Ticks.of(NOON) + 3)
    await logins.insert({"User": "jo", "At": moment})
    assert (await logins.get(User="jo", At=moment))["At"] == moment


@pytest.mark.guide("G-218")
async def test_within_a_table_each_user_has_a_partition_in_the_order_of_time(
    storage: Any, engine: Engine, series: str
) -> None:
    logins = logins_of(storage, series)
    for hour, user in enumerate(["jo", "al", "jo", "al"]):
        await logins.insert(login(NOON - timedelta(hours=hour), user))
    rows = engine.tables.query(series + "20140731").entities
    assert [row.partition_key for row in rows] == ["al", "al", "jo", "jo"]
    assert [entity["At"].hour async for entity in logins.of(NOON).range(User="al")] == [9, 11]


async def test_an_entity_without_an_instant_gets_the_current_time(storage: Any, engine: Engine, series: str) -> None:
    assert (await logins_of(storage, series).insert({"User": "jo"}))["At"] == NOON
    logs = logs_of(storage, series, Period.MONTH)
    first, second = await logs.insert({"User": "jo"}), await logs.insert({"User": "jo"})
    assert (first["At"], second["At"]) == (NOON, NOON)
    assert first["EntryId"] != second["EntryId"]
    assert await names_of(storage, series) == ["201407", "20140731"]


async def test_an_entity_is_rejected_by_the_table_of_another_day(storage: Any, engine: Engine, series: str) -> None:
    for key in (BY_MOMENT, BY_SESSION):
        logins = logins_of(storage, series, key=key)
        with engine.ledger.span() as span, pytest.raises(BadKey, match="day that started at 2014-07-31"):
            await logins.of(NOON).insert(login(NOON + DAY, Session=1))
        with pytest.raises(LoadInterrupted, match="write it to the set that of"):
            await BulkLoad(logins.of(NOON)).load([login(NOON + DAY, Session=1)])
        assert span.totals.requests == 0


async def test_of_gives_every_method_of_the_set_for_one_period(storage: Any, series: str) -> None:
    by_address = IntraPartitionIndex(Key("{User}", "from_{Address}_{At:ticks}"))
    key = Key("{User}", "at_{At:ticks}")
    logins: Any = PeriodTables(
        storage, series, Period.DAY, factory=lambda on, table: EntitySet(on, table, key, derived=[by_address])
    )
    entity = await logins.insert(login(NOON, Address="10.0.0.1"))
    entity["Address"] = "10.0.0.2"
    await logins.of(entity).replace(entity)
    found = [each async for each in logins.of(NOON).range(by_address, User="jo", Address="10.0.0.2")]
    assert found == [entity]
    await logins.of(entity).delete(entity)
    assert await logins.get(User="jo", At=NOON) is None


@pytest.mark.parametrize(
    ("name", "error"),
    [("Logins2", BadDesign), ("Log-ins", BadTableName), ("1Logins", BadTableName), ("", BadTableName)],
)
def test_an_invalid_table_prefix_is_rejected(name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        logins_of(connect(), name)


def test_the_factory_must_return_a_set_of_the_given_account_and_table() -> None:
    storage = connect()
    always_one = EntitySet(storage, "Logins", BY_MOMENT)
    wide: Any = lambda account, table: WideEntity(account, table, Key("{Host}", "cpu"))  # noqa: E731
    rule = "it returned a WideEntity, and must return an EntitySet or a DataSeries"
    with pytest.raises(BadDesign, match=rule):
        PeriodTables(storage, "Points", Period.DAY, factory=wide)
    elsewhere: Any = lambda account, table: EntitySet(connect(), table, BY_MOMENT)  # noqa: E731
    other_table: Any = lambda account, table: always_one  # noqa: E731
    for make in (other_table, elsewhere):
        with pytest.raises(BadDesign, match="use the account and the table name that the factory receives"):
            PeriodTables(storage, "Logins", Period.DAY, factory=make)
    with pytest.raises(BadDesign, match="use the same field"):
        PeriodTables(storage, "Logs", Period.DAY, factory=lambda on, table: LogTail(on, table, "{User}", at="Noted"))


async def test_table_names_are_case_insensitive(storage: Any, series: str) -> None:
    logins = logins_of(storage, series)
    assert logins.period_of(series.upper() + "20140731") == NOON.replace(hour=0)
