"""A home of several rows for each entity: employees as wide entities, without derived data."""

from __future__ import annotations

from typing import Any, ClassVar

from compositions.homes import Home, ModelHome
from tablepatterns import WideEntity


class WideHome(Home):
    """Employees, each in several rows."""

    name = "WideEntity"
    derives: ClassVar[bool] = False

    def begin(self) -> None:
        options = {name: given for name, given in self.options(self.table).items() if name != "derived"}
        self.set: Any = WideEntity(self.storage, self.table, self.key, part_bytes=150, **options)

    def derived_of(self, entities: Any) -> tuple[Any, ...]:
        return ()


class ModelWide(ModelHome, WideHome):
    """Wide entities of a model."""

    name = "WideEntity with a model"
