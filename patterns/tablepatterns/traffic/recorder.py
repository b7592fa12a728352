"""Record every request of a block of code, as a context manager."""

from __future__ import annotations

from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from ..argument_types import check_least, checked
from ..errors import BadInput
from ..filters import QueryClass
from .checks import budget_exceeded, scans_exceeded
from .export import Meter, dataframe, metrics
from .hooks import Recorder, Watch, blocks, everywhere
from .request import Request, Site, call_site
from .tally import PartitionLoad, Tally, grouped, partition_loads, tallied

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDTH = 120


class Watched(Protocol):
    """An account whose requests can be recorded: what `connect` returns, sync or aio."""

    @property
    def tables(self) -> Any:
        """The SDK's client of its table service."""
        ...


class Traffic:
    """Record every request of a block of code, by recipes and by the account's SDK clients, on every backend.

    Use it to find scans and hot partitions, to measure the cost of a function, and to enforce budgets in tests.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> with Traffic(storage) as traffic:
    ...     _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Age": 34})
    ...     _ = employees.get(Department="Sales", EmployeeId=223)
    >>> [(each.operation, each.partition, each.status) for each in traffic.requests][1:]
    [('CreateTable', None, 201), ('InsertEntity', 'Sales', 201), ('QueryEntity', 'Sales', 200)]
    >>> traffic.overall.transactions, str(traffic.overall.cost)
    (4, '4 table transactions')
    >>> traffic.assert_no_scans()
    >>> traffic.assert_transactions(at_most=4)

    Blocks nest: a request is recorded by every enclosing block. A block records its own task, and tasks and threads
    that are started with its context, as `asyncio` does. Each retry of the SDK is a separate request. Keys, tokens,
    signatures and property values other than the PartitionKey are never recorded.

    Not recorded are calls with their own `raw_request_hook`, clients that `connect` did not create, and, without
    `everywhere`, threads of your own pools and the SDK's parallel blob transfers.

    Cost: no storage transactions; some microseconds per request.

    :param storage: the account, as `connect` returned it
    :param everywhere: whether to record the requests of all threads, tasks and connections of this process
    :param max_requests: how many requests to keep; older ones are dropped, and counted in `dropped`
    :raises BadInput: `connect` did not return this account

    Guide: cost; designing for querying.
    """

    @checked
    def __init__(self, storage: Watched, *, everywhere: bool = False, max_requests: int = 100_000) -> None:
        watch = getattr(storage, "_watch", None)
        if not isinstance(watch, Watch):
            rule = "its requests cannot be recorded"
            raise BadInput("storage", type(storage).__name__, rule, "pass what tablepatterns.connect returned")
        check_least("max_requests", max_requests, 1)
        self._recorder = Recorder(watch, max_requests, everywhere=everywhere)
        self._is_open = False
        self._token: Token[tuple[Recorder, ...]] | None = None
        self._site: Site | None = None

    def __enter__(self) -> Traffic:
        if self._is_open:
            rule = "it records a block already, perhaps in another task"
            raise BadInput("traffic", self, rule, "create another Traffic for this block")
        self._is_open = True
        self._site = call_site()
        if self._recorder.everywhere:
            everywhere.append(self._recorder)
        else:
            self._token = blocks.set((*blocks.get(), self._recorder))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if self._token is None:
            everywhere.remove(self._recorder)
        else:
            blocks.reset(self._token)
            self._token = None

    @property
    def requests(self) -> list[Request]:
        """The requests so far, in the order in which they were sent."""
        return [seen.request(self._site) for seen in list(self._recorder.seen)]

    @property
    def dropped(self) -> int:
        """How many requests were dropped."""
        return self._recorder.count - len(self._recorder.seen)

    @property
    def overall(self) -> Tally:
        """The sums over all requests."""
        return tallied(self.requests)

    def by_site(self) -> dict[Site | None, Tally]:
        """Return the sums for each line of code, the most expensive first."""
        return grouped(self.requests, lambda each: each.site)

    def by_partition(self) -> dict[str, Tally]:
        """Return the sums for each partition, the most expensive first; a request to several counts for its table."""
        return grouped(self.requests, lambda each: each.place)

    @checked
    def partition_loads(self, seconds: float = 60) -> list[PartitionLoad]:
        """Return the number of requests to each partition in each interval, in order of time; empty ones are left out.

        :param seconds: the length of an interval
        :raises BadInput: it is not above zero

        Guide: choosing a PartitionKey.
        """
        if seconds <= 0:
            raise BadInput("seconds", seconds, "it must be above zero", "pass a number above zero")
        return partition_loads(self.requests, seconds)

    @checked
    def assert_no_scans(self, allow: QueryClass = QueryClass.RANGE) -> None:
        """Fail if a query was of a worse class than allowed, by its filter or by the rows it read.

        A range query counts as a partition scan if it read 100 or more rows without returning them, and more than it
        returned. Only the in-memory engine reports that; on other accounts, only the filter counts.

        :param allow: the worst class to allow
        :raises AssertionError: there was one; the text lists each line of code, the reason, and a better query

        Guide: designing for querying.
        """
        self._fail(scans_exceeded(self.requests, allow))

    @checked
    def assert_transactions(self, *, at_most: int) -> None:
        """Fail if the block cost more storage transactions than allowed.

        :param at_most: the maximum number of transactions
        :raises AssertionError: there were more; the text lists the requests of each line of code, and how to save some

        Guide: cost.
        """
        self._fail(budget_exceeded(self.requests, at_most))

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row for each request.

        :raises ModuleNotFoundError: pandas is missing; install `tablepatterns[plot]`
        """
        return dataframe(self.requests)

    def to_metrics(self, meter: Meter | None = None) -> None:
        """Add the requests so far to OpenTelemetry metrics: counts, transactions, bytes and seconds.

        Call it once per block, at its end.

        :param meter: where to create the instruments; by default, the meter of the installed OpenTelemetry
        :raises ModuleNotFoundError: there is no meter, and OpenTelemetry is missing; install `opentelemetry-api`
        """
        metrics(self.requests, meter)

    def _fail(self, text: str | None) -> None:
        if text is not None:
            raise AssertionError(text)

    def __str__(self) -> str:
        # Not above: every connection imports this, and only reports need rich
        from rich.console import Console

        console = Console(width=_WIDTH, color_system=None, highlight=False)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    def __rich__(self) -> RenderableType:
        from .report import report

        return report(self.overall, self.by_site(), self.by_partition())

    def __repr__(self) -> str:
        return f"<Traffic {self._recorder.count} requests>"
