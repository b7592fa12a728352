"""Bulk load with lists and totals in every order of requests: another load or writer, crashes and lost responses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import BulkLoad, EntitySet, IndexEntity, Key, Summary, limits
from tablepatterns.entity_set.commit import Step, Write, all_steps, execute_steps
from tablepatterns.entity_set.shared_rows import Pending
from tablepatterns.errors import LoadInterrupted
from tablepatterns.recipes.bulk_load import plan
from tablepatterns.recipes.bulk_load.plan import Chunk
from tablepatterns.sdk.operation import ANY
from tablepatterns_explore import Counterexample, World

RECIPE = "BulkLoad"
BY_NAME = IndexEntity("LastName")
PAYROLL = Summary(Key("{Department}", "total"), count="Employees", sums={"Salary": "Payroll"})
Make = Callable[[World], dict[str, Any]]


def staff_in(world: World) -> Any:
    key = Key("{Department}", "empid_{EmployeeId:01d}")
    return EntitySet(world.storage, "Staff", key, derived=[BY_NAME, PAYROLL])


def employee(number: int, salary: int = 10) -> dict[str, Any]:
    return {"Department": "Sales", "EmployeeId": number, "LastName": "Jones", "Salary": salary + number}


@dataclass
class Load:
    """One load of a schedule, and the tokens that its caller keeps."""

    entities: Sequence[Mapping[str, Any]]
    mode: Any
    tokens: list[str] = field(default_factory=list[str])

    async def run(self, world: World) -> int:
        """Load all entities, or resume from the last token; return how many entities were loaded."""
        options = {"mode": self.mode, "resume": self.tokens[-1] if self.tokens else None}
        bulk: Any = BulkLoad(staff_in(world), window=WINDOW)
        loaded = await bulk.load(self.entities, progress=lambda report: self.tokens.append(report.token), **options)
        return int(loaded.entities)


WINDOW = 3
LOADS: WeakKeyDictionary[World, dict[str, Load]] = WeakKeyDictionary()
"""The loads of each world, by the names of the actors."""


def beginning(world: World, *stored: int, mode: str = "insert", **loads: Iterable[int]) -> dict[str, Any]:
    """Return loads of employees with these numbers; others are stored already."""
    world.engine.tables.create("Staff")
    for number in stored:
        world.run(staff_in(world).insert(employee(number, salary=100)))
    LOADS[world] = {name: Load([employee(number) for number in numbers], mode) for name, numbers in loads.items()}
    return {name: load.run(world) for name, load in LOADS[world].items()}


def two_loads(world: World) -> dict[str, Any]:
    return beginning(world, ann=range(3), bob=[3])


def a_load_and_a_hire(world: World) -> dict[str, Any]:
    return beginning(world, ann=range(3)) | {"writer": staff_in(world).insert(employee(7))}


def a_load_over_one_who_gets_a_raise(world: World) -> dict[str, Any]:
    def add(entity: Any) -> None:
        entity["Salary"] += 1

    actors = beginning(world, 0, mode="insert_or_replace", ann=[0])
    return actors | {"writer": staff_in(world).update(add, Department="Sales", EmployeeId=0)}


# -- what must hold


def rows(world: World) -> dict[str, Mapping[str, Any]]:
    return {row.row_key: row.properties for row in world.engine.tables.query("Staff").entities}


def list_and_totals_are_exact(world: World) -> None:
    found = rows(world)
    keys = sorted(key for key in found if key.startswith("empid_"))
    ids = found["lastname_Jones"]["Ids"] if "lastname_Jones" in found else ""
    assert sorted(filter(None, ids.split("/"))) == keys, "the list is not exact"
    totals = found.get("total", {"Employees": 0, "Payroll": 0})
    exact = (len(keys), sum(int(found[key]["Salary"]) for key in keys))
    assert (totals["Employees"], totals["Payroll"]) == exact, "the totals are not exact"


def all_is_loaded_once_resumed(world: World) -> None:
    """Interrupted loads resume from their last token; then every entity must be stored."""
    for name, load in LOADS[world].items():
        if name not in world.returned:
            assert world.run(load.run(world)) == len(load.entities)
        missing = [each for each in load.entities if f"empid_{each['EmployeeId']}" not in rows(world)]
        assert missing == [], "an entity is lost"
    list_and_totals_are_exact(world)


def explored(make: Make, **options: Any) -> None:
    checks = {"always": list_and_totals_are_exact, "invariant": all_is_loaded_once_resumed}
    explore_guarantee(make, **checks, expected=LoadInterrupted, preemptions=1, **options)


@pytest.fixture(autouse=True)
def small_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a chunk have two entities besides the list and the totals, so that a window takes several."""
    monkeypatch.setattr(limits, "MAX_TRANSACTION_OPERATIONS", 4)


EXACT = "a resumed load loses nothing and counts nothing twice, while another load or a writer runs"


@pytest.mark.guarantee(RECIPE, f"{EXACT}, after any crash and any lost response")
@pytest.mark.parametrize(
    ("case", "faults"),
    [
        (two_loads, {"crashes": 1}),
        pytest.param(two_loads, {"lost_responses": 1}, marks=pytest.mark.nightly),
        pytest.param(a_load_and_a_hire, {"crashes": 1}, marks=pytest.mark.nightly),
        (a_load_and_a_hire, {"lost_responses": 1}),
        (a_load_over_one_who_gets_a_raise, {"crashes": 1}),
        (a_load_over_one_who_gets_a_raise, {"lost_responses": 1}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_resumed_load_is_complete_and_lists_and_totals_are_always_exact(case: Make, faults: dict[str, Any]) -> None:
    explored(case, at_least=20, **faults)


# ------------------------------------------------------------------ broken variants, which must be found


class TellsFirst(BulkLoad[Any]):
    """The token says that a chunk is in the table before it is."""

    async def _submit(self, run: Any, chunk: Chunk) -> Any:
        positions = [each.position for each in chunk.entities]
        run.tally.note_stored(positions, transactions=1, bytes=chunk.stored_bytes)
        return await execute_steps(self.entity_set.table, chunk.steps, run.retry_for)


def test_a_load_that_reports_a_chunk_before_writing_it_loses_an_entity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "BulkLoad", TellsFirst)
    with pytest.raises(Counterexample, match="an entity is lost"):
        explored(two_loads, crashes=1)


async def whatever_is_there(pending: Pending, write: Write, own: Sequence[Step]) -> list[Step]:
    """Write an entity over what is stored, though its part in the totals was taken from what was read."""
    return [
        step if step.shares_row else step._replace(operation=replace(step.operation, etag=ANY))
        for step in await all_steps(pending, write, own)
    ]


def test_a_load_that_replaces_unconditionally_makes_totals_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "all_steps", whatever_is_there)
    with pytest.raises(Counterexample, match="the totals are not exact"):
        explored(a_load_over_one_who_gets_a_raise)
