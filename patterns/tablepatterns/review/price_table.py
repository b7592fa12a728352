"""Price table: what the service charges for each unit, of which day, and where the prices come from.

It is a TOML file, such as `prices.toml` beside this module. Every key that this one has must be there, and no other;
redundancies may be added.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NoReturn, cast, get_args

from ..errors import BadInput
from .charges import Operation
from .toml_places import Places

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
PER: Final = 10_000
"""How many operations a price is for."""
_DEFAULT: Final = "prices.toml"
_TEXTS: Final = ("currency", "source", "region", "redundancy")
_TOP: Final = (*_TEXTS, "dated", "bytes_per_gb", "per_10_000_operations", "per_gb_month")
_AT_LINE: Final = re.compile(r"\(at line (\d+)")


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
    def read(cls, path: str | Path) -> PriceTable:
        """Return the prices of a file.

        :param path: where the file is
        :raises BadInput: it is no price table; the error names the line and the key
        :raises OSError: it cannot be read
        """
        return _Reading(Path(path).name, Path(path).read_text(encoding="utf-8")).table()

    @classmethod
    def default(cls) -> PriceTable:
        """Return the prices that come with the package; see the file for how far they are confirmed."""
        return _default()


@lru_cache(maxsize=1)
def _default() -> PriceTable:
    return PriceTable.read(Path(__file__).with_name(_DEFAULT))


class _Reading:
    """A price table as it is read, with the lines of its keys for errors.

    :param name: the name of the file
    :param text: what it says
    """

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        try:
            self._found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = _AT_LINE.search(str(error))
            place = f"{name}:{line[1]}" if line else name
            raise BadInput(place, str(error), "it is not TOML", "mend the line") from error
        self._places = Places.of(text)

    def table(self) -> PriceTable:
        """Return the prices."""
        self._check_keys("", self._found, _TOP)
        texts = {name: self._text(name) for name in _TEXTS}
        capacities = self._table("per_gb_month", self._found["per_gb_month"])
        found = PriceTable(
            **texts,
            dated=self._date(),
            bytes_per_gb=self._number("bytes_per_gb", self._found["bytes_per_gb"], least=1),
            operations=self._operations(),
            capacities={name: self._capacity(f"per_gb_month.{name}", each) for name, each in capacities.items()},
        )
        if found.redundancy not in found.capacities:
            rule = f"it has no prices here: {', '.join(found.capacities) or 'none'} have"
            self._refuse("redundancy", found.redundancy, rule, "name one of them, or add [per_gb_month] for it")
        return found

    def _operations(self) -> dict[Operation, float]:
        key = "per_10_000_operations"
        prices = self._table(key, self._found[key])
        self._check_keys(key, prices, OPERATIONS)
        return {name: self._number(f"{key}.{name}", prices[name]) for name in OPERATIONS}

    def _capacity(self, key: str, found: object) -> Capacity:
        prices = self._table(key, found)
        self._check_keys(key, prices, ("tables", "blobs"))
        return Capacity(*(self._number(f"{key}.{name}", prices[name]) for name in ("tables", "blobs")))

    def _check_keys(self, above: str, found: Mapping[str, object], known: tuple[str, ...]) -> None:
        prefix = f"{above}." if above else ""
        for name in found:
            if name not in known:
                near = get_close_matches(name, known, 1)
                way_out = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
                self._refuse(prefix + name, found[name], "a price table has no such key", way_out)
        for name in known:
            if name not in found:
                self._refuse(prefix + name, None, "it is missing", "add it, as in the default table", line_of=above)

    def _text(self, key: str) -> str:
        value = self._found[key]
        if not isinstance(value, str) or not value:
            self._refuse(key, value, "it is a text", "put it in quotes")
        return value

    def _date(self) -> date:
        value = self._found["dated"]
        if not isinstance(value, date) or isinstance(value, datetime):
            self._refuse("dated", value, "it is a day", "write it as 2026-09-12, without quotes")
        return value

    def _number(self, key: str, value: object, least: float = 0) -> float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(number := float(cast("float", value))) or number < least:
            self._refuse(key, value, f"it is a number of {least} or more", "write it without quotes and currency")
        return number

    def _table(self, key: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._refuse(key, value, "it is a table of prices", f"begin it with [{key}]")
        return cast("dict[str, Any]", value)

    def _refuse(self, key: str, value: object, rule: str, way_out: str, *, line_of: str | None = None) -> NoReturn:
        line = self._places.line(tuple((key if line_of is None else line_of).split(".")))
        raise BadInput(f"{self._name}:{line}: {key}", value, rule, way_out)
