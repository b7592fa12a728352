"""Find the set and the derived data that a stored row belongs to, by its key template."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from tablepatterns.edm import Ticks, ordinal
from tablepatterns.figures import count
from tablepatterns.key import Key

from ..design.key_parts import pieces_of, pieces_of_key
from ..design.model import DeclaredSet, Design
from ..kinds import kind_of
from ..kinds.kind import SampleSet
from ..result import RowKind, StoredRow, StoredTable
from .recorder import RowKeys

_LONGEST_VALUE: Final = 24
_LONGEST_ROW: Final = 160
_CALLED: Final[Mapping[str, RowKind]] = {"copies": "copy", "lists": "list", "totals": "summary"}


@dataclass(frozen=True)
class _Family:
    """The rows of one key template; `table` is in lower case, and only its beginning if each period has one."""

    kind: RowKind
    of: str
    derived: str | None
    table: str
    key: Key
    is_prefix: bool

    def has(self, keys: RowKeys) -> bool:
        table, partition, row = keys
        pairs = ((self.key.partition_template, partition), (self.key.row_template, row))
        return self.has_table(table) and all(_pattern(template).fullmatch(key) for template, key in pairs)

    def has_table(self, name: str) -> bool:
        return name.lower() == self.table or (self.is_prefix and name.lower().startswith(self.table))

    @property
    def fixed(self) -> int:
        """The number of literal characters in the key template; more make a match more certain."""
        return sum(len(piece.literal) + (piece.width or 0) for piece in pieces_of_key(self.key))


@lru_cache(maxsize=1024)
def _pattern(template: str) -> re.Pattern[str]:
    parts = (
        re.escape(piece.literal) + (f".{{{piece.width}}}" if piece.width else ".*" if piece.name else "")
        for piece in pieces_of(template)
    )
    return re.compile("".join(parts), re.DOTALL)


def stored_tables(
    design: Design,
    sample_sets: Mapping[str, SampleSet],
    rows: Mapping[RowKeys, Mapping[str, Any]],
    stored: Collection[RowKeys],
) -> tuple[StoredTable, ...]:
    """Return tables with their rows in key order; `rows` also has those that only a write inserts."""
    families = [
        family for declared_set in design.sets for family in _families(declared_set, sample_sets[declared_set.name])
    ]
    order = sorted(rows, key=lambda keys: (keys[0], ordinal(keys[1]), ordinal(keys[2])))
    by_table: dict[str, list[StoredRow]] = {}
    for number, keys in enumerate(order):
        row = _row(number, keys, families, rows[keys], stored=keys in stored)
        by_table.setdefault(keys[0], []).append(row)
    return tuple(StoredTable(name, tuple(rows)) for name, rows in by_table.items())


def _families(declared_set: DeclaredSet, sample_set: SampleSet) -> Iterator[_Family]:
    periods = kind_of(declared_set).time_field(declared_set) is not None
    yield _Family("primary", declared_set.name, None, declared_set.table.lower(), sample_set.row_key, periods)
    for via, profile in declared_set.profiles():
        if profile.table_key is not None:
            kind = _CALLED[profile.called]
            table = via.table(declared_set.table).lower()
            yield _Family(kind, declared_set.name, via.name, table, profile.table_key, periods)


def _row(
    number: int, keys: RowKeys, families: Collection[_Family], properties: Mapping[str, Any], *, stored: bool
) -> StoredRow:
    _, partition, row = keys
    text = _properties(properties)
    # A summary may be stored in an entity of a set of its own
    certain = sorted(families, key=lambda family: (family.fixed, family.kind == "primary"), reverse=True)
    family = next((family for family in certain if family.has(keys)), None)
    if family is None:
        # A further row of a wide entity or a long series: its key starts like that of the entity
        of = next((family.of for family in families if family.has_table(keys[0])), "")
        return StoredRow(number, partition, row, "part", of, None, "", text, stored)
    template = f"{family.key.partition_template} | {family.key.row_template}"
    return StoredRow(number, partition, row, family.kind, family.of, family.derived, template, text, stored)


def _properties(properties: Mapping[str, Any]) -> str:
    return _shortened(", ".join(f"{name}={_value(value)}" for name, value in properties.items()), _LONGEST_ROW)


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return f"({count(len(value))} bytes)"
    text = f"{value:g}" if isinstance(value, float) else value.iso() if isinstance(value, Ticks) else str(value)
    return _shortened(text, _LONGEST_VALUE)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
