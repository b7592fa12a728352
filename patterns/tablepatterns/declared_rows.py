"""The kinds of rows that the sets of one connection declare, to detect two that could have the same keys.

All rows that fit a set's key belong to the set. So two sets of one table whose keys can make the same RowKey would
return, replace and delete each other's entities. The templates are compared when a set is created; declarations of
other connections and processes are not known.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .errors import BadDesign
from .key import Key

StoreName: TypeAlias = tuple[Literal["table", "container"], str]
"""The table or container of rows, with its name in lower case."""


@dataclass(frozen=True)
class RowKind:
    """Rows of one kind, in one place.

    :param place: the table or the container that they are in
    :param owner: the set that declares them; two declarations of the same set are the same owner
    :param what: what the rows are, for an error, such as "entities of a set"
    """

    place: StoreName
    key: Key
    owner: tuple[str, ...]
    what: str = field(compare=False)


class DeclaredRows:
    """The kinds of rows that the sets of one connection have declared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: defaultdict[StoreName, set[RowKind]] = defaultdict(set)

    def add(self, kinds: Collection[RowKind]) -> None:
        """Declare the rows of one set, unless rows of another set could have the same keys."""
        with self._lock:
            for kind in kinds:
                # Declaring a set again is common, and costs a lookup
                if kind not in self._kinds.get(kind.place, ()):
                    self._check(kind)
            for kind in kinds:
                self._kinds[kind.place].add(kind)

    def forget(self, table: str) -> None:
        with self._lock:
            self._kinds.pop(("table", table.lower()), None)

    def kind_of(self, table: str, partition_key: str, row_key: str) -> RowKind | None:
        """Return the kind of a row of a table; None if no set has declared it."""
        kinds = self._kinds.get(("table", table.lower()), ())
        matching_kinds = (kind for kind in kinds if kind.key.parse_or_none(partition_key, row_key) is not None)
        return min(matching_kinds, key=lambda kind: kind.owner, default=None)

    def _check(self, kind: RowKind) -> None:
        for row_kind in self._kinds.get(kind.place, ()):
            if row_kind.owner != kind.owner and row_kind.key.overlaps(kind.key):
                place = f"the {kind.place[0]} {kind.place[1]!r}"
                rule = f"a row of {place} could be one of these and of the {row_kind.what} under {row_kind.key!r}"
                hint = "give each its own RowKey prefix or its own table"
                raise BadDesign(f"the key of {kind.what}", kind.key, rule, hint)
