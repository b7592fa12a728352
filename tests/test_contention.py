"""Contention: writers that meet at one row give way to each other, until all have written."""

from __future__ import annotations

from typing import Any

from employees import BY_ID, jones
from tablepatterns import EntitySet, IndexEntities, Key, Summary

WRITERS, INSERTS = 4, 8
TOTAL = Summary(Key("{Department}", "total"), sums={"Salary": "Payroll"})
BY_NAME = IndexEntities("LastName")


async def test_writers_of_one_total_and_of_one_list_all_come_to_their_end(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, BY_ID, derived=[TOTAL, BY_NAME])
    await staff.create_table()

    async def write(writer: int) -> None:
        for number in range(INSERTS):
            await staff.insert(jones(EmployeeId=writer * INSERTS + number, Salary=10))

    await storage.together(*(write(writer) for writer in range(WRITERS)), limit=WRITERS)
    assert (await staff.totals(TOTAL, Department="Sales"))["Payroll"] == 10 * WRITERS * INSERTS
    assert len(await staff.keys_of(BY_NAME, Department="Sales", LastName="Jones")) == WRITERS * INSERTS
