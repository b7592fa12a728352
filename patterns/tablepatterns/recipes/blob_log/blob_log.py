"""Keep log data in append blobs, one hour each, instead of in tables; also that of Python's `logging`."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Final, cast
from uuid import UUID, uuid4

from ... import limits
from ...argument_types import check_least, checked
from ...errors import BadDesign, BadInput, BlobChanged, LimitExceeded
from ...recipe import Account, Account_co, BlockingAccount, Pattern, bound_async, is_sync, recipe, stream
from ...sdk.container import BlobFacts, Container
from .entry import HOUR, LogEntry, LogName, check_service, in_utc, is_level, moment_of, prefixes
from .writer import BLOCK_BYTES, Block, Buffer, Line, Segment, Segments, blocks

PIECE_BYTES: Final = 4 * limits.MIB
_ATTEMPTS: Final = 5
_DELETED_TOGETHER: Final = 100


class BlobLog(Pattern[Account_co]):
    """Keep log data in blobs, and read it by time span and level.

    Use it for logs and events that are read by time, such as all errors between 15:04 and 15:06.

    >>> from datetime import timezone
    >>> from tablepatterns import connect
    >>> log = BlobLog(connect(), "logs", "queue")
    >>> for minute, level in ((3, "ERROR"), (4, "INFO"), (5, "CRITICAL"), (7, "ERROR")):
    ...     _ = log.append(level, f"minute {minute}", at=datetime(2014, 7, 31, 15, minute, tzinfo=timezone.utc))
    >>> log.flush()
    4
    >>> span = [datetime(2014, 7, 31, 15, minute, tzinfo=timezone.utc) for minute in (4, 6)]
    >>> [entry.message for entry in log.between(*span, levels=["ERROR", "CRITICAL"])]
    ['minute 5']

    Consistency: once `flush` has returned, or `append` with `write_through`, an entry is read exactly once, in time
    order. A crash loses the entries in the buffer: at most `flush_count` entries and `flush_bytes`. There is no
    background thread: only `append` checks `flush_age`. More: docs/patterns/blob_log.md.

    Cost: `flush` 1 blob write transaction, equivalent to 139 table operations, for each hour and 4 MiB; the first of an
    hour 2 blob write transactions, equivalent to 278 table operations, and three more while others began blobs in the
    hour; where `last` is passed, once in `ahead`, 1 blob write + 1 other blob transactions, equivalent to 150 table
    operations. A flush costs the same for one entry as for thousands: let the buffer fill.

    :param account: where the container is
    :param container: the container's name; the first write creates it
    :param service: what is logged; the prefix of the blobs' names
    :param write_through: whether `append` writes each entry at once, rather than to the buffer
    :param flush_count: how many entries the buffer holds
    :param flush_bytes: how many bytes it holds
    :param flush_age: the age of the oldest entry at which an append writes the buffer
    :param ahead: how far a blob's `last` may lie after its last entry. Zero keeps the metadata exact, at one more
        transaction per write
    :param blob_bytes: the size at which a blob is full
    :param blob_blocks: the number of writes after which a blob is full, at most 50,000
    :raises BadInput: a name or a number is out of range

    Guide: log data anti-pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        container: str,
        service: str,
        *,
        write_through: bool = False,
        flush_count: int = 1000,
        flush_bytes: int = 1 * limits.MIB,
        flush_age: timedelta = timedelta(seconds=10),
        ahead: timedelta = timedelta(minutes=1),
        blob_bytes: int = 64 * limits.MIB,
        blob_blocks: int = limits.MAX_BLOCKS,
    ) -> None:
        super().__init__(account)
        for name, number in (("flush_count", flush_count), ("flush_bytes", flush_bytes), ("blob_bytes", blob_bytes)):
            check_least(name, number, 1)
        for name, time in (("flush_age", flush_age), ("ahead", ahead)):
            if time < timedelta(0):
                raise BadInput(name, time, "it must not be negative", "pass zero or more")
        if not 1 <= blob_blocks <= limits.MAX_BLOCKS:
            rule = f"a blob has 1 to {limits.MAX_BLOCKS:,} blocks"
            raise BadInput("blob_blocks", blob_blocks, rule, "pass a number in this range")
        self.container = account.container(container)
        self.service = check_service(service)
        self.write_through = write_through
        self.ahead = ahead
        self.flush_count, self.flush_bytes, self.flush_age = flush_count, flush_bytes, flush_age
        self.blob_bytes, self.blob_blocks = blob_bytes, blob_blocks
        self._buffer = Buffer(flush_count, flush_bytes, flush_age)
        self._segments = Segments(blob_bytes, blob_blocks)

    @recipe
    async def append(
        self,
        level: str,
        message: str,
        *,
        fields: Mapping[str, str] | None = None,
        at: datetime | None = None,
        entry_id: UUID | None = None,
    ) -> LogEntry:
        """Add an entry to the buffer, or with `write_through` to the blob, and return it.

        If the buffer is full, or holds an entry older than `flush_age`, it is written first. If that fails, its entries
        stay in the buffer, and this entry is not added. If you append an entry again with the same instant and id, it
        is read once. Cost: none, or that of a flush of the previous buffer; with `write_through`, that of a flush: 1
        blob write transaction, equivalent to 139 table operations.

        :param at: an aware datetime; None for now, by the account's clock
        :param entry_id: a unique id; None to generate one
        :raises BadInput: the level, the instant or a text is invalid
        :raises LimitExceeded: the entry is longer than 4 MiB

        The other parameters are those of `LogEntry`.
        """
        now = self.account.now()
        entry = LogEntry(at or now, level, message, fields or {}, entry_id or uuid4())
        line = Line(entry.at, entry.level, f"{entry.line()}\n".encode(), now)
        if len(line.content) > BLOCK_BYTES:
            rule = f"an entry has at most {BLOCK_BYTES:,} bytes, and this has {len(line.content):,}"
            raise LimitExceeded("message", message, rule, "store the content in a blob, and log the blob's name")
        if self.write_through:
            await self._write(Block([line]))
        else:
            if self._buffer.is_due(line):
                await self.flush()
            self._buffer.add(line)
        return entry

    @recipe
    async def flush(self) -> int:
        """Write the buffer, and return how many entries were written.

        After an error, entries that were not written are back in the buffer for the next flush. Cost: 1 blob write
        transaction, equivalent to 139 table operations, for each hour and 4 MiB, and what the class says of new blobs
        and metadata.
        """
        lines = self._buffer.take()
        waiting_blocks = list(blocks(lines))
        try:
            while waiting_blocks:
                await self._write(waiting_blocks[0])
                waiting_blocks.pop(0)
        finally:
            self._buffer.put_back(line for block in waiting_blocks for line in block.lines)
        return len(lines)

    @recipe
    async def close(self) -> int:
        """Flush, make the metadata of the blobs exact, and return how many entries were flushed.

        You may use the log again; it then starts new blobs. Cost: that of a flush, and 1 other blob transaction,
        equivalent to 11 table operations, for each blob whose `last` lies after its last entry.
        """
        flushed = await self.flush()
        for segment in self._segments.take_all():
            exact = replace(segment.coverage, last=segment.last)
            if exact != segment.coverage:
                # A blob that has been deleted needs no metadata
                with suppress(BlobChanged):
                    await self.container.describe(str(segment.name), exact.metadata())
        return flushed

    @stream
    async def between(
        self, earliest: datetime, latest: datetime | None = None, *, levels: Collection[str] | None = None
    ) -> AsyncIterator[LogEntry]:
        """Yield the entries from `earliest` to `latest`, both included, in time order.

        Entries in a buffer are not read. Memory: 4 MiB for each open blob of an hour. Cost: 1 blob read + 1 blob list
        transactions, equivalent to 150 table operations, for an hour of one blob; else a list for each hour, or each
        whole day, month or year, and a read for each 4 MiB of each blob whose metadata allows a match.

        :param earliest: an aware datetime
        :param latest: an aware datetime; None for now, by the account's clock
        :param levels: the levels to read, such as `["ERROR", "CRITICAL"]`; None for all
        :raises BadInput: an instant has no time zone, or a line of a blob is not a log entry
        """
        begin, end = in_utc("earliest", earliest), in_utc("latest", latest or self.account.now())
        entry_filter = _EntryFilter(begin, end, None if levels is None else frozenset(levels))
        for prefix in prefixes(self.service, begin, end):
            hour: list[_Blob] = []
            async for name, facts in self._blobs(prefix):
                if hour and name.hour != hour[0].name.hour:
                    async for entry in _merge_entries(hour):
                        yield entry
                    hour = []
                if facts.size and not entry_filter.rules_out(facts.metadata):
                    hour.append(_Blob(self.container, name, facts, entry_filter))
            async for entry in _merge_entries(hour):
                yield entry

    @recipe
    async def drop_before(self, moment: datetime) -> int:
        """Delete the blobs of all hours that ended by `moment`, and return how many.

        The hour that contains `moment` is kept. Cost: 1 blob list + 1 blob delete transactions, equivalent to 139 table
        operations, for one blob; a list for each 5,000 blobs, and deletions are free.

        :param moment: an aware datetime
        :raises BadInput: it has no time zone
        """
        end = in_utc("moment", moment)
        expired_names: list[str] = []
        async for name, facts in self._blobs(f"{self.service}/"):
            if name.hour + HOUR > end:
                break
            expired_names.append(facts.name)
        names = iter(expired_names)
        dropped = 0
        while batch := list(islice(names, _DELETED_TOGETHER)):
            dropped += sum(await self.account.gather(*map(self.container.delete, batch), independent=True))
        return dropped

    async def _blobs(self, prefix: str) -> AsyncIterator[tuple[LogName, BlobFacts]]:
        async for facts in self.container.blobs(prefix):
            if (name := LogName.parse(facts.name)) is not None:
                yield name, facts

    async def _write(self, block: Block) -> None:
        for _ in range(_ATTEMPTS):
            segment = self._segments.take(block) or await self._begin(block)
            if await segment.add(self.container, block, self.ahead):
                self._segments.give_back(segment)
                return
        hint = "do not change or delete the log's blobs in other programs"
        raise BlobChanged(f"{_ATTEMPTS} blobs under {block.hour:%Y/%m/%d/%H00} changed while written; {hint}")

    async def _begin(self, block: Block) -> Segment:
        """Create a blob with the next free number of the hour."""
        coverage = block.coverage(self.ahead)
        while True:
            name = LogName(self.service, block.hour, self._segments.next_number(block.hour))
            created = await self.container.create_append(str(name), metadata=coverage.metadata())
            self._segments.note_number(name.hour, name.number)
            if created:
                return Segment(name, coverage, block.first)
            # Each retry means that another writer took a number, so this ends; listing skips all taken numbers
            async for other_name, _ in self._blobs(name.prefix):
                self._segments.note_number(other_name.hour, other_name.number)

    def __enter__(self: BlobLog[BlockingAccount]) -> BlobLog[BlockingAccount]:
        return self

    def __exit__(self: BlobLog[BlockingAccount], *error: object) -> None:
        self.close()

    async def __aenter__(self) -> BlobLog[Account_co]:
        return self

    async def __aexit__(self, *error: object) -> None:
        await cast("BlobLog[Account]", bound_async(self)).close()


class BlobLogHandler(logging.Handler):
    """Write the records of Python loggers to a blob log.

    >>> from tablepatterns import connect
    >>> log = BlobLog(connect(), "logs", "shop")
    >>> logger = logging.getLogger("shop.orders")
    >>> logger.propagate = False
    >>> handler = BlobLogHandler(log)
    >>> logger.addHandler(handler)
    >>> start = log.account.now()
    >>> logger.warning("order %d is late", 4711)
    >>> logger.error("order %d is lost", 4712)
    >>> [(entry.level, entry.message) for entry in log.between(start)]
    [('WARNING', 'order 4711 is late'), ('ERROR', 'order 4712 is lost')]
    >>> logger.removeHandler(handler)

    An entry has the record's level name, the text that the handler's formatter returns, tracebacks included, the field
    `logger`, and an instant of the clock of the log's account.

    The handler is thread-safe. Records of the Azure SDK (`azure` and below), and those that a thread logs while the
    handler writes, are left out. Errors go to `handleError`, as in `logging`, and are never raised.

    Records below `flush_level`, and those of a failed write, wait in the buffer for the next write; `logging.shutdown`,
    which Python calls at exit, writes it. If threads must not wait, put a `QueueHandler` of `logging` in front.

    Cost: that of `BlobLog.append`, and of a flush at `flush_level` and above.

    :param log: a log on a sync account
    :param level: the lowest level to log
    :param flush_level: a record of this level or above is written at once, with the whole buffer
    :raises BadDesign: the log is on an async account

    Guide: log data anti-pattern.
    """

    @checked
    def __init__(
        self, log: BlobLog[BlockingAccount], level: int | str = logging.NOTSET, *, flush_level: int = logging.ERROR
    ) -> None:
        if not is_sync(log.account):
            raise BadDesign("log", log, "logging is not async, and this log is", "pass a log on a sync account")
        super().__init__(level)
        self.log = log
        self.flush_level = flush_level
        self._writing = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        """Append a record to the log."""
        if record.name.partition(".")[0] == "azure" or getattr(self._writing, "here", False):
            return
        with self._handling_errors(record):
            level = record.levelname if is_level(record.levelname) else f"Level {record.levelno}"
            self.log.append(level, self.format(record), fields={"logger": record.name})
            if record.levelno >= self.flush_level:
                self.log.flush()

    def flush(self) -> None:
        """Write the buffer."""
        with self._handling_errors(logging.makeLogRecord({"name": __name__, "msg": "the log could not be written"})):
            self.log.flush()

    def close(self) -> None:
        """Write the buffer, and close the log."""
        with self._handling_errors(logging.makeLogRecord({"name": __name__, "msg": "the log could not be closed"})):
            self.log.close()
        super().close()

    @contextmanager
    def _handling_errors(self, record: logging.LogRecord) -> Generator[None, None, None]:
        """Report errors of a record, and ignore records that libraries log in this thread until then."""
        self._writing.here = True
        try:
            yield
        except Exception:  # noqa: BLE001 - logging must not raise, whether a formatter or the network fails
            self.handleError(record)
        finally:
            self._writing.here = False


@dataclass(frozen=True)
class _EntryFilter:
    """Which entries a reader asks for; `levels` is None for all."""

    earliest: datetime
    latest: datetime
    levels: frozenset[str] | None

    def rules_out(self, metadata: Mapping[str, str]) -> bool:
        """Return whether a blob's coverage rules out a match; a blob without metadata may hold anything."""
        first, last, levels = _instant(metadata, "first"), _instant(metadata, "last"), metadata.get("levels")
        return (
            (last is not None and last < self.earliest)
            or (first is not None and first > self.latest)
            or (self.levels is not None and levels is not None and self.levels.isdisjoint(levels.split(",")))
        )

    def matches(self, entry: LogEntry) -> bool:
        return self.earliest <= entry.at <= self.latest and (self.levels is None or entry.level in self.levels)


def _instant(metadata: Mapping[str, str], name: str) -> datetime | None:
    try:
        return moment_of(metadata.get(name, ""))
    except ValueError:
        return None


class _Blob:
    """The matching entries of a blob, up to its size at listing, which cuts no entry, since each append is atomic."""

    def __init__(self, container: Container, name: LogName, facts: BlobFacts, entry_filter: _EntryFilter) -> None:
        self.name = name
        self.earliest = max(_instant(facts.metadata, "first") or name.hour, entry_filter.earliest)
        """An instant that no matching entry precedes."""
        self._container = container
        self._end = facts.size
        self._entry_filter = entry_filter
        self._position = 0
        self._partial_line = b""
        self._entries: deque[LogEntry] = deque()

    async def following(self) -> LogEntry | None:
        while not self._entries and self._position < self._end:
            await self._read_piece()
        return self._entries.popleft() if self._entries else None

    async def _read_piece(self) -> None:
        length = min(PIECE_BYTES, self._end - self._position)
        piece = await self._container.download(str(self.name), offset=self._position, length=length)
        if not piece:
            # It was deleted since it was listed
            self._position = self._end
            return
        self._position += len(piece)
        *lines, self._partial_line = (self._partial_line + piece).split(b"\n")
        if self._partial_line and self._position >= self._end:
            lines.append(self._partial_line)
        for line in lines:
            entry = LogEntry.parse(_text(line))
            if entry.at > self._entry_filter.latest:
                self._position = self._end
                return
            if self._entry_filter.matches(entry):
                self._entries.append(entry)


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        rule = f"it is not a line of a log ({error})"
        raise BadInput("line", line, rule, "keep other content out of the log's blobs") from error


async def _merge_entries(blobs: Iterable[_Blob]) -> AsyncIterator[LogEntry]:
    """Yield the matching entries of one hour's blobs in time order, each of them once.

    Entries with the same instant are sorted by the number of their blob. A blob is opened when its first entry may be
    next. An entry that was written twice, because the first response was lost, has the same instant and id.
    """
    heads: list[tuple[datetime, int, _Blob, LogEntry | None]]
    heads = [(blob.earliest, blob.name.number, blob, None) for blob in blobs]
    heapify(heads)
    instant: datetime | None = None
    yielded_ids: set[UUID] = set()
    while heads:
        at, number, blob, entry = heappop(heads)
        if at != instant:
            instant, yielded_ids = at, set()
        if entry is not None and entry.id not in yielded_ids:
            yielded_ids.add(entry.id)
            yield entry
        next_entry = await blob.following()
        if next_entry is not None:
            heappush(heads, (next_entry.at, number, blob, next_entry))
