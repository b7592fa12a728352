"""Repair the derived rows of entities, and create those that are missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import uuid4

from ..entity_set.derived import Derived, Keys, Primary
from ..entity_set.entity_set import EntitySet
from ..entity_set.intents import Claim, Intent, Intents, Trace, shares
from ..entity_set.internals import derived_rows, intents_or_none
from ..entity_set.reconcile import OVERTAKEN
from ..errors import EntityAlreadyExists, EntityChanged, EntityNotFound, LimitExceeded, OutcomeUnknown
from ..limits import MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS
from ..rate_limit import Pool
from ..recipe import Account
from ..retry import check_retry_for, contended, overtaken_by
from ..sdk.operation import Operation


class Repairer:
    def __init__(self, entity_set: EntitySet[Account, Any], derived: Derived, pool: Pool, retry_for: float) -> None:
        check_retry_for(retry_for)
        self._account = entity_set.account
        self._rows = derived_rows(entity_set)
        self._derived = derived
        self._intents = intents_or_none(entity_set)
        self._pool = pool
        self._retry_for = retry_for

    async def repair(self, targets: Iterable[tuple[Primary, Sequence[Keys]]], *, are_absent: bool = False) -> None:
        """Make rows consistent with the entities as they are now.

        :param are_absent: whether to expect that the rows do not exist, and that the entities have not changed
        """
        claims = [
            (primary, Claim(primary.row, tuple(Trace(self._derived.name, keys) for keys in rows)))
            for primary, rows in targets
        ]
        if not self._derived.is_eventual:
            if are_absent and not self._derived.shares_rows:
                claims = await self._insert_missing(claims)
            await self._repair_in_partition([claim for _, claim in claims])
        elif self._intents is not None:
            primaries = {primary.row: primary for primary, _ in claims} if are_absent else {}
            for share in shares([claim for _, claim in claims], self._intents.kind):
                await self._repair_outside(self._intents, share, primaries)

    async def _repair_outside(
        self, intents: Intents, claims: Sequence[Claim], primaries: Mapping[Keys, Primary]
    ) -> None:
        """Repair rows outside the partition. An intent is sent first, so that a worker can finish after a crash."""
        await self._pool.pace.turn(len(claims))
        intent = Intent(uuid4(), tuple(claims))
        lease = await intents.send(intent)
        known_primaries = {
            claim.row: (primaries[claim.row], {} if self._derived.shares_rows else dict.fromkeys(claim.traces))
            for claim in claims
            if claim.row in primaries
        }
        await intents.reconcile_all(lease, intent, known_primaries, self._retry_for)
        await lease.complete()

    async def _insert_missing(self, claims: Iterable[tuple[Primary, Claim]]) -> list[tuple[Primary, Claim]]:
        """Insert rows that are likely missing, up to 100 per transaction; return the claims still to be repaired.

        Each transaction is conditional on the entities' ETags and on the rows being absent.
        """
        inserts = [(primary, claim, await self._inserts(primary, claim)) for primary, claim in claims]
        groups = list(_groups([insert for insert in inserts if insert[2]]))
        row_groups = await self._pool.gather(*map(self._insert_group, groups))
        inserted = {row for rows in row_groups for row in rows}
        return [(primary, claim) for primary, claim, _ in inserts if primary.row not in inserted]

    async def _inserts(self, primary: Primary, claim: Claim) -> list[Operation]:
        findings = [await self._rows.compare(self._derived, trace.keys, None, primary) for trace in claim.traces]
        operations = [finding.operation for finding in findings if finding.operation is not None]
        guard = _guard(primary)
        return [*guard, *operations] if guard and operations else []

    async def _insert_group(self, group: Sequence[_Inserts]) -> list[Keys]:
        """Insert the rows of several entities; return the entities whose rows were inserted."""
        await self._pool.pace.turn(len(group))
        pending_inserts = list(group)
        for _ in range(_ATTEMPTS):
            owners = [number for number, (_, _, operations) in enumerate(pending_inserts) for _ in operations]
            try:
                await self._rows.table_of(self._derived).submit(
                    *(operation for _, _, operations in pending_inserts for operation in operations)
                )
            except (EntityAlreadyExists, EntityChanged, EntityNotFound) as error:
                # Some rows may exist already: writers keep the rows of their entities consistent
                del pending_inserts[owners[error.index]]
            except (OutcomeUnknown, LimitExceeded):
                break
            else:
                return [primary.row for primary, _, _ in pending_inserts]
            if not pending_inserts:
                break
        return []

    async def _repair_in_partition(self, claims: Iterable[Claim]) -> None:
        groups = defaultdict[object, list[Claim]](list)
        for claim in claims:
            # Entities of a partition may share rows, and would conflict with each other
            groups[claim.row[0] if self._derived.shares_rows else claim.row].append(claim)
        await self._pool.gather(*map(self._repair_all, groups.values()))

    async def _repair_all(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            await self._pool.pace.turn()
            await contended(self._account, partial(self._repair_one, claim), self._retry_for)

    async def _repair_one(self, claim: Claim) -> None:
        primary = await self._rows.primary(claim.row)
        table = self._rows.table_of(self._derived)
        findings = [
            await self._rows.compare(self._derived, trace.keys, await table.get(*trace.keys), primary)
            for trace in claim.traces
        ]
        operations = [finding.operation for finding in findings if finding.operation is not None]
        if not operations:
            return
        with overtaken_by(*OVERTAKEN):
            await table.submit(*_guard(primary), *operations)


def _guard(primary: Primary) -> list[Operation]:
    """Return a write that does not change the primary row, and fails if the entity has changed."""
    if primary.fields is None or primary.etag is None:
        return []
    partition_key, row_key = primary.row
    row = {"PartitionKey": partition_key, "RowKey": row_key}
    return [Operation.merge(row, primary.etag, write_ids=primary.write_ids)]


_ATTEMPTS: Final = 4
"""How often a group is sent, each time without the entity that caused the last rejection."""

_Inserts: TypeAlias = tuple[Primary, Claim, Sequence[Operation]]
"""An entity, its claim, and the writes that insert its rows."""


def _groups(inserts: Iterable[_Inserts]) -> Iterator[list[_Inserts]]:
    """Split inserts into groups that each fit into one transaction."""
    group: list[_Inserts] = []
    keys: set[Keys] = set()
    size = 0
    for insert in inserts:
        row_keys = [operation.key for operation in insert[2]]
        bytes_of = sum(operation.payload_bound for operation in insert[2])
        is_same = not group or group[0][0].row[0] == insert[0].row[0]
        has_room = len(keys) + len(row_keys) <= MAX_TRANSACTION_OPERATIONS and size + bytes_of < MAX_TRANSACTION_BYTES
        if group and not (is_same and has_room and keys.isdisjoint(row_keys)):
            yield group
            group, size = [], 0
            keys = set[Keys]()
        group.append(insert)
        keys.update(row_keys)
        size += bytes_of
    if group:
        yield group
