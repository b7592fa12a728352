"""Split a table into ranges of keys without reading it."""

from __future__ import annotations

import re
from bisect import insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from ..edm import ordinal
from ..entity import Entity
from ..filters import Filter, Interval, prop
from ..limits import SYSTEM_PROPERTIES
from ..sdk.table import Page, Table

_SPARE_PROBES = 16
"""How many probes may find no new key, for each range that is wanted."""
_LEAD: Final = re.compile(r"[A-Za-z]+(?:[_\-|:.~=]+|(?=[0-9]))")
"""The word that the keys of one kind of rows often begin with."""
_LAST: Final = "\ud7ff"
"""The last character before the surrogates, which a filter cannot contain."""


class PageReader(Protocol):
    """Reads the rows of a table in pages, in the order of their keys."""

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Entity]: ...


@dataclass(frozen=True)
class SelectedRows:
    """Reads the rows of a table that match a filter, or some of their properties; None for all."""

    table: Table
    where: Filter | None = None
    select: Sequence[str] | None = None

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Entity]:
        conditions = [condition for condition in (where, self.where) if condition is not None]
        where = reduce(Filter.__and__, conditions) if conditions else None
        return await self.table.page(where, size=size, token=token, select=self.select)


class RowRange(NamedTuple):
    """The rows of a table between two keys: those after `after`, up to and including `up_to`; None for no bound.

    No query for a range joins conditions with `or`, which the service answers with a scan of the table. So a range is
    one of partitions, or one of rows within one partition.

    >>> print(RowRange(after="a", up_to="b").where)
    PartitionKey gt 'a' and PartitionKey le 'b'
    >>> [str(rest.where) for rest in RowRange(after="a", up_to="c").rest("b", "7")]
    ["PartitionKey eq 'b' and RowKey gt '7'", "PartitionKey gt 'b' and PartitionKey le 'c'"]

    :param table: the number of the table among those of the work
    :param partition: the PartitionKey of all rows; None for a range of partitions
    """

    table: int = 0
    partition: str | None = None
    after: str | None = None
    up_to: str | None = None

    @property
    def where(self) -> Filter | None:
        """The filter for these rows; None for all rows of the table."""
        keys = Interval(self.after or "", lower_inclusive=self.after is None, upper=self.up_to)
        terms: list[Filter] = [] if self.partition is None else [prop("PartitionKey") == self.partition]
        terms += keys.comparisons("PartitionKey" if self.partition is None else "RowKey")
        return reduce(Filter.__and__, terms) if terms else None

    @property
    def start(self) -> tuple[int, str, int, str]:
        """A key that sorts ranges that do not overlap in the order of their rows."""
        if self.partition is None:
            return self.table, ordinal(self.after or ""), 2 * (self.after is not None), ""
        return self.table, ordinal(self.partition), 1, ordinal(self.after or "")

    def rest(self, partition_key: str, row_key: str) -> list[RowRange]:
        """Return the ranges of the rows after a row of this range."""
        if self.partition is not None:
            return [self._replace(after=row_key)]
        return [RowRange(self.table, partition_key, row_key), self._replace(after=partition_key)]


async def split(table: PageReader, rows: RowRange, wanted: int) -> list[RowRange]:
    """Split a range into at most `wanted` ranges with rows in each, by probing for keys half way between others.

    The ranges cover the whole range, and their sizes are only roughly equal: work that takes long is split again.

    Cost: 1 transaction that reads one row for each range, and a few more where keys are unevenly distributed.
    """
    name = "PartitionKey" if rows.partition is None else "RowKey"
    if isinstance(table, SelectedRows):
        # With the conditions, the service might read many rows to find one
        table = SelectedRows(table.table, select=SYSTEM_PROPERTIES[:2])

    async def first_key(after: str | None, up_to: str | None) -> str | None:
        token: str | None = None
        where = rows._replace(after=after, up_to=up_to).where
        while True:
            page = await table.page(where, size=1, token=token)
            if page.items:
                return str(page.items[0][name])
            if page.token is None:
                return None
            token = page.token

    first = await first_key(rows.after, rows.up_to) if wanted > 1 else None
    if first is None:
        return [rows]
    keys = [first]
    gaps, probes = deque([(first, rows.up_to)]), wanted + _SPARE_PROBES
    while gaps and probes and len(keys) < wanted - 1:
        low, high = gaps.popleft()
        half = middle_of(low, high)
        if half is None or ordinal(half) <= ordinal(low):
            continue
        probes -= 1
        key = await first_key(half, high)
        if key is None or key == high:
            gaps.append((low, half))
        else:
            insort(keys, key, key=ordinal)
            gaps += [(low, key), (key, high)]
    return [
        rows._replace(after=after, up_to=up_to)
        for after, up_to in pairwise([rows.after, *keys, rows.up_to])
        if after is None or up_to is None or ordinal(after) < ordinal(up_to)
    ]


def middle_of(lower: str | None, upper: str | None) -> str | None:
    """Return a key about halfway between two; None if no key is known. An argument of None is an open end."""
    if lower is None:
        return None
    if upper is not None:
        return middle(lower, upper)
    lead = _LEAD.match(lower)
    if lead is not None:
        # The first row of the next kind, if the rows of this kind begin with a word
        return lead[0][:-1] + chr(ord(lead[0][-1]) + 1)
    return _top(lower[:1])


def _top(character: str) -> str:
    """Return the character after those that a digit or a letter may be replaced by."""
    for first, last in (("0", "9"), ("A", "Z"), ("a", "z")):
        if first <= character <= last:
            return chr(ord(last) + 1)
    return _LAST


def middle(lower: str, upper: str) -> str | None:
    """Return a key about half way between two; None if there is none that can be asked for.

    Digits and letters are halved among themselves, since keys rarely contain what lies between them.

    >>> middle("000123", "9"), middle("empid_000123", "empid_000125"), middle("a", "a")
    ('4', 'empid_000124', None)
    """
    same = 0
    while same < min(len(lower), len(upper)) and lower[same] == upper[same]:
        same += 1
    first = lower[same] if same < len(lower) else None
    last = upper[same] if same < len(upper) else None
    if last is None:
        return None
    low, high = ord(first) if first else max(0x20, min(ord(last) - 1, ord("0"))), ord(last)
    if high - low > 1:
        return _valid_key(lower[:same] + _halved(low, high), lower, upper)
    if first is None:
        return None
    lower_rest = lower[same + 1 :]
    for at, character in enumerate(lower_rest):
        top = ord(_top(character))
        if top - ord(character) > 1:
            return _valid_key(lower[: same + 1] + lower_rest[:at] + _halved(ord(character), top), lower, upper)
    return None


def _halved(low: int, high: int) -> str:
    """Return the character half way between two, a letter or a digit if there is one."""
    half = (low + high) // 2
    usable = [code for code in range(low + 1, min(high, 0x7F)) if chr(code).isalnum()]
    return chr(min(usable, key=lambda code: abs(code - half)) if usable else half)


def _valid_key(key: str, lower: str, upper: str) -> str | None:
    is_between = ordinal(lower) < ordinal(key) < ordinal(upper)
    return key if is_between and not re.search("[\ud800-\udfff]", key) else None
