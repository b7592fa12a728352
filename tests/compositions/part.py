"""A part: one of the two features of a composition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from compositions.homes import Home
    from compositions.life import Staff
    from tablepatterns.entity_set.derived import Derived
    from tablepatterns.entity_set.mapping import PropertyMapping

Fields = dict[str, Any]


class Part:
    """A feature of a set. By default it adds nothing."""

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
        """Check that the part's own queries find exactly these employees."""

    async def acted(self, staff: Staff, those: list[Fields]) -> bool:
        """Run the part's own operation, which changes no employee, and return whether it has one."""
        return False

    async def inserted(self, staff: Staff, those: list[Fields]) -> bool:
        """Insert them, if the part has a way of its own."""
        return False

    async def deleted(self, staff: Staff, those: list[Fields]) -> bool:
        """Delete them, if the part has a way of its own."""
        return False

    async def gone(self, staff: Staff) -> None:
        """Check that nothing is left but what the part keeps permanently."""

    def keeps(self, row: Any) -> bool:
        """Whether a row is permanent."""
        return False
