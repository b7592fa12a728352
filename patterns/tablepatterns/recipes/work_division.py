"""Assign partitions to workers without any request."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from ..argument_types import check_least, checked
from ..errors import BadDesign, BadInput


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
        if not 0 <= worker < self.workers:
            rule = f"workers are numbered from 0 to {self.workers - 1}"
            raise BadInput("worker", worker, rule, "give one of these numbers")
        return [partition_key for partition_key in partition_keys if self.owner(partition_key) == worker]
