"""Intents: messages sent before a write that name the derived rows it may leave stale."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID, uuid4

from azure.core.exceptions import AzureError

from ..entity import Entity
from ..errors import NOT_SHOWN, BadMessage, EntityAlreadyExists, EntityChanged, LeaseLost
from ..key import Key
from ..limits import MAX_MESSAGE_BYTES
from ..messages.envelope import Envelope
from ..messages.lease import Lease
from ..recipe import Account
from ..retry import RETRY_FOR, Overtaken, contended
from ..sdk.operation import Operation
from ..sdk.queue import Queue
from .derived import Change, Derived, Fields, Index, Keys, Primary
from .reconcile import OVERTAKEN, DerivedRows, reserve
from .row_store import RowReader

_BODY_BYTES: Final = MAX_MESSAGE_BYTES * 3 // 4 - 1024
"""What fits into a message in Base64 too, with its envelope."""


class Trace(NamedTuple):
    """A row where an entity has, had, or will have a part: the name of the derived data, and the row's keys."""

    derived: str
    keys: Keys


@dataclass(frozen=True)
class Claim:
    """One entity, by the keys of its primary row, and the rows that may be out of line with it."""

    row: Keys
    traces: tuple[Trace, ...]

    def plain(self) -> dict[str, Any]:
        """Return the claim as lists and texts."""
        return {"row": list(self.row), "traces": [[trace.derived, *trace.keys] for trace in self.traces]}


@dataclass(frozen=True)
class Intent:
    """What one message names, and the id by which its holder knows the reservations that were made under it."""

    id: UUID
    claims: tuple[Claim, ...]

    def body(self) -> dict[str, Any]:
        """Return the body of the message."""
        return {"id": str(self.id), "entities": [claim.plain() for claim in self.claims]}

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> Intent:
        """Return the intent that a message's body spells.

        :raises BadMessage: it spells none
        """
        try:
            return cls(UUID(body["id"]), tuple(_claim(each["row"], each["traces"]) for each in body["entities"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            rule = 'it has an "id", and "entities" with their "row" and their "traces"'
            hint = "let the version of the library that sent it read it"
            raise BadMessage("intent", NOT_SHOWN, rule, hint) from error


def shares(claims: Iterable[Claim], kind: str) -> Iterator[Sequence[Claim]]:
    """Cut claims into shares that each fit into one message."""
    share: list[Claim] = []
    size = 0
    for claim in claims:
        length = len(Envelope(kind, claim.plain()).text())
        if share and size + length > _BODY_BYTES:
            yield share
            share, size = [], 0
        share.append(claim)
        size += length
    if share:
        yield share


def _claim(row: Sequence[object], traces: Iterable[Sequence[object]]) -> Claim:
    found = [Trace(str(name), (str(partition), str(key))) for name, partition, key in traces]
    partition_key, row_key = row
    return Claim((str(partition_key), str(row_key)), tuple(found))


class LookedUpFields(Derived):
    """Fields of the entities themselves that are looked up in another set when an entity is written.

    There are no rows of their own to maintain.
    """

    shares_rows = True
    looked_up: frozenset[str]
    """The names of the fields. The other set writes them too, when its entities change."""

    @abstractmethod
    async def look_up(self, change: Change, rows: RowReader) -> tuple[Change, list[Operation]]:
        """Return a change with the fields, and the writes that fail if what they were read from has changed.

        :param rows: the rows of the entity's partition
        """

    @abstractmethod
    def intents_for(self, change: Change) -> list[tuple[Intents, Change]]:
        """Return the changes of the other set to send intents for before this change is written."""

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        """Return nothing: there are no rows."""
        return []

    def primary_keys_of(self, key: Key, row: Entity) -> list[Keys] | None:
        """Return None: there are no rows."""
        return None


Assumed: TypeAlias = Mapping[Trace, Entity | None]
"""What rows most likely are, to whoever has just written: a guess saves a look, and a wrong one costs a conflict."""


class Intents:
    """The intents of one set, and the `Handler` that does what they ask for.

    :param account: where the queue is
    :param rows: the derived rows of the set
    :param derived: what the set derives outside the primary's partition
    :param kind: the kind of the messages
    :param queue: where they are sent
    :param seconds: for how long a message is hidden, and again after each renewal
    """

    def __init__(
        self, account: Account, rows: DerivedRows, derived: Iterable[Derived], kind: str, queue: Queue, seconds: int
    ) -> None:
        self._account = account
        self._rows = rows
        self._derived = {each.name: each for each in derived}
        self._kind = kind
        self._queue = queue
        self._seconds = seconds

    @property
    def kind(self) -> str:
        """The kind of messages: one for each table and key."""
        return self._kind

    @property
    def rows(self) -> DerivedRows:
        """The derived rows that are kept."""
        return self._rows

    @property
    def queue(self) -> str:
        """The name of the queue that a worker must poll."""
        return self._queue.name

    def claim(self, change: Change) -> Claim | None:
        """Return what a change may leave out of line; None where that is nothing.

        :raises BadInput: a row that follows from the change cannot be stored
        """
        traces: list[Trace] = []
        for name, derived in self._derived.items():
            for keys in derived.affected_keys(change):
                traces.append(Trace(name, keys))
                # Raises what the service would reject, before anything is sent
                derived.repair_operation(keys, None, change.result)
        return Claim(change.row, tuple(traces)) if traces else None

    def before(self, change: Change) -> frozenset[Trace]:
        """Return the rows in which the entity had a part before a change."""
        old = change.old
        if old is None:
            return frozenset()
        return frozenset(
            Trace(name, keys) for name, each in self._derived.items() for keys in each.keys(change.key, old)
        )

    def derived(self, trace: Trace) -> Derived:
        """Return the kind of derived data that a trace is of.

        :raises BadMessage: the set has none of that name
        """
        if trace.derived not in self._derived:
            rule = f"the set keeps {', '.join(self._derived)}"
            raise BadMessage("derived data", NOT_SHOWN, rule, "let the program that declares it read the message")
        return self._derived[trace.derived]

    async def send(self, intent: Intent) -> Lease:
        """Announce an intent, and return its message, hidden and ours for a while. Cost: 1 transaction."""
        return await Lease.on_new(self._account, self._queue, Envelope(self.kind, intent.body()), self._seconds)

    async def reserve(
        self, trace: Trace, primary: Primary, intent: UUID, lease: Lease, retry_for: float
    ) -> Entity | None:
        """Reserve a key for an entity that is about to get it; return the row, or None where it need not be unique.

        :raises DuplicateIndexValue: another entity has the key, or is about to
        :raises EntityChanged: another writer of the same entity is about to give it this key
        :raises LeaseLost: the message of the intent came to somebody else
        """
        derived = self.derived(trace)
        if not isinstance(derived, Index) or not derived.is_unique:
            return None
        return await reserve(self._account, self._rows, derived, trace.keys, primary, intent, lease, retry_for)

    async def handle(self, lease: Lease, retry_for: float = RETRY_FOR) -> None:
        """Bring in line what a message names; it may be deleted afterwards.

        Cost: for each entity 2 transactions, and for each row 1, or 2 where it was out of line; more where others
        write at the same time.

        :param retry_for: for how many seconds to retry while others write at the same time
        :raises BadMessage: nobody can tell what it names
        :raises LeaseLost: the message came to somebody else meanwhile
        :raises TooMuchContention: others wrote all the time; the message must come again
        """
        await self.settle_all(lease, Intent.parse(lease.work.body), {}, retry_for)

    async def settle_all(
        self, lease: Lease, intent: Intent, known: Mapping[Keys, tuple[Primary, Assumed]], retry_for: float
    ) -> None:
        """Bring the rows that an intent names in line with the entities, each until it was seen not to move meanwhile.

        :param lease: the message of the intent, which is ours
        :param known: what was just written of entities, and what their rows most likely are: these are written
            without a look
        :param retry_for: for how many seconds to retry while others write an entity
        """
        nothing: tuple[None, Assumed] = (None, {})
        calls = [
            self._settle(lease, claim, intent.id, retry_for, *known.get(claim.row, nothing)) for claim in intent.claims
        ]
        # Entities that share rows would only get into each other's way
        await self._at_once(calls, 1 if any(each.shares_rows for each in self._derived.values()) else 8)

    async def _settle(
        self, lease: Lease, claim: Claim, intent: UUID, retry_for: float, known: Primary | None, rows: Assumed
    ) -> None:
        seen, assumed_next = known, rows

        async def attempt() -> None:
            nonlocal seen, assumed_next
            now, assumed = seen or await self._rows.primary(claim.row), assumed_next
            seen, assumed_next = None, {}
            await self._mend(lease, claim, intent, now, assumed)
            seen = await self._rows.primary(claim.row)
            if seen.etag != now.etag:
                raise Overtaken

        await contended(self._account, attempt, retry_for)

    async def _mend(self, lease: Lease, claim: Claim, intent: UUID, now: Primary, assumed: Assumed) -> None:
        """Bring each row in line: those that shall be there first, so that readers find one of the two."""
        wanted = [trace for trace in claim.traces if self._rows.wants(self.derived(trace), trace.keys, now)]
        for traces in (wanted, [trace for trace in claim.traces if trace not in wanted]):
            await self._at_once([self._mend_row(lease, trace, intent, now, assumed) for trace in traces])

    async def _mend_row(self, lease: Lease, trace: Trace, intent: UUID, now: Primary, assumed: Assumed) -> None:
        derived = self.derived(trace)
        table = self._rows.table_of(derived)
        row = assumed[trace] if trace in assumed else await table.get(*trace.keys)
        look = await self._rows.look(derived, trace.keys, row, now, intent)
        if look.operation is None:
            return
        await lease.renew_if_due()
        try:
            await table.submit(look.operation)
        except OVERTAKEN as error:
            raise Overtaken from error

    async def _at_once(self, calls: Sequence[Coroutine[Any, Any, None]], max_concurrency: int = 8) -> None:
        if len(calls) == 1:
            await calls[0]
        else:
            await self._account.gather(*calls, max_concurrency=max_concurrency)


_log: Final = logging.getLogger(__name__)


@dataclass
class Pledge:
    """One intent that was sent, with the changes that it announces."""

    intents: Intents
    intent: Intent
    changes: dict[Keys, Change]
    lease: Lease
    reserved: dict[Trace, Entity] = field(default_factory=dict[Trace, Entity])
    """The rows that hold keys for entities to come."""

    def new(self, claim: Claim) -> Sequence[Trace]:
        """Return the rows that the entity gets by the change."""
        before = self.intents.before(self.changes[claim.row])
        return [trace for trace in claim.traces if trace not in before]

    def has_alone(self, trace: Trace) -> bool:
        """Whether no other entity has a part in a row, so that what it most likely is can be told without a look."""
        return not self.intents.derived(trace).shares_rows

    @property
    def leaves_rows(self) -> bool:
        """Whether a change leaves rows behind that no later change would name."""
        wants = self.intents.rows.wants
        return any(
            not wants(self.intents.derived(trace), trace.keys, self.changes[claim.row].result)
            for claim in self.intent.claims
            for trace in claim.traces
        )


class Promise:
    """What was announced of one transaction.

    :param retry_for: for how many seconds to retry where others write the same rows
    """

    def __init__(self, retry_for: float) -> None:
        self._pledges: list[Pledge] = []
        self._retry_for = retry_for

    @classmethod
    async def made(cls, changes: Iterable[tuple[Intents, Change]], retry_for: float) -> Promise:
        """Announce changes that leave rows elsewhere out of line. Cost: 1 transaction for each message; often none.

        For each key that is to be unique 1 more, which reserves it.

        :raises DuplicateIndexValue: another entity has the key; nothing has changed
        :raises LeaseLost: it took so long that the message came to somebody else; nothing has changed
        """
        claimed = defaultdict[Intents, list[tuple[Claim, Change]]](list)
        for intents, change in changes:
            claim = intents.claim(change)
            if claim is not None:
                claimed[intents].append((claim, change))
        promise = cls(retry_for)
        try:
            for intents, each in claimed.items():
                await promise._announce(intents, each)
            for pledge in promise._pledges:
                await pledge.lease.renew_if_due()
        except (EntityAlreadyExists, EntityChanged, LeaseLost):
            await promise.withdraw()
            raise
        return promise

    async def _announce(self, intents: Intents, claimed: Sequence[tuple[Claim, Change]]) -> None:
        changes = {claim.row: change for claim, change in claimed}
        for share in shares([claim for claim, _ in claimed], intents.kind):
            intent = Intent(uuid4(), tuple(share))
            pledge = Pledge(intents, intent, changes, await intents.send(intent))
            self._pledges.append(pledge)
            for claim in share:
                for trace in pledge.new(claim):
                    result = changes[claim.row].result
                    row = await intents.reserve(trace, result, intent.id, pledge.lease, self._retry_for)
                    if row is not None:
                        pledge.reserved[trace] = row

    async def withdraw(self) -> None:
        """Take the announcement back, since nothing was written. Cost: 1 transaction for each message.

        More where rows are at stake that no other intent might name: they are looked at once more.
        """
        for pledge in self._pledges:
            with _leaving_to_a_worker(pledge):
                if pledge.reserved or pledge.leaves_rows:
                    await pledge.intents.handle(pledge.lease, self._retry_for)
                await pledge.lease.complete()

    async def keep(self, written: Iterable[Entity]) -> None:
        """Bring everything in line with what was written, and delete the messages.

        The change is made, whatever happens here. What this cannot bring to its end is left to whoever gets the
        message, and is told in the log; no error is raised for it.
        """
        stored = {row.key: row for row in written}
        for pledge in self._pledges:
            with _leaving_to_a_worker(pledge):
                await self._keep(pledge, stored)

    async def _keep(self, pledge: Pledge, stored: dict[tuple[str | None, str | None], Entity]) -> None:
        try:
            await pledge.lease.renew_if_due()
        except LeaseLost:
            # Whoever got the message may have seen the entity before it was written
            pledge.lease = await pledge.intents.send(pledge.intent)
        known = {
            claim.row: (
                replace(pledge.changes[claim.row].result, etag=stored[claim.row].etag),
                {trace: pledge.reserved.get(trace) for trace in pledge.new(claim) if pledge.has_alone(trace)},
            )
            for claim in pledge.intent.claims
            if pledge.changes[claim.row].is_written
        }
        await pledge.intents.settle_all(pledge.lease, pledge.intent, known, self._retry_for)
        await pledge.lease.complete()


@contextmanager
def _leaving_to_a_worker(pledge: Pledge) -> Generator[None, None, None]:
    """Go on when the storage account fails: the message is still there."""
    try:
        yield
    except AzureError as error:
        count, why = len(pledge.intent.claims), type(error).__name__
        _log.warning("%s: the derived data of %d entities is left to a worker (%s)", pledge.intents.kind, count, why)
