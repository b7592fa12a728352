"""Find hot partitions in recorded traffic, and keys that make them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from ...argument_types import checked
from ...edm import Ticks
from ...key import Key
from ...limits import PARTITION_ENTITIES_PER_SECOND

_BUSY: Final = 503
_TICKS_PER_SECOND: Final = 10_000_000
_HOT: Final = 0.5


class Request(Protocol):
    """One request, such as a record of the in-memory engine's ledger, or of your own logs.

    :param table: the table, or None for other requests
    :param partition: the PartitionKey, or None if the request was not for a single partition
    :param moment: when it was sent
    :param status: the HTTP status; 503 if it was throttled
    :param examined: how many entities the service read
    :param written: how many entities it wrote or deleted
    """

    @property
    def table(self) -> str | None: ...

    @property
    def partition(self) -> str | None: ...

    @property
    def moment(self) -> Ticks: ...

    @property
    def status(self) -> int: ...

    @property
    def examined(self) -> int: ...

    @property
    def written(self) -> int: ...


@dataclass(frozen=True)
class HotPartition:
    """A partition near or above the scalability target.

    :param peak: the most entities read or written in one second, throttled requests included
    :param share: its share of the load on the table, from 0 to 1
    :param throttled: how many requests were throttled
    """

    table: str
    partition: str
    peak: int
    share: float
    throttled: int

    def __str__(self) -> str:
        text = f"{self.table} {self.partition!r}: {self.peak} entities in one second, {self.share:.0%} of the table's"
        return f"{text}, {self.throttled} requests throttled" if self.throttled else text


@checked
def hot_partitions(requests: Iterable[Request], *, target: float = PARTITION_ENTITIES_PER_SECOND) -> list[HotPartition]:
    """Return the partitions that reached half of the scalability target or were throttled, busiest first.

    A request counts as the entities that it read and wrote, at least one. Sends no requests.

    >>> from tablepatterns import connect
    >>> storage = connect()
    >>> table = storage.tables.create_table("Log")
    >>> for number in range(20):
    ...     _ = table.create_entity({"PartitionKey": "2014-07-31T18", "RowKey": f"{number:03d}"})
    >>> [each.partition for each in hot_partitions(storage.engine.ledger.records, target=10)]
    ['2014-07-31T18']

    :param requests: the records, such as `storage.engine.ledger.records`
    :param target: the entities per second that one partition can take

    Guide: guidelines for writing efficiently (hot partitions); scalability targets.
    """
    seconds: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter[int])
    throttled: Counter[tuple[str, str]] = Counter()
    tables: Counter[str] = Counter()
    for request in requests:
        if request.table is None or request.partition is None:
            continue
        work = max(1, request.examined + request.written)
        seconds[request.table, request.partition][int(request.moment) // _TICKS_PER_SECOND] += work
        throttled[request.table, request.partition] += request.status == _BUSY
        tables[request.table] += work
    partitions = [
        HotPartition(*place, max(work.values()), sum(work.values()) / tables[place[0]], throttled[place])
        for place, work in seconds.items()
    ]
    hot = [partition for partition in partitions if partition.throttled or partition.peak >= _HOT * target]
    return sorted(hot, key=lambda partition: (-partition.peak, partition.table, partition.partition))


@dataclass(frozen=True)
class AntiPattern:
    """An anti-pattern found in a key: the guide's name for it, the reason, and the remedy."""

    name: str
    reason: str
    remedy: str


@checked
def anti_pattern(key: Key) -> AntiPattern | None:
    """Return the anti-pattern of a key, or None if its PartitionKey can spread writes.

    Only the templates are checked. The values of the fields may still make a hot partition: see `hot_partitions`.

    >>> anti_pattern(Key("{Hour:%Y-%m-%dT%H}", "{EventId:06d}")).name
    'prepend/append'
    >>> anti_pattern(Key("{Department}_{EmployeeId:06d}", "{Hour:%Y-%m-%dT%H}_{EventId:06d}")) is None
    True

    Guide: prepend/append anti-pattern.
    """
    partition, row = ([key.formats[name] for name in fields] for fields in (key.partition_fields, key.row_fields))
    remedy = "start the PartitionKey with a field that differs between concurrent writes, or use a PartitionSpread"
    if partition and all(_is_time(spec) for spec in partition):
        text = "the PartitionKey consists of time only, so all current writes go to one partition"
        return AntiPattern("prepend/append", f"{text}, {_end(partition[0])}", remedy)
    if not partition and row and _is_time(row[0]):
        text = "there is one partition, and its RowKey starts with time, so all writes go"
        return AntiPattern("prepend/append", f"{text} to {_end(row[0])} of it", remedy)
    if not partition:
        return AntiPattern("one partition", "the PartitionKey has no field, so all writes go to one partition", remedy)
    return None


def _is_time(spec: str) -> bool:
    return spec in ("ticks", "inverted") or "%" in spec


def _end(spec: str) -> str:
    return "the first" if spec == "inverted" else "the last"
