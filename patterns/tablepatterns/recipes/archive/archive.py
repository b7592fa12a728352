"""Archive inactive entities in another table, in blobs or in files, and restore them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from typing import Any, cast

from ...argument_types import checked
from ...arguments import fields_of
from ...entity import Entity
from ...entity_set.entity_set import EntitySet
from ...errors import NOT_SHOWN, BadDesign, BadMessage
from ...key import Key
from ...messages.envelope import Envelope
from ...messages.lease import Lease
from ...recipe import Account_co, Pattern, bound_async, is_sync, recipe, stream
from ...retry import RETRY_FOR, contended
from ..large_properties.large_properties import LargeProperties
from ..one_to_many import OneToMany
from .children import Children, FamilyMove, totals_of
from .move import Move
from .stores import Keys, Rows, Snapshot, Store


class Archive(Pattern[Account_co]):
    """Move inactive entities from the active set to an archive, and back, without losing any.

    Use it to keep the active table small, such as when former employees leave it but must still be found. No entity
    group transaction spans tables, so `archive` queues a message and a `Worker` makes the move.

    Consistency: eventual. Once `archive` has returned, a worker moves the entity as it is by then, or the message goes
    to the poison queue with the reason. The copy is inserted before the original is deleted, so the entity is always in
    at least one of the two places, and for a moment in both. The delete is conditional on the ETag: if the entity
    changes during the move, the move is retried with the new values. If a worker crashes at any point, the next
    delivery of the message completes the move.

    A message may be delivered late or twice. An entity that was inserted again under the same key is then archived too;
    `restore` brings it back. An entity that another process deletes during the move may stay in the archive.

    Cost: `archive` and `restore` 1 queue transaction, as much as 11 table operations. One move, by a worker 3 table + 2
    queue transactions, as much as 25 table operations: receive, read, insert, delete, delete the message; to blobs 2
    table + 2 queue + 1 blob write transactions, as much as 163 table operations. Three more if the archive already has
    an entity with the key, as after a crash between insert and delete. Derived data costs what it costs in each set.

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

    With `children`, an entity moves together with its children: the parent is copied, each child is moved, then the
    original parent is deleted. Each of them, and the parent of each child, is always in at least one place. A child
    that is inserted during the move is moved too, or stays behind if the move had already listed the late ones:
    `archive` the same entity again to move it. A `Summary` of the children in the parent's row, with the children in
    its partition, prevents this until the parent is deleted. Its totals are not copied; a `Summary` of the target
    counts there.

    >>> from tablepatterns import OneToMany
    >>> departments = EntitySet(storage, "Staff", Key("{Department}", "department"))
    >>> employees = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> closed = EntitySet(storage, "ClosedStaff", departments.key)
    >>> left = EntitySet(storage, "ClosedStaff", employees.key)
    >>> reorganization = Archive(departments, closed, children={OneToMany(departments, employees): left})
    >>> sales = departments.insert({"Department": "Sales", "Floor": 3})
    >>> for number in (152, 223):
    ...     _ = employees.insert({"Department": "Sales", "EmployeeId": number})
    >>> _ = reorganization.archive(sales)
    >>> Worker(storage, [reorganization]).run_once().handled
    1
    >>> [child["EmployeeId"] for child in reorganization.children(Department="Sales")]
    [152, 223]

    Cost with 1 child: one move by a worker 8 table + 2 queue transactions, as much as 30 table operations. Each further
    child takes three more of a table, and each 1,000 children two more to list them.

    :param source: the active set
    :param target: where its entities go: a set whose key has the same fields, in any table, partition or account; a
        `BlobArchive`, a `FileArchive`, or another `Store`
    :param children: for each `OneToMany` whose `one` is the source, where the children go: a set or a store, as for
        `target`
    :param queue: the queue of the messages; None for the table's name in lower case and `-archive`
    :param name: the kind of the messages; None for `archive` and the table's name
    :param base64: whether to send messages in Base64; workers read both
    :raises BadDesign: entities could not be moved to the target, or not back; the error says why

    Guide: eventually consistent transactions pattern (the tables Current and Archive).
    """

    @checked
    def __init__(
        self,
        source: EntitySet[Account_co],
        target: EntitySet[Account_co] | Store,
        *,
        children: Mapping[OneToMany[Account_co], EntitySet[Account_co] | Store] | None = None,
        queue: str | None = None,
        name: str | None = None,
        base64: bool = False,
    ) -> None:
        super().__init__(cast("Account_co", source.account))
        table = source.table.name
        self.source = source
        self.queue = f"{table.lower()}-archive" if queue is None else queue
        self.kind = f"archive {table}" if name is None else name
        self._base64 = base64
        self._messages = self.account.queue(self.queue)
        relations = dict(children or {})
        self._children = tuple(_children(source, target, each, to) for each, to in relations.items())
        totals = [totals_of(each.parents, each.children, each.names) for each in relations]
        self._here: Store = Rows(bound_async(source), source.key, _joined(totals))
        _check_place(source, target)
        if isinstance(target, EntitySet):
            totals = [totals_of(target, to, each.names) for each, to in relations.items() if isinstance(to, EntitySet)]
            self._there: Store = Rows(bound_async(target), source.key, _joined(totals))
        else:
            self._there = target

    @recipe
    async def archive(self, entity: Mapping[str, Any]) -> str:
        """Request that an entity be archived with its children, and return the id of the message.

        The worker archives the entity as it is when it processes the message. If the entity is gone by then, there is
        nothing to do.

        Cost: 1 queue transaction, as much as 11 table operations.

        :param entity: an entity of the set, or the fields of its key
        :raises BadInput: it was read from another set
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises LimitExceeded: the target is blobs or files, and the entity's keys make a name that is too long
        """
        keys = self._keys_of(entity)
        self._there.check(keys)
        return await self._ask({"entity": list(keys)})

    @recipe
    async def restore(self, entity: Mapping[str, Any]) -> str:
        """Request that an entity be moved back with its children, and return the id of the message.

        Consistency as for `archive`, but nothing is overwritten: if the set has a different entity with this key by
        then, the message goes to the poison queue, and both entities stay. If that entity is a child, children that
        were moved before it stay moved, and the parent stays in both places: delete one of the two children and call
        `restore` again.

        Cost: 1 queue transaction, as much as 11 table operations.

        :param entity: an archived entity, or the fields of its key
        :raises BadInput: it was read from another set
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        """
        place = self._there.entities if isinstance(self._there, Rows) else self.source
        if not place.identity.is_of(entity):
            self.source.identity.check(entity)
        keys = self.source.key.format(self.source.primary.key_fields(entity))
        return await self._ask({"entity": list(keys), "back": True})

    @recipe
    async def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Entity | None:
        """Return an entity from the archive, or None.

        Cost: 1 table transaction from a set; from blobs 1 blob read + 1 other blob transactions, as much as 22 table
        operations; none from files.

        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the set's key
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        """
        keys = self.source.key.format(fields_of(key, fields))
        held = await self._there.get(keys)
        return None if held is None else _entity(self.source.key, keys, held)

    @stream
    async def children(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> AsyncIterator[Entity]:
        """Yield the archived children of an entity.

        Cost: to list them, 1 table transaction per page of up to 1,000 from a set, or 1 list transaction per 5,000 from
        blobs; for each child, the cost of `get`.

        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the set's key
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        """
        parent = self.source.key.parse(*self.source.key.format(fields_of(key, fields)))
        for kind in self._children:
            async for keys in kind.back().of(parent):
                held = await kind.destination.get(keys)
                if held is not None:
                    yield _entity(kind.key, keys, held)

    async def handle(self, lease: Lease) -> None:
        """Make the move that a message asks for; a `Worker` calls this.

        :raises BadMessage: the message names no entity of the set
        :raises TooMuchContention: another writer changed the entity during each attempt; the message is delivered again
        :raises EntityAlreadyExists: the set has a different entity with the key of one that is to be restored
        """
        keys, is_back = self._asked_for(lease.work.body)
        origin, destination = (self._there, self._here) if is_back else (self._here, self._there)
        move = Move(origin, destination, keys, overwrites=not is_back)
        attempt = move.attempt
        if self._children:
            children = [each.back() if is_back else each for each in self._children]
            attempt = FamilyMove(self.account, move, self.source.key.parse(*keys), children).attempt
        await contended(self.account, partial(attempt, lease), RETRY_FOR)

    async def _ask(self, body: Mapping[str, Any]) -> str:
        sent = await self._messages.send(Envelope(self.kind, body).text(base64=self._base64))
        return sent.id

    def _asked_for(self, body: Mapping[str, Any]) -> tuple[Keys, bool]:
        match body:
            case {"entity": [str(partition), str(row)], **rest} if self.source.key.matches(partition, row):
                return (partition, row), rest.get("back") is True
            case _:
                rule = f"it names no entity of {self.source.key!r}"
                raise BadMessage("entity", NOT_SHOWN, rule, "send it with `archive` or `restore`")

    def _keys_of(self, entity: Mapping[str, Any]) -> Keys:
        self.source.identity.check(entity)
        return self.source.key.format(self.source.primary.key_fields(entity))


def _entity(key: Key, keys: Keys, held: Snapshot) -> Entity:
    return Entity(key.parse(*keys) | dict(held.properties))


def _joined(each: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return dict(ChainMap(*map(dict, each)))


def _children(source: EntitySet[Any], target: object, relation: OneToMany[Any], to: EntitySet[Any] | Store) -> Children:
    """Return the places of one kind of children; reject those whose children could not be found again."""
    one, many = relation.parents, relation.children
    if (one.account, one.table.name, one.key) != (source.account, source.table.name, source.key):
        rule = f"its parents are in {one!r}, not in {source!r}"
        raise BadDesign("children", relation, rule, "give the OneToMany of the set that is archived")
    if relation.via is not None:
        rule = f"its children are found through {relation.via.name}, and an index does not go along to every place"
        raise BadDesign("children", relation.via, rule, "key the children by the fields of their parent")
    _check_place(many, to)
    here = Rows(bound_async(many), many.key)
    if isinstance(to, EntitySet):
        OneToMany(source, to, by=relation.names)
        return Children(many.key, relation.names, here, Rows(bound_async(to), many.key))
    if type(to).list is Store.list:
        raise BadDesign("children", to, "it cannot list what it holds", "implement Store.list, or archive to a table")
    if to is target and not relation.shares_partition:
        rule = f"a child could overwrite a parent with the same keys in {to.name}"
        raise BadDesign("children", to, rule, "give the children a folder or a prefix of their own")
    return Children(many.key, relation.names, here, to)


def _check_place(source: EntitySet[Any], target: EntitySet[Any] | Store) -> None:
    if isinstance(target, EntitySet):
        _check_target(source, target)
    else:
        _check_unmapped(source, target)


def _check_target(source: EntitySet[Account_co], target: EntitySet[Account_co]) -> None:
    """Reject a set where entities of the source could not be found again, or would be less well protected."""
    if set(source.key.fields) != set(target.key.fields):
        rule = f"its key must be made of {', '.join(source.key.fields)}, since any other field may change"
        raise BadDesign("target", target.key, rule, "make the key of the same fields")
    is_same_table = source.table.name.lower() == target.table.name.lower() and source.account is target.account
    if is_same_table and source.key == target.key:
        raise BadDesign("target", target.table.name, "it is the source itself", "give another table or key")
    if is_sync(source.account) != is_sync(target.account):
        rule = "one of the two accounts is sync, and the other is not"
        raise BadDesign("target", target.account, rule, "connect to both in the same way")
    for mapping in source.mappings.each:
        alike = (other for other in target.mappings.each if type(other) is type(mapping))
        if not any({*other.fields} >= {*mapping.fields} for other in alike):
            rule = f"it does not store {', '.join(sorted(mapping.fields))} as {mapping.name} does"
            raise BadDesign("target", target.table.name, rule, "give it the same mapping")


def _check_unmapped(source: EntitySet[Account_co], target: Store) -> None:
    for mapping in source.mappings.each:
        if isinstance(mapping, LargeProperties):
            # Blobs and files have room for the values themselves
            continue
        rule = f"it would hold {', '.join(sorted(mapping.fields))} as they are, which {mapping.name} keeps otherwise"
        raise BadDesign("target", target.name, rule, "archive to a set with the same mapping")
