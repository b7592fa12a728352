"""Cost: storage transactions by service, and what they cost relative to one table operation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from operator import add, attrgetter
from typing import Final

from . import figures

_REFERENCE: Final = "table_writes"
"""The price that is one table operation; in the package's prices all operations of tables cost the same."""
_PRICED_OPERATIONS: Final = 10_000
"""Azure names the price of so many operations."""
_PRICED_AS: Final = {
    "table": _REFERENCE,
    "queue": "queue_operations",
    "blob_read": "blob_reads",
    "blob_write": "blob_writes",
    # Azure's "list and create container" operations, at the price of a write
    "blob_list": "blob_writes",
    # All other operations of blobs, at the price of a read
    "blob_other": "blob_reads",
}
"""The price of each kind; one without a price, the deletion of a blob, is free."""
# Azure's categories: https://learn.microsoft.com/azure/storage/blobs/map-rest-apis-transaction-categories
_READS_OF_BLOBS: Final = ("GetBlob", "GetBlockList")
_WRITES_OF_BLOBS: Final = ("Put", "Append", "Copy", "SetBlobTier")
_LISTS_OF_BLOBS: Final = ("List", "Find", "CreateContainer", "RestoreContainer")


@dataclass(frozen=True, slots=True)
class Cost:
    """Storage transactions by service, and what they cost relative to one table operation.

    Azure charges more for an operation of a queue or a blob than for one of a table, so a plain count of transactions
    does not tell what a call costs.

    >>> insert = Cost(table=3, queue=2)
    >>> insert.transactions, round(insert.table_operations(), 1)
    (5, 25.2)
    >>> print(insert)
    3 table + 2 queue transactions, equivalent to 25 table operations

    :param blob_list: lists of blobs or containers, and created containers, which cost as much as a write
    :param blob_other: other operations of blobs, such as reading or setting metadata, which cost as much as a read
    :param blob_delete: deleted blobs and containers, which are free
    """

    table: float = 0
    queue: float = 0
    blob_read: float = 0
    blob_write: float = 0
    blob_list: float = 0
    blob_other: float = 0
    blob_delete: float = 0

    @classmethod
    def of(cls, service: str, operation: str, transactions: float = 1) -> Cost:
        """Return the cost of an operation, by Azure's categories of a general-purpose v2 account."""
        return cls(**{_kind(service, operation): transactions})

    @property
    def transactions(self) -> float:
        return sum(_counts(self))

    def table_operations(self, prices: Mapping[str, float] | None = None) -> float:
        """Return how many operations of a table cost as much.

        :param prices: prices of 10,000 operations, such as `PriceTable.operations`; by default the package's own
        """
        one = (_default_prices() if prices is None else prices)[_REFERENCE] / _PRICED_OPERATIONS
        return self.transactions if one == 0 else self.price(prices) / one

    def price(self, prices: Mapping[str, float] | None = None) -> float:
        """Return what it costs in the currency of the prices; they are those of `table_operations`."""
        prices = _default_prices() if prices is None else prices
        total: float = sum(prices[price] * getattr(self, kind) for kind, price in _PRICED_AS.items())
        return total / _PRICED_OPERATIONS

    def comparison(self, prices: Mapping[str, float] | None = None) -> str:
        """Return how many operations of a table cost as much, in words."""
        return figures.counted(round(self.table_operations(prices)), "table operation")

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(add, _counts(self), _counts(other)))

    @property
    def by_service(self) -> str:
        """The transactions of each service, such as "3 table + 2 queue"; "0" for none."""
        names = {field.name: field.name.replace("_", " ") for field in fields(self)} | {"blob_other": "other blob"}
        counts = {name: getattr(self, kind) for kind, name in names.items()}
        return " + ".join(f"{_number(count)} {name}" for name, count in counts.items() if count) or "0"

    def __str__(self) -> str:
        """Return the transactions of each service and, where not all are of tables, what they cost."""
        if not self.transactions:
            return "no storage transaction"
        text = f"{self.by_service} {'transaction' if self.transactions == 1 else 'transactions'}"
        return text if self.transactions == self.table else f"{text}, equivalent to {self.comparison()}"


_counts: Final[Callable[[Cost], tuple[float, ...]]] = attrgetter(*(field.name for field in fields(Cost)))


def _kind(service: str, operation: str) -> str:
    if service != "blob":
        return service
    if operation.startswith("Delete"):
        return "blob_delete"
    if operation.startswith(_LISTS_OF_BLOBS):
        return "blob_list"
    if operation in _READS_OF_BLOBS:
        return "blob_read"
    return "blob_write" if operation.startswith(_WRITES_OF_BLOBS) else "blob_other"


def _number(count: float) -> str:
    return figures.count(int(count)) if count == int(count) else figures.number(count)


@lru_cache(maxsize=1)
def _default_prices() -> Mapping[str, float]:
    # Loaded here, since hardly any program asks for it
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    text = files("tablepatterns").joinpath("prices.toml").read_text(encoding="utf-8")
    prices: Mapping[str, float] = tomllib.loads(text)["per_10_000_operations"]
    return prices
