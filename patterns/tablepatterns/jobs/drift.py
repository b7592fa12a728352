"""Compare derived rows with their entities, and report the differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..entity import Entity
from ..entity_set.derived import Derived, Keys, Primary, keys_of
from ..entity_set.reconcile import DerivedRows, Finding
from .walk import WalkReport


@dataclass(frozen=True)
class Drift:
    """A derived row that is inconsistent with an entity.

    :param finding: what is wrong with the row
    :param derived: the name of the derived data
    :param row: the keys of the derived row
    :param owner: the keys of the entity's primary row
    """

    finding: Finding
    derived: str
    row: Keys
    owner: Keys


@dataclass(frozen=True)
class Report(WalkReport):
    """The progress or the result of one call; earlier calls are not included.

    :param entities: how many entities were checked
    :param rows: how many derived rows were checked for orphans
    :param drifts: the inconsistent rows
    :param token: the token to `resume` from, also in another process; None at the end
    """

    entities: int = 0
    rows: int = 0
    drifts: tuple[Drift, ...] = ()
    token: str | None = None

    @property
    def is_clean(self) -> bool:
        """Whether no inconsistent row was found."""
        return not self.drifts

    @property
    def repairable(self) -> list[Drift]:
        """The inconsistent rows that `repair` can correct; it leaves those that two entities claim."""
        return [drift for drift in self.drifts if drift.finding is not Finding.CONTESTED]

    def of(self, finding: Finding) -> list[Drift]:
        """Return the inconsistent rows of one kind."""
        return [drift for drift in self.drifts if drift.finding is finding]


ProgressCallback: TypeAlias = Callable[[Report], None]
"""A function that is called after each page with a report of the work so far."""


_LOOKS: Final = 3
"""How often an entity that keeps changing is checked again; its writers keep its rows consistent."""


class Inspector:
    """Compares one kind of derived data with its entities."""

    def __init__(self, rows: DerivedRows, derived: Derived) -> None:
        self._rows = rows
        self._derived = derived

    def entities(self, page: Iterable[Entity]) -> dict[Keys, Primary]:
        """Return the entities whose primary rows are among these rows, by their keys."""
        primaries = [self._rows.primary_of(row) for row in page if self._rows.is_primary(row)]
        return {primary.row: primary for primary in primaries if self._rows.can_derive(self._derived, primary)}

    def keys(self, primary: Primary) -> list[Keys]:
        return [] if primary.fields is None else self._derived.keys(self._rows.key, primary.fields)

    async def lacks(self, primary: Primary, known_rows: Mapping[Keys, Entity]) -> list[Drift]:
        """Return the inconsistent rows of an entity. Cost: 1 transaction for each row that is not in `known_rows`."""
        drifts: list[Drift | None] = []
        for keys in self.keys(primary):
            row = known_rows.get(keys) or await self._rows.table_of(self._derived).get(*keys)
            comparison = await self._rows.compare(self._derived, keys, row, primary)
            if comparison.finding is not Finding.RIGHT:
                drifts.append(await self.drift(keys, primary.row))
        return [drift for drift in drifts if drift is not None]

    async def orphans(self, row: Entity, known_primaries: Mapping[Keys, Primary]) -> list[Drift] | None:
        """Return the orphaned parts of a row; None if the row is not of this kind.

        Cost: 1 transaction for each entity that is not in `known_primaries`.
        """
        owners = self._derived.primary_keys_of(self._rows.key, row)
        if owners is None:
            return None
        keys = keys_of(row)
        drifts: list[Drift | None] = []
        for owner in owners:
            primary = known_primaries.get(owner) or await self._rows.primary(owner)
            if not self._rows.wants(self._derived, keys, primary):
                drifts.append(await self.drift(keys, owner))
        return [drift for drift in drifts if drift is not None]

    async def drift(self, keys: Keys, owner: Keys) -> Drift | None:
        """Compare a row with an entity, and retry if the entity changes. Cost: 3 transactions per attempt."""
        table = self._rows.table_of(self._derived)
        before = await self._rows.primary(owner)
        for _ in range(_LOOKS):
            comparison = await self._rows.compare(self._derived, keys, await table.get(*keys), before)
            after = await self._rows.primary(owner)
            if after.etag == before.etag:
                is_right = comparison.finding is Finding.RIGHT
                return None if is_right else Drift(comparison.finding, self._derived.name, keys, owner)
            before = after
        return None
