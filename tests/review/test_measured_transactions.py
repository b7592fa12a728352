"""Compare what the review says of eventual transactions and of retries with what `Traffic` measures."""

from __future__ import annotations

from typing import Any

import pytest

from tablepatterns import EntitySet, Key, Storage, connect
from tablepatterns.recipes.eventual_transaction import EventualTransaction, Step
from tablepatterns.recipes.worker import Worker
from tablepatterns.traffic import Traffic
from tablepatterns_engine import Clock, Engine
from tablepatterns_review import Design, Field, Shape, Write, declare_set
from tablepatterns_review.design.writes import RETRY_REQUESTS
from tablepatterns_review.measure.measure import measure
from tablepatterns_review.measure.sample import NOW

KEY = Key("{Department}", "empid_{EmployeeId:06d}")
FIELDS = {
    "Department": Field(distinct=8, size=10),
    "EmployeeId": Field("int32"),
    "LastName": Field(distinct=40, size=12),
    "Age": Field("int32", distinct=50),
}
STAFF = (
    {"Department": "Sales", "EmployeeId": 1, "LastName": "Jones", "Age": 30},
    {"Department": "Sales", "EmployeeId": 2, "LastName": "Brown", "Age": 40},
)


def key_of(entity: dict[str, Any]) -> dict[str, Any]:
    return {name: entity[name] for name in KEY.fields}


def two_sets(storage: Storage) -> tuple[EntitySet[Storage], EntitySet[Storage]]:
    """Return two sets that share no partition."""
    return EntitySet(storage, "Employees", KEY), EntitySet(storage, "Badges", Key("badge_{EmployeeId:06d}", "badge"))


@pytest.mark.parametrize("count", [300, 1_800])
def test_an_eventual_transaction_takes_what_traffic_measures(count: int) -> None:
    employees, badges = two_sets(connect())
    hire = Write("hire", "insert", atomic_with=("issue",))
    badge = {"EmployeeId": Field("int32")}
    declared = (
        declare_set(employees, shape=Shape("Employee", count, FIELDS), writes=[hire]),
        declare_set(badges, shape=Shape("Badge", count, badge), writes=[Write("issue", "insert")]),
    )
    said, _ = measure(Design("Staff", declared))
    storage = connect(Engine(clock=Clock(NOW)))
    staffed, issued = two_sets(storage)
    body = STAFF[0]
    steps: dict[str, Step] = {
        "hire": lambda _: staffed.insert(body) and None,
        "issue": lambda _: issued.insert({"EmployeeId": body["EmployeeId"]}) and None,
    }
    transaction = EventualTransaction(storage, "hiring", "hire", steps)
    worker = Worker(storage, [transaction])
    staffed.insert(STAFF[1])
    issued.insert({"EmployeeId": 5})
    transaction.start({})
    worker.run_once()
    staffed.delete(key_of(body), force=True)
    issued.delete({"EmployeeId": body["EmployeeId"]}, force=True)
    with Traffic(storage) as traffic:
        transaction.start({})
        worker.run_once()
    assert said.requests == traffic.overall.requests
    assert said.transactions == traffic.overall.transactions


def test_a_retry_costs_what_traffic_measures() -> None:
    storage = connect(Engine(clock=Clock(NOW)))
    entities = EntitySet(storage, "Employees", KEY)
    entity = STAFF[0]
    key = key_of(entity)
    entities.insert(entity)
    other = EntitySet(storage, "Employees", KEY)

    def cost(conflicts: int) -> tuple[int, int]:
        left = [other] * conflicts

        def change(row: Any) -> None:
            if left:
                left.pop().update(lambda theirs: theirs.update({"Age": theirs["Age"] + 1}), key)
            row["LastName"] = row["LastName"][::-1]

        with Traffic(storage) as traffic:
            entities.update(change, key)
        return traffic.overall.requests, traffic.overall.transactions

    alone, contended = cost(0), cost(3)
    # The other writer's own changes take two requests each
    assert contended == tuple(each + 3 * 2 + 3 * RETRY_REQUESTS for each in alone)


def test_retries_are_counted_where_several_writers_change_one_row() -> None:
    def said(writers: int, rate: float) -> Any:
        write = Write("count", "update", ("Total",), rate=rate, writers=writers)
        totals = declare_set(
            EntitySet(connect(), "Totals", Key("total", "total")),
            shape=Shape("Total", 1, {"Total": Field("int32")}),
            writes=[write],
        )
        return measure(Design("Totals", (totals,)))[0]

    alone, busy = said(1, 10), said(4, 10)
    assert (alone.retries, alone.requests) == (0, 2)
    assert busy.retries == pytest.approx(0.4)
    assert busy.requests == busy.transactions == pytest.approx(2 + 0.4 * RETRY_REQUESTS)
