"""Move a live table to new keys, to another table or to another account."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, cast
from uuid import uuid4

from azure.core.exceptions import AzureError

from ...argument_types import checked
from ...entity import Entity
from ...entity_set.commit import E
from ...entity_set.derived import Keys, keys_of
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import adapter_or_none, derived_rows, entity_of, set_identity
from ...errors import BadInput, EntityNotFound, RekeyNotReady
from ...jobs.walk import Mark, TablePage, Walk, read_pages
from ...jobs.workers import Call, OneRange, Workers, call_method
from ...limits import MAX_PAGE_ENTITIES
from ...messages.lease import Lease
from ...rate_limit import Pool
from ...recipe import Account_co, Pattern, bound_async, elapsed, identity_of, recipe
from ...retry import RETRY_FOR, Overtaken, check_retry_for, contended
from ...set_identity import SetIdentity, declare_move
from .dual_writer import DualWriter, Phase, State, Timing, is_same_table
from .entities import RekeyedEntities
from .fence import fenced_table
from .mirror import Claim, Difference, RekeyProgress, RekeyReport, Verification

_BATCH = 100
"""How many entities a message of the copier names."""


@dataclass(frozen=True)
class RekeyStatus:
    """The state of a move to new keys.

    :param phase: the phase
    :param is_verified: whether the copy is verified, and each write since has its copy
    :param primary: the name of the primary table
    :param copy: the name of the table of the copies; None once the move is committed
    :param waiting: how many messages there are: changes in progress, or left to a worker
    :param poison: how many messages could not be processed
    :param left: once the move is committed, how many entities the old table still has, 1,000 at most, for `clean_up`
    :param fenced_until: once the move is committed, until when tombstones are needed; run `clean_up` after it, and then
        use the new set without the move
    """

    phase: Phase
    is_verified: bool
    primary: str
    copy: str | None
    waiting: int
    poison: int
    left: int = 0
    fenced_until: datetime | None = None


class Rekey(Pattern[Account_co], Generic[Account_co, E]):
    """Move a live table to new keys, to another table or to another account, while programs read and write it.

    Use it if the keys of a table were wrong. Programs use `entities` in place of the set; its writers write both
    tables. Then `copy`, `verify` and `cut_over` make the new table the primary one, `roll_back` goes back without
    losing a write, `commit` ends the move, and `clean_up` deletes the old entities.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> by_id = EntitySet(storage, "Employees", Key("{Department}", "{EmployeeId:06d}"))
    >>> _ = by_id.insert({"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com"})
    >>> by_email = EntitySet(storage, "EmployeesByEmail", Key("{Email}", "employee"))
    >>> move = Rekey(by_id, by_email)
    >>> move.copy().copies, move.verify().is_clean
    (1, True)
    >>> move.cut_over().primary
    'EmployeesByEmail'
    >>> move.entities.get(Email="jonesj@contoso.com")["EmployeeId"]
    223
    >>> move.entities.get(Department="Sales", EmployeeId=223)["Email"]
    'jonesj@contoso.com'

    Consistency: each entity is always complete in the primary table, and its copy is eventually consistent. If any
    process crashes at any point, a `Worker` with this object as its handler, or the next change of the phase, completes
    the copy; no entity is lost or duplicated. All writers must use `entities`. The steps, what the sets and their
    entities need, and how it works: docs/moving-to-new-keys.md.

    Cost: `insert` 4 table + 2 queue transactions, equivalent to 26 table operations, until the move is committed.
    `replace` 5 table + 2 queue transactions, equivalent to 27 table operations; if the key of the copy changes, 6 table
    + 2 queue transactions, equivalent to 28 table operations. `delete` 5 table + 2 queue transactions, equivalent to 27
    table operations. Once the move is committed, each of them 1 table transaction. `get` 1 table transaction. The
    derived data of both sets comes on top.

    :param old_set: the set to move
    :param new_set: the set to move to; in another table, in another account, or under keys that the old ones cannot be
    :param control: the table in the account of the new set that holds the phase. Keep it as long as programs declare
        the move
    :param queue: the queue of the messages, in the same account; None for `rekey-` and the name of the move
    :param name: the name of the move; by default made of the tables and the keys
    :param lease: the seconds that a message stays hidden: twice as long as a request may take
    :param refresh: the seconds that readers use a phase that they have read
    :param max_pause: the longest time in seconds that writers wait for a change of the phase
    :param longest_stall: the longest time in seconds that a process may stall between two requests. For that long after
        the commit, the new table keeps tombstones of deleted entities
    :raises BadDesign: the sets are the same, have different models, or are sync and async; or a number is too small

    Guide: inter-partition secondary index pattern; eventually consistent transactions pattern.
    """

    @checked
    def __init__(
        self,
        old_set: EntitySet[Account_co, E],
        new_set: EntitySet[Account_co, E],
        *,
        control: str = "Rekeys",
        queue: str | None = None,
        name: str | None = None,
        lease: int = 60,
        refresh: float = 10,
        max_pause: float = 30,
        longest_stall: float = 86_400,
    ) -> None:
        super().__init__(cast("Account_co", new_set.account))
        self.old_set = old_set
        self.new_set = new_set
        timing = Timing(lease, refresh, max_pause, longest_stall)
        writer: DualWriter[Account_co] = DualWriter(old_set, new_set, timing, control=control, queue=queue, name=name)
        self._writer = writer
        self.name, self.queue, self.kind = self._writer.name, self._writer.queue, self._writer.kind
        declare_move(self._writer, *map(set_identity, (old_set, new_set)))
        self._poison = self.account.queue(f"{self.queue}-poison")
        identity = SetIdentity(identity_of(self.account), self.kind, new_set.key)
        self.entities: RekeyedEntities[Account_co, E] = RekeyedEntities(writer, identity, adapter_or_none(old_set))

    @recipe
    async def status(self) -> RekeyStatus:
        """Return the phase, and what is left to do before it can change.

        Cost: 3 transactions, 2 of them of queues; 1 more once the move is committed.
        """
        return await self._status(await self._writer.read_state())

    @recipe
    async def copy(
        self,
        *,
        resume: str | None = None,
        progress: RekeyProgress | None = None,
        max_per_second: float | None = None,
        max_concurrency: int = 8,
        retry_for: float = RETRY_FOR,
        workers: int | Workers | None = None,
    ) -> RekeyReport:
        """Copy the entities of the old table that have no copy yet, while writers keep running.

        First let every writer use `entities`. Correct copies stay as they are, so running it again is safe. The report
        lists the entities that cannot be copied.

        Cost: for 100 entities without a copy 203 table + 2 queue transactions, equivalent to 225 table operations; a
        third more for those that have one.

        :param retry_for: the seconds to keep retrying an entity while others write it
        :raises BadInput: the new table is the primary one already, or a number is not above zero
        :raises BadToken: the token is of other work

        The other parameters are those of `tablepatterns.jobs.backfill`.
        """
        pool, shared = Pool(self.account, max_per_second, max_concurrency), Workers.of(workers)
        check_retry_for(retry_for)
        old_set, rows = self._writer.old_set, derived_rows(self._writer.old_set)
        await self._require(Phase.COPYING)

        async def copy_page(page: TablePage) -> RekeyReport:
            primary_rows, report = list(filter(rows.is_primary, page.rows)), RekeyReport()
            for start in range(0, len(primary_rows), _BATCH):
                entities = [await entity_of(old_set, row) for row in primary_rows[start : start + _BATCH]]
                report += await self._copy_batch([entity for entity in entities if entity is not None], pool, retry_for)
            return report

        walk = Walk(f"copy {self.kind}", [rows.primaries], copy_page, RekeyReport())
        call = partial(call_method, name="copy", max_concurrency=max_concurrency, retry_for=retry_for)
        return await walk.run(pool, resume, progress, shared, call)

    @recipe
    async def verify(
        self,
        *,
        resume: str | None = None,
        progress: RekeyProgress | None = None,
        max_per_second: float | None = None,
        max_concurrency: int = 8,
        workers: int | Workers | None = None,
    ) -> RekeyReport:
        """Compare each entity of the primary table with its copy, and each copy with its entity; no entity is written.

        If a complete run, resumed or not, finds no difference, the phase may be changed. A write in progress may be
        reported, and be copied seconds later.

        Cost: 1 transaction for each page of 1,000 rows of both tables, 2 for each entity, 4 more for each difference,
        and 5 in all to keep the result.

        :param progress: called after each page with a report of what was found so far
        :raises BadInput: the move is committed, or a number is not above zero
        :raises RekeyNotReady: the phase is being changed

        The other parameters and errors are those of `copy`.
        """
        pool, shared = Pool(self.account, max_per_second, max_concurrency), Workers.of(workers)
        call = partial(call_method, name="verify", max_concurrency=max_concurrency)
        return await self._compare(pool, resume, progress, shared, call)

    @recipe
    async def repair(
        self,
        report: RekeyReport | None = None,
        *,
        resume: str | None = None,
        progress: RekeyProgress | None = None,
        max_per_second: float | None = None,
        max_concurrency: int = 8,
        retry_for: float = RETRY_FOR,
        workers: int | Workers | None = None,
    ) -> int:
        """Correct the copies in a report, and return how many that were; then verify again.

        The primary table decides: copies of no entity are deleted. Entities without a key in the other table, and those
        that share one, are left as they are: change them.

        Cost: about 8 transactions for each copy.

        :param report: what `verify` returned; None to compare both tables, and correct the copies of each page
        :param progress: called after each page that was corrected with a report of what was found so far
        :param max_per_second: how many copies a second, evenly spaced; None for no limit
        :raises BadInput: the move is committed, or a number is not above zero

        The errors are those of `copy`, as are the other parameters.
        """
        pool, shared = Pool(self.account, max_per_second, max_concurrency), Workers.of(workers)
        check_retry_for(retry_for)
        call = partial(call_method, name="repair", max_concurrency=max_concurrency, retry_for=retry_for)

        async def correct(report: RekeyReport) -> None:
            state = await self._require(Phase.COPYING, Phase.CUT_OVER)

            async def correct_copy(difference: Difference) -> None:
                await pool.pace.turn()
                claim = self._writer.mirror(state).claim(difference.entity, difference.copy)
                lease, now = await self._writer.begin([claim])
                if lease is None:
                    return
                await self._writer.note(await self._writer.mirror(now).settle(lease, claim, retry_for))
                await lease.complete()

            await self.account.gather(*map(correct_copy, report.repairable), max_concurrency=max_concurrency)

        if report is not None:
            await correct(report)
            return len(report.repairable)
        return len((await self._compare(pool, resume, progress, shared, call, correct)).repairable)

    @recipe
    async def cut_over(self) -> RekeyStatus:
        """Make the new table the primary one, and the old one its copy. Writers wait, usually for less than a second.

        If it fails, writers continue in the phase before; run it again, as after a crash.

        Cost: 3 table + 5 queue transactions, equivalent to 59 table operations, and more for each message that is still
        to be processed.

        :raises RekeyNotReady: `verify` has not found both tables equal, or a write since could not be copied; messages
            are on the poison queue, or were not processed within `max_pause`; or writers have canceled the change
        :raises BadInput: the move is committed
        """
        return await self._switch(Phase.CUTTING_OVER, Phase.CUT_OVER)

    @recipe
    async def roll_back(self) -> RekeyStatus:
        """Make the old table the primary one again, with all writes since the cut-over.

        It also ends a cut-over that was interrupted. Cost and errors are those of `cut_over`.
        """
        return await self._switch(Phase.ROLLING_BACK, Phase.COPYING)

    @recipe
    async def commit(self) -> RekeyStatus:
        """End the move: the old table is neither read nor written any more, and there is no way back.

        It waits `refresh` seconds first, so that no process still reads the old table. Cost: 5 transactions.

        :raises BadInput: the new table is not the primary one
        """

        async def attempt() -> State:
            state = await self._require(Phase.CUT_OVER, Phase.COMMITTED)
            if state.phase is Phase.COMMITTED:
                return state
            return await self._writer.change_state(state, phase=Phase.COMMITTED, committed_at=self.account.now())

        await self._require(Phase.CUT_OVER, Phase.COMMITTED)
        await self.account.sleep(self._writer.timing.refresh)
        return await self._status(await contended(self.account, attempt, RETRY_FOR))

    @recipe
    async def clean_up(
        self,
        *,
        drop_table: bool = False,
        max_per_second: float | None = None,
        max_concurrency: int = 8,
        retry_for: float = RETRY_FOR,
    ) -> int:
        """Delete the entities of the old set with their derived rows, and the queue; return how many entities.

        Run it again after `RekeyStatus.fenced_until`, to remove the tombstones of the new table; then programs may use
        the new set without the move. The phase stays stored, for programs that still declare the move.

        Cost: 1 transaction for each page of up to 1,000 rows of the old table, and that of `delete` for each entity and
        each tombstone; 1 for the old table with `drop_table`.

        :param drop_table: whether to drop the old table with everything in it, also the rows of other sets
        :param retry_for: the seconds to keep retrying while others write the same rows
        :raises BadInput: the move is not committed, or the table that would be dropped is also the new one
        :raises RekeyNotReady: writes are still in progress after `max_pause`

        The other parameters are those of `copy`.
        """
        pool = Pool(self.account, max_per_second, max_concurrency)
        check_retry_for(retry_for)
        old_set, rows = self._writer.old_set, derived_rows(self._writer.old_set)
        if drop_table and is_same_table(self.old_set, self.new_set):
            rule = "the new entities are in the same table"
            raise BadInput("drop_table", drop_table, rule, "leave it out, to delete the old entities one by one")
        state = await self._require(Phase.COMMITTED)
        await self._wait_for_writers("nothing was deleted")
        await self.account.sleep(self._writer.timing.refresh)
        deleted = 0
        if drop_table:
            await old_set.drop_table()
        else:
            await fenced_table(old_set).remove_tombstones()

            async def delete(row: Entity) -> bool:
                with suppress(EntityNotFound):
                    await old_set.delete(rows.key.parse(*keys_of(row)), force=True, retry_for=retry_for)
                    return True
                return False

            async for page, _ in read_pages([rows.primaries], Mark("clean up"), pool.pace.page_size):
                deleted += sum(await pool.map(delete, filter(rows.is_primary, page.rows)))
        until = self._writer.fenced_until(state)
        if until is None or self.account.now() >= until:
            await fenced_table(self._writer.new_set).remove_tombstones()
        await self.account.queue(self.queue).drop()
        return deleted

    async def handle(self, lease: Lease) -> None:
        """Complete the copies that an interrupted write left; a `Worker` calls this.

        :raises BadMessage: the message does not name entities
        :raises TooMuchContention: others wrote the entity during each attempt; the message is delivered again
        """
        await bound_async(self._writer).handle(lease)

    @recipe
    async def process_intents(self, *, lease: int = 60) -> int:
        """Process all messages that can be received now, and return how many there were.

        Use it in tests and small programs; in production run a `Worker` with this object as its handler. Cost: a
        receive for each 32 messages and one more, and for each message its copies and its deletion.

        The parameters are those of `EntitySet.process_intents`.
        """
        return await self._writer.process_messages(lease)

    # ------------------------------------------------------------------ steps

    async def _status(self, state: State) -> RekeyStatus:
        names = self.old_set.table.name, self.new_set.table.name
        primary, secondary = reversed(names) if state.phase.has_new_primary else names
        copies = None if state.phase is Phase.COMMITTED else secondary
        waiting, poison = await self._writer.waiting(), await self._poison.length()
        left_count, rows = 0, derived_rows(self._writer.old_set)
        if state.phase is Phase.COMMITTED:
            page = await rows.primaries.page(None, size=MAX_PAGE_ENTITIES, select=("PartitionKey", "RowKey"))
            left_count = sum(map(rows.is_primary, page.items))
        until = self._writer.fenced_until(state)
        return RekeyStatus(state.phase, state.is_verified, primary, copies, waiting, poison, left_count, until)

    async def _require(self, *phases: Phase) -> State:
        state = await self._writer.read_state()
        if state.phase in phases:
            return state
        if state.phase.is_paused:
            raise RekeyNotReady(f"the move is {state.phase.value}; wait for it, or run cut_over or roll_back")
        rule = f"this needs the phase {' or '.join(phase.value for phase in phases)}"
        raise BadInput("phase", state.phase.value, rule, "see status, and docs/moving-to-new-keys.md")

    async def _copy_batch(self, entities: Sequence[Entity], pool: Pool, retry_for: float) -> RekeyReport:
        """Copy entities of one page under one message."""
        claims = [self._writer.claim(entity) for entity in entities]
        lease, state = await self._writer.begin(claims)
        if lease is None or state.phase is not Phase.COPYING:
            raise BadInput("phase", state.phase.value, "the table was cut over during the copy", "see status")
        mirror = self._writer.mirror(state)

        async def copy(entity_and_claim: tuple[Entity, Claim]) -> list[Difference]:
            entity, claim = entity_and_claim
            known_entities = {cast("Keys", entity.key): entity}
            return await mirror.settle(lease, claim, retry_for, known_entities, mirror.targets(claim))

        problem_lists = await pool.map(copy, zip(entities, claims, strict=True))
        problems = [problem for problems_of_one in problem_lists for problem in problems_of_one]
        await self._writer.note(problems)
        await lease.complete()
        return RekeyReport(len(entities), len(entities) - len(problems), tuple(problems))

    async def _compare(
        self,
        pool: Pool,
        resume: str | None,
        progress: RekeyProgress | None,
        workers: Workers | None,
        call: Call,
        correct: Callable[[RekeyReport], Coroutine[Any, Any, None]] | None = None,
    ) -> RekeyReport:
        """Compare both tables, and keep the result if they are equal; a worker compares one range for another process.

        :param call: does the same work in another process
        """
        is_part = isinstance(workers, OneRange)
        verification = await self._verification(resume, is_part=is_part)
        mirror = self._writer.mirror(await self._require(Phase.COPYING, Phase.CUT_OVER))
        sets = [derived_rows(entity_set) for entity_set in (mirror.source, mirror.target)]

        async def compare_page(page: TablePage) -> RekeyReport:
            primary_rows = list(filter(sets[page.table].is_primary, page.rows))
            compare = mirror.entity_difference if page.table == 0 else mirror.copy_difference
            differences = tuple(filter(None, await pool.map(compare, primary_rows)))
            counts = (len(primary_rows), 0) if page.table == 0 else (0, len(primary_rows))
            report = RekeyReport(*counts, differences)
            if differences and correct is not None:
                await correct(report)
            return report

        # A worker that starts after the cut-over must not take one table for the other
        name = f"{verification.mark.walk} from the {'new' if mirror.is_new_primary else 'old'} set"
        walk = Walk(name, [rows.primaries for rows in sets], compare_page, RekeyReport())
        report = await walk.run(pool, verification.mark, progress, workers, call, token_of=verification.token)
        if verification.is_clean and report.is_clean and not is_part:
            await self._keep_verified(verification.id)
        return report

    async def _verification(self, resume: str | None, *, is_part: bool) -> Verification:
        """Return the verification to resume, or begin one; a part belongs to that of another process."""
        if resume is not None:
            return Verification.parse(resume, self.kind)
        verification = Verification(uuid4().hex, Mark(f"verify {self.kind}"))
        if is_part:
            return verification

        async def attempt() -> None:
            state = await self._require(Phase.COPYING, Phase.CUT_OVER)
            await self._writer.change_state(state, is_verified=False, verification=verification.id)

        await contended(self.account, attempt, RETRY_FOR)
        return verification

    async def _keep_verified(self, verification: str) -> None:
        """Keep the result of a verification, unless a write since it began could not be copied."""

        async def attempt() -> None:
            state = await self._writer.read_state()
            if state.verification == verification and not state.is_verified:
                await self._writer.change_state(state, is_verified=True)

        await contended(self.account, attempt, RETRY_FOR)

    async def _switch(self, during: Phase, after: Phase) -> RekeyStatus:
        """Change the primary table: let writers wait, wait for those in progress, and let them continue there."""
        state = await self._writer.read_state()
        if state.phase is Phase.COMMITTED:
            raise BadInput("phase", state.phase.value, "the move is committed, and the old table not kept", "leave it")
        if state.phase.has_new_primary == after.has_new_primary:
            # Nothing to do, or the opposite change was interrupted
            return await self._status(await self._change(state, after) if state.phase.is_paused else state)
        if state.phase is not during:
            self._check_ready(state)
            # The message of a crashed process appears when its lease ends; until then writers need not wait
            await self._drained(self._writer.timing.lease)
            state = await self._change(state, during)
        try:
            self._check_ready(state)
            await self._wait_for_writers("the phase has not changed")
            if await self._poison.length():
                text = f"messages on {self._poison.name} could not be processed; nothing has changed"
                raise RekeyNotReady(f"{text}, requeue them, and run it again")
            state = await self._change(state, after)
        except AzureError:
            # Otherwise writers would wait until one of them cancels the change
            with suppress(Overtaken, AzureError):
                now = await self._writer.read_state()
                if now.phase is during:
                    await self._writer.change_state(now, phase=during.canceled)
            raise
        return await self._status(state)

    async def _wait_for_writers(self, unchanged: str) -> None:
        """Process the messages of writes in progress; the error after `max_pause` says what has not changed."""
        if not await self._drained(self._writer.timing.max_pause):
            count, limit = await self._writer.waiting(), f"{self._writer.timing.max_pause:g} seconds"
            text = f"{count} messages of writes in progress were not processed within {limit}"
            by = (self.account.now() + timedelta(seconds=self._writer.timing.lease)).isoformat(timespec="seconds")
            text = f"{text}, and those of crashed processes can be received by {by}"
            raise RekeyNotReady(f"{text}; {unchanged}, run it again then")

    async def _drained(self, longest: float) -> bool:
        """Process messages until there are none; return False if that takes longer than these seconds."""
        started_at, pause = elapsed(self.account), 0.05
        while await self._writer.waiting():
            if (elapsed(self.account) - started_at).total_seconds() >= longest:
                return False
            if not await self._writer.process_messages(self._writer.timing.lease):
                await self.account.sleep(pause)
                pause = min(2 * pause, 1.0)
        return True

    async def _change(self, state: State, phase: Phase) -> State:
        try:
            return await self._writer.change_state(state, phase=phase)
        except Overtaken:
            now = await self._writer.read_state()
            if now.phase is phase:
                return now
            text = "a write could not be copied, or another process or a waiting writer changed the phase"
            raise RekeyNotReady(f"{text}; see status, and run it again") from None

    def _check_ready(self, state: State) -> None:
        if not state.is_verified:
            text = "the tables are not verified to be equal, or a write since could not be copied"
            raise RekeyNotReady(f"{text}; run verify until it finds no difference")
