"""A part: one of two that are put together. What it does not say, the other does, or nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from compositions.homes import Home
    from compositions.life import Staff
    from tablepatterns.entity_set.derived import Derived
    from tablepatterns.entity_set.mapping import PropertyMapping

Fields = dict[str, Any]


class Part:
    """Nothing, unless a part says otherwise."""

    name: ClassVar[str]
    is_eventual: ClassVar[bool] = False
    """Whether what it derives is shared by all partitions of a table."""
    is_verified: ClassVar[bool] = True
    """Whether `verify` can tell whether what it derives is right."""

    def derived(self, home: type[Home], table: str) -> list[Derived]:
        """Return what a set of that table derives."""
        return []

    def mappings(self, table: str) -> list[PropertyMapping]:
        """Return how a set of that table stores fields."""
        return []

    async def check(self, staff: Staff, those: list[Fields]) -> None:
        """Find those who are there, and nobody else, in every way that the part offers."""

    async def acted(self, staff: Staff, those: list[Fields]) -> bool:
        """Do what the part is there for, and say whether there was something; all are as they were afterwards."""
        return False

    async def inserted(self, staff: Staff, those: list[Fields]) -> bool:
        """Insert them, if the part has a way of its own."""
        return False

    async def deleted(self, staff: Staff, those: list[Fields]) -> bool:
        """Delete them, if the part has a way of its own."""
        return False

    async def gone(self, staff: Staff) -> None:
        """Check that nothing is left of anybody but what the part keeps for ever."""

    def keeps(self, row: Any) -> bool:
        """Whether a row is there for good."""
        return False
