"""Load a long input into a table in as few transactions as possible, and resume after a failure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, cast, get_args

from azure.core.exceptions import AzureError, HttpResponseError

from ...argument_types import checked
from ...entity import Entity
from ...entity_set.commit import carry_out
from ...entity_set.entity_set import EntitySet
from ...errors import BadInput, BadToken, LoadInterrupted, said
from ...limits import MAX_TRANSACTION_BYTES
from ...rate_limit import Pace
from ...recipe import Account_co, Pattern, recipe
from ...retry import RETRY_FOR, Overtaken, check_retry_for, contended
from .chunk import Chunk, Planned, chunks
from .plan import Mode, Planner, Stopped, at
from .progress import KeyDigest, Loaded, Mark, Progress, Tally
from .shared_rows import REFUSALS, KeptRows, Share

_WINDOW_BYTES = 32 * MAX_TRANSACTION_BYTES


@dataclass(frozen=True)
class _Run:
    """One call of `load`, and its progress."""

    input: Iterator[tuple[int, Mapping[str, Any]]]
    digest: KeyDigest
    planner: Planner
    tally: Tally
    retry_for: float


class BulkLoad(Pattern[Account_co]):
    """Load any number of entities into a set, with everything that the set derives from them.

    Use it for large inputs, such as millions of flights from a file, if the load must survive a lost connection or a
    crash.

    >>> from tablepatterns import BulkLoad, EntitySet, IntraPartitionIndex, Key, connect
    >>> by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    >>> employees = EntitySet(
    ...     connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email]
    ... )
    >>> staff = ({"Department": "Sales", "EmployeeId": n, "Email": f"{n}@contoso.com"} for n in range(1000))
    >>> loaded = BulkLoad(employees).load(staff)
    >>> loaded.entities, loaded.transactions, loaded.atomicity
    (1000, 20, 'chunk')

    The input is read in windows, and the entities of a window are grouped by PartitionKey. An input that is sorted by
    PartitionKey gives the fullest transactions.

    Consistency: a chunk is one entity group transaction, and is written as a whole or not at all; the load is not
    atomic, and readers see a part of it while it runs. An entity and its derived rows are always in one chunk. The
    entities of a partition are written in the order of the input, one chunk at a time. A window is validated before any
    of its entities is sent. After an error, resume from the error's token; after a crash, from the token of a progress
    report that you saved. Entities that are in the table already are not written twice. If others write the same
    entities, a resumed load takes equal existing entities for its own.

    Cost: for each window and partition, the number of rows (derived ones included) / 100 storage transactions, rounded
    up; more if entities are large or written repeatedly. A row that entities share, such as a list or a total, is read
    once per window, and written once per chunk with a part in it. `insert_or_replace` reads each entity first if the
    set derives anything. After losing a race, and on resuming for each chunk with an unknown outcome, 1 failed
    transaction, and up to 1 point query for each entity and shared row.

    :param into: the set to load
    :param max_concurrency: how many partitions are written at a time
    :param max_per_second: requests per second of all loads of this object, evenly spaced; None for no limit
    :param window: how many entities are read before they are grouped by partition; a window of large entities is closed
        before it takes some hundred megabytes, values that go to blobs included
    :raises BadInput: one of the numbers is not above zero

    Guide: entity group transactions; writing efficiently.
    """

    @checked
    def __init__(
        self,
        into: EntitySet[Account_co],
        *,
        max_concurrency: int = 8,
        max_per_second: float | None = None,
        window: int = 10_000,
    ) -> None:
        super().__init__(cast("Account_co", into.account))
        for name, number in (("max_concurrency", max_concurrency), ("window", window)):
            if number < 1:
                raise BadInput(name, number, "there must be at least one", "give 1 or more")
        self.into = into
        self.max_concurrency = max_concurrency
        self.max_per_second = Pace(self.account, max_per_second)
        self.window = window

    @recipe
    async def load(
        self,
        entities: Iterable[Mapping[str, Any]],
        *,
        mode: Mode = "insert",
        progress: Callable[[Progress], None] | None = None,
        resume: str | None = None,
        retry_for: float = RETRY_FOR,
    ) -> Loaded:
        """Write all the entities of an input, and return the result.

        An empty input takes no request. For consistency and cost see the class.

        >>> from tablepatterns import EntitySet, Key, connect
        >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        >>> staff = [{"Department": "Sales", "EmployeeId": number} for number in (1, 2, 3, None, 5)]
        >>> load = BulkLoad(employees, window=2)
        >>> try:
        ...     load.load(staff)
        ... except LoadInterrupted as stopped:
        ...     token, position = stopped.token, stopped.position
        >>> staff[position]["EmployeeId"] = 4
        >>> load.load(staff, resume=token)
        Loaded(entities=5, recognised=0, transactions=2, partitions=2, bytes=102, atomicity='chunk')

        :param entities: fields, as `EntitySet.insert` takes them; the input is read once, and never held as a whole
        :param mode: whether to reject or to replace entities that exist. In a resumed load, `insert` compares an entity
            that may exist already, and `insert_or_replace` writes it again
        :param progress: called before each window and after each chunk, from any thread but one call at a time; the
            `token` of its argument resumes the load from there
        :param resume: the token of a load of the same input into the same set, to continue it
        :param retry_for: for how many seconds to retry a chunk while others write the same rows
        :raises LoadInterrupted: the load stopped; `token` resumes it, `position` is that of the entity that caused it,
            and `__cause__` is the reason: a `BadInput`, an `EntityAlreadyExists`, an error of the SDK, or an error that
            the input or `progress` raised
        :raises BadToken: the token is invalid, or the input does not begin with the same entities
        :raises BadInput: there is no such mode

        Guide: entity group transactions; writing efficiently.
        """
        if mode not in get_args(Mode):
            raise BadInput("mode", mode, f"the modes are {' and '.join(get_args(Mode))}", "give one of them")
        check_retry_for(retry_for)
        run = self._run(entities, mode, progress, resume, retry_for)
        try:
            await self._write_window(run, await self._left_over(run))
            while planned := await self._next_window(run):
                await self._write_window(run, planned)
        except BadToken:
            raise
        except Stopped as stopped:
            raise _interrupted(run.tally, stopped.error, stopped.position) from stopped.error
        except Exception as error:
            raise _interrupted(run.tally, error, None) from error
        return Loaded(**vars(run.tally.progress))

    def _run(
        self,
        entities: Iterable[Mapping[str, Any]],
        mode: Mode,
        progress: Callable[[Progress], None] | None,
        resume: str | None,
        retry_for: float,
    ) -> _Run:
        key = self.into.key
        digest = KeyDigest(self.into.table.name.lower(), key.partition_template, key.row_template)
        mark = Mark(digest.text()) if resume is None else Mark.parse(resume)
        planner = Planner(self.into, mode, self.max_per_second, resumed=resume is not None)
        return _Run(enumerate(entities), digest, planner, Tally(mark, progress), retry_for)

    async def _left_over(self, run: _Run) -> list[Planned]:
        """Return the unwritten entities of the interrupted window, if the input is the same."""
        mark = run.tally.mark
        planned: list[Planned] = []
        for position, entity in islice(run.input, mark.read):
            with at(position):
                run.digest.add(*self.into.key.format(self.into.primary.key_fields(entity)))
            if mark.is_open(position):
                planned.append(await run.planner.new(position, entity))
        if run.digest.text() != mark.digest:
            rule = "a token resumes the load of one input into one set, and this input does not begin as that one did"
            raise BadToken("resume", mark.text(), rule, "give the same input from its beginning")
        return planned

    async def _next_window(self, run: _Run) -> list[Planned]:
        planned: list[Planned] = []
        held = 0
        for position, entity in islice(run.input, self.window):
            each = await run.planner.new(position, entity)
            run.digest.add(*each.key)
            planned.append(each)
            held += each.memory
            if held > _WINDOW_BYTES:
                break
        run.planner.check_together(planned)
        if planned:
            run.tally.read(len(planned), run.digest.text())
        return planned

    async def _write_window(self, run: _Run, planned: Sequence[Planned]) -> None:
        if run.planner.needs_stored:
            planned = await self._planned_anew(run, planned)
        shares = defaultdict[str, list[Planned]](list)
        for each in planned:
            shares[each.key[0]].append(each)
        # The slowest partition determines how long the window takes, so start with the largest
        largest_first = sorted(shares.values(), key=len, reverse=True)
        await self.account.gather(
            *(self._write_share(run, share) for share in largest_first), max_concurrency=self.max_concurrency
        )
        if run.tally.failure:
            raise run.tally.failure

    async def _write_share(self, run: _Run, planned: Sequence[Planned]) -> None:
        """Write the entities of one partition, chunk by chunk, until any partition fails."""
        run.tally.begin_partition()
        try:
            await (self._write_sharing if run.planner.shares_rows else self._write_apart)(run, planned)
        except Exception as error:  # noqa: BLE001 - raised when every partition has ended the chunk it is at
            run.tally.fail(error)

    async def _write_apart(self, run: _Run, planned: Sequence[Planned]) -> None:
        for chunk in chunks(planned):
            if run.tally.failure:
                return
            await self._write(run, chunk)

    async def _write_sharing(self, run: _Run, planned: Sequence[Planned]) -> None:
        """Write entities that share rows, planning each chunk on the rows that the previous chunks left."""
        share = Share(run.planner, KeptRows(self.into.table, self.max_per_second), planned)
        while not (share.is_written or run.tally.failure):
            await self._write_next(run, share)

    async def _write_next(self, run: _Run, share: Share) -> None:
        try:
            return await self._submit_next(run, share)
        except Stopped as stopped:
            if not (run.planner.may_help(stopped.error) or isinstance(stopped.error, REFUSALS)):
                raise
        return await contended(self.account, partial(self._submit_again, run, share), run.retry_for)

    async def _submit_next(self, run: _Run, share: Share, most: int | None = None) -> None:
        chunk = await share.chunk(most)
        share.wrote(chunk, await self._submit(run, chunk))

    async def _submit_again(self, run: _Run, share: Share) -> None:
        """Write the entities of a rejected chunk, as many as still fit, based on what is stored now."""
        at_stake = share.at_stake
        share.renew(await self._planned_anew(run, at_stake) if run.planner.looks_up else at_stake)
        if not share.at_stake:
            return
        with _giving_way(run.planner):
            await self._submit_next(run, share, len(share.at_stake))

    async def _write(self, run: _Run, chunk: Chunk) -> None:
        """Write a chunk as planned, or plan it again if what is stored has changed."""
        if not chunk.follows:
            try:
                await self._submit(run, chunk)
            except Stopped as stopped:
                if not run.planner.may_help(stopped.error):
                    raise
            else:
                return
        await contended(self.account, partial(self._write_anew, run, chunk.entities), run.retry_for)

    async def _write_anew(self, run: _Run, planned: Sequence[Planned]) -> None:
        left = [each for each in planned if run.tally.mark.is_open(each.position)]
        with _giving_way(run.planner):
            for chunk in chunks(await self._planned_anew(run, left)):
                await self._submit(run, chunk)

    async def _planned_anew(self, run: _Run, planned: Sequence[Planned]) -> list[Planned]:
        """Plan entities on what is stored now; those that exist already are left out."""
        anew = await self.account.gather(
            *(run.planner.anew(each) for each in planned), max_concurrency=self.max_concurrency
        )
        for before, after in zip(planned, anew, strict=True):
            if after is None:
                run.tally.recognised(before.position)
        return [each for each in anew if each is not None]

    async def _submit(self, run: _Run, chunk: Chunk) -> list[Entity]:
        await self.max_per_second.turn()
        try:
            written = await carry_out(self.into.table, chunk.steps, run.retry_for)
        except AzureError as error:
            raise Stopped(error, chunk.position_of(getattr(error, "index", None))) from error
        run.tally.committed([each.position for each in chunk.entities], chunk.stored_bytes)
        return written


@contextmanager
def _giving_way(planner: Planner) -> Generator[None, None, None]:
    """Retry after losing a race."""
    try:
        yield
    except Stopped as stopped:
        if not planner.was_overtaken(stopped.error):
            raise
        raise Overtaken from stopped.error


def _interrupted(tally: Tally, error: Exception, position: int | None) -> LoadInterrupted:
    where = "" if position is None else f"entity {position} of the input: "
    what = said(error) if isinstance(error, AzureError) else repr(error)
    text = f"{where}{what}; {tally.mark.done} entities are in the table; resume with the token of this error"
    cause = error if isinstance(error, HttpResponseError) else None
    return LoadInterrupted(text, cause, token=tally.mark.text(), position=position)
