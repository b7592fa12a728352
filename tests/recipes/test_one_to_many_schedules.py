"""A change of shared fields in every order of requests: a concurrent writer, crashes and lost responses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import EntitySet, IntraPartitionIndex, Key
from tablepatterns.entity_set.commit import commit
from tablepatterns.errors import EntityChanged
from tablepatterns.recipes.one_to_many import Changed, SharedFields
from tablepatterns.sdk.operation import ANY
from tablepatterns_explore import Counterexample, World

RECIPE = "SharedFields"
STAFF = Key("{Department}", "empid_{EmployeeId:01d}")
BY_FLOOR = IntraPartitionIndex(Key("{Department}", "floor_{Floor:01d}_{EmployeeId:01d}"))
SALES = {"Department": "Sales"}
ONE = {**SALES, "EmployeeId": 1}
TOKENS: WeakKeyDictionary[World, list[str | None]] = WeakKeyDictionary()
"""The tokens that the caller of each world has kept."""


def staff_in(world: World) -> Any:
    return EntitySet(world.storage, "Staff", STAFF, derived=[BY_FLOOR])


async def change(world: World) -> None:
    """Let all be on the fourth floor, two at a time, from the last token on."""

    def keep(report: Changed) -> None:
        TOKENS[world].append(report.token)

    departments: Any = SharedFields(staff_in(world), ["Floor"])
    await departments.change({"Floor": 4}, chunk=2, resume=TOKENS[world][-1], progress=keep, **SALES)


def prepared(world: World, count: int = 3) -> Any:
    world.engine.tables.create("Staff")
    TOKENS[world] = [None]
    for number in range(count):
        world.prepare(staff_in(world).insert({**SALES, "EmployeeId": number, "Floor": 3, "Age": 0}))
    return staff_in(world)


def a_change_and_a_birthday(world: World) -> dict[str, Any]:
    def birthday(employee: Any) -> None:
        employee["Age"] += 1

    return {"writer": prepared(world).update(birthday, **ONE), "change": change(world)}


def a_change_and_a_farewell(world: World) -> dict[str, Any]:
    staff = prepared(world)
    leaving = world.run(staff.get(**ONE))
    return {"writer": staff.delete(leaving), "change": change(world)}


# -- what must hold


def rows(world: World, prefix: str) -> dict[str, Mapping[str, Any]]:
    found = world.engine.tables.query("Staff").entities
    return {row.row_key: row.properties for row in found if row.row_key.startswith(prefix)}


def copies_are_exact(world: World) -> None:
    """What is derived of the many says what they say."""
    copies = {key[len("floor_n_") :]: (key[len("floor_")], row["Age"]) for key, row in rows(world, "floor_").items()}
    many = {key[len("empid_") :]: (str(row["Floor"]), row["Age"]) for key, row in rows(world, "empid_").items()}
    assert copies == many, "a copy is not exact"


def all_say_so_once_resumed(world: World) -> None:
    if "change" not in world.returned:
        world.run(change(world))
    many = rows(world, "empid_")
    assert {row["Floor"] for row in many.values()} == {4}, "one of the many was left out"
    assert len(many) >= 2
    if "writer" in world.returned:
        assert "empid_1" not in many or many["empid_1"]["Age"] == 1, "a birthday is lost"


def explored(make: Callable[[World], dict[str, Any]], **options: Any) -> None:
    checks = {"always": copies_are_exact, "invariant": all_say_so_once_resumed}
    explore_guarantee(make, **checks, expected=EntityChanged, preemptions=1, **options)


@pytest.mark.guide("G-273")
@pytest.mark.parametrize("faults", [{"crashes": 1}, {"lost_responses": 1}], ids=str)
@pytest.mark.parametrize("case", [a_change_and_a_birthday, a_change_and_a_farewell], ids=["birthday", "farewell"])
@pytest.mark.guarantee(
    RECIPE,
    "a resumed change reaches all children, and no concurrent write is lost, after any crash or lost response",
)
def test_a_change_reaches_all_children_and_no_concurrent_write_is_lost(case: Any, faults: dict[str, Any]) -> None:
    explored(case, at_least=20, **faults)


# ------------------------------------------------------------------ broken variants, which must be found


class WritesOverWhateverIsThere(SharedFields[Any]):
    """What was read is written back, whatever others have written since."""

    async def _write(self, entities: list[Any], retry_for: float) -> None:
        for write in map(self.entity_set.replacing, entities):
            assert write.source is not None
            late = replace(write, source=write.source._replace(etag=ANY))
            await commit(self.account, self.entity_set.table, late, retry_for=retry_for)


class LeavesOutWhatOthersChange(SharedFields[Any]):
    """A chunk that another writer was faster with is taken for done."""

    async def _write(self, entities: list[Any], retry_for: float) -> None:
        with suppress(EntityChanged):
            await super()._write(entities, retry_for)


@pytest.mark.parametrize(
    ("broken", "what"),
    [(WritesOverWhateverIsThere, "a birthday is lost"), (LeavesOutWhatOthersChange, "one of the many was left out")],
)
def test_a_change_with_a_step_missing_fails(monkeypatch: pytest.MonkeyPatch, broken: type, what: str) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SharedFields", broken)
    with pytest.raises(Counterexample, match=what):
        explored(a_change_and_a_birthday)
