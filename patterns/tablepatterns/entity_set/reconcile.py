"""Bring derived rows outside the partition up to date with the primary row, including unique-key reservations."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ..entity import Entity, identify, write_ids_of
from ..errors import DuplicateIndexValue, EntityAlreadyExists, EntityChanged, EntityNotFound, OutcomeUnknown
from ..key import Key
from ..recipe import Account
from ..retry import Overtaken, contended
from ..sdk.operation import ANY, Operation
from ..sdk.table import Table
from .derived import INTENT_ID, Derived, Index, Keys, Primary, RowLayout
from .row_store import RowStore

if TYPE_CHECKING:
    from ..messages.lease import Lease
    from ..recipe import Account

OVERTAKEN: Final = (EntityAlreadyExists, EntityChanged, EntityNotFound, OutcomeUnknown)
"""What a write of a derived row is refused with when another was faster: what is there now must be looked at."""

ABANDONED_AFTER: Final = timedelta(days=1)
"""The age at which a reservation counts no more: its message has found no worker, and has gone to poison."""


def is_reserved(row: Entity, intent: UUID | None, now: datetime) -> bool:
    """Whether a row is a reservation that was made under another intent than the caller's own.

    :param intent: the id of the intent that the caller holds, if any
    :param now: the time by the account's clock
    """
    made_under = row.get(INTENT_ID)
    if made_under is None or made_under == intent:
        return False
    return row.timestamp is None or now - row.timestamp < ABANDONED_AFTER


async def reserve(
    account: Account,
    rows: DerivedRows,
    index: Index,
    keys: Keys,
    primary: Primary,
    intent: UUID,
    lease: Lease,
    retry_for: float,
) -> Entity:
    """Make sure that no other entity gets the key while the primary row is written. Cost: 1 transaction.

    Where the row exists, 1 more to read it, and 1 more to ask the entity that it says it follows from. Returns the
    row as it is then.

    :param primary: the entity as it shall be
    :param intent: the id of the intent under which the reservation is made; whoever holds it may remove it
    :param lease: the message of the intent
    :param retry_for: for how many seconds to retry while others write the row
    :raises DuplicateIndexValue: another entity has the key, or is about to
    :raises EntityChanged: another writer of the same entity is about to give it this key
    """
    table = rows.table_of(index)
    wanted = {**index.reservation(primary), INTENT_ID: intent}
    operation = Operation.insert(wanted)

    async def attempt() -> Entity:
        nonlocal operation
        await lease.renew_if_due()
        try:
            (written,) = await table.submit(operation)
        except OVERTAKEN as error:
            row = await table.get(*keys)
            if row is not None:
                await _check_free(account, rows, index, keys, row, primary, intent)
            operation = Operation.insert(wanted) if row is None else Operation.replace(wanted, row.etag or ANY)
            raise Overtaken from error
        row = Entity(wanted)
        identify(row, written)
        return row

    return await contended(account, attempt, retry_for)


async def _check_free(
    account: Account, rows: DerivedRows, index: Index, keys: Keys, row: Entity, primary: Primary, intent: UUID
) -> None:
    is_own = index.primary_keys_of(rows.key, row) == [primary.row]
    # One intent may name several entities, of which only one can have the key
    is_reserved_now = is_reserved(row, intent if is_own else None, account.now())
    if is_own and is_reserved_now:
        raise EntityChanged(f"another writer is about to change the entity {primary.row}; read it again and retry")
    if not is_own and (is_reserved_now or await rows.is_claimed(index, keys, row)):
        text = f"{index.name}: another entity has the index key {keys}; nothing has changed; choose another value"
        raise DuplicateIndexValue(text)


class Finding(Enum):
    """How a derived row stands to an entity."""

    RIGHT = "right"
    """It is as the entity says; or there is none, and there shall be none."""
    MISSING = "missing"
    """The entity shall have a row there, and there is none."""
    STALE = "stale"
    """The entity's part of the row is not what the entity says."""
    ORPHANED = "orphaned"
    """The row says that it follows from the entity, which says nothing of it."""
    CONTESTED = "contested"
    """Another entity has the row, and rightly so: two entities have the same key there."""


@dataclass(frozen=True)
class Look:
    """What was found, and the write that brings it in line; None where nothing can or must be done."""

    finding: Finding
    operation: Operation | None = None


class DerivedRows:
    """The rows that follow from the entities of one set, wherever they lie.

    :param account: where the tables are
    :param table: the table of the primary rows
    :param key: the key of the primary rows
    :param derived: what the set derives
    """

    def __init__(self, account: Account, table: Table, key: Key, derived: Collection[Derived]) -> None:
        self._account = account
        self.primaries = table
        self.key = key
        names = {each.table(table.name) for each in derived} - {table.name}
        self._tables = {table.name: table} | {name: account.table(name) for name in names}
        stores = {each: each.row_store(account) for each in derived}
        self._stores = {each: store for each, store in stores.items() if store is not None}

    def table(self, name: str) -> Table:
        """Return a table that rows of the set are in."""
        return self._tables[name]

    def table_of(self, derived: Derived) -> RowStore:
        """Return the table that the rows of a kind are in, or what they are in else."""
        return self._stores.get(derived) or self._tables[derived.table(self.primaries.name)]

    async def primary(self, row: Keys) -> Primary:
        """Return a primary row as it is now. Cost: 1 transaction."""
        found = await self.primaries.get(*row)
        return Primary(self.key, row, None) if found is None else self.primary_of(found)

    def is_primary(self, row: Entity) -> bool:
        """Whether a row of the table is a primary row of the set."""
        return RowLayout(self.key).fits(row)

    def primary_of(self, row: Entity) -> Primary:
        """Return a row that was read as the primary row that it is."""
        fields = dict(RowLayout(self.key).entity(row))
        return Primary(self.key, (row["PartitionKey"], row["RowKey"]), fields, row.etag, write_ids_of(row))

    async def look(
        self, derived: Derived, keys: Keys, row: Entity | None, primary: Primary, intent: UUID | None = None
    ) -> Look:
        """Tell how a row stands to an entity. Cost: none, or 1 transaction where the row is another entity's.

        A row that another entity rightly has is left alone; one that its owner has left is taken over. So is a
        reservation, if it is long abandoned, or was made under the intent that the caller holds.

        :param row: what is stored under the keys
        :param primary: the entity as it is now
        :param intent: the id of the intent that the caller holds
        """
        is_wanted = self.wants(derived, keys, primary)
        if row is not None and not derived.shares_rows:
            left_alone = await self._left_alone(derived, keys, row, primary, intent, is_wanted=is_wanted)
            if left_alone is not None:
                return Look(left_alone)
        operation = derived.repair_operation(keys, row, primary)
        if operation is None:
            return Look(Finding.RIGHT)
        if not is_wanted:
            return Look(Finding.ORPHANED, operation)
        return Look(Finding.MISSING if row is None else Finding.STALE, operation)

    def wants(self, derived: Derived, keys: Keys, primary: Primary) -> bool:
        """Whether an entity shall have a part in a row."""
        return keys in primary.parts(derived)

    async def is_claimed(self, derived: Derived, keys: Keys, row: Entity) -> bool:
        """Whether a row is rightly that of the entity which it says it follows from. Cost: 1 transaction.

        A row of another kind has an owner that is not known here, who is taken to be right.
        """
        owners = derived.primary_keys_of(self.key, row)
        return owners is None or any([self.wants(derived, keys, await self.primary(owner)) for owner in owners])

    async def _left_alone(
        self, derived: Derived, keys: Keys, row: Entity, primary: Primary, intent: UUID | None, *, is_wanted: bool
    ) -> Finding | None:
        """Return what there is to say of a row that must not be written; None if it may be."""
        is_own = derived.primary_keys_of(self.key, row) == [primary.row]
        is_held = is_reserved(row, intent if is_own else None, self._account.now())
        if is_own:
            # Another writer of this entity is about to need it, unless the entity says so already
            return Finding.RIGHT if is_held and not is_wanted else None
        if not is_wanted:
            return Finding.RIGHT
        return Finding.CONTESTED if is_held or await self.is_claimed(derived, keys, row) else None
