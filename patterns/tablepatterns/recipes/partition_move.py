"""Partition move: an entity gets another key, in another partition, and is never lost on the way.

Status: ready
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast
from uuid import uuid4

from ..argument_types import checked
from ..arguments import fields_of
from ..entity import Entity
from ..entity_set.derived import Index
from ..entity_set.entity_set import EntitySet
from ..entity_set.safe_move import Relocation, Route, check_arrived
from ..entity_set.transit import MOVED_FROM, MOVING_TO
from ..errors import (
    NOT_SHOWN,
    BadDesign,
    BadInput,
    BadMessage,
    BadProperty,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    said,
)
from ..messages.envelope import Envelope
from ..messages.lease import Lease
from ..recipe import Account, Account_co, Pattern, recipe
from ..retry import RETRY_FOR, contended


class PartitionMove(Pattern[Account_co]):
    """Move an entity to another partition, which no transaction can, by insert and delete that a message carries on.

    Goal: an employee goes to another department, and the department is the PartitionKey.

    Keys: those of the set. While it moves, the entity says so in the property `MovingTo`, and its copy in `MovedFrom`.

    Guarantees: at any moment the entity is in one place or in both, never in none. Once `move` has returned it is in
    the new place only. Whoever dies, and wherever, once the messages are worked off it is in one place, whole and
    without a mark, with all changes that others made to it in time. Of two moves of one entity only one begins. An
    entity that is in the new place already is never overwritten: the move is refused, and the entity stays.

    Does not: move at one instant: who looks in between sees the entity twice. Stop for a delete of the entity that
    comes between the copy and the end, such as that of an `Archive`, which then has the entity too. Move on a copy
    whose move has not ended: that is refused, until whoever began it, or a worker, ends it. Choose where both were
    changed on the way: both stay, and the message goes to poison. Who overwrites the entity unconditionally while it
    moves, or stalls for longer than half the lease between two requests, may leave it in both places.

    Cost: `move` 4 table + 2 queue transactions, as much as 26 table operations: the message, the claim, the insert, the
    delete, the mark's end, the message's end. What the set derives comes on top.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones"})
    >>> PartitionMove(employees).move(jones, Department="Marketing")["LastName"]
    'Jones'
    >>> employees.get(Department="Sales", EmployeeId=223) is None
    True

    A `Worker` that polls the queue, with this object as its handler, ends what others began.

    :param entities: the set whose entities move
    :param queue: the queue of the messages; None for the table's name in lower case and `-moves`
    :param name: the kind of the messages; None for `move` and the table's name
    :param lease: for how many seconds a message is hidden: twice as long as a request may take
    :raises BadDesign: the set's schema has no room for the marks, the lease is not above zero, or an index elsewhere
        has no field of the set's key in its own, and is unique or does not hold all properties

    Guide: one-to-many relationships (moving an employee); eventually consistent transactions pattern.
    """

    @checked
    def __init__(
        self,
        entities: EntitySet[Account_co],
        *,
        queue: str | None = None,
        name: str | None = None,
        lease: int = 60,
    ) -> None:
        super().__init__(cast("Account_co", entities.account))
        table = entities.table.name
        self.entities: EntitySet[Account] = entities
        self.queue = f"{table.lower()}-moves" if queue is None else queue
        self.kind = f"move {table}" if name is None else name
        self.lease = lease
        self._messages = entities.account.queue(self.queue)
        if lease < 1:
            raise BadDesign("lease", lease, "it is a number of seconds", "give twice as long as a request may take")
        # One that does not follow even where all fields of the key change follows no move
        _check_indexes(self.entities, entities.key.fields)
        if entities.schema is not None:
            try:
                entities.schema.check({MOVING_TO: "", MOVED_FROM: ""}, in_part=True)
            except BadProperty as error:
                rule = f"it must let an entity say that it moves ({said(error)})"
                raise BadDesign("schema", entities.schema, rule, f"add {MOVING_TO} and {MOVED_FROM}: str") from error

    @recipe
    async def move(
        self,
        entity: Entity,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> Entity:
        """Give an entity another key in another partition, and return it as it is there.

        After an error that is not among these the move may have begun, and a worker brings it to its end. An entity
        that was left on its way may be moved on to where it was going.

        Cost: 4 table + 2 queue transactions, as much as 26 table operations.

        :param entity: as it was read from the set, whole
        :param retry_for: for how many seconds to retry while others write the entity
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: the fields of the key that change
        :raises BadInput: it stays in its partition, is on its way elsewhere or still to here, was not read whole from
            this set, or keeps something of its own in `MovingTo` or `MovedFrom`
        :raises BadKey: no field of the key, or a value that cannot be a key
        :raises BadDesign: an index elsewhere does not follow, since no field of its key changes
        :raises EntityChanged: it changed since it was read; nothing has changed
        :raises EntityNotFound: it is not there any more
        :raises EntityAlreadyExists: another entity has the new key, or its key in an index; this one stays where it is

        Guide: one-to-many relationships (moving an employee).
        """
        self.entities.identity.check(entity)
        held = entity.copy()
        route = self._route(held, fields_of(key, fields))
        self.entities.replacing(held)
        before = self.account.now()
        sent = await self._messages.send(Envelope(self.kind, _body(route)).text(), delay=self.lease)
        lease = Lease(self.account, self._messages, sent, self.lease, since=before)
        if held.get(MOVING_TO) != route.claim:
            await self._claim(held, route, lease, retry_for)
        relocation = Relocation(self.entities, lease, route)
        try:
            moved = await self._relocated(relocation, held, retry_for)
        except EntityAlreadyExists:
            await lease.done()
            raise
        await lease.done()
        if moved is None:
            raise EntityNotFound(f"the entity {route.goal} was moved there, and has been deleted or moved on since")
        return moved

    async def handle(self, lease: Lease) -> None:
        """Bring a move to its end that somebody began; a `Worker` calls this.

        :raises BadMessage: it names no move of this set
        :raises EntityAlreadyExists: another entity is where this one was to go; it stays where it was
        :raises DerivedDataMismatch: the entity was changed on its way, and its copy too; both stay
        :raises TooMuchContention: somebody wrote it during each attempt; the message is delivered again
        """
        entities = cast("EntitySet[Account]", self.entities.inside())
        await self._relocated(Relocation(entities, lease, self._asked_for(lease)), None, RETRY_FOR)

    async def _claim(self, held: Entity, route: Route, lease: Lease, retry_for: float) -> None:
        """Let the entity say where it goes."""
        held[MOVING_TO] = route.claim
        try:
            await lease.keep()
            await self.entities.replace(held, retry_for=retry_for)
        except (EntityChanged, EntityNotFound):
            await lease.done()
            raise

    async def _relocated(self, relocation: Relocation, known: Entity | None, retry_for: float) -> Entity | None:
        first = [known] if known is not None else []

        async def attempt() -> Entity | None:
            return await relocation.attempt(first.pop() if first else None)

        return await contended(self.account, attempt, retry_for)

    def _route(self, entity: Entity, fields: Mapping[str, Any]) -> Route:
        key = self.entities.key
        origin = key.format(self.entities.primary.key_fields(entity))
        goal = key.format(self.entities.primary.key_fields(entity) | dict(fields))
        if origin[0] == goal[0]:
            rule = "it stays in its partition, where one transaction inserts and deletes"
            raise BadInput("move", fields, rule, "use rename of the set, or give another partition")
        check_arrived(entity)
        if (claim := entity.get(MOVING_TO)) is not None:
            route = Route.claimed(origin, claim)
            if route.goal != goal:
                rule = f"it is on its way to {route.goal}"
                raise BadInput("move", fields, rule, "move it there first, or let a worker do it")
            return route
        moved = {name for name in key.fields if fields.get(name, entity.get(name)) != entity.get(name)}
        _check_indexes(self.entities, moved)
        return Route(uuid4().hex, origin, goal)

    def _asked_for(self, lease: Lease) -> Route:
        body, key = lease.work.body, self.entities.key
        match body:
            case {"id": str(name), "from": [str(a), str(b)], "to": [str(c), str(d)]} if key.matches(
                a, b
            ) and key.matches(c, d):
                return Route(name, (a, b), (c, d))
            case _:
                raise BadMessage("move", NOT_SHOWN, f"it names no move between keys of {key!r}", "send it with `move`")


def _body(route: Route) -> dict[str, Any]:
    return {"id": route.id, "from": list(route.origin), "to": list(route.goal)}


def _check_indexes(entities: EntitySet[Account], moved: Collection[str]) -> None:
    """Reject an index elsewhere whose one row would have to be the copy of both the entity and its copy.

    :param moved: the fields of the key that change
    """
    for each in entities.derived:
        if isinstance(each, Index) and each.is_eventual and not set(moved).intersection(each.key.fields):
            _check_copies(each, each.shape(entities.key).include is None)


def _check_copies(index: Index, is_complete: bool) -> None:
    if index.is_unique:
        rule = "it reserves its key for the entity in the old place, so that the new one would be refused"
        raise BadDesign("index", index.name, rule, "put a field that changes into its key, or let it not be unique")
    if not is_complete:
        rule = "its row has the same key before and after, and would not be written again when the old entity is gone"
        raise BadDesign(
            "index", index.name, rule, "let it hold all properties, or put a field that changes into its key"
        )
