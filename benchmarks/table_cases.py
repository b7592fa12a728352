"""The cases for tables: calls of the SDK with one request each."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from azure.core.paging import ItemPaged
from azure.data.tables import TableClient, TableEntity

from .case import Case, Place
from .data import entity, partition_key, row_key

Table = Place[TableClient]

PAGE = 1000
FEW = 10
TRANSACTION = 100


def _entities(count: int) -> Callable[[Any], bool]:
    """Return a check that a response has this number of entities."""
    return lambda answer: bool(answer) and (len(answer) if isinstance(answer, list) else 1) == count


def _keys(table: Table, random: Random) -> tuple[str, str]:
    return partition_key(random.randrange(table.loaded.partitions)), row_key(random.randrange(table.loaded.rows))


def _entity(table: Table, random: Random) -> dict[str, Any]:
    return entity(random.randrange(table.loaded.partitions), random.randrange(table.loaded.rows))


def _operations(table: Table, random: Random) -> list[tuple[str, dict[str, Any]]]:
    """Return upserts in a new partition, because partitions of the small table have too few rows."""
    return [("upsert", entity(table.loaded.partitions, row)) for row in range(TRANSACTION)]


def _partition(table: Table, random: Random) -> str:
    return f"PartitionKey eq '{partition_key(random.randrange(table.loaded.partitions))}'"


def _range(table: Table, random: Random) -> str:
    first = random.randint(0, table.loaded.rows - FEW)
    return f"{_partition(table, random)} and RowKey ge '{row_key(first)}' and RowKey lt '{row_key(first + FEW)}'"


def _first_page(entities: ItemPaged[TableEntity]) -> list[TableEntity]:
    return list(next(entities.by_page()))


POINT_READ = Case(
    "point read", _keys, lambda table, keys: table.get_entity(*keys), _entities(1), target=1.2, point=True
)
UPSERT = Case(
    "upsert", _entity, lambda table, wanted: table.upsert_entity(wanted), _entities(1), target=1.2, point=True
)
TRANSACTION_OF_100 = Case(
    "transaction of 100",
    _operations,
    lambda table, operations: table.submit_transaction(operations),
    _entities(TRANSACTION),
    target=0.8,
)
PAGE_OF_1000: Case[TableClient] = Case(
    "page of 1,000",
    lambda table, random: None,
    lambda table, ask: _first_page(table.list_entities(results_per_page=PAGE)),
    _entities(PAGE),
    target=1.1,
)
RANGE_OF_10 = Case("range of 10", _range, lambda table, query: list(table.query_entities(query)), _entities(FEW))
TOP_10 = Case(
    "$top=10",
    _partition,
    lambda table, query: _first_page(table.query_entities(query, results_per_page=FEW)),
    _entities(FEW),
)

CASES = (POINT_READ, UPSERT, TRANSACTION_OF_100, PAGE_OF_1000, RANGE_OF_10, TOP_10)
BY_SIZE = (RANGE_OF_10, TOP_10)
"""The cases whose cost must not depend on the table's size; they are also measured on the large table."""


NEW_PAGES = "page of 1,000, first time"


def new_pages(table: TableClient) -> Case[TableClient]:
    """Return the case of consecutive pages of a table, each read for the first time."""
    pages = table.list_entities(results_per_page=PAGE).by_page()
    return Case(NEW_PAGES, lambda table, random: pages, lambda table, ask: list(next(ask)), _entities(PAGE))
