"""Identify the set that an entity was read from, the only one that it may be written to, and what is being moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from .entity import reading_of
from .errors import BadDesign, BadInput
from .key import Key

_ENGINES: WeakKeyDictionary[object, str] = WeakKeyDictionary()


def account_identity(engine: object | None, url: str) -> str:
    """Return what all connections to one account have in common: its in-memory engine, or its address."""
    # In-memory accounts have the same addresses
    return url.rstrip("/").lower() if engine is None else _ENGINES.setdefault(engine, uuid4().hex)


class SetIdentity(NamedTuple):
    """The account, the table and the key of a set; objects for the same set have the same."""

    account: str
    table: str
    key: Key

    def is_of(self, entity: Mapping[str, Any]) -> bool:
        """Whether an entity was read from this set, or a mapping was not read at all."""
        identity = _set_of(entity)
        return identity is None or identity == self

    @property
    def place(self) -> str:
        """The name of the set in errors."""
        return f"the set {self.key.partition_template}/{self.key.row_template} of the table {self.table}"

    def check(self, entity: Mapping[str, Any]) -> None:
        """Reject an entity that was read from another set; a mapping that was not read is accepted."""
        identity = _set_of(entity)
        if identity is None or identity == self:
            return
        place = "the same table of another account" if identity[1:] == self[1:] else identity.place
        hint = f"pass an entity of {self.place}"
        raise BadInput("entity", getattr(entity, "key", None), f"it was read from {place}", hint)


def _set_of(entity: Mapping[str, Any]) -> SetIdentity | None:
    return getattr(reading_of(entity), "of", None)


class Move(Protocol):
    @property
    def is_committed(self) -> bool:
        """Whether this process knows that the move is committed, so that only the new table is written."""
        ...


MOVING_TO: Final = "MovingTo"
"""The mark of an entity that is being moved: its new keys."""
MOVED_FROM: Final = "MovedFrom"
"""The mark of a copy: the id of the move, and a digest of what was copied."""
_MOVES: Final[WeakValueDictionary[SetIdentity, Move]] = WeakValueDictionary()


def declare_move(move: Move, *sets: SetIdentity) -> None:
    """Declare that entities of these sets are written in both, for as long as the move is declared."""
    _MOVES.update(dict.fromkeys(sets, move))


def check_unmoved(entity_set: SetIdentity, subject: str) -> None:
    """Reject what would write one table of a move to new keys and not the other one."""
    move = _MOVES.get(entity_set)
    if move is not None and not move.is_committed:
        rule = f"a Rekey moves its entities to new keys, and {subject} would write only one of the two tables"
        hint = "write through `entities` of the Rekey; after the commit, call its status() first"
        raise BadDesign("entity_set", entity_set.table, rule, hint)


def check_settled(entity: Mapping[str, Any]) -> None:
    """Reject an entity that is being moved: if its key changed, the move would leave it in two places."""
    for name in (MOVING_TO, MOVED_FROM):
        if entity.get(name) is not None:
            rule = "the entity is being moved to another partition"
            raise BadInput(name, entity[name], rule, "let the move finish, and read the entity again")
