"""Run work over ranges of keys in parallel: in threads, processes, or on a cluster of another library.

The result does not depend on the number of workers, on their deaths, or on the order in which ranges are finished.
"""

from __future__ import annotations

import asyncio
import functools
import pickle
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from multiprocessing import get_context
from threading import Event
from time import monotonic
from typing import Any, Final, Protocol, TypeVar

from ..argument_types import check_least, checked
from ..errors import BadInput, EntityAlreadyExists, RangesFailed, message_of
from ..rate_limit import Pool
from ..recipe import BlockingAccount, bound_async, finish, identity_of
from .ranges import PageReader, RowRange, split

ReportT = TypeVar("ReportT")
ReportT_co = TypeVar("ReportT_co", covariant=True)

_TRIES: Final = 10
_LONGEST_PAUSE: Final = 10.0
_RANGES_PER_WORKER: Final = 4
_EAGER: Final = 0.1
"""The part of its time that a task gets while no range waits, so that idle workers soon get a part of it."""


class RangeWork(Protocol[ReportT_co]):
    """Work on the rows of some tables; see `Walk`."""

    name: str
    tables: Sequence[PageReader]

    async def process_range(
        self, rows: RowRange, page_size: int, has_time: Callable[[], bool]
    ) -> tuple[ReportT_co, list[RowRange]]: ...


Call = Callable[..., Any]
"""Does the work on the object of `source`, with the keywords `workers` and `max_per_second`; it can be pickled."""


def call_method(source: Any, *, name: str, of: Callable[[Any], Any] | None = None, **options: Any) -> Any:
    """Do the work of a method in another process: of its source, or of what `of` makes of that."""
    return getattr(source if of is None else of(source), name)(**options)


class Workers:
    """Run a job in parallel: in threads or tasks of this process, in processes, or on a cluster.

    The table is split into ranges of keys without being read. A range that takes longer than `seconds` is split again,
    also within a large partition. If a process dies, its range is started again.

    >>> from tablepatterns import EntitySet, IntraPartitionIndex, Key, connect
    >>> from tablepatterns.jobs import Workers, verify
    >>> by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "{EmployeeId:06d}"), derived=[by_email])
    >>> verify(employees, by_email, workers=Workers(4)).is_clean
    True

    With processes, `source` is a function of a module, which each process calls once. It reads keys from the
    environment, so that no key is sent to another process:

        def employees() -> EntitySet: return EntitySet(connect("env"), ...)

        verify(employees(), by_email, workers=Workers(4, source=employees))

    On a Dask cluster: `Workers(64, source=employees, executor=client.get_executor)`.

    Cost: about 1 transaction for each range, beyond that of the job.

    :param count: how many ranges are worked on at a time
    :param source: returns the set, or whatever the job works on; None to work in this process
    :param executor: returns an executor for one worker, and another one if it breaks; by default, a process
    :param seconds: how long to work on a range before the rest of it is given back
    :raises BadInput: the count is not above zero, or the source cannot be sent to another process
    """

    @checked
    def __init__(
        self,
        count: int,
        *,
        source: Callable[[], Any] | None = None,
        executor: Callable[[], Executor] | None = None,
        seconds: float = 30.0,
    ) -> None:
        check_least("workers", count, 1)
        self.count = count
        self.source = source
        self.executor = executor or _one_process
        self.seconds = seconds
        self.pickled = b""
        """The source as it is sent to other processes."""
        if source is not None:
            try:
                self.pickled = pickle.dumps(source)
            except (AttributeError, TypeError, pickle.PicklingError) as error:
                rule = "it is sent to other processes by its name"
                raise BadInput("source", source, rule, "pass a function of a module") from error

    @staticmethod
    def of(workers: int | Workers | None) -> Workers | None:
        return Workers(workers) if isinstance(workers, int) else workers


class OneRange(Workers):
    """The part of a job that a worker does: one range.

    :param left: the ranges that are left when time is up
    """

    def __init__(self, name: str, rows: RowRange, seconds: float) -> None:
        super().__init__(1, seconds=seconds)
        self.name = name
        self.rows = rows
        self.left: list[RowRange] = []
        self.report: Any = None

    async def process(self, work: RangeWork[ReportT], page_size: int) -> ReportT:
        if work.name != self.name:
            rule = f"it returns an object for the work {work.name!r}, and the job is {self.name!r}"
            raise BadInput("source", work.name, rule, "let it return the object of which the job was called")
        deadline = monotonic() + self.seconds
        report, self.left = await work.process_range(self.rows, page_size, lambda: monotonic() < deadline)
        self.report = report
        return report


@dataclass(frozen=True)
class _Outcome:
    """What became of a task.

    :param error: why it failed, or None
    :param is_final: whether trying again cannot help
    """

    report: Any = None
    left: tuple[RowRange, ...] = ()
    error: str | None = None
    is_final: bool = False


@dataclass(frozen=True)
class Task:
    """The work on one range, as it is sent to another process: it holds no key and no connection."""

    source: bytes
    account: str
    call: Call
    name: str
    rows: RowRange
    seconds: float
    pause: float
    options: Mapping[str, Any]

    def __call__(self) -> _Outcome:
        """Do the work, in the process of the worker; errors are returned, since not every error can be sent."""
        try:
            subject = _load_source(self.source)
            if identity_of(subject.account) != self.account:
                rule = f"it is on the account {identity_of(subject.account)}, and the job on {self.account}"
                raise BadInput("source", type(subject).__name__, rule, "connect all processes to the same account")
            part = OneRange(self.name, self.rows, self.seconds)
            work = _after_pause(bound_async(subject), self, part)
            if isinstance(subject.account, BlockingAccount):
                finish(work)
            else:
                _loop().run_until_complete(work)
        except Exception as error:  # noqa: BLE001 - reported by the process that sent the task
            return _failure(error)
        return _Outcome(part.report, tuple(part.left))


async def _after_pause(subject: Any, task: Task, part: OneRange) -> None:
    if task.pause:
        await subject.account.sleep(task.pause)
    await task.call(subject, workers=part, **task.options)


@functools.lru_cache(maxsize=8)
def _load_source(source: bytes) -> Any:
    subject = pickle.loads(source)()  # noqa: S301 - written by the process that sent the task
    if getattr(subject.account, "engine", None) is not None:
        rule = "it returns a set of an account in memory, which no other process can read"
        raise BadInput("source", type(subject).__name__, rule, "connect it to an account, or leave the source out")
    return subject


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process: connections belong to the loop in which they were opened."""
    return asyncio.new_event_loop()


def _failure(error: BaseException) -> _Outcome:
    is_final = isinstance(error, (BadInput, EntityAlreadyExists))
    return _Outcome(error=f"{type(error).__name__}: {message_of(error)}", is_final=is_final)


def _one_process() -> Executor:
    # Not forked: threads of this process may hold locks
    # Ctrl+C reaches all processes of a terminal: this one decides what ends
    ignore_interrupts = signal.SIGINT, signal.SIG_IGN
    return ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=signal.signal, initargs=ignore_interrupts
    )


@dataclass
class Run:
    """One run of a job: ranges wait, are worked on, are given back, or fail.

    :param on_done: called after each task with its range, its report, and all ranges that are not done
    """

    workers: Workers
    work: RangeWork[Any]
    pool: Pool
    call: Call | None
    on_done: Callable[[RowRange, Any, list[RowRange]], None]
    waiting: deque[RowRange]
    _running: dict[Any, tuple[RowRange, Executor | None]] = field(default_factory=dict[Any, Any])
    _idle: list[Executor] = field(default_factory=list[Executor])
    _tries: dict[RowRange, int] = field(default_factory=dict[RowRange, int])
    _errors: dict[RowRange, str] = field(default_factory=dict[RowRange, str])
    _stopping: Event = field(default_factory=Event)

    async def finish(self, token_of: Callable[[Sequence[RowRange]], str | None]) -> None:
        """Work on all ranges.

        :raises RangesFailed: some ranges failed at each of ten tries; the others are done
        """
        is_complete = False
        try:
            await self._share(list(self.waiting), self.workers.count * _RANGES_PER_WORKER)
            while self.waiting or self._running:
                while self.waiting and len(self._running) < (1 if self._is_inline else self.workers.count):
                    await self._start(self.waiting.popleft())
                for task in await self._first_done():
                    await self._take(task)
            is_complete = True
        finally:
            await self._stop(wait=is_complete or self.workers.source is None)
        if self._errors:
            raise RangesFailed(list(self._errors.values()), token_of(self._not_done) or "")

    async def _stop(self, *, wait: bool) -> None:
        """End what still runs after an error, and all executors.

        :param wait: whether to wait for what runs; threads end with their page
        """
        self._stopping.set()
        for task in self._running:
            task.cancel()
        if not self._is_blocking and self._running:
            await asyncio.wait(self._running)
        for executor in [*self._idle, *(executor for _, executor in self._running.values())]:
            if executor is not None:
                executor.shutdown(wait=wait)

    @property
    def _is_inline(self) -> bool:
        """Whether ranges are worked on one after the other: requests in memory take no time."""
        is_alone = self.workers.count == 1 or getattr(self.pool.account, "engine", None) is not None
        return self.workers.source is None and is_alone

    @property
    def _is_blocking(self) -> bool:
        return isinstance(self.pool.account, BlockingAccount)

    @property
    def _not_done(self) -> list[RowRange]:
        return [*self.waiting, *(rows for rows, _ in self._running.values()), *self._errors]

    async def _share(self, ranges: Sequence[RowRange], wanted: int) -> None:
        """Let ranges wait, split so that each worker gets some."""
        self.waiting.clear()
        for rows in ranges:
            table = self.work.tables[rows.table]
            parts = [rows] if self._is_inline or not can_filter(table) else await split(table, rows, wanted)
            self.waiting.extend(parts)

    async def _start(self, rows: RowRange) -> None:
        tries = self._tries.get(rows, 0)
        pause = min(0.1 * 2**tries, _LONGEST_PAUSE) if tries else 0.0
        seconds = self.workers.seconds * (1 if self.waiting or self._is_inline else _EAGER)
        if self.workers.source is not None and self.call is not None:
            per_second = self.pool.max_per_second
            options = {"max_per_second": None if per_second is None else per_second / self.workers.count}
            source, account = self.workers.pickled, identity_of(self.pool.account)
            task = Task(source, account, self.call, self.work.name, rows, seconds, pause, options)
            executor, future = self._submit(task)
            self._running[future if self._is_blocking else asyncio.wrap_future(future)] = rows, executor
            return
        if self._is_inline:
            done = Future[_Outcome]()
            done.set_result(await self._process_here(rows, seconds, pause))
            self._running[done] = rows, None
        elif self._is_blocking:
            executor = self._idle.pop() if self._idle else ThreadPoolExecutor(1)
            # In the thread: a coroutine of a call that is canceled would never be awaited
            future = executor.submit(copy_context().run, lambda: finish(self._process_here(rows, seconds, pause)))
            self._running[future] = rows, executor
        else:
            self._running[asyncio.ensure_future(self._process_here(rows, seconds, pause))] = rows, None

    def _submit(self, task: Task) -> tuple[Executor, Future[_Outcome]]:
        while self._idle:
            executor = self._idle.pop()
            # Its process may have died since its last task
            with suppress(futures.BrokenExecutor):
                return executor, executor.submit(task)
        executor = self.workers.executor()
        return executor, executor.submit(task)

    async def _process_here(self, rows: RowRange, seconds: float, pause: float) -> _Outcome:
        if pause:
            await self.pool.account.sleep(pause)
        deadline = monotonic() + seconds
        try:
            report, left = await self.work.process_range(
                rows, self.pool.pace.page_size, lambda: monotonic() < deadline and not self._stopping.is_set()
            )
        except BadInput:
            # The caller's mistake, which no other range can avoid
            raise
        except Exception as error:  # noqa: BLE001 - reported with the others, in the end
            return _failure(error)
        return _Outcome(report, tuple(left))

    async def _first_done(self) -> list[Any]:
        if self._is_inline:
            return list(self._running)
        if self._is_blocking:
            return list(futures.wait(self._running, return_when=futures.FIRST_COMPLETED).done)
        done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        return list(done)

    async def _take(self, task: Any) -> None:
        rows, executor = self._running.pop(task)
        try:
            outcome: _Outcome = task.result()
        except futures.BrokenExecutor:
            outcome = _Outcome(error="a worker process died")
            if executor is not None:
                executor.shutdown(wait=False)
                executor = None
        except Exception as error:
            # Errors of the work are returned; this one is of the cluster, such as Dask's for a worker that died
            if self.workers.source is None:
                raise
            outcome = _failure(error)
        if executor is not None:
            self._idle.append(executor)
        if outcome.error is not None:
            self._tries[rows] = self._tries.get(rows, 0) + 1
            if outcome.is_final or self._tries[rows] == _TRIES:
                self._errors[rows] = outcome.error
            else:
                self.waiting.append(rows)
            return
        has_idle_workers = len(self.waiting) + len(self._running) < self.workers.count
        if outcome.left and has_idle_workers:
            waiting = list(self.waiting)
            await self._share(outcome.left, self.workers.count)
            self.waiting.extend(waiting)
        else:
            self.waiting.extend(outcome.left)
        self.on_done(rows, outcome.report, self._not_done)


def can_filter(table: PageReader) -> bool:
    """Whether a reader has filters; rows in blobs have none, so that their table is one range."""
    return not getattr(table, "is_unfiltered", False)
