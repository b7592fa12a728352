"""Read the newest entities of a partition first, by a RowKey that decreases over time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Any, cast
from uuid import uuid4

from ..argument_types import check_least, checked
from ..entity import without_none
from ..entity_set.call_types import writing
from ..entity_set.commit import E
from ..entity_set.derived import Derived
from ..entity_set.entity_set import EntitySet
from ..entity_set.hooks import Selection
from ..entity_set.mapping import PropertyMapping
from ..key import Key, at_least
from ..key import between as span_of
from ..key.key import fields_of
from ..models.options import OneOf, OnUnrecognized, Upgrade
from ..recipe import Account_co, SetProfile, check_key_order, recipe, stream
from ..retry import RETRY_FOR


class LogTail(EntitySet[Account_co, E]):
    """Read the most recent entities of a partition with one request, however many there are.

    Use it for newest-first reads, such as an employee's latest ten expense claims.

    >>> from datetime import timezone
    >>> from tablepatterns import LogTail, connect
    >>> claims = LogTail(connect(), "EmployeeExpense", "{Employee}", at="ClaimedAt")
    >>> for day in (1, 2, 3):
    ...     moment = datetime(2014, 8, day, tzinfo=timezone.utc)
    ...     _ = claims.append({"Employee": "000223", "ClaimedAt": moment, "Amount": day * 10.0})
    >>> [claim["Amount"] for claim in claims.latest(2, Employee="000223")]
    [30.0, 20.0]

    Consistency: entries never overwrite each other. If a response is lost, retrying the append does not add the entry
    twice. The key, and how to spread the writes: docs/patterns/log_tail.md.

    Cost: append 1 storage transaction; `latest` 1 for up to 1,000 entries, `latest_of_each` the same for each
    partition; `between` 1 per page of up to 1,000.

    :param partition: the template of the PartitionKey, such as `"{Employee}"`
    :param at: the field that holds the instant of an entry
    :param entry: the field that holds the id of an entry, a `UUID`
    :param row_prefix: a literal prefix of the RowKey, if the partition holds other entities too
    :param model: as for `EntitySet`; if its fields for the instant and the id may be None, `append` sets them
    :raises BadDesign: the account does not sort by key, or the parts cannot be combined

    The other parameters are those of `EntitySet`. Guide: log tail pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table: str,
        partition: str,
        *,
        at: str = "At",
        entry: str = "EntryId",
        row_prefix: str = "",
        derived: Iterable[Derived] = (),
        mappings: Iterable[PropertyMapping] = (),
        model: type[E] | OneOf[E] | None = None,
        versions: Iterable[tuple[int, Upgrade]] = (),
        on_unrecognized: OnUnrecognized = "raise",
    ) -> None:
        check_key_order(account, "the log tail needs results")
        key = Key(partition, f"{row_prefix}{{{at}:inverted}}_{{{entry}:uuid}}")
        super().__init__(
            account,
            table,
            key,
            derived=derived,
            mappings=mappings,
            model=model,
            versions=versions,
            on_unrecognized=on_unrecognized,
        )
        self.at = at
        self.entry = entry

    def _set_profile(self) -> SetProfile | None:
        settings = {"at": self.at, "entry": self.entry}
        return SetProfile("log_tail", self.table.name, self.key, settings, self.derived, self._mappings.mappings)

    @writing
    async def append(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> E:
        """Add an entry and return it with its instant and id. Cost: 1 transaction.

        By default the instant is now, by the account's clock, and the id is new. Give the entry an instant and an id to
        make the append idempotent: a second append then raises `EntityAlreadyExists`.

        :param entity: the fields of the entry, including those of the partition
        :param retry_for: as for `EntitySet.insert`
        :raises EntityAlreadyExists: an entry with the same instant and id exists
        :raises BadKey: a field of the partition is missing, or the instant has no time zone
        """
        if self._layer is None:
            return await self._create(self._completed(entity), retry_for)
        adapter, instance = self._layer.adapter, cast("E", entity)
        fields = adapter.types.of_instance(instance).accepted(self._completed(adapter.new_fields(instance)))
        return adapter.after_write(instance, await self._create(fields, retry_for))

    def _completed(self, entity: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an entry with its instant and its id."""
        return {self.at: self.account.now(), self.entry: uuid4(), **without_none(entity)}

    @recipe
    async def latest(self, count: int, key: Mapping[str, Any] | None = None, /, **partition: Any) -> list[E]:
        """Return the newest `count` entries of a partition, newest first, or all if there are fewer.

        Cost: 1 transaction for up to 1,000 entries, if the service does not cut its pages shorter.

        :param count: how many entries
        :param partition: a value for every field of the PartitionKey, or as a mapping `key`
        """
        check_least("count", count, 0)
        return await (self._layer or self)._first(Selection(fields_of(key, partition)), count)

    @recipe
    async def latest_of_each(
        self, count: int, partitions: Iterable[Mapping[str, Any]], /, *, max_concurrency: int = 8
    ) -> list[list[E]]:
        """Return the newest `count` entries of each of several partitions, newest first, in the order asked for.

        Use it for the latest reading of each device. A partition without entries gives an empty list.

        >>> claims = LogTail(connect(), "EmployeeExpense", "{Employee}")
        >>> for amount, employee in enumerate(["000223", "000152", "000223"]):
        ...     _ = claims.append({"Employee": employee, "Amount": amount})
        >>> latest = claims.latest_of_each(1, [{"Employee": "000152"}, {"Employee": "000223"}])
        >>> [[claim["Amount"] for claim in newest] for newest in latest]
        [[1], [2]]

        Cost: for each partition 1 transaction for up to 1,000 entries; they are sent together.

        :param count: how many entries of each partition
        :param partitions: for each partition, a value for every field of the PartitionKey
        :param max_concurrency: how many requests run at once, in threads or tasks
        :raises BadInput: `partitions` is not a list of mappings; nothing was read
        :raises BadKey: a key field is missing, or its value cannot be part of a key; nothing was read
        """
        check_least("max_concurrency", max_concurrency, 1)
        partition_fields = [dict(fields) for fields in partitions]
        for fields in partition_fields:
            self.key.range((self._layer or self)._stored_key(fields))
        reads = (self.latest(count, fields) for fields in partition_fields)
        return await self.account.gather(*reads, max_concurrency=max_concurrency, independent=True)

    @stream
    def between(
        self,
        earliest: datetime,
        latest: datetime | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        **partition: Any,
    ) -> AsyncIterator[E]:
        """Yield the entries from `earliest` to `latest`, both included, newest first.

        Only entries of that time are read. Cost: 1 transaction per page of up to 1,000.

        :param earliest: an aware datetime
        :param latest: an aware datetime, or None for no upper bound
        :param partition: a value for every field of the PartitionKey, or as a mapping `key`
        """
        span: Any = at_least(earliest) if latest is None else span_of(earliest, latest)
        return self.range(fields_of({self.at: span}, fields_of(key, partition)))
