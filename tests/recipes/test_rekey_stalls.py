"""Processes that are killed or stall during a move to new keys: what writers wait for, and what a late write does."""

from __future__ import annotations

from typing import Any

import pytest

from tablepatterns import EntitySet, IntraPartitionIndex, Key, Phase, Rekey, Summary, connect
from tablepatterns.entity_set.derived import TOMBSTONE
from tablepatterns.errors import EntityAlreadyExists, LeaseLost, OutcomeUnknown, RekeyNotReady
from tablepatterns.jobs import recount, verify
from tablepatterns.messages.lease import Envelope
from tablepatterns.recipe import bound_async, finish
from tablepatterns_engine.account import Engine

BY_ID = Key("{Department}", "{EmployeeId:06d}")
BY_EMAIL = Key("{Email}", "employee")
LEASE = 60


def employee(number: int, **fields: Any) -> dict[str, Any]:
    return {"Department": "Sales", "EmployeeId": number, "Email": f"e{number}", "Age": 30} | fields


def move_in(storage: Any) -> Any:
    """Return the move as another process declares it."""
    return Rekey(EntitySet(storage, "Old", BY_ID), EntitySet(storage, "New", BY_EMAIL), lease=LEASE, refresh=1)


def copied(storage: Any) -> Any:
    move = move_in(storage)
    for number in (1, 2):
        move.old_set.insert(employee(number))
    move.copy()
    assert move.verify().is_clean
    return move


def engine_of(storage: Any) -> Engine:
    engine: Engine = storage.engine
    return engine


def tombstones(storage: Any, table: str) -> list[str]:
    return [row.partition_key for row in engine_of(storage).tables.query(table).entities if TOMBSTONE in row.properties]


def test_a_cut_over_waits_for_the_message_of_a_killed_copy_before_writers_do() -> None:
    storage = connect()
    move = copied(storage)
    body = {"entities": [move._writer.claim(employee(1)).plain()]}
    finish(bound_async(move)._writer._messages.send(Envelope(move.kind, body).text(), delay=LEASE))
    paused: list[float] = []
    writer = bound_async(move)._writer
    change = writer.change_state

    async def noted(state: Any, **changes: Any) -> Any:
        paused.append(storage.now().timestamp())
        return await change(state, **changes)

    writer.change_state = noted
    begun = storage.now()
    assert move.cut_over().phase is Phase.CUT_OVER
    assert (storage.now() - begun).total_seconds() >= LEASE
    assert paused[-1] - paused[0] < 1, "writers waited"


def test_a_cut_over_that_gives_up_says_how_many_messages_there_are_and_until_when() -> None:
    storage = connect()
    move = copied(storage)
    finish(bound_async(move)._writer._messages.send(Envelope(move.kind, {"entities": []}).text(), delay=3600))
    with pytest.raises(
        RekeyNotReady, match=r"1 messages of writes in progress .* can be received by 20\d\d-"
    ) as raised:
        move.cut_over()
    assert "has not changed" in str(raised.value)
    assert move.status().phase is Phase.COPYING


@pytest.mark.parametrize("drop_table", [False, True])
def test_a_write_that_arrives_after_the_clean_up_is_an_error_and_leaves_no_row(drop_table: bool) -> None:
    storage = connect()
    move = copied(storage)
    operator = move_in(storage)
    writer = bound_async(move)

    async def stalling(primary: Any) -> Any:
        engine_of(storage).clock.advance(LEASE + 1)
        operator.process_intents()
        operator.cut_over()
        operator.commit()
        operator.clean_up(drop_table=drop_table)
        return await primary.insert(employee(3))

    with pytest.raises(OutcomeUnknown, match=r"committed before it ended.*repeat the write"):
        finish(writer._writer.write(stalling, None, employee(3), 30))
    assert [*operator.old_set.scan()] == []
    assert operator.status().left == 0
    assert operator.status().waiting == 0
    assert move.entities.get(Email="e3") is None
    move.entities.insert(employee(3))
    assert operator.new_set.get(Email="e3") is not None


def test_a_row_of_a_writer_that_crashed_after_the_clean_up_is_found() -> None:
    storage = connect()
    move = copied(storage)
    move.cut_over()
    move.commit()
    assert move.status().left == 2
    move.clean_up()
    assert move.status().left == 0
    move.old_set.insert(employee(3))
    assert move.status().left == 1
    assert move.clean_up() == 1
    assert move.status().left == 0


def test_a_lease_in_a_deleted_queue_is_lost() -> None:
    storage = connect()
    queue = bound_async(move_in(storage))._writer._messages

    async def renew() -> None:
        message = await queue.send("{}")
        await queue.drop()
        assert not await queue.delete(message)
        await queue.renew(message, lease=30)

    with pytest.raises(LeaseLost):
        finish(renew())


def test_tombstones_are_hidden_from_readers_replaced_by_inserts_and_removed_in_the_end() -> None:
    storage = connect()
    move = copied(storage)
    entities, new, old = move.entities, move.new_set, move.old_set
    entities.delete(employee(1), force=True)
    assert (tombstones(storage, "Old"), tombstones(storage, "New")) == ([], ["e1"])
    assert new.get(Email="e1") is None
    assert new.get_many([{"Email": "e1"}]) == [None]
    assert [each["Email"] for each in new.scan()] == ["e2"]
    assert [*new.range(Email="e1")] == new.take(5, Email="e1") == []
    assert new.page(Email="e1").items == ()
    assert [*new.range(Email="e1", select=["Age"])] == new.take(1, Email="e1", select=["Age"]) == []
    entities.insert(employee(1))
    assert tombstones(storage, "New") == []
    move.cut_over()
    entities.delete(employee(1), force=True)
    assert (tombstones(storage, "Old"), tombstones(storage, "New")) == (["Sales"], ["e1"])
    assert old.get(Department="Sales", EmployeeId=1) is None
    entities.insert(employee(1, Age=31))
    with pytest.raises(EntityAlreadyExists):
        entities.insert(employee(1))
    assert old.get(Department="Sales", EmployeeId=1)["Age"] == 31
    entities.delete(employee(1), force=True)
    move.commit()
    entities.delete(employee(2), force=True)
    until = move.status().fenced_until
    move.clean_up()
    assert (tombstones(storage, "Old"), tombstones(storage, "New")) == ([], ["e1", "e2"])
    engine_of(storage).clock.advance((until - storage.now()).total_seconds())
    move.clean_up()
    assert tombstones(storage, "New") == []
    new.insert(employee(1))
    entities.delete(employee(1), force=True)
    assert tombstones(storage, "New") == []


def test_derived_data_and_maintenance_leave_tombstones_out() -> None:
    storage = connect()
    count, by_age = Summary(Key("{Company}", "count")), IntraPartitionIndex(Key("{Company}", "age_{Age:03d}_{Email}"))
    old = EntitySet(storage, "Old", BY_ID)
    new = EntitySet(storage, "New", Key("{Company}", "email_{Email}"), derived=[count, by_age])
    move = Rekey(old, new)
    for number in (1, 2):
        move.entities.insert(employee(number, Company="contoso"))
    move.entities.delete(employee(1), force=True)
    assert tombstones(storage, "New") == ["contoso"]
    assert new.totals(count, Company="contoso")["Count"] == 1
    assert recount(new, count, Company="contoso") == []
    assert verify(new, by_age).is_clean
    assert move.verify().is_clean
    assert [each["Email"] for each in new.range(by_age, Company="contoso")] == ["e2"]
