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
    """Whether all partitions of a table share its derived rows."""
    is_verified: ClassVar[bool] = True
    """Whether `verify` can check its derived data."""

    def derived(self, home: type[Home], table: str) -> list[Derived]:
        """Return the derived data of a set of this table."""
        return []

    def mappings(self, table: str) -> list[PropertyMapping]:
        """Return the mappings of a set of this table."""
        return []

    async def check(self, staff: Staff, those: list[Fields]) -> None:
        """Check that the part's own queries find exactly these employees."""

    async def acted(self, staff: Staff, those: list[Fields]) -> bool:
        """Run the part's own operation, which changes no employee, and return whether it has one."""
        return False

    async def inserted(self, staff: Staff, those: list[Fields]) -> bool:
        """Insert the employees, if the part has its own operation for it."""
        return False

    async def deleted(self, staff: Staff, those: list[Fields]) -> bool:
        """Delete the employees, if the part has its own operation for it."""
        return False

    async def gone(self, staff: Staff) -> None:
        """Check that nothing is left except permanent rows of the part."""

    def keeps(self, row: Any) -> bool:
        """Whether a row is permanent."""
        return False
