"""Move an entity to another key. It always exists under at least one key, and in the end under exactly one.

First the entity is marked with its new key, so that a second move is rejected. Then a copy is inserted, and the
original is deleted if it has not changed since. Last, the mark of the copy is removed. After a crash, another process
finds the mark or the copy and continues from there.
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
from .moves import MOVED_FROM, MOVING_TO

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


def check_arrived(entity: Mapping[str, Any]) -> None:
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
                # Another attempt had completed the move, or the entity has changed
                with suppress(EntityChanged, EntityNotFound):
                    await self.entities.delete(copy)
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
        try:
            await self.entities.delete(source)
        except (EntityChanged, EntityNotFound) as error:
            raise Overtaken from error

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
            new_copy = self._copy_of(source)
            copy.clear()
            copy.update(new_copy)
        # Written even if it is the same: its new ETag keeps the attempt that inserted it from taking it back
        with suppress(EntityNotFound):
            return await self._replaced(copy)
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
