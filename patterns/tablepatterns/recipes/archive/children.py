"""Children: move an entity together with the children that belong to it, so that none is lost.

The parent is copied, then each child is moved, then the original of the parent is deleted: a child always has its
parent beside it, unless it arrives while the move runs. Two more rules hold where children arrive and workers overlap:

- After the parent is deleted the children are listed again, until there are none: what arrived since the first
  listing is moved too.
- Whoever moved a child after that looks whether the parent has come back, and starts again if it has. So a worker that
  comes late cannot leave a family split between both places: the worker in the other direction copies the parent
  before it lists the children, so that either it finds that child, or the parent is seen here.
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
    :param names: for each field of the parent's key, the field of the children
    :param origin: where they are
    :param destination: where they are to be
    """

    key: Key
    names: Mapping[str, str]
    origin: Store
    destination: Store

    def back(self) -> Children:
        """Return the same for the move in the other direction."""
        return replace(self, origin=self.destination, destination=self.origin)

    def of(self, parent: Mapping[str, Any]) -> AsyncIterator[Keys]:
        """Yield the keys of the children that a parent has at the origin."""
        return self.origin.list(self.key, {self.names[field]: value for field, value in parent.items()})


@dataclass(frozen=True)
class FamilyMove:
    """One move of an entity with all its children between two places.

    :param account: whose clock counts between attempts
    :param parent: the move of the entity itself
    :param fields: the fields of its key
    :param children: what belongs to it
    """

    account: Account
    parent: Move
    fields: Mapping[str, Any]
    children: Sequence[Children]

    async def attempt(self, lease: Lease) -> None:
        """Move the entity, if there is one, and all its children.

        Cost: that of one move for the entity and for each child, and two listings of the children.

        The errors are those of `Move.attempt`.
        """
        first = await self._moves()
        held = await self.parent.copy(lease)
        if held is not None:
            await self._move(first, lease)
            await self.parent.delete(held)
        while late := await self._moves():
            await self._move(late, lease)
            if await self.parent.origin.get(self.parent.keys) is not None:
                raise Overtaken

    async def _moves(self) -> list[Move]:
        """Return the moves of all children that are at the origin now; names that are too long are rejected here."""
        found: list[Move] = []
        for kind in self.children:
            async for keys in kind.of(self.fields):
                kind.destination.check(keys)
                found.append(Move(kind.origin, kind.destination, keys, self.parent.overwrites))
        return found

    async def _move(self, moves: Sequence[Move], lease: Lease) -> None:
        for move in moves:
            await contended(self.account, partial(move.attempt, lease), RETRY_FOR)


def totals_of(one: EntitySet[Account], many: EntitySet[Account], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of the parent's row in which the children are counted, as they are without children."""
    if (one.table.name.lower(), one.account) != (many.table.name.lower(), many.account):
        return {}
    row = tuple(_renamed(text, names) for text in (one.key.partition_template, one.key.row_template))
    found: dict[str, Any] = {}
    for each in many.derived:
        if not isinstance(each, Totals) or each.is_eventual:
            continue
        if (each.layout.partition_template, each.layout.row_template) == row:
            found |= each.named(each.held(None))
    return found


def _renamed(template: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)", lambda field: "{" + names.get(field[1], field[1]), template)
