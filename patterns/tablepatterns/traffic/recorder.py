"""Record every request of a block of code, as a context manager."""

from __future__ import annotations

from collections import deque
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from ..argument_types import check_least, checked
from ..errors import BadInput
from ..filters import QueryClass
from .checks import budget_exceeded, scans_exceeded
from .export import Meter, dataframe, metrics
from .hooks import Recorder, Seen, Watch, blocks, everywhere
from .request import Request, Site, call_site
from .tally import Heat, Tally, grouped, heated, tallied

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

    :param storage: the account that `connect` returned
    :param everywhere: whether to record the requests of all threads, tasks and connections of this process
    :param max_requests: how many requests are recorded; beyond that the oldest are dropped, and counted in `dropped`
    :raises BadInput: the account is none of those that `connect` returns

    Guide: cost; designing for querying.
    """

    @checked
    def __init__(self, storage: Watched, *, everywhere: bool = False, max_requests: int = 100_000) -> None:
        watch = getattr(storage, "_watch", None)
        if not isinstance(watch, Watch):
            rule = "its requests cannot be recorded"
            raise BadInput("storage", type(storage).__name__, rule, "pass what tablepatterns.connect returned")
        check_least("max_requests", max_requests, 1)
        self._watch = watch
        self._everywhere = everywhere
        self._seen: deque[Seen] = deque(maxlen=max_requests)
        self._taken = 0
        self._is_open = False
        self._token: Token[tuple[Recorder, ...]] | None = None
        self._site: Site | None = None

    def __enter__(self) -> Traffic:
        if self._is_open:
            rule = "it records a block already, perhaps in another task"
            raise BadInput("traffic", self, rule, "create another Traffic for this block")
        self._is_open = True
        self._site = call_site()
        if self._everywhere:
            everywhere.append(self)
        else:
            self._token = blocks.set((*blocks.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if self._token is None:
            everywhere.remove(self)
        else:
            blocks.reset(self._token)
            self._token = None

    @property
    def requests(self) -> list[Request]:
        """The requests so far, in the order in which they were sent."""
        return [seen.request(self._site) for seen in list(self._seen)]

    @property
    def dropped(self) -> int:
        """How many requests were dropped."""
        return self._taken - len(self._seen)

    @property
    def overall(self) -> Tally:
        """The sums over all requests."""
        return tallied(self.requests)

    def by_site(self) -> dict[Site | None, Tally]:
        """Return the sums for each line of code, the most expensive first."""
        return grouped(self.requests, lambda each: each.site)

    def by_partition(self) -> dict[str, Tally]:
        """Return the sums for each partition, the most expensive first; what is about several has its table's."""
        return grouped(self.requests, lambda each: each.place)

    @checked
    def heat(self, seconds: float = 60) -> list[Heat]:
        """Return what each partition was asked in each stretch of time in which it was asked anything, in order.

        :param seconds: the length of a stretch
        :raises BadInput: it is not above zero

        Guide: choosing a PartitionKey.
        """
        if seconds <= 0:
            raise BadInput("seconds", seconds, "it must be above zero", "pass a number above zero")
        return heated(self.requests, seconds)

    @checked
    def assert_no_scans(self, allow: QueryClass = QueryClass.RANGE) -> None:
        """Fail where a query was of a worse class than allowed, by its filter or by what was read for it.

        A range query counts as a partition scan where 100 and more rows were read and left out again, more than were
        returned. Only an account in memory tells; on any other, the filter alone decides.

        :param allow: the worst class that is let through
        :raises AssertionError: with each line, why it scans, and what would be better

        Guide: designing for querying.
        """
        self._fail(scans_exceeded(self.requests, allow))

    @checked
    def assert_transactions(self, *, at_most: int) -> None:
        """Fail where the block cost more storage transactions than allowed.

        :param at_most: how many there may be
        :raises AssertionError: with each line, what it asked, and what would cost less

        Guide: cost.
        """
        self._fail(budget_exceeded(self.requests, at_most))

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row for each request.

        :raises ModuleNotFoundError: pandas is missing; install `tablepatterns[plot]`
        """
        return dataframe(self.requests)

    def to_metrics(self, meter: Meter | None = None) -> None:
        """Add the requests so far to OpenTelemetry's metrics: counts, transactions, bytes, and seconds.

        Call it once for each block, at its end.

        :param meter: whose instruments to use; by default that of the installed OpenTelemetry for this package
        :raises ModuleNotFoundError: no meter is given, and OpenTelemetry is missing; install `opentelemetry-api`
        """
        metrics(self.requests, meter)

    def wants(self, watch: Watch) -> bool:
        """Tell whether what this connection sends is meant."""
        return watch is self._watch or (self._everywhere and watch.account == self._watch.account)

    def take(self, seen: Seen) -> None:
        """Keep a request that was sent."""
        self._taken += 1
        self._seen.append(seen)

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
        return f"<Traffic {self._taken} requests>"
