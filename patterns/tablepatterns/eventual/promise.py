"""Promise: the intents of one transaction, sent before it, and kept or withdrawn after it."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import uuid4

from azure.core.exceptions import AzureError

from ..deriving.derived import Change, Keys
from ..entity import Entity
from ..errors import EntityAlreadyExists, EntityChanged, LeaseLost
from ..working.lease import Lease
from .claim import Claim, Intent, Trace, shares
from .intents import Intents

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
                await pledge.lease.keep()
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
                await pledge.lease.done()

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
            await pledge.lease.keep()
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
        await pledge.lease.done()


@contextmanager
def _leaving_to_a_worker(pledge: Pledge) -> Generator[None, None, None]:
    """Go on when the storage account fails: the message is still there."""
    try:
        yield
    except AzureError as error:
        count, why = len(pledge.intent.claims), type(error).__name__
        _log.warning("%s: the derived data of %d entities is left to a worker (%s)", pledge.intents.kind, count, why)
