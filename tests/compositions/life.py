"""The life of two employees with two parts: insert, read, change, delete, clean up."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from compositions.fields import changed, employee, shown
from compositions.homes import Home
from compositions.part import Fields, Part
from tablepatterns import EntitySet, Key
from tablepatterns.jobs import verify
from tablepatterns.recipe import table_names

JONES, SMITH = employee(3), employee(5)
NEAR = "empid_{Near:06d}_near"
"""The RowKey of rows of another set in the partitions of the employees."""


class Staff:
    """Employees in a home, with two parts.

    :param storage: the account
    :param table: the prefix of all table names
    :param parts: the two parts; one of them may be the home
    """

    def __init__(self, storage: Any, table: str, parts: Iterable[type[Part]]) -> None:
        self.storage, self.table, self._kinds = storage, table, tuple(parts)
        self._derived: dict[str, list[Any]] = {}
        others = [kind() for kind in self._kinds if not issubclass(kind, Home)]
        homes = [kind for kind in self._kinds if issubclass(kind, Home)] or [Home]

        def options(name: str) -> dict[str, Any]:
            # A set finds rows by its own derived objects, and the set of a period is created at each use
            if name not in self._derived:
                self._derived[name] = [each for part in others for each in part.derived(homes[0], name)]
            mappings = [each for part in others for each in part.mappings(name)]
            return {"derived": self._derived[name], "mappings": mappings}

        self.home = homes[0](storage, table, options)
        self.parts = [*others, self.home]

    def like(self, table: str, left_out: Part) -> Staff:
        """Return other employees with the same parts except one."""
        return Staff(self.storage, table, [kind for kind in self._kinds if kind is not type(left_out)])

    def sets(self) -> list[Any]:
        """Return the sets that the two employees are in."""
        return list({(each := self.home.set_of(fields)).table.name: each for fields in (JONES, SMITH)}.values())

    def groups(self, those: list[Fields]) -> list[list[Fields]]:
        """Group the employees by partition, in the order of their keys."""
        found: dict[str, list[Fields]] = {}
        for each in sorted(those, key=lambda fields: fields["EmployeeId"]):
            found.setdefault(f"{self.home.set_of(each).table.name} {self.home.group(each)}", []).append(each)
        return list(found.values())

    def departments(self, those: list[Fields]) -> list[list[Fields]]:
        """Group the employees by department, in the order of their numbers."""
        in_order = sorted(those, key=lambda fields: (fields["Department"], fields["EmployeeId"]))
        return [list(together) for _, together in groupby(in_order, key=lambda fields: fields["Department"])]

    def sharing(self, part: Any, group: list[Fields], those: list[Fields]) -> list[Fields]:
        """Group the employees that share the derived rows of a part: by partition, or by table and department."""
        if not part.is_eventual:
            return group
        table, department = self.home.set_of(group[0]).table.name, group[0]["Department"]
        return [
            each for each in those if each["Department"] == department and self.home.set_of(each).table.name == table
        ]

    async def insert(self, those: list[Fields]) -> None:
        for part in self.parts:
            if await part.inserted(self, those):
                return
        for each in those:
            await self.home.insert(each)

    async def change(self, before: Fields, after: Fields) -> None:
        await self.home.replace(await self.home.get(before), after)

    async def delete(self, those: list[Fields]) -> None:
        for part in self.parts:
            if await part.deleted(self, those):
                return
        for each in those:
            await self.home.delete(await self.home.get(each), each)

    async def right(self, those: list[Fields]) -> None:
        """Check that exactly these employees are stored, and exactly their derived data."""
        for each in (JONES, SMITH):
            (expected,) = [other for other in those if self.home.key_of(other) == self.home.key_of(each)] or [None]
            found = await self.home.get(each)
            assert (found and self.home.shown(found)) == expected
        for part in self.parts:
            await part.check(self, those)
        await self.counted(those)

    async def accompany(self) -> None:
        """Insert rows of another set into the partitions of the employees."""
        for group in self.groups([JONES, SMITH]):
            entities = self.home.set_of(group[0])
            others = EntitySet(self.storage, entities.table.name, Key(self.home.partition, NEAR))
            for number in (0, 4, 300_000):
                await others.insert(self.home.group(group[0]) | {"Near": number})

    async def counted(self, those: list[Fields]) -> None:
        """Read fewer employees than there are from each set, and more."""
        for group in self.groups(those):
            entities, asked = self.home.set_of(group[0]), self.home.group(group[0])
            if not isinstance(entities, EntitySet):
                continue
            expected = self.home.in_order(group)
            for count in range(len(group) + 2):
                assert [shown(each) for each in await entities.take(count, asked)] == expected[:count]
            page = await entities.page(asked, size=1)
            assert [shown(each) for each in page.items] == expected[:1]

    async def verified(self) -> None:
        """Check that every set verifies its derived data."""
        unverified = {part.name for part in self.parts if not part.is_verified}
        for entities in self.sets():
            for derived in (each for each in self.home.derived_of(entities) if each.name not in unverified):
                assert (await verify(entities, derived)).is_clean

    async def rows(self) -> list[Any]:
        """Return all rows of all tables."""
        names = [name async for name in table_names(self.storage, self.table, f"{self.table}~")]
        return [row for name in names async for row in self.storage.table(name).query(None)]

    async def is_empty(self) -> None:
        """Check that no rows, messages or blobs are left."""
        rows = [row for row in await self.rows() if not row.row_key.endswith("_near")]
        left = [row for row in rows if not any(part.keeps(row) for part in self.parts)]
        assert left == []
        for part in self.parts:
            await part.gone(self)


async def live(storage: Any, table: str, parts: Iterable[type[Part]]) -> None:
    """Insert, change, verify and delete two employees with these parts."""
    staff = Staff(storage, table, parts)
    await staff.accompany()
    await staff.insert([JONES, SMITH])
    await staff.right([JONES, SMITH])
    for part in staff.parts:
        if await part.acted(staff, [JONES, SMITH]):
            await staff.right([JONES, SMITH])
    after = changed(JONES)
    await staff.change(JONES, after)
    await staff.right([after, SMITH])
    await staff.verified()
    await staff.delete([after, SMITH])
    await staff.right([])
    await staff.verified()
    await staff.is_empty()
