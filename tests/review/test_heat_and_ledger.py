"""The simulated load is on the same partitions as the requests of the recipes in the ledger."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from support.declared_staff import EMPLOYEE, EMPLOYEES, declared, design, measured
from tablepatterns import (
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    PartitionSpread,
    Summary,
    connect,
)
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InTable
from tablepatterns.filters import QueryClass
from tablepatterns_engine import Span
from tablepatterns_review.capacity.hot_partitions import table_loads
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Write

CALLS = 40
NAMES = 2


def staff_of(number: int) -> dict[str, Any]:
    """Return an employee: every fourth is of one department, and of these every second has one name."""
    return {
        "Department": f"d{number % 4}",
        "EmployeeId": number,
        "LastName": f"n{number // 4 % NAMES}",
        "Email": f"{number:03d}@contoso.com",
        "Age": number % 7,
    }


def work_in(span: Span) -> Counter[tuple[str, str]]:
    """Return the entities that were read and written, by table and partition."""
    found: Counter[tuple[str, str]] = Counter()
    for each in span.records:
        if each.service == "table" and each.table and each.partition and each.status < 400:
            found[each.table, each.partition] += max(1, each.examined + each.written)
    return found


def simulated(of: DeclaredSet, access: Query | Write, work: float, **other: Any) -> dict[str, list[float]]:
    """Return the entities of the busiest partitions of each table for one call, busiest first."""
    heats = table_loads(design(of), [measured(of, access, examined=work, written=0.0, **other)])
    return {each.table: [round(found.peak, 9) for found in each.partitions] for each in heats}


@pytest.mark.parametrize(
    "derived",
    [
        IntraPartitionIndex(Key("{Department}", "email_{Email}")),
        InterPartitionIndex(Key("email_{Department}", "{Email}"), table="Derived"),
        IndexEntity("LastName", store=InTable("Derived")),
        Summary(Key("totals", "{Department}"), store=InTable("Derived")),
    ],
    ids=repr,
)
def test_the_work_of_inserts_falls_on_primary_and_derived_partitions_as_simulated(derived: Derived) -> None:
    storage = connect()
    entities = EntitySet(storage, "Employees", EMPLOYEES, derived=[derived])
    for number in range(CALLS, 2 * CALLS):
        entities.insert(staff_of(number))
    with storage.engine.ledger.span() as span:
        for number in range(CALLS):
            entities.insert(staff_of(number))
    by_table: dict[str, list[float]] = {}
    for (table, _), work in work_in(span).items():
        by_table.setdefault(table, []).append(work / CALLS)
    total = sum(map(sum, by_table.values()))
    fields = EMPLOYEE | {"LastName": Field(distinct=NAMES)}
    found = simulated(declared(fields=fields, derived=(derived,)), Write("hire", "insert", rate=1), total)
    assert found.keys() == by_table.keys()
    for table, works in by_table.items():
        assert found[table] == pytest.approx(sorted(works, reverse=True), rel=1e-6)


def test_the_work_of_a_spread_falls_on_all_buckets_as_simulated() -> None:
    storage = connect()
    key = Key("log", "{EventId:06d}")
    events = PartitionSpread(storage, "Events", key, buckets=4)
    for number in range(CALLS):
        events.insert({"EventId": number})
    with storage.engine.ledger.span() as span:
        assert len(events.take(5)) == 5
    works = [work for (_, partition), work in work_in(span).items() if partition != "_spread"]
    of = declared(key, {"EventId": Field("int32")}, pattern="partition_spread", settings={"buckets": 4})
    query = Query("first", take=5, rate=1)
    found = simulated(of, query, float(sum(works)), query_class=QueryClass.RANGE, partitions=4.0)
    assert found["Employees"] == sorted(map(float, works), reverse=True)
