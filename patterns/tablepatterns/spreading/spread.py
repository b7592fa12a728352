"""Spread: how a sample of writes falls on partitions, and whether one of them is hot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import BadInput

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
