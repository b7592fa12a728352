"""What is being moved, and rejects other writes: sets to new keys by a `Rekey`, entities to another partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

from ..errors import BadDesign, BadInput
from ..set_identity import SetIdentity


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
