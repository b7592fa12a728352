"""Moves to new keys in every order of requests: two writers, the copier and a change of the phase, with crashes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import EntitySet, Key, Phase, Rekey
from tablepatterns.entity_set.derived import TOMBSTONE
from tablepatterns.errors import (
    BadInput,
    EntityChanged,
    EntityNotFound,
    LeaseLost,
    OutcomeUnknown,
    RekeyNotReady,
    TooMuchContention,
)
from tablepatterns.recipes.rekey import rekey
from tablepatterns.recipes.rekey.dual_writer import DualWriter
from tablepatterns.recipes.rekey.mirror import Mirror, get_row
from tablepatterns_explore import Counterexample, World

RECIPE = "Rekey"
QUEUE = "rekey-staff"
LEASE = 60
JONES = {"Department": "Sales", "EmployeeId": 1}
REFUSED = (BadInput, EntityChanged, EntityNotFound, LeaseLost, OutcomeUnknown, RekeyNotReady, TooMuchContention)


def rekey_in(world: World) -> Any:
    """Return the move as another process declares it."""
    old = EntitySet(world.storage, "Staff", Key("{Department}", "{EmployeeId:06d}"))
    new = EntitySet(world.storage, "StaffByEmail", Key("{Email}", "staff"))
    return Rekey(old, new, queue=QUEUE, name="staff", lease=LEASE, max_pause=1)


def prepared(world: World, *, is_copied: bool = True, is_cut_over: bool = False) -> None:
    move = rekey_in(world)
    world.engine.queues.create(QUEUE)
    world.engine.queues.create(f"{QUEUE}-poison")
    world.prepare(move.new_set.create_table())
    world.prepare(move.old_set.insert({**JONES, "Email": "a", "Raises": 0}))
    if is_copied:
        world.prepare(move.copy())
    world.prepare(move.verify())
    if is_cut_over:
        world.prepare(move.cut_over())


async def finish(world: World) -> Phase:
    """Do what workers and the operator do after a crash, and return the phase."""
    move = rekey_in(world)
    phase: Phase = (await move.status()).phase
    if phase.is_paused:
        phase = (await (move.cut_over() if phase is Phase.ROLLING_BACK else move.roll_back())).phase
    while await world.storage.queue(QUEUE).length():
        await world.storage.sleep(LEASE)
        await move.process_intents(lease=LEASE)
    if phase is Phase.COPYING and len(world.crashed) == len(world.actors):
        # The copier crashed too: the operator runs it again
        await move.copy()
    return phase


def rows(world: World, table: str) -> list[dict[str, Any]]:
    key = Key("{Department}", "{EmployeeId:06d}") if table == "Staff" else Key("{Email}", "staff")
    return [
        {name: value for name, value in row.properties.items() if name != "WriteId"}
        | dict(key.parse(row.partition_key, row.row_key))
        for row in world.engine.tables.query(table).entities
        if TOMBSTONE not in row.properties
    ]


def both_equal(world: World) -> list[dict[str, Any]]:
    """Check that both tables have the same entities, and return them."""
    world.run(finish(world))
    old, new = (sorted(rows(world, table), key=repr_of) for table in ("Staff", "StaffByEmail"))
    assert old == new
    return old


def repr_of(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


def no_raise_lost(world: World) -> None:
    """Each raise that was reported is there once; that of a writer that crashed may be."""
    (jones,) = both_equal(world)
    given = [*world.returned.values()].count("raised")
    begun = sum(name.startswith("raise") for name in (actor.name for actor in world.actors))
    assert given <= jones["Raises"] <= begun


def email_kept(world: World) -> None:
    no_raise_lost(world)
    if "changed" in world.returned.values():
        assert both_equal(world)[0]["Email"] == "b"


def nobody_returns(world: World) -> None:
    """The entity that was deleted stays deleted, and the one that was inserted is there."""
    found = both_equal(world)
    emails = [row["Email"] for row in found]
    assert len(set(emails)) == len(emails)
    if "deleted" in world.returned.values():
        assert "a" not in emails
    if "inserted" in world.returned.values():
        assert "c" in emails


def only_new_once_committed(world: World) -> None:
    """Whatever was reported is in the new table, and the old one is empty once it was cleaned up."""
    world.run(finish(world))
    (jones,) = rows(world, "StaffByEmail")
    assert jones["Raises"] >= [*world.returned.values()].count("raised")
    if "clean_up" in world.returned.values():
        assert rows(world, "Staff") == []


async def raise_jones(world: World) -> str:
    await rekey_in(world).entities.update(lambda found: found.update(Raises=found["Raises"] + 1), **JONES)
    return "raised"


async def change_email(world: World) -> str:
    await rekey_in(world).entities.update(lambda found: found.update(Email="b"), **JONES)
    return "changed"


async def delete_jones(world: World) -> str:
    await rekey_in(world).entities.delete(JONES, force=True)
    return "deleted"


async def insert_other(world: World) -> str:
    await rekey_in(world).entities.insert({"Department": "Sales", "EmployeeId": 2, "Email": "c", "Raises": 0})
    return "inserted"


async def operate(world: World, *steps: str) -> str:
    move = rekey_in(world)
    for step in steps:
        await getattr(move, step)()
    return steps[-1]


def writers_and(world: World, writers: int, steps: Sequence[str], *, is_cut_over: bool = False) -> dict[str, Any]:
    prepared(world, is_cut_over=is_cut_over)
    raises = {f"raise_{number}": raise_jones(world) for number in range(writers)}
    return raises | {"operator": operate(world, *steps)}


def writers_copier_and_cut_over(world: World) -> dict[str, Any]:
    prepared(world)
    return {
        "raise": raise_jones(world),
        "email": change_email(world),
        "copier": operate(world, "copy"),
        "operator": operate(world, "cut_over"),
    }


def a_delete_an_insert_the_copier_and_a_cut_over(world: World) -> dict[str, Any]:
    prepared(world)
    return {
        "delete": delete_jones(world),
        "insert": insert_other(world),
        "copier": operate(world, "copy"),
        "operator": operate(world, "cut_over"),
    }


def a_writer_and_the_whole_move(world: World) -> dict[str, Any]:
    prepared(world, is_copied=False)
    return {"raise": raise_jones(world), "operator": operate(world, "copy", "verify", "cut_over")}


def a_delete_and_the_copier(world: World) -> dict[str, Any]:
    prepared(world, is_copied=False)
    return {"delete": delete_jones(world), "copier": operate(world, "copy")}


def explored(make: Any, invariant: Any = no_raise_lost, **options: Any) -> None:
    explore_guarantee(make, invariant=invariant, **{"expected": REFUSED, "preemptions": 1, "at_least": 20, **options})


def the_copier_and_a_cut_over(world: World) -> dict[str, Any]:
    prepared(world)
    return {"raise": raise_jones(world), "copier": operate(world, "copy"), "operator": operate(world, "cut_over")}


CUT_OVER = partial(writers_and, steps=("cut_over",))
ROLL_BACK = partial(writers_and, steps=("roll_back",), is_cut_over=True)
COMMIT = partial(writers_and, steps=("commit", "clean_up"), is_cut_over=True)
FAULTS: list[dict[str, int]] = [{"crashes": 1, "preemptions": 0}, {"lost_responses": 1, "preemptions": 0}]
BOUNDS: list[Any] = [{}, *FAULTS]
AT_NIGHT = [pytest.param(bound, marks=pytest.mark.nightly) for bound in FAULTS]
TWO_WRITERS_AT_NIGHT: list[Any] = [
    (1, {"crashes": 1}),
    *(pytest.param(2, bound, marks=pytest.mark.nightly) for bound in BOUNDS),
]


def other_bounds_at_night(kept: dict[str, int]) -> list[Any]:
    """Return all bounds, of which one is explored in every run."""
    return [bound if bound == kept else pytest.param(bound, marks=pytest.mark.nightly) for bound in BOUNDS]


@pytest.mark.guide("G-134", "G-135")
@pytest.mark.guarantee(RECIPE, "no write of two writers is lost or made twice by a cut-over, after any crash")
@pytest.mark.parametrize(("writers", "bound"), TWO_WRITERS_AT_NIGHT)
def test_no_write_is_lost_by_a_cut_over(writers: int, bound: dict[str, int]) -> None:
    explored(partial(CUT_OVER, writers=writers), **bound)


@pytest.mark.guarantee(RECIPE, "no write of two writers is lost or made twice by a rollback, after any crash")
@pytest.mark.parametrize(("writers", "bound"), TWO_WRITERS_AT_NIGHT)
def test_no_write_is_lost_by_a_rollback(writers: int, bound: dict[str, int]) -> None:
    explored(partial(ROLL_BACK, writers=writers), **bound)


@pytest.mark.guarantee(RECIPE, "no write is lost when the move is committed and cleaned up, after any crash")
@pytest.mark.parametrize(("writers", "bound"), TWO_WRITERS_AT_NIGHT)
def test_no_write_is_lost_by_a_commit(writers: int, bound: dict[str, int]) -> None:
    explored(partial(COMMIT, writers=writers), only_new_once_committed, **bound)


@pytest.mark.guide("G-137")
@pytest.mark.guarantee(
    RECIPE, "two writers, the copier and a cut-over leave both tables equal, with each write once, after any crash"
)
@pytest.mark.parametrize("bound", [{"preemptions": 0}, *AT_NIGHT], ids=str)
def test_two_writers_the_copier_and_a_cut_over_leave_both_tables_equal(bound: dict[str, int]) -> None:
    explored(writers_copier_and_cut_over, email_kept, **bound)


@pytest.mark.guarantee(
    RECIPE, "a writer, the copier and a cut-over leave both tables equal, with each write once, after any crash"
)
@pytest.mark.parametrize("bound", other_bounds_at_night({}), ids=str)
def test_a_writer_the_copier_and_a_cut_over_leave_both_tables_equal(bound: dict[str, int]) -> None:
    explored(the_copier_and_a_cut_over, **bound)


@pytest.mark.guarantee(
    RECIPE, "a deleted entity does not return and an inserted one is not lost while the table is copied and cut over"
)
@pytest.mark.parametrize("bound", [{"preemptions": 0}, *AT_NIGHT], ids=str)
def test_no_deleted_entity_returns(bound: dict[str, int]) -> None:
    explored(a_delete_an_insert_the_copier_and_a_cut_over, nobody_returns, **bound)


@pytest.mark.guarantee(RECIPE, "a table is copied, verified and cut over while a writer runs, after any crash")
@pytest.mark.parametrize("bound", other_bounds_at_night(FAULTS[0]), ids=str)
def test_the_whole_move_loses_no_write(bound: dict[str, int]) -> None:
    explored(a_writer_and_the_whole_move, **bound)


@pytest.mark.guarantee(RECIPE, "the copier leaves no copy of an entity that is deleted, after any crash")
@pytest.mark.parametrize("bound", [{"crashes": 1}, {"lost_responses": 1, "preemptions": 0}], ids=str)
def test_the_copier_leaves_no_copy_of_a_deleted_entity(bound: dict[str, int]) -> None:
    explored(a_delete_and_the_copier, nobody_returns, **bound)


# -- what must not work, or the explorer would see nothing


ONE_WRITER, TWO_WRITERS = (partial(CUT_OVER, writers=number) for number in (1, 2))


async def begin_with_the_phase(self: Any, claims: Any) -> Any:
    """Read the phase before the message is sent."""
    state = await self.read_state()
    if state.phase.is_paused:
        state = await self.wait_for_phase(state)
    return await self._announce(claims), state


async def do_not_wait(self: Any, longest: float) -> bool:
    return True


async def switch_without_pause(self: Any, during: Phase, after: Phase) -> Any:
    state = await self._writer.read_state()
    await self._drained(self._writer.timing.max_pause)
    return await self._status(await self._change(state, after))


async def settle_once(self: Any, lease: Any, claim: Any, retry_for: float, known: Any = None, absent: Any = ()) -> Any:
    """Do not check that the entity is still what was copied."""
    entities = {keys: (known or {}).get(keys) or await get_row(self.source, keys) for keys in self.sources(claim)}
    return await self._settled(lease, claim, entities, set(absent))


@pytest.mark.parametrize(
    ("owner", "name", "broken", "make", "invariant"),
    [
        (DualWriter, "begin", begin_with_the_phase, TWO_WRITERS, no_raise_lost),
        (Rekey, "_drained", do_not_wait, TWO_WRITERS, no_raise_lost),
        (Rekey, "_switch", switch_without_pause, TWO_WRITERS, no_raise_lost),
        (Mirror, "settle", settle_once, a_delete_and_the_copier, nobody_returns),
    ],
    ids=["reads the phase first", "waits for no writer", "switches without a pause", "copies without a check"],
)
@pytest.mark.few(2)
def test_a_move_in_another_order_fails(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, broken: Any, make: Any, invariant: Any
) -> None:
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises(Counterexample):
        explored(make, invariant, preemptions=2)


def test_a_move_without_messages_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unannounced(DualWriter[Any]):
        """Deletes its message before the entity is written."""

        async def begin(self, claims: Any) -> Any:
            lease, state = await super().begin(claims)
            assert lease is not None
            await lease.complete()
            return await self._announce([]), state

    monkeypatch.setattr(rekey, "DualWriter", Unannounced)
    with pytest.raises(Counterexample):
        explored(ONE_WRITER, crashes=1, preemptions=0)
