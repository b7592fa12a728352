"""A home of many rows: employees as wide entities, from which nothing is derived."""

from __future__ import annotations

from typing import Any, ClassVar

from compositions.homes import Home
from tablepatterns import WideEntity


class WideHome(Home):
    """Employees, each in several rows."""

    name = "WideEntity"
    derives: ClassVar[bool] = False

    def begin(self) -> None:
        mappings = self.options(self.table)["mappings"]
        self.set: Any = WideEntity(self.storage, self.table, self.key, mappings=mappings, part_bytes=150)

    def derived_of(self, entities: Any) -> tuple[Any, ...]:
        return ()
