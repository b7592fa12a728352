"""Sets whose partitions are spread over buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.key import Key
from tablepatterns.recipes.partition_spread.partition_spread import PartitionSpread
from tablepatterns.storage import Storage

from ..design.model import DeclaredSet
from ..python_source import CodeNames, call, text
from .kind import SampleCall, SampleSet, SetKind
from .plain import Plain, range_of

_BUCKETS: Final = 16
"""The default of the recipe."""


class SpreadKind(SetKind[PartitionSpread[Storage]]):
    pattern = "partition_spread"
    recipe = "PartitionSpread"
    is_spread = True
    parts = "buckets"

    def make(self, account: Storage, declared_set: DeclaredSet, derived: Sequence[Derived]) -> PartitionSpread[Storage]:
        def make(on: Storage, table: str, key: Key) -> EntitySet[Storage]:
            return EntitySet(on, table, key, derived=derived, mappings=declared_set.mappings)

        options = _options(declared_set)
        # Reads the buckets in order, so that the ledger of a review is the same in every run
        return PartitionSpread(
            account, declared_set.table, declared_set.key, factory=make, max_concurrency=1, **options
        )

    def sample(self, recipe: PartitionSpread[Storage], storage: Storage) -> SampleSet:
        return Spread(storage, recipe)

    def buckets(self, declared_set: DeclaredSet) -> int:
        buckets = declared_set.settings.get("buckets", _BUCKETS)
        return buckets if isinstance(buckets, int) else _BUCKETS

    def fewer_parts(self, declared_set: DeclaredSet) -> Iterator[tuple[str, Mapping[str, Any]]]:
        buckets = declared_set.settings.get("buckets")
        while isinstance(buckets, int) and buckets > 2:
            buckets = (buckets + 1) // 2
            yield f"use {buckets} buckets", {"buckets": buckets}

    def advice_on_parts(self, declared_set: DeclaredSet) -> str:
        return "Choose the bucket by fields that the query knows (by), or use fewer buckets."

    def code(self, declared_set: DeclaredSet, names: CodeNames) -> list[str]:
        factory = f"{names.set}_in"
        options = {name: repr(value) for name, value in _options(declared_set).items()}
        spread = call("PartitionSpread", "storage", text(declared_set.table), names.key, **options, factory=factory)
        return [
            f"def {factory}(account: Storage, table: str, key: Key) -> EntitySet[Storage]:",
            f"    return {call('EntitySet', 'account', 'table', 'key', **names.options)}",
            "",
            f"{names.set} = {spread}",
        ]


def _options(declared_set: DeclaredSet) -> dict[str, Any]:
    settings = declared_set.settings
    return {name: settings[name] for name in ("buckets", "by", "bucket") if name in settings}


class Spread(SampleSet):
    def __init__(self, storage: Storage, spread: PartitionSpread[Storage]) -> None:
        super().__init__(storage, spread.key)
        self.spread = spread
        self.inner = Plain(storage, spread.entity_set)
        self.row_key, self.needs_recipe = self.inner.key, self.inner.needs_recipe

    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        # The first write stores the settings of the buckets
        for first in rows[:1]:
            self.spread.insert(first)
        self.inner.load([self.spread.placed(fields) for fields in rows])

    def ask(self, ask: SampleCall) -> int:
        if ask.way == "get":
            return int(self.spread.get(ask.given) is not None)
        if ask.way not in ("range", "find"):
            return self.inner.ask(ask)
        return len(range_of(self.spread, ask, self.inner.entities.key))

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.spread.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        self.inner.update(self.spread.placed(fields), changes)

    def delete(self, fields: Mapping[str, Any]) -> None:
        self.inner.delete(self.spread.placed(fields))

    def process_messages(self) -> int:
        return self.inner.process_messages()
