"""Traffic records the requests of a block of code, and the same ones on every backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from support.backends import awaited
from tablepatterns import EntitySet, IntraPartitionIndex, Key, QueryClass, Traffic, prop
from tablepatterns.errors import EntityAlreadyExists, EntityChanged

BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
HERE = __file__


def staff(storage: Any, table: str, *derived: Any) -> EntitySet[Any]:
    return EntitySet(storage, table, Key("{Department}", "empid_{EmployeeId:06d}"), derived=derived)


def person(number: int, department: str = "Sales") -> dict[str, Any]:
    return {"Department": department, "EmployeeId": number, "Email": f"e{number}@contoso.com", "Age": 34}


def operations(traffic: Traffic) -> list[tuple[str, str | None, int]]:
    return [(each.operation, each.partition, each.status) for each in traffic.requests]


async def test_only_an_in_memory_account_reports_how_many_entities_were_read(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name)
    for number in range(3):
        await employees.insert(person(number))
    with Traffic(storage) as traffic:
        assert [each async for each in employees.scan(prop("Age") > 40)] == []
    assert traffic.overall.examined == (3 if storage.engine else None)


async def test_each_request_is_reported_with_its_operation_partition_and_status(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name, BY_EMAIL)
    with Traffic(storage) as traffic:
        await employees.create_table()
        jones = await employees.insert(person(1))
        jones["Age"] = 35
        await employees.replace(jones)
        await employees.get(Department="Sales", EmployeeId=1)
        await employees.delete(jones)
    assert operations(traffic) == [
        ("CreateTable", None, traffic.requests[0].status),
        ("Transaction", "Sales", 202),
        ("Transaction", "Sales", 202),
        ("QueryEntity", "Sales", 200),
        ("Transaction", "Sales", 202),
    ]
    assert {each.resource for each in traffic.requests[1:]} == {table_name}
    assert {each.service for each in traffic.requests} == {"table"}
    assert traffic.overall.transactions == traffic.overall.requests == 5


async def test_writes_of_one_entity_have_their_own_names(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name)
    await employees.create_table()
    with Traffic(storage) as traffic:
        jones = await employees.insert(person(1))
        await employees.replace(jones)
        await employees.merge(jones, {"Age": 36})
        await employees.insert_or_replace(person(2, "O'Brien & Söhne"))
        await employees.insert_or_merge(person(2, "O'Brien & Söhne"))
        await employees.delete(jones)
    assert [(each.operation, each.partition) for each in traffic.requests] == [
        ("InsertEntity", "Sales"),
        ("UpdateEntity", "Sales"),
        ("MergeEntity", "Sales"),
        ("InsertOrReplaceEntity", "O'Brien & Söhne"),
        ("InsertOrMergeEntity", "O'Brien & Söhne"),
        ("DeleteEntity", "Sales"),
    ]


async def test_queries_have_their_class_and_what_would_be_better(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name)
    await employees.insert(person(1))
    with Traffic(storage) as traffic:
        await employees.get(Department="Sales", EmployeeId=1)
        _ = [found async for found in _each(employees.range(Department="Sales"))]
        where = (prop("PartitionKey") == "Sales") & (prop("Age") > 30)
        _ = [found async for found in _each(employees.query(where, allow=QueryClass.TABLE_SCAN))]
        _ = [found async for found in _each(employees.scan())]
    assert [(each.query_class, each.partition) for each in traffic.requests] == [
        (QueryClass.POINT, "Sales"),
        (QueryClass.RANGE, "Sales"),
        (QueryClass.PARTITION_SCAN, "Sales"),
        (QueryClass.TABLE_SCAN, None),
    ]
    assert traffic.overall.scans == 2
    assert traffic.overall.worst is QueryClass.TABLE_SCAN
    assert "a secondary index" in traffic.requests[2].rewrite


async def _each(found: Any) -> Any:
    if hasattr(found, "__aiter__"):
        async for each in found:
            yield each
    else:
        for each in found:
            yield each


async def test_a_conflict_is_counted_in_a_transaction_too(storage: Any, table_name: str) -> None:
    single, whole = staff(storage, table_name), staff(storage, table_name, BY_EMAIL)
    await single.insert(person(1))
    jones = await whole.insert(person(2))
    stale = (await whole.get(Department="Sales", EmployeeId=2)) or jones
    await whole.replace(jones)
    with Traffic(storage) as traffic:
        with pytest.raises(EntityAlreadyExists):
            await single.insert(person(1))
        with pytest.raises(EntityChanged):
            await whole.replace(stale)
        await single.insert(person(3))
    assert [each.status for each in traffic.requests] == [409, 412, traffic.requests[2].status]
    assert traffic.overall.conflicts == 2
    assert traffic.overall.transactions == 3


async def test_bytes_are_those_of_the_bodies(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name, BY_EMAIL)
    await employees.create_table()
    with Traffic(storage) as traffic:
        await employees.insert({**person(1), "Note": "x" * 5000})
        await employees.get(Department="Sales", EmployeeId=1)
    written, read = traffic.requests
    assert 10_000 < written.bytes_in < 20_000
    assert written.bytes_out > 0
    assert (read.bytes_in, read.bytes_out > 5_000) == (0, True)


async def test_blocks_nest_and_end(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name)
    await employees.create_table()
    with Traffic(storage) as outer:
        await employees.insert(person(1))
        with Traffic(storage) as inner:
            await employees.insert(person(2))
        await employees.insert(person(3))
    await employees.insert(person(4))
    assert (len(outer.requests), len(inner.requests)) == (3, 1)


async def test_a_block_sees_its_own_connection_and_with_everywhere_the_whole_account(
    storage: Any, backend: Any, table_name: str
) -> None:
    mine, other = staff(storage, table_name), staff(backend.connect(), table_name)
    await mine.create_table()
    with Traffic(storage) as one, Traffic(storage, everywhere=True) as all_of_them:
        await mine.insert(person(1))
        await other.insert(person(2))
    await other.insert(person(3))
    assert (len(one.requests), len(all_of_them.requests)) == (1, 2)


async def test_plain_calls_of_the_sdk_are_recorded_on_every_service(storage: Any, new_name: Callable[..., str]) -> None:
    queues, blobs = awaited(storage.queues), awaited(storage.blobs)
    name = new_name("q")
    with Traffic(storage) as traffic:
        queue = await queues.create_queue(name)
        await queue.send_message("count the stock")
        await queue.delete_queue()
        container = await blobs.create_container(name)
        await container.upload_blob("a/b.txt", b"hello", overwrite=True)
        await container.delete_container()
    assert [(each.service, each.operation, each.resource, each.partition) for each in traffic.requests] == [
        ("queue", "CreateQueue", name, None),
        ("queue", "PutMessage", name, None),
        ("queue", "DeleteQueue", name, None),
        ("blob", "CreateContainer", name, None),
        ("blob", "PutBlob", name, "a/b.txt"),
        ("blob", "DeleteContainer", name, None),
    ]


async def test_a_line_is_the_users_own_also_where_reads_are_made_together(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name)
    for number in range(3):
        await employees.insert(person(number))
    keys = [{"Department": "Sales", "EmployeeId": number} for number in range(3)]
    with Traffic(storage) as traffic:
        await employees.get(Department="Sales", EmployeeId=0)
        await employees.get_many(keys)
    codes = Counter(each.site.code for each in traffic.requests if each.site)
    assert codes == {
        'await employees.get(Department="Sales", EmployeeId=0)': 1,
        "await employees.get_many(keys)": 3,
    }
    assert {(each.site.file, each.site.function) for each in traffic.requests if each.site} == {
        (HERE, "test_a_line_is_the_users_own_also_where_reads_are_made_together")
    }


async def test_a_hook_of_the_users_own_is_called_as_before(backend: Any, table_name: str) -> None:
    statuses: list[int] = []
    storage = backend.connect(
        raw_response_hook=lambda answer: statuses.append(answer.http_response.status_code),
        raw_request_hook=lambda request: statuses.append(0),
    )
    employees = staff(storage, table_name)
    await employees.create_table()
    statuses.clear()
    with Traffic(storage) as traffic:
        await employees.insert(person(1))
        table = awaited(storage.tables.get_table_client(table_name))
        own: list[int] = []
        await table.get_entity(
            "Sales", "empid_000001", raw_response_hook=lambda answer: own.append(answer.http_response.status_code)
        )
    assert statuses == [0, traffic.requests[0].status, 0]
    assert own == [traffic.requests[1].status] == [200]


async def test_nothing_secret_is_reported(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name)
    with Traffic(storage) as traffic:
        await employees.insert({**person(1), "Password": "hunter2"})
        where = (prop("PartitionKey") == "Sales") & (prop("Password") == "hunter2")
        _ = [each async for each in _each(employees.query(where, allow=QueryClass.PARTITION_SCAN))]
    with pytest.raises(AssertionError) as caught:
        traffic.assert_no_scans()
    lines = str(caught.value).splitlines()
    text = "".join([str(traffic.requests), str(traffic), *(line for line in lines if "where" not in line)])
    assert "hunter2" not in text
    assert "sig=" not in text
