"""Explored: backfill and repair run while a writer keeps writing, and any process may crash."""

from __future__ import annotations

from typing import Any

import pytest

from support.indexed_staff import JONES, REFUSED, copies_are_right, drain, explored, prepared, read, staff_in
from support.table_states import delete, op
from tablepatterns.entity_set.intents import Intents
from tablepatterns.jobs import backfill, repair, verify
from tablepatterns.jobs.repairer import Repairer
from tablepatterns_explore import Counterexample, World


def index_of(staff: Any) -> Any:
    return staff.derived[0]


def backfilled_while_it_moves(world: World) -> list[Any]:
    """The copy is missing; one actor backfills it while another one changes its key."""
    staff = prepared(world, "a")
    world.engine.tables.apply("Staff", delete("email_Sales", "a"))
    return [backfill(staff, index_of(staff)), staff.merge(read(world, staff), {"Email": "b"})]


def repaired_while_it_moves(world: World) -> list[Any]:
    """The copy is stale; one actor repairs it while another one deletes the entity."""
    staff = prepared(world, "a")
    world.engine.tables.apply("Staff", op("merge", "empid_Sales", "000001", "*", Age=35))
    report = world.run(verify(staff, index_of(staff)))

    async def leave() -> None:
        await staff.delete(await staff.get(**JONES))

    return [repair(staff, index_of(staff), report), leave()]


def right_after_another_backfill(world: World) -> None:
    """Backfill again, as a caller does after a crash, and check the copies."""

    async def again() -> None:
        await drain(world)
        staff = staff_in(world)
        await backfill(staff, index_of(staff))

    world.run(again())
    copies_are_right(world)


@pytest.mark.guarantee(
    "jobs.backfill", "copies match their primaries at the end, while a writer keeps running, after any crash"
)
def test_a_backfill_runs_while_a_writer_keeps_writing_after_any_crash() -> None:
    explored(backfilled_while_it_moves, right_after_another_backfill, crashes=1)


@pytest.mark.guarantee(
    "jobs.repair", "repaired rows match their primaries at the end, while a writer keeps running, after any crash"
)
def test_a_repair_runs_while_a_writer_keeps_writing_after_any_crash() -> None:
    explored(repaired_while_it_moves, right_after_another_backfill, crashes=1, expected=REFUSED)


def test_a_backfill_without_intents_leaves_an_orphaned_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def repair(self: Repairer, intents: Intents, claims: Any, primaries: Any) -> None:
        for claim in claims:
            for trace in claim.traces:
                found = await self._rows.compare(self._derived, trace.keys, None, primaries[claim.row])
                if found.operation is not None:
                    await self._rows.table_of(self._derived).submit(found.operation)

    monkeypatch.setattr(Repairer, "_repair_outside", repair)
    with pytest.raises(Counterexample, match="final check failed"):
        explored(backfilled_while_it_moves, right_after_another_backfill, crashes=1, expected=REFUSED)
