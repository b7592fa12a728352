"""Shared by tests of backfill, verify and repair: employees, two indexes of them, and findings."""

from __future__ import annotations

from typing import Any

from support.employees import jones
from tablepatterns import BulkLoad, Finding, InterPartitionIndex, IntraPartitionIndex, Key
from tablepatterns.jobs import Report

BY_ID = Key("empid_{Department}", "id_{EmployeeId:06d}")
NEAR = IntraPartitionIndex(Key("empid_{Department}", "email_{Email}"), name="near")
FAR = InterPartitionIndex(Key("email_{Department}", "{Email}"), name="far")
KINDS = {"near": NEAR, "far": FAR}


def person(number: int, **changes: Any) -> dict[str, Any]:
    return jones(EmployeeId=number, Email=f"{number}@contoso.com") | changes


async def fill(plain: Any, number: int) -> None:
    await BulkLoad(plain).load(person(each) for each in range(number))


async def change(plain: Any, number: int, **changes: Any) -> None:
    await plain.update(lambda each: each.update(changes), Department="Sales", EmployeeId=number)


def found_by(report: Report) -> dict[Finding, list[str]]:
    """Return the RowKeys of inconsistent rows by finding."""
    kinds = {drift.finding for drift in report.drifts}
    return {kind: sorted(drift.row[1].removeprefix("email_") for drift in report.of(kind)) for kind in kinds}
