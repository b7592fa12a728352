"""Move an entity from one store to another, alone or with its children, without losing any of them.

The entity is read, its copy is inserted, and then the original is deleted, on condition of the version that was read.
So it is always in at least one store, and no concurrent change is lost. After a crash, the next worker finds the copy
and continues. Two more rules apply if workers overlap:

- An existing copy is overwritten only if it was read before the original was last found unchanged. So a late worker
  with an old read cannot overwrite what another worker has moved since.
- An existing copy is always overwritten, even with equal values, which gives it a new version. So a worker that moves
  the entity back and has read the old version cannot delete the copy that this move relies on.

With children, the parent is copied, then each child is moved, then the original parent is deleted. So a child always
has its parent in the same place, unless it is inserted during the move. Two more rules apply for that:

- After the parent is deleted, the children are listed again until there are none, so children inserted since the first
  listing are moved too.
- A worker that has moved a child after that checks whether the parent has come back, and starts again if it has. The
  worker in the other direction copies the parent before it lists the children. So either that worker finds the child,
  or this one finds the parent, and a late worker cannot split a family between both places.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...entity_set.entity_set import EntitySet
from ...entity_set.shared_rows import Totals
from ...errors import BadDesign, EntityAlreadyExists
from ...key import Key
from ...messages.lease import Lease
from ...recipe import Account
from ...retry import RETRY_FOR, Overtaken, contended
from ...typed_json import encoded
from .stores import Keys, Snapshot, Store


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
        snapshot = await self.copy(lease)
        if snapshot is not None:
            await self.delete(snapshot)

    async def copy(self, lease: Lease) -> Snapshot | None:
        """Copy the entity, and return it as it was read; None if there is none."""
        snapshot = await self.origin.get(self.keys)
        if snapshot is None:
            return None
        await lease.renew_if_due()
        if not await self.destination.insert(self.keys, snapshot.properties):
            await self._put_over(snapshot)
        return snapshot

    async def delete(self, snapshot: Snapshot) -> None:
        """Delete the original, on condition that it has not changed since it was read."""
        if not await self.origin.delete(self.keys, snapshot):
            raise Overtaken

    async def _put_over(self, snapshot: Snapshot) -> None:
        copied = await self.destination.get(self.keys)
        current = await self.origin.get(self.keys)
        if copied is None or current is None or current.version != snapshot.version:
            raise Overtaken
        if copied.version == snapshot.version:
            rule = f"it is {self.origin.name} itself, and a move would delete the entity"
            raise BadDesign("target", self.destination.name, rule, "use another table or key")
        may_replace = self.overwrites or copied.is_placeholder or snapshot.is_placeholder
        if not may_replace and encoded(self.keys, copied.properties) != encoded(self.keys, snapshot.properties):
            text = f"{self.destination.name} has another entity {self.keys}; delete one of the two"
            raise EntityAlreadyExists(text)
        # A row that holds only totals must not overwrite the entity it is a placeholder for
        snapshot_to_keep = copied if snapshot.is_placeholder else snapshot
        if not await self.destination.replace(self.keys, copied, snapshot_to_keep.properties):
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
        """Yield the keys of the children that a parent has at the origin."""
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
        snapshot = await self.parent.copy(lease)
        if snapshot is not None:
            await self._move(first, lease)
            await self.parent.delete(snapshot)
        while late := await self._moves():
            await self._move(late, lease)
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


def totals_of(one: EntitySet[Account], many: EntitySet[Account], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of the parent's row that count the children, with the values they have without children."""
    if (one.table.name.lower(), one.account) != (many.table.name.lower(), many.account):
        return {}
    row = tuple(_renamed(text, names) for text in (one.key.partition_template, one.key.row_template))
    properties: dict[str, Any] = {}
    for derived in many.derived:
        if not isinstance(derived, Totals) or derived.is_eventual:
            continue
        if (derived.layout.partition_template, derived.layout.row_template) == row:
            properties |= derived.as_properties(derived.totals_in(None))
    return properties


def _renamed(template: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)", lambda field: "{" + names.get(field[1], field[1]), template)
