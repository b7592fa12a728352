"""Read a sample of a table's entities, spread over its partitions and key ranges, with a bounded number of queries.

No query joins conditions with `or`, which the service answers with a scan of the table. So an unread part of the table
is either a range of partitions, or a range of rows within one partition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, TypeAlias

from ..edm import key_order, ordinal
from ..entity import Entity
from ..filters import Filter, prop
from ..limits import MAX_PAGE_ENTITIES
from ..sdk.table import Page, Table

Keys: TypeAlias = tuple[str, str]

_PARTITION, _ROW = prop("PartitionKey"), prop("RowKey")
_LEAD: Final = re.compile(r"[A-Za-z]+(?:[_\-|:.~=]+|(?=[0-9]))")
"""The word that the keys of one kind of rows often begin with."""
_MISSES: Final = 2
"""The number of halves without rows after which a part is read from its start."""
_EMPTY_PAGES: Final = 3
"""The maximum number of empty pages of a range; then the range counts as unread."""
_TOPS: Final = (("0", "9"), ("A", "Z"), ("a", "z"))
_LAST: Final = "\ud7ff"
"""The last character before the surrogates, which a filter cannot contain."""


@dataclass(frozen=True)
class Gap:
    """A part of the table that was not read: keys between two others, both excluded.

    :param lower: the last key that was read; None for the start of the table
    :param upper: the first key that was read after it, None for no bound
    :param partition: the partition that a range of rows is in; None for a range of partitions
    :param depth: how often it was halved
    :param misses: how often its upper half had no rows
    """

    lower: str | None
    upper: str | None
    partition: str | None = None
    depth: int = 0
    misses: int = 0

    def where(self, start: str | None) -> Filter | None:
        """Return the filter for the rest of the gap from a key on, or after its lower end."""
        name = _PARTITION if self.partition is None else _ROW
        terms: list[Filter] = [] if self.partition is None else [_PARTITION == self.partition]
        if start is not None:
            terms.append(name >= start)
        elif self.lower is not None:
            terms.append(name > self.lower)
        if self.upper is not None:
            terms.append(name < self.upper)
        return reduce(Filter.__and__, terms) if terms else None


@dataclass
class Sampler:
    """Reads a sample of one table with at most `most` queries.

    :param gaps: the parts of the table that were not read; none if the sample is the whole table
    :param closed: parts that stay unread, since they cannot be halved further
    :param parts: how many separate parts of the table the rows are from
    """

    table: Table
    most: int
    requests: int = 0
    gaps: list[Gap] = field(default_factory=list[Gap])
    closed: list[Gap] = field(default_factory=list[Gap])
    parts: int = 0
    _rows: dict[Keys, Entity] = field(default_factory=dict[Keys, Entity])

    async def read(self) -> list[Entity]:
        """Read the start of the table, then the middle of the part halved least, and so on; return the rows by key."""
        await self._probe(Gap(None, None), None)
        while self.gaps and self.requests < self.most:
            gap = min(self.gaps, key=lambda gap: (gap.depth, gap.partition is not None))
            self.gaps.remove(gap)
            start = None if gap.misses == _MISSES else middle_of(gap)
            await self._probe(gap, start)
        self.gaps += self.closed
        return sorted(self._rows.values(), key=lambda row: key_order((row["PartitionKey"], row["RowKey"])))

    async def _probe(self, gap: Gap, start: str | None) -> None:
        """Read a page of a gap, and note what is left of the gap."""
        where, page = gap.where(start), Page[Entity]((), None)
        token: str | None = None
        for _ in range(_EMPTY_PAGES):
            self.requests += 1
            page = await self.table.page(where, size=MAX_PAGE_ENTITIES, token=token)
            token = page.token
            if page.items or token is None or self.requests >= self.most:
                break
        for row in page.items:
            self._rows[row["PartitionKey"], row["RowKey"]] = row
        self.parts += bool(page.items)
        if start is not None and start != gap.lower:
            misses = 0 if page.items else gap.misses + 1
            self.gaps.append(Gap(gap.lower, start, gap.partition, gap.depth + 1, misses))
        if token is None:
            return
        if page.items:
            self.gaps += _after(gap, page.items[-1])
        else:
            self.closed.append(Gap(start or gap.lower, gap.upper, gap.partition, gap.depth))


def _after(gap: Gap, last: Entity) -> Iterator[Gap]:
    partition, row = last["PartitionKey"], last["RowKey"]
    if gap.partition is not None:
        yield Gap(row, gap.upper, partition, gap.depth + 1)
        return
    yield Gap(row, None, partition, gap.depth + 1)
    yield Gap(partition, gap.upper, None, gap.depth + 1)


def middle_of(gap: Gap) -> str | None:
    """Return a key about half way in a gap; None if there is none, or none is known."""
    if gap.lower is None:
        return None
    if gap.upper is not None:
        return middle(gap.lower, gap.upper)
    lead = _LEAD.match(gap.lower)
    if lead is not None:
        # The first row of the next kind, if the rows of this kind begin with a word
        return lead[0][:-1] + chr(ord(lead[0][-1]) + 1)
    return _top(gap.lower[:1])


def _top(character: str) -> str:
    """Return the character after those that a digit or a letter may be replaced by."""
    for first, last in _TOPS:
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
