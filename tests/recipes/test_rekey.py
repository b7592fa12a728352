"""Move a live table to new keys: phases, reads by either key, problems that block the cut-over, and cleaning up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.crashing_client import Crash, Crashed, connect_crashing
from tablepatterns import (
    EntitySet,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    Mismatch,
    Phase,
    Rekey,
    Summary,
    Worker,
    connect,
)
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    BadKey,
    BadToken,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    OutcomeUnknown,
    RekeyNotReady,
)
from tablepatterns.jobs import verify
from tablepatterns.recipe import bound_async, finish
from tablepatterns_engine.account import Engine

BY_ID = Key("{Department}", "{EmployeeId:06d}")
BY_EMAIL = Key("{Email}", "employee")


def employee(number: int, **fields: Any) -> dict[str, Any]:
    return {"Department": "Sales", "EmployeeId": number, "Email": f"e{number}@contoso.com", "Age": 30} | fields


def move_in(storage: Any, name: str, *, old: Any = None, new: Any = None, **options: Any) -> Any:
    """Return the move of a table; each call is that of another process."""
    old_set = old or EntitySet(storage, name, BY_ID)
    new_set = new or EntitySet(storage, f"{name}New", BY_EMAIL)
    given = {"control": f"{name}Control", "queue": f"rekey-{name.lower()}", "name": name.lower()}
    return Rekey(old_set, new_set, **{**given, **options})


@pytest.fixture
def move(new_name: Any, storage: Any) -> Any:
    # A commit waits this long, on Azurite really
    return move_in(storage, new_name("table"), refresh=0.2)


async def filled(move: Any, count: int = 3) -> Any:
    for number in range(1, count + 1):
        await move.old_set.insert(employee(number))
    return move


async def cut_over(move: Any) -> Any:
    await move.copy()
    assert (await move.verify()).is_clean
    await move.cut_over()
    return move


async def all_of(entities: Any) -> list[dict[str, Any]]:
    return sorted([dict(each) async for each in entities.scan()], key=lambda each: each["EmployeeId"])


async def test_a_table_is_moved_step_by_step(storage: Any, move: Any) -> None:
    await filled(move)
    status = await move.status()
    assert (status.phase, status.is_verified, status.primary) == (Phase.COPYING, False, move.old_set.table.name)
    assert (await move.copy()).copies == 3
    report = await move.verify()
    assert (report.entities, report.copies, report.is_clean) == (3, 3, True)
    assert (await move.cut_over()).phase is Phase.CUT_OVER
    await move.entities.insert(employee(4))
    assert await all_of(move.old_set) == await all_of(move.new_set)
    assert (await move.commit()).copy is None
    await move.entities.insert(employee(5))
    assert await move.old_set.get(Department="Sales", EmployeeId=5) is None
    assert await move.clean_up() == 4
    assert await all_of(move.old_set) == []
    assert len(await all_of(move.new_set)) == 5
    assert await move.clean_up() == 0


async def test_a_rollback_keeps_the_writes_since_the_cut_over(move: Any) -> None:
    await cut_over(await filled(move))
    entities = move.entities
    await entities.insert(employee(4))
    await entities.update(lambda found: found.update(Age=31), Email="e1@contoso.com")
    await entities.delete(employee(2), force=True)
    assert (await move.roll_back()).primary == move.old_set.table.name
    assert [(each["EmployeeId"], each["Age"]) for each in await all_of(move.old_set)] == [(1, 31), (3, 30), (4, 30)]
    assert (await move.verify()).is_clean


async def test_entities_are_found_by_either_key_in_the_phases_that_allow_it(move: Any) -> None:
    await filled(move)
    by_id, by_email = {"Department": "Sales", "EmployeeId": 1}, {"Email": "e1@contoso.com"}
    entities = move.entities
    assert (await entities.get(by_id))["Age"] == 30
    with pytest.raises(BadKey, match="not verified"):
        await entities.get(by_email)
    await move.copy()
    await move.verify()
    fresh = move_in(move.account, move.old_set.table.name).entities
    assert await fresh.get(by_email) == await fresh.get(by_id) == await fresh.get({**by_id, **by_email})
    assert await fresh.get({**by_id, "Email": "other@contoso.com"}) is None
    await move.cut_over()
    for key in (by_id, by_email, {**by_id, **by_email}):
        assert (await entities.get(key))["EmployeeId"] == 1
    assert await entities.get(Department="Sales", EmployeeId=9) is None
    await move.commit()
    assert (await entities.get(by_email))["EmployeeId"] == 1
    with pytest.raises(BadKey, match="committed"):
        await entities.get(by_id)
    with pytest.raises(BadKey, match="Name"):
        await entities.get(Name="Jones")
    with pytest.raises(BadKey, match="Email"):
        await entities.get(Department="Sales")


async def test_ranges_read_the_table_whose_key_has_the_fields(move: Any) -> None:
    await cut_over(await filled(move))
    found = [each async for each in move.entities.range(Department="Sales")]
    assert [each["EmployeeId"] for each in found] == [1, 2, 3]
    for each in found:
        each["Age"] = 40
        await move.entities.replace(each)
    assert [each["Age"] for each in await all_of(move.old_set)] == [40, 40, 40]
    (one,) = [each async for each in move.entities.range(Email="e1@contoso.com")]
    stale = one.copy()
    await move.entities.replace(one | {"Age": 41})
    with pytest.raises(EntityChanged):
        await move.entities.replace(stale | {"Age": 50})


async def test_a_copy_that_changed_since_it_was_read_is_not_written_back(move: Any) -> None:
    await cut_over(await filled(move))
    (first, *_) = [each async for each in move.entities.range(Department="Sales")]
    await move.entities.update(lambda found: found.update(Age=31), Email=first["Email"])
    with pytest.raises(EntityChanged):
        await move.entities.replace(first | {"Age": 99})
    await move.entities.delete(first, force=True)
    with pytest.raises(EntityNotFound):
        await move.entities.replace(first | {"Age": 99})


async def test_what_was_read_before_a_change_of_the_phase_overwrites_nothing_after_it(move: Any) -> None:
    await filled(move)
    before = await move.entities.get(Department="Sales", EmployeeId=1)
    await cut_over(move)
    for write in (
        move.entities.replace(before | {"Age": 99}),
        move.entities.replace({**before, "Age": 99}, etag=before.etag),
        move.entities.merge(before, {"Age": 99}),
        move.entities.delete(before),
        move.entities.delete({**before}, etag=before.etag),
    ):
        with pytest.raises(EntityChanged):
            await write
    after = await move.entities.get(Email="e1@contoso.com")
    assert after["Age"] == 30
    await move.roll_back()
    with pytest.raises(EntityChanged):
        await move.entities.replace(after | {"Age": 99})


async def test_two_entities_with_one_new_key_block_the_cut_over_and_are_named(move: Any) -> None:
    await filled(move)
    await move.old_set.insert(employee(7, Email="e1@contoso.com"))
    await move.old_set.insert({"Department": "Sales", "EmployeeId": 8})
    copied = await move.copy()
    assert (copied.entities, copied.copies) == (5, 3)
    for report in (copied, await move.verify()):
        (same,) = report.of(Mismatch.SAME_KEY)
        assert {same.entity, same.other} == {("Sales", "000001"), ("Sales", "000007")}
        assert same.copy == ("e1@contoso.com", "employee")
        (lacking,) = report.of(Mismatch.NO_KEY)
        assert lacking.entity == ("Sales", "000008")
        assert "Email" in lacking.reason
    with pytest.raises(RekeyNotReady, match="verify"):
        await move.cut_over()
    # Either of the two may have the copy; if that one is changed, the other one has none until it is copied again
    await move.entities.update(lambda found: found.update(Email="e7@contoso.com"), Department="Sales", EmployeeId=7)
    await move.entities.merge(employee(8), {"Email": "e8@contoso.com"}, force=True)
    assert (await move.copy()).is_clean
    assert (await move.verify()).is_clean
    assert (await move.cut_over()).phase is Phase.CUT_OVER


async def test_a_write_that_cannot_be_copied_makes_the_verification_invalid(move: Any) -> None:
    await filled(move)
    await move.copy()
    await move.verify()
    await move.entities.insert({"Department": "Sales", "EmployeeId": 9})
    assert not (await move.status()).is_verified
    with pytest.raises(RekeyNotReady):
        await move.cut_over()
    await move.entities.delete({"Department": "Sales", "EmployeeId": 9}, force=True)
    await cut_over(move)
    # In the other direction: without a field of the old key there would be no way back
    await move.entities.insert({"Email": "new@contoso.com"})
    with pytest.raises(RekeyNotReady):
        await move.roll_back()
    assert [each.mismatch for each in (await move.verify()).differences] == [Mismatch.NO_KEY]


async def test_writes_of_other_programs_are_found_and_repaired(move: Any) -> None:
    await filled(move)
    await move.copy()
    await move.old_set.update(lambda found: found.update(Age=31), Department="Sales", EmployeeId=1)
    await move.old_set.insert(employee(4))
    await move.old_set.delete(await move.old_set.get(Department="Sales", EmployeeId=2))
    report = await move.verify()
    found = {each.mismatch: each.entity for each in report.differences}
    assert found == {
        Mismatch.STALE: ("Sales", "000001"),
        Mismatch.MISSING: ("Sales", "000004"),
        Mismatch.ORPHANED: ("Sales", "000002"),
    }
    assert await move.repair(report) == 3
    assert (await move.verify()).is_clean
    assert await move.repair() == 0


async def test_copy_and_verify_can_be_resumed(storage: Any, move: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablepatterns.jobs.walk.MAX_PAGE_ENTITIES", 2)
    await filled(move, 5)
    tokens: list[Any] = []

    def stop(report: Any) -> None:
        tokens.append(report.token)
        if len(tokens) == 2:
            raise KeyboardInterrupt

    for work in ("copy", "verify"):
        tokens.clear()
        with pytest.raises(KeyboardInterrupt):
            await getattr(move, work)(progress=stop)
        other = move_in(storage, move.old_set.table.name)
        report = await getattr(other, work)(resume=tokens[-1])
        assert (report.entities, report.is_clean, report.token) == (1, True, None)
        with pytest.raises(BadToken):
            await move.copy(resume="unknown")
        with pytest.raises(BadToken):
            await move.verify(resume="unknown")
    assert (await move.status()).is_verified


async def test_a_difference_before_the_resumed_part_keeps_the_table_unverified(
    move: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablepatterns.jobs.walk.MAX_PAGE_ENTITIES", 2)
    await filled(move, 5)
    await move.copy()
    await move.old_set.update(lambda found: found.update(Age=31), Department="Sales", EmployeeId=1)
    tokens: list[Any] = []
    await move.verify(progress=lambda report: tokens.append(report.token))
    assert (await move.verify(resume=tokens[1])).is_clean
    assert not (await move.status()).is_verified


async def test_the_sets_may_derive_and_map_what_they_like(storage: Any, new_name: Any) -> None:
    name = new_name("table")
    old = EntitySet(
        storage,
        name,
        Key("{Department}", "empid_{EmployeeId:06d}"),
        derived=[IntraPartitionIndex(Key("{Department}", "email_{Email}"))],
    )
    elsewhere = InterPartitionIndex(Key("age_{Age:03d}", "{Email}"))
    new = EntitySet(
        storage,
        f"{name}New",
        Key("email_{Email}", "employee"),
        derived=[elsewhere],
        mappings=[LargeProperties(["Photo"], container=new_name("container"))],
        intents=f"intents-{name.lower()}",
    )
    move = move_in(storage, name, old=old, new=new)
    await filled(move)
    await cut_over(move)
    await move.entities.merge(employee(1), {"Age": 31, "Photo": b"x" * 70_000}, force=True)
    assert [each["EmployeeId"] async for each in new.range(elsewhere, Age=31)] == [1]
    assert (await move.entities.find(elsewhere, Age=31, Email="e1@contoso.com"))["Photo"] == b"x" * 70_000
    (by_email,) = old.derived
    assert (await move.entities.find(by_email, Department="Sales", Email="e1@contoso.com"))["EmployeeId"] == 1
    for each in new.derived:
        assert (await verify(new, each)).is_clean


async def test_a_copy_that_the_new_set_rejects_is_reported(storage: Any, new_name: Any) -> None:
    name = new_name("table")
    ages = Summary(Key("{Email}", "total"), sums={"Age": "Ages"})
    new = EntitySet(storage, f"{name}New", BY_EMAIL, derived=[ages])
    move = move_in(storage, name, new=new)
    await move.old_set.insert(employee(1, Age="old"))
    (problem,) = (await move.copy()).differences
    assert (problem.mismatch, problem.entity) == (Mismatch.REJECTED, ("Sales", "000001"))
    assert "Age" in problem.reason


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(3, 11))
async def test_a_worker_completes_what_a_crashed_writer_left(
    backend: Any, engine: Engine, at: int, after: bool
) -> None:
    storage = backend.connect()
    move = await filled(move_in(storage, "Staff"), 1)
    await move.copy()
    await storage.queue(move.queue).create()
    writer = move_in(connect_crashing(backend, engine, Crash(at=at, after=after)), "Staff")

    async def change_and_go_on() -> None:
        await writer.entities.merge(employee(1), {"Email": "new@contoso.com"}, force=True)
        await writer.status()

    with pytest.raises(Crashed):
        await change_and_go_on()
    engine.clock.advance(61)
    await Worker(storage, [move]).drain()
    assert await all_of(move.old_set) == await all_of(move.new_set)
    assert (await move.status()).waiting == 0


@pytest.mark.parametrize("is_late", [False, True], ids=["before the cut-over", "after the cut-over"])
async def test_a_writer_that_stalls_across_a_cut_over_learns_of_it(backend: Any, engine: Engine, is_late: bool) -> None:
    storage = backend.connect()
    move = await filled(move_in(storage, "Staff"), 1)
    await move.copy()
    await move.verify()
    writer, operator = bound_async(move), move_in(storage, "Staff")

    async def stalling(primary: Any) -> Any:
        entity = await primary.get(Department="Sales", EmployeeId=1)
        written = None if is_late else await primary.merge(entity, {"Age": 99})
        engine.clock.advance(61)
        await bound_async(operator).process_intents()
        await bound_async(operator).cut_over()
        return written or await primary.merge(entity, {"Age": 99})

    with pytest.raises(OutcomeUnknown):
        await as_backend(backend, writer._writer.write(stalling, employee(1), employee(1, Age=99), 30))
    (found,) = await all_of(move.new_set)
    assert found["Age"] == (30 if is_late else 99)
    assert await all_of(move.old_set) == [found]


async def as_backend(backend: Any, work: Any) -> Any:
    """Finish work that awaits an account: a sync one never waits."""
    return await work if backend.aio else finish(work)


async def test_steps_in_the_wrong_phase_are_rejected(move: Any) -> None:
    await filled(move)
    for step in (move.commit, move.clean_up):
        with pytest.raises(BadInput, match="copying"):
            await step()
    assert (await move.roll_back()).phase is Phase.COPYING
    await cut_over(move)
    assert (await move.cut_over()).phase is Phase.CUT_OVER
    with pytest.raises(BadInput, match="cut over"):
        await move.copy()
    await move.commit()
    assert (await move.commit()).phase is Phase.COMMITTED
    for step in (move.cut_over, move.roll_back, move.copy, move.verify):
        with pytest.raises(BadInput, match="committed"):
            await step()


async def test_messages_that_could_not_be_processed_block_the_cut_over(storage: Any, move: Any) -> None:
    await filled(move)
    await move.copy()
    await move.verify()
    await storage.queue(f"{move.queue}-poison").send("unreadable")
    with pytest.raises(RekeyNotReady, match="poison"):
        await move.cut_over()
    assert (await move.status()).phase is Phase.COPYING


async def test_a_write_in_progress_delays_the_cut_over(storage: Any, new_name: Any) -> None:
    move = await filled(move_in(storage, new_name("table"), max_pause=0.5))
    await move.copy()
    await move.verify()
    message = await storage.queue(move.queue).send('{"v":1,"kind":"other","body":{}}', delay=3600)
    with pytest.raises(RekeyNotReady, match="in progress"):
        await move.cut_over()
    assert (await move.status()).phase is Phase.COPYING
    await storage.queue(move.queue).delete(message)
    assert (await move.cut_over()).phase is Phase.CUT_OVER


async def test_inserts_and_deletes_are_conditional(move: Any) -> None:
    entities = move.entities
    first = await entities.insert(employee(1))
    with pytest.raises(EntityAlreadyExists):
        await entities.insert(employee(1))
    assert (await entities.insert_or_replace(employee(1, Age=None))).get("Age") is None
    assert (await entities.insert_or_merge(employee(1, Age=35)))["Age"] == 35
    assert (await entities.insert_or_replace(employee(2)))["Age"] == 30
    with pytest.raises(EntityChanged):
        await entities.delete(first)
    with pytest.raises(BadInput, match="not read"):
        await entities.replace(employee(1))
    with pytest.raises(EntityNotFound):
        await entities.delete(employee(9), force=True)
    with pytest.raises(EntityNotFound):
        await entities.update(lambda found: None, Department="Sales", EmployeeId=9)
    current = await entities.get(Department="Sales", EmployeeId=1)
    await entities.delete({**current}, etag=current.etag)
    assert [each["EmployeeId"] for each in await all_of(move.new_set)] == [2]


@dataclass
class Employee:
    Department: str
    EmployeeId: int
    Email: str
    Age: int = 30


async def test_entities_of_a_model_are_instances(storage: Any, new_name: Any) -> None:
    name = new_name("table")
    old: Any = EntitySet(storage, name, BY_ID, model=Employee)
    new: Any = EntitySet(storage, f"{name}New", BY_EMAIL, model=Employee)
    move = move_in(storage, name, old=old, new=new)
    await move.entities.insert(Employee("Sales", 1, "e1@contoso.com"))
    await cut_over(move)
    jones = await move.entities.get(Department="Sales", EmployeeId=1)
    assert jones == Employee("Sales", 1, "e1@contoso.com")
    jones.Age = 31
    await move.entities.replace(jones)
    assert (await move.entities.update(jones, Age=32)).Age == 32
    assert [each.Age async for each in move.entities.range(Department="Sales")] == [32]
    assert (await old.get(Department="Sales", EmployeeId=1)).Age == 32
    await move.entities.delete(await move.entities.get(Email="e1@contoso.com"))
    assert await new.get(Email="e1@contoso.com") is None


def test_a_table_moves_to_another_account() -> None:
    here, there = connect(), connect()
    old, new = EntitySet(here, "Employees", BY_ID), EntitySet(there, "Employees", BY_EMAIL)
    old.insert(employee(1))
    move = Rekey(old, new)
    move.copy()
    assert move.verify().is_clean
    before = move.entities.get(Department="Sales", EmployeeId=1)
    assert before is not None
    move.cut_over()
    with pytest.raises(EntityChanged):
        move.entities.replace(before)
    move.entities.insert(employee(2))
    assert old.get(Department="Sales", EmployeeId=2) is not None
    move.commit()
    assert move.clean_up(drop_table=True) == 0
    assert len([*new.scan()]) == 2


def test_sets_that_cannot_be_moved_to_each_other_are_rejected() -> None:
    storage = connect()
    old = EntitySet(storage, "Employees", BY_ID)
    others: list[Any] = [old, EntitySet(storage, "New", BY_EMAIL, model=Employee)]
    for new in others:
        with pytest.raises(BadDesign):
            Rekey(old, new)
    with pytest.raises(BadDesign, match="lease"):
        Rekey(old, EntitySet(storage, "New2", BY_EMAIL), lease=0)


def test_a_table_moves_to_new_keys_within_itself() -> None:
    storage = connect()
    old = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    new = EntitySet(storage, "Employees", Key("email_{Email}", "employee"))
    old.insert(employee(1))
    move = Rekey(old, new)
    move.copy()
    assert move.verify().is_clean
    move.cut_over()
    move.commit()
    with pytest.raises(BadInput, match="same table"):
        move.clean_up(drop_table=True)
    assert move.clean_up() == 1
    assert [each["EmployeeId"] for each in new.scan()] == [1]


def test_two_moves_of_one_table_have_phases_of_their_own() -> None:
    storage = connect()
    old = EntitySet(storage, "Employees", BY_ID)
    moves = [Rekey(old, EntitySet(storage, "New", Key(f"{each}_{{Email}}", "employee"))) for each in ("a", "b")]
    assert moves[0].name != moves[1].name
    assert Rekey(old, moves[0].new_set).name == moves[0].name
