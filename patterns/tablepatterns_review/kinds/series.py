"""Sets of data series: one entity for many points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tablepatterns.edm import Int64
from tablepatterns.entity_set.derived import Derived
from tablepatterns.errors import BadDesign
from tablepatterns.recipes.data_series import DataSeries
from tablepatterns.storage import Storage

from ..design.model import DeclaredSet, Write
from ..python_source import CodeNames, call, text
from .kind import SampleCall, SampleSet, SetKind, once, reject_parts

_POINTS: Final[Mapping[str, type]] = {"int": int, "Int64": Int64, "float": float, "bool": bool}
"""The types that the points of a data series may have, by name."""


class SeriesKind(SetKind[DataSeries[Storage, Any]]):
    pattern = "data_series"
    recipe = "DataSeries"
    has_unique_keys = True

    def settings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {("name" if key == "point_name" else key): value for key, value in values.items()}

    def make(self, account: Storage, declared_set: DeclaredSet, derived: Sequence[Derived]) -> DataSeries[Storage, Any]:
        reject_parts(declared_set, derived)
        settings: Mapping[str, Any] = declared_set.settings
        points, name, of = (settings.get(key) for key in ("points", "name", "of"))
        if points is None or name is None:
            rule = "it has a number of points and their name"
            raise BadDesign(self.pattern, dict(settings), rule, "give points and name")
        kind = _POINTS.get(str(of or "int"))
        if kind is None:
            raise BadDesign("of", of, "points cannot have this type", f"use one of {', '.join(_POINTS)}")
        split = bool(settings.get("split"))
        return DataSeries(
            account, declared_set.table, declared_set.key, points, prefix=name, value_type=kind, split=split
        )

    def sample(self, recipe: DataSeries[Storage, Any], storage: Storage) -> SampleSet:
        return Series(storage, recipe)

    def points(self, declared_set: DeclaredSet) -> int | None:
        points = declared_set.settings.get("points")
        return points if isinstance(points, int) else 0

    def write_call(self, write: Write) -> str | None:
        return None if write.operation == "delete" else "set(slot, value)"

    def code_type(self, declared_set: DeclaredSet, model: str | None) -> str:
        return f"DataSeries[Storage, {declared_set.settings['of']}]"

    def code(self, declared_set: DeclaredSet, names: CodeNames) -> list[str]:
        settings, table = declared_set.settings, text(declared_set.table)
        options = {"prefix": repr(settings["name"]), "value_type": str(settings["of"])}
        options |= {"split": "True"} if settings.get("split") else {}
        return [f"{names.set} = {call('DataSeries', 'storage', table, names.key, str(settings['points']), **options)}"]


class Series(SampleSet):
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
