"""Spread the writes of one hot partition over several, and merge them in order when reading."""

# It reads and writes through the hooks of its set, which keeps the calls of a set public
# pyright: reportPrivateUsage=false

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain
from string import Formatter
from typing import Any, cast

from ...argument_types import check_least, checked
from ...edm import ordinal
from ...entity import Entity
from ...entity_set.calls import SetCalls
from ...entity_set.commit import E, Write
from ...entity_set.derived import Fields
from ...entity_set.entity_set import EntitySet
from ...entity_set.hooks import Selection
from ...entity_set.internals import adapter_or_none
from ...entity_set.model_layer import ModelLayer
from ...entity_set.named_table import check_unnamed
from ...entity_set.shared_rows import Lists, Totals
from ...errors import BadDesign, BadInput, BadKey, EntityAlreadyExists
from ...filters import Filter, QueryClass
from ...key import Key
from ...key.key import fields_of
from ...key.ranges import Between, Prefix
from ...recipe import Account_co, SetProfile, check_key_order, recipe, set_profile_of
from ...sdk.operation import Operation
from ...sdk.page_token import EntityPage, PageQuery
from ...sdk.table import Page, Table

_SETTINGS = "_spread"
"""The PartitionKey of the entities with bucket settings; no bucket starts with it."""


class PartitionSpread(SetCalls[Account_co, E]):
    """Spread a hot partition's entities over several partitions, and read them as one.

    Use it for data that is written at one end, such as log entries by the hour: with the hour as the PartitionKey, one
    node serves all current writes (the prepend/append anti-pattern). Prefer a key that spreads by itself, such as
    department and employee, if queries allow it.

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

    The PartitionKey is your template after `{Bucket:02d}_`. The bucket is a hash of key fields: a point query still
    finds an entity, and keys stay unique. Every entity has it as a field. How to change the number of buckets:
    docs/patterns/partition_spread.md.

    Consistency: reads return the entities of all buckets in RowKey order. The table stores its settings, and different
    ones raise `BadDesign` before any write. A transaction cannot span buckets: set `by` to fields that entities which
    change together share.

    It has the calls of an `EntitySet`, without the bucket. `page` needs the fields of `by`, and `query` and `scan`
    yield entities by bucket. If the set of `factory` has a model, the calls take and return instances, and `insert`
    sets their field for the bucket.

    Cost in storage transactions: that of the set; `take` and `latest` 1 per bucket for up to 1,000 entities; a range 1
    per bucket, and 1 per further page. If the fields of `by` are all known, only one bucket is read. Each object takes
    1 more before its first request, and 1 more to store the settings of a new table.

    :param key: the key of the entities, without the bucket
    :param buckets: the number of partitions; divide the peak write rate by what one partition can take
    :param by: the key fields that determine the bucket; None for all
    :param bucket: the name of the field with the bucket
    :param factory: called with the account, the table's name and the key with the bucket; returns the set. None for a
        plain one
    :param max_concurrency: how many buckets are read at a time
    :raises BadDesign: the account does not sort by key (the Cosmos DB Table API), a setting is out of range, or
        `factory` does not return a set with the given key

    The other parameters are those of `EntitySet`. Guide: prepend/append anti-pattern; compound key pattern.
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
        factory: Callable[[Account_co, str, Key], EntitySet[Account_co, E]] | None = None,
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
        spread_set: Any = EntitySet(account, table, spread) if factory is None else factory(account, table, spread)
        inner = cast("EntitySet[Account_co, Any]", spread_set)
        is_set = isinstance(spread_set, EntitySet)
        if not is_set or (inner.account, inner.table.name, inner.key) != (account, table, spread):
            rule = f"it must return a set of the table {table!r} of {account!r} with the key {spread}"
            raise BadDesign("factory", inner, rule, "use the account, the table and the key that the factory receives")
        adapter = adapter_or_none(inner)
        self._layer = None if adapter is None else ModelLayer(adapter, self)
        self.entity_set: EntitySet[Account_co] = inner.without_model()
        check_unnamed(self.entity_set.table, "a partition spread")
        settings: dict[str, int | str] = {"Buckets": buckets, "By": ",".join(self.buckets.by)}
        row_key = f"{key.partition_template} {key.row_template}"
        self._table = SpreadTable(self.entity_set.table, (_SETTINGS, row_key), settings)
        self.entity_set.table, self.entity_set._place = self._table, self._place

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

    def _place(self, fields: dict[str, Any]) -> None:
        """Add the bucket of a new entity; reject one in which point queries do not look for it."""
        number = self.buckets.of(fields)
        if fields.setdefault(self.bucket, number) != number:
            rule = f"an entity with these values of {', '.join(self.buckets.by)} is looked for in bucket {number}"
            raise BadKey(self.bucket, fields[self.bucket], rule, "pass placed(entity)")

    def _unplaced(self, fields: Mapping[str, Any]) -> Fields:
        """Return the fields without the bucket, which the set adds."""
        return {name: value for name, value in fields.items() if name != self.bucket}

    def without_model(self) -> PartitionSpread[Account_co]:
        """Return this spread without the model of its set, as `EntitySet.without_model` does."""
        return cast("PartitionSpread[Account_co]", self._without_model())

    def _set_profile(self) -> SetProfile | None:
        inner = set_profile_of(self.entity_set)
        settings = {"buckets": self.buckets.count, "by": self.buckets.by, "bucket": self.bucket}
        return inner and replace(inner, pattern="partition_spread", key=self.key, settings=settings)

    @recipe
    async def latest(self, count: int, key: Mapping[str, Any] | None = None, /, **partition: Any) -> list[E]:
        """Return the newest `count` entities of all buckets, newest first. Cost: 1 transaction per bucket, as `take`.

        :param partition: a value for every field of the PartitionKey, without the bucket
        :raises BadInput: the RowKey does not start with an instant that sorts newest first

        The other parameters are those of `LogTail.latest`.
        """
        first = self.key.row_template.partition("}")[0]
        if not first.endswith(":inverted"):
            rule = f"the RowKey {self.key.row_template!r} does not sort newest first"
            raise BadInput("latest", count, rule, "start it with the format inverted, as in {At:inverted}")
        return await self.take(count, fields_of(key, partition))

    def _key_of(self, entity: Mapping[str, Any]) -> Fields:
        return self.entity_set._key_of(self.placed(entity))

    # ------------------------------------------------------------------ reads

    async def _one(self, selection: Selection) -> E | None:
        if not self._is_in_bucket(selection):
            return cast("E | None", await self.entity_set._one(selection))
        if selection.via is None or self._is_placed(selection.fields):
            placed = selection._replace(fields=self.placed(selection.fields))
            return cast("E | None", await self.entity_set._one(placed))
        entities = await self._first(selection, 1)
        return entities[0] if entities else None

    async def _items(self, selection: Selection, size: int) -> AsyncGenerator[E, None]:
        """Yield a range from all buckets that may hold some of it; an invalid query is rejected first."""
        parts = self._parts(selection)
        self.entity_set._question(parts[0])
        # The first pages are read concurrently, and would each check the settings
        await self._table.check()
        buckets = [_Bucket(partial(self.entity_set._page, part, size)) for part in parts]
        firsts = await self.account.gather(*map(_Bucket.following, buckets), max_concurrency=self.max_concurrency)
        # One page of each bucket is in memory; no two heads have one number, so entities are never compared
        heads = [(ordinal(row.row_key or ""), number, row) for number, row in enumerate(firsts) if row is not None]
        heapq.heapify(heads)
        while heads:
            _, number, entity = heads[0]
            yield cast("E", entity)
            next_entity = await buckets[number].following()
            if next_entity is None:
                heapq.heappop(heads)
            else:
                heapq.heapreplace(heads, (ordinal(next_entity.row_key or ""), number, next_entity))

    async def _page(self, selection: Selection, size: int, token: str | None) -> Page[E]:
        parts = self._parts(selection)
        if len(parts) > 1:
            rule = "the range is in several buckets, and a token continues the read of one"
            self._reject("page", rule, f"use range or take, or give {', '.join(self.buckets.by)}")
        return cast("Page[E]", await self.entity_set._page(parts[0], size, token))

    def _matching(
        self, where: Filter | None, allow: QueryClass, select: Sequence[str] | None
    ) -> AsyncGenerator[E, None]:
        return cast("AsyncGenerator[E, None]", self.entity_set._matching(where, allow, select))

    async def _keys_with(self, via: Lists, fields: Fields) -> list[Fields]:
        return await self.entity_set._keys_with(via, fields)

    async def _listed(self, via: Lists, fields: Fields, max_concurrency: int) -> list[E]:
        return cast("list[E]", await self.entity_set._listed(via, fields, max_concurrency))

    async def _totals(self, via: Totals, fields: Fields, retry_for: float) -> Fields:
        return await self.entity_set._totals(via, fields, retry_for)

    def _parts(self, selection: Selection) -> list[Selection]:
        """Return the ranges to read: one, if the fields that determine the bucket are known, or one for each bucket."""
        fields = selection.fields
        if not self._is_in_bucket(selection):
            return [selection]
        numbers = [self.buckets.of(fields)] if self._is_placed(fields) else range(self.buckets.count)
        return [selection._replace(fields={**fields, self.bucket: number}) for number in numbers]

    def _is_in_bucket(self, selection: Selection) -> bool:
        """Whether the rows to read have the bucket in their key."""
        return selection.via is None or self.bucket in selection.via.key.fields

    def _is_placed(self, fields: Fields) -> bool:
        return all(name in fields and not isinstance(fields[name], (Between, Prefix)) for name in self.buckets.by)

    # ------------------------------------------------------------------ writes

    async def _create(self, entity: Mapping[str, Any], retry_for: float) -> E:
        return cast("E", await self.entity_set._create(self._unplaced(entity), retry_for))

    async def _change(self, entity: Mapping[str, Any], changes: Fields | None, retry_for: float) -> E:
        return cast("E", await self.entity_set._change(entity, changes, retry_for))

    async def _remove(self, entity: Mapping[str, Any], retry_for: float) -> None:
        await self.entity_set._remove(entity, retry_for)

    async def _upsert(self, entity: Mapping[str, Any], retry_for: float, *, in_part: bool) -> E:
        return cast("E", await self.entity_set._upsert(self._unplaced(entity), retry_for, in_part=in_part))

    async def _overwrite(self, entity: Mapping[str, Any], changes: Fields | None, etag: str, retry_for: float) -> E:
        return cast("E", await self.entity_set._overwrite(self.placed(entity), changes, etag, retry_for))

    async def _remove_any(self, entity: Mapping[str, Any], etag: str, retry_for: float) -> None:
        await self.entity_set._remove_any(self.placed(entity), etag, retry_for)

    async def _rename(self, entity: Mapping[str, Any], fields: Fields, retry_for: float) -> E:
        return cast("E", await self.entity_set._rename(entity, self._renamed(entity, fields), retry_for))

    def _plan_insert(self, entity: Mapping[str, Any]) -> Write[E]:
        return cast("Write[E]", self.entity_set._plan_insert(self._unplaced(entity)))

    def _plan_change(self, entity: Mapping[str, Any], changes: Fields | None) -> Write[E]:
        return cast("Write[E]", self.entity_set._plan_change(entity, changes))

    def _plan_removal(self, entity: Mapping[str, Any]) -> Write[E]:
        return cast("Write[E]", self.entity_set._plan_removal(entity))

    def _plan_rename(self, entity: Mapping[str, Any], fields: Fields) -> tuple[Write[E], Write[E]]:
        writes = self.entity_set._plan_rename(entity, self._renamed(entity, fields))
        return cast("tuple[Write[E], Write[E]]", writes)

    def _renamed(self, entity: Mapping[str, Any], fields: Fields) -> Fields:
        """Return the changed fields of a key with the bucket that they determine."""
        number = self.buckets.of({**entity, **fields})
        return fields if number == entity.get(self.bucket) else {**fields, self.bucket: number}

    def __repr__(self) -> str:
        return f"<PartitionSpread {self.entity_set.table.name} {self.key!r} buckets={self.buckets.count}>"


class SpreadTable(Table):
    """A table that can be read and written only with its own bucket settings.

    The settings are stored in one entity: read before the first request, and inserted before the first write. So no
    process looks for an entity, or stores one, in a bucket where others do not expect it.

    :param key: the PartitionKey and RowKey of the settings; no other entity may have them
    """

    def __init__(self, table: Table, key: tuple[str, str], settings: Mapping[str, int | str]) -> None:
        super().__init__(table._client, table._hook, table._requests)
        self._key = key
        self._settings = settings
        self._is_checked = False

    async def check(self) -> bool:
        """Return whether the settings are stored. Cost: 1 transaction, until they are."""
        if not self._is_checked:
            self._is_checked = self._agrees(await super().get(*self._key))
        return self._is_checked

    async def declare(self) -> None:
        """Store the settings, if they are not stored yet. Cost: 1 transaction, or 2 the first time."""
        if await self.check():
            return
        keys = dict(zip(("PartitionKey", "RowKey"), self._key, strict=True))
        try:
            await super().submit(Operation.insert(keys | dict(self._settings)))
            self._is_checked = True
        except EntityAlreadyExists:
            self._is_checked = self._agrees(await super().get(*self._key))

    def _agrees(self, row: Entity | None) -> bool:
        if row is None:
            return False
        stored = {name: row.get(name) for name in self._settings}
        if stored != self._settings:
            rule = f"the table {self.name!r} has the settings {stored}, so entities would be in other buckets"
            raise BadDesign("spread", dict(self._settings), rule, "use those, or load the entities into another table")
        return True

    async def drop(self) -> None:
        """Delete the table with all its entities and settings. Cost: 1 transaction."""
        self._is_checked = False
        await super().drop()

    async def submit(self, *operations: Operation) -> list[Entity]:
        await self.declare()
        return await super().submit(*operations)

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        await self.check()
        return await super().get(partition_key, row_key, select)

    async def read_page(self, query: PageQuery) -> EntityPage:
        await self.check()
        return await super().read_page(query)


class Buckets:
    """Compute an entity's bucket from the values of some key fields, as docs/patterns/partition_spread.md tells.

    >>> key = Key("{Service}", "{At:ticks}_{EventId:06d}")
    >>> Buckets(key, 16, ["EventId"]).of({"EventId": 223})
    8
    """

    def __init__(self, key: Key, count: int, by: Sequence[str]) -> None:
        check_least("buckets", count, 1, BadDesign)
        if not by:
            raise BadDesign("by", by, "no field determines the bucket", "name fields of the key")
        pieces = chain.from_iterable(map(Formatter().parse, (key.partition_template, key.row_template)))
        # With their widths, which `Key.formats` leaves out
        formats = {name: f"{{{name}:{spec}}}" if spec else f"{{{name}}}" for _, name, spec, _ in pieces if name}
        for name in by:
            if name not in formats:
                raise BadDesign("by", name, "it is not a field of the key", f"use some of {', '.join(key.fields)}")
        self.count = count
        self.by = tuple(by)
        self._texts = {name: Key(formats[name], "", max_units=key.max_units) for name in by}

    def of(self, fields: Mapping[str, object]) -> int:
        """Return the number of the bucket, from 0."""
        texts = (self._texts[name].format({name: fields.get(name)})[0] for name in self.by)
        digest = sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count


class _Bucket:
    """The entities of one bucket that were read and not yielded yet.

    :param read: returns the first page, or the one that a token continues
    """

    def __init__(self, read: Callable[[str | None], Awaitable[Page[Entity]]]) -> None:
        self._read = read
        self._token: str | None = ""
        """Continues after the last page; empty before the first one, None at the end."""
        self._entities: deque[Entity] = deque()

    async def following(self) -> Entity | None:
        """Return the next entity; None at the end. Cost: 1 transaction per page, none for an entity that was read."""
        while not self._entities and self._token is not None:
            page = await self._read(self._token or None)
            self._token = page.token
            self._entities.extend(page.items)
        return self._entities.popleft() if self._entities else None
