"""Relocation: one entity on its way to another key, so that it is never nowhere, and in the end in one place.

The order is what matters. The entity is claimed: it says where it goes, and no second move of it can begin. Its copy is
inserted, and only then it is deleted, on condition that it is still what was copied. Last, the copy loses its mark.
Whoever does it again after a crash finds the claim or the copy, and goes on from there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from ..entity import Entity
from ..errors import (
    BadInput,
    DerivedDataMismatch,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
)
from ..messages.lease import Lease
from ..recipe import Account
from ..retry import Overtaken
from ..typed_json import encoded
from .derived import Keys
from .entity_set import EntitySet
from .transit import MOVED_FROM, MOVING_TO

_MARK: Final = re.compile("[0-9a-f]{32} [0-9a-f]{64}")


@dataclass(frozen=True)
class Route:
    """From where to where an entity moves.

    :param id: tells this move from all others
    :param origin: the keys that it has
    :param goal: the keys that it will have
    """

    id: str
    origin: Keys
    goal: Keys

    @property
    def claim(self) -> str:
        """What the entity says while it is on its way."""
        return json.dumps([self.id, *self.goal])

    @classmethod
    def claimed(cls, origin: Keys, claim: object) -> Route:
        """Return the route that an entity says it is on.

        :raises BadInput: it says something else
        """
        try:
            match json.loads(claim) if isinstance(claim, str) else None:
                case [str(name), str(partition_key), str(row_key)]:
                    return cls(name, origin, (partition_key, row_key))
                case _:
                    raise ValueError(claim)
        except (ValueError, RecursionError):
            raise _not_a_mark(MOVING_TO, claim) from None


def check_arrived(entity: Mapping[str, Any]) -> None:
    """Refuse an entity that is still a copy: what it is a copy of would follow it to the place that it leaves.

    :raises BadInput: it is, or its property `MovedFrom`, which a move takes away, holds something else
    """
    mark = entity.get(MOVED_FROM)
    if mark is None:
        return
    if not isinstance(mark, str) or not _MARK.fullmatch(mark):
        raise _not_a_mark(MOVED_FROM, mark)
    rule = "its move to here has not ended"
    raise BadInput(MOVED_FROM, mark, rule, "let whoever began it, or a worker, end it, and read the entity again")


def _not_a_mark(name: str, value: object) -> BadInput:
    return BadInput(name, value, "a move keeps its mark under this name", "rename the property")


@dataclass(frozen=True)
class Relocation:
    """One attempt after another to bring an entity to its goal, by whoever has the message.

    :param entities: the set that the entity is in, as recipes see it
    :param lease: the message that announces the move
    """

    entities: EntitySet[Account]
    lease: Lease
    route: Route

    async def attempt(self, claimed: Entity | None = None) -> Entity | None:
        """Go on from wherever the move is, to its end; return what is at the goal then.

        :param claimed: the entity with its claim, if it is known
        :raises Overtaken: somebody changed something meanwhile; begin again
        :raises LeaseLost: somebody else has the message now
        :raises EntityAlreadyExists: there is another entity at the goal; this one stays, and is not claimed any more
        :raises DerivedDataMismatch: somebody changed it and somebody its copy; both stay
        """
        source = claimed or await self._get(self.route.origin)
        if source is None or source.get(MOVING_TO) != self.route.claim:
            return await self.arrive(await self._get(self.route.goal))
        await self.lease.renew_if_due()
        copied = await self.copy(source)
        await self.lease.renew_if_due()
        await self.leave(source)
        return await self.arrive(copied)

    async def copy(self, source: Entity) -> Entity:
        """Return the copy at the goal, as the entity is now."""
        try:
            return await self.entities.insert(self._copy_of(source))
        except EntityAlreadyExists as refused:
            copied = await self._get(self.route.goal)
            if copied is None and not isinstance(refused, DuplicateIndexValue):
                raise Overtaken from refused
            if copied is None or not self._is_ours(copied):
                await self._give_up(source)
                raise
        return await self._brought_up_to_date(source, copied)

    async def leave(self, source: Entity) -> None:
        """Delete the entity where it was, if it is still what was copied."""
        try:
            await self.entities.delete(source)
        except (EntityChanged, EntityNotFound) as error:
            raise Overtaken from error

    async def arrive(self, copied: Entity | None) -> Entity | None:
        """Let the copy be an entity as any other."""
        if copied is None or not self._is_ours(copied):
            return copied
        del copied[MOVED_FROM]
        with suppress(EntityNotFound):
            return await self._replaced(copied)
        return None

    async def _brought_up_to_date(self, source: Entity, copied: Entity) -> Entity:
        known = copied[MOVED_FROM].partition(" ")[2]
        if self._digest(source) == known:
            return copied
        if self._digest(copied) != known:
            text = f"the entity {self.route.origin} was changed while it moved, and so was its copy {self.route.goal}; "
            raise DerivedDataMismatch(text + "nothing was overwritten; write what is right to the copy, or delete it")
        wanted = self._copy_of(source)
        copied.clear()
        copied.update(wanted)
        with suppress(EntityNotFound):
            return await self._replaced(copied)
        raise Overtaken

    async def _give_up(self, source: Entity) -> None:
        del source[MOVING_TO]
        with suppress(EntityNotFound):
            await self._replaced(source)

    async def _replaced(self, entity: Entity) -> Entity:
        try:
            return await self.entities.replace(entity)
        except EntityChanged as error:
            raise Overtaken from error

    async def _get(self, keys: Keys) -> Entity | None:
        return await self.entities.get(**self.entities.key.parse(*keys))

    def _copy_of(self, source: Entity) -> dict[str, Any]:
        mark = f"{self.route.id} {self._digest(source)}"
        return {**self._content(source), **self.entities.key.parse(*self.route.goal), MOVED_FROM: mark}

    def _is_ours(self, copied: Entity) -> bool:
        return str(copied.get(MOVED_FROM, "")).partition(" ")[0] == self.route.id

    def _digest(self, entity: Mapping[str, Any]) -> str:
        digest = sha256()
        for name, value in sorted(self._content(entity).items()):
            digest.update(sha256(_spelled(name, value)).digest())
        return digest.hexdigest()

    def _content(self, entity: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an entity says besides where it is."""
        apart = {MOVING_TO, MOVED_FROM, *self.entities.key.fields}
        return {name: value for name, value in entity.items() if value is not None and name not in apart}


def _spelled(name: str, value: Any) -> bytes:
    """Return a property as bytes; what a mapping keeps elsewhere may be larger than any that is stored."""
    if isinstance(value, (str, bytes)):
        content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return f"{name} {type(value).__name__} ".encode() + content
    return encoded(("", ""), {name: value})
