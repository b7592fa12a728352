"""Plausible mistakes in calls of the public API: each is rejected at the call that makes it, in the user's words."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

import tablepatterns
import tablepatterns.aio
from tablepatterns import EntitySet, IntraPartitionIndex, Key, connect, prop
from tablepatterns_engine import Engine

pytestmark = pytest.mark.both_sdks

tp: Any = tablepatterns
NOW = datetime(2026, 7, 31, tzinfo=timezone.utc)
STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
JONES = {"Department": "Sales", "EmployeeId": 223}
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


def awaited(call: Callable[[], Any]) -> None:
    async def main() -> None:
        await call()

    asyncio.run(main())


MISTAKES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "Storage instead of connect": (lambda on, staff: tp.Storage("azurite"), "call connect("),
    "aio.Storage instead of connect": (lambda on, staff: tp.aio.Storage(None), "call connect("),
    "a string for the account": (
        lambda on, staff: tp.EntitySet("azurite", "Staff", STAFF),
        "account from connect()",
    ),
    "an engine for the account": (
        lambda on, staff: tp.EntitySet(Engine(), "Staff", STAFF),
        "account from connect()",
    ),
    "a client for the account": (
        lambda on, staff: tp.EntitySet(on.tables, "Staff", STAFF),
        "account from connect()",
    ),
    "a module for the account": (
        lambda on, staff: tp.EntitySet(tablepatterns, "A", STAFF),
        "account from connect()",
    ),
    "no key": (lambda on, staff: tp.EntitySet(on, "Staff", None), "key = None: it must be a Key"),
    "no table": (lambda on, staff: tp.EntitySet(on, None, STAFF), "table = None: it must be a str"),
    "one index, not a list": (lambda on, staff: tp.EntitySet(on, "A", STAFF, derived=BY_EMAIL), "index or Summary"),
    "derived of None": (lambda on, staff: tp.EntitySet(on, "A", STAFF, derived=None), "derived = None"),
    "values of the key by position": (lambda on, staff: staff.get("Sales", 223), "EntitySet.get() got too many"),
    "a key of None": (lambda on, staff: staff.get(None), "Department is missing"),
    "a key field of None": (lambda on, staff: staff.get(Department="Sales", EmployeeId=None), "EmployeeId = None"),
    "a range without fields": (lambda on, staff: staff.range(), "Department is missing"),
    "a misspelled field": (lambda on, staff: staff.range(Departmnt="Sales"), "its fields are Department"),
    "take without a count": (
        lambda on, staff: staff.take(Department="S"),
        "take() missing 1 required argument: 'count'",
    ),
    "a list for an entity": (lambda on, staff: staff.insert([JONES]), "it must be a mapping, not list"),
    "merge without changes": (lambda on, staff: staff.merge(JONES), "merge() missing 1 required argument: 'changes'"),
    "delete by fields": (lambda on, staff: staff.delete(**JONES), "delete() missing 1 required argument: 'entity'"),
    "arguments of update exchanged": (lambda on, staff: staff.update(JONES, len), "it must be a callable"),
    "find without an index": (lambda on, staff: staff.find(Email="a"), "find() missing 1 required argument: 'via'"),
    "find by the index's name": (lambda on, staff: staff.find("email", Email="a"), "IntraPartitionIndex"),
    "an index of another set": (lambda on, staff: staff.find(BY_EMAIL, Email="a"), "the set keeps []"),
    "and in a filter": (lambda on, staff: staff.scan(prop("Age") > 3 and prop("Age") < 9), "no truth value"),
    "not in a filter": (lambda on, staff: staff.scan(not prop("Age") > 3), "no truth value"),
    "a chained comparison": (lambda on, staff: staff.scan(1 < prop("Age") < 9), "no truth value"),
    "a text for a filter": (lambda on, staff: staff.scan("Age gt 3"), "build it with prop()"),
    "a name for select": (lambda on, staff: staff.range(Department="S", select="Age"), "pass a list of names"),
    "a text for allow": (lambda on, staff: staff.query(prop("Age") > 3, allow="scan"), "QueryClass.TABLE_SCAN"),
    "traffic of a set": (lambda on, staff: tp.Traffic(staff), "account from connect()"),
    "assertion without a block": (lambda on, staff: tp.Traffic(on).assert_no_scans(), "use `with traffic:`"),
    "a worker of a set": (
        lambda on, staff: tp.Worker(on, [staff]),
        "recipe with a queue (such as Archive)",
    ),
    "a worker of one handler": (
        lambda on, staff: tp.Worker(on, tp.Archive(staff, tp.BlobArchive(on, "archive"))),
        "recipe with a queue (such as Archive)",
    ),
    "a load of one entity": (lambda on, staff: tp.BulkLoad(staff).load(JONES), "not a dict with str in it"),
    "a load of a file name": (lambda on, staff: tp.BulkLoad(staff).load("staff.csv"), "it must be an iterable"),
    "a list of changes": (
        lambda on, staff: tp.EntityGroupTransaction(on, "Staff").commit([staff.inserting(JONES)]),
        "a change (such as inserting() returns), not list",
    ),
    "an entity for a change": (
        lambda on, staff: tp.EntityGroupTransaction(on, "Staff").commit(staff.insert(JONES)),
        "a change (such as inserting() returns), not Entity",
    ),
    "a lookup of nothing": (lambda on, staff: tp.Lookup(None), "it must be an EntitySet"),
    "a delete of everything": (lambda on, staff: tp.BulkDelete(staff).delete({}), "it needs a filter or key fields"),
    "a key for a template": (lambda on, staff: tp.LogTail(on, "Log", STAFF), "partition = Key"),
    "a set for a factory": (
        lambda on, staff: tp.PeriodTables(on, "Log", tp.Period.DAY, factory=staff),
        "factory = <EntitySet",
    ),
    "a factory of None": (
        lambda on, staff: tp.PeriodTables(on, "Log", tp.Period.DAY, factory=lambda *_: None).of(
            datetime.now(timezone.utc)
        ),
        "return EntitySet(account, table, key)",
    ),
    "a called step": (lambda on, staff: tp.EventualTransaction(on, "steps", "k", [None]), "a list with None in it"),
    "a level by keyword": (
        lambda on, staff: tp.BlobLog(on, "logs", "web").append("started", level="INFO"),
        "BlobLog.append() got multiple values for argument 'level'",
    ),
    "points as a text": (lambda on, staff: tp.DataSeries(on, "S", STAFF, "24", prefix="H", value_type=int), "an int"),
    "properties of None": (lambda on, staff: tp.WideEntity(on, "Wide", STAFF, properties=None), "properties = None"),
    "a secret as a text": (lambda on, staff: tp.LocalKey("k", "secret"), "secret = '(not shown)'"),
    "a text for an upload": (lambda on, staff: tp.Upload("text"), "it must be a file"),
    "a move to itself": (lambda on, staff: tp.Rekey(staff, staff), "move to another table"),
    "nothing to explain": (lambda on, staff: tp.explain(None), "what = None"),
    "for on an async account": (
        lambda on, staff: list(tp.EntitySet(tablepatterns.aio.connect(), "Staff", STAFF).range(Department="S")),
        "use `async for item in ...`",
    ),
    "an awaited stream": (
        lambda on, staff: awaited(
            lambda: tp.EntitySet(tablepatterns.aio.connect(), "Staff", STAFF).range(Department="S")
        ),
        "AsyncStream can't be used in 'await' expression",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_rejected_at_the_call_and_nothing_is_sent(name: str) -> None:
    mistake, text = MISTAKES[name]
    engine = Engine()
    with connect(engine) as storage:
        staff = EntitySet(storage, "Staff", STAFF)
        with (
            engine.ledger.span() as span,
            pytest.raises((tablepatterns.TablePatternsError, TypeError), match=re.escape(text)),
        ):
            list(mistake(storage, staff))
    if name != "an entity for a change":
        assert span.totals.requests == 0
