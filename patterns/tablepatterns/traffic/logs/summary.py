"""Sum up logged requests with DuckDB: by query, operation, partition, interval and client."""

from __future__ import annotations

import hmac
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from math import exp, inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ...argument_types import checked
from ...cost import Cost
from ...errors import BadInput
from ...figures import SECONDS_OF_A_MONTH
from ...filters import Explanation, QueryClass
from ...limits import PARTITION_ENTITIES_PER_SECOND
from ..request import plan_of
from .read import Skipped, requests_table, rows_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAX_ROWS: Final = 1_000
"""The maximum number of queries, partitions and clients to return: the most frequent ones."""
_REPEATED: Final = re.compile(r"(\([^()]*\)|\w+ eq \?)(?: or \1)+")
_LATENCY_CLASS: Final = log(1.05)
"""Latencies are counted in classes of 5 %, so that a percentile is exact to 2.5 %."""
_HASH_CHARACTERS: Final = 12
# Expressions of DuckDB look neither back nor ahead: `_shape` replaces values here, and repetitions in Python
_VIEW: Final = r"""
CREATE VIEW logged AS SELECT *,
    status IN (429, 503) AS is_throttled, NOT (status > 0 AND status < 400) AS is_error,
    regexp_replace(regexp_replace(regexp_replace(filter, '[^\s()'']*''[^'']*(''''[^'']*)*''', '?', 'g'),
        '\b(true|false)\b', '?', 'g'), '(^|[^\w.])[-+]?\d[\w.+-]*', '\1?', 'g') AS shape,
    regexp_extract(filter, 'PartitionKey\s+eq\s+''([^'']*(?:''''[^'']*)*)''', 1) AS filter_key,
    regexp_matches(filter, 'PartitionKey\s+eq\s+''') AS has_key,
    coalesce(nullif(array_to_string(regexp_extract_all(agent, '[^\s()/]+/[^\s()]+')[:2], ' '), ''), nullif(agent, ''),
        'unknown') AS client,
    CAST(floor(ln(greatest(seconds, 1e-4)) / ln(1.05)) AS INTEGER) AS latency
FROM requests
"""
_SUMS: Final = """count(*), count(*) FILTER (is_throttled), count(*) FILTER (is_error AND NOT is_throttled),
    count(*) FILTER (status > 0 AND status < 500), sum(bytes_in), sum(bytes_out), sum(seconds), histogram(latency)"""
_ERRORS: Final = """SELECT coalesce(nullif(status_text, ''), status::VARCHAR) AS error, count(*) FROM logged
    WHERE is_error GROUP BY error ORDER BY count(*) DESC, error LIMIT $most"""
_SHAPES: Final = f"""SELECT tbl, shape, min(filter), {_SUMS} FROM logged WHERE tbl IS NOT NULL AND filter IS NOT NULL
    GROUP BY tbl, shape ORDER BY count(*) DESC, tbl, shape"""  # noqa: S608 - constants
_LOADS: Final = """
WITH loads AS (
    SELECT tbl, CASE WHEN filter IS NULL THEN partition
            WHEN has_key AND (tbl, shape) IN (FROM keyed) THEN replace(filter_key, '''''', '''') END AS key,
        CAST(floor(moment / $interval) AS BIGINT) AS span, count(*) AS requests,
        count(*) FILTER (is_throttled) AS throttled
    FROM logged WHERE tbl IS NOT NULL GROUP BY ALL
)
SELECT tbl, key, sum(requests)::BIGINT, sum(throttled)::BIGINT, max({'requests': requests, 'span': span}) AS peak
FROM loads WHERE key IS NOT NULL GROUP BY tbl, key ORDER BY max(requests) DESC, tbl, key LIMIT $most
"""


@dataclass(slots=True)
class RequestSums:
    """Sums over some logged requests.

    :param failed: responses with other errors than throttling; 404 and 412 may be expected by the program
    :param transactions: storage transactions billed
    :param seconds: the total time until clients had the responses
    :param latencies: how many requests there are of each class of latencies
    """

    requests: int = 0
    throttled: int = 0
    failed: int = 0
    transactions: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    seconds: float = 0.0
    latencies: dict[int, int] = field(default_factory=dict[int, int], repr=False)

    def __add__(self, other: RequestSums) -> RequestSums:
        names = [figure.name for figure in fields(self)[:-1]]
        total = RequestSums(*(getattr(self, name) + getattr(other, name) for name in names))
        total.latencies = dict(Counter(self.latencies) + Counter(other.latencies))
        return total

    def percentile(self, share: float) -> float:
        """Return the seconds within which this share of the requests was answered, exact to 2.5 %."""
        remaining = share * self.requests
        for latency, requests in sorted(self.latencies.items()):
            remaining -= requests
            if remaining <= 0:
                return exp((latency + 0.5) * _LATENCY_CLASS)
        return 0.0


@dataclass(slots=True)
class LoggedQuery:
    """Queries that differ only in their values: `filter` has `?` for each, `plan` is None if the service rejects it."""

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

    :param interval: the length of the intervals of partition loads, in seconds
    :param scans: how many of them searched a partition or a table
    :param queries: queries without their values, those with the most total time first
    :param operations: by operation, the most frequent first
    :param partitions: those with the busiest intervals first
    :param clients: by the first two products of the user agent, the most frequent first
    :param errors: the number of responses with each error code, the most frequent first
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
        """The monthly cost of the transactions, without blobs, queues and stored data, in the prices' currency."""
        seconds = max((self.end - self.start).total_seconds(), 1.0)
        return Cost(table=self.overall.transactions).price() * SECONDS_OF_A_MONTH / seconds


@checked
def summarize(
    paths: Iterable[Path],
    *,
    interval: float = 60,
    hash_keys: bool = False,
    on_read: Callable[[int], None] | None = None,
) -> LogSummary:
    """Sum up logged requests: queries by class, busy partitions, throttling, latencies, cost and clients.

    >>> from tempfile import TemporaryDirectory
    >>> scan = "2026-11-01T09:30:00Z,QueryEntities,https://contoso.table.core.windows.net/Claims()?$filter=Amount gt "
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "query_data.csv")
    ...     _ = path.write_text("TimeGenerated,OperationName,Uri" + chr(10) + scan + "100" + chr(10) + scan + "250")
    ...     logged = summarize([path])
    >>> [(query.filter, query.query_class.label, query.sums.requests) for query in logged.queries]
    [('Amount gt ?', 'table scan', 2)]

    All sums are exact. During the call, requests are in a temporary folder, where they take less space than the logs.

    :param paths: the log files, as `log_files` returns them
    :param interval: the length of the intervals of partition loads, in seconds
    :param hash_keys: whether to show a hash instead of each PartitionKey, with a new secret each time
    :param on_read: called after each file with the number of bytes that it has
    """
    if not 0 < interval < inf:
        raise BadInput("interval", interval, "it must be above zero", "pass a number of seconds above zero")
    records = Skipped()
    with requests_table(paths, records, on_read) as database:
        database.execute(_VIEW)
        start, end = database.execute("SELECT min(moment), max(moment) FROM requests").fetchall()[0]
        if start is None:
            rule = f"they hold no request to the Table service, and {records.others + records.unreadable} other records"
            raise BadInput("logs", records.first, rule, "give logs with the categories StorageRead and StorageWrite")
        queries, scans = _queries(database)
        operations = _sums(database, "operation")
        return LogSummary(
            start=_datetime(start),
            end=_datetime(end),
            interval=interval,
            overall=sum(operations.values(), RequestSums()),
            scans=scans,
            queries=sorted(queries, key=lambda query: -query.sums.seconds),
            operations=operations,
            partitions=_busiest(database, interval, _hashing() if hash_keys else str),
            clients=_sums(database, "client"),
            errors=dict(database.execute(_ERRORS, {"most": _MAX_ROWS}).fetchall()),
            skipped=records,
        )


def _sums(database: DuckDBPyConnection, column: str) -> dict[str, RequestSums]:
    query = f"SELECT {column}, {_SUMS} FROM logged GROUP BY ALL ORDER BY count(*) DESC, {column} LIMIT $most"  # noqa: S608 - constants
    return {name: RequestSums(*sums) for name, *sums in database.execute(query, {"most": _MAX_ROWS}).fetchall()}


def _queries(database: DuckDBPyConnection) -> tuple[list[LoggedQuery], int]:
    """Return the queries without their values, and how many scans there were; tell DuckDB which read one partition."""
    queries: dict[tuple[str, str], LoggedQuery] = {}
    scans = 0
    database.execute("CREATE TABLE keyed (tbl VARCHAR, shape VARCHAR)")
    for table, shape, example, *sums in rows_of(database.cursor().execute(_SHAPES)):
        key = table, _REPEATED.sub(r"\1 or ...", shape)
        # One filter stands for all that differ only in their values
        query = queries.get(key) or LoggedQuery(*key, plan_of(example))
        query.sums += RequestSums(*sums)
        scans += sums[0] if query.is_scan else 0
        if len(queries) < _MAX_ROWS:
            queries[key] = query
        if query.plan is not None and query.plan.searched.partition is not None:
            database.execute("INSERT INTO keyed VALUES ($1, $2)", [table, shape])
    return list(queries.values()), scans


def _busiest(database: DuckDBPyConnection, interval: float, display_key: Callable[[str], str]) -> list[LoggedPartition]:
    loads = database.execute(_LOADS, {"interval": interval, "most": _MAX_ROWS}).fetchall()
    return [
        LoggedPartition(
            table,
            display_key(key),
            requests,
            throttled,
            _datetime(peak["span"] * interval),
            peak["requests"],
            peak["requests"] / interval / PARTITION_ENTITIES_PER_SECOND,
        )
        for table, key, requests, throttled, peak in loads
    ]


def _hashing() -> Callable[[str], str]:
    # Keyed with a random secret: a plain hash of a short value could be found by trying
    key = secrets.token_bytes(32)
    return lambda value: hmac.new(key, value.encode(), "sha256").hexdigest()[:_HASH_CHARACTERS]


def _datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
