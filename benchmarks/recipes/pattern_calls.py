"""Compare calls of patterns with the same requests by SDK clients, on the in-memory engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timezone
from typing import Any, Final

from tablepatterns import Archive, DataSeries, EntitySet, EventualTransaction, Key, LogTail, WideEntity, Worker, connect
from tablepatterns.entity import WRITE_ID

from .set_calls import STORED, Call, Side, employee

TARGETS: Final = {
    "append": 1.15,
    "latest(10)": 0.7,
    "series, set": 1.2,
    "series, read": 0.8,
    "wide entity, get": 0.9,
    "archive, with worker": 1.25,
    "eventual transaction, with worker": 1.25,
}
"""The maximum CPU time of each call, as a multiple of that of the SDK's requests."""

_KEY: Final = Key("{Department}", "empid_{EmployeeId:07d}")
_KEPT: Final = {WRITE_ID: bytes(16)}
_START: Final = datetime(2026, 1, 1, tzinfo=timezone.utc)
_DAY: Final = date(2026, 1, 1)
_DAYS: Final = [f"Day{number:03d}" for number in range(365)]
_WIDE: Final = {"Employee": "1"} | dict.fromkeys(_DAYS, 0)


def sides(count: int) -> Iterator[Side]:
    """Yield each case with its number of calls, the recipe, and the SDK's requests.

    :param count: the number of calls with one request in each round
    """
    yield "append", count, _append, _bare_append
    yield "latest(10)", count, _latest, _bare_latest
    yield "series, set", count, _set, _bare_set
    yield "series, read", count, _read, _bare_read
    yield "wide entity, get", max(count // 10, 2), _wide, _bare_wide
    yield "archive, with worker", max(count // 6, 2), _archive, _bare_archive
    yield "eventual transaction, with worker", max(count // 6, 2), _eventual, _bare_eventual


def _entry(number: int) -> dict[str, Any]:
    return {"Employee": "1", "At": _START, "Amount": number, "Note": f"expense {number}"}


def _bare_entry(number: int) -> dict[str, Any]:
    keys = {"PartitionKey": "1", "RowKey": f"{10**19 - number:019d}_{number:032x}"}
    return {**keys, "Amount": number, "Note": f"expense {number}", **_KEPT}


def _log(stored: int = 0) -> LogTail[Any]:
    log = LogTail(connect(), "Log", "{Employee}")
    for number in range(stored):
        log.append(_entry(number))
    return log


def _bare_log(stored: int = 0) -> Any:
    table = connect().tables.create_table("Log")
    for number in range(stored):
        table.create_entity(_bare_entry(number))
    return table


def _append() -> Call:
    log = _log()
    return lambda number: log.append(_entry(number))


def _bare_append() -> Call:
    table = _bare_log()
    return lambda number: table.create_entity(_bare_entry(number))


def _latest() -> Call:
    log = _log(STORED)
    return lambda _: log.latest(10, Employee="1")


def _bare_latest() -> Call:
    table = _bare_log(STORED)
    return lambda _: list(next(table.query_entities("PartitionKey eq '1'", results_per_page=10).by_page()))


def _series() -> DataSeries[Any, int]:
    series = DataSeries(connect(), "Series", Key("{Employee}", "{Day:%Y-%m-%d}"), 24, prefix="Hour", value_type=int)
    for hour in range(24):
        series.set(hour, hour, Employee="1", Day=_DAY)
    return series


def _bare_series() -> Any:
    table = connect().tables.create_table("Series")
    table.create_entity(
        {"PartitionKey": "1", "RowKey": "2026-01-01", **{f"Hour{n:02d}": n for n in range(24)}, **_KEPT}
    )
    return table


def _set() -> Call:
    series = _series()
    return lambda number: series.set(number % 24, number, Employee="1", Day=_DAY) or True


def _bare_set() -> Call:
    table = _bare_series()
    keys = {"PartitionKey": "1", "RowKey": "2026-01-01"}
    return lambda number: table.upsert_entity({**keys, f"Hour{number % 24:02d}": number, **_KEPT})


def _read() -> Call:
    series = _series()
    return lambda _: series.read(Employee="1", Day=_DAY)


def _bare_read() -> Call:
    table = _bare_series()
    return lambda _: table.get_entity("1", "2026-01-01")


def _wide() -> Call:
    wide = WideEntity(connect(), "Wide", Key("{Employee}", ""), properties=_DAYS)
    wide.insert(_WIDE)
    return lambda _: wide.get(Employee="1")


def _bare_wide() -> Call:
    table = connect().tables.create_table("Wide")
    for part in range(2):
        held = dict.fromkeys(_DAYS[part * 250 : (part + 1) * 250], 0)
        table.create_entity({"PartitionKey": "1", "RowKey": f"{part}", **held, **_KEPT})
    return lambda _: list(table.query_entities("PartitionKey eq '1'"))


def _archive() -> Call:
    storage = connect()
    current, former = EntitySet(storage, "Current", _KEY), EntitySet(storage, "Former", _KEY)
    archive = Archive(current, former)
    worker = Worker(storage, [archive])

    def call(number: int) -> Any:
        archive.archive(current.insert(employee(number)))
        return worker.run_once().handled or None

    return call


def _bare_archive() -> Call:
    storage = connect()
    current, former = storage.tables.create_table("Current"), storage.tables.create_table("Former")
    queue = storage.queues.create_queue("archive")

    def call(number: int) -> Any:
        keys = {"PartitionKey": "Sales", "RowKey": f"{number}"}
        current.create_entity({**keys, **employee(number), **_KEPT})
        queue.send_message(json.dumps(keys))
        done = None
        for message in queue.receive_messages(max_messages=1):
            entity = current.get_entity(*json.loads(message.content).values())
            former.create_entity(dict(entity))
            current.delete_entity(entity)
            queue.delete_message(message)
            done = True
        return done

    return call


def _eventual() -> Call:
    storage = connect()
    greeted: list[str] = []
    welcome = EventualTransaction(storage, "welcome", "welcome", [lambda body: greeted.append(body["Name"])])
    worker = Worker(storage, [welcome])

    def call(number: int) -> Any:
        welcome.start({"Name": "Jones"})
        return worker.run_once().handled or None

    return call


def _bare_eventual() -> Call:
    queue = connect().queues.create_queue("welcome")
    greeted: list[str] = []

    def call(number: int) -> Any:
        queue.send_message(json.dumps({"Name": "Jones"}))
        for message in queue.receive_messages(max_messages=1):
            greeted.append(json.loads(message.content)["Name"])
            queue.delete_message(message)
        return greeted

    return call
