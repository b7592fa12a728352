"""Assign partitions to workers without any request."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from hashlib import sha256
from itertools import pairwise

from ..argument_types import check_least, checked
from ..edm import ordinal
from ..errors import BadDesign, BadInput
from ..filters import Filter, prop


class HashDivision:
    """Divide partitions among workers by a hash of their PartitionKeys.

    Use it if each worker should change partitions of its own, without conflicts with others. The partitions need not be
    known in advance, and each worker gets about as many.

    >>> division = HashDivision(3)
    >>> [division.owner(department) for department in ("Sales", "Marketing", "Finance")]
    [0, 1, 0]
    >>> division.owned_by(1, ["Sales", "Marketing", "Finance"])
    ['Marketing']

    Every partition has exactly one owner, the same in every process and version. When you add a worker, partitions move
    only to the new one. Whatever starts the workers must give each its number. A hot partition is not divided.

    Cost: no storage transaction.

    :param workers: how many workers there are, numbered from 0
    :raises BadDesign: `workers` is less than 1

    Guide: asynchronous and parallel operations (workers responsible for certain partitions).
    """

    @checked
    def __init__(self, workers: int) -> None:
        check_least("workers", workers, 1, BadDesign)
        self.workers = workers

    @checked
    def owner(self, partition_key: str) -> int:
        """Return the number of the worker that owns a partition."""
        # The highest score wins, so a new worker does not change the order of the others
        return max(
            range(self.workers),
            key=lambda worker: sha256(f"{worker}/{partition_key}".encode("utf-8", "surrogatepass")).digest(),
        )

    @checked
    def owned_by(self, worker: int, partition_keys: Iterable[str]) -> list[str]:
        """Return those of the partitions that a worker owns, in the order given.

        :raises BadInput: there is no worker with this number
        """
        _check(worker, self.workers)
        return [partition_key for partition_key in partition_keys if self.owner(partition_key) == worker]


class RangeDivision:
    """Divide partitions among workers by ranges of their PartitionKeys.

    Use it if each worker should read a part of a table, whatever partitions are in it, with queries of its own.

    >>> division = RangeDivision(["H", "P"])
    >>> [division.owner(department) for department in ("Finance", "Marketing", "Sales")]
    [0, 1, 2]
    >>> str(division.filter(1))
    "PartitionKey ge 'H' and PartitionKey lt 'P'"

    Every partition has exactly one owner: the first range ends before the first bound, each bound begins the next
    range, and the last range has no end. The ranges are as even as the bounds that you choose; take them from a sample,
    since PartitionKeys with a common prefix sort together. The division does not know which workers are running.

    Cost: no storage transaction; the query of a range is one of several partitions, 1 for each page.

    :param bounds: the PartitionKeys at which the second range and later ones begin, one fewer than workers
    :raises BadDesign: the bounds are not in ascending order

    Guide: asynchronous and parallel operations (workers responsible for certain partitions).
    """

    @checked
    def __init__(self, bounds: Iterable[str]) -> None:
        self.bounds = tuple(bounds)
        self._ordered = [ordinal(bound) for bound in self.bounds]
        if any(low >= high for low, high in pairwise(self._ordered)) or "" in self.bounds:
            raise BadDesign(
                "bounds", self.bounds, "each must sort after the previous one", "sort them, and remove duplicates"
            )

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return len(self.bounds) + 1

    @checked
    def owner(self, partition_key: str) -> int:
        """Return the number of the worker that owns a partition."""
        return bisect_right(self._ordered, ordinal(partition_key))

    @checked
    def filter(self, worker: int) -> Filter | None:
        """Return the filter for a worker's range; None if it has no bounds.

        :raises BadInput: there is no worker with this number
        """
        _check(worker, self.workers)
        bounds: Filter | None = None
        if worker > 0:
            bounds = prop("PartitionKey") >= self.bounds[worker - 1]
        if worker < len(self.bounds):
            end = prop("PartitionKey") < self.bounds[worker]
            bounds = end if bounds is None else bounds & end
        return bounds


def _check(worker: int, workers: int) -> None:
    if not 0 <= worker < workers:
        raise BadInput("worker", worker, f"workers are numbered from 0 to {workers - 1}", "give one of these numbers")
