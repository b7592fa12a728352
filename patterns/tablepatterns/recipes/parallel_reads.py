"""Read several partitions or many entities at once, and divide partitions among workers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Any, Generic, cast

from azure.core.exceptions import AzureError

from ..argument_types import check_least, checked
from ..entity_set.commit import E
from ..entity_set.derived import Index
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import adapter_or_none, stored_fields
from ..errors import BadDesign, BadInput
from ..filters import Filter, QueryClass
from ..recipe import Account, Account_co, Pattern, recipe


@dataclass(frozen=True)
class Read(Generic[E]):
    """The result of one of several reads.

    :param fields: the fields of the range or the key that was read
    :param entities: what was found; empty if the read failed, even if a part was read
    :param error: why it failed, or None
    """

    fields: Mapping[str, Any]
    entities: tuple[E, ...]
    error: AzureError | None


@dataclass(frozen=True)
class ParallelResult(Generic[E]):
    """The results of all reads.

    :param reads: one result for each read, in the order of the request
    """

    reads: tuple[Read[E], ...]

    @property
    def entities(self) -> list[E]:
        """The entities of all reads that succeeded, in the order of the request."""
        return list(chain.from_iterable(read.entities for read in self.reads))

    @property
    def failed(self) -> list[Read[E]]:
        """The reads that failed; to retry one, pass its `fields` again."""
        return [read for read in self.reads if read.error is not None]

    def all_or_raise(self) -> list[E]:
        """Return the entities of all reads.

        :raises AzureError: the first error, if a read failed
        """
        for read in self.reads:
            if read.error is not None:
                raise read.error
        return self.entities


class ParallelReads(Pattern[Account_co], Generic[Account_co, E]):
    """Read several partitions in parallel, in the time of the slowest one instead of the sum of all.

    Use it to read several known partitions, such as all employees of some departments. Reads of one partition are
    served by one node, so they gain nothing.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> for number, department in enumerate(["Sales", "Marketing", "Sales"]):
    ...     _ = employees.insert({"Department": department, "EmployeeId": number})
    >>> result = ParallelReads(employees).ranges([{"Department": "Sales"}, {"Department": "Marketing"}])
    >>> [employee["EmployeeId"] for employee in result.entities], result.failed
    ([0, 2, 1], [])

    Consistency: results are in the order of the request. A failed read does not cancel the others; its error is in the
    result. The reads do not share one instant.

    Cost: that of the reads: 1 storage transaction per page of up to 1,000 of each partition, 1 for each entity.

    :param entity_set: the set to read
    :param max_concurrency: how many requests at a time, in threads or tasks
    :raises BadDesign: `max_concurrency` is not above zero

    Guide: asynchronous and parallel operations.
    """

    @checked
    def __init__(self, entity_set: EntitySet[Account_co, E], *, max_concurrency: int = 8) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        check_least("max_concurrency", max_concurrency, 1, BadDesign)
        self.entity_set: EntitySet[Account, E] = entity_set
        self.max_concurrency = max_concurrency

    @recipe
    async def ranges(
        self,
        keys: Iterable[Mapping[str, Any]],
        /,
        via: Index | None = None,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
    ) -> ParallelResult[E]:
        """Read a range of each of several partitions to its end. Cost: 1 transaction per page of each.

        :param keys: for each range the fields that `EntitySet.range` takes; at least those of the partition
        :param via: an index of the set to read by
        :raises BadKey: the fields do not make a range; nothing was read

        The other parameters and errors are those of `EntitySet.range`.
        """

        async def read(fields: Mapping[str, Any]) -> list[E]:
            entities = self.entity_set.range(via, fields, where=where, allow=allow, select=select)
            return [entity async for entity in entities]

        key = self.entity_set.key if via is None else via.key
        return await self._read_all(read, keys, key.range)

    @recipe
    async def points(self, keys: Iterable[Mapping[str, Any]], /) -> ParallelResult[E]:
        """Read many entities by their keys; one that does not exist is an empty result. Cost: 1 transaction each.

        :param keys: for each entity a value for every field of the key
        :raises BadKey: a key field is missing, or its value cannot be part of a key; nothing was read
        """

        async def read(fields: Mapping[str, Any]) -> list[E]:
            entity = await self.entity_set.get(fields)
            return [] if entity is None else [entity]

        return await self._read_all(read, keys, self.entity_set.key.format)

    async def _read_all(
        self,
        read: Callable[[Mapping[str, Any]], Coroutine[Any, Any, list[E]]],
        keys: Iterable[Mapping[str, Any]],
        check: Callable[[Mapping[str, object]], object],
    ) -> ParallelResult[E]:
        field_lists = list(keys)
        for fields in field_lists:
            check(stored_fields(adapter_or_none(self.entity_set), fields))

        async def result(fields: Mapping[str, Any]) -> Read[E]:
            try:
                return Read(fields, tuple(await read(fields)), None)
            except BadInput:
                # An invalid request is an error of the caller, not of one read
                raise
            except AzureError as error:
                return Read(fields, (), error)

        calls = map(result, field_lists)
        results = await self.account.gather(*calls, max_concurrency=self.max_concurrency, independent=True)
        return ParallelResult(tuple(results))


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
    only to the new one.

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
