"""Relate a parent to its children, as entities of two types, or with the parent's fields copied into each child."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from ..argument_types import check_has_run, checked
from ..entity import Entity, same_value
from ..entity_set.commit import commit
from ..entity_set.derived import Index
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import (
    adapter_or_none,
    check_both_sync,
    check_not_moved,
    check_read_from,
    entity_or_instance,
    stored_fields,
    stored_form,
)
from ..entity_set.model_adapter import check_declared
from ..errors import BadDesign, BadInput, BadProperty, EntityChanged, EntityNotFound, LimitExceeded
from ..jobs.walk import WalkReport
from ..key.key import fields_of
from ..limits import MAX_TRANSACTION_OPERATIONS
from ..recipe import Account, Account_co, Pattern, recipe, stream
from ..retry import RETRY_FOR, contended, overtaken_by

P = TypeVar("P", default=Entity)
C = TypeVar("C", default=Entity)


@dataclass(frozen=True)
class Family(Generic[P, C]):
    """One parent, None if it does not exist, with its children in key order; on Cosmos DB the order is undefined."""

    parent: P | None
    children: tuple[C, ...]


class OneToMany(Pattern[Account_co], Generic[Account_co, P, C]):
    """Find the children of a parent, and the parent of a child, with point and range queries only.

    Use it for one-to-many relationships, such as a department and its employees.

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
    >>> staff.parent_of(jones)["Floor"], staff.parent_of(jones)["EmployeeCount"]
    (3, 1)
    >>> [employee["EmployeeId"] for employee in staff.children_of(Department="Sales")]
    [223]

    Consistency: in one partition, parent and child can change in one transaction: give the children a `Summary` whose
    row is the parent's, or commit both with an `EntityGroupTransaction`. Nothing prevents deleting a parent that has
    children, or inserting a child without a parent. More: docs/patterns/one_to_many.md.

    Cost: `parent_of` 1 storage transaction; `children_of` 1 per page of up to 1,000; `family` both, sent together.

    :param parents: the set of the parents
    :param children: the set of the children
    :param by: for a field of the parent's key, its name in the children, if different
    :param via: an index of the children whose PartitionKey is made of these fields; None to use their primary key
    :raises BadDesign: the children of one parent would not be a range; the error says why

    Guide: one-to-many relationships (separate entities, in the same or in different partitions).
    """

    @checked
    def __init__(
        self,
        parents: EntitySet[Account_co, P],
        children: EntitySet[Account_co, C],
        *,
        by: Mapping[str, str] | None = None,
        via: Index | None = None,
    ) -> None:
        super().__init__(cast("Account_co", parents.account))
        for entity_set in (parents, children):
            check_not_moved(entity_set, "OneToMany")
        self.parents: EntitySet[Account] = parents.without_model()
        self.children: EntitySet[Account] = children.without_model()
        self._parent_models, self._child_models = adapter_or_none(parents), adapter_or_none(children)
        self.via = via
        check_both_sync("children", parents.account, children.account)
        self.names = {field: field for field in parents.key.fields} | dict(by or {})
        for field in self.names.keys() - set(parents.key.fields):
            raise BadDesign("by", field, f"the parents have the key {parents.key}", "name fields of that key")
        key = children.key if via is None else via.key
        parent_fields = set(self.names.values())
        if missing_fields := [name for name in key.partition_fields if name not in parent_fields]:
            rule = f"the parent's key does not have {missing_fields}, so its children could be in any partition"
            raise BadDesign("children", key, rule, "use an index whose PartitionKey is made of the parent's key fields")
        if absent := parent_fields.difference(key.fields):
            rule = f"{sorted(absent)} are not in this key, so the children of one parent are not one range"
            raise BadDesign("children", key, rule, "use an index that has the parent's key fields")

    @property
    def shares_partition(self) -> bool:
        """Whether a parent and its children share a partition, so that one transaction can change both."""
        first, second = ((side.account, side.table.name.lower()) for side in (self.parents, self.children))
        return first == second and self.parents.key.partition_template == self.children.key.partition_template

    @recipe
    async def parent_of(self, entity: C | Mapping[str, Any]) -> P | None:
        """Return the parent of a child or of its fields; None if it does not exist or the child names none.

        Cost: 1 transaction.
        """
        child = stored_form(self._child_models, entity)
        check_read_from(self.children, child)
        fields = {field: child.get(name) for field, name in self.names.items()}
        parent = None if None in fields.values() else await self.parents.get(fields)
        return None if parent is None else entity_or_instance(self._parent_models, parent)

    @stream
    async def children_of(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> AsyncIterator[C]:
        """Yield all children of a parent, in key order. Cost: 1 transaction per page of up to 1,000.

        On the Cosmos DB Table API the order is undefined.

        :param fields: a value for every field of the parent's key, or as a mapping `key`
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        """
        key_fields = stored_fields(self._parent_models, fields_of(key, fields))
        self.parents.key.format(key_fields)
        child_fields = {self.names[field]: value for field, value in key_fields.items()}
        async for entity in self.children.range(self.via, child_fields):
            if (child := entity_or_instance(self._child_models, entity)) is not None:
                yield child

    @recipe
    async def family(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Family[P, C]:
        """Return a parent with all its children. Cost: 1 transaction, and 1 per page of up to 1,000, at once.

        The parameters and errors are those of `children_of`.
        """
        key_fields = fields_of(key, fields)

        async def parents() -> list[Any]:
            entity = await self.parents.get(stored_fields(self._parent_models, key_fields))
            return [None if entity is None else entity_or_instance(self._parent_models, entity)]

        async def children() -> list[Any]:
            return [entity async for entity in self.children_of(key_fields)]

        (parent,), child_entities = await self.account.gather(parents(), children(), independent=True)
        return Family(parent, tuple(child_entities))


@dataclass(frozen=True)
class Changed(WalkReport):
    """How many entities were checked, and had to be written, so far; the token resumes after them, None at the end."""

    entities: int
    written: int
    token: str | None


class SharedFields(Pattern[Account_co]):
    """Store the parent's fields in each child, so that one request reads both.

    Use it if the parent's fields rarely change, such as the name and the floor of an employee's department. There
    is no entity for the parent.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> for number in (152, 223):
    ...     _ = employees.insert({"Department": "Sales", "EmployeeId": number, "Floor": 3})
    >>> departments = SharedFields(employees, ["Floor", "Manager"])
    >>> departments.change({"Floor": 4}, Department="Sales")
    Changed(entities=2, written=2, token=None)

    Consistency: `change` writes chunks, one entity group transaction each, on condition of the ETags that it read.
    While it runs, readers see old values in some children. Running it again is safe. Update the writers first.

    Cost: 2 storage transactions for each 100 children, more if much is derived from them.

    :param entity_set: the set of the children
    :param fields: the names of the parent's fields
    :raises BadDesign: there is no field, it belongs to the key, which cannot be changed, or the model does not have it

    Guide: one-to-many relationships (denormalized); denormalization pattern.
    """

    @checked
    def __init__(self, entity_set: EntitySet[Account_co, Any], fields: Collection[str]) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        self.entity_set: EntitySet[Account] = entity_set.without_model()
        self._models = adapter_or_none(entity_set)
        self.fields = frozenset(fields)
        if not self.fields or self.fields.intersection(entity_set.key.fields):
            rule = f"it must name at least one field, and none of the key {entity_set.key}"
            raise BadDesign("fields", sorted(self.fields), rule, "to change the key, move the entities")
        if self._models is not None:
            check_declared(self._models.model, "fields", self.fields, self._models.model.members)

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
        **parent: Any,
    ) -> Changed:
        """Change the parent's fields in all its children, and return how many there were.

        Cost: 2 transactions for each chunk, 1 if nothing needs to be written.

        :param changes: the fields to change; None removes a field
        :param resume: the token of an earlier call for the same parent
        :param progress: called after each chunk, with the token that resumes from there
        :param chunk: how many entities to read and write at a time, 1 to 100; if their derived rows do not fit into one
            transaction, they are written in several
        :param retry_for: the seconds to keep retrying each chunk while others write the same entities
        :param parent: the key fields that select the children: their partition at least, or as a mapping `key`
        :raises BadInput: a field is not one of the parent's, or `chunk` is out of range
        :raises BadProperty: the model of the set rejects a changed entity; earlier chunks stay written
        :raises BadToken: the token is of another parent
        :raises TooMuchContention: others wrote the same entities during every attempt; earlier chunks stay written
        """
        if undeclared := set(changes).difference(self.fields):
            rule = f"the parent's fields are {sorted(self.fields)}"
            raise BadInput("changes", sorted(undeclared), rule, "leave them out, or declare them")
        if not 1 <= chunk <= MAX_TRANSACTION_OPERATIONS:
            rule = f"a transaction has 1 to {MAX_TRANSACTION_OPERATIONS} operations"
            raise BadInput("chunk", chunk, rule, "give a number in that range")
        key_fields = stored_fields(self._models, fields_of(key, parent))
        if self._models is not None:
            model = self._models.model
            changes = {name: None if value is None else model.field(name, value) for name, value in changes.items()}
        total = Changed(0, 0, resume)
        while True:
            step = partial(self._change_chunk, changes, chunk, total.token, key_fields, retry_for)
            total += await contended(self.account, step, retry_for)
            if progress is not None:
                check_has_run("progress", progress(total))
            if total.token is None:
                return total

    async def _change_chunk(
        self, changes: Mapping[str, Any], chunk: int, token: str | None, parent: Mapping[str, Any], retry_for: float
    ) -> Changed:
        page = await self.entity_set.page(parent, size=chunk, token=token)
        stale = [child for child in page.items if not _has_values(child, changes)]
        for entity in stale:
            entity.update(changes)
            if self._models is not None:
                self._models.check(entity)
        with overtaken_by(EntityChanged, EntityNotFound):
            await self._write(stale, retry_for)
        return Changed(len(page.items), len(stale), page.token)

    async def _write(self, entities: list[Entity], retry_for: float) -> None:
        if not entities:
            return
        try:
            writes = map(self.entity_set.replacing, entities)
            await commit(self.account, self.entity_set.table, *writes, retry_for=retry_for)
        except LimitExceeded:
            if len(entities) == 1:
                raise
            half = len(entities) // 2
            await self._write(entities[:half], retry_for)
            await self._write(entities[half:], retry_for)


def _has_values(entity: Entity, changes: Mapping[str, Any]) -> bool:
    """Return whether an entity has these values, of these types."""
    try:
        return same_value({name: entity.get(name) for name in changes}, changes)
    except BadProperty:
        # A mapping may accept values that no property can hold; if none does, the write rejects them
        return False
