"""Find hot partitions in recorded traffic, and simulate how keys spread writes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from string import Formatter
from typing import Final, Literal, Protocol

from ...argument_types import checked
from ...edm import Ticks, ordinal
from ...errors import BadInput
from ...key import Key
from ...limits import PARTITION_ENTITIES_PER_SECOND

End = Literal["append", "prepend"]

_BUSY: Final = 503
_TICKS_PER_SECOND: Final = 10_000_000
_HOT: Final = 0.5
_FEWEST_KEYS: Final = 10
_IN_A_ROW: Final = 0.9


class Request(Protocol):
    """One request, such as a record of the in-memory engine's ledger, or of your own logs."""

    @property
    def table(self) -> str | None:
        """The table, or None for other requests."""
        ...

    @property
    def partition(self) -> str | None:
        """The PartitionKey, or None if the request was not for a single partition."""
        ...

    @property
    def moment(self) -> Ticks:
        """When it was sent."""
        ...

    @property
    def status(self) -> int:
        """The HTTP status; 503 if it was throttled."""
        ...

    @property
    def examined(self) -> int:
        """How many entities the service read."""
        ...

    @property
    def written(self) -> int:
        """How many entities it wrote or deleted."""
        ...


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


@checked
def sequence_of(keys: Iterable[str]) -> End | None:
    """Return "append" or "prepend" if at least 90 % of new keys sort after, or before, all earlier ones.

    Such partitions scale no better than one: the newest takes all the writes, and its neighbors are on the same node.

    >>> sequence_of(f"2014-07-{day:02d}" for day in range(1, 31))
    'append'
    >>> sequence_of(f"{number * 7 % 30:03d}" for number in range(30)) is None
    True

    :param keys: PartitionKeys in the order of their writes; repeated ones count once
    :raises BadInput: there are fewer than ten different keys

    Guide: prepend/append anti-pattern.
    """
    distinct = list(dict.fromkeys(keys))
    if len(distinct) < _FEWEST_KEYS:
        rule = f"at least {_FEWEST_KEYS} different keys are needed"
        raise BadInput("keys", distinct, rule, "pass a larger sample, or use spread_of()")
    texts = [ordinal(key) for key in distinct]
    lowest = highest = texts[0]
    above = below = 0
    for text in texts[1:]:
        above += text > highest
        below += text < lowest
        lowest, highest = min(lowest, text), max(highest, text)
    enough = _IN_A_ROW * (len(texts) - 1)
    if above >= enough:
        return "append"
    return "prepend" if below >= enough else None


@dataclass(frozen=True)
class AntiPattern:
    """An anti-pattern found in a key: the guide's name for it, the reason, and the remedy."""

    name: str
    reason: str
    remedy: str


@checked
def anti_pattern(key: Key) -> AntiPattern | None:
    """Return the anti-pattern of a key, or None if its PartitionKey can spread writes.

    Only the templates are checked. The values of the fields may still make a hot partition; check a sample with
    `spread_of` and `sequence_of`.

    >>> anti_pattern(Key("{Hour:%Y-%m-%dT%H}", "{EventId:06d}")).name
    'prepend/append'
    >>> anti_pattern(Key("{Department}_{EmployeeId:06d}", "{Hour:%Y-%m-%dT%H}_{EventId:06d}")) is None
    True

    :param key: the key of a set

    Guide: prepend/append anti-pattern.
    """
    partition, row = _formats(key.partition_template), _formats(key.row_template)
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


def _formats(template: str) -> Sequence[str]:
    """Return the format of each field of a template, "" if it has none."""
    return [spec or "" for _, name, spec, _ in chain(Formatter().parse(template)) if name]


def _is_time(spec: str) -> bool:
    return spec in ("ticks", "inverted") or "%" in spec


def _end(spec: str) -> str:
    return "the first" if spec == "inverted" else "the last"


_HOT_SHARE = 0.5
_FEWEST_WRITES = 10


@dataclass(frozen=True)
class Spread:
    """The number of writes for each PartitionKey.

    One node serves a partition, so a design whose concurrent writes all go to one partition cannot scale.
    """

    writes: Mapping[str, int]

    @property
    def busiest(self) -> str:
        """The PartitionKey with the most writes."""
        return max(self.writes, key=self.writes.__getitem__)

    @property
    def share(self) -> float:
        """The share of all writes that go to the busiest partition, from 0 to 1."""
        return self.writes[self.busiest] / sum(self.writes.values())

    @property
    def is_hot(self) -> bool:
        """Whether the busiest partition takes more than half of at least ten writes."""
        return sum(self.writes.values()) >= _FEWEST_WRITES and self.share > _HOT_SHARE


def spread_of(partition_keys: Iterable[str]) -> Spread:
    """Return how concurrent writes spread over partitions, given the PartitionKey of each.

    >>> by_hour = spread_of("2014-07-31T18" for _ in range(100))
    >>> by_employee = spread_of(f"Sales_{number % 25:06d}" for number in range(100))
    >>> by_hour.is_hot, by_employee.is_hot, by_employee.share
    (True, False, 0.04)

    :param partition_keys: the PartitionKey of each write, in any order, for writes at about the same time
    :raises BadInput: there are no writes

    Guide: choosing a PartitionKey; guidelines for writing efficiently (hot partitions).
    """
    writes = Counter(partition_keys)
    if not writes:
        raise BadInput("partition_keys", writes, "it is empty", "pass the key of at least one write")
    return Spread(writes)
