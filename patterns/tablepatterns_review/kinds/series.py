"""Sets of data series: one entity for many points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tablepatterns.edm import Int64
from tablepatterns.entity_set.derived import Derived
from tablepatterns.errors import BadDesign
from tablepatterns.recipes.data_series import DataSeries
from tablepatterns.storage import Storage

from .kind import Plan, SampleCall, SampleSet, SetKind, once, reject_parts

if TYPE_CHECKING:
    from ..design.model import DeclaredSet, Write

POINTS: Final[Mapping[str, type]] = {"int": int, "Int64": Int64, "float": float, "bool": bool}
"""The types that the points of a data series may have, by name."""


class SeriesKind(SetKind[DataSeries[Storage, Any]]):
    """A `DataSeries`."""

    pattern = "data_series"
    has_unique_keys = True
    visibility = ("the last write of each point, None if it was never set", "", "")

    def make(self, account: Storage, plan: Plan, derived: Sequence[Derived]) -> DataSeries[Storage, Any]:
        reject_parts(plan, derived)
        points, name, of, split = (plan.settings.get(key) for key in ("points", "name", "of", "split"))
        if points is None or name is None:
            raise BadDesign(
                "data_series", dict(plan.settings), "it has a number of points and their name", "give points and name"
            )
        kind = POINTS.get(str(of or "int"))
        if kind is None:
            raise BadDesign("of", of, "points cannot have this type", f"use one of {', '.join(POINTS)}")
        return DataSeries(account, plan.table, plan.key, points, prefix=name, value_type=kind, split=bool(split))

    def sample(self, recipe: DataSeries[Storage, Any], storage: Storage) -> SampleSet:
        return Series(storage, recipe)

    def points(self, declared_set: DeclaredSet) -> int | None:
        points = declared_set.settings.get("points")
        return points if isinstance(points, int) else 0

    def write_call(self, write: Write) -> str | None:
        return None if write.operation == "delete" else "set(slot, value)"


class Series(SampleSet):
    """A set of data series."""

    def __init__(self, storage: Storage, series: DataSeries[Storage, Any]) -> None:
        super().__init__(storage, series.key)
        self.series = series

    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.make_table(self.series.table.name)
        points = {number: self.series.value_type(1) for number in range(self.series.points)}
        for fields in once(self.key, rows):
            self.series.set_many(points, **self.key_of(fields))

    def ask(self, ask: SampleCall) -> int:
        if ask.way == "get":
            values: list[Any] = self.series.read(ask.given)
            return int(any(item is not None for item in values))
        if ask.way == "range":
            return sum(1 for _ in self.series.range(ask.given))
        return self.raw(self.series.table.name, ask.where, ask.select)

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.series.set(0, self.series.value_type(1), **self.key_of(fields))

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        self.series.set(0, self.series.value_type(1), **self.key_of(fields))

    def delete(self, fields: Mapping[str, Any]) -> None:
        partition_key, row_key = self.key.format(self.key_of(fields))
        client: Any = self.storage.tables.get_table_client(self.series.table.name)
        client.delete_entity(partition_key, row_key)
