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
    """One request, as the ledger of an account in memory notes it, or as your own code does."""

    @property
    def table(self) -> str | None:
        """The table that it went to."""
        ...

    @property
    def partition(self) -> str | None:
        """The partition that it went to, None where it went to several."""
        ...

    @property
    def moment(self) -> Ticks:
        """When it was made."""
        ...

    @property
    def status(self) -> int:
        """The status of its answer; 503 where the service was too busy."""
        ...

    @property
    def examined(self) -> int:
        """How many entities were read for it."""
        ...

    @property
    def written(self) -> int:
        """How many entities it wrote or deleted."""
        ...


@dataclass(frozen=True)
class HotPartition:
    """A partition that takes more work than the others, or more than it can.

    :param peak: the most entities in one second, those included that the service was too busy for
    :param share: of all the work on its table, from 0 to 1
    :param refused: how many requests the service was too busy for
    """

    table: str
    partition: str
    peak: int
    share: float
    refused: int

    def __str__(self) -> str:
        text = f"{self.table} {self.partition!r}: {self.peak} entities in one second, {self.share:.0%} of the table's"
        return f"{text}, {self.refused} requests refused" if self.refused else text


@checked
def hot_partitions(requests: Iterable[Request], *, target: float = PARTITION_ENTITIES_PER_SECOND) -> list[HotPartition]:
    """Return the partitions that came near the scalability target, or were refused anything, the busiest first.

    Near is half of the target, in any second. Every request counts for the entities that it read or wrote, at least
    one. Cost: nothing; the requests are those that were made.

    >>> from tablepatterns import connect
    >>> storage = connect()
    >>> table = storage.tables.create_table("Log")
    >>> for number in range(20):
    ...     _ = table.create_entity({"PartitionKey": "2014-07-31T18", "RowKey": f"{number:03d}"})
    >>> [each.partition for each in hot_partitions(storage.engine.ledger.records, target=10)]
    ['2014-07-31T18']

    :param requests: the records of a ledger, or of a span of it
    :param target: entities per second that one partition can take

    Guide: guidelines for writing efficiently (hot partitions); scalability targets.
    """
    seconds: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter[int])
    refused: Counter[tuple[str, str]] = Counter()
    tables: Counter[str] = Counter()
    for each in requests:
        if each.table is None or each.partition is None:
            continue
        work = max(1, each.examined + each.written)
        seconds[each.table, each.partition][int(each.moment) // _TICKS_PER_SECOND] += work
        refused[each.table, each.partition] += each.status == _BUSY
        tables[each.table] += work
    found = [
        HotPartition(*place, max(work.values()), sum(work.values()) / tables[place[0]], refused[place])
        for place, work in seconds.items()
    ]
    hot = [each for each in found if each.refused or each.peak >= _HOT * target]
    return sorted(hot, key=lambda each: (-each.peak, each.table, each.partition))


@checked
def sequence_of(keys: Iterable[str]) -> End | None:
    """Return whether new keys nearly always come at one end: after all others (append), or before them (prepend).

    Partitions that come one after the other in time are as bad as a single one: the newest takes all the writes, and
    those next to it are served by the same node. Nine of ten new keys at one end will do, of at least ten.

    >>> sequence_of(f"2014-07-{day:02d}" for day in range(1, 31))
    'append'
    >>> sequence_of(f"{number * 7 % 30:03d}" for number in range(30)) is None
    True

    :param keys: PartitionKeys in the order in which they were written; what repeats counts once
    :raises BadInput: fewer than ten different keys tell nothing

    Guide: prepend/append anti-pattern.
    """
    distinct = list(dict.fromkeys(keys))
    if len(distinct) < _FEWEST_KEYS:
        rule = f"fewer than {_FEWEST_KEYS} keys, with each counted once, tell nothing about their order"
        raise BadInput("keys", distinct, rule, "give a longer sample, or look at spread_of()")
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
    """What is wrong with the design of a key: the guide's name for it, the reason, and what to do instead."""

    name: str
    reason: str
    remedy: str


@checked
def anti_pattern(key: Key) -> AntiPattern | None:
    """Return the anti-pattern that a key is, or None for a key that has something to spread writes by.

    Only the templates are looked at: what the fields hold can still put all writes of a moment at one place, which
    `spread_of` and `sequence_of` find in a sample.

    >>> anti_pattern(Key("{Hour:%Y-%m-%dT%H}", "{EventId:06d}")).name
    'prepend/append'
    >>> anti_pattern(Key("{Department}_{EmployeeId:06d}", "{Hour:%Y-%m-%dT%H}_{EventId:06d}")) is None
    True

    :param key: the key of a set

    Guide: prepend/append anti-pattern.
    """
    partition, row = _formats(key.partition_template), _formats(key.row_template)
    remedy = "lead the PartitionKey with a field that differs between writes of one moment, or use a PartitionSpread"
    if partition and all(_is_time(spec) for spec in partition):
        text = "the PartitionKey is made of time alone, so all writes of a moment go to one partition"
        return AntiPattern("prepend/append", f"{text}, {_end(partition[0])}", remedy)
    if not partition and row and _is_time(row[0]):
        text = "there is one partition, and its RowKey begins with time, so all writes go"
        return AntiPattern("prepend/append", f"{text} to {_end(row[0])} of it", remedy)
    if not partition:
        return AntiPattern("one partition", "the PartitionKey has no field, so all writes go to one partition", remedy)
    return None


def _formats(template: str) -> Sequence[str]:
    """Return the formats of a template's fields, "" for plain text."""
    return [spec or "" for _, name, spec, _ in chain(Formatter().parse(template)) if name]


def _is_time(spec: str) -> bool:
    return spec in ("ticks", "inverted") or "%" in spec


def _end(spec: str) -> str:
    return "the first" if spec == "inverted" else "the last"


_HOT_SHARE = 0.5
_FEWEST_WRITES = 10


@dataclass(frozen=True)
class Spread:
    """Where writes went: the number of writes for each PartitionKey.

    A partition is served by one node, so a design that sends all writes of a moment to one of them cannot scale,
    however many partitions there are in the end.
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
    """Return how the writes of one moment spread over partitions, given the PartitionKey of each.

    It tells nothing about writes of other moments: give it a sample of those that happen together.

    >>> by_hour = spread_of("2014-07-31T18" for _ in range(100))
    >>> by_employee = spread_of(f"Sales_{number % 25:06d}" for number in range(100))
    >>> by_hour.is_hot, by_employee.is_hot, by_employee.share
    (True, False, 0.04)

    :param partition_keys: the PartitionKey of each write, in any order
    :raises BadInput: there is not a single write

    Guide: choosing a PartitionKey; guidelines for writing efficiently (hot partitions).
    """
    writes = Counter(partition_keys)
    if not writes:
        raise BadInput("partition_keys", writes, "a sample has at least one write", "give the keys of some writes")
    return Spread(writes)
