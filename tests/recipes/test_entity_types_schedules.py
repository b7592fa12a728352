"""Entity types in every order of requests: two programs of different versions, crashes and lost responses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import EntitySet, Key, OneOf
from tablepatterns.errors import EntityChanged
from tablepatterns_explore import World
from tablepatterns_explore.explore import Counterexample

SALES = {"Department": "Sales"}
KEY = Key("{Department}", "DEPARTMENT")


@dataclass
class Department:
    """Version 2 counts heads where version 1 counted employees."""

    Department: str
    Heads: int


def rename(fields: dict[str, Any]) -> dict[str, Any]:
    return {"Heads": fields.pop("EmployeeCount")} | fields


def types_of(world: World) -> Any:
    return EntitySet(world.storage, "Staff", KEY, model=OneOf(Department), versions=[(1, rename)])


def stored(world: World) -> dict[str, Any]:
    (row,) = world.engine.tables.query("Staff").entities
    return dict(row.properties)


def an_old_department(world: World) -> Any:
    old = {**SALES, "EntityType": "Department", "EmployeeCount": 0, "Badge": 7}
    world.run(EntitySet(world.storage, "Staff", KEY).insert(old))
    return types_of(world)


def one_more(department: Department) -> Department:
    return replace(department, Heads=department.Heads + 1)


def every_change_counts_once(world: World) -> None:
    """What was reported is counted, nothing is counted twice, and no program's field is lost."""
    row = stored(world)
    heads = row["EmployeeCount"] if row["EntityType"] == "Department" else row["Heads"]
    assert ("EmployeeCount" in row) != ("Heads" in row), "half of each version"
    assert len(world.returned) <= heads <= 2
    assert row["Badge"] == 7


async def once(staff: Any) -> None:
    """Change what was read, unless another was faster."""
    department = await staff.get(**SALES)
    department.Heads += 1
    await staff.replace(department)


def two_writers(world: World) -> list[Any]:
    staff = an_old_department(world)
    return [staff.update(one_more, **SALES), once(staff)]


@pytest.mark.guarantee("OneOf", "no change of an entity of an earlier version is lost or incomplete")
@pytest.mark.parametrize(
    ("faults", "fewest"), [({"crashes": 1}, 10), ({"lost_responses": 1}, 20)], ids=["crashes", "lost_responses"]
)
def test_an_upgrade_on_write_loses_no_change(faults: dict[str, int], fewest: int) -> None:
    """Whoever dies, and whichever answer is lost."""
    result = explore_guarantee(two_writers, always=every_change_counts_once, expected=EntityChanged, **faults)
    assert result.states > fewest


async def carelessly(staff: Any) -> None:
    """The step left out: the ETag is not of what was changed, but of what is there now."""
    read = await staff.get(**SALES)
    current = await staff.get(**SALES)
    current.Heads = read.Heads + 1
    await staff.replace(current)


def two_careless_writers(world: World) -> list[Any]:
    staff = an_old_department(world)
    return [carelessly(staff), carelessly(staff)]


def test_an_upgrade_without_the_etag_loses_a_change() -> None:
    with pytest.raises(Counterexample):
        explore_guarantee(two_careless_writers, always=every_change_counts_once, expected=EntityChanged)
