"""Describe what a table holds: the shapes of its keys, and the types and sizes of properties, from a sample of rows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .edm import KINDS, entity_size, key_order, type_of, value_size
from .entity import Entity
from .entity_set.derived import Keys, keys_of
from .errors import BadInput
from .jobs.ranges import RowRange, middle_of
from .limits import MAX_PAGE_ENTITIES
from .recipe import Account
from .sdk.table import Page, Table

_KEYS: Final = frozenset(("PartitionKey", "RowKey", "Timestamp"))
_PREFIX: Final = re.compile(r"[A-Za-z]+(?=[_\-|:.~=0-9])")
_MOST_PREFIXES: Final = 24
"""More prefixes than this are values, such as names of departments."""
_RAREST_PREFIX: Final = 0.01
"""The share of the rows from which on a prefix tells one kind of rows from another."""
_PIECE: Final = re.compile(
    r"(?P<guid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
    r"|(?P<date>\d{4}-\d\d-\d\d)"
    r"|(?P<digits>\d+)(?![A-Za-z])"
    r"|(?P<text>[^_\-|:~]+)"
    r"|(?P<separator>.)",
    re.DOTALL,
)
_MOST_SHAPES: Final = 24
_MISSES: Final = 2
"""The number of halves without rows after which a part is read from its start."""
_EMPTY_PAGES: Final = 3
"""The maximum number of empty pages of a range; then the range counts as unread."""

Piece: TypeAlias = tuple[str, str]
"""A piece of a key: its kind, such as `digits`, empty for literal text; and its text."""


@dataclass(frozen=True)
class PropertyUse:
    """A property of the rows of one shape.

    :param types: its EDM types, the most frequent first; more than one is often a mistake
    :param share: the share of the rows that have it
    :param mean_size: the average size of its values, in bytes
    :param largest: the size of its largest value, in bytes
    """

    name: str
    types: tuple[str, ...]
    share: float
    mean_size: float
    largest: int


@dataclass(frozen=True)
class RowShape:
    """The rows of a table whose keys look alike.

    :param partition: the shape of their PartitionKeys, such as `empid_{6 digits}`
    :param rows: how many were read
    :param partitions: how many partitions they were read from
    :param mean_size: the average size of a row, in bytes
    :param largest: the size of the largest row, in bytes
    """

    partition: str
    row: str
    rows: int
    partitions: int
    mean_size: float
    largest: int
    properties: tuple[PropertyUse, ...]


@dataclass(frozen=True)
class TableInventory:
    """What a sample of a table shows.

    :param parts: how many separate parts of the table the rows are from
    :param shapes: the kinds of rows, the most frequent first
    """

    table: str
    queries: int
    is_whole: bool
    parts: int
    rows: int
    partitions: int
    shapes: tuple[RowShape, ...]


async def take_inventory(account: Account, table: str, max_queries: int) -> TableInventory:
    """Read a sample of a table, spread over its partitions and ranges of keys, and describe its rows.

    Rows whose keys look alike are described together, so an index or a list of keys in the same table has a shape of
    its own. Cost: at most `max_queries` transactions.
    """
    sampler = _Sampler(account.table(table), max_queries)
    rows = await sampler.read()
    if not rows:
        raise BadInput("table", table, "it does not exist, or has no rows", "name a table with rows")
    partitions = len({row["PartitionKey"] for row in rows})
    shapes = tuple(_shapes(rows))
    return TableInventory(table, sampler.requests, not sampler.gaps, sampler.parts, len(rows), partitions, shapes)


def _shapes(rows: Sequence[Entity]) -> Iterator[RowShape]:
    prefixes = [_frequent_prefixes([row[name] for row in rows]) for name in ("PartitionKey", "RowKey")]
    groups = _group_rows(rows, prefixes, _pieces)
    if len(groups) > _MOST_SHAPES:
        # Texts with any separators in them: only their prefixes tell kinds of rows apart
        groups = _group_rows(rows, prefixes, _prefix_and_rest)
    for group in sorted(groups, key=len, reverse=True):
        yield _describe(group)


Divide: TypeAlias = Callable[[str, Collection[str]], list[Piece]]
Row: TypeAlias = tuple[Entity, list[Piece], list[Piece]]
"""A row, with the pieces of its PartitionKey and of its RowKey."""


def _group_rows(rows: Sequence[Entity], prefixes: Sequence[Collection[str]], divide: Divide) -> list[list[Row]]:
    """Group rows by the kinds and the literal text of the pieces of their keys."""
    groups: defaultdict[object, list[Row]] = defaultdict(list)
    for row in rows:
        partition, row_key = divide(row["PartitionKey"], prefixes[0]), divide(row["RowKey"], prefixes[1])
        group_key = tuple(tuple(kind or (text,) for kind, text in pieces) for pieces in (partition, row_key))
        groups[group_key].append((row, partition, row_key))
    return list(groups.values())


def _frequent_prefixes(keys: Sequence[str]) -> Collection[str]:
    """Return the words that keys of one kind begin with, such as `empid` in `empid_000223`."""
    counts = Counter(prefix[0] for key in keys if (prefix := _PREFIX.match(key)))
    frequent = [word for word, count in counts.items() if count > _RAREST_PREFIX * len(keys)]
    return frequent if len(frequent) <= _MOST_PREFIXES else ()


def _pieces(key: str, prefixes: Collection[str]) -> list[Piece]:
    """Divide a key into its prefix, separators, digits, dates, GUIDs and text."""
    prefix = _PREFIX.match(key)
    pieces: list[Piece] = [("", prefix[0])] if prefix and prefix[0] in prefixes else []
    start = len(pieces[0][1]) if pieces else 0
    for piece in _PIECE.finditer(key, start):
        kind = str(piece.lastgroup)
        pieces.append(("" if kind == "separator" else kind, piece[0]))
    return pieces


def _prefix_and_rest(key: str, prefixes: Collection[str]) -> list[Piece]:
    first = _pieces(key, prefixes)[:1]
    prefix = first if first and not first[0][0] else []
    return [*prefix, ("text", key.removeprefix(prefix[0][1] if prefix else ""))]


def _describe(rows: Sequence[Row]) -> RowShape:
    entities = [row for row, _, _ in rows]
    sizes = [entity_size(row["PartitionKey"], row["RowKey"], _properties(row)) for row in entities]
    return RowShape(
        _shape_of([partition for _, partition, _ in rows]),
        _shape_of([row_key for _, _, row_key in rows]),
        len(rows),
        len({row["PartitionKey"] for row in entities}),
        sum(sizes) / len(sizes),
        max(sizes),
        tuple(_uses(entities)),
    )


def _shape_of(keys: Sequence[list[Piece]]) -> str:
    shape = ""
    for column in zip(*keys, strict=True):
        kind, text = column[0]
        widths = sorted({len(text) for _, text in column}) if kind == "digits" else []
        if not kind:
            shape += text
        elif widths:
            shape += f"{{{widths[0]} digits}}" if len(widths) == 1 else f"{{{widths[0]} to {widths[-1]} digits}}"
        else:
            shape += f"{{{kind}}}"
    return shape


def _properties(row: Entity) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _KEYS}


def _uses(rows: Sequence[Entity]) -> Iterator[PropertyUse]:
    values: defaultdict[str, list[object]] = defaultdict(list)
    for row in rows:
        for name, value in _properties(row).items():
            values[name].append(value)
    for name, stored in values.items():
        types = Counter(KINDS[type_of(value)].edm.removeprefix("Edm.") for value in stored)
        sizes = [value_size(value) for value in stored]
        names = tuple(name for name, _ in types.most_common())
        yield PropertyUse(name, names, len(stored) / len(rows), sum(sizes) / len(sizes), max(sizes))


# ------------------------------------------------------------------ the sample


@dataclass(frozen=True)
class _Gap:
    """A part of the table that was not read.

    :param depth: how often it was halved
    :param misses: how often its upper half had no rows
    """

    rows: RowRange
    depth: int = 0
    misses: int = 0


@dataclass
class _Sampler:
    """Reads a sample of one table with at most `most` queries.

    :param gaps: the parts of the table that were not read; none if the sample is the whole table
    :param closed: parts that stay unread, since they cannot be halved further
    :param parts: how many separate parts of the table the rows are from
    """

    table: Table
    most: int
    requests: int = 0
    gaps: list[_Gap] = field(default_factory=list[_Gap])
    closed: list[_Gap] = field(default_factory=list[_Gap])
    parts: int = 0
    rows: dict[Keys, Entity] = field(default_factory=dict[Keys, Entity])

    async def read(self) -> list[Entity]:
        """Read the start of the table, then the middle of the part halved least, and so on; return the rows by key."""
        await self._probe(_Gap(RowRange()), None)
        while self.gaps and self.requests < self.most:
            gap = min(self.gaps, key=lambda gap: (gap.depth, gap.rows.partition is not None))
            self.gaps.remove(gap)
            start = None if gap.misses == _MISSES else middle_of(gap.rows.after, gap.rows.up_to)
            await self._probe(gap, start)
        self.gaps += self.closed
        return sorted(self.rows.values(), key=lambda row: key_order(keys_of(row)))

    async def _probe(self, gap: _Gap, start: str | None) -> None:
        rows = gap.rows if start is None else gap.rows._replace(after=start)
        page = Page[Entity]((), None)
        for _ in range(_EMPTY_PAGES):
            self.requests += 1
            page = await self.table.page(rows.where, size=MAX_PAGE_ENTITIES, token=page.token)
            if page.items or page.token is None or self.requests >= self.most:
                break
        self.rows |= {keys_of(row): row for row in page.items}
        self.parts += bool(page.items)
        if start is not None:
            misses = 0 if page.items else gap.misses + 1
            self.gaps.append(_Gap(gap.rows._replace(up_to=start), gap.depth + 1, misses))
        if page.token is None:
            return
        if page.items:
            self.gaps += [_Gap(rest, gap.depth + 1) for rest in rows.rest(*keys_of(page.items[-1]))]
        else:
            self.closed.append(_Gap(rows, gap.depth))
