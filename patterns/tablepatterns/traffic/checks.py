"""Check the traffic of a test; a failure names the lines and the better query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..figures import count, counted
from ..filters import QueryClass
from ..limits import MAX_TRANSACTION_OPERATIONS
from .request import Request, Site
from .tally import Tally, group_requests, tallied

_WRITES: Final = frozenset(
    f"{kind}Entity" for kind in ("Delete", "Insert", "InsertOrMerge", "InsertOrReplace", "Merge", "Update")
)
_NO_LINE: Final = "without a line of code: from clients that connect() did not create, or without a response"


def no_line(dropped: Tally) -> str:
    """Return why a request that counts has no line of code."""
    more = f", or among the {counted(dropped.requests, 'request')} dropped; raise max_requests to see them"
    return _NO_LINE + more if dropped.requests else _NO_LINE


def scans_exceeded(
    requests: Iterable[Request], allow: QueryClass, unseen: Mapping[QueryClass, int], reason: str
) -> str | None:
    """Describe the queries of a worse class than allowed, by line of code; `unseen` counts those without a line."""
    worse = [request for request in requests if request.scan_class is not None and request.scan_class > allow]
    hidden = {query_class: number for query_class, number in unseen.items() if number > 0 and query_class > allow}
    if not worse and not hidden:
        return None
    total = len(worse) + sum(hidden.values())
    lines = [f"{counted(total, 'query')} {'is' if total == 1 else 'are'} worse than a {allow.label}:"]
    for site, some in _by_site(worse).items():
        worst = max(some, key=lambda request: request.scan_class or QueryClass.POINT)
        where = worst.resource if worst.partition is None else f"{worst.resource}, partition {worst.partition!r}"
        label = worst.scan_class.label if worst.scan_class else ""
        lines += [
            *_place(site),
            f"    {count(len(some))} x {label} of {where}: {_reason(worst)}",
            f"    {_better(worst)}",
        ]
    lines += [f"  {count(number)} x {query_class.label} {reason}" for query_class, number in hidden.items()]
    return "\n".join(lines)


def budget_exceeded(requests: Sequence[Request], at_most: int, unseen: int, reason: str) -> str | None:
    """Describe the requests by line of code if they cost more than allowed; `unseen` are without a line."""
    total = tallied(requests).transactions + unseen
    if total <= at_most:
        return None
    spent = f"{counted(total, 'storage transaction')}{_by_service(tallied(requests))}"
    lines = [f"{spent}, but at most {count(at_most)} allowed:"]
    for site, some in _by_site(requests).items():
        tally = tallied(some)
        operations = ", ".join(f"{count(own.requests)} x {name}" for name, own in group_requests(some, _label).items())
        spent = f"{counted(tally.transactions, 'transaction')}{_by_service(tally)}"
        lines += [*_place(site), f"    {spent}: {operations}", *(f"    {advice}" for advice in advised(some))]
    if unseen:
        lines.append(f"  {counted(unseen, 'transaction')} {reason}")
    return "\n".join(lines)


def advised(requests: Sequence[Request]) -> list[str]:
    """Return how these requests of one line could cost less."""
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
