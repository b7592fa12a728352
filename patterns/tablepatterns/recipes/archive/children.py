"""Move an entity together with its children.

The parent is copied, then each child is moved, then the original parent is deleted. So a child always has its parent in
the same place, unless it is inserted during the move. Two more rules apply if children are inserted or workers overlap:

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
from ...key import Key
from ...messages.lease import Lease
from ...recipe import Account
from ...retry import RETRY_FOR, Overtaken, contended
from .move import Move
from .stores import Keys, Store


@dataclass(frozen=True)
class Children:
    """One kind of children, and the two places of a move.

    :param key: the key of the set that is archived
    :param names: for each field of the parent's key, the corresponding field of the children
    :param origin: the store that the children leave
    :param destination: the store that they go to
    """

    key: Key
    names: Mapping[str, str]
    origin: Store
    destination: Store

    def back(self) -> Children:
        """Return the same for the move in the opposite direction."""
        return replace(self, origin=self.destination, destination=self.origin)

    def of(self, parent: Mapping[str, Any]) -> AsyncIterator[Keys]:
        """Yield the keys of the children that a parent has at the origin."""
        return self.origin.list(self.key, {self.names[field]: value for field, value in parent.items()})


@dataclass(frozen=True)
class FamilyMove:
    """One move of an entity with all its children between two places.

    :param account: the account whose clock governs retries
    :param parent: the move of the entity itself
    :param fields: the fields of its key
    :param children: the kinds of children that move with it
    """

    account: Account
    parent: Move
    fields: Mapping[str, Any]
    children: Sequence[Children]

    async def attempt(self, lease: Lease) -> None:
        """Move the entity, if there is one, and all its children.

        Cost: one move for the entity and one for each child, and two listings of the children.

        Raises the errors of `Move.attempt`.
        """
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
