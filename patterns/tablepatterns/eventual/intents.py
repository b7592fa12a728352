"""Intents: the messages that announce what one set is about to write, and the work that each of them asks for."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from ..contention import RETRY_FOR, Overtaken, contended
from ..deriving.derived import Change, Derived, Index, Keys, Primary
from ..entity import Entity
from ..errors import NOT_SHOWN, BadMessage
from ..recipe import Account
from ..words.queue import Queue
from ..working.envelope import Envelope
from ..working.lease import Lease
from .claim import Claim, Intent, Trace
from .reservation import OVERTAKEN, reserve
from .rows import DerivedRows

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
            touched = derived.touched(change)
            traces.extend(Trace(name, keys) for keys in touched)
            for keys in touched:
                # What the service would refuse is refused now, while nothing was sent
                derived.mended(keys, None, change.result)
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
        await lease.keep()
        try:
            await table.submit(look.operation)
        except OVERTAKEN as error:
            raise Overtaken from error

    async def _at_once(self, calls: Sequence[Coroutine[Any, Any, None]], limit: int = 8) -> None:
        if len(calls) == 1:
            await calls[0]
        else:
            await self._account.together(*calls, limit=limit)
