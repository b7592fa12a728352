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
from .named_table import named_like
from .row_store import RowStore

if TYPE_CHECKING:
    from ..messages.lease import Lease
    from ..recipe import Account

OVERTAKEN: Final = (EntityAlreadyExists, EntityChanged, EntityNotFound, OutcomeUnknown)
"""The errors of a write of a derived row if another writer was faster: the row must be read again."""

ABANDONED_AFTER: Final = timedelta(days=1)
"""The age from which a reservation is ignored: no worker processed its message, which is on the poison queue."""


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
    """Reserve a key while the primary row is written, and return the row that reserves it. Cost: 1 transaction.

    If the row exists, 1 more to read it, and 1 more to read the entity that it names.

    :param primary: the entity as it will be
    :param intent: the id of the intent of the reservation; the process that holds its message may remove it
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
    """How a derived row compares with an entity."""

    RIGHT = "right"
    """The row is correct; or there is none, and there should be none."""
    MISSING = "missing"
    """The entity should have a row, and there is none."""
    STALE = "stale"
    """The entity's part of the row differs from the entity."""
    ORPHANED = "orphaned"
    """The row names an entity that should not have it."""
    CONTESTED = "contested"
    """Another entity rightly has the row: two entities have the same key."""


@dataclass(frozen=True)
class Comparison:
    """The comparison, and the write that makes the row correct; None if it is, or if it must not be changed."""

    finding: Finding
    operation: Operation | None = None


class DerivedRows:
    """The derived rows of one set, in all their tables and stores.

    :param account: where the tables are
    :param table: the table of the primary rows
    :param key: the key of the primary rows
    :param derived: the derived data of the set
    """

    def __init__(self, account: Account, table: Table, key: Key, derived: Collection[Derived]) -> None:
        self._account = account
        self.primaries = table
        self.key = key
        names = {each.table(table.name) for each in derived} - {table.name}
        self._tables = {table.name: table} | {name: named_like(table, account.table(name)) for name in names}
        stores = {each: each.row_store(account) for each in derived}
        self._stores = {each: store for each, store in stores.items() if store is not None}

    def table(self, name: str) -> Table:
        """Return one of the tables with rows of the set."""
        return self._tables[name]

    def table_of(self, derived: Derived) -> RowStore:
        """Return the table, or the other store, of the rows of a kind."""
        return self._stores.get(derived) or self._tables[derived.table(self.primaries.name)]

    async def primary(self, row: Keys) -> Primary:
        """Return a primary row as it is now. Cost: 1 transaction."""
        found = await self.primaries.get(*row)
        return Primary(self.key, row, None) if found is None else self.primary_of(found)

    def is_primary(self, row: Entity) -> bool:
        """Whether a row of the table is a primary row of the set."""
        return RowLayout(self.key).fits(row)

    def primary_of(self, row: Entity) -> Primary:
        """Return a primary row that was read."""
        fields = dict(RowLayout(self.key).entity(row))
        return Primary(self.key, (row["PartitionKey"], row["RowKey"]), fields, row.etag, write_ids_of(row))

    async def compare(
        self, derived: Derived, keys: Keys, row: Entity | None, primary: Primary, intent: UUID | None = None
    ) -> Comparison:
        """Compare a row with an entity. Cost: none, or 1 transaction if the row names another entity.

        A row that another entity rightly has is not changed. A row is taken over if the entity that it names no longer
        has it, and a reservation if it is abandoned or was made under the caller's intent.

        :param row: the stored row
        :param primary: the entity as it is now
        :param intent: the id of the intent that the caller holds
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
        """Whether an entity should have a part in a row."""
        return keys in primary.parts(derived)

    async def is_claimed(self, derived: Derived, keys: Keys, row: Entity) -> bool:
        """Whether the entity that a row names rightly has it. Cost: 1 transaction.

        A row of another kind counts as rightly owned.
        """
        owners = derived.primary_keys_of(self.key, row)
        return owners is None or any([self.wants(derived, keys, await self.primary(owner)) for owner in owners])

    async def _left_alone(
        self, derived: Derived, keys: Keys, row: Entity, primary: Primary, intent: UUID | None, *, is_wanted: bool
    ) -> Finding | None:
        """Return the finding for a row that must not be written; None if it may be."""
        is_own = derived.primary_keys_of(self.key, row) == [primary.row]
        is_held = is_reserved(row, intent if is_own else None, self._account.now())
        if is_own:
            # Another writer of this entity is about to need it, unless the entity has it already
            return Finding.RIGHT if is_held and not is_wanted else None
        if not is_wanted:
            return Finding.RIGHT
        return Finding.CONTESTED if is_held or await self.is_claimed(derived, keys, row) else None
