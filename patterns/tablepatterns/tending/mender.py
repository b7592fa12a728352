"""Mender: brings derived rows in line, by the same rules as writers do, so that these may go on meanwhile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from ..contention import Overtaken, contended
from ..deriving.derived import Derived, Keys, Primary
from ..eventual.claim import Claim, Intent, Trace, shares
from ..eventual.intents import Intents
from ..eventual.reservation import OVERTAKEN
from ..eventual.rows import DerivedRows
from ..pace import Pace
from ..recipe import Account
from ..words.operation import Operation


class Mender:
    """Mends one kind of derived data.

    :param account: whose clock and whose threads or tasks
    :param rows: the derived rows of the set
    :param derived: the kind
    :param intents: what announces the work, where the rows lie outside the primary's partition
    :param pace: how many entities a second
    :param parallel: how many entities at a time
    :param retry_for: for how many seconds to retry while others write an entity
    """

    def __init__(
        self,
        account: Account,
        rows: DerivedRows,
        derived: Derived,
        intents: Intents | None,
        pace: Pace,
        parallel: int,
        retry_for: float,
    ) -> None:
        self._account = account
        self._rows = rows
        self._derived = derived
        self._intents = intents
        self._pace = pace
        self._parallel = parallel
        self._retry_for = retry_for

    async def mend(self, needed: Iterable[tuple[Primary, Sequence[Keys]]], *, are_absent: bool = False) -> None:
        """Bring rows in line with the entities as they are now.

        :param needed: the entities, as they were read, and for each the rows to look at
        :param are_absent: whether the rows are most likely not there, and the entities as they were read
        """
        claims = [
            (primary, Claim(primary.row, tuple(Trace(self._derived.name, keys) for keys in rows)))
            for primary, rows in needed
        ]
        if not self._derived.is_elsewhere:
            await self._mend_here([claim for _, claim in claims])
        elif self._intents is not None:
            primaries = {primary.row: primary for primary, _ in claims} if are_absent else {}
            for share in shares([claim for _, claim in claims], self._intents.kind):
                await self._mend_elsewhere(self._intents, share, primaries)

    async def _mend_elsewhere(
        self, intents: Intents, claims: Sequence[Claim], primaries: Mapping[Keys, Primary]
    ) -> None:
        """Announce the work first: who dies in it may have written for an entity that has moved since."""
        for _ in claims:
            await self._pace.turn()
        intent = Intent(uuid4(), tuple(claims))
        lease = await intents.send(intent)
        known = {
            claim.row: (primaries[claim.row], {} if self._derived.shares_rows else dict.fromkeys(claim.traces))
            for claim in claims
            if claim.row in primaries
        }
        await intents.settle_all(lease, intent, known, self._retry_for)
        await lease.done()

    async def _mend_here(self, claims: Iterable[Claim]) -> None:
        """Mend rows in the partitions of their entities, those of one partition one after another."""
        partitions = defaultdict[str, list[Claim]](list)
        for claim in claims:
            partitions[claim.row[0]].append(claim)
        if self._derived.shares_rows:
            calls: list[Coroutine[Any, Any, None]] = [self._mend_all(each) for each in partitions.values()]
        else:
            calls = [self._mend_all([claim]) for each in partitions.values() for claim in each]
        await self._account.together(*calls, limit=self._parallel)

    async def _mend_all(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            await self._pace.turn()
            await contended(self._account, partial(self._mend_one, claim), self._retry_for)

    async def _mend_one(self, claim: Claim) -> None:
        primary = await self._rows.primary(claim.row)
        table = self._rows.table_of(self._derived)
        looks = [
            await self._rows.look(self._derived, trace.keys, await table.get(*trace.keys), primary)
            for trace in claim.traces
        ]
        operations = [look.operation for look in looks if look.operation is not None]
        if not operations:
            return
        try:
            await table.submit(*_guard(primary), *operations)
        except OVERTAKEN as error:
            raise Overtaken from error


def _guard(primary: Primary) -> list[Operation]:
    """Return a write of the primary row that changes nothing, and fails if the entity has changed."""
    if primary.fields is None or primary.etag is None:
        return []
    partition_key, row_key = primary.row
    unchanged = Operation.merge({"PartitionKey": partition_key, "RowKey": row_key}, primary.etag)
    return [replace(unchanged, lineage=primary.lineage)]
