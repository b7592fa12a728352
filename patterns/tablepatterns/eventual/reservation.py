"""Reservation: a row that holds the key of a unique index for an entity which is about to be written."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ..contention import Overtaken, contended
from ..deriving.derived import INTENT_ID, Index, Keys, Primary
from ..entity import Entity
from ..errors import DuplicateIndexValue, EntityAlreadyExists, EntityChanged, EntityNotFound, OutcomeUnknown
from ..words.operation import ANY, Operation

if TYPE_CHECKING:
    from ..recipe import Account
    from ..working.lease import Lease
    from .rows import DerivedRows

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
        await lease.keep()
        try:
            (written,) = await table.submit(operation)
        except OVERTAKEN as error:
            row = await table.get(*keys)
            if row is not None:
                await _check_free(account, rows, index, keys, row, primary, intent)
            operation = Operation.insert(wanted) if row is None else Operation.replace(wanted, row.etag or ANY)
            raise Overtaken from error
        row = Entity(wanted)
        row.be(written)
        return row

    return await contended(account, attempt, retry_for)


async def _check_free(
    account: Account, rows: DerivedRows, index: Index, keys: Keys, row: Entity, primary: Primary, intent: UUID
) -> None:
    is_own = index.owners(rows.key, row) == [primary.row]
    # One intent may name several entities, of which only one can have the key
    is_reserved_now = is_reserved(row, intent if is_own else None, account.now())
    if is_own and is_reserved_now:
        raise EntityChanged(f"another writer is about to change the entity {primary.row}; read it again and retry")
    if not is_own and (is_reserved_now or await rows.is_claimed(index, keys, row)):
        text = f"{index.name}: another entity has the index key {keys}; nothing has changed; choose another value"
        raise DuplicateIndexValue(text)
