"""Check the traffic of a test; a failure names the lines and the better query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..figures import count, counted
from ..filters import QueryClass
from ..limits import MAX_TRANSACTION_OPERATIONS
from .request import Request, Site
from .tally import Tally, grouped, tallied

_WRITES: Final = frozenset(
    {
        "DeleteEntity",
        "InsertEntity",
        "InsertOrMergeEntity",
        "InsertOrReplaceEntity",
        "MergeEntity",
        "UpdateEntity",
    }
)
_NO_LINE: Final = "without a line of code: from clients that connect() did not create, or without a response"


def no_line(dropped: Tally) -> str:
    """Return why a request that counts has no line of code."""
    more = f", or among the {counted(dropped.requests, 'request')} dropped; raise max_requests to see them"
    return _NO_LINE + more if dropped.requests else _NO_LINE


def scans_exceeded(
    requests: Iterable[Request], allow: QueryClass, unseen: Mapping[QueryClass, int], reason: str
) -> str | None:
    """Return the queries of a worse class than allowed, by line of code, as a text; None if there are none.

    :param unseen: the number of queries without a known line, by class
    :param reason: why they have none
    """
    worse = [each for each in requests if each.scan_class is not None and each.scan_class > allow]
    hidden = {query_class: number for query_class, number in unseen.items() if number > 0 and query_class > allow}
    if not worse and not hidden:
        return None
    total = len(worse) + sum(hidden.values())
    lines = [f"{counted(total, 'query')} {'is' if total == 1 else 'are'} worse than a {allow.label}:"]
    for site, some in _by_site(worse).items():
        found = max(some, key=lambda each: each.scan_class or QueryClass.POINT)
        where = found.resource if found.partition is None else f"{found.resource}, partition {found.partition!r}"
        label = found.scan_class.label if found.scan_class else ""
        lines += [
            *_place(site),
            f"    {count(len(some))} x {label} of {where}: {_reason(found)}",
            f"    {_better(found)}",
        ]
    lines += [f"  {count(number)} x {query_class.label} {reason}" for query_class, number in hidden.items()]
    return "\n".join(lines)


def budget_exceeded(requests: Sequence[Request], at_most: int, unseen: int, reason: str) -> str | None:
    """Return the requests by line of code, as a text, if they cost more transactions than allowed; otherwise None.

    :param unseen: the number of transactions without a known line
    :param reason: why they have none
    """
    total = tallied(requests).transactions + unseen
    if total <= at_most:
        return None
    spent = f"{counted(total, 'storage transaction')}{_by_service(tallied(requests))}"
    lines = [f"{spent}, but at most {count(at_most)} allowed:"]
    for site, some in _by_site(requests).items():
        tally = tallied(some)
        done = ", ".join(f"{count(each.requests)} x {name}" for name, each in grouped(some, _what).items())
        lines += [
            *_place(site),
            f"    {counted(tally.transactions, 'transaction')}{_by_service(tally)}: {done}",
        ]
        lines += [f"    {advice}" for advice in advised(some)]
    if unseen:
        lines.append(f"  {counted(unseen, 'transaction')} {reason}")
    return "\n".join(lines)


def advised(requests: Sequence[Request]) -> list[str]:
    """Return how these requests of one line could cost less."""
    found = list(dict.fromkeys(_better(each) for each in requests if each.is_scan))
    writes = grouped([each for each in requests if each.operation in _WRITES and not each.is_retry], _partition)
    if any(tally.requests > 1 for tally in writes.values()):
        text = f"up to {MAX_TRANSACTION_OPERATIONS} writes to one partition can be one entity group transaction"
        found.append(f"better: {text}")
    retries = sum(each.is_retry for each in requests)
    if retries:
        found.append(f"{count(retries)} of them are retries by the SDK")
    return found


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
    return "" if cost.table == cost.transactions else f" ({cost.by_service}, as much as {cost.comparison()})"


def _what(request: Request) -> str:
    label = f" ({request.query_class.label})" if request.query_class is not None else ""
    return f"{request.operation}{label}"


def _partition(request: Request) -> str:
    return request.place


def _by_site(requests: Iterable[Request]) -> dict[Site | None, list[Request]]:
    found: dict[Site | None, list[Request]] = {}
    for each in requests:
        found.setdefault(each.site, []).append(each)
    return dict(sorted(found.items(), key=lambda item: -tallied(item[1]).cost.table_operations()))


def _place(site: Site | None) -> list[str]:
    if site is None:
        return ["  not in your code"]
    return [f"  {site}", *([f"    {site.code}"] if site.code else [])]
