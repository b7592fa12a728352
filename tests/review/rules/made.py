"""Constructed measurements of a design: rules are tested on exact numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from tablepatterns import Key
from tablepatterns.filters import QueryClass
from tablepatterns_review.design.model import DeclaredSet, Design, Field, Query, Shape, Write
from tablepatterns_review.result import (
    AccountLoad,
    Bill,
    BillLine,
    Finding,
    LimitUse,
    Measured,
    PartitionLoad,
    TableLoad,
)
from tablepatterns_review.rules import RuleContext, findings

STEP = 300.0
TARGET = 2000.0
NO_BILL = Bill((), 0.0, 0.0, "USD", date(2026, 1, 1), "made by hand")
IDLE = AccountLoad(STEP, (0.0,), 20_000.0)

EMPLOYEES = DeclaredSet(
    name="Employees",
    table="Employees",
    key=Key("{Department}", "empid_{EmployeeId:06d}"),
    shape=Shape(
        "Employee",
        20_000,
        {
            "Department": Field(distinct=40, size=10),
            "EmployeeId": Field("int32"),
            "Email": Field(size=24),
            "LastName": Field(distinct=2_000),
            "Age": Field("int32", distinct=50),
            "HiredAt": Field("datetime", order="rising"),
        },
    ),
)


def asked(
    of: DeclaredSet, query: Query, found: QueryClass = QueryClass.POINT, **numbers: float | str | None
) -> Measured:
    """Return what a query took: one point query, if nothing else is said."""
    return _measured(of, query, found, {"examined": 1.0, "returned": 1.0, **numbers})


def done(of: DeclaredSet, write: Write, **numbers: float | str | None) -> Measured:
    """Return what a write took: one transaction of one entity, if nothing else is said."""
    return _measured(of, write, None, {"written": 1.0, **numbers})


def _measured(
    of: DeclaredSet, access: Query | Write, found: QueryClass | None, numbers: dict[str, float | str | None]
) -> Measured:
    one = Measured(of, access, "by hand", None, found, 1.0, 1.0, 0.0, 0.0, 0.0, 100.0, 100.0, 1.0, False, 1)
    return replace(one, **numbers)  # type: ignore[arg-type]


def hot(
    table: str, peak: float, *, partition: str = "Sales", share: float = 0.5, follows_time: bool = False
) -> TableLoad:
    """Return the heat of a table whose busiest partition has this peak, at noon."""
    rates = (peak / 4, peak, peak / 4)
    busiest = PartitionLoad(table, partition, rates, share)
    saturated = 43_200.0 if peak > TARGET else None
    return TableLoad(table, STEP, (busiest,), 9, TARGET, TARGET / peak, saturated, follows_time, 4, peak / 4)


def found(
    *measured: Measured,
    sets: Iterable[DeclaredSet] = (),
    heats: Iterable[TableLoad] = (),
    account: AccountLoad = IDLE,
    in_sight: Iterable[LimitUse] = (),
    lines: Iterable[BillLine] = (),
    years: float = 3.0,
) -> list[Finding]:
    """Return the findings of a design of these sets, or of those that were measured."""
    of = {each.name: each for each in (*(each.of for each in measured), *sets)}
    bill = replace(NO_BILL, lines=tuple(lines), total=sum(line.amount for line in lines))
    design = Design("By hand", tuple(of.values()), years)
    return list(findings(RuleContext(design, measured, tuple(heats), account, tuple(in_sight), bill)))


def reported(each: list[Finding]) -> list[tuple[str, str]]:
    """Return rule and subject of each finding."""
    return [(finding.rule, finding.subject) for finding in each]
