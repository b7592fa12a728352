"""Record every request of a block of code, as a context manager, and check what was recorded in a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextvars import Token
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..argument_types import check_least, checked
from ..errors import BadInput
from ..figures import count, counted
from ..filters import QueryClass
from ..limits import MAX_TRANSACTION_OPERATIONS
from .hooks import Recorder, Watch, blocks, everywhere, opened
from .request import Request, Site, call_site
from .tally import PartitionLoad, Tally, group_requests, partition_loads, tallied

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDTH: Final = 120
_WRITES: Final = frozenset(
    f"{kind}Entity" for kind in ("Delete", "Insert", "InsertOrMerge", "InsertOrReplace", "Merge", "Update")
)
_NO_LINE: Final = "without a line of code: from clients that connect() did not create, or without a response"


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
    >>> [(sent.operation, sent.partition, sent.status) for sent in traffic.requests][1:]
    [('CreateTable', None, 201), ('InsertEntity', 'Sales', 201), ('QueryEntity', 'Sales', 200)]
    >>> traffic.overall.transactions, str(traffic.overall.cost)
    (4, '4 table transactions')
    >>> traffic.assert_no_scans()
    >>> traffic.assert_transactions(at_most=4)

    Blocks nest: a request is recorded by every enclosing block of its task, and of threads and tasks that are started
    with its context. Each retry of the SDK is a separate request. Keys, tokens, signatures and property values other
    than the PartitionKey are never recorded.

    Not recorded are calls with their own `raw_request_hook`, clients that `connect` did not create, and, without
    `everywhere`, threads of your own pools and the SDK's parallel blob transfers. An assertion fails if requests to the
    account were sent during the block, and none of them is recorded.

    Cost: no storage transactions; some microseconds per request.

    :param storage: the account, as `connect` returned it
    :param everywhere: whether to record the requests of all threads, tasks and connections of this process
    :param max_requests: how many requests to keep. Older ones are dropped, and counted in `dropped`; then sums and
        assertions raise `BadInput`, since they would be too low
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
        self._is_open = self._was_open = False
        self._token: Token[tuple[Recorder, ...]] | None = None

    def __enter__(self) -> Traffic:
        if self._is_open:
            rule = "it records a block already, perhaps in another task"
            raise BadInput("traffic", self, rule, "create another Traffic for this block")
        self._is_open = self._was_open = True
        self._recorder.site = call_site()
        opened.append(self._recorder)
        if self._recorder.everywhere:
            everywhere.append(self._recorder)
        else:
            self._token = blocks.set((*blocks.get(), self._recorder))
        return self

    def __exit__(self, *error: object) -> None:
        self._is_open = False
        opened.remove(self._recorder)
        if self._token is None:
            everywhere.remove(self._recorder)
        else:
            blocks.reset(self._token)
            self._token = None

    @property
    def requests(self) -> list[Request]:
        """The requests so far, in the order in which they were sent; the newest `max_requests` of them."""
        return self._recorder.requests()

    @property
    def dropped(self) -> int:
        """How many requests were dropped."""
        return max(0, self._recorder.count - self._recorder.max_requests)

    @property
    def overall(self) -> Tally:
        """The sums over all requests.

        :raises BadInput: requests were dropped
        """
        return tallied(self._all_requests())

    def by_site(self) -> dict[Site | None, Tally]:
        """Return the sums for each line of code, the most expensive first.

        :raises BadInput: requests were dropped
        """
        return group_requests(self._all_requests(), lambda request: request.site)

    def by_partition(self) -> dict[str, Tally]:
        """Return the sums for each partition, the most expensive first; a request to several counts for its table.

        :raises BadInput: requests were dropped
        """
        return group_requests(self._all_requests(), lambda request: request.place)

    @checked
    def partition_loads(self, seconds: float = 60) -> list[PartitionLoad]:
        """Return the number of requests to each partition in each interval, in order of time; empty ones are left out.

        :param seconds: the length of an interval
        :raises BadInput: it is not above zero, or requests were dropped
        """
        if seconds <= 0:
            raise BadInput("seconds", seconds, "it must be above zero", "pass a number above zero")
        return partition_loads(self._all_requests(), seconds)

    def _all_requests(self) -> list[Request]:
        if self.dropped:
            rule = f"{self.dropped} requests were dropped, so these figures would be too low"
            raise BadInput("max_requests", self._recorder.max_requests, rule, "raise it, or record shorter blocks")
        return self.requests

    @checked
    def assert_no_scans(self, allow: QueryClass = QueryClass.RANGE) -> None:
        """Fail if a query was of a worse class than allowed, by its filter or by the rows it read.

        A range query counts as a partition scan if it read 100 or more rows without returning them, and more than it
        returned. Only the in-memory engine reports that; on other accounts, only the filter counts.

        :param allow: the worst class to allow
        :raises AssertionError: there was one; the text lists each line of code, the reason, and a better query
        :raises BadInput: it could not fail: every class is allowed, or no block was recorded; or requests were dropped
        """
        self._check(allow)
        requests = self._all_requests()
        _check_scans(requests, allow, self._unseen_queries(requests))

    @checked
    def assert_transactions(self, *, at_most: int) -> None:
        """Fail if the block cost more storage transactions than allowed.

        :param at_most: the maximum number of transactions
        :raises AssertionError: there were more; the text lists the requests of each line of code, and how to save some
        :raises BadInput: no block was recorded, or requests were dropped
        """
        self._check()
        requests = self._all_requests()
        _check_budget(requests, at_most, self._unseen_transactions(requests))

    def _unseen_queries(self, requests: list[Request]) -> Mapping[QueryClass, int]:
        return {}

    def _unseen_transactions(self, requests: list[Request]) -> int:
        return 0

    def _check(self, allow: QueryClass = QueryClass.POINT) -> None:
        """Reject an assertion that cannot fail."""
        if allow == max(QueryClass):
            raise BadInput("allow", allow, "no query is worse, so this cannot fail", "allow a better class")
        if not self._was_open:
            raise BadInput("traffic", self, "it has recorded no block", "use `with traffic:` around the code to check")
        missed, recorded = self._recorder.missed, self._recorder.count
        if missed:
            share = f"{missed} of the {missed + recorded} requests" if recorded else f"none of the {missed} requests"
            text = f"{share} sent to the account during the block {'were not' if recorded else 'was'} recorded"
            hint = "pass the connection that sends them, enter the block in the same task, or pass everywhere=True"
            raise AssertionError(f"{text}: {hint}")

    def __str__(self) -> str:
        # Not above: every connection imports this, and only reports need rich
        from rich.console import Console

        console = Console(width=_WIDTH, color_system=None, highlight=False)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    def __rich__(self) -> RenderableType:
        from .report import report

        requests = self.requests
        sites = group_requests(requests, lambda request: request.site)
        partitions = group_requests(requests, lambda request: request.place)
        return report(tallied(requests), sites, partitions, self.dropped)

    def __repr__(self) -> str:
        return f"<Traffic {self._recorder.count} requests{f', {self.dropped} dropped' if self.dropped else ''}>"


def _check_scans(requests: Iterable[Request], allow: QueryClass, unseen: Mapping[QueryClass, int]) -> None:
    """Raise an error with the queries of a worse class than allowed, by line; `unseen` counts those without a line."""
    worse = [request for request in requests if request.scan_class is not None and request.scan_class > allow]
    hidden = {query_class: number for query_class, number in unseen.items() if number > 0 and query_class > allow}
    if not worse and not hidden:
        return
    total = len(worse) + sum(hidden.values())
    lines = [f"{counted(total, 'query')} {'is' if total == 1 else 'are'} worse than a {allow.label}:"]
    for site, group in _by_site(worse).items():
        worst = max(group, key=lambda request: request.scan_class or QueryClass.POINT)
        where = worst.resource if worst.partition is None else f"{worst.resource}, partition {worst.partition!r}"
        label = worst.scan_class.label if worst.scan_class else ""
        queries = f"{count(len(group))} x {label} of {where}"
        lines += [*_place(site), f"    {queries}: {_reason(worst)}", f"    {_better(worst)}"]
    lines += [f"  {count(number)} x {query_class.label} {_NO_LINE}" for query_class, number in hidden.items()]
    raise AssertionError("\n".join(lines))


def _check_budget(requests: Sequence[Request], at_most: int, unseen: int) -> None:
    """Raise an error with the requests by line of code if they cost more than allowed; `unseen` are without a line."""
    total = tallied(requests).transactions + unseen
    if total <= at_most:
        return
    cost_text = f"{counted(total, 'storage transaction')}{_by_service(tallied(requests))}"
    lines = [f"{cost_text}, but at most {count(at_most)} allowed:"]
    for site, group in _by_site(requests).items():
        tally = tallied(group)
        operations = ", ".join(f"{count(own.requests)} x {name}" for name, own in group_requests(group, _label).items())
        cost_text = f"{counted(tally.transactions, 'transaction')}{_by_service(tally)}"
        lines += [*_place(site), f"    {cost_text}: {operations}", *(f"    {advice}" for advice in _advised(group))]
    if unseen:
        lines.append(f"  {counted(unseen, 'transaction')} {_NO_LINE}")
    raise AssertionError("\n".join(lines))


def _advised(requests: Sequence[Request]) -> list[str]:
    advice = list(dict.fromkeys(_better(request) for request in requests if request.is_scan))
    writes = Counter(request.place for request in requests if request.operation in _WRITES and not request.is_retry)
    if any(times > 1 for times in writes.values()):
        text = f"up to {MAX_TRANSACTION_OPERATIONS} writes to one partition can be one entity group transaction"
        advice.append(f"better: {text}")
    retries = sum(request.is_retry for request in requests)
    if retries:
        advice.append(f"{count(retries)} of them are retries by the SDK")
    return advice


def _reason(request: Request) -> str:
    if request.scan_class == request.query_class:
        return request.reason
    return f"{count(request.examined or 0)} rows read, {count(request.returned or 0)} returned"


def _better(request: Request) -> str:
    if request.scan_class == request.query_class:
        return f"better: {request.rewrite}"
    return "better: narrow the range of RowKey, or add a secondary index on the filtered property"


def _by_service(tally: Tally) -> str:
    """Return the cost by service, if not all transactions are of tables."""
    cost = tally.cost
    return "" if cost.table == cost.transactions else f" ({cost.by_service}, equivalent to {cost.comparison()})"


def _label(request: Request) -> str:
    label = f" ({request.query_class.label})" if request.query_class is not None else ""
    return f"{request.operation}{label}"


def _by_site(requests: Iterable[Request]) -> dict[Site | None, list[Request]]:
    requests_by_site: dict[Site | None, list[Request]] = {}
    for request in requests:
        requests_by_site.setdefault(request.site, []).append(request)
    return dict(sorted(requests_by_site.items(), key=lambda item: -tallied(item[1]).cost.table_operations()))


def _place(site: Site | None) -> list[str]:
    if site is None:
        return ["  not in your code"]
    return [f"  {site}", *([f"    {site.code}"] if site.code else [])]
