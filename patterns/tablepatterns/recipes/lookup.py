"""Join in the client, with a cache of entities that rarely change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import compress
from typing import Any, Generic, TypeVar, cast

from ..argument_types import check_least, checked
from ..entity import Entity
from ..entity_set.commit import E
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import adapter_or_none, entity_or_instance, primary_keys, stored_fields
from ..errors import BadDesign, BadInput
from ..key.key import fields_of
from ..recipe import Account, Account_co, Pattern, elapsed, new_lock, recipe

Keys = tuple[str, str]
Row = TypeVar("Row")


class Lookup(Pattern[Account_co], Generic[Account_co, E]):
    """Look up the entities that others refer to, from a cache.

    Use it to join with a small set that rarely changes, such as employees with the names of their departments: Table
    storage has no joins. Entities that refer to the set have the fields of its key.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> departments = EntitySet(storage, "Departments", Key("{Department}", "head"))
    >>> _ = departments.insert({"Department": "Sales", "Manager": "Mary"})
    >>> lookup = Lookup(departments)
    >>> staff = [{"Name": "Jones", "Department": "Sales"}, {"Name": "Smith", "Department": "Unknown"}]
    >>> for employee, department in lookup.join(staff):
    ...     print(employee["Name"], department and department["Manager"])
    Jones Mary
    Smith None

    Consistency: an entity read from the cache, or its absence, is at most `expires` old, by the account's clock, unless
    you `forget` or `refresh` it. You get copies, which may be written back: their ETags reject the write if they are
    stale. If a request fails, no expired entity is returned instead.

    Cost: nothing for cached entities; else 1 storage transaction for each key. With `whole_table` 1 for each 1,000 rows
    of the table, once for each time it expires, and none for any key.

    :param entity_set: the set to look up
    :param expires: how long a cached entity is valid; None for indefinitely
    :param whole_table: whether to read and cache the whole table, which must be small
    :param capacity: how many keys to cache; the oldest are dropped first. A whole table is cached whatever its size
    :param max_concurrency: how many requests run at a time
    :raises BadDesign: the time or the capacity is not above zero

    Guide: join in the client (look-up data).
    """

    @checked
    def __init__(
        self,
        entity_set: EntitySet[Account_co, E],
        *,
        expires: timedelta | None = timedelta(minutes=5),
        whole_table: bool = False,
        capacity: int = 10_000,
        max_concurrency: int = 8,
    ) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        if expires is not None and expires <= timedelta(0):
            raise BadDesign("expires", expires, "it must be above zero", "give a timedelta, or None to never expire")
        check_least("capacity", capacity, 1, BadDesign)
        check_least("max_concurrency", max_concurrency, 1, BadDesign)
        self.entity_set: EntitySet[Account] = entity_set.without_model()
        self._models = adapter_or_none(entity_set)
        self.expires = expires
        self.whole_table = whole_table
        self.max_concurrency = max_concurrency
        self._cache = _Cache(capacity, expires or timedelta.max)
        self._lock = new_lock(entity_set.account)

    @recipe
    async def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> E | None:
        """Return the entity with this key, or None. Cost: none, or 1 transaction.

        The parameters and errors are those of `EntitySet.get`.
        """
        (entity,) = await self.get_many([fields_of(key, fields)])
        return entity

    @recipe
    async def get_many(self, keys: Iterable[Mapping[str, Any]]) -> list[E | None]:
        """Return the entities with these keys in the order asked for, None for those that do not exist.

        Cost: 1 transaction for each key that is not cached.

        :param keys: for each entity, a value for every field of the key; duplicates are allowed
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        """
        field_lists = [stored_fields(self._models, fields) for fields in keys]
        keys_and_fields = [(self.entity_set.key.format(fields), fields) for fields in field_lists]
        entities = await self._entities_by_key(dict(keys_and_fields))
        rows = [entities[row_keys] for row_keys, _ in keys_and_fields]
        return [None if row is None else entity_or_instance(self._models, row.copy()) for row in rows]

    @recipe
    async def join(self, rows: Iterable[Row], *, on: Mapping[str, str] | None = None) -> list[tuple[Row, E | None]]:
        """Return each row with the entity that it refers to, or None. Cost: 1 transaction for each key not cached.

        :param rows: entities, other mappings or instances of models; one without a value for a field of the key refers
            to nothing
        :param on: for a field of the key, its name in the rows, if different
        :raises BadInput: the key has no such field
        :raises BadKey: a row has a value that cannot be part of a key
        """
        names = {field: field for field in self.entity_set.key.fields} | dict(on or {})
        for field in names.keys() - set(self.entity_set.key.fields):
            raise BadInput("on", field, f"the key has the fields {self.entity_set.key.fields}", "name one of them")
        row_list = list(rows)
        references = [{field: _value(row, name) for field, name in names.items()} for row in row_list]
        complete = [None not in reference.values() for reference in references]
        partners = iter(await self.get_many(compress(references, complete)))
        return [(row, next(partners) if refers else None) for row, refers in zip(row_list, complete, strict=True)]

    @recipe
    async def refresh(self) -> None:
        """Empty the cache, and with `whole_table` read the table now. Cost: none, or 1 transaction per 1,000 rows."""
        self.forget()
        if self.whole_table:
            await self._entities_by_key({})

    @checked
    def forget(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Remove a key from the cache; without fields, every key. Cost: nothing.

        The parameters are those of `get`.
        """
        key_fields = stored_fields(self._models, fields_of(key, fields))
        self._cache.drop(self.entity_set.key.format(key_fields) if key_fields and not self.whole_table else None)

    async def _entities_by_key(self, fields_by_key: Mapping[Keys, Mapping[str, Any]]) -> dict[Keys, Entity | None]:
        async with self._lock:
            now, version = elapsed(self.account), self._cache.version
            if self.whole_table and not self._cache.is_complete(now):
                rows = [row async for row in self.entity_set.scan()]
                everything = {primary_keys(self.entity_set, row): row for row in rows}
                self._cache.put_all(everything, now, version)
                return {keys: everything.get(keys) for keys in fields_by_key}
            if self.whole_table:
                return {keys: self._cache.get(keys, now) for keys in fields_by_key}
            missing_keys = [keys for keys in fields_by_key if not self._cache.is_fresh(keys, now)]
            missing_fields = [fields_by_key[keys] for keys in missing_keys]
            entities_read = await self.entity_set.get_many(missing_fields, max_concurrency=self.max_concurrency)
            read = dict(zip(missing_keys, entities_read, strict=True))
            # Before `put`, which may drop entities that are asked for
            entities = {keys: read[keys] if keys in read else self._cache.get(keys, now) for keys in fields_by_key}
            self._cache.put(read, now, version)
            return entities


class _Cache:
    """The cached entities and when they were read. Removing a key takes precedence over concurrent reads of it."""

    def __init__(self, capacity: int, expires: timedelta) -> None:
        self._capacity = capacity
        self._expires = expires
        self._rows: dict[Keys, tuple[Entity | None, timedelta]] = {}
        self._whole_since: timedelta | None = None
        self.version = 0

    def is_fresh(self, keys: Keys, now: timedelta) -> bool:
        return keys in self._rows and now - self._rows[keys][1] < self._expires

    def get(self, keys: Keys, now: timedelta) -> Entity | None:
        return self._rows[keys][0] if self.is_fresh(keys, now) else None

    def is_complete(self, now: timedelta) -> bool:
        return self._whole_since is not None and now - self._whole_since < self._expires

    def put(self, entities: Mapping[Keys, Entity | None], since: timedelta, version: int) -> None:
        if version != self.version:
            return
        for keys, entity in entities.items():
            self._rows.pop(keys, None)
            self._rows[keys] = (entity, since)
        while len(self._rows) > self._capacity:
            del self._rows[next(iter(self._rows))]

    def put_all(self, entities: Mapping[Keys, Entity], since: timedelta, version: int) -> None:
        if version == self.version:
            self._rows = {keys: (entity, since) for keys, entity in entities.items()}
            self._whole_since = since

    def drop(self, keys: Keys | None) -> None:
        self.version += 1
        if keys is None:
            self._rows, self._whole_since = {}, None
        else:
            self._rows.pop(keys, None)


def _value(row: object, name: str) -> Any:
    return cast("Mapping[str, Any]", row).get(name) if isinstance(row, Mapping) else getattr(row, name, None)
