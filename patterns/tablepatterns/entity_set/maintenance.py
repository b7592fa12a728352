"""Backfill, verify and repair derived data page by page, resumable after each page."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Final, TypeAlias
from uuid import uuid4

from ..entity import Entity
from ..errors import BadToken, EntityAlreadyExists, EntityChanged, EntityNotFound, LimitExceeded, OutcomeUnknown
from ..limits import MAX_PAGE_ENTITIES, MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS
from ..rate_limit import Pace
from ..recipe import Account
from ..retry import Overtaken, contended
from ..sdk.operation import Operation
from .derived import Derived, Keys, Primary
from .intents import Claim, Intent, Intents, Trace, shares
from .reconcile import OVERTAKEN, DerivedRows, Finding
from .row_store import RowStore


class Repairer:
    """Repairs one kind of derived data.

    :param account: the account of the set
    :param rows: the derived rows of the set
    :param derived: the kind
    :param intents: the intents of the set, if the rows are outside the primary's partition
    :param max_per_second: how many entities a second
    :param max_concurrency: how many entities at a time
    :param retry_for: the seconds to keep retrying while others write an entity
    """

    def __init__(
        self,
        account: Account,
        rows: DerivedRows,
        derived: Derived,
        intents: Intents | None,
        max_per_second: Pace,
        max_concurrency: int,
        retry_for: float,
    ) -> None:
        self._account = account
        self._rows = rows
        self._derived = derived
        self._intents = intents
        self._pace = max_per_second
        self._parallel = max_concurrency
        self._retry_for = retry_for

    async def repair(self, targets: Iterable[tuple[Primary, Sequence[Keys]]], *, are_absent: bool = False) -> None:
        """Make rows consistent with the entities as they are now.

        :param targets: for each entity that was read, the rows to check
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
        for _ in claims:
            await self._pace.turn()
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
        row_groups = await self._account.gather(
            *map(self._insert_group, groups), max_concurrency=self._parallel, independent=self._pace.is_unlimited
        )
        inserted = {row for rows in row_groups for row in rows}
        return [(primary, claim) for primary, claim, _ in inserts if primary.row not in inserted]

    async def _inserts(self, primary: Primary, claim: Claim) -> list[Operation]:
        findings = [await self._rows.compare(self._derived, trace.keys, None, primary) for trace in claim.traces]
        operations = [finding.operation for finding in findings if finding.operation is not None]
        guard = _guard(primary)
        return [*guard, *operations] if guard and operations else []

    async def _insert_group(self, group: Sequence[_Inserts]) -> list[Keys]:
        """Insert the rows of several entities; return the entities whose rows were inserted."""
        for _ in group:
            await self._pace.turn()
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
        """Repair rows in the partitions of their entities."""
        partitions = defaultdict[str, list[Claim]](list)
        for claim in claims:
            partitions[claim.row[0]].append(claim)
        if self._derived.shares_rows:
            calls: list[Coroutine[Any, Any, None]] = [self._repair_all(group) for group in partitions.values()]
        else:
            calls = [self._repair_all([claim]) for group in partitions.values() for claim in group]
        await self._account.gather(*calls, max_concurrency=self._parallel, independent=self._pace.is_unlimited)

    async def _repair_all(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            await self._pace.turn()
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
        try:
            await table.submit(*_guard(primary), *operations)
        except OVERTAKEN as error:
            raise Overtaken from error


def _guard(primary: Primary) -> list[Operation]:
    """Return a write that does not change the primary row, and fails if the entity has changed."""
    if primary.fields is None or primary.etag is None:
        return []
    partition_key, row_key = primary.row
    unchanged = Operation.merge({"PartitionKey": partition_key, "RowKey": row_key}, primary.etag)
    return [replace(unchanged, write_ids=primary.write_ids)]


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


_VERSION: Final = 1


@dataclass(frozen=True)
class Mark:
    """The position of a walk: the number of the table, and a continuation token.

    >>> Mark.parse(Mark("backfill by_email", 1, "abc").text(), "backfill by_email")
    Mark(walk='backfill by_email', table=1, token='abc')

    :param walk: a description of the walk; its tokens are valid only for the same walk
    """

    walk: str
    table: int = 0
    token: str | None = None

    def text(self) -> str:
        """Return the mark as URL-safe text."""
        parts = [_VERSION, _digest(self.walk), self.table, self.token]
        return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode("ascii")

    @classmethod
    def parse(cls, token: str | None, walk: str) -> Mark:
        """Return the mark in a token; without a token, the start of the walk.

        :raises BadToken: the text is not a token, or is from another walk
        """
        if token is None:
            return cls(walk)
        try:
            version, digest, table, inner = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
            is_sound = version == _VERSION and digest == _digest(walk) and isinstance(table, int) and table >= 0
        except (TypeError, ValueError, RecursionError) as error:
            raise BadToken("resume", token, "it is not a token of this library", "start without one") from error
        if not is_sound:
            rule = "a token resumes only the work that returned it, on the same derived data of the same set"
            raise BadToken("resume", token, rule, "start without one")
        return cls(walk, table, inner)


async def pages(
    stores: Sequence[RowStore], mark: Mark, pace: Pace
) -> AsyncIterator[tuple[int, Sequence[Entity], Mark | None]]:
    """Yield the number of the store, the rows of a page, and the mark of the next page (None after the last).

    A limited rate makes pages smaller. Cost: 1 transaction for each page.
    """
    size = min(pace.page_size, MAX_PAGE_ENTITIES)
    number, token = mark.table, mark.token
    while number < len(stores):
        of = number
        page = await stores[of].page(None, size=size, token=token)
        token = page.token
        number += token is None
        yield of, page.items, Mark(mark.walk, number, token) if number < len(stores) else None


def _digest(walk: str) -> str:
    return blake2b(walk.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


@dataclass(frozen=True)
class WalkPage:
    """One page of a walk.

    :param entities: the entities whose primary rows are on the page, by their keys
    :param rows: all rows of the page by their keys, if the derived rows are in this table; otherwise empty
    :param token: the token of the next page; None at the end
    """

    entities: Mapping[Keys, Primary]
    rows: Mapping[Keys, Entity]
    token: str | None


async def walk(
    rows: DerivedRows, derived: Derived, work: str, resume: str | None, pace: Pace, *, to_orphans: bool
) -> AsyncIterator[WalkPage]:
    """Yield the pages of the primary rows' table, then those of the derived rows if they are stored elsewhere.

    :param rows: the derived rows of the set
    :param derived: the kind of derived data
    :param work: a description of the walk; its tokens are valid only for the same walk
    :param resume: the token of an earlier page; None to start
    :param pace: limits the rate of the work
    :param to_orphans: whether to read the derived rows too, to find orphans
    :raises BadToken: the token is from another walk
    """
    primaries, derived_table = rows.primaries, rows.table_of(derived)
    stores: list[RowStore] = [primaries] if derived_table is primaries or not to_orphans else [primaries, derived_table]
    mark = Mark.parse(resume, f"{work} {primaries.name.lower()} {rows.key!r} {derived.name}")
    async for number, items, following in pages(stores, mark, pace):
        primaries_of_page = [rows.primary_of(row) for row in items if number == 0 and rows.is_primary(row)]
        entities = [entity for entity in primaries_of_page if rows.can_derive(derived, entity)]
        yield WalkPage(
            {entity.row: entity for entity in entities},
            {(row["PartitionKey"], row["RowKey"]): row for row in items if stores[number] is derived_table},
            following.text() if following else None,
        )


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
class Report:
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

    def __add__(self, following: Report) -> Report:
        entities, rows = self.entities + following.entities, self.rows + following.rows
        return Report(entities, rows, self.drifts + following.drifts, following.token)

    def of(self, finding: Finding) -> list[Drift]:
        """Return the inconsistent rows of one kind."""
        return [drift for drift in self.drifts if drift.finding is finding]


ProgressCallback: TypeAlias = Callable[[Report], None]
"""A function that is called after each page with a report of the work so far."""


_LOOKS: Final = 3
"""How often an entity that keeps changing is checked again; its writers keep its rows consistent."""


class Inspector:
    """Compares one kind of derived data with its entities.

    :param rows: the derived rows of the set
    :param derived: the kind
    """

    def __init__(self, rows: DerivedRows, derived: Derived) -> None:
        self._rows = rows
        self._derived = derived

    def keys(self, primary: Primary) -> list[Keys]:
        """Return the keys of the rows that an entity contributes to."""
        return [] if primary.fields is None else self._derived.keys(self._rows.key, primary.fields)

    async def lacks(self, primary: Primary, known_rows: Mapping[Keys, Entity]) -> list[Drift]:
        """Return the inconsistent rows of an entity. Cost: 1 transaction for each row that is not in `known`.

        :param primary: the entity as it was read
        :param known_rows: rows of the same page, by their keys
        """
        drifts = [
            await self.drift(keys, primary.row)
            for keys in self.keys(primary)
            if not await self.is_right(keys, primary, known_rows.get(keys))
        ]
        return [drift for drift in drifts if drift is not None]

    async def is_right(self, keys: Keys, primary: Primary, known_row: Entity | None) -> bool:
        """Whether a row is consistent with an entity. Cost: none, or 1 transaction if the row is not in `known`."""
        row = known_row or await self._rows.table_of(self._derived).get(*keys)
        comparison = await self._rows.compare(self._derived, keys, row, primary)
        return comparison.finding is Finding.RIGHT

    async def orphans(self, row: Entity, known_primaries: Mapping[Keys, Primary]) -> list[Drift] | None:
        """Return the orphaned parts of a row; None if the row is not of this kind.

        Cost: 1 transaction for each entity that is not in `known`.

        :param row: any row of the table
        :param known_primaries: the entities of the same page, by the keys of their primary rows
        """
        owners = self._derived.primary_keys_of(self._rows.key, row)
        if owners is None:
            return None
        keys = (row["PartitionKey"], row["RowKey"])
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
