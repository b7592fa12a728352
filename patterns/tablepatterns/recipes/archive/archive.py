"""Archive inactive entities in another table or in blobs, and restore them, without losing any.

The steps, and the rules that keep overlapping workers from losing an entity, are in docs/patterns/archive.md.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, cast

from ...argument_types import checked
from ...entity import Entity
from ...entity_set.commit import E
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import (
    adapter_or_none,
    check_both_sync,
    check_not_moved,
    check_read_from,
    check_same_model,
    mappings_of,
    primary_keys,
    set_identity,
    stored_fields,
    stored_form,
)
from ...entity_set.model_adapter import ModelAdapter
from ...entity_set.shared_rows import Totals
from ...errors import NOT_SHOWN, BadDesign, BadMessage, EntityAlreadyExists
from ...key import Key
from ...key.key import fields_of
from ...messages.lease import Envelope, Lease
from ...recipe import Account, Account_co, Pattern, bound_async, recipe, stream
from ...retry import RETRY_FOR, Overtaken, contended
from ...typed_json import encoded
from ..large_properties.large_properties import LargeProperties
from ..one_to_many import OneToMany
from .stores import Keys, Rows, Snapshot, Store


class Archive(Pattern[Account_co], Generic[Account_co, E]):
    """Move inactive entities to another table or to blobs, and back, without losing any.

    Use it to keep the active table small, such as when former employees leave it but must still be found. No entity
    group transaction spans tables, so `archive` queues a message and a `Worker` moves the entity.

    Consistency: eventual. The entity is always in at least one place, and no concurrent change is lost. If the move is
    impossible, the message goes to the poison queue. How this works, with children, and what can go wrong:
    docs/patterns/archive.md.

    Cost: one move, by a worker 3 table + 2 queue transactions, equivalent to 25 table operations: receive, read,
    insert, delete, delete the message; to blobs 2 table + 2 queue + 1 blob write transactions, equivalent to 163 table
    operations. Three more if the archive already has an entity with the key, as after a crash. Derived data costs what
    it costs in each set.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> from tablepatterns.recipes.worker import Worker
    >>> storage, key = connect(), Key("{Department}", "empid_{EmployeeId:06d}")
    >>> current, former = EntitySet(storage, "Current", key), EntitySet(storage, "Former", key)
    >>> jones = current.insert({"Department": "Sales", "EmployeeId": 456, "LastName": "Jones"})
    >>> archive = Archive(current, former)
    >>> _ = archive.archive(jones)
    >>> Worker(storage, [archive]).run_once().handled
    1
    >>> current.get(Department="Sales", EmployeeId=456) is None
    True
    >>> former.get(Department="Sales", EmployeeId=456)["LastName"]
    'Jones'

    Cost with 1 child: one move by a worker 8 table + 2 queue transactions, equivalent to 30 table operations. Each
    further child takes three more of a table, and each 1,000 children two more to list them.

    :param entity_set: the active set
    :param target: where to move its entities: a set whose key has the same fields, in any table, partition or account;
        a `BlobArchive`, or your own `Store`
    :param children: for each `OneToMany` from this set, where to move the children with their parent: a set or a store
    :param queue: the queue of the messages; None for the table's name in lower case and `-archive`
    :param kind: the kind of the messages; None for `archive` and the table's name
    :param base64: whether to send messages in Base64; workers read both
    :raises BadDesign: entities could not be moved to the target, or not back; the error says why

    Guide: eventually consistent transactions pattern (the tables Current and Archive).
    """

    @checked
    def __init__(
        self,
        entity_set: EntitySet[Account_co, E],
        target: EntitySet[Account_co, Any] | Store,
        *,
        children: Mapping[OneToMany[Account_co, Any, Any], EntitySet[Account_co, Any] | Store] | None = None,
        queue: str | None = None,
        kind: str | None = None,
        base64: bool = False,
    ) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        table = entity_set.table.name
        self._models = adapter_or_none(entity_set)
        check_not_moved(entity_set, "Archive")
        _check_models("target", self._models, target)
        for relation, to in (children or {}).items():
            _check_models("children", relation._child_models, to)  # pyright: ignore[reportPrivateUsage]
        self.entity_set = entities = entity_set.without_model()
        target = _without_model(target)
        self.queue = f"{table.lower()}-archive" if queue is None else queue
        self.kind = f"archive {table}" if kind is None else kind
        self._base64 = base64
        self._messages = self.account.queue(self.queue)
        relations = {relation: _without_model(to) for relation, to in (children or {}).items()}
        self._children = tuple(_children(entities, target, relation, to) for relation, to in relations.items())
        totals = [_totals_of(relation.parents, relation.children, relation.names) for relation in relations]
        self._here: Store = Rows(bound_async(entities), entities.key, ChainMap(*totals))
        _check_target(entities, target)
        if isinstance(target, EntitySet):
            totals = [
                _totals_of(target, to, relation.names)
                for relation, to in relations.items()
                if isinstance(to, EntitySet)
            ]
            self._there: Store = Rows(bound_async(target), entity_set.key, ChainMap(*totals))
        else:
            self._there = target

    @recipe
    async def archive(self, entity: E | Mapping[str, Any]) -> str:
        """Request that an entity be archived with its children, and return the id of the message.

        The worker archives the entity as it is then; if it is gone, there is nothing to do.

        Cost: 1 queue transaction, equivalent to 11 table operations.

        :param entity: an entity of the set, or the fields of its key
        :raises BadInput: it was read from another set
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises LimitExceeded: the target is blobs, and the entity's keys make a name that is too long
        """
        fields = stored_form(self._models, entity)
        check_read_from(self.entity_set, fields)
        keys = primary_keys(self.entity_set, fields)
        check_not_moved(self.entity_set, "Archive")
        self._there.check(keys)
        return await self._send({"entity": list(keys)})

    @recipe
    async def restore(self, entity: E | Mapping[str, Any]) -> str:
        """Request that an entity be moved back with its children, and return the id of the message.

        Nothing is overwritten: if the set has a different entity with this key, or with that of a child, the message
        goes to the poison queue: delete one of the two, and call `restore` again.

        Cost: 1 queue transaction, equivalent to 11 table operations.

        :param entity: an archived entity, or the fields of its key
        :raises BadInput: it was read from another set
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        """
        fields = stored_form(self._models, entity)
        place = self._there.entities if isinstance(self._there, Rows) else self.entity_set
        if not set_identity(place).is_of(fields):
            check_read_from(self.entity_set, fields)
        keys = primary_keys(self.entity_set, fields)
        return await self._send({"entity": list(keys), "back": True})

    @recipe
    async def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> E | None:
        """Return an entity from the archive, or None.

        Cost: 1 table transaction from a set; from blobs 1 blob read + 1 other blob transactions, equivalent to 22 table
        operations.

        The parameters and errors are those of `EntitySet.get`.
        """
        keys = self._key(fields_of(key, fields))
        snapshot = await self._there.get(keys)
        if snapshot is None:
            return None
        entity, models = _entity(self.entity_set.key, keys, snapshot), self._models
        return cast("E", entity if models is None else models.value_of(entity))

    @stream
    async def children(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> AsyncIterator[Entity]:
        """Yield the archived children of an entity, as entities also if their set has a model.

        Cost: to list them, 1 table transaction per page of up to 1,000 from a set, or 1 list transaction per 5,000 from
        blobs; for each child, the cost of `get`.

        The parameters and errors are those of `EntitySet.get`.
        """
        keys = self._key(fields_of(key, fields))
        parent = self.entity_set.key.parse(*keys)
        for kind in self._children:
            async for keys in kind.back().of(parent):
                if (snapshot := await kind.destination.get(keys)) is not None:
                    yield _entity(kind.key, keys, snapshot)

    async def handle(self, lease: Lease) -> None:
        """Move the entity of a message; a `Worker` calls this.

        :raises BadMessage: the message has no key of the set
        :raises TooMuchContention: other writers changed the entity during each attempt; the message is delivered again
        :raises EntityAlreadyExists: the set has a different entity with the key of one that is to be restored
        """
        keys, is_back = self._parse(lease.work.body)
        origin, destination = (self._there, self._here) if is_back else (self._here, self._there)
        move = Move(origin, destination, keys, overwrites=not is_back)
        attempt = move.attempt
        if self._children:
            children = [child.back() if is_back else child for child in self._children]
            attempt = FamilyMove(self.account, move, self.entity_set.key.parse(*keys), children).attempt
        await contended(self.account, partial(attempt, lease), RETRY_FOR)

    async def _send(self, body: Mapping[str, Any]) -> str:
        message = await self._messages.send(Envelope(self.kind, body).text(base64=self._base64))
        return message.id

    def _parse(self, body: Mapping[str, Any]) -> tuple[Keys, bool]:
        match body:
            case {"entity": [str(partition), str(row)], **rest} if self.entity_set.key.matches(partition, row):
                return (partition, row), rest.get("back") is True
            case _:
                rule = f"it does not have a key of {self.entity_set.key!r}"
                raise BadMessage("entity", NOT_SHOWN, rule, "send it with `archive` or `restore`")

    def _key(self, fields: Mapping[str, Any]) -> Keys:
        return self.entity_set.key.format(stored_fields(self._models, fields))


def _entity(key: Key, keys: Keys, snapshot: Snapshot) -> Entity:
    return Entity(key.parse(*keys) | dict(snapshot.properties))


def _children(
    entity_set: EntitySet[Any], target: object, relation: OneToMany[Any, Any, Any], to: EntitySet[Any] | Store
) -> Children:
    """Return where one kind of children is moved; reject a target in which they could not be found."""
    parents, children = relation.parents, relation.children
    home = entity_set.account, entity_set.table.name, entity_set.key
    if (parents.account, parents.table.name, parents.key) != home:
        rule = f"its parents are in {parents!r}, not in {entity_set!r}"
        raise BadDesign("children", relation, rule, "give the OneToMany of the set that is archived")
    if relation.via is not None:
        rule = f"its children are found through {relation.via.name}, and not every archive keeps indexes"
        raise BadDesign("children", relation.via, rule, "key the children by the fields of their parent")
    _check_target(children, to)
    here = Rows(bound_async(children), children.key)
    if isinstance(to, EntitySet):
        OneToMany(entity_set, to, by=relation.names)
        return Children(children.key, relation.names, here, Rows(bound_async(to), children.key))
    if type(to).list is Store.list:
        raise BadDesign("children", to, "it cannot list its entities", "implement Store.list, or archive to a table")
    if to is target and not relation.shares_partition:
        rule = f"a child could overwrite a parent with the same keys in {to.name}"
        raise BadDesign("children", to, rule, "use another prefix for the children")
    return Children(children.key, relation.names, here, to)


def _without_model(target: EntitySet[Account_co, Any] | Store) -> EntitySet[Account_co] | Store:
    return target.without_model() if isinstance(target, EntitySet) else target


def _check_models(subject: str, models: ModelAdapter[Any] | None, target: EntitySet[Any, Any] | Store) -> None:
    """Reject a set with another model, which would not read the entities; without a model, it reads all of them."""
    if not isinstance(target, EntitySet):
        return
    check_not_moved(target, "Archive")
    if adapter_or_none(target) is not None:
        check_same_model(subject, models, target)
    if models is not None:
        models.model.check_days("of the archive", target.key)


def _check_target(entity_set: EntitySet[Any], target: EntitySet[Any] | Store) -> None:
    """Reject a target in which the entities could not be found, or that lacks their encryption and other mappings."""
    if not isinstance(target, EntitySet):
        # A blob can hold large values themselves
        for mapping in mappings_of(entity_set).mappings:
            if not isinstance(mapping, LargeProperties):
                rule = f"it would store {', '.join(sorted(mapping.fields))} without the mapping {mapping.name}"
                raise BadDesign("target", target.name, rule, "archive to a set with the same mapping")
        return
    if set(entity_set.key.fields) != set(target.key.fields):
        rule = f"its key must be made of {', '.join(entity_set.key.fields)}, since any other field may change"
        raise BadDesign("target", target.key, rule, "use the same fields in its key")
    is_same_table = entity_set.table.name.lower() == target.table.name.lower() and entity_set.account is target.account
    if is_same_table and entity_set.key == target.key:
        raise BadDesign("target", target.table.name, "it is the active set itself", "use another table or key")
    check_both_sync("target", entity_set.account, target.account)
    for mapping in mappings_of(entity_set).mappings:
        same_type = (other for other in mappings_of(target).mappings if type(other) is type(mapping))
        if not any({*other.fields} >= {*mapping.fields} for other in same_type):
            rule = f"it does not map {', '.join(sorted(mapping.fields))} to {mapping.name}"
            raise BadDesign("target", target.table.name, rule, "give it the same mapping")


class Copied(NamedTuple):
    """The original that a move has copied, and the copy if the move inserted it."""

    original: Snapshot
    inserted: Snapshot | None


@dataclass(frozen=True)
class Move:
    """One move of an entity between two stores; rejected if it would replace another entity, unless it `overwrites`."""

    origin: Store
    destination: Store
    keys: Keys
    overwrites: bool

    async def attempt(self, lease: Lease) -> None:
        """Move the entity, if there is one; if a concurrent write changed it, raise `Overtaken`.

        Cost: a read, an insert and a delete; 3 store calls more if there is a copy already.
        """
        if (copied := await self.copy(lease)) is not None:
            await self.delete(copied)

    async def copy(self, lease: Lease) -> Copied | None:
        snapshot = await self.origin.get(self.keys)
        if snapshot is None:
            return None
        await lease.renew_if_due()
        inserted = await self.destination.insert(self.keys, snapshot.properties)
        if inserted is None:
            await self._put_over(snapshot)
        return Copied(snapshot, inserted)

    async def delete(self, copied: Copied) -> None:
        """Delete the original, on condition that it has not changed since it was read."""
        if await self.origin.delete(self.keys, copied.original):
            return
        if copied.inserted is not None and await self.origin.get(self.keys) is None:
            # It was deleted, or moved by another worker and deleted since: the copy was inserted too late. A worker
            # that relies on the copy has replaced it, and this delete is rejected
            await self.destination.delete(self.keys, copied.inserted)
        raise Overtaken

    async def _put_over(self, snapshot: Snapshot) -> None:
        old_copy = await self.destination.get(self.keys)
        current = await self.origin.get(self.keys)
        if old_copy is None or current is None or current.version != snapshot.version:
            raise Overtaken
        if old_copy.version == snapshot.version:
            rule = f"it is {self.origin.name} itself, and a move would delete the entity"
            raise BadDesign("target", self.destination.name, rule, "use another table or key")
        may_replace = self.overwrites or old_copy.is_placeholder or snapshot.is_placeholder
        if not may_replace and encoded(self.keys, old_copy.properties) != encoded(self.keys, snapshot.properties):
            raise EntityAlreadyExists(f"{self.destination.name} has another entity {self.keys}; delete one of the two")
        # A row that holds only totals must not overwrite the entity it is a placeholder for
        snapshot_to_keep = old_copy if snapshot.is_placeholder else snapshot
        if not await self.destination.replace(self.keys, old_copy, snapshot_to_keep.properties):
            raise Overtaken


@dataclass(frozen=True)
class Children:
    """One kind of children, and the two places of a move; `names` has, for each field of the parent's key, theirs."""

    key: Key
    names: Mapping[str, str]
    origin: Store
    destination: Store

    def back(self) -> Children:
        return replace(self, origin=self.destination, destination=self.origin)

    def of(self, parent: Mapping[str, Any]) -> AsyncIterator[Keys]:
        return self.origin.list(self.key, {self.names[field]: value for field, value in parent.items()})


@dataclass(frozen=True)
class FamilyMove:
    account: Account
    parent: Move
    fields: Mapping[str, Any]
    children: Sequence[Children]

    async def attempt(self, lease: Lease) -> None:
        """Move the entity, if there is one, and its children. Cost: a move for each, and two lists of children."""
        first = await self._moves()
        copied = await self.parent.copy(lease)
        if copied is not None:
            await self._move(first, lease)
            await self.parent.delete(copied)
        while late_moves := await self._moves():
            await self._move(late_moves, lease)
            if await self.parent.origin.get(self.parent.keys) is not None:
                raise Overtaken

    async def _moves(self) -> list[Move]:
        """Return the moves of all children that are at the origin now; names that are too long are rejected here."""
        moves: list[Move] = []
        for kind in self.children:
            async for keys in kind.of(self.fields):
                kind.destination.check(keys)
                moves.append(Move(kind.origin, kind.destination, keys, self.parent.overwrites))
        return moves

    async def _move(self, moves: Sequence[Move], lease: Lease) -> None:
        for move in moves:
            await contended(self.account, partial(move.attempt, lease), RETRY_FOR)


def _totals_of(parents: EntitySet[Account], children: EntitySet[Account], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of the parent's row that count the children, with the values they have without children."""
    if (parents.table.name.lower(), parents.account) != (children.table.name.lower(), children.account):
        return {}
    row = tuple(_renamed(text, names) for text in (parents.key.partition_template, parents.key.row_template))
    properties: dict[str, Any] = {}
    for derived in children.derived:
        if not isinstance(derived, Totals) or derived.is_eventual:
            continue
        if (derived.layout.partition_template, derived.layout.row_template) == row:
            properties |= derived.as_properties(derived.totals_in(None))
    return properties


def _renamed(template: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)", lambda field: "{" + names.get(field[1], field[1]), template)
