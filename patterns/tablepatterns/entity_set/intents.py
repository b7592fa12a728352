"""Intents: messages sent before a write that name the derived rows it may leave stale."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID, uuid4

from azure.core.exceptions import AzureError

from ..batches import batches
from ..entity import Entity, identify
from ..errors import (
    NOT_SHOWN,
    BadMessage,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    LeaseLost,
    LimitExceeded,
)
from ..limits import MAX_MESSAGE_BYTES
from ..messages.lease import Envelope, Lease, process_received
from ..recipe import Account
from ..retry import RETRY_FOR, Overtaken, contended
from ..sdk.operation import ANY, Operation
from .derived import INTENT_ID, Change, Derived, Index, Keys, Primary, duplicate
from .reconcile import OVERTAKEN, DerivedRows, is_reserved

_BODY_BYTES: Final = MAX_MESSAGE_BYTES * 3 // 4 - 1024
"""The largest body in bytes that fits into a message together with its envelope, even in Base64."""


class Trace(NamedTuple):
    """A row that a change of an entity may affect: the name of the derived data, and the row's keys."""

    derived: str
    keys: Keys


@dataclass(frozen=True)
class Claim:
    """An entity, by the keys of its primary row, and its derived rows that may be stale."""

    row: Keys
    traces: tuple[Trace, ...]

    def plain(self) -> dict[str, Any]:
        return {"row": list(self.row), "traces": [[trace.derived, *trace.keys] for trace in self.traces]}


@dataclass(frozen=True)
class Intent:
    """The content of one message. Reservations of unique keys hold the id of their intent."""

    id: UUID
    claims: tuple[Claim, ...]

    def body(self) -> dict[str, Any]:
        return {"id": str(self.id), "entities": [claim.plain() for claim in self.claims]}

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> Intent:
        try:
            return cls(UUID(body["id"]), tuple(_claim(entry["row"], entry["traces"]) for entry in body["entities"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            rule = 'it has an "id", and "entities" with their "row" and their "traces"'
            hint = "process it with the version of the library that sent it"
            raise BadMessage("intent", NOT_SHOWN, rule, hint) from error


def shares(claims: Iterable[Claim], kind: str) -> Iterator[Sequence[Claim]]:
    """Split claims into groups that each fit into a message."""
    return batches(claims, lambda claim: len(Envelope(kind, claim.plain()).text()), _BODY_BYTES)


def _claim(row: Sequence[object], traces: Iterable[Sequence[object]]) -> Claim:
    parsed_traces = [Trace(str(name), (str(partition), str(key))) for name, partition, key in traces]
    partition_key, row_key = row
    return Claim((str(partition_key), str(row_key)), tuple(parsed_traces))


Assumed: TypeAlias = Mapping[Trace, Entity | None]
"""The rows as the writer expects them, which saves reading them; if one differs, its write fails and is retried."""


class Intents:
    """The intents of a set with derived data outside the primary's partition, and the `Handler` that processes them."""

    def __init__(
        self, account: Account, rows: DerivedRows, derived: Iterable[Derived], queue: str | None, seconds: int
    ) -> None:
        table = rows.primaries.name.lower()
        self._account = account
        self.rows = rows
        self._derived = {derived_data.name: derived_data for derived_data in derived if derived_data.is_eventual}
        self.kind = f"reconcile:{table}:{rows.key.partition_template}:{rows.key.row_template}"
        """The kind of the messages; it is different for each table and key."""
        self.queue = queue or f"{table}-intents"
        """The name of the queue for a worker to poll."""
        self._queue = account.queue(self.queue)
        self._seconds = seconds

    async def announce(self, changes: Iterable[tuple[Intents, Change]], retry_for: float) -> SentIntents:
        return await SentIntents(retry_for).send(changes)

    async def process_all(self, account: Account, lease: int, retry_for: float) -> int:
        handle = partial(self.handle, retry_for=retry_for)
        return await process_received(account, account.queue(self.queue), self.kind, lease, handle)

    def claim(self, change: Change) -> Claim | None:
        """Return the rows that a change may make stale; None if there are none."""
        traces: list[Trace] = []
        for name, derived in self._derived.items():
            for keys in derived.affected_keys(change):
                traces.append(Trace(name, keys))
                # Raises an error before anything is sent if the service would reject a row
                derived.repair_operation(keys, None, change.result)
        return Claim(change.row, tuple(traces)) if traces else None

    def before(self, change: Change) -> frozenset[Trace]:
        """Return the rows that the entity contributed to before a change."""
        old = change.old
        if old is None:
            return frozenset()
        return frozenset(
            Trace(name, keys) for name, derived in self._derived.items() for keys in derived.keys(change.key, old)
        )

    def derived(self, trace: Trace) -> Derived:
        if trace.derived not in self._derived:
            rule = f"the set keeps {', '.join(self._derived)}"
            raise BadMessage("derived data", NOT_SHOWN, rule, "process the message in the program that declares it")
        return self._derived[trace.derived]

    async def send(self, intent: Intent) -> Lease:
        """Send an intent, and return the lease of its message, which stays hidden. Cost: 1 transaction."""
        return await Lease.on_new(self._account, self._queue, Envelope(self.kind, intent.body()), self._seconds)

    async def reserve(self, trace: Trace, change: Change, sent_intent: SentIntent, retry_for: float) -> Entity | None:
        """Reserve a unique key for an entity about to be written; return its row, None if the index is not unique.

        Whichever process holds the message of the intent may remove the reservation. Cost: 1 transaction; if the row
        exists, 1 more to read it and 1 more to read the entity that it names.
        """
        index = self.derived(trace)
        if not isinstance(index, Index) or not index.is_unique:
            return None
        intent, lease = sent_intent.intent, sent_intent.lease
        other_changes = [sent_intent.changes[claim.row] for claim in intent.claims if claim.row != change.row]
        if any(self.rows.wants(index, trace.keys, other_change.result) for other_change in other_changes):
            raise DuplicateIndexValue(duplicate(index, change.key, trace.keys))
        # Entities that give up the key in the same transaction. The reservation replaces their copy: the intent names
        # them too, so the copy comes back if the transaction fails
        givers = [other_change.row for other_change in other_changes if trace in self.before(other_change)]
        table = self.rows.table_of(index)
        reservation = {**index.reservation(change.result), INTENT_ID: intent.id}
        operation = Operation.insert(reservation)

        async def attempt() -> Entity:
            nonlocal operation
            await lease.renew_if_due()
            try:
                (written_row,) = await table.submit(operation)
            except OVERTAKEN as error:
                row = await table.get(*trace.keys)
                if row is None:
                    operation = Operation.insert(reservation)
                else:
                    await self._check_free(index, trace.keys, row, change.row, intent.id, givers)
                    operation = Operation.replace(reservation, row.etag or ANY)
                raise Overtaken from error
            row = Entity(reservation)
            identify(row, written_row)
            return row

        return await contended(self._account, attempt, retry_for)

    async def _check_free(
        self, index: Index, keys: Keys, row: Entity, taker: Keys, intent: UUID, givers: Collection[Keys]
    ) -> None:
        """Reject the reservation of a key whose row belongs to another entity than the taker and the givers."""
        owners = index.primary_keys_of(self.rows.key, row) or []
        if any(owner in givers for owner in owners):
            return
        is_own = owners == [taker]
        # One intent may name several entities, only one of which can have the key
        is_reserved_now = is_reserved(row, intent if is_own else None, self._account.now())
        if is_own and is_reserved_now:
            raise _key_reserved(taker)
        if not is_own and (is_reserved_now or await self.rows.is_claimed(index, keys, row)):
            for giver in givers:
                if is_reserved_now or not self.rows.wants(index, keys, await self.rows.primary(giver)):
                    raise _key_reserved(giver)
            raise DuplicateIndexValue(duplicate(index, self.rows.key, keys))

    async def handle(self, lease: Lease, retry_for: float = RETRY_FOR) -> None:
        """Update the rows that a message names; afterwards the message may be deleted.

        Cost: for each entity 2 transactions, and for each row 1, or 2 if it was stale; more under concurrent writes.
        """
        await self.reconcile_all(lease, Intent.parse(lease.work.body), {}, retry_for)

    async def reconcile_all(
        self, lease: Lease, intent: Intent, known_primaries: Mapping[Keys, tuple[Primary, Assumed]], retry_for: float
    ) -> None:
        """Update the rows that an intent names, and repeat for each entity that changed during the update.

        :param known_primaries: the entities that were just written and their expected rows, which saves reading them
        """
        groups = self._groups(intent.claims)
        calls = [self._reconcile(lease, claims, intent.id, retry_for, known_primaries) for claims in groups]
        # One by one: entities that share rows would conflict with each other
        await self._at_once(calls, 1 if any(derived.shares_rows for derived in self._derived.values()) else 8)

    def shares(self, claims: Iterable[Claim]) -> list[Sequence[Claim]]:
        groups = self._groups(claims)
        claim_lists = list(shares(chain.from_iterable(groups), self.kind))
        for group in groups:
            if len(group) > 1 and not any(group[0] in share and group[-1] in share for share in claim_lists):
                rule = f"entities that pass keys of an index to each other share a message of {MAX_MESSAGE_BYTES} bytes"
                raise LimitExceeded("changes", len(group), rule, "commit fewer changes at a time")
        return claim_lists

    def _groups(self, claims: Iterable[Claim]) -> list[list[Claim]]:
        """Group claims that name the same row of an index: its key passes from one entity to the other."""
        claims = list(claims)
        if len(claims) == 1:
            return [claims]
        # A claim may connect groups that were separate before, such as if three entities exchange their keys in a ring
        group_of: dict[Trace, list[Claim]] = {}
        groups: list[list[Claim]] = []
        for claim in claims:
            own_traces = [trace for trace in claim.traces if not self.derived(trace).shares_rows]
            joined_groups = {id(group_of[trace]): group_of[trace] for trace in own_traces if trace in group_of}
            new_group = [claim, *chain.from_iterable(joined_groups.values())]
            groups = [group for group in groups if id(group) not in joined_groups] + [new_group]
            group_of |= {trace: new_group for member in new_group for trace in member.traces}
        return groups

    async def _reconcile(
        self,
        lease: Lease,
        claims: Sequence[Claim],
        intent: UUID,
        retry_for: float,
        known_primaries: Mapping[Keys, tuple[Primary, Assumed]],
    ) -> None:
        # Loops, since this runs in every write of an entity with eventual data
        primaries: dict[Keys, Primary] = {}
        known_rows: dict[Trace, Entity | None] = {}
        for claim in claims:
            if claim.row in known_primaries:
                primaries[claim.row], rows = known_primaries[claim.row]
                known_rows.update(rows)

        async def attempt() -> None:
            current: list[tuple[Claim, Primary]] = []
            for claim in claims:
                primary = primaries.pop(claim.row, None) or await self.rows.primary(claim.row)
                current.append((claim, primary))
            # What the writer knows is true for the first attempt only: after a lost race, rows are read
            assumed_rows = known_rows.copy()
            known_rows.clear()
            passed_rows = self._expected_traces(current) if len(current) > 1 else set[Trace]()
            for claim, primary in current:
                await self._repair(lease, claim, intent, primary, assumed_rows, passed_rows)
            # Another writer may have changed an entity, and updated its rows, after it was read above. Then a row was
            # just written from an old state, and nothing else would correct it
            is_overtaken = False
            for claim, primary in current:
                primaries[claim.row] = await self.rows.primary(claim.row)
                is_overtaken = is_overtaken or primaries[claim.row].etag != primary.etag
            if is_overtaken:
                raise Overtaken

        await contended(self._account, attempt, retry_for)

    def _expected_traces(self, claims: Iterable[tuple[Claim, Primary]]) -> set[Trace]:
        """Return the index rows that one of the entities should have."""
        return {
            trace
            for claim, primary in claims
            for trace in claim.traces
            if not self.derived(trace).shares_rows and self.rows.wants(self.derived(trace), trace.keys, primary)
        }

    async def _repair(
        self, lease: Lease, claim: Claim, intent: UUID, primary: Primary, assumed_rows: Assumed, passed_rows: set[Trace]
    ) -> None:
        """Update each row: insert new rows before deleting old ones, so that readers always find one of the two.

        :param passed_rows: rows that pass to another entity; if they were deleted first, a third one could take the key
        """
        new_rows = [trace for trace in claim.traces if self.rows.wants(self.derived(trace), trace.keys, primary)]
        old_rows = [trace for trace in claim.traces if trace not in new_rows and trace not in passed_rows]
        for traces in (new_rows, old_rows):
            await self._at_once([self._repair_row(lease, trace, intent, primary, assumed_rows) for trace in traces])

    async def _repair_row(
        self, lease: Lease, trace: Trace, intent: UUID, primary: Primary, assumed_rows: Assumed
    ) -> None:
        derived = self.derived(trace)
        table = self.rows.table_of(derived)
        row = assumed_rows[trace] if trace in assumed_rows else await table.get(*trace.keys)
        comparison = await self.rows.compare(derived, trace.keys, row, primary, intent)
        if comparison.operation is None:
            return
        await lease.renew_if_due()
        try:
            await table.submit(comparison.operation)
        except OVERTAKEN as error:
            raise Overtaken from error

    async def _at_once(self, calls: Sequence[Coroutine[Any, Any, None]], max_concurrency: int = 8) -> None:
        if len(calls) == 1:
            await calls[0]
        else:
            await self._account.gather(*calls, max_concurrency=max_concurrency, independent=True)


_log: Final = logging.getLogger(__name__)


@dataclass
class SentIntent:
    intents: Intents
    intent: Intent
    changes: dict[Keys, Change]
    lease: Lease
    reserved: dict[Trace, Entity] = field(default_factory=dict[Trace, Entity])

    def new(self, claim: Claim) -> Sequence[Trace]:
        """Return the rows that the change adds."""
        before = self.intents.before(self.changes[claim.row])
        return [trace for trace in claim.traces if trace not in before]

    @property
    def leaves_rows(self) -> bool:
        """Whether the changes leave rows behind that no later change would name."""
        wants = self.intents.rows.wants
        return any(
            not wants(self.intents.derived(trace), trace.keys, self.changes[claim.row].result)
            for claim in self.intent.claims
            for trace in claim.traces
        )


class SentIntents:
    """The intents that were sent for one transaction."""

    def __init__(self, retry_for: float) -> None:
        self._sent: list[SentIntent] = []
        self._retry_for = retry_for

    async def send(self, changes: Iterable[tuple[Intents, Change]]) -> SentIntents:
        """Send intents for changes that make rows outside the partition stale, and reserve unique keys.

        Cost: 1 transaction for each message, and 1 for each unique key.
        """
        claims = defaultdict[Intents, list[tuple[Claim, Change]]](list)
        for intents, change in changes:
            if (claim := intents.claim(change)) is not None:
                claims[intents].append((claim, change))
        try:
            for intents, own_claims in claims.items():
                await self._announce(intents, own_claims)
            for sent_intent in self._sent:
                await sent_intent.lease.renew_if_due()
        except (EntityAlreadyExists, EntityChanged, LeaseLost):
            await self.withdraw()
            raise
        return self

    async def _announce(self, intents: Intents, claims: Sequence[tuple[Claim, Change]]) -> None:
        changes = {claim.row: change for claim, change in claims}
        for share in intents.shares([claim for claim, _ in claims]):
            intent = Intent(uuid4(), tuple(share))
            sent_intent = SentIntent(intents, intent, changes, await intents.send(intent))
            self._sent.append(sent_intent)
            for claim in share:
                for trace in sent_intent.new(claim):
                    if row := await intents.reserve(trace, changes[claim.row], sent_intent, self._retry_for):
                        sent_intent.reserved[trace] = row

    async def withdraw(self) -> None:
        """Delete the messages after the write failed. Cost: 1 transaction for each.

        If no other intent may name their rows, the rows are first made consistent, which costs more.
        """
        for sent_intent in self._sent:
            with _logging_failure(sent_intent):
                if sent_intent.reserved or sent_intent.leaves_rows:
                    await sent_intent.intents.handle(sent_intent.lease, self._retry_for)
                await sent_intent.lease.complete()

    async def complete(self, rows: Iterable[Entity]) -> None:
        """Update the rows after the write, and delete the messages.

        The entities are already written. If this fails, the failure is logged, and a worker processes the message when
        it becomes visible.
        """
        stored = {row.key: row for row in rows}
        for sent_intent in self._sent:
            with _logging_failure(sent_intent):
                await self._complete(sent_intent, stored)

    async def _complete(self, sent_intent: SentIntent, stored: dict[tuple[str | None, str | None], Entity]) -> None:
        try:
            await sent_intent.lease.renew_if_due()
        except LeaseLost:
            # A worker that received the message may have read the entity before the write
            sent_intent.lease = await sent_intent.intents.send(sent_intent.intent)
        known_primaries = {
            claim.row: (
                replace(sent_intent.changes[claim.row].result, etag=stored[claim.row].etag),
                {
                    trace: sent_intent.reserved.get(trace)
                    for trace in sent_intent.new(claim)
                    if not sent_intent.intents.derived(trace).shares_rows
                },
            )
            for claim in sent_intent.intent.claims
            if sent_intent.changes[claim.row].is_written
        }
        await sent_intent.intents.reconcile_all(sent_intent.lease, sent_intent.intent, known_primaries, self._retry_for)
        await sent_intent.lease.complete()


@contextmanager
def _logging_failure(sent_intent: SentIntent) -> Generator[None, None, None]:
    """Log a failure of the storage account and continue: a worker will process the message."""
    try:
        yield
    except AzureError as error:
        count, why = len(sent_intent.intent.claims), type(error).__name__
        _log.warning(
            "%s: the derived data of %d entities is left to a worker (%s)", sent_intent.intents.kind, count, why
        )


def _key_reserved(row: Keys) -> EntityChanged:
    hint = "try again, once that write is finished or its intent is processed"
    return EntityChanged(f"another writer has reserved a unique key for the entity {row}; {hint}")
