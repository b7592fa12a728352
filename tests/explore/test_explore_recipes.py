"""Recipes, explored: two writers, a crash at every request, and a lost response."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from support.employees import BY_EMAIL, BY_ID, by_email
from support.guarantees import explore_guarantee
from tablepatterns import Entity, EntitySet, Key, LogTail
from tablepatterns.errors import DuplicateIndexValue
from tablepatterns_explore import Counterexample, World

JONES = {"Department": "Sales", "EmployeeId": 223}


def rows_of(world: World, table: str) -> dict[str, dict[str, Any]]:
    """Return what a table holds by row key; one that was not made yet holds nothing."""
    if table not in world.engine.tables.names()[0]:
        return {}
    return {entity.row_key: dict(entity.properties) for entity in world.engine.tables.query(table).entities}


def explored(make: Any, **options: Any) -> None:
    """Explore, and tell how much there was to it."""
    explore_guarantee(make, crashes=1, **options)


# -- EntitySet.update: two add one to the same field


def two_birthdays(world: World) -> list[Any]:
    def birthday(employee: Entity) -> None:
        employee["Age"] += 1

    employees = EntitySet(world.storage, "Employees", BY_ID)
    world.run(employees.insert({**JONES, "Age": 0}))
    return [employees.update(birthday, **JONES), employees.update(birthday, **JONES)]


def none_is_lost(world: World) -> bool:
    """Every birthday that was reported is counted."""
    return bool(rows_of(world, "Employees")["empid_000223"]["Age"] >= len(world.returned))


def none_is_counted_twice(world: World) -> bool:
    return bool(rows_of(world, "Employees")["empid_000223"]["Age"] <= 2)


@pytest.mark.guide("G-320")
@pytest.mark.guarantee("EntitySet", "an update is made exactly once, after any crash")
def test_an_update_is_made_exactly_once_after_any_crash() -> None:
    explored(two_birthdays, invariant=lambda world: none_is_lost(world) and none_is_counted_twice(world))


@pytest.mark.guarantee("EntitySet", "an update is made exactly once, after a crash and a lost response")
def test_an_update_is_made_exactly_once_after_a_crash_and_a_lost_response() -> None:
    explored(
        two_birthdays, invariant=lambda world: none_is_lost(world) and none_is_counted_twice(world), lost_responses=1
    )


# -- EntitySet.insert with an index: two employees, one e-mail


def two_with_one_email(world: World) -> list[Any]:
    employees = EntitySet(world.storage, "Employees", BY_ID, derived=[by_email])
    world.run(employees.create_table())
    entities = ({"Department": "Sales", "EmployeeId": number, "Email": "jo@contoso.com"} for number in (1, 2))
    return [employees.insert(entity) for entity in entities]


def index_is_exact(world: World) -> None:
    """Nobody ever sees a primary without its copy, or two of them with one e-mail."""
    rows = rows_of(world, "Employees")
    primaries = [key for key in rows if key.startswith("empid_")]
    copies = {key: f"empid_{row['EmployeeId']:06d}" for key, row in rows.items() if key.startswith("email_")}
    assert list(copies.values()) == primaries
    assert len(world.returned) <= len(primaries) <= 1


@pytest.mark.guarantee("IntraPartitionIndex", "copies always match their primaries, and no two have the same key")
def test_an_index_is_always_exact_and_unique() -> None:
    explored(two_with_one_email, always=index_is_exact, lost_responses=1, expected=DuplicateIndexValue)


@pytest.mark.guarantee("IntraPartitionIndex", "a rejected duplicate was not the first")
def test_a_rejected_duplicate_was_not_the_first() -> None:
    def one_is_in(world: World) -> bool:
        return not world.raised or bool(rows_of(world, "Employees"))

    explored(two_with_one_email, invariant=one_is_in, expected=DuplicateIndexValue)


# -- LogTail.append: two append to one log, whose table is not there yet


def two_claims(world: World) -> list[Any]:
    claims = LogTail(world.storage, "Claims", "{Employee}")
    return [claims.append({"Employee": "000223", "Amount": amount}) for amount in (10, 20)]


def log_is_kept(world: World) -> None:
    """What was reported is in the log, and nothing is in it twice."""
    amounts = [row["Amount"] for row in rows_of(world, "Claims").values()]
    assert {entry["Amount"] for entry in world.returned.values()} <= set(amounts)
    assert len(set(amounts)) == len(amounts)


@pytest.mark.guarantee("LogTail", "every entry is stored once, after a crash and a lost response")
def test_a_log_keeps_every_entry_once() -> None:
    explored(two_claims, always=log_is_kept, lost_responses=1)


# -- what the recipes are there for: without it, it goes wrong


def two_careless_birthdays(world: World) -> list[Any]:
    employees = EntitySet(world.storage, "Employees", BY_ID)
    world.run(employees.insert({**JONES, "Age": 0}))

    async def birthday() -> Entity:
        employee = await employees.get(**JONES)
        return await employees.replace(employee | {"Age": employee["Age"] + 1}, force=True)

    return [birthday(), birthday()]


@pytest.mark.broken("EntitySet")
def test_an_unconditional_update_loses_another() -> None:
    with pytest.raises(Counterexample):
        explore_guarantee(two_careless_birthdays, invariant=none_is_lost)


def a_copy_after_its_primary(world: World) -> list[Any]:
    employees = EntitySet(world.storage, "Employees", BY_ID)
    copies = EntitySet(world.storage, "Employees", BY_EMAIL)
    world.run(employees.create_table())

    async def insert() -> None:
        employee = {"Department": "Sales", "EmployeeId": 1, "Email": "jo@contoso.com"}
        await employees.insert(employee)
        await copies.insert(employee)

    return [insert()]


@pytest.mark.broken("IntraPartitionIndex")
def test_a_copy_written_after_its_primary_is_missing_after_a_crash() -> None:
    with pytest.raises(Counterexample):
        explore_guarantee(a_copy_after_its_primary, invariant=index_is_exact, crashes=1)


def two_claims_of_one_tick(world: World) -> list[Any]:
    claims = EntitySet(world.storage, "Claims", Key("{Employee}", "{At:inverted}"))
    noon = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)
    world.run(claims.create_table())
    return [claims.insert_or_replace({"Employee": "000223", "At": noon, "Amount": amount}) for amount in (10, 20)]


@pytest.mark.broken("LogTail")
def test_without_an_id_in_the_key_an_entry_overwrites_another_of_the_same_tick() -> None:
    with pytest.raises(Counterexample):
        explore_guarantee(two_claims_of_one_tick, invariant=log_is_kept)
