"""What is measured: calls of the SDK that make one request each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from azure.core.paging import ItemPaged
from azure.data.tables import TableClient, TableEntity

from .data import Loaded, entity, partition_key, row_key

PAGE = 1000
FEW = 10
TRANSACTION = 100


@dataclass(frozen=True)
class Case:
    """One call, made of many different asks.

    :param ask: make what one call asks for; this is not timed
    :param call: make the call
    :param entities: so many entities the call returns, or changes
    :param target: how many times the floor's cost the engine's may be, None where the size of the table is the question
    :param point: whether it is a point operation, which is to be much faster than Azurite's
    """

    name: str
    ask: Callable[[Loaded, Random], Any]
    call: Callable[[TableClient, Any], Any]
    entities: int = 1
    target: float | None = None
    point: bool = False

    def check(self, answer: Any) -> None:
        """Raise unless the answer is what was asked for: a fast error is not a fast answer."""
        found = len(answer) if isinstance(answer, list) else 1
        if not answer or found != self.entities:
            raise AssertionError(f"{self.name}: {found} entities instead of {self.entities}")


def _keys(loaded: Loaded, random: Random) -> tuple[str, str]:
    return partition_key(random.randrange(loaded.partitions)), row_key(random.randrange(loaded.rows))


def _entity(loaded: Loaded, random: Random) -> dict[str, Any]:
    return entity(random.randrange(loaded.partitions), random.randrange(loaded.rows))


def _operations(loaded: Loaded, random: Random) -> list[tuple[str, dict[str, Any]]]:
    """Return upserts of one more partition: those of the small table do not have as many rows."""
    return [("upsert", entity(loaded.partitions, row)) for row in range(TRANSACTION)]


def _partition(loaded: Loaded, random: Random) -> str:
    return f"PartitionKey eq '{partition_key(random.randrange(loaded.partitions))}'"


def _range(loaded: Loaded, random: Random) -> str:
    first = random.randint(0, loaded.rows - FEW)
    return f"{_partition(loaded, random)} and RowKey ge '{row_key(first)}' and RowKey lt '{row_key(first + FEW)}'"


def _first_page(entities: ItemPaged[TableEntity]) -> list[TableEntity]:
    return list(next(entities.by_page()))


POINT_READ = Case("point read", _keys, lambda table, keys: table.get_entity(*keys), target=1.35, point=True)
UPSERT = Case("upsert", _entity, lambda table, wanted: table.upsert_entity(wanted), target=1.35, point=True)
TRANSACTION_OF_100 = Case(
    "transaction of 100",
    _operations,
    lambda table, operations: table.submit_transaction(operations),
    entities=TRANSACTION,
    target=1.2,
)
PAGE_OF_1000 = Case(
    "page of 1,000",
    lambda loaded, random: None,
    lambda table, ask: _first_page(table.list_entities(results_per_page=PAGE)),
    entities=PAGE,
    target=1.2,
)
RANGE_OF_10 = Case("range of 10", _range, lambda table, query: list(table.query_entities(query)), FEW)
TOP_10 = Case(
    "$top=10", _partition, lambda table, query: _first_page(table.query_entities(query, results_per_page=FEW)), FEW
)

CASES = (POINT_READ, UPSERT, TRANSACTION_OF_100, PAGE_OF_1000, RANGE_OF_10, TOP_10)
BY_SIZE = (RANGE_OF_10, TOP_10)
"""The cases whose cost must not depend on the size of the table; they are measured on the large one too."""


NEW_PAGES = "page of 1,000, first time"


def new_pages(table: TableClient) -> Case:
    """Return the case of pages of a table that were never read before, one behind the other."""
    pages = table.list_entities(results_per_page=PAGE).by_page()
    return Case(NEW_PAGES, lambda loaded, random: pages, lambda table, ask: list(next(ask)), entities=PAGE)
