"""Sum up logged requests in constant memory: by query, operation, partition, interval and client."""

from __future__ import annotations

import hmac
import re
import secrets
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from functools import lru_cache
from math import exp, log
from typing import Final, NamedTuple, TypeVar

from ...argument_types import checked
from ...cost import Cost
from ...errors import BadInput
from ...figures import SECONDS_OF_A_MONTH
from ...filters import Explanation, QueryClass
from ...limits import PARTITION_ENTITIES_PER_SECOND
from ..request import is_billed, is_throttled, plan_of
from .read import LogRecord, Skipped

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

_KEPT: Final = 10_000
"""The maximum number of queries, partitions and intervals to count; new ones replace the least frequent."""
_LITERAL: Final = re.compile(r"[^\s()']*'[^']*(?:''[^']*)*'|\b(?:true|false)\b|(?<![\w.])[-+]?\d[\w.+-]*")
_REPEATED: Final = re.compile(r"(\([^()]*\)|\w+ eq \?)(?: or \1)+")
_PARTITION: Final = re.compile(r"PartitionKey\s+eq\s+'([^']*(?:''[^']*)*)'")
_PRODUCT: Final = re.compile(r"[^\s()/]+/[^\s()]+")
_PRODUCTS: Final = 2
"""A client is identified by its first products, such as the SDK's and Python's; the rest is the operating system."""
_LATENCY_CLASS: Final = log(1.05)
"""Latencies are counted in classes of 5 %, so that a percentile is exact to 2.5 %."""
_SHORTEST: Final = 1e-4
_HASH_CHARACTERS: Final = 12


@lru_cache(maxsize=4_096)
def _latency_class(seconds: float) -> int:
    return int(log(max(seconds, _SHORTEST)) // _LATENCY_CLASS)


@dataclass(slots=True)
class RequestSums:
    """Sums over some logged requests.

    :param throttled: responses that the service is too busy
    :param failed: responses with other errors; 404 and 412 may be expected by the program
    :param transactions: storage transactions billed
    :param seconds: the total time until clients had the responses
    """

    requests: int = 0
    throttled: int = 0
    failed: int = 0
    transactions: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    seconds: float = 0.0
    _latencies: Counter[int] = field(default_factory=Counter[int], repr=False)

    def add(self, record: LogRecord) -> None:
        """Count one request."""
        self.requests += 1
        if is_throttled(record.status):
            self.throttled += 1
        elif not 0 < record.status < 400:
            self.failed += 1
        self.transactions += is_billed(record.status)
        self.bytes_in += record.bytes_in
        self.bytes_out += record.bytes_out
        self.seconds += record.seconds
        self._latencies[_latency_class(record.seconds)] += 1

    def __add__(self, other: RequestSums) -> RequestSums:
        return RequestSums(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def percentile(self, share: float) -> float:
        """Return the seconds within which this share of the requests was answered, exact to 2.5 %."""
        left = share * self.requests
        for latency, count in sorted(self._latencies.items()):
            left -= count
            if left <= 0:
                return exp((latency + 0.5) * _LATENCY_CLASS)
        return 0.0


@dataclass(slots=True)
class LoggedQuery:
    """Queries that differ only in their values.

    :param filter: the filter with `?` for each value
    :param plan: the query plan; None for a filter that the service rejects
    """

    table: str
    filter: str
    plan: Explanation | None
    sums: RequestSums = field(default_factory=RequestSums)

    @property
    def query_class(self) -> QueryClass | None:
        """The class of the query; None for a filter that the service rejects."""
        return None if self.plan is None else self.plan.query_class

    @property
    def is_scan(self) -> bool:
        """Whether the service searches a partition or the table."""
        return self.plan is not None and self.plan.query_class > QueryClass.RANGE


class LoggedPartition(NamedTuple):
    """A partition and its busiest interval.

    :param start: the start of the interval with the most requests
    :param peak: requests in that interval
    :param share_of_target: the requests a second of that interval, divided by the 2,000 entities a second that one
        partition is designed for; a request that reads or writes several entities counts once
    """

    table: str
    partition: str
    requests: int
    throttled: int
    start: datetime
    peak: int
    share_of_target: float


@dataclass(frozen=True, slots=True)
class LogSummary:
    """The requests of an application, according to the logs.

    :param start: the time of the first request
    :param end: the time of the last request
    :param interval: the length of the intervals of partition loads, in seconds
    :param overall: all requests
    :param scans: how many of them searched a partition or a table
    :param queries: queries without their values, those with the most total time first
    :param operations: by operation, the most frequent first
    :param partitions: those with the busiest intervals first
    :param clients: by user agent, the most frequent first
    :param errors: the number of responses with each error code, the most frequent first
    :param skipped: records that are not requests to the Table service
    """

    start: datetime
    end: datetime
    interval: float
    overall: RequestSums
    scans: int
    queries: list[LoggedQuery]
    operations: dict[str, RequestSums]
    partitions: list[LoggedPartition]
    clients: dict[str, RequestSums]
    errors: dict[str, int]
    skipped: Skipped

    @property
    def monthly_cost(self) -> float:
        """The monthly cost of such requests, in the currency of the package's prices.

        Blobs, queues and stored data are not included.
        """
        seconds = max((self.end - self.start).total_seconds(), 1.0)
        return Cost(table=self.overall.transactions).price() * SECONDS_OF_A_MONTH / seconds


class _Frequent(dict[KeyT, ValueT]):
    """Values by key, of which the least frequent are dropped when there are too many.

    A dropped key that occurs again starts from zero. So the sums of frequent keys are exact, unless a key was rare at
    first.
    """

    def __init__(self, frequency: Callable[[ValueT], int]) -> None:
        super().__init__()
        self._frequency = frequency

    def add(self, key: KeyT, value: ValueT) -> ValueT:
        """Add a new key, and return its value."""
        if len(self) >= 2 * _KEPT:
            frequent = sorted(self.items(), key=lambda item: -self._frequency(item[1]))[:_KEPT]
            self.clear()
            self.update(frequent)
        self[key] = value
        return value


@dataclass(slots=True)
class _Load:
    requests: int = 0
    throttled: int = 0


class _Summing:
    """Add up records one by one."""

    def __init__(self, interval: float, shown: Callable[[str], str]) -> None:
        self._interval, self._shown = interval, shown
        self._start, self._end, self._scans = float("inf"), float("-inf"), 0
        self._errors: Counter[str] = Counter()
        self._operations: dict[str, RequestSums] = {}
        self._clients = _Frequent[str, RequestSums](lambda sums: sums.requests)
        self._queries = _Frequent[tuple[str, str], LoggedQuery](lambda query: query.sums.requests)
        self._partitions = _Frequent[tuple[str, str], _Load](lambda load: load.requests)
        self._intervals = _Frequent[tuple[str, str, int], int](lambda requests: requests)

    def add(self, record: LogRecord) -> None:
        """Count one request."""
        self._start, self._end = min(self._start, record.moment), max(self._end, record.moment)
        operation = self._operations.get(record.operation)
        if operation is None:
            operation = self._operations[record.operation] = RequestSums()
        operation.add(record)
        name = _client(record.user_agent)
        (self._clients.get(name) or self._clients.add(name, RequestSums())).add(record)
        if not 0 < record.status < 400:
            self._errors[record.status_text or str(record.status)] += 1
        partition = record.partition
        if record.filter is not None and record.table is not None:
            partition = self._add_query(record.table, record.filter, record)
        if partition is not None and record.table is not None:
            self._add_load((record.table, self._shown(partition)), record)

    def _add_query(self, table: str, text: str, record: LogRecord) -> str | None:
        """Count a query, and return the one partition that it reads."""
        key = table, without_values(text)
        query = self._queries.get(key) or self._queries.add(key, LoggedQuery(*key, plan_of(text)))
        query.sums.add(record)
        self._scans += query.is_scan
        if query.plan is None or query.plan.searched.partition is None:
            return None
        found = _PARTITION.search(text)
        return found[1].replace("''", "'") if found else None

    def _add_load(self, place: tuple[str, str], record: LogRecord) -> None:
        load = self._partitions.get(place) or self._partitions.add(place, _Load())
        load.requests += 1
        load.throttled += is_throttled(record.status)
        interval = (*place, int(record.moment // self._interval))
        if interval in self._intervals:
            self._intervals[interval] += 1
        else:
            self._intervals.add(interval, 1)

    def summary(self, skipped: Skipped) -> LogSummary:
        """Return the sums."""
        if not self._operations:
            rule = f"they hold no request to the Table service, and {skipped.others + skipped.unreadable} other records"
            raise BadInput("logs", skipped.first, rule, "give logs with the categories StorageRead and StorageWrite")
        return LogSummary(
            start=_datetime(self._start),
            end=_datetime(self._end),
            interval=self._interval,
            overall=sum(self._operations.values(), RequestSums()),
            scans=self._scans,
            queries=sorted(self._queries.values(), key=lambda query: -query.sums.seconds),
            operations=_most_frequent(self._operations),
            partitions=self._busiest(),
            clients=_most_frequent(self._clients),
            errors=dict(self._errors.most_common()),
            skipped=skipped,
        )

    def _busiest(self) -> list[LoggedPartition]:
        peaks: dict[tuple[str, str], tuple[int, int]] = {}
        for (table, partition, interval), requests in self._intervals.items():
            peaks[table, partition] = max(peaks.get((table, partition), (0, 0)), (requests, interval))
        return [
            LoggedPartition(
                *place,
                load.requests,
                load.throttled,
                _datetime(interval * self._interval),
                peak,
                peak / self._interval / PARTITION_ENTITIES_PER_SECOND,
            )
            for place, (peak, interval) in sorted(peaks.items(), key=lambda item: -item[1][0])
            if (load := self._partitions.get(place)) is not None
        ]


@checked
def summarize(
    records: Iterable[LogRecord], *, interval: float = 60, hash_keys: bool = False, skipped: Skipped | None = None
) -> LogSummary:
    """Sum up logged requests: queries by class, busy partitions, throttling, latencies, cost and clients.

    Use it to learn which requests an application sends in production, without changing the application.

    >>> from tablepatterns.traffic.logs import LogRecord, summarize
    >>> scan = LogRecord(0.0, "QueryEntities", "Claims", None, "Amount gt 100", 200, "Success", 2.5, 2.4, 0, 900, "sdk")
    >>> found = summarize([scan, scan._replace(moment=9.0, filter="Amount gt 250")])
    >>> [(query.filter, query.query_class.label, query.sums.requests) for query in found.queries]
    [('Amount gt ?', 'table scan', 2)]

    Memory is constant: only the most frequent 10,000 queries, partitions, intervals and clients are certain to be
    counted. The sums over all requests are always exact.

    Cost: no storage transactions.

    :param records: the requests, as `read_logs` yields them
    :param interval: the length of the intervals of partition loads, in seconds
    :param hash_keys: whether to show a hash instead of each PartitionKey, with a new secret each time
    :param skipped: what `read_logs` skipped
    :raises BadInput: there are no records, or the interval is not above zero

    Guide: choosing a PartitionKey; designing for querying.
    """
    if interval <= 0:
        raise BadInput("interval", interval, "it must be above zero", "pass a number of seconds above zero")
    summing = _Summing(interval, _hashing() if hash_keys else str)
    for record in records:
        summing.add(record)
    return summing.summary(Skipped() if skipped is None else skipped)


def without_values(text: str) -> str:
    """Return a filter with `?` for each value, so that queries that differ only in values are the same.

    >>> without_values("PartitionKey eq 'O''Neil' and (RowKey eq '1' or RowKey eq '2') and Age gt 30")
    'PartitionKey eq ? and (RowKey eq ? or ...) and Age gt ?'
    """
    return _REPEATED.sub(r"\1 or ...", _LITERAL.sub("?", text))


@lru_cache(maxsize=4_096)
def _client(user_agent: str) -> str:
    return " ".join(_PRODUCT.findall(user_agent)[:_PRODUCTS]) or user_agent or "unknown"


def _hashing() -> Callable[[str], str]:
    # Keyed with a random secret: a plain hash of a short value could be found by trying
    key = secrets.token_bytes(32)
    return lambda value: hmac.new(key, value.encode(), "sha256").hexdigest()[:_HASH_CHARACTERS]


def _datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def _most_frequent(sums: Mapping[str, RequestSums]) -> dict[str, RequestSums]:
    return dict(sorted(sums.items(), key=lambda item: -item[1].requests))
