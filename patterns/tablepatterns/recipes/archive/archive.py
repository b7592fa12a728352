"""Archive: entities that are done with go to another table, to blobs or to files, and back.

Status: ready
"""

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
from ...recipe import Account, Account_co, Pattern, recipe, stream
from ...retry import RETRY_FOR, contended
from ..large_properties.large_properties import LargeProperties
from ..one_to_many import OneToMany
from .children import Children, FamilyMove, totals_of
from .move import Move
from .stores import Keys, Rows, Snapshot, Store


class Archive(Pattern[Account_co]):
    """Move entities from the set that is worked with to one that is kept, and back, without ever losing one.

    Goal: former employees leave the table of the active ones, which stays small, and can still be found. No entity
    group transaction reaches across tables, so a message asks for the move and a `Worker` makes it.

    Guarantees: once `archive` has returned, the entity as it then is gets to the archive, or the message goes to
    poison with the reason. It is inserted there before it is deleted here, so that at every moment it is in at least
    one of the two. A worker that dies at any point is repeated, and finds what was done. A change to the entity
    between the reading and the deleting is not lost: the delete is conditional on the ETag, and the move begins again
    with the changed entity. So does a move back that meets a move.

    Does not: isolate. Who reads both places between the insert and the delete finds the entity in both. A message may
    be delivered late and twice: an entity that was inserted again under the same key meanwhile is archived too, and
    `restore` brings it back. One that somebody deletes while it is moved may stay in the archive.

    Cost: `archive` and `restore` 1 queue transaction, as much as 11 table operations. One move, by a worker 3 table + 2
    queue transactions, as much as 25 table operations: receive, read, insert, delete, delete the message; to blobs 2
    table + 2 queue + 1 blob write transactions, as much as 163 table operations. Three more where the archive has an
    entity with the key already, as after a crash between insert and delete. Derived data of the sets costs what it
    costs in them.

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

    With `children`, an entity goes together with its children: the parent is copied, each child is moved, then the
    original of the parent is deleted. At every moment each of them is in at least one of the two places, and so is the
    parent of each child; a crash at any point is made good when the message is delivered again. A child that is
    inserted while the move runs is moved too, or stays where it was inserted if the move had already looked for late
    ones: `archive` the same entity again to move it. A `Summary` of the children in the parent's row, with children in
    its partition, rules that out until the parent is deleted. Its totals are not copied: a `Summary` of the target
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

    :param source: the set that is worked with
    :param target: where its entities go: a set whose key is made of the same fields, in any table, partition or
        account; a `BlobArchive`, a `FileArchive`, or another `Store`
    :param children: for each `OneToMany` whose `one` is the source, where the children go: a set or a store as for
        `target`
    :param queue: the queue of the messages; None for the table's name in lower case and `-archive`
    :param name: the kind of the messages; None for `archive` and the table's name
    :param base64: whether to send messages in Base64; workers read both
    :raises BadDesign: entities could not be moved there, or not back, and why

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
        totals = [totals_of(each.one, each.many, each.names) for each in relations]
        self._here: Store = Rows(_inside(source), source.key, _joined(totals))
        _check_place(source, target)
        if isinstance(target, EntitySet):
            totals = [totals_of(target, to, each.names) for each, to in relations.items() if isinstance(to, EntitySet)]
            self._there: Store = Rows(_inside(target), source.key, _joined(totals))
        else:
            self._there = target

    @recipe
    async def archive(self, entity: Mapping[str, Any]) -> str:
        """Ask for an entity to be archived with its children, and return the id of the message.

        Cost: 1 queue transaction, as much as 11 table operations.

        What is archived is the entity as it is when the message is worked on; one that is gone by then is done.

        :param entity: an entity of the set, or the fields of its key
        :raises BadInput: it was read from another set
        :raises BadKey: a field of the key is missing, or has a value that cannot be a key
        :raises LimitExceeded: blobs or files are to hold it, and its keys make too long a name
        """
        keys = self._keys_of(entity)
        self._there.check(keys)
        return await self._ask({"entity": list(keys)})

    @recipe
    async def restore(self, entity: Mapping[str, Any]) -> str:
        """Ask for an entity to be moved back with its children, and return the id of the message.

        Cost: 1 queue transaction, as much as 11 table operations.

        Guarantees as for `archive`, but nothing is overwritten: where the set has a different entity with this key by
        then, the message goes to poison, and both stay. If that entity is a child, what was moved before it stays
        moved, and the parent stays in both places; delete one of the two children, and call `restore` again.

        :param entity: an archived entity, or the fields of its key
        :raises BadInput: it was read from another set
        :raises BadKey: a field of the key is missing, or has a value that cannot be a key
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

        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the set's key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        """
        keys = self.source.key.format(fields_of(key, fields))
        held = await self._there.get(keys)
        return None if held is None else _entity(self.source.key, keys, held)

    @stream
    async def children(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> AsyncIterator[Entity]:
        """Yield the children that an entity has in the archive.

        Cost: 1 table transaction per page of up to 1,000 to list them from a set, 1 list transaction per 5,000 from
        blobs; for each child that of `get`.

        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the set's key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        """
        parent = self.source.key.parse(*self.source.key.format(fields_of(key, fields)))
        for kind in self._children:
            async for keys in kind.back().of(parent):
                held = await kind.destination.get(keys)
                if held is not None:
                    yield _entity(kind.key, keys, held)

    async def handle(self, lease: Lease) -> None:
        """Make the move that a message asks for; a `Worker` calls this.

        :raises BadMessage: it names no entity of the set
        :raises TooMuchContention: somebody changed the entity during each attempt; the message is delivered again
        :raises EntityAlreadyExists: the set has another entity with the key of one that is to be moved back
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


def _inside(entities: EntitySet[Account]) -> EntitySet[Account]:
    return cast("EntitySet[Account]", entities.inside())


def _children(source: EntitySet[Any], target: object, relation: OneToMany[Any], to: EntitySet[Any] | Store) -> Children:
    """Return the places of one kind of children; reject those that could not be found again."""
    one, many = relation.one, relation.many
    if (one.account, one.table.name, one.key) != (source.account, source.table.name, source.key):
        rule = f"its parents are in {one!r}, not in {source!r}"
        raise BadDesign("children", relation, rule, "give the OneToMany of the set that is archived")
    if relation.via is not None:
        rule = f"its children are found through {relation.via.name}, and an index does not go along to every place"
        raise BadDesign("children", relation.via, rule, "key the children by the fields of their parent")
    _check_place(many, to)
    here = Rows(_inside(many), many.key)
    if isinstance(to, EntitySet):
        OneToMany(source, to, by=relation.names)
        return Children(many.key, relation.names, here, Rows(_inside(to), many.key))
    if type(to).list is Store.list:
        raise BadDesign("children", to, "it cannot list what it holds", "implement Store.list, or archive to a table")
    if to is target and not relation.is_together:
        rule = f"a child could overwrite a parent with the same keys in {to.name}"
        raise BadDesign("children", to, rule, "give the children a folder or a prefix of their own")
    return Children(many.key, relation.names, here, to)


def _check_place(source: EntitySet[Any], target: EntitySet[Any] | Store) -> None:
    if isinstance(target, EntitySet):
        _check_target(source, target)
    else:
        _check_unmapped(source, target)


def _check_target(source: EntitySet[Account_co], target: EntitySet[Account_co]) -> None:
    """Refuse a set where entities of the source could not be found again, or would be stored less well protected."""
    if set(source.key.fields) != set(target.key.fields):
        rule = f"its key must be made of {', '.join(source.key.fields)}, since any other field may change"
        raise BadDesign("target", target.key, rule, "make the key of the same fields")
    is_same_table = source.table.name.lower() == target.table.name.lower() and source.account is target.account
    if is_same_table and source.key == target.key:
        raise BadDesign("target", target.table.name, "it is the source itself", "give another table or key")
    if source.account.is_sync != target.account.is_sync:
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
