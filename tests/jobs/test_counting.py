"""Count entities and add up numbers: exactly, and the same whatever the number of workers."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from math import inf, nan
from typing import Any

import pytest

from support.maintained_set import BY_ID, KINDS
from support.worker_sets import served, staff, store_staff
from tablepatterns import EntitySet, Int64, IntraPartitionIndex, Key, connect, prop
from tablepatterns.errors import BadFilter, BadProperty, BadToken
from tablepatterns.jobs import Counts, Workers, count

BY_KEY = Key("{Department}", "empid_{EmployeeId:06d}")


def stored(numbers: dict[str, list[Any]]) -> Any:
    """Return a set with an entity for each number of a department, and derived rows beside them."""
    by_email = IntraPartitionIndex(Key("{Department}", "mail_{Email}"))
    entities = EntitySet(connect(), "Staff", BY_KEY, derived=[by_email])
    for department, ages in numbers.items():
        for number, age in enumerate(ages):
            fields = {"Department": department, "EmployeeId": number, "Email": f"{number}@contoso.com"}
            entities.insert(fields if age is None else {**fields, "Age": age})
    return entities


async def test_entities_are_counted_and_derived_rows_are_not(storage: Any, table_name: str) -> None:
    entities = EntitySet(
        storage, table_name, BY_KEY, derived=[IntraPartitionIndex(Key("{Department}", "age_{Age:03d}"))]
    )
    for number, department in enumerate(["Sales", "Sales", "Legal"]):
        await entities.insert({"Department": department, "EmployeeId": number, "Age": 30 + number})
    report = await count(entities, sum_of=["Age", "EmployeeId"], by_partition=True)
    assert (report.entities, report.sums) == (3, {"Age": 93, "EmployeeId": 3})
    assert report.partitions == {
        "Sales": Counts(2, report.partitions["Sales"].sums),
        "Legal": Counts(1, report.partitions["Legal"].sums),
    }
    assert report.partitions["Sales"].sums == {"Age": 61, "EmployeeId": 1}
    assert (await count(entities, prop("Age") > 30)).entities == 2


def test_sums_are_exact_and_skip_what_is_missing() -> None:
    entities = stored({"A": [0.1] * 10 + [None], "B": [Int64(2**62), 1, Int64(2**62)], "C": [1e308, 1e308, -1e308]})
    partitions = count(entities, sum_of=["Age", "None"], by_partition=True).partitions
    assert partitions["A"] == Counts(11, partitions["A"].sums)
    assert partitions["A"].sums == {"Age": 1.0}
    assert partitions["B"].sums == {"Age": 2**63 + 1}
    assert partitions["C"].sums == {"Age": 1e308}


def test_a_sum_beyond_the_largest_number_is_infinite() -> None:
    assert count(stored({"A": [1e308, 1e308]}), sum_of=["Age"]).sums == {"Age": inf}
    assert count(stored({"A": [-1e308, -1e308]}), sum_of=["Age"]).sums == {"Age": -inf}


@pytest.mark.parametrize("value", ["7", True, b"7", nan, inf])
def test_a_value_that_is_not_a_number_is_reported_with_its_row(value: object) -> None:
    entities = stored({"Sales": [1, Int64(2**62), 0.5, value]})
    for workers in (None, 2):
        with pytest.raises(BadProperty, match=r"finite numbers have a sum.*'Sales', 'empid_000003'.*table Staff"):
            count(entities, sum_of=["Age"], workers=workers)
    assert count(entities).entities == 4


def test_a_filter_that_no_key_can_answer_is_rejected() -> None:
    with pytest.raises(BadFilter):
        count(stored({}), prop("EmployeeId") > "x")


def test_workers_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(monkeypatch) as engine:
        store_staff(connect(engine), 500, derived=[KINDS["near"]])
        entities, chance = staff(), random.Random(1)
        for entity in list(entities.scan())[::5]:
            entities.merge(entity, {"Bonus": chance.random() * 10.0 ** chance.randrange(20)})
        expected = count(entities, sum_of=["Bonus"], by_partition=True)
        assert (expected.entities, len(expected.partitions)) == (500, 40)
        share = Workers(3, source=staff, executor=lambda: ThreadPoolExecutor(1), seconds=0.0)
        for workers in (2, Workers(3, seconds=0.0), share):
            assert count(entities, sum_of=["Bonus"], by_partition=True, workers=workers) == expected


def test_a_count_is_resumed() -> None:
    entities = EntitySet(connect(), "Staff", BY_ID)
    store_staff(entities.account, 2_400)
    reports: list[Counts] = []
    whole = count(entities, sum_of=["EmployeeId"], progress=reports.append)
    rest = count(entities, sum_of=["EmployeeId"], resume=reports[0].token)
    assert reports[0].entities + rest.entities == whole.entities == 2_400
    assert reports[0].sums["EmployeeId"] + rest.sums["EmployeeId"] == whole.sums["EmployeeId"] == sum(range(2_400))


def test_a_count_of_workers_is_resumed_by_any_number_of_them_and_by_no_other_work() -> None:
    entities, others = (EntitySet(connect(), table, BY_ID) for table in ("Staff", "Others"))
    store_staff(entities.account, 2_400)
    reports: list[Counts] = []
    whole = count(entities, progress=reports.append, workers=Workers(2, seconds=0.0))
    first = reports[0]
    for workers in (None, 1, 5):
        assert first.entities + count(entities, resume=first.token, workers=workers).entities == whole.entities == 2_400
        with pytest.raises(BadToken):
            count(others, resume=first.token, workers=workers)
        with pytest.raises(BadToken):
            count(entities, prop("Age") > 1, resume=first.token, workers=workers)
