"""Writers that stall during a move to new keys, in every order of requests.

Their next request arrives after their message was processed, and after everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from recipes.test_rekey_schedules import (
    LEASE,
    change_email,
    delete_jones,
    explored,
    finish,
    insert_other,
    prepared,
    raise_jones,
    rekey_in,
    rows,
)
from tablepatterns import Phase
from tablepatterns.errors import BadKey, EntityNotFound
from tablepatterns.recipes.rekey.fence import FencedTable
from tablepatterns.recipes.rekey.mirror import Mirror
from tablepatterns_explore import Counterexample, World

OVER = LEASE + 1
WHOLE_KEYS = ({"Department": "Sales", "EmployeeId": 1}, {"Email": "a"}, {"Email": "b"})


async def delete_other(world: World) -> bool:
    """Delete what a stalled writer inserts; return whether it was there."""
    for key in ({"Department": "Sales", "EmployeeId": 2}, {"Email": "c"}):
        with suppress(BadKey, EntityNotFound):
            await rekey_in(world).entities.delete(key, force=True)
            return True
    return False


async def raise_by_any_key(world: World) -> bool:
    for key in WHOLE_KEYS:
        with suppress(BadKey, EntityNotFound):
            await rekey_in(world).entities.update(lambda found: found.update(Raises=found["Raises"] + 1), key)
            return True
    return False


async def operate_and_write(world: World, write: Any, *steps: str) -> int:
    """Change the phase, and write after each step; return how many writes were acknowledged."""
    acknowledged = 0
    for step in steps:
        await getattr(rekey_in(world), step)()
        acknowledged += await write(world)
    return acknowledged


def stalled(world: World, write: str, steps: Sequence[str], *, is_cut_over: bool = False) -> dict[str, Any]:
    prepared(world, is_cut_over=is_cut_over)
    other = delete_other if write == "insert" else raise_by_any_key
    return {write: STALLED_WRITES[write](world), "others": operate_and_write(world, other, *steps)}


def no_acknowledged_write_is_undone(world: World) -> None:
    """Check the primary table after everything: acknowledged deletes hold, and acknowledged changes are there."""
    phase = world.run(finish(world))
    primary = rows(world, "StaffByEmail" if phase.has_new_primary else "Staff")
    acknowledged = world.returned.get("others", 0)
    write = world.actors[0].name
    has_returned = write in world.returned
    others = [row for row in primary if row["EmployeeId"] == 2]
    if write == "insert":
        assert not (acknowledged and others), "a deleted entity is back"
        assert others or acknowledged or not has_returned or "others" not in world.returned, "an entity is lost"
    jones = [row for row in primary if row["EmployeeId"] == 1]
    assert len(jones) + (write == "delete" and has_returned) <= 1, "the entity is there twice, or again"
    if write != "delete":
        (row,) = jones
        raises = (acknowledged if write != "insert" else 0) + (write == "raise" and has_returned)
        assert row["Raises"] >= raises, "a raise is lost"
        assert write != "email" or not has_returned or row["Email"] == "b", "a change is lost"


def acknowledged_writes_hold(world: World) -> None:
    """Check the primary table at every moment, also before a stalled writer notices that its message is gone."""
    if "others" not in world.returned:
        return
    phase = Phase(world.engine.tables.get("Rekeys", "rekey", "staff").properties["Phase"])
    primary = rows(world, "StaffByEmail" if phase.has_new_primary else "Staff")
    acknowledged, write = world.returned["others"], world.actors[0].name
    if write == "insert":
        assert not acknowledged or all(row["EmployeeId"] != 2 for row in primary), "a deleted entity is back"
    else:
        assert all(row["Raises"] >= acknowledged for row in primary), "a raise is lost"


STALLED_WRITES = {"insert": insert_other, "raise": raise_jones, "email": change_email, "delete": delete_jones}
ALL_STEPS: list[tuple[bool, tuple[str, ...]]] = [
    (False, ("status", "cut_over")),
    (False, ("cut_over",)),
    (False, ("cut_over", "roll_back")),
    (False, ("cut_over", "commit", "clean_up")),
    (True, ("roll_back",)),
    (True, ("roll_back", "cut_over")),
    (True, ("commit", "clean_up")),
]
WHILE_STALLED: list[Any] = [
    ("insert", *ALL_STEPS[0]),
    ("insert", *ALL_STEPS[1]),
    ("raise", *ALL_STEPS[1]),
    ("insert", *ALL_STEPS[4]),
]
OTHERS_WHILE_STALLED = [
    (write, *steps) for write in STALLED_WRITES for steps in ALL_STEPS if (write, *steps) not in WHILE_STALLED
]


@pytest.mark.guarantee(
    "Rekey", "no request of a writer that stalls, however late it arrives, undoes an acknowledged write"
)
@pytest.mark.parametrize(
    ("write", "is_cut_over", "steps"),
    [
        *(pytest.param(*case, marks=pytest.mark.nightly) for case in WHILE_STALLED[::2]),
        *WHILE_STALLED[1::2],
    ],
    ids=str,
)
def test_no_late_request_undoes_an_acknowledged_write(write: str, is_cut_over: bool, steps: tuple[str, ...]) -> None:
    make = partial(stalled, write=write, steps=steps, is_cut_over=is_cut_over)
    explored(make, no_acknowledged_write_is_undone, always=acknowledged_writes_hold, stalls=[OVER])


@pytest.mark.nightly
@pytest.mark.parametrize(("write", "is_cut_over", "steps"), OTHERS_WHILE_STALLED, ids=str)
def test_nor_does_it_in_any_other_phase(write: str, is_cut_over: bool, steps: tuple[str, ...]) -> None:
    make = partial(stalled, write=write, steps=steps, is_cut_over=is_cut_over)
    explored(make, no_acknowledged_write_is_undone, always=acknowledged_writes_hold, stalls=[OVER])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("write", "is_cut_over", "steps"),
    [("insert", *steps) for steps in ALL_STEPS] + [(write, *ALL_STEPS[1]) for write in ("raise", "email", "delete")],
    ids=str,
)
def test_nor_if_the_writer_crashes_after_its_late_request(
    write: str, is_cut_over: bool, steps: tuple[str, ...]
) -> None:
    make = partial(stalled, write=write, steps=steps, is_cut_over=is_cut_over)
    explored(make, no_acknowledged_write_is_undone, stalls=[OVER], crashes=1)


@pytest.mark.parametrize(
    ("owner", "name", "broken", "steps"),
    [
        (FencedTable, "_fenced", lambda table, operation: operation, ("cut_over",)),
        (Mirror, "fence", lambda mirror, claim, retry_for: sleep_not(), ("status", "cut_over")),
    ],
    ids=["leaves no tombstones", "does not fence the sender of a message"],
)
@pytest.mark.few(1)
def test_a_move_without_a_fence_fails(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, broken: Any, steps: tuple[str, ...]
) -> None:
    monkeypatch.setattr(owner, name, broken)
    make = partial(stalled, write="insert", steps=steps)
    with pytest.raises(Counterexample, match=r"back|lost"):
        explored(make, no_acknowledged_write_is_undone, always=acknowledged_writes_hold, stalls=[OVER])


async def sleep_not() -> None:
    """Do nothing in place of a step."""
