"""Load a long input into a table in as few transactions as possible, and resume after a failure."""

from __future__ import annotations

import base64
import json
import threading
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import Any, Generic, Literal, cast

from azure.core.exceptions import AzureError, HttpResponseError

from ...argument_types import check_has_run, check_least, checked
from ...entity import Entity
from ...entity_set.commit import E, execute_steps
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import adapter_or_none, check_not_moved, primary_keys
from ...errors import NOT_SHOWN, BadInput, BadToken, LoadInterrupted, message_of
from ...limits import MAX_TRANSACTION_BYTES
from ...rate_limit import Pace
from ...recipe import Account_co, Pattern, recipe
from ...retry import RETRY_FOR, Overtaken, check_retry_for, contended
from .plan import STALE_ROW_ERRORS, Chunk, LoadStopped, Mode, PartitionPlan, PlannedEntity, Planner, RowCache, at_input

_VERSION = 1
_WINDOW_BYTES = 32 * MAX_TRANSACTION_BYTES


@dataclass(frozen=True)
class _Run:
    input: Iterator[tuple[int, Mapping[str, Any]]]
    digest: KeyDigest
    planner: Planner
    tally: Tally
    retry_for: float


class BulkLoad(Pattern[Account_co], Generic[Account_co, E]):
    """Load any number of entities into a set, with their derived data, and resume after a failure.

    Use it for large inputs, such as millions of flights from a file.

    >>> from tablepatterns import BulkLoad, EntitySet, IntraPartitionIndex, Key, connect
    >>> by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    >>> employees = EntitySet(
    ...     connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email]
    ... )
    >>> staff = ({"Department": "Sales", "EmployeeId": n, "Email": f"{n}@contoso.com"} for n in range(1000))
    >>> loaded = BulkLoad(employees).load(staff)
    >>> loaded.entities, loaded.transactions, loaded.atomicity
    (1000, 20, 'chunk')

    The input is read in windows, and the entities of a window are grouped by PartitionKey. Sort the input by
    PartitionKey for the fewest transactions.

    Consistency: each chunk is one entity group transaction, with entities and their derived rows; the load as a whole
    is not atomic. A window is validated before any of it is sent. How to resume, so that nothing is written twice:
    docs/patterns/bulk_load.md.

    Cost: for each window and partition, 1 storage transaction per 100 rows, derived ones included; more if entities are
    large. A row that entities share, such as a list or a total, is read once per window, and written once per chunk.
    `insert_or_replace` reads the entities first if the set has derived data, in ranges of up to 500. After a lost race,
    and on resuming for each chunk with an unknown outcome, 1 failed transaction, the same reads, and up to 1 point
    query for each shared row.

    :param entity_set: the set to load
    :param max_concurrency: how many partitions are written at a time
    :param max_per_second: the maximum number of requests per second of all loads with this object; None for no limit
    :param window: the maximum number of entities in memory; large entities make a window smaller
    :raises BadInput: one of the numbers is not above zero

    Guide: entity group transactions; writing efficiently.
    """

    @checked
    def __init__(
        self,
        entity_set: EntitySet[Account_co, E],
        *,
        max_concurrency: int = 8,
        max_per_second: float | None = None,
        window: int = 10_000,
    ) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        check_not_moved(entity_set, "BulkLoad")
        check_least("max_concurrency", max_concurrency, 1)
        check_least("window", window, 1)
        self.entity_set = entity_set.without_model()
        self._models = adapter_or_none(entity_set)
        self.max_concurrency = max_concurrency
        self.max_per_second = Pace(self.account, max_per_second)
        self.window = window

    @recipe
    async def load(
        self,
        entities: Iterable[E | Mapping[str, Any]],
        *,
        mode: Mode = "insert",
        progress: Callable[[Progress], None] | None = None,
        resume: str | None = None,
        retry_for: float = RETRY_FOR,
    ) -> LoadResult:
        """Write all entities of an input, and return the result.

        How to resume: docs/patterns/bulk_load.md.

        :param entities: fields or instances, as for `EntitySet.insert`; the input is read once, one window at a time
        :param mode: whether to reject or to replace existing entities, with all their properties. A resumed load with
            `insert` accepts an existing entity if it is equal
        :param progress: called before each window and after each chunk, from any thread but one call at a time
        :param resume: the token of an interrupted load of the same input into the same set
        :param retry_for: the seconds to keep retrying a chunk while others write the same rows
        :raises LoadInterrupted: the load stopped; `token` resumes it, `position` is the index of the entity that caused
            it, if any, and `__cause__` is the reason
        :raises BadToken: the token is invalid, or the input does not start with the same entities
        :raises BadInput: an argument has the wrong type or value
        """
        check_retry_for(retry_for)
        if isinstance(entities, Mapping):
            rule = "it must be an iterable of entities, not a dict with str in it"
            raise BadInput("entities", NOT_SHOWN, rule, "pass a list, also for one entity")
        key = self.entity_set.key
        digest = KeyDigest(self.entity_set.table.name.lower(), key.partition_template, key.row_template)
        mark = LoadPosition(digest.text()) if resume is None else LoadPosition.parse(resume)
        planner = Planner(self.entity_set, mode, self.max_per_second, resumed=resume is not None)
        run = _Run(self._fields(entities), digest, planner, Tally(mark, progress), retry_for)
        try:
            await self._write_window(run, await self._unfinished_window(run))
            while window := await self._next_window(run):
                await self._write_window(run, window)
        except BadToken:
            raise
        except LoadStopped as stopped:
            raise _interrupted(run.tally, stopped.error, stopped.position) from stopped.error
        except Exception as error:
            raise _interrupted(run.tally, error, None) from error
        return LoadResult(**vars(run.tally.progress))

    def _fields(self, entities: Iterable[E | Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for position, entity in enumerate(entities):
            with at_input(position):
                fields: Any = entity
                if self._models is not None:
                    if isinstance(entity, Mapping):
                        self._models.check(fields)
                    else:
                        fields = self._models.entity_of(entity)
            yield position, fields

    async def _unfinished_window(self, run: _Run) -> list[PlannedEntity]:
        """Return the unwritten entities of the interrupted window, if the input is the same."""
        mark = run.tally.mark
        unfinished: list[PlannedEntity] = []
        for position, entity in islice(run.input, mark.read):
            with at_input(position):
                run.digest.add(*primary_keys(self.entity_set, entity))
            if mark.is_open(position):
                unfinished.append(await run.planner.new(position, entity))
        if run.digest.text() != mark.digest:
            rule = "it is the token of another input or set"
            raise BadToken("resume", mark.text(), rule, "pass the same input from its start")
        return unfinished

    async def _next_window(self, run: _Run) -> list[PlannedEntity]:
        window: list[PlannedEntity] = []
        window_bytes = 0
        for position, entity in islice(run.input, self.window):
            entity_plan = await run.planner.new(position, entity)
            run.digest.add(*entity_plan.key)
            window.append(entity_plan)
            window_bytes += entity_plan.memory
            if window_bytes > _WINDOW_BYTES:
                break
        run.planner.check_duplicates(window)
        if window:
            run.tally.read(len(window), run.digest.text())
        return window

    async def _write_window(self, run: _Run, window: Sequence[PlannedEntity]) -> None:
        if run.planner.needs_stored:
            window = await self._replan(run, window)
        shares = defaultdict[str, list[PlannedEntity]](list)
        for entity_plan in window:
            shares[entity_plan.key[0]].append(entity_plan)
        # The slowest partition determines how long the window takes, so start with the largest
        largest_first = sorted(shares.values(), key=len, reverse=True)
        writes = [self._write_partition(run, share) for share in largest_first]
        await self.account.gather(*writes, max_concurrency=self.max_concurrency)
        if run.tally.failure:
            raise run.tally.failure

    async def _write_partition(self, run: _Run, plans: Sequence[PlannedEntity]) -> None:
        """Write the entities of one partition, chunk by chunk, until any partition fails."""
        run.tally.begin_partition()
        plan = PartitionPlan(run.planner, RowCache(self.entity_set.table, self.max_per_second), plans)
        try:
            while not (plan.is_written or run.tally.failure):
                await self._write_next(run, plan)
        except Exception as error:  # noqa: BLE001 - raised once every partition has finished its current chunk
            run.tally.fail(error)

    async def _write_next(self, run: _Run, plan: PartitionPlan) -> None:
        try:
            return await self._submit_next(run, plan)
        except LoadStopped as stopped:
            if not (run.planner.may_succeed_replanned(stopped.error) or isinstance(stopped.error, STALE_ROW_ERRORS)):
                raise
        return await contended(self.account, partial(self._submit_again, run, plan), run.retry_for)

    async def _submit_next(self, run: _Run, plan: PartitionPlan, most: int | None = None) -> None:
        chunk = await plan.chunk(most)
        plan.wrote(chunk, await self._submit(run, chunk))

    async def _submit_again(self, run: _Run, plan: PartitionPlan) -> None:
        """Write the entities of a rejected chunk, as many as still fit, based on what is stored now."""
        at_stake = plan.unconfirmed
        plan.renew(await self._replan(run, at_stake) if run.planner.looks_up else at_stake)
        if not plan.unconfirmed:
            return
        try:
            await self._submit_next(run, plan, len(plan.unconfirmed))
        except LoadStopped as stopped:
            if not run.planner.lost_race(stopped.error):
                raise
            raise Overtaken from stopped.error

    async def _replan(self, run: _Run, plans: Sequence[PlannedEntity]) -> list[PlannedEntity]:
        """Plan entities on what is stored now; those that exist already are left out."""
        groups = map(run.planner.stored_rows, run.planner.groups(plans))
        row_groups = await self.account.gather(*groups, max_concurrency=self.max_concurrency)
        rows = {key: row for group in row_groups for key, row in group.items()}
        calls = [run.planner.replan(plan, rows.get(plan.key)) for plan in plans]
        replanned = await self.account.gather(*calls, max_concurrency=self.max_concurrency)
        for before, after in zip(plans, replanned, strict=True):
            if after is None:
                run.tally.note_stored([before.position], already_stored=1)
        return [plan for plan in replanned if plan is not None]

    async def _submit(self, run: _Run, chunk: Chunk) -> list[Entity]:
        await self.max_per_second.turn()
        try:
            rows = await execute_steps(self.entity_set.table, chunk.steps, run.retry_for)
        except AzureError as error:
            raise LoadStopped(error, chunk.position_of(getattr(error, "index", None))) from error
        positions = [entity_plan.position for entity_plan in chunk.entities]
        run.tally.note_stored(positions, transactions=1, bytes=chunk.stored_bytes)
        return rows


@dataclass(frozen=True)
class LoadPosition:
    """Which entities of an input are known to be stored.

    All entities before `first` are. The entities from `first` to `read`, one window, are stored if their bit in `open`
    is 0; the lowest bit is that of `first`.

    :param digest: of the keys of all entities before `read`, to detect a different input
    """

    digest: str
    first: int = 0
    read: int = 0
    open: int = 0

    @property
    def done(self) -> int:
        return self.read - self.open.bit_count()

    def is_open(self, position: int) -> bool:
        """Return whether an entity that was read is not known to be stored."""
        return position >= self.first and bool(self.open >> (position - self.first) & 1)

    def with_window(self, size: int, digest: str) -> LoadPosition:
        """Return the position after reading the next window of `size` entities; all before it are stored."""
        return LoadPosition(digest, self.read, self.read + size, (1 << size) - 1)

    def with_done(self, positions: Collection[int]) -> LoadPosition:
        return replace(self, open=self.open & ~sum(1 << (position - self.first) for position in positions))

    def text(self) -> str:
        parts = [_VERSION, self.digest, self.first, self.read, f"{self.open:x}"]
        return base64.urlsafe_b64encode(zlib.compress(json.dumps(parts).encode())).decode("ascii")

    @classmethod
    def parse(cls, token: str) -> LoadPosition:
        try:
            text = zlib.decompress(base64.b64decode(token, altchars=b"-_", validate=True))
            version, digest, first, read, still_open = json.loads(text)
            mark = cls(digest, first, read, int(still_open, 16))
            is_sound = version == _VERSION and 0 <= first <= read and 0 <= mark.open < 1 << (read - first)
        except (TypeError, ValueError, zlib.error) as error:
            raise BadToken("resume", token, "it is not a token of a load", "pass one, or None to start") from error
        if not is_sound:
            raise BadToken("resume", token, "it is not a token of this version", "pass another, or None to start")
        return mark


class KeyDigest:
    """A running digest of the keys of an input, and of the names of the set."""

    def __init__(self, *names: str) -> None:
        self._hash = blake2b(digest_size=16)
        self.add(*names)

    def add(self, *texts: str) -> None:
        """Add a key; its texts are separated by a control character, which no key may contain."""
        self._hash.update("\0".join((*texts, "")).encode("utf-8", "surrogatepass"))

    def text(self) -> str:
        return self._hash.hexdigest()


@dataclass(frozen=True)
class Progress:
    """The progress of a load."""

    entities: int
    """How many entities of the input are stored, including those of earlier calls."""
    mark: LoadPosition = field(repr=False)
    already_stored: int = 0
    """How many entities this call found stored, because an earlier call lost the response to its write."""
    transactions: int = 0
    """How many entity group transactions this call has committed."""
    partitions: int = 0
    """How many partitions this call has started, counted per window."""
    bytes: int = 0
    """The stored size of the rows that this call wrote, including derived rows."""

    @property
    def token(self) -> str:
        """The token that resumes the load, also in another process."""
        return self.mark.text()


@dataclass(frozen=True)
class LoadResult(Progress):
    """The result of a completed load. Its token loads entities that are later appended to the same input."""

    atomicity: Literal["chunk"] = "chunk"
    """The unit that is written atomically: a chunk, which is one entity group transaction."""


class Tally:
    """The counts of one load; its partitions report from several threads or tasks."""

    def __init__(self, mark: LoadPosition, report: Callable[[Progress], None] | None) -> None:
        self.progress = Progress(mark.done, mark)
        self.failure: Exception | None = None
        """The first error; the other partitions stop after their current chunk."""
        self._report = report
        self._lock = threading.Lock()

    @property
    def mark(self) -> LoadPosition:
        return self.progress.mark

    def read(self, size: int, digest: str) -> None:
        self._change(replace(self.progress, mark=self.mark.with_window(size, digest)))

    def begin_partition(self) -> None:
        with self._lock:
            self.progress = replace(self.progress, partitions=self.progress.partitions + 1)

    def note_stored(self, positions: Collection[int], **counts: int) -> None:
        """Note that entities are stored, and add to counts of the progress."""
        with self._lock:
            mark = self.mark.with_done(positions)
            sums = {name: getattr(self.progress, name) + count for name, count in counts.items()}
            self._change(replace(self.progress, entities=mark.done, mark=mark, **sums))

    def fail(self, error: Exception) -> None:
        """Stop the load; the first error is the one that is raised."""
        with self._lock:
            self.failure = self.failure or error

    def _change(self, progress: Progress) -> None:
        self.progress = progress
        if self._report is not None:
            check_has_run("progress", self._report(progress))


def _interrupted(tally: Tally, error: Exception, position: int | None) -> LoadInterrupted:
    where = "" if position is None else f"entity {position} of the input: "
    reason = message_of(error) if isinstance(error, AzureError) else repr(error)
    text = f"{where}{reason}; {tally.mark.done} entities are stored; resume with the token of this error"
    cause = error if isinstance(error, HttpResponseError) else None
    return LoadInterrupted(text, cause, token=tally.mark.text(), position=position)
