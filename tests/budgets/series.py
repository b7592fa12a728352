"""Logs, series, wide entities, periods and spreads."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

from budgets.budget import Call, budget
from tablepatterns import (
    BlobLog,
    BulkLoad,
    DataSeries,
    EntitySet,
    Key,
    LogTail,
    PartitionSpread,
    Period,
    PeriodTables,
    WideEntity,
)
from tablepatterns.cost import Cost

NOON = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def claims(account: Any, count: int = 3) -> Any:
    log = LogTail(account, "Claims", "{Employee}")
    BulkLoad(log).load([claim(number) for number in range(count)])
    return log


def claim(number: int) -> dict[str, Any]:
    moment = NOON + timedelta(seconds=number)
    return {"Employee": "223", "At": moment, "EntryId": UUID(int=number)}


budget("LogTail", "append", 1, on=claims)(lambda log: log.append({"Employee": "223", "Amount": 7}))


@budget("LogTail", "latest(1000)", 1, "of however many")
def latest(account: Any) -> Call:
    log = claims(account, 1500)
    return lambda: log.latest(1000, Employee="223")


@budget("LogTail", "between", 1, "up to 1,000 entries")
def between(account: Any) -> Call:
    log = claims(account, 30)
    return lambda: list(log.between(NOON, NOON + DAY, Employee="223"))


SERIES = {"Employee": "223", "Day": "2014-08-22"}


def hours(account: Any) -> Any:
    series = DataSeries(account, "Hours", Key("{Employee}", "{Day}"), 24, prefix="Hour", value_type=int)
    series.set(0, 1, **SERIES)
    return series


budget("DataSeries", "set", 1, on=hours)(lambda series: series.set(9, 12, **SERIES))
budget("DataSeries", "set_many", 1, "all points", on=hours)(
    lambda series: series.set_many(dict.fromkeys(range(24), 1), **SERIES)
)
budget("DataSeries", "add", 2, "without concurrent writes to the series", on=hours)(
    lambda series: series.add(9, 12, **SERIES)
)
budget("DataSeries", "read", 1, "all points", on=hours)(lambda series: series.read(**SERIES))


def days(account: Any) -> Any:
    wide = WideEntity(account, "Days", Key("{Employee}", ""), properties=[f"Day{day:03d}" for day in range(365)])
    return wide, wide.insert({"Employee": "223"} | {f"Day{day:03d}": "x" for day in range(365)})


@budget("WideEntity", "insert", 1, "365 properties in 2 rows")
def insert_wide(account: Any) -> Call:
    wide, _ = days(account)
    return lambda: wide.insert({"Employee": "224"} | {f"Day{day:03d}": 1 for day in range(365)})


@budget("WideEntity", "insert", 3, "6 MB: 1 for each 4 MB, and 1 to publish it")
def insert_large(account: Any) -> Call:
    wide = WideEntity(account, "Days", Key("{Employee}", ""))
    wide.insert({"Employee": "223", "Day001": 1})
    # A character takes a byte on the wire, and two in the row
    return lambda: wide.insert({"Employee": "224"} | {f"Day{day:03d}": "x" * 16_000 for day in range(365)})


@budget("WideEntity", "get", 1)
def get_wide(account: Any) -> Call:
    wide = days(account)[0]
    return lambda: wide.get(Employee="223")


@budget("WideEntity", "merge", 1, "a change of one part")
def merge_wide(account: Any) -> Call:
    wide, value = days(account)
    return lambda: wide.merge(value, {"Day364": "y"})


def logins(account: Any, retention: timedelta | None = None) -> Any:
    tables = PeriodTables(
        account,
        "Logins",
        Period.DAY,
        factory=lambda inner, table: EntitySet(inner, table, Key("{User}", "{At:ticks}")),
        retention=retention,
    )
    for day in range(3):
        tables.insert({"User": "jo", "At": NOON + day * DAY})
    return tables


budget("PeriodTables", "insert", 1, on=logins)(lambda tables: tables.insert({"User": "ann", "At": NOON}))
budget("PeriodTables", "insert", 3, "the first of a period, whose table it makes", on=logins)(
    lambda tables: tables.insert({"User": "ann", "At": NOON + 9 * DAY})
)


@budget("PeriodTables", "drop", 1, "a day, whatever it holds")
def drop(account: Any) -> Call:
    tables = logins(account, retention=account.now() - NOON)
    account.engine.clock.advance(2 * DAY.total_seconds())
    return lambda: tables.drop(NOON)


@budget("PeriodTables", "drop_expired", 4, "3 days, and 1 to list them")
def drop_expired(account: Any) -> Call:
    tables = logins(account, retention=account.now() - NOON)
    account.engine.clock.advance(9 * DAY.total_seconds())
    return tables.drop_expired


budget("PeriodTables", "range", 1, "within one period", on=logins)(
    lambda tables: list(tables.range(NOON, NOON + timedelta(hours=1), User="jo"))
)
budget("PeriodTables", "range", 4, "over 3 periods, and 1 to list them", on=logins)(
    lambda tables: list(tables.range(NOON, NOON + 3 * DAY, User="jo"))
)


def events(account: Any) -> Any:
    spread = PartitionSpread(account, "Events", Key("{Hour}", "{At:ticks}_{EventId:06d}"), buckets=4)
    for number in range(20):
        spread.insert({"Hour": "12", "At": NOON, "EventId": number})
    return spread


budget("PartitionSpread", "insert", 1, on=events)(
    lambda spread: spread.insert({"Hour": "12", "At": NOON, "EventId": 99})
)
budget("PartitionSpread", "get", 1, on=events)(lambda spread: spread.get(Hour="12", At=NOON, EventId=7))
budget("PartitionSpread", "take(10)", 4, "of 4 buckets: 1 for each, sent together", on=events)(
    lambda spread: spread.take(10, Hour="12")
)


def blob_log(account: Any) -> Any:
    log = BlobLog(account, "logs", "queue")
    log.append("INFO", "begins", at=NOON)
    log.flush()
    return log


budget("BlobLog", "append", 0, "into the buffer", on=blob_log)(lambda log: log.append("INFO", "goes on", at=NOON))


@budget("BlobLog", "append", Cost(blob_write=1), "written through")
def append_through(account: Any) -> Call:
    blob_log(account)
    log = BlobLog(account, "logs", "queue", write_through=True)
    log.append("INFO", "begins", at=NOON)
    return lambda: log.append("INFO", "goes on", at=NOON)


@budget("BlobLog", "flush", Cost(blob_write=2), "the first of an hour, which creates a blob")
def flush_first(account: Any) -> Call:
    log = blob_log(account)
    log.append("INFO", "an hour later", at=NOON + timedelta(hours=1))
    return log.flush


@budget("BlobLog", "flush", Cost(blob_write=1, blob_other=1), "past what the metadata tells, once in `ahead`")
def flush_past(account: Any) -> Call:
    log = blob_log(account)
    log.append("INFO", "minutes later", at=NOON + timedelta(minutes=5))
    return log.flush


@budget("BlobLog", "close", Cost(blob_other=1), "nothing in the buffer, 1 blob whose metadata is made exact")
def close(account: Any) -> Call:
    return blob_log(account).close


budget("BlobLog", "drop_before", Cost(blob_list=1, blob_delete=1), "1 blob of up to 5,000", on=blob_log)(
    lambda log: log.drop_before(NOON + DAY)
)


@budget("BlobLog", "flush", Cost(blob_write=1), "1,000 entries of one hour")
def flush(account: Any) -> Call:
    log = blob_log(account)
    for number in range(999):
        log.append("INFO", f"entry {number}", at=NOON)
    return log.flush


budget("BlobLog", "between", Cost(blob_read=1, blob_list=1), "an hour of one blob", on=blob_log)(
    lambda log: list(log.between(NOON, NOON + timedelta(minutes=5)))
)
