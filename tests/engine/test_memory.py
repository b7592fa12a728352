"""The memory of an entity: a million of them must fit into the memory of a test run."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

import pytest

from support.table_states import insert, op
from tablepatterns.edm import Ticks
from tablepatterns_engine.tables.entities import Entity
from tablepatterns_engine.tables.service import Tables

PARTITIONS, PER_PARTITION = 10, 1000
MAX_BYTES = 500


def fresh(text: str) -> str:
    """Return a new string object, as every request brings its own."""
    return text[:1] + text[1:]


@pytest.fixture
def traced() -> Iterator[None]:
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_an_entity_of_five_properties_takes_at_most_500_bytes(tables: Tables) -> None:
    before, _ = tracemalloc.get_traced_memory()
    for n in range(PARTITIONS * PER_PARTITION):
        partition, row = divmod(n, PER_PARTITION)
        properties = {
            fresh("Name"): f"employee{n:04}",
            fresh("Age"): 1000 + n,
            fresh("Score"): n * 1.5,
            fresh("Active"): n % 2 == 0,
            fresh("Hired"): Ticks(635_442_000_000_000_000 + n),
        }
        tables.apply("People", insert(f"partition{partition:03}", f"{row:010}", **properties))
    after, _ = tracemalloc.get_traced_memory()
    assert (after - before) / (PARTITIONS * PER_PARTITION) < MAX_BYTES


def made(entity: Entity | None) -> Entity:
    assert entity is not None
    return entity


def test_entities_share_the_strings_of_their_partition_and_their_names(tables: Tables) -> None:
    one = made(tables.apply("People", insert(fresh("Sales"), "1", **{fresh("FirstName"): "Ann"})))
    other = made(tables.apply("People", insert(fresh("Sales"), "2", **{fresh("FirstName"): "Bob"})))
    assert one.partition_key is other.partition_key
    assert next(iter(one.properties)) is next(iter(other.properties))


def test_versions_of_an_entity_share_its_keys(tables: Tables) -> None:
    one = made(tables.apply("People", insert("Sales", fresh("000001"))))
    other = made(tables.apply("People", op("replace", "Sales", fresh("000001"))))
    assert one.row_key is other.row_key
