"""Lookup: join in the client, with a table that changes seldom kept at hand for a while.

Status: ready
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import compress
from typing import Any, Final, cast

from ..argument_types import check_least, checked
from ..arguments import fields_of
from ..entity import Entity
from ..entity_set.entity_set import EntitySet
from ..errors import BadDesign, BadInput
from ..recipe import Account, Account_co, Pattern, recipe

Keys = tuple[str, str]

_FOR_A_WHILE: Final = timedelta(minutes=5)
_CAPACITY: Final = 10_000


class Lookup(Pattern[Account_co]):
    """Find the entities that others refer to, with one request for each at most, and mostly with none.

    Goal: employees with the names of their departments. Table storage has no joins; the departments are few and change
    seldom.

    Keys: those of the set that is looked into; what refers to it has the fields of its key.

    Guarantees: what is given was stored at most `expires` ago, by the account's clock. That there is no entity is
    remembered as well. A look-up asks for each key once, however often it occurs, and for all that is missing
    together; of several at the same time, one asks. What is given is a copy: to change it changes nothing here.

    Does not: hear of changes: what was read stays until it expires, `forget` or `refresh`. An entity that was
    changed meanwhile can be written back all the same: it is refused by its ETag. It serves nothing old when a
    request fails.

    Cost: nothing for what is at hand; else 1 storage transaction for each key. With `whole` 1 for each 1,000 rows of
    the table, once for each time it expires, and none for any key.

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

    :param source: the set to look into
    :param expires: for how long what was read is good; None for ever
    :param whole: whether to read the whole table at once, which must be small; each partition is a page at least
    :param capacity: how many keys to keep; the oldest go first. A whole table is kept whatever its size
    :param max_concurrency: how many requests at a time
    :raises BadDesign: the time or the capacity is not above zero

    Guide: join in the client (look-up data).
    """

    @checked
    def __init__(
        self,
        source: EntitySet[Account_co],
        *,
        expires: timedelta | None = _FOR_A_WHILE,
        whole: bool = False,
        capacity: int = _CAPACITY,
        max_concurrency: int = 8,
    ) -> None:
        super().__init__(cast("Account_co", source.account))
        if expires is not None and expires <= timedelta(0):
            raise BadDesign("expires", expires, "it is for how long to keep what was read", "give some time, or None")
        if capacity < 1:
            raise BadDesign("capacity", capacity, "there must be room for a key", "give 1 or more")
        check_least("max_concurrency", max_concurrency, 1, BadDesign)
        self.source: EntitySet[Account] = source
        self.expires = expires
        self.whole = whole
        self.max_concurrency = max_concurrency
        self._kept = _Kept(capacity)
        self._turn = source.account.lock()

    @recipe
    async def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Entity | None:
        """Return the entity with this key, or None. Cost: none, or 1 transaction.

        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the key
        :raises BadKey: a field is missing, or has a value that cannot be a key

        Guide: join in the client.
        """
        (found,) = await self.get_many([fields_of(key, fields)])
        return found

    @recipe
    async def get_many(self, keys: Iterable[Mapping[str, Any]]) -> list[Entity | None]:
        """Return the entities with these keys in the order asked for, None for those that do not exist.

        Cost: 1 transaction for each key that is not at hand.

        :param keys: for each entity, a value for every field of the key; the same may occur more than once
        :raises BadKey: a field is missing, or has a value that cannot be a key

        Guide: join in the client.
        """
        wanted = [(self.source.key.format(fields), fields) for fields in keys]
        found = await self._found(dict(wanted))
        rows = [found[each] for each, _ in wanted]
        return [None if row is None else row.copy() for row in rows]

    @recipe
    async def join(
        self, rows: Iterable[Mapping[str, Any]], *, on: Mapping[str, str] | None = None
    ) -> list[tuple[Mapping[str, Any], Entity | None]]:
        """Return each row with the entity that it refers to, or with None.

        Cost: 1 transaction for each key that is not at hand.

        :param rows: entities, or other mappings; one without a value for a field of the key refers to nothing
        :param on: for a field of the key the name that the rows have for it, where that is another
        :raises BadInput: the key has no such field
        :raises BadKey: a row has a value that cannot be a key

        Guide: join in the client.
        """
        names = {field: field for field in self.source.key.fields} | dict(on or {})
        for field in names.keys() - set(self.source.key.fields):
            raise BadInput("on", field, f"the key has the fields {self.source.key.fields}", "name one of them")
        given = list(rows)
        references = [{field: row.get(name) for field, name in names.items()} for row in given]
        complete = [None not in each.values() for each in references]
        partners = iter(await self.get_many(compress(references, complete)))
        return [(row, next(partners) if refers else None) for row, refers in zip(given, complete, strict=True)]

    @recipe
    async def refresh(self) -> None:
        """Forget everything, and with `whole` read the table now. Cost: none, or 1 transaction per 1,000 rows.

        Guide: join in the client.
        """
        self.forget()
        if self.whole:
            await self._found({})

    @checked
    def forget(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Let the next look-up of a key ask for it again; without fields, that of every key. Cost: nothing.

        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the key, or none
        """
        given = fields_of(key, fields)
        self._kept.drop(self.source.key.format(given) if given and not self.whole else None)

    async def _found(self, asked: Mapping[Keys, Mapping[str, Any]]) -> dict[Keys, Entity | None]:
        async with self._turn:
            now, version = self.account.now(), self._kept.version
            until = self._until(now)
            if self.whole:
                if not self._kept.is_complete(now):
                    rows = [row async for row in self.source.scan()]
                    everything = {self.source.key.format(self.source.primary.key_fields(row)): row for row in rows}
                    self._kept.put_all(everything, until, version)
                    return {keys: everything.get(keys) for keys in asked}
                return {keys: self._kept.at_hand(keys, now) for keys in asked}
            missing = [keys for keys in asked if not self._kept.has(keys, now)]
            fresh = await self.source.get_many([asked[keys] for keys in missing], max_concurrency=self.max_concurrency)
            read = dict(zip(missing, fresh, strict=True))
            found = {keys: read[keys] if keys in read else self._kept.at_hand(keys, now) for keys in asked}
            self._kept.put(read, until, version)
            return found

    def _until(self, now: datetime) -> datetime | None:
        try:
            return None if self.expires is None else now + self.expires
        except OverflowError:
            # Beyond the calendar
            return None


class _Kept:
    """What was read, and until when it is good. Whoever drops something while others read has the last word."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._rows: dict[Keys, tuple[Entity | None, datetime | None]] = {}
        self._whole_until: tuple[datetime | None] | None = None
        self.version = 0

    def has(self, keys: Keys, now: datetime) -> bool:
        return keys in self._rows and _is_good(self._rows[keys][1], now)

    def at_hand(self, keys: Keys, now: datetime) -> Entity | None:
        return self._rows[keys][0] if self.has(keys, now) else None

    def is_complete(self, now: datetime) -> bool:
        return self._whole_until is not None and _is_good(self._whole_until[0], now)

    def put(self, read: Mapping[Keys, Entity | None], until: datetime | None, version: int) -> None:
        if version != self.version:
            return
        for keys, entity in read.items():
            self._rows.pop(keys, None)
            self._rows[keys] = (entity, until)
        while len(self._rows) > self._capacity:
            del self._rows[next(iter(self._rows))]

    def put_all(self, read: Mapping[Keys, Entity], until: datetime | None, version: int) -> None:
        if version == self.version:
            self._rows = {keys: (entity, until) for keys, entity in read.items()}
            self._whole_until = (until,)

    def drop(self, keys: Keys | None) -> None:
        self.version += 1
        if keys is None:
            self._rows, self._whole_until = {}, None
        else:
            self._rows.pop(keys, None)


def _is_good(until: datetime | None, now: datetime) -> bool:
    return until is None or now < until
