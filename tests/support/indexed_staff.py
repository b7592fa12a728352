"""Employees with copies by email in other partitions, for explored schedules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from support.guarantees import explore_guarantee
from support.table_states import insert
from tablepatterns import EntitySet, InterPartitionIndex, Key
from tablepatterns.errors import EntityAlreadyExists, EntityChanged, EntityNotFound
from tablepatterns_explore import World

QUEUE = "staff-intents"
JONES = {"Department": "Sales", "EmployeeId": 1}
REFUSED = (EntityAlreadyExists, EntityChanged, EntityNotFound)
LEASE = 60


def staff_in(world: World, *, unique: bool = False) -> Any:
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), unique=unique)
    key = Key("empid_{Department}", "{EmployeeId:06d}")
    return EntitySet(world.storage, "Staff", key, derived=[by_email], lease=LEASE)


def prepared(world: World, email: str | None = None, *, unique: bool = False) -> Any:
    """Return the set with its table and queue; with an address, Jones is stored."""
    world.engine.tables.create("Staff")
    world.engine.queues.create(QUEUE)
    if email is not None:
        world.engine.tables.apply("Staff", insert("empid_Sales", "000001", Email=email))
        world.engine.tables.apply("Staff", insert("email_Sales", email, EmployeeId=1))
    return staff_in(world, unique=unique)


def read(world: World, staff: Any) -> Any:
    return world.run(staff.get(**JONES))


async def drain(world: World, *, unique: bool = False) -> None:
    """Process messages like a worker until none are left."""
    while world.engine.queues.count(QUEUE):
        await world.storage.sleep(LEASE)
        await staff_in(world, unique=unique).process_intents()


def stored(world: World) -> dict[tuple[str, str], dict[str, Any]]:
    rows = world.engine.tables.query("Staff").entities
    return {
        (row.partition_key, row.row_key): {name: value for name, value in row.properties.items() if name != "WriteId"}
        for row in rows
    }


def copies_are_right(world: World) -> None:
    """Check that there is exactly one copy for each primary row, with its properties."""
    rows = stored(world)
    primaries = {keys: row for keys, row in rows.items() if keys[0] == "empid_Sales"}
    copies = {keys: row for keys, row in rows.items() if keys[0] == "email_Sales"}
    wanted = {}
    for (_, row_key), row in primaries.items():
        rest = {name: value for name, value in row.items() if name != "Email"}
        wanted["email_Sales", row["Email"]] = {**rest, "EmployeeId": int(row_key)}
    assert copies == wanted


def right_once_drained(world: World, *, unique: bool = False) -> None:
    world.run(drain(world, unique=unique))
    copies_are_right(world)


def explored(
    make: Any, invariant: Callable[[World], object] | None = None, *, unique: bool = False, **options: Any
) -> None:
    """Explore writers, by default with one preemption."""
    invariant = invariant or partial(right_once_drained, unique=unique)
    explore_guarantee(make, invariant=invariant, **{"expected": REFUSED, "preemptions": 1, "at_least": 20, **options})


# -- writers of one entity


def two_moves(world: World) -> list[Any]:
    staff = prepared(world, "a")
    return [staff.merge(read(world, staff), {"Email": email}) for email in ("b", "c")]


def three_moves(world: World) -> list[Any]:
    staff = prepared(world, "a")
    return [staff.merge(read(world, staff), {"Email": email}) for email in ("b", "c", "d")]


def a_move_and_a_move_back(world: World) -> list[Any]:
    staff = prepared(world, "a")

    async def back() -> None:
        entity = await staff.get(**JONES)
        await staff.merge(entity, {"Email": "a" if entity["Email"] == "b" else "c"})

    return [staff.merge(read(world, staff), {"Email": "b"}), back()]


def a_move_and_a_delete(world: World) -> list[Any]:
    staff = prepared(world, "a")

    async def delete() -> None:
        await staff.delete(await staff.get(**JONES))

    return [staff.merge(read(world, staff), {"Email": "b"}), delete()]


def two_inserts(world: World, *, unique: bool = False) -> list[Any]:
    staff = prepared(world, unique=unique)
    return [staff.insert({**JONES, "Email": email}) for email in ("a", "b")]
