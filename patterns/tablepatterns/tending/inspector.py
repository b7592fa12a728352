"""Inspector: finds derived rows that are out of line, and looks twice before it says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..deriving.derived import Derived, Keys, Primary
from ..entity import Entity
from ..eventual.rows import DerivedRows, Finding
from .report import Drift

_LOOKS: Final = 3
"""How often an entity is looked at that changes in between: whoever changes it keeps its rows right."""


class Inspector:
    """Looks through one kind of derived data.

    :param rows: the derived rows of the set
    :param derived: the kind
    """

    def __init__(self, rows: DerivedRows, derived: Derived) -> None:
        self._rows = rows
        self._derived = derived

    def keys(self, primary: Primary) -> list[Keys]:
        """Return the keys of the rows that an entity has a part in."""
        return [] if primary.fields is None else self._derived.keys(self._rows.key, primary.fields)

    async def lacks(self, primary: Primary, known: Mapping[Keys, Entity]) -> list[Drift]:
        """Return what an entity's rows lack. Cost: 1 transaction for each row that is not known to be right.

        :param primary: the entity as it was read
        :param known: rows of the same page, by their keys
        """
        drifts = [
            await self.drift(keys, primary.row)
            for keys in self.keys(primary)
            if not await self.is_right(keys, primary, known.get(keys))
        ]
        return [drift for drift in drifts if drift is not None]

    async def is_right(self, keys: Keys, primary: Primary, known: Entity | None) -> bool:
        """Whether a row is as an entity says. Cost: none, or 1 transaction where the row is not known."""
        row = known or await self._rows.table_of(self._derived).get(*keys)
        look = await self._rows.look(self._derived, keys, row, primary)
        return look.finding is Finding.RIGHT

    async def orphans(self, row: Entity, known: Mapping[Keys, Primary]) -> list[Drift] | None:
        """Return the parts of a row that follow from no entity any more; None if the row is not of this kind.

        Cost: 1 transaction for each entity that is not known.

        :param row: any row of the table
        :param known: the entities of the same page, by the keys of their primary rows
        """
        owners = self._derived.owners(self._rows.key, row)
        if owners is None:
            return None
        keys = (row["PartitionKey"], row["RowKey"])
        drifts: list[Drift | None] = []
        for owner in owners:
            primary = known.get(owner) or await self._rows.primary(owner)
            if not self._rows.wants(self._derived, keys, primary):
                drifts.append(await self.drift(keys, owner))
        return [drift for drift in drifts if drift is not None]

    async def drift(self, keys: Keys, owner: Keys) -> Drift | None:
        """Look at a row and an entity that does not move meanwhile. Cost: 3 transactions, more while it moves."""
        table = self._rows.table_of(self._derived)
        before = await self._rows.primary(owner)
        for _ in range(_LOOKS):
            look = await self._rows.look(self._derived, keys, await table.get(*keys), before)
            after = await self._rows.primary(owner)
            if after.etag == before.etag:
                is_right = look.finding is Finding.RIGHT
                return None if is_right else Drift(look.finding, self._derived.name, keys, owner)
            before = after
        return None
