"""Remember the entities of model instances, without touching the instances or keeping them alive."""

from __future__ import annotations

from typing import Any, Final
from weakref import ref

from ..entity import Entity
from ..set_identity import SetIdentity


class Instances:
    """The entity that each living instance was read from or written to, by the set.

    Instances are told apart by identity: equal ones may have been read at different times, and need not be hashable.
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[ref[Any], dict[SetIdentity, Entity]]] = {}

    def remember(self, instance: object, home: SetIdentity, entity: Entity) -> None:
        """Remember the entity of an instance; do nothing if its class does not allow weak references."""
        entry = self._found.get(id(instance))
        if entry is not None and entry[0]() is instance:
            entry[1][home] = entity
            return
        number, entries = id(instance), self._found

        def forget(reference: ref[Any]) -> None:
            # The next object may have got the same id already
            if (last := entries.get(number)) is not None and last[0] is reference:
                del entries[number]

        try:
            entries[number] = ref(instance, forget), {home: entity}
        except TypeError:
            return

    def entity(self, instance: object, home: SetIdentity) -> Entity | None:
        entry = self._found.get(id(instance))
        return entry[1].get(home) if entry is not None and entry[0]() is instance else None

    def __len__(self) -> int:
        return len(self._found)


def can_be_remembered(instance: object) -> bool:
    """Whether the class of an instance allows weak references; one with slots may not."""
    try:
        ref(instance)
    except TypeError:
        return False
    return True


INSTANCES: Final = Instances()
"""The instances of all sets: sets with the same identity share what they remember."""
