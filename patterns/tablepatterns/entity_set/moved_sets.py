"""The sets that a `Rekey` of this process moves to new keys: what writes only one of the two tables is rejected."""

from __future__ import annotations

from typing import Final, Protocol
from weakref import WeakValueDictionary

from ..errors import BadDesign
from ..set_identity import SetIdentity


class Move(Protocol):
    """A move of a set to new keys."""

    @property
    def is_committed(self) -> bool:
        """Whether this process knows that the move is committed, so that only the new table is written."""
        ...


_MOVES: Final[WeakValueDictionary[SetIdentity, Move]] = WeakValueDictionary()


def declare_move(move: Move, *sets: SetIdentity) -> None:
    """Declare that entities of these sets are written in both, for as long as the move is declared."""
    _MOVES.update(dict.fromkeys(sets, move))


def check_unmoved(entity_set: SetIdentity, subject: str) -> None:
    """Reject what would write one table of a move to new keys and not the other one.

    :param subject: what would, such as the name of a pattern
    :raises BadDesign: this process declares a move of the set, which is not known to be committed
    """
    move = _MOVES.get(entity_set)
    if move is not None and not move.is_committed:
        rule = f"a Rekey moves its entities to new keys, and {subject} would write only one of the two tables"
        hint = "write through `entities` of the Rekey; after the commit, call its status() first"
        raise BadDesign("entity_set", entity_set.table, rule, hint)
