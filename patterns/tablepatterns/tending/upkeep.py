"""Upkeep: what keeps derived data right where the writers alone cannot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ..contention import RETRY_FOR, check_retry_for
from ..deriving.derived import Derived, Keys, Primary
from ..errors import BadDesign, BadInput, LeaseLost
from ..eventual.intents import Intents
from ..eventual.rows import Finding
from ..pace import Pace
from ..recipe import Account_co, recipe
from ..working.lease import Lease
from ..writing.changes import Changes
from .inspector import Inspector
from .mender import Mender
from .report import Drift, Report, Told
from .walk import Stretch, walk

_AT_ONCE: Final = 32


class Upkeep(Changes[Account_co]):
    """The part of an `EntitySet` that looks after derived data: of entities older than it, and of what went wrong.

    All of it may be done while writers go on. It is done page after page of the table; the token of each page resumes
    it, also in another process.
    """

    def reconciler(self) -> Intents:
        """Return what does the work of this set's intents: a handler for a `Worker`, which knows their queue.

        :raises BadInput: nothing is derived outside the primary's partition

        Guide: eventually consistent transactions.
        """
        return self._intents()

    @recipe
    async def settle(self, *, lease: int = 60, retry_for: float = RETRY_FOR) -> int:
        """Do the work of all intents that can be received now; return how many there were.

        For tests and small programs; a `Worker` does the same, all the time. Messages of other kinds are left, hidden
        until the lease is over.

        Cost: 1 transaction for each 32 messages and 1 more, and for each what `Intents.handle` takes, and 1 to delete
        it.

        :param lease: for how many seconds a message is ours
        :param retry_for: for how many seconds to retry while others write the same entity
        :raises BadInput: nothing is derived outside the primary's partition
        :raises BadMessage: a message of this set that nobody can read; it comes again when the lease is over
        :raises TooMuchContention: others write the same entity all the time; its message comes again

        Guide: eventually consistent transactions.
        """
        check_retry_for(retry_for)
        intents = self._intents()
        queue = self.account.queue(intents.queue)
        settled = 0
        while True:
            since = self.account.now()
            messages = await queue.receive(_AT_ONCE, lease=lease)
            if not messages:
                return settled
            for message in messages:
                settled += await self._settle(
                    intents, Lease(self.account, queue, message, lease, since=since), retry_for
                )

    @recipe
    async def backfill(
        self,
        derived: Derived,
        *,
        resume: str | None = None,
        progress: Told | None = None,
        pace: float | None = None,
        parallel: int = 8,
        retry_for: float = RETRY_FOR,
    ) -> Report:
        """Give every entity the rows of a kind of derived data that is younger than the entities.

        Declare it first, in every program that writes: as `building` too where it lies in the primary's partition.
        What is there and right stays as it is, so it does no harm to do it again.

        Cost: a transaction for each page of up to 1,000 rows of the table. For each entity two to look, and one to
        write what lacks. Outside the primary's partition, for 100 entities 201 table + 4 queue transactions, as much as
        245 table operations, where the queue is created too; 401 table + 2 queue transactions, as much as 423 table
        operations, where their rows are there already.

        :param derived: one of the set's own
        :param resume: the token of a report of an earlier call, which is continued; None to begin
        :param progress: called after each page with a report, whose `token` resumes from there
        :param pace: how many entities a second, evenly spaced; None for as fast as it goes
        :param parallel: how many entities at a time
        :param retry_for: for how many seconds to retry while others write the same entity
        :raises BadInput: the set derives nothing like that, or a number is not above zero
        :raises TooMuchContention: others write the same entity all the time; what was done before stays
        :raises BadDesign: it is a `Summary` in the partition: use `recount`
        :raises BadToken: the token is of other work

        Guide: writing efficiently; eventually consistent transactions.
        """
        inspector, mender = Inspector(self.rows, derived), self._mender(derived, pace, parallel, retry_for)
        report = Report()
        async for stretch in walk(self.rows, derived, "backfill", resume, to_orphans=False):
            needed = [(entity, keys) for entity in stretch.entities.values() if (keys := inspector.keys(entity))]
            await mender.mend(needed, are_absent=True)
            report = replace(report, entities=report.entities + len(stretch.entities), token=stretch.token)
            if progress is not None:
                progress(report)
        return report

    @recipe
    async def verify(
        self,
        derived: Derived,
        *,
        resume: str | None = None,
        progress: Told | None = None,
        pace: float | None = None,
        parallel: int = 8,
    ) -> Report:
        """Compare a kind of derived data with all entities, and return what is out of line; nothing is written.

        Whatever looks wrong is looked at once more, with an entity that does not move meanwhile. What lies outside the
        primary's partition may still be on its way: then it is found, and a moment later it is right.

        Cost: 1 transaction for each page of 1,000 rows. For each entity and each derived row 1, unless both are on one
        page; 3 for each row that looks wrong.

        :param progress: called after each page with a report of what was found so far

        The other parameters and errors are those of `backfill`. Guide: eventually consistent transactions.
        """
        self._check(derived, parallel)
        inspector, turn = Inspector(self.rows, derived), Pace(self.account, pace).turn
        report = Report()

        async def look_at(stretch: Stretch, entity: Primary) -> Sequence[Drift]:
            await turn()
            return await inspector.lacks(entity, stretch.rows)

        async for stretch in walk(self.rows, derived, "verify", resume, to_orphans=True):
            lacking = (look_at(stretch, entity) for entity in stretch.entities.values())
            orphaned = (inspector.orphans(row, stretch.entities) for row in stretch.rows.values())
            found = await self.account.together(*lacking, *orphaned, limit=parallel)
            report = replace(
                report,
                entities=report.entities + len(stretch.entities),
                rows=report.rows + sum(each is not None for each in found[len(stretch.entities) :]),
                drifts=report.drifts + tuple(drift for each in found for drift in each or ()),
                token=stretch.token,
            )
            if progress is not None:
                progress(report)
        return report

    @recipe
    async def repair(
        self,
        derived: Derived,
        report: Report | None = None,
        *,
        pace: float | None = None,
        parallel: int = 8,
        retry_for: float = RETRY_FOR,
    ) -> int:
        """Mend what a report found out of line, and return how many rows that were.

        Each row is looked at anew, and is brought in line with what its entity says now. What two entities contest is
        left as it is: give one of them another value.

        Cost: for each row 4 transactions, outside the primary's partition 4 and 2 more for some hundred rows.

        :param derived: one of the set's own
        :param report: what `verify` found; None to verify first
        :param pace: how many entities a second, evenly spaced; None for as fast as it goes
        :param parallel: how many entities at a time
        :param retry_for: for how many seconds to retry while others write the same entity
        :raises BadInput: the set derives nothing like that, or a number is not above zero
        :raises TooMuchContention: others write the same entity all the time; what was done before stays

        Guide: eventually consistent transactions.
        """
        mender = self._mender(derived, pace, parallel, retry_for)
        found = report or await self.verify(derived, pace=pace, parallel=parallel)
        needed = defaultdict[Keys, list[Keys]](list)
        for drift in found.drifts:
            if drift.derived == derived.name and drift.finding is not Finding.CONTESTED:
                needed[drift.owner].append(drift.row)
        await mender.mend((Primary(self.key, owner, None), rows) for owner, rows in needed.items())
        return len({row for rows in needed.values() for row in rows})

    async def _settle(self, intents: Intents, lease: Lease, retry_for: float) -> bool:
        if lease.work.kind != intents.kind:
            return False
        # One that took too long is worked off by whoever got it meanwhile
        with suppress(LeaseLost):
            await intents.handle(lease, retry_for)
            return await lease.done()
        return False

    def _mender(self, derived: Derived, pace: float | None, parallel: int, retry_for: float) -> Mender:
        self._check(derived, parallel)
        check_retry_for(retry_for)
        return Mender(self.account, self.rows, derived, self.intents, Pace(self.account, pace), parallel, retry_for)

    def _check(self, derived: Derived, parallel: int) -> None:
        if parallel < 1:
            raise BadInput("parallel", parallel, "there must be at least one", "give 1 or more")
        if derived not in self.derived:
            rule = f"the set keeps {[each.name for each in self.derived]}"
            raise BadInput("derived", derived.name, rule, "give one of the set's own, or declare it")
        if not derived.is_told_by_each:
            rule = "one entity does not tell what a row in its partition must hold"
            raise BadDesign("derived", derived.name, rule, "use recount, which reads them all")

    def _intents(self) -> Intents:
        if self.intents is None:
            rule = "all it derives lies in the primary's partition, and changes with each entity"
            raise BadInput("set", self.table.name, rule, "leave this out")
        return self.intents
