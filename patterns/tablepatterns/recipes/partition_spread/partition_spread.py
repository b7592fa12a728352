"""Spread the writes of one hot partition over several, and merge them in order when reading."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from ...argument_types import check_least, checked
from ...arguments import fields_of, via_and_fields
from ...edm import ordinal
from ...entity import Entity
from ...entity_set.derived import Index
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import adapter_or_none, primary_layout
from ...entity_set.named_table import check_unnamed
from ...entity_set.range_query import Question
from ...errors import BadDesign, BadInput
from ...filters import Filter, QueryClass
from ...key import Key
from ...key.ranges import Between, Prefix
from ...limits import MAX_PAGE_ENTITIES
from ...recipe import Account_co, Pattern, SetProfile, check_key_order, recipe, set_profile_of, stream
from ...retry import RETRY_FOR
from ...sdk.table import Page
from .buckets import Buckets, SpreadTable
from .merge_sorted import merge_sorted

_SETTINGS = "_spread"
"""The PartitionKey of the entities with bucket settings; no bucket starts with it."""


class PartitionSpread(Pattern[Account_co]):
    """Spread a hot partition's entities over several partitions, and read them as one.

    Use it for data that is written at one end, such as log entries by the hour: with the hour as the PartitionKey, all
    current writes go to one partition, which one node serves (the prepend/append anti-pattern). If queries rule out a
    key that spreads by itself, such as department and employee, put a bucket in front of the PartitionKey.

    >>> from datetime import datetime, timezone
    >>> from tablepatterns import Key, connect
    >>> events = PartitionSpread(
    ...     connect(), "Events", Key("{Hour:%Y-%m-%dT%H}", "{At:ticks}_{EventId:06d}"), buckets=4
    ... )
    >>> hour = datetime(2014, 7, 31, 18, tzinfo=timezone.utc)
    >>> for number in range(6):
    ...     moment = hour.replace(minute=number)
    ...     _ = events.insert({"Hour": hour, "At": moment, "EventId": number})
    >>> [(event["EventId"], event.partition_key) for event in events.take(3, Hour=hour)]
    [(0, '03_2014-07-31T18'), (1, '00_2014-07-31T18'), (2, '03_2014-07-31T18')]

    The PartitionKey is your template after `{Bucket:02d}_`, so the partitions of one hour are not adjacent. The bucket
    is a hash of key fields: a point query still finds an entity, and keys stay unique. Every entity has it as a field.

    Consistency: reads return the entities of all buckets in RowKey order. The table stores its bucket settings
    (PartitionKey `_spread`); different settings raise `BadDesign` before any write. An entity group transaction cannot
    span buckets, so set `by` to fields that entities which change together share. Writes made without `entity_set`,
    such as by an `EntityGroupTransaction` on the table, are not checked.

    To change the number of buckets, load what `scan` yields into another table with `BulkLoad`.

    Cost in storage transactions: `insert` and `get` 1; `take` and `latest` 1 per bucket for up to 1,000 entities; a
    range 1 per bucket, and 1 per further page of up to 1,000. If the fields of `by` are all known, only one bucket is
    read. Each object takes 1 more before its first request, and 1 more to store the settings of a new table.

    :param account: the account of the table
    :param table: the table's name; the first write creates it
    :param key: the key of the entities, without the bucket
    :param buckets: the number of partitions; divide the peak write rate by what one partition can take
    :param by: the key fields that determine the bucket; None for all
    :param bucket: the name of the field with the bucket
    :param factory: called with the account, the table's name and the key with the bucket; returns the set. None for a
        plain one
    :param max_concurrency: how many buckets are read at a time
    :raises BadDesign: the account does not sort by key (the Cosmos DB Table API), a setting is out of range, or
        `factory` does not return a set with the given key

    Guide: prepend/append anti-pattern; compound key pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table: str,
        key: Key,
        *,
        buckets: int = 16,
        by: Sequence[str] | None = None,
        bucket: str = "Bucket",
        factory: Callable[[Account_co, str, Key], EntitySet[Account_co, Any]] | None = None,
        max_concurrency: int = 8,
    ) -> None:
        super().__init__(account)
        check_key_order(account, "buckets are merged")
        check_least("max_concurrency", max_concurrency, 1, BadDesign)
        self.key = key
        self.bucket = bucket
        self.max_concurrency = max_concurrency
        self.buckets = Buckets(key, buckets, key.fields if by is None else by)
        width = max(2, len(str(buckets - 1)))
        template = f"{{{bucket}:0{width}d}}_{key.partition_template}"
        spread = Key(template, key.row_template, max_units=key.max_units)
        self.entity_set = EntitySet(account, table, spread) if factory is None else factory(account, table, spread)
        if not isinstance(self.entity_set, EntitySet) or self.entity_set.key != spread:
            raise BadDesign(
                "factory", self.entity_set, f"it must return a set with the key {spread}", "use the given key"
            )
        self._models = adapter_or_none(self.entity_set)
        self.entity_set = self.entity_set.without_model()
        check_unnamed(self.entity_set.table, "a partition spread")
        settings: dict[str, int | str] = {"Buckets": buckets, "By": ",".join(self.buckets.by)}
        row_key = f"{key.partition_template} {key.row_template}"
        self._table = SpreadTable(self.entity_set.table, (_SETTINGS, row_key), settings)
        self.entity_set.table = self._table

    @checked
    def placed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields with the bucket added, without sending a request.

        Use it to call methods of `entity_set`, whose entities and keys include the bucket.

        >>> from tablepatterns import Key, connect
        >>> events = PartitionSpread(connect(), "Events", Key("{Day:%Y-%m-%d}", "{EventId:06d}"), by=["EventId"])
        >>> events.placed({"EventId": 223})
        {'EventId': 223, 'Bucket': 8}

        :raises BadKey: a field that determines the bucket is missing, or cannot be part of a key
        """
        return {**fields, self.bucket: self.buckets.of(fields)}

    def _set_profile(self) -> SetProfile | None:
        inner = set_profile_of(self.entity_set)
        settings = {"buckets": self.buckets.count, "by": self.buckets.by, "bucket": self.bucket}
        return inner and replace(inner, pattern="partition_spread", key=self.key, settings=settings)

    @recipe
    async def insert(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Insert an entity into its bucket, and return it. Cost: 1 transaction.

        :param entity: its fields, without the bucket
        :param retry_for: as for `EntitySet.insert`
        :raises EntityAlreadyExists: an entity with this key exists
        :raises BadProperty: the model of the set rejects it
        :raises BadDesign: the table has other bucket settings

        Guide: prepend/append anti-pattern.
        """
        entity_in_bucket = self.placed(entity)
        if self._models is not None:
            self._models.check(entity_in_bucket)
        return await self.entity_set.insert(entity_in_bucket, retry_for=retry_for)

    @recipe
    async def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Entity | None:
        """Return the entity with this key, or None. Cost: 1 transaction, a point query.

        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key, without the bucket
        :raises BadKey: a key field is missing, or its value cannot be part of a key

        Guide: point query.
        """
        return await self.entity_set.get(self.placed(fields_of(key, fields)))

    @stream
    async def range(
        self,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> AsyncIterator[Entity]:
        """Yield the entities of a range of RowKeys from all buckets, in key order.

        The first pages are read concurrently, further pages when needed. Cost: 1 transaction per bucket, and 1 per
        further page of up to 1,000; only one bucket if all fields of `by` are known.

        The parameters are those of `EntitySet.range`, without the bucket. Guide: range query.
        """
        index, key_fields = via_and_fields(via, key, fields)
        async for entity in self._merge_buckets(MAX_PAGE_ENTITIES, index, where, allow, select, key_fields):
            yield entity

    @recipe
    async def take(
        self,
        count: int,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> list[Entity]:
        """Return the first `count` entities of a range of RowKeys from all buckets, in key order.

        Cost: 1 transaction per bucket for up to 1,000 entities, and no more than `count` entities read in each.

        The other parameters are those of `range`. Guide: large result sets (take n).
        """
        check_least("count", count, 0)
        if count == 0:
            return []
        first_entities: list[Entity] = []
        index, key_fields = via_and_fields(via, key, fields)
        async with aclosing(
            self._merge_buckets(min(count, MAX_PAGE_ENTITIES), index, where, allow, select, key_fields)
        ) as entities:
            async for entity in entities:
                first_entities.append(entity)
                if len(first_entities) == count:
                    break
        return first_entities

    @recipe
    async def latest(self, count: int, key: Mapping[str, Any] | None = None, /, **partition: Any) -> list[Entity]:
        """Return the newest `count` entities of all buckets, newest first. Cost: 1 transaction per bucket, as `take`.

        :param count: how many entities
        :param key: the fields as a mapping, for field names that are also parameter names
        :param partition: a value for every field of the PartitionKey, without the bucket
        :raises BadInput: the RowKey does not start with an instant that sorts newest first

        Guide: log tail pattern.
        """
        first = self.key.row_template.partition("}")[0]
        if not first.endswith(":inverted"):
            rule = f"the RowKey {self.key.row_template!r} does not sort newest first"
            raise BadInput("latest", count, rule, "start it with the format inverted, as in {At:inverted}")
        return await self.take(count, fields_of(key, partition))

    async def _merge_buckets(
        self,
        size: int,
        via: Index | None,
        where: Filter | None,
        allow: QueryClass,
        select: Sequence[str] | None,
        fields: Mapping[str, Any],
    ) -> AsyncGenerator[Entity, None]:
        """Yield a range from all buckets that may hold some of it; an invalid query is rejected first."""
        shape = primary_layout(self.entity_set) if via is None else via.shape(self.entity_set.key)
        parts = [{**fields, self.bucket: number} for number in self._numbers(fields)]
        Question.of(shape, where, select, parts[0], allow)
        # The first pages are read concurrently, and would each check the settings
        await self._table.check()
        queries = [partial(self._page, via, size, where, allow, select, part) for part in parts]
        async for entity in merge_sorted(self.account, queries, _row_key, max_concurrency=self.max_concurrency):
            yield entity

    async def _page(
        self,
        via: Index | None,
        size: int,
        where: Filter | None,
        allow: QueryClass,
        select: Sequence[str] | None,
        fields: Mapping[str, Any],
        token: str | None,
    ) -> Page[Entity]:
        return await self.entity_set.page(via, fields, size=size, token=token, where=where, allow=allow, select=select)

    def _numbers(self, fields: Mapping[str, Any]) -> Sequence[int]:
        """Return the buckets to read: one, if the fields that determine it are known."""
        if all(name in fields and not isinstance(fields[name], (Between, Prefix)) for name in self.buckets.by):
            return [self.buckets.of(fields)]
        return range(self.buckets.count)

    def __repr__(self) -> str:
        return f"<PartitionSpread {self.entity_set.table.name} {self.key!r} buckets={self.buckets.count}>"


def _row_key(entity: Entity) -> str:
    return ordinal(entity.row_key or "")
