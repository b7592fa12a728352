"""One to many: what belongs to an entity, as entities of another type, or with what is said of the one in each.

Status: ready
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from ..argument_types import checked
from ..arguments import fields_of
from ..entity import Entity
from ..entity_set.commit import commit
from ..entity_set.derived import Index
from ..entity_set.entity_set import EntitySet
from ..errors import BadDesign, BadInput, BadProperty, EntityChanged, EntityNotFound, LimitExceeded
from ..limits import MAX_TRANSACTION_OPERATIONS
from ..recipe import Account, Account_co, Pattern, recipe, stream
from ..retry import RETRY_FOR, Overtaken, contended
from ..same_value import same_value


@dataclass(frozen=True)
class Family:
    """One entity with all that belong to it.

    :param one: the entity, or None where there is none
    :param many: those that belong to it, in the order of their keys; on the Cosmos DB Table API in none
    """

    one: Entity | None
    many: tuple[Entity, ...]


class OneToMany(Pattern[Account_co]):
    """Find what belongs to an entity, and what an entity belongs to, with point and range queries only.

    Goal: a department and its employees, as entities of two types.

    Keys: the fields of the one's key are fields of each of the many, and make the PartitionKey of the many, or of an
    index of theirs. The two types share a partition, where their RowKeys have prefixes of their own, or they are in
    partitions, tables or accounts of their own: `is_together` tells.

    Guarantees: reading needs no scan. Together, both change in one transaction: give the many a `Summary` whose row is
    the one's, and its count of them is exact with every insert and delete; or commit both with an
    `EntityGroupTransaction`. Apart, each is changed by one operation, and such a count follows by a queue.

    Does not: keep the one from being deleted while it has many, nor the many from naming one that is not there. Give a
    family's answer of one instant: it is read by two requests.

    Cost: `one_of` 1 storage transaction; `all_of` 1 per page of up to 1,000; `family` both, sent together.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> from tablepatterns.recipes.summary import Summary
    >>> storage = connect()
    >>> head = Key("{Department}", "department")
    >>> departments = EntitySet(storage, "Staff", head)
    >>> count = Summary(head, count="EmployeeCount")
    >>> employees = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[count])
    >>> staff = OneToMany(departments, employees)
    >>> _ = departments.insert({"Department": "Sales", "Floor": 3, "EmployeeCount": 0})
    >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223})
    >>> staff.one_of(jones)["Floor"], staff.one_of(jones)["EmployeeCount"]
    (3, 1)
    >>> [found["EmployeeId"] for found in staff.all_of(Department="Sales")]
    [223]

    :param one: the set of those that each have many
    :param many: the set of those that each belong to one
    :param by: for a field of the one's key the field of the many, where that has another name
    :param via: an index of the many whose PartitionKey is made of these fields; None where their own is
    :raises BadDesign: the many of one would not be a range, and why

    Guide: one-to-many relationships (separate entities, in the same or in different partitions).
    """

    @checked
    def __init__(
        self,
        one: EntitySet[Account_co],
        many: EntitySet[Account_co],
        *,
        by: Mapping[str, str] | None = None,
        via: Index | None = None,
    ) -> None:
        super().__init__(cast("Account_co", one.account))
        self.one: EntitySet[Account] = one
        self.many: EntitySet[Account] = many
        self.via = via
        if one.account.is_sync != many.account.is_sync:
            rule = "one of the two accounts is sync, and the other is not"
            raise BadDesign("many", many.account, rule, "connect to both in the same way")
        self.names = {field: field for field in one.key.fields} | dict(by or {})
        for field in self.names.keys() - set(one.key.fields):
            raise BadDesign("by", field, f"the one has the key {one.key}", "name the fields of its key")
        key = many.key if via is None else via.key
        known = set(self.names.values())
        if missing := [name for name in key.partition_fields if name not in known]:
            rule = f"the one does not tell {missing}, so that the many could be in any partition"
            raise BadDesign("many", key, rule, "give an index of the many that is partitioned by the one")
        if strangers := known.difference(key.fields):
            rule = f"{sorted(strangers)} are not in the key, so that the many of one are no range"
            raise BadDesign("many", key, rule, "give an index of the many that is keyed by the one")

    @property
    def is_together(self) -> bool:
        """Whether the one and its many share a partition, so that one transaction can change both."""
        one, many = (self.one.account, self.one.table.name.lower()), (self.many.account, self.many.table.name.lower())
        return one == many and self.one.key.partition_template == self.many.key.partition_template

    @recipe
    async def one_of(self, entity: Mapping[str, Any]) -> Entity | None:
        """Return what an entity belongs to; None if it is not there, or not named. Cost: 1 transaction.

        :param entity: one of the many, or its fields
        """
        self.many.identity.check(entity)
        fields = {field: entity.get(name) for field, name in self.names.items()}
        return None if None in fields.values() else await self.one.get(fields)

    @stream
    async def all_of(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> AsyncIterator[Entity]:
        """Hand out all that belong to one, in the order of their keys. Cost: 1 transaction per page of up to 1,000.

        On the Cosmos DB Table API they come in no order.

        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the one's key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        """
        given = fields_of(key, fields)
        self.one.key.format(given)
        asked = {self.names[field]: value for field, value in given.items()}
        async for entity in self.many.range(self.via, asked):
            yield entity

    @recipe
    async def family(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Family:
        """Return one with all that belong to it. Cost: 1 transaction, and 1 per page of up to 1,000, at once.

        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the one's key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        """
        given = fields_of(key, fields)

        async def one() -> list[Entity | None]:
            return [await self.one.get(given)]

        async def many() -> list[Entity | None]:
            return [entity async for entity in self.all_of(given)]

        (found,), belonging = await self.account.gather(one(), many())
        return Family(found, tuple(each for each in belonging if each is not None))


@dataclass(frozen=True)
class Changed:
    """How far a change of denormalised fields has come.

    :param entities: how many entities were looked at so far
    :param written: how many of them had to be written
    :param token: resumes after them; None once all are done
    """

    entities: int
    written: int
    token: str | None


class SharedFields(Pattern[Account_co]):
    """Keep what is said of the one in each of its many, so that one request reads it all.

    Goal: employees with the name and the floor of their department, where departments hardly ever change.

    Keys: those of the many; there is no entity for the one.

    Guarantees: `change` writes each of the many, chunk by chunk, in one entity group transaction each, on condition of
    the ETags of what it read; whoever is overtaken reads the chunk again. It can be resumed with a token of its
    progress, also in another process, and done again does no harm: what says so already is not written.

    Does not: change all at one instant: who reads meanwhile sees some as they were. Know of entities that others insert
    as it goes with what it said before: let writers know first, and then change.

    Cost: 2 storage transactions for each 100 of the many, fewer where much is derived of them.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> for number in (152, 223):
    ...     _ = employees.insert({"Department": "Sales", "EmployeeId": number, "Floor": 3})
    >>> departments = SharedFields(employees, ["Floor", "Manager"])
    >>> departments.change({"Floor": 4}, Department="Sales")
    Changed(entities=2, written=2, token=None)
    >>> departments.change({"Floor": 4}, Department="Sales").written
    0

    :param many: the set of those that each say what the one is
    :param fields: the names of the fields that are said of the one
    :raises BadDesign: no field, or one of the key, which cannot be changed

    Guide: one-to-many relationships (denormalised); denormalization pattern.
    """

    @checked
    def __init__(self, many: EntitySet[Account_co], fields: Collection[str]) -> None:
        super().__init__(cast("Account_co", many.account))
        self.many: EntitySet[Account] = many
        self.fields = frozenset(fields)
        if not self.fields or self.fields.intersection(many.key.fields):
            rule = f"there must be some, and none of the key {many.key}"
            raise BadDesign("fields", sorted(self.fields), rule, "to change the key, move the entities")

    @recipe
    async def change(
        self,
        changes: Mapping[str, Any],
        key: Mapping[str, Any] | None = None,
        /,
        *,
        resume: str | None = None,
        progress: Callable[[Changed], object] | None = None,
        chunk: int = MAX_TRANSACTION_OPERATIONS,
        retry_for: float = RETRY_FOR,
        **one: Any,
    ) -> Changed:
        """Change what all of the many say of one, and return how many there were.

        Cost: 2 transactions for each chunk, 1 where nothing is to be written.

        :param changes: the fields to change; None takes a field away
        :param resume: the token of an earlier call for the same one
        :param progress: called after each chunk, with the token that resumes from there
        :param chunk: how many entities to read and write at a time, 1 to 100; those whose derived rows do not fit into
            one transaction are written in several
        :param retry_for: for how many seconds to retry each chunk while others write the same entities
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param one: what makes a range of the many: their partition at least
        :raises BadInput: a field is not said of the one, or the chunk is out of bounds
        :raises BadToken: the token is of another one
        :raises TooMuchContention: others wrote the same entities at every attempt; what was done before stays

        Guide: one-to-many relationships (updating department data).
        """
        if strangers := set(changes).difference(self.fields):
            rule = f"what is said of the one are {sorted(self.fields)}"
            raise BadInput("changes", sorted(strangers), rule, "leave it out, or declare it")
        if not 1 <= chunk <= MAX_TRANSACTION_OPERATIONS:
            rule = f"a transaction has 1 to {MAX_TRANSACTION_OPERATIONS} operations"
            raise BadInput("chunk", chunk, rule, "leave it out")
        given = fields_of(key, one)
        done = Changed(0, 0, resume)
        while True:
            step = partial(self._change_chunk, changes, chunk, done.token, given, retry_for)
            now = await contended(self.account, step, retry_for)
            done = Changed(done.entities + now.entities, done.written + now.written, now.token)
            if progress is not None:
                progress(done)
            if done.token is None:
                return done

    async def _change_chunk(
        self, changes: Mapping[str, Any], chunk: int, token: str | None, one: Mapping[str, Any], retry_for: float
    ) -> Changed:
        page = await self.many.page(one, size=chunk, token=token)
        stale = [each for each in page.items if not _says(each, changes)]
        for entity in stale:
            entity.update(changes)
        try:
            await self._write(stale, retry_for)
        except (EntityChanged, EntityNotFound) as error:
            raise Overtaken from error
        return Changed(len(page.items), len(stale), page.token)

    async def _write(self, entities: list[Entity], retry_for: float) -> None:
        if not entities:
            return
        try:
            await commit(self.account, self.many.table, *map(self.many.replacing, entities), retry_for=retry_for)
        except LimitExceeded:
            if len(entities) == 1:
                raise
            half = len(entities) // 2
            await self._write(entities[:half], retry_for)
            await self._write(entities[half:], retry_for)


def _says(entity: Entity, changes: Mapping[str, Any]) -> bool:
    """Whether an entity holds these values, of these types."""
    try:
        return same_value({name: entity.get(name) for name in changes}, changes)
    except BadProperty:
        # A mapping may take what no property can be; otherwise the write refuses it
        return False
