"""Chunks: every entity once and whole, in order, within the limits of a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import EntitySet, IndexEntity, IntraPartitionIndex, Key, connect
from tablepatterns.rate_limit import Pace
from tablepatterns.recipe import as_async, finish
from tablepatterns.recipes.bulk_load.plan import Chunk, PartitionPlan, PlannedEntity, Planner, RowCache
from tablepatterns.sdk.operation import check_transaction

BY_ID = Key("{Department}", "empid_{EmployeeId:06d}")
INDEXES = [IntraPartitionIndex(Key("{Department}", f"by_{name}_{{{name}}}")) for name in "ABCD"]
storage = as_async(connect())
employees = EntitySet(storage, "Employees", BY_ID, derived=INDEXES)
planner = Planner(employees, "insert", Pace(storage, None), resumed=False)


def planned(position: int, **fields: Any) -> PlannedEntity:
    """Return an employee with a row for each of the indexes A to D that it has a field of."""
    return finish(planner.new(position, {"Department": "Sales", "EmployeeId": position} | fields))


def chunks(entities: list[PlannedEntity]) -> Iterator[Chunk]:
    """Yield the chunks of one partition, without sending them."""
    plan = PartitionPlan(planner, RowCache(employees.table, Pace(storage, None)), entities)
    while not plan.is_written:
        chunk = finish(plan.chunk())
        yield chunk
        plan.wrote(chunk, [])


@st.composite
def inputs(draw: st.DrawFn) -> list[PlannedEntity]:
    """Draw entities of 1 to 5 rows; some of the same key, some that share an index row, some large."""
    entities = []
    for position in range(draw(st.integers(0, 12)) * draw(st.integers(1, 25))):
        fields = dict.fromkeys("ABCD"[: draw(st.integers(0, 4))], f"{position % 90}")
        size = draw(st.sampled_from([0, 0, 0, 0, 30_000]))
        fields |= {f"Text{number}": "x" * size for number in range(8 if size else 0)}
        entities.append(planned(position, **fields | {"EmployeeId": position % draw(st.sampled_from([60, 10_000]))}))
    return entities


def operations(chunk: Chunk) -> list[Any]:
    return [step.operation for step in chunk.steps]


@pytest.mark.guide("G-073")
@given(inputs())
@examples(40)
def test_every_entity_is_in_one_chunk_and_in_order(entities: list[PlannedEntity]) -> None:
    positions = [each.position for chunk in chunks(entities) for each in chunk.entities]
    assert positions == [each.position for each in entities]


@pytest.mark.guide("G-065", "G-066", "G-067", "G-073")
@given(inputs())
@examples(40)
def test_every_chunk_is_a_transaction_that_the_service_accepts(entities: list[PlannedEntity]) -> None:
    for chunk in chunks(entities):
        check_transaction(operations(chunk))


@given(inputs())
@examples(40)
def test_no_chunk_could_have_taken_in_one_entity_more(entities: list[PlannedEntity]) -> None:
    for chunk, following in pairwise(chunks(entities)):
        with pytest.raises(ValueError, match="transaction"):
            check_transaction(operations(chunk) + [step.operation for step in following.entities[0].steps])


@given(inputs())
@examples(40)
def test_each_operation_leads_back_to_its_entity(entities: list[PlannedEntity]) -> None:
    for chunk in chunks(entities):
        owners = [entity.position for entity in chunk.entities for _ in entity.steps]
        assert [chunk.position_of(index) for index in range(len(owners))] == owners


def test_without_an_index_from_the_service_only_a_chunk_of_one_names_the_entity() -> None:
    one, both = (next(chunks([planned(7 + number) for number in range(count)])) for count in (1, 2))
    assert one.position_of(None) == 7
    assert both.position_of(None) is None


def test_a_shared_row_is_written_once_and_its_error_names_no_entity() -> None:
    names = IndexEntity("LastName")
    staff = EntitySet(storage, "Employees", BY_ID, derived=[names])
    sharing = Planner(staff, "insert", Pace(storage, None), resumed=False)
    jones = {"Department": "Sales", "LastName": "Jones"}
    entities = [finish(sharing.new(7 + number, jones | {"EmployeeId": number})) for number in range(120)]
    plan = PartitionPlan(sharing, RowCache(staff.table, Pace(storage, None)), entities)
    chunk = finish(plan.chunk())
    rows = [operation.row_key for operation in operations(chunk)]
    assert (len(rows), len(chunk.entities), rows[1]) == (100, 99, "lastname_Jones")
    assert [chunk.position_of(index) for index in (0, 1, 2, 99)] == [7, None, 8, 7 + 98]
    check_transaction(operations(chunk))
    assert operations(chunk)[1].entity["Ids"].count("/") == 98
