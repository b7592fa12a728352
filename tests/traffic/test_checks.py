"""Assertions on traffic: a failure names the line, the reason for its cost, and a better call."""

from __future__ import annotations

from typing import Any

import pytest

from tablepatterns import EntitySet, Key, QueryClass, Traffic, prop

HERE = __file__
SALES = prop("PartitionKey") == "Sales"


def staff(storage: Any, table: str) -> EntitySet[Any]:
    return EntitySet(storage, table, Key("{Department}", "empid_{EmployeeId:06d}"))


async def all_of(found: Any) -> list[Any]:
    return [each async for each in found] if hasattr(found, "__aiter__") else list(found)


@pytest.mark.guide("G-087")
async def test_a_scan_fails_with_its_line_its_reason_and_the_rewrite(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name)
    await employees.insert({"Department": "Sales", "EmployeeId": 1})
    where = SALES & ((prop("RowKey") == "a") | (prop("RowKey") == "b"))
    with Traffic(storage) as traffic:
        for _ in range(2):
            assert await all_of(employees.query(where, allow=QueryClass.TABLE_SCAN)) == []
    with pytest.raises(AssertionError) as caught:
        traffic.assert_no_scans()
    text = str(caught.value)
    assert text.startswith("2 queries are worse than a range query:")
    assert f"  {HERE}:" in text
    assert f"2 x partition scan of {table_name}, partition 'Sales': RowKey values combined by 'or'" in text
    assert "better: send one point query per key" in text
    traffic.assert_no_scans(allow=QueryClass.PARTITION_SCAN)


async def test_the_transaction_limit_of_a_block_is_exact(storage: Any, table_name: str) -> None:
    employees = staff(storage, table_name)
    await employees.create_table()
    with Traffic(storage) as traffic:
        for number in range(3):
            await employees.insert({"Department": "Sales", "EmployeeId": number})
        await employees.get(Department="Sales", EmployeeId=1)
    traffic.assert_transactions(at_most=4)
    with pytest.raises(AssertionError) as caught:
        traffic.assert_transactions(at_most=3)
    lines = [line.strip() for line in str(caught.value).splitlines()]
    assert lines[0] == "4 storage transactions, but at most 3 allowed:"
    assert lines[1].startswith(f"{HERE}:")
    assert lines[2:5] == [
        'await employees.insert({"Department": "Sales", "EmployeeId": number})',
        "3 transactions: 3 x InsertEntity",
        "better: up to 100 writes to one partition can be one entity group transaction",
    ]
    assert lines[-1] == "1 transaction: 1 x QueryEntity (point query)"


async def test_writes_to_partitions_of_their_own_are_not_taken_for_one_transaction(
    storage: Any, table_name: str
) -> None:
    employees = staff(storage, table_name)
    await employees.create_table()
    with Traffic(storage) as traffic:
        for number in range(3):
            await employees.insert({"Department": f"d{number}", "EmployeeId": number})
    with pytest.raises(AssertionError) as caught:
        traffic.assert_transactions(at_most=0)
    assert "entity group transaction" not in str(caught.value)


async def test_a_block_without_requests_passes_and_says_so(storage: Any) -> None:
    with Traffic(storage) as traffic:
        pass
    traffic.assert_no_scans()
    traffic.assert_transactions(at_most=0)
    assert str(traffic) == "no requests"
