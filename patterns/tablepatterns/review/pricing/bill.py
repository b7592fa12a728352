"""Prices: what a design costs in a month, by a table of prices that can be replaced by one's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ...filters import QueryClass
from ...limits import MAX_PAGE_ENTITIES
from ...recipes.index_entities import IndexEntities
from ..declaring.declared import DeclaredSet, Design
from ..growing.growth import grows
from ..growing.volume import volume_of
from ..outcome import Bill, BillLine, Measured
from .charges import Operation, charges_of
from .price_table import PER, PriceTable

__all__ = ["MONTH", "PriceTable", "bill"]

MONTH: Final = 30.44 * 86_400
"""Seconds of a month."""


def bill(design: Design, measured: Iterable[Measured], prices: PriceTable) -> Bill:
    """Return what a month costs: each access pattern by its transactions, each set by its bytes.

    A query costs a transaction for each page of up to 1,000 entities that it finds, and so more as the set grows; the
    rates stay as they are declared. Not in it are pages that end early, after five seconds or at the border of a
    server, data that leave the region, and the deletes of a retention that no access pattern declares.

    :param design: the design
    :param measured: what one call of each access pattern takes
    :param prices: what the service charges

    Guide: cost; capacity.
    """
    measured = tuple(measured)
    lines = tuple(_lines(design, measured, prices, 0.0))
    then = _lines(design, measured, prices, design.years)
    total = math.fsum(line.amount for line in lines)
    return Bill(lines, total, math.fsum(line.amount for line in then), prices.currency, prices.dated, prices.source)


def _lines(design: Design, measured: Iterable[Measured], prices: PriceTable, years: float) -> Iterator[BillLine]:
    """Hand out the lines of a bill, as it is after so many years."""
    for each in measured:
        subject = f"{each.of.name}: {each.access.name}"
        for operation, calls in _charges(each, years).items():
            quantity = calls * each.access.rate * MONTH
            if quantity:
                price = prices.operations[operation]
                yield BillLine(subject, operation.replace("_", " "), quantity, quantity / PER * price)
    for declared in design.sets:
        yield from _capacity(declared, prices, years)


def _charges(measured: Measured, years: float) -> Mapping[Operation, float]:
    charges = charges_of(measured)
    factor = grows(measured, years)
    if factor == 1:
        return charges
    via = next((each for each in measured.of.derived if each.name == measured.via), None)
    if not isinstance(via, IndexEntities):
        factor = _pages(measured, factor) / _pages(measured, 1)
    return {operation: calls * factor for operation, calls in charges.items()}


def _pages(measured: Measured, factor: float) -> int:
    """Return how many pages a query takes if it finds so many times as much.

    A page of a table scan goes on in the next partition; else each partition begins its own.
    """
    partitions = 1.0 if measured.query_class is QueryClass.TABLE_SCAN else max(1.0, measured.partitions)
    return max(1, math.ceil(measured.returned * factor / partitions / MAX_PAGE_ENTITIES))


def _capacity(declared: DeclaredSet, prices: PriceTable, years: float) -> Iterator[BillLine]:
    volume, capacity = volume_of(declared, years), prices.capacity
    for where, size, price in (("tables", volume.tables, capacity.tables), ("blobs", volume.blobs, capacity.blobs)):
        if size:
            quantity = size / prices.bytes_per_gb
            yield BillLine(declared.name, f"GB in {where}", quantity, quantity * price)
