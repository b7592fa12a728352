"""Move an entity to another partition by changing its key, without losing it on the way.

The entity always exists under at least one key, and in the end under exactly one. First it is marked with its new key,
so that a second move is rejected. Then a copy is inserted, and the original is deleted if it has not changed since.
Last, the mark of the copy is removed. After a crash, another process finds the mark or the copy and continues there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Generic, cast
from uuid import uuid4

from ..argument_types import check_least, checked
from ..entity import Entity, replace_fields
from ..entity_set.commit import E
from ..entity_set.derived import Index, Keys
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import adapter_or_none, check_not_moved, check_read_from, primary_keys, primary_layout
from ..errors import (
    NOT_SHOWN,
    BadDesign,
    BadInput,
    BadMessage,
    DerivedDataMismatch,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
)
from ..key.key import fields_of
from ..messages.lease import Envelope, Lease
from ..recipe import Account, Account_co, Pattern, bound_async, recipe
from ..retry import RETRY_FOR, Overtaken, contended, overtaken_by
from ..set_identity import MOVED_FROM, MOVING_TO
from ..typed_json import encoded


class PartitionMove(Pattern[Account_co], Generic[Account_co, E]):
    """Move an entity to another partition, by an insert and a delete that a worker completes after a crash.

    Use it if a field of the PartitionKey changes, such as the department of an employee. No entity group transaction
    can do this.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones"})
    >>> PartitionMove(employees).move(jones, Department="Marketing")["LastName"]
    'Jones'
    >>> employees.get(Department="Sales", EmployeeId=223) is None
    True

    A `Worker` with this object as its handler completes interrupted moves.

    Consistency: the entity is always in at least one of the two places, and once `move` has returned in the new one
    only. If a process crashes at any point, draining the queue leaves it in one place, with the changes that others
    made. An entity that has the new key already is never overwritten. What can go wrong:
    docs/patterns/partition_move.md.

    Cost: `move` 4 table + 2 queue transactions, equivalent to 26 table operations. The set's derived data comes on top.

    :param entity_set: the set whose entities move
    :param queue: the queue of the messages; None for the table's name in lower case and `-moves`
    :param kind: the kind of the messages; None for `move` and the table's name
    :param lease: the seconds that a message stays hidden: twice as long as a request may take
    :raises BadDesign: the lease is not above zero, or an index elsewhere has no field of the set's key in its own, and
        is unique or incomplete

    Guide: one-to-many relationships (moving an employee); eventually consistent transactions pattern.
    """

    @checked
    def __init__(
        self,
        entity_set: EntitySet[Account_co, E],
        *,
        queue: str | None = None,
        kind: str | None = None,
        lease: int = 60,
    ) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        check_not_moved(entity_set, "PartitionMove")
        check_least("lease", lease, 1, BadDesign)
        table = entity_set.table.name
        self.entity_set: EntitySet[Account] = entity_set.without_model()
        self._models = adapter_or_none(entity_set)
        self.queue = f"{table.lower()}-moves" if queue is None else queue
        self.kind = f"move {table}" if kind is None else kind
        self.lease = lease
        self._messages = entity_set.account.queue(self.queue)
        # An index without any field of the key could not follow any move
        _check_indexes(self.entity_set, entity_set.key.fields)

    @recipe
    async def move(
        self, entity: E, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> E:
        """Give an entity another key in another partition, and return it with its new key.

        After an error that is not listed here, the move may have begun; a worker completes it. You may call `move`
        again, with the same target, for an entity whose move was interrupted.

        Cost: 4 table + 2 queue transactions, equivalent to 26 table operations.

        :param entity: as it was read from the set, completely
        :param retry_for: the seconds to keep retrying while others write the entity
        :param fields: the key fields that change, or as a mapping `key`
        :raises BadInput: the partition stays the same, another move of the entity is not completed, it was not read
            completely from this set, or it has a value of its own in `MovingTo` or `MovedFrom`
        :raises BadKey: no field of the key is given, or a value cannot be part of a key
        :raises BadDesign: an index elsewhere has no key field that changes, so its copy could not be updated
        :raises EntityChanged: it changed since it was read; nothing was written
        :raises EntityNotFound: it does not exist any more
        :raises EntityAlreadyExists: another entity has the new key, or its key in an index; this one stays where it is
        :raises OutcomeUnknown: a response was lost, and the entity was moved or deleted since
        """
        moving_entity, changes = self._moving(entity, fields_of(key, fields))
        route = self._route(moving_entity, changes)
        self.entity_set.replacing(moving_entity)
        body = {"id": route.id, "from": list(route.origin), "to": list(route.goal)}
        lease = await Lease.on_new(self.account, self._messages, Envelope(self.kind, body), self.lease)
        # An entity that was read with the mark is read again: a worker may have completed its move since
        is_new = moving_entity.get(MOVING_TO) != route.claim
        if is_new:
            await self._claim(moving_entity, route, lease, retry_for)
        relocation = Relocation(self.entity_set, lease, route)
        try:
            moved_entity = await self._relocated(relocation, moving_entity if is_new else None, retry_for)
        except EntityAlreadyExists:
            await lease.complete()
            raise
        await lease.complete()
        if moved_entity is None:
            raise EntityNotFound(f"the entity was moved to {route.goal}, and deleted or moved again since")
        if self._models is None or isinstance(entity, Entity):
            return cast("E", moved_entity)
        return cast("E", self._models.instance_of(moved_entity))

    def _moving(self, entity: object, fields: Mapping[str, Any]) -> tuple[Entity, Mapping[str, Any]]:
        """Return a copy of the entity to move, and the changed fields of its key."""
        if isinstance(entity, Entity):
            check_read_from(self.entity_set, entity)
            return entity.copy(), fields
        if self._models is None:
            rule = f"it must be an entity, not {type(entity).__name__}"
            raise BadInput("entity", NOT_SHOWN, rule, "pass an entity that was read from the set")
        moving = self._models.remembered_entity(entity)
        return moving, self._models.renamed_key_fields(moving, entity, fields)

    async def handle(self, lease: Lease) -> None:
        """Complete an interrupted move; a `Worker` calls this.

        :raises BadMessage: the message does not describe a move of this set
        :raises EntityAlreadyExists: another entity has the new key; this one stays where it was
        :raises DerivedDataMismatch: both the entity and its copy were changed during the move; both stay
        :raises TooMuchContention: others wrote the entity during each attempt; the message is delivered again
        """
        entity_set = bound_async(self.entity_set)
        await self._relocated(Relocation(entity_set, lease, self._route_of(lease)), None, RETRY_FOR)

    async def _claim(self, entity: Entity, route: Route, lease: Lease, retry_for: float) -> None:
        """Mark the entity with its new key."""
        entity[MOVING_TO] = route.claim
        try:
            await lease.renew_if_due()
            await self.entity_set.replace(entity, retry_for=retry_for)
        except (EntityChanged, EntityNotFound):
            await lease.complete()
            raise

    async def _relocated(self, relocation: Relocation, known_entity: Entity | None, retry_for: float) -> Entity | None:
        first = [known_entity] if known_entity is not None else []

        async def attempt() -> Entity | None:
            return await relocation.attempt(first.pop() if first else None)

        return await contended(self.account, attempt, retry_for)

    def _route(self, entity: Entity, fields: Mapping[str, Any]) -> Route:
        key = self.entity_set.key
        origin = primary_keys(self.entity_set, entity)
        goal = key.format(primary_layout(self.entity_set).key_fields(entity) | dict(fields))
        if origin[0] == goal[0]:
            rule = "the partition stays the same"
            raise BadInput("move", fields, rule, "use EntitySet.rename, or give another partition")
        _check_arrived(entity)
        if (claim := entity.get(MOVING_TO)) is not None:
            route = Route.claimed(origin, claim)
            if route.goal != goal:
                rule = f"the entity is being moved to {route.goal}"
                raise BadInput("move", fields, rule, "complete that move first, or let a worker complete it")
            return route
        changed_names = {name for name in key.fields if fields.get(name, entity.get(name)) != entity.get(name)}
        _check_indexes(self.entity_set, changed_names)
        # Rejects what the set cannot insert, such as an entity in the wrong bucket of a `PartitionSpread`
        self.entity_set.inserting({**entity, **fields})
        return Route(uuid4().hex, origin, goal)

    def _route_of(self, lease: Lease) -> Route:
        body, key = lease.work.body, self.entity_set.key
        match body:
            case {"id": str(name), "from": [str(a), str(b)], "to": [str(c), str(d)]} if key.matches(
                a, b
            ) and key.matches(c, d):
                return Route(name, (a, b), (c, d))
            case _:
                rule = f"it does not describe a move between keys of {key!r}"
                raise BadMessage("move", NOT_SHOWN, rule, "send messages with `move`")


def _check_indexes(entity_set: EntitySet[Account], changed_names: Collection[str]) -> None:
    """Reject an index outside the partition that has one row for both the entity and its copy."""
    for index in entity_set.derived:
        if not isinstance(index, Index) or not index.is_eventual or not set(index.key.fields).isdisjoint(changed_names):
            continue
        if index.is_unique:
            rule = "its key is reserved for the original, so the copy would be rejected"
            raise BadDesign("index", index.name, rule, "add a field that changes to its key, or use unique=False")
        if index.shape(entity_set.key).include is not None:
            rule = "its row has the same key before and after the move, so it would not be updated at the end"
            raise BadDesign("index", index.name, rule, "include all properties, or add a field that changes to its key")


_MARK: Final = re.compile("[0-9a-f]{32} [0-9a-f]{64}")


@dataclass(frozen=True)
class Route:
    """The old and the new keys of an entity that is being moved."""

    id: str
    origin: Keys
    goal: Keys

    @property
    def claim(self) -> str:
        """The value of the entity's mark during the move."""
        return json.dumps([self.id, *self.goal])

    @classmethod
    def claimed(cls, origin: Keys, claim: object) -> Route:
        try:
            match json.loads(claim) if isinstance(claim, str) else None:
                case [str(name), str(partition_key), str(row_key)]:
                    return cls(name, origin, (partition_key, row_key))
                case _:
                    raise ValueError(claim)
        except (ValueError, RecursionError):
            raise _not_a_mark(MOVING_TO, claim) from None


def _check_arrived(entity: Mapping[str, Any]) -> None:
    """Reject an entity whose previous move is not complete."""
    mark = entity.get(MOVED_FROM)
    if mark is None:
        return
    if not isinstance(mark, str) or not _MARK.fullmatch(mark):
        raise _not_a_mark(MOVED_FROM, mark)
    rule = "its move to this partition has not finished"
    raise BadInput(MOVED_FROM, mark, rule, "let a worker finish it, and read the entity again")


def _not_a_mark(name: str, value: object) -> BadInput:
    return BadInput(name, value, "a move stores its state under this name", "rename the property")


@dataclass(frozen=True)
class Relocation:
    """The attempts of one process to move an entity while it holds the message's lease."""

    entities: EntitySet[Account]
    lease: Lease
    route: Route

    async def attempt(self, claimed: Entity | None = None) -> Entity | None:
        """Complete the move, whatever its state, and return the moved entity; `claimed` is the marked one, if read."""
        source = claimed or await self._get(self.route.origin)
        if source is None or source.get(MOVING_TO) != self.route.claim:
            return await self.arrive(await self._get(self.route.goal))
        await self.lease.renew_if_due()
        copy, is_new = await self.copy(source)
        await self.lease.renew_if_due()
        try:
            await self.leave(source)
        except Overtaken:
            if is_new:
                await self._take_back(copy)
            raise
        return await self.arrive(copy)

    async def copy(self, source: Entity) -> tuple[Entity, bool]:
        """Return the copy, and whether this attempt inserted it."""
        try:
            return await self.entities.insert(self._copy_of(source)), True
        except EntityAlreadyExists as error:
            copy = await self._get(self.route.goal)
            if copy is None and not isinstance(error, DuplicateIndexValue):
                raise Overtaken from error
            if copy is None or not self._is_ours(copy):
                await self._give_up(source)
                raise
        return await self._update_copy(source, copy), False

    async def leave(self, source: Entity) -> None:
        """Delete the entity under its old key if it has not changed since it was copied."""
        with overtaken_by(EntityChanged, EntityNotFound):
            await self.entities.delete(source)

    async def arrive(self, copy: Entity | None) -> Entity | None:
        """Remove the mark from the copy."""
        if copy is None or not self._is_ours(copy):
            return copy
        del copy[MOVED_FROM]
        with suppress(EntityNotFound):
            return await self._replaced(copy)
        return None

    async def _update_copy(self, source: Entity, copy: Entity) -> Entity:
        known_digest = copy[MOVED_FROM].partition(" ")[2]
        if self._digest(source) != known_digest:
            if self._digest(copy) != known_digest:
                text = f"the entity {self.route.origin} was changed while it moved, and so was its copy "
                hint = "nothing was overwritten; write what is right to the copy, or delete it"
                raise DerivedDataMismatch(f"{text}{self.route.goal}; {hint}")
            replace_fields(copy, self._copy_of(source))
        # Written even if it is the same: its new ETag keeps the attempt that inserted it from taking it back
        with suppress(EntityNotFound):
            return await self._replaced(copy)
        raise Overtaken

    async def _take_back(self, copy: Entity) -> None:
        """Delete a copy that was inserted after another attempt had completed the move, or before a change."""
        with suppress(EntityChanged, EntityNotFound):
            await self.entities.delete(copy)

    async def _give_up(self, source: Entity) -> None:
        del source[MOVING_TO]
        with suppress(EntityNotFound):
            await self._replaced(source)

    async def _replaced(self, entity: Entity) -> Entity:
        with overtaken_by(EntityChanged):
            return await self.entities.replace(entity)

    async def _get(self, keys: Keys) -> Entity | None:
        return await self.entities.get(**self.entities.key.parse(*keys))

    def _copy_of(self, source: Entity) -> dict[str, Any]:
        mark = f"{self.route.id} {self._digest(source)}"
        return {**self._content(source), **self.entities.key.parse(*self.route.goal), MOVED_FROM: mark}

    def _is_ours(self, copy: Entity) -> bool:
        return str(copy.get(MOVED_FROM, "")).partition(" ")[0] == self.route.id

    def _digest(self, entity: Mapping[str, Any]) -> str:
        digest = sha256()
        for name, value in sorted(self._content(entity).items()):
            digest.update(sha256(_spelled(name, value)).digest())
        return digest.hexdigest()

    def _content(self, entity: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an entity without its key and its marks."""
        apart = {MOVING_TO, MOVED_FROM, *self.entities.key.fields}
        return {name: value for name, value in entity.items() if value is not None and name not in apart}


def _spelled(name: str, value: Any) -> bytes:
    """Return a property as bytes. With mappings, a value may exceed the limits of a stored property."""
    if isinstance(value, (str, bytes)):
        content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return f"{name} {type(value).__name__} ".encode() + content
    return encoded(("", ""), {name: value})
