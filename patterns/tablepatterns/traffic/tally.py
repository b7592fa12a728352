"""Sum up requests by line of code, by partition, and by partition over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Final, TypeVar

from ..cost import Cost
from ..filters import QueryClass
from .request import Request

GroupT = TypeVar("GroupT")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(slots=True)
class Tally:
    """The sums over some requests.

    :param transactions: storage transactions billed
    :param scans: queries that searched a partition or a table
    :param throttled: responses with 429 or 503
    :param conflicts: responses with 409 or 412
    :param lost: requests without a response
    :param seconds: the total duration, by the account's clock
    :param worst: the worst class of the queries; None if there were none
    :param cost: the transactions by service, and the number of table operations that cost as much
    :param examined: entities that the service read; only the in-memory engine reports it
    """

    requests: int = 0
    transactions: int = 0
    scans: int = 0
    retries: int = 0
    throttled: int = 0
    conflicts: int = 0
    lost: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    seconds: float = 0.0
    worst: QueryClass | None = None
    examined: int | None = None
    cost: Cost = field(default_factory=Cost)

    def add(self, request: Request) -> None:
        self.requests += 1
        self.transactions += request.transactions
        self.cost += request.cost
        self.scans += request.is_scan
        self.retries += request.is_retry
        self.throttled += request.is_throttled
        self.conflicts += request.is_conflict
        self.lost += request.is_lost
        self.bytes_in += request.bytes_in
        self.bytes_out += request.bytes_out
        self.seconds += request.seconds
        if request.examined is not None:
            self.examined = (self.examined or 0) + request.examined
        if (query_class := request.scan_class) is not None:
            self.worst = max(self.worst or query_class, query_class)


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """The requests to one partition in one interval of time, which begins at `start`."""

    place: str
    start: datetime
    requests: int
    throttled: int


def tallied(requests: Iterable[Request]) -> Tally:
    total = Tally()
    for request in requests:
        total.add(request)
    return total


def group_requests(requests: Iterable[Request], by: Callable[[Request], GroupT]) -> dict[GroupT, Tally]:
    """Return the sums by a property of the requests, the most expensive first."""
    tallies: dict[GroupT, Tally] = {}
    for request in requests:
        tallies.setdefault(by(request), Tally()).add(request)
    return dict(sorted(tallies.items(), key=lambda item: (-item[1].cost.table_operations(), -item[1].requests)))


def partition_loads(requests: Iterable[Request], seconds: float) -> list[PartitionLoad]:
    step = timedelta(seconds=seconds)
    requests_by_interval: dict[tuple[int, str], list[Request]] = {}
    for request in requests:
        if request.partition is not None:
            requests_by_interval.setdefault(((request.moment - _EPOCH) // step, request.place), []).append(request)
    return [
        PartitionLoad(place, _EPOCH + number * step, len(group), sum(request.is_throttled for request in group))
        for (number, place), group in sorted(requests_by_interval.items())
    ]
