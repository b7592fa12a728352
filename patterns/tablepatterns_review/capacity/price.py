"""The monthly cost of a design, from the package's price table or your own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from annotated_types import Ge, MinLen

from tablepatterns.errors import BadInput
from tablepatterns.figures import SECONDS_OF_A_MONTH
from tablepatterns.filters import QueryClass

from ..design.model import Design, StrictTable, Write
from ..result import Bill, BillLine, Measured
from ..toml_file import Problem, TomlFile, lines_of
from .growth import grown_call, volume_of

Operation = Literal[
    "table_reads", "table_scans", "table_writes", "table_deletes", "queue_operations", "blob_reads", "blob_writes"
]


def charges_of(call: Measured) -> Mapping[Operation, float]:
    """Return the billed transactions of a call by kind, without the deletions of blobs, which are free."""
    access, cost = call.access, call.cost
    left = cost.table
    charges: dict[Operation, float] = {
        "queue_operations": cost.queue,
        "blob_reads": cost.blob_read,
        "blob_writes": cost.blob_write,
    }
    # The most certain kinds of table transactions first; the last gets the rest
    kinds: list[tuple[Operation, float]] = [("table_scans", left)]
    if isinstance(access, Write):
        # A write reads single entities, by key
        first: Operation = "table_deletes" if access.operation == "delete" else "table_writes"
        kinds = [(first, 1.0), ("table_reads", call.examined), ("table_writes", left)]
    elif call.query_class in (None, QueryClass.POINT):
        kinds = [("table_reads", left)]
    for operation, wanted in kinds:
        charged = min(wanted, left)
        left -= charged
        charges[operation] = charges.get(operation, 0.0) + charged
    return {operation: number for operation, number in charges.items() if number > 0}


PER: Final = 10_000
"""The number of operations that a price is for."""


class BadPriceTable(BadInput):
    """A price file with errors; `problems` holds all of them: the line and the error of each."""

    def __init__(self, name: str, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("price table", name, "it has errors", "fix them")
        self.message = lines_of(name, self.problems)


Price: TypeAlias = Annotated[float, Ge(0)]
Text: TypeAlias = Annotated[str, MinLen(1)]


@dataclass(frozen=True)
class Capacity(StrictTable):
    """The price of a GB per month, with one kind of redundancy."""

    tables: Price
    blobs: Price


@dataclass(frozen=True)
class OperationPrices(StrictTable):
    """The prices of 10,000 operations, by the kinds of `Operation`."""

    table_reads: Price
    table_scans: Price
    table_writes: Price
    table_deletes: Price
    queue_operations: Price
    blob_reads: Price
    blob_writes: Price


@dataclass(frozen=True)
class PriceTable(StrictTable):
    """Prices of a region; its fields are the keys of a price file.

    >>> prices = PriceTable.default()
    >>> prices.currency, prices.dated.isoformat(), prices.operations["table_reads"]
    ('USD', '2026-09-12', 0.00036)

    :param currency: their currency
    :param dated: their date
    :param source: their source
    :param region: their region
    :param redundancy: the redundancy of the account
    :param bytes_per_gb: the number of bytes that are billed as one GB
    :param per_10_000_operations: the prices of operations, by kind
    :param per_gb_month: the prices of a GB, by redundancy
    """

    currency: Text
    dated: date
    source: Text
    region: Text
    redundancy: Text
    bytes_per_gb: Annotated[float, Ge(1)]
    per_10_000_operations: OperationPrices
    per_gb_month: Mapping[str, Capacity]

    @property
    def operations(self) -> Mapping[str, float]:
        return asdict(self.per_10_000_operations)

    @property
    def capacity(self) -> Capacity:
        return self.per_gb_month[self.redundancy]

    @classmethod
    def read(cls, given: str | Path) -> PriceTable:
        """Read prices from a file or a text. An error lists all problems, with line and key.

        :param given: the path of a file, or a text with more than one line
        :raises BadPriceTable: it is not a valid price table
        :raises OSError: the file cannot be read
        """
        file = TomlFile.of(given, "prices", BadPriceTable)
        prices = file.read(cls)
        if prices.redundancy not in prices.per_gb_month:
            says = f"redundancy = {prices.redundancy!r} has no prices; add [per_gb_month.{prices.redundancy}]"
            raise file.error([Problem(("redundancy",), says)])
        return prices

    @classmethod
    @lru_cache(maxsize=1)
    def default(cls) -> PriceTable:
        """Return the prices of the package; its file says how they were confirmed."""
        return cls.read(files("tablepatterns").joinpath("prices.toml").read_text(encoding="utf-8"))


def bill(design: Design, measured_sets: Iterable[Measured], prices: PriceTable) -> Bill:
    """Return the monthly cost: of each access pattern by its transactions, of each set by its bytes.

    A query costs a transaction per page of up to 1,000 results, and so more as the set grows; rates stay as declared.
    The deletes of a retention are included. A write in the transaction of another access pattern is counted there. Not
    included: pages that end at the boundary of a server, and outgoing data.
    """
    calls = tuple(measured_sets)
    lines = tuple(_lines(design, calls, prices, 0.0))
    then = math.fsum(line.amount for line in _lines(design, calls, prices, design.years))
    total = math.fsum(line.amount for line in lines)
    return Bill(lines, total, then, prices.currency, prices.dated, prices.source)


def with_costs(measured_sets: Iterable[Measured], costs: Bill) -> tuple[Measured, ...]:
    amounts = costs.by_subject
    return tuple(replace(call, cost_a_month=amounts.get(call.subject)) for call in measured_sets)


def _lines(design: Design, calls: Iterable[Measured], prices: PriceTable, years: float) -> Iterator[BillLine]:
    price_of, price = prices.operations, prices.capacity
    for call in calls:
        subject = call.subject
        for operation, transactions in charges_of(grown_call(call, years)).items():
            quantity = transactions * call.rate * SECONDS_OF_A_MONTH
            if quantity:
                amount = quantity / PER * price_of[operation]
                yield BillLine(subject, operation.replace("_", " "), quantity, amount)
    for part in design.sets:
        tables, blobs = volume_of(part, years)
        for service, size, a_month in (("tables", tables, price.tables), ("blobs", blobs, price.blobs)):
            if size:
                quantity = size / prices.bytes_per_gb
                yield BillLine(part.name, f"GB in {service}", quantity, quantity * a_month)
