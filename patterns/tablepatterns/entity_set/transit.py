"""The properties that mark an entity during a move to another partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..errors import BadInput

MOVING_TO: Final = "MovingTo"
"""The mark of an entity that is being moved: its new keys."""
MOVED_FROM: Final = "MovedFrom"
"""The mark of a copy: the id of the move, and a digest of what was copied."""


def check_settled(entity: Mapping[str, Any]) -> None:
    """Reject an entity that is being moved: if its key changed, the move would leave it in two places.

    :raises BadInput: the entity has the mark of a move
    """
    for name in (MOVING_TO, MOVED_FROM):
        if entity.get(name) is not None:
            rule = "the entity is being moved to another partition"
            raise BadInput(name, entity[name], rule, "let the move finish, and read the entity again")
