"""Scalability targets: the rates above which the service returns 503 ServerBusy."""

from __future__ import annotations

import threading
from typing import Final, NamedTuple

from tablepatterns import limits
from tablepatterns.edm import Ticks
from tablepatterns.errors import BadInput

from .clock import SECOND, Clock
from .faults import ACCOUNT_OVER_TARGET, PARTITION_OVER_TARGET, Fault, RequestInfo

_PRUNED_FROM: Final = 10_000


class _Share(NamedTuple):
    """What has a target: the account, one partition of a table, or one queue."""

    name: str | None = None
    partition: str | None = None


_ACCOUNT: Final = _Share()


class Targets:
    """The rates of an account, above which it returns 503 ServerBusy, by its own clock.

    A target works as a token bucket: n per second allows n at one instant, and then refills over time. Further
    entities of a request are counted when it ends, so the bucket can go below zero and later requests wait longer.

    A request counts once for its account. For its partition, it counts the entities written or read; a query over
    several partitions counts for none of them. A queue is one partition, and counts messages. Blobs count only for the
    account.

    The backoff of the SDK's retries advances the engine's clock: the first retry is immediate, the second after 1.6
    seconds.

    >>> from datetime import datetime, timezone
    >>> from tablepatterns import connect
    >>> from tablepatterns_engine.account import Engine
    >>> engine = Engine(clock=Clock(datetime(2014, 8, 22, tzinfo=timezone.utc)), targets=Targets(partition=10))
    >>> table = connect(engine).tables.create_table("Log")
    >>> for number in range(11):
    ...     _ = table.create_entity({"PartitionKey": "2014-08-22", "RowKey": f"{number:03d}"})
    >>> [record.status for record in engine.ledger.records][-4:]
    [201, 503, 503, 201]
    >>> engine.clock.now()
    Ticks('2014-08-22T00:00:01.6Z')

    :param partition: entities per second for each partition of a table; None for no target
    :param queue: messages per second for each queue; None for no target
    :param account: requests per second for all services together; None for no target
    :raises BadInput: a rate is not above 0

    Guide: scalability limits and performance targets.
    """

    def __init__(
        self,
        *,
        partition: float | None = limits.PARTITION_ENTITIES_PER_SECOND,
        queue: float | None = limits.QUEUE_MESSAGES_PER_SECOND,
        account: float | None = limits.ACCOUNT_TRANSACTIONS_PER_SECOND,
    ) -> None:
        self.partition = _checked("partition", partition)
        self.queue = _checked("queue", queue)
        self.account = _checked("account", account)
        self._lock = threading.Lock()
        # For each share, when it will be completely free again, which is equivalent to a token bucket
        self._free: dict[_Share, int] = {}
        self._latest = Ticks(0)
        self._prune_at = _PRUNED_FROM

    def admit(self, info: RequestInfo, clock: Clock) -> Fault | None:
        """Count a request, or return the fault if it exceeds a target."""
        share, rate = self._share(info)
        with self._lock:
            now = self._now(clock)
            if self._is_spent(_ACCOUNT, self.account, now):
                return ACCOUNT_OVER_TARGET
            if self._is_spent(share, rate, now):
                return PARTITION_OVER_TARGET
            self._take(_ACCOUNT, self.account, now, 1)
            self._take(share, rate, now, 1)
        return None

    def count_entities(self, info: RequestInfo, clock: Clock, entity_count: int) -> None:
        """Count the entities of an admitted request beyond the one already counted."""
        if entity_count > 1:
            share, rate = self._share(info)
            with self._lock:
                self._take(share, rate, self._now(clock), entity_count - 1)

    def _share(self, info: RequestInfo) -> tuple[_Share, float | None]:
        """Return what a request counts for besides the account, and its target."""
        if info.service == "queue" and info.name:
            return _Share(info.name), self.queue
        if info.service == "table" and info.partition is not None:
            return _Share(info.name.lower(), info.partition), self.partition
        return _ACCOUNT, None

    def _now(self, clock: Clock) -> Ticks:
        now = clock.now()
        # If the clock is set back, everything would stay used up until it catches up
        if now < self._latest:
            self._free.clear()
        self._latest = now
        return now

    def _is_spent(self, share: _Share, rate: float | None, now: Ticks) -> bool:
        if rate is None:
            return False
        one = _time_for(1, rate)
        return self._free.get(share, 0) - now + one > max(SECOND, one)

    def _take(self, share: _Share, rate: float | None, now: Ticks, amount: int) -> None:
        if rate is None:
            return
        self._free[share] = max(self._free.get(share, 0), int(now)) + _time_for(amount, rate)
        if len(self._free) > self._prune_at:
            self._free = {share: free for share, free in self._free.items() if free > now}
            self._prune_at = max(_PRUNED_FROM, 2 * len(self._free))


def _time_for(amount: int, rate: float) -> int:
    """Return the number of ticks in which this amount is refilled."""
    return int(amount * SECOND / rate)


def _checked(subject: str, rate: float | None) -> float | None:
    if rate is not None and not rate > 0:
        raise BadInput(subject, rate, "a target must be above 0 per second", "pass None for no target")
    return rate
