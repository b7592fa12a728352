"""Compare derived rows with their primary rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final
from uuid import UUID

from ..entity import Entity, write_ids_of
from ..errors import BadInput, OutcomeUnknown, UnrecognizedEntity, message_of
from ..key import Key
from ..recipe import Account
from ..retry import LOST_RACE
from ..sdk.operation import Operation
from ..sdk.table import Table
from .derived import INTENT_ID, TOMBSTONE, Derived, Keys, Primary, RowLayout, keys_of
from .placement import RowStore

OVERTAKEN: Final = (*LOST_RACE, OutcomeUnknown)
"""The errors of a write of a derived row that lost a race: the row must be read again."""

ABANDONED_AFTER: Final = timedelta(days=1)
"""The age at which a reservation is ignored: its message was never processed and is on the poison queue."""


def is_reserved(row: Entity, intent: UUID | None, now: datetime) -> bool:
    """Whether a row is a reservation made under another intent than the caller's, if the caller holds one."""
    made_under = row.get(INTENT_ID)
    if made_under is None or made_under == intent:
        return False
    return row.timestamp is None or now - row.timestamp < ABANDONED_AFTER


class Finding(Enum):
    """How a derived row compares with an entity."""

    RIGHT = "right"
    """The row is correct, or correctly absent."""
    MISSING = "missing"
    """The entity should have a row, and there is none."""
    STALE = "stale"
    """The row differs from the entity."""
    ORPHANED = "orphaned"
    """The row names an entity that does not exist or should not have it."""
    CONTESTED = "contested"
    """Another entity already has the row: two entities have the same key."""


@dataclass(frozen=True)
class Comparison:
    """The finding, and the write that corrects the row; None if it is correct or must not be changed."""

    finding: Finding
    operation: Operation | None = None


class DerivedRows:
    """The derived rows of one set, in all their tables and stores."""

    def __init__(
        self, account: Account, tables: Mapping[str, Table], table: Table, key: Key, derived: Collection[Derived]
    ) -> None:
        self._account = account
        self._tables = tables
        self.primaries = table
        self.key = key
        self.report: Callable[[UnrecognizedEntity], None] | None = None
        """Takes what a model does not recognize; None if the set has no model."""
        stores = {derived_data: derived_data.row_store(account) for derived_data in derived}
        self._stores = {derived_data: store for derived_data, store in stores.items() if store is not None}

    def table_of(self, derived: Derived) -> RowStore:
        return self._stores.get(derived) or self._tables[derived.table(self.primaries.name)]

    async def primary(self, row: Keys) -> Primary:
        stored_row = await self.primaries.get(*row)
        if stored_row is None or TOMBSTONE in stored_row:
            return Primary(self.key, row, None)
        return self.primary_of(stored_row)

    def can_derive(self, derived: Derived, primary: Primary) -> bool:
        """Whether rows can be derived from an entity; if not, report it."""
        try:
            primary.parts(derived)
        except BadInput as error:
            if self.report is None:
                raise
            text = f"{derived.name} cannot be derived from the entity {primary.row}: {message_of(error)}"
            self.report(UnrecognizedEntity(text, primary.row))
            return False
        return True

    def is_primary(self, row: Entity) -> bool:
        return RowLayout(self.key).fits(row)

    def primary_of(self, row: Entity) -> Primary:
        fields = dict(RowLayout(self.key).entity(row))
        return Primary(self.key, keys_of(row), fields, row.etag, write_ids_of(row))

    async def compare(
        self, derived: Derived, keys: Keys, row: Entity | None, primary: Primary, intent: UUID | None = None
    ) -> Comparison:
        """Compare a row with an entity. Cost: none, or 1 transaction if the row names another entity.

        A row that still belongs to another entity is left unchanged. A row is taken over if the entity that it names no
        longer has that key. A reservation is taken over if it is abandoned or was made under the caller's intent.
        """
        is_wanted = self.wants(derived, keys, primary)
        if row is not None and not derived.shares_rows:
            left_alone = await self._left_alone(derived, keys, row, primary, intent, is_wanted=is_wanted)
            if left_alone is not None:
                return Comparison(left_alone)
        operation = derived.repair_operation(keys, row, primary)
        if operation is None:
            return Comparison(Finding.RIGHT)
        if not is_wanted:
            return Comparison(Finding.ORPHANED, operation)
        return Comparison(Finding.MISSING if row is None else Finding.STALE, operation)

    def wants(self, derived: Derived, keys: Keys, primary: Primary) -> bool:
        return keys in primary.parts(derived)

    async def is_claimed(self, derived: Derived, keys: Keys, row: Entity) -> bool:
        """Whether the row belongs to the entity that it names; True for a row of another kind. Cost: 1 transaction."""
        owners = derived.primary_keys_of(self.key, row)
        return owners is None or any([self.wants(derived, keys, await self.primary(owner)) for owner in owners])

    async def _left_alone(
        self, derived: Derived, keys: Keys, row: Entity, primary: Primary, intent: UUID | None, *, is_wanted: bool
    ) -> Finding | None:
        """Return the finding if the row must not be written; None if it may be."""
        is_own = derived.primary_keys_of(self.key, row) == [primary.row]
        is_held = is_reserved(row, intent, self._account.now())
        if is_own:
            # Another writer of this entity has reserved the key, unless the entity already has it
            return Finding.RIGHT if is_held and not is_wanted else None
        if not is_wanted:
            return Finding.RIGHT
        return Finding.CONTESTED if is_held or await self.is_claimed(derived, keys, row) else None
