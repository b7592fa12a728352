"""Logs, series, wide entities and families that are written without the library."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from azure.core.exceptions import ResourceExistsError

from recipes import test_data_series_schedules as counting
from recipes import test_wide_entity_schedules as widening
from schedules.schedule import schedule
from tablepatterns import EntitySet, Key
from tablepatterns_explore import World, explore

Actors = dict[str, Coroutine[Any, Any, Any]]
TICKS = "2519936321679999999"


@schedule("compound_key")
def a_review_in_a_table_of_its_own() -> object:
    """The review is in a second table, so the grade that depends on it needs a second request."""

    def make(world: World) -> Actors:
        employees = EntitySet(world.storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        reviews = EntitySet(world.storage, "Reviews", Key("{Department}_{EmployeeId:06d}", "{Year:04d}"))
        jones = {"Department": "Sales", "EmployeeId": 123}
        world.run(employees.insert({**jones, "Grade": 2}))
        world.run(reviews.create_table())

        async def promote() -> None:
            await reviews.insert({**jones, "Year": 2014, "NewGrade": 3})
            await employees.update(lambda each: each.update(Grade=3), **jones)

        return {"ann": promote()}

    def agree(world: World) -> None:
        (employee,) = world.engine.tables.query("Employees").entities
        for review in world.engine.tables.query("Reviews").entities:
            new, grade = review.properties["NewGrade"], employee.properties["Grade"]
            assert new == grade, f"the review says grade {new}, the employee {grade}"

    return explore(make, invariant=agree, crashes=1)


@schedule("log_tail")
def a_key_of_the_instant_alone() -> object:
    """The RowKey is only the inverted ticks, and an existing entity is replaced."""

    def make(world: World) -> Actors:
        world.engine.tables.create("Claims")
        claims = world.table_client("Claims")

        async def add(amount: int) -> None:
            await claims.upsert_entity({"PartitionKey": "000223", "RowKey": TICKS, "Amount": amount}, mode="replace")

        return {"ann": add(20), "bob": add(7)}

    def both_are_there(world: World) -> None:
        count = len(world.engine.tables.query("Claims").entities)
        assert count == len(world.returned), f"of {len(world.returned)} claims there is {count}"

    return explore(make, invariant=both_are_there)


@schedule("log_tail-twice")
def another_key_where_one_is_taken() -> object:
    """A claim whose key exists gets another key, although its own first attempt inserted it."""

    def make(world: World) -> Actors:
        world.engine.tables.create("Claims")
        claims = world.table_client("Claims")

        async def append() -> None:
            claim = {"PartitionKey": "000223", "RowKey": f"{TICKS}_1", "Amount": 20}
            try:
                await claims.create_entity(claim)
            except ResourceExistsError:
                await claims.create_entity(claim | {"RowKey": f"{TICKS}_2"})

        return {"ann": append()}

    def is_there_once(world: World) -> None:
        count = len(world.engine.tables.query("Claims").entities)
        assert count <= 1, f"of one claim there are {count}"

    return explore(make, invariant=is_there_once, lost_responses=1)


@schedule("data_series")
def a_count_whatever_was_counted_since() -> object:
    """A count is read, increased, and merged without the ETag."""

    def make(world: World) -> Actors:
        series = counting.Unconditional(
            world.storage, "Counts", Key("{Employee}", ""), 4, prefix="Hour", value_type=int
        )
        world.run(series.set(3, 0, **counting.JONES))
        return {name: series._add(3) for name in ("ann", "bob")}

    return explore(make, invariant=counting.every_count_that_was_reported_is_there_once)


@schedule("wide_entity")
def a_request_for_each_part() -> object:
    """The two parts of one change are written in two requests."""

    def make(world: World) -> Actors:
        wide = EntitySet(world.storage, "MessageCounts", Key("{Employee}", "{Part}"))
        for part in ("01", "02"):
            world.run(wide.insert({"Employee": "000223", "Part": part, "Unit": "a"}))

        async def write() -> None:
            for part in ("01", "02"):
                await wide.merge({"Employee": "000223", "Part": part}, {"Unit": "b"}, force=True)

        return {"ann": write()}

    def is_of_one_piece(world: World) -> None:
        found = [str(row.properties["Unit"]) for row in world.engine.tables.query("MessageCounts").entities]
        assert len(set(found)) == 1, f"part 01 says {found[0]}, part 02 {found[1]}"

    return explore(make, invariant=is_of_one_piece, crashes=1)


@schedule("wide_entity-head_first")
def the_head_before_the_rows() -> object:
    """The head row refers to the rows of a large value before they are written."""
    make = widening.actors({"b": widening.replace}, widening.LARGE, kind=widening.HeadFirst)
    return explore(make, invariant=widening.no_reader_sees_a_mix, crashes=1)
