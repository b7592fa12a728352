"""Price table: what the service charges for each unit, of which day, and where the prices come from.

It is a TOML file, such as `prices.toml` beside this module. Every key that this one has must be there, and no other;
redundancies may be added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, get_args

from ...errors import BadInput
from ..declaring.toml_file import TomlFile, lines
from ..declaring.toml_tables import Section
from .charges import Operation

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
PER: Final = 10_000
"""How many operations a price is for."""
_DEFAULT: Final = "prices.toml"


class BadPriceTable(BadInput):
    """A price table in which something is wrong; `problems` has all of it, with the lines.

    :param name: what the file is called
    :param problems: for each its line and what is wrong
    """

    def __init__(self, name: str, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("price table", name, "it has not all prices", "mend it")
        self.message = lines(name, self.problems)


@dataclass(frozen=True)
class Capacity:
    """What a GB costs for a month, in one redundancy."""

    tables: float
    blobs: float


@dataclass(frozen=True)
class PriceTable:
    """Prices of a region.

    >>> prices = PriceTable.default()
    >>> prices.currency, prices.dated.isoformat(), prices.operations["table_reads"]
    ('USD', '2026-09-12', 0.00036)

    :param currency: what they are in
    :param dated: the day that they are of
    :param source: where they come from
    :param region: where they hold
    :param redundancy: which of the capacities is paid for
    :param bytes_per_gb: how many bytes are charged for as one GB
    :param operations: what 10,000 operations of a kind cost
    :param capacities: what a GB costs for a month, by redundancy
    """

    currency: str
    dated: date
    source: str
    region: str
    redundancy: str
    bytes_per_gb: float
    operations: Mapping[Operation, float]
    capacities: Mapping[str, Capacity]

    @property
    def capacity(self) -> Capacity:
        """What a GB costs for a month."""
        return self.capacities[self.redundancy]

    @classmethod
    def read(cls, given: str | Path) -> PriceTable:
        """Return the prices of a file, or a text. Everything that is wrong is named at once, with its line and key.

        :param given: the path of a file, or a text with more than one line
        :raises BadPriceTable: it is no price table
        :raises OSError: the file cannot be read
        """
        return _read(TomlFile.of(given, "prices", BadPriceTable))

    @classmethod
    def default(cls) -> PriceTable:
        """Return the prices that come with the package; see the file for how far they are confirmed."""
        return _default()


@lru_cache(maxsize=1)
def _default() -> PriceTable:
    return PriceTable.read(Path(__file__).with_name(_DEFAULT))


def _read(file: TomlFile) -> PriceTable:
    values = file.values()
    top = Section(values, (), "", [])
    operations = top.section("per_10_000_operations")
    capacities = top.section("per_gb_month")
    found = PriceTable(
        currency=_text(top, "currency"),
        dated=_day(top, values),
        source=_text(top, "source"),
        region=_text(top, "region"),
        redundancy=_text(top, "redundancy"),
        bytes_per_gb=_price(top, "bytes_per_gb", least=1),
        operations={each: _price(operations, each) for each in OPERATIONS},
        capacities=dict(_capacities(capacities)),
    )
    if found.redundancy and found.redundancy not in found.capacities:
        top.note(
            f"redundancy = {found.redundancy!r} has no prices: add [per_gb_month.{found.redundancy}]", "redundancy"
        )
    for section in (top, operations):
        section.refuse_others()
    if top.problems:
        raise file.refused(top.problems)
    return found


def _text(section: Section, name: str) -> str:
    before = len(section.problems)
    text = section.needed(name)
    if not text and len(section.problems) == before:
        section.note(f"{name} is empty; give a text", name)
    return text


def _day(top: Section, values: Mapping[str, Any]) -> date:
    top.offer("dated")
    day = values.get("dated")
    if isinstance(day, date) and not isinstance(day, datetime):
        return day
    if day is None:
        top.note("dated is missing; give the day of the prices")
    else:
        top.note(f"dated = {day!r}: it must be a day, as in 2026-09-12, without quotes", "dated")
    return date.min


def _price(section: Section, name: str, *, least: float = 0.0) -> float:
    if name not in section:
        section.offer(name)
        section.note(f"{name} is missing; give a number")
        return least
    price = section.number(name, least, least=least)
    if not math.isfinite(price):
        section.note(f"{name} = {price}: it must be a number", name)
    return price


def _capacities(section: Section) -> Iterator[tuple[str, Capacity]]:
    for name in section:
        prices = section.section(name)
        yield name, Capacity(_price(prices, "tables"), _price(prices, "blobs"))
        prices.refuse_others()
