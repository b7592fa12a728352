"""Move: an entity from one store to the other, so that it is never in neither, and no change to it is lost.

The order is what matters: the entity is read, its copy is written, and only then it is deleted, on condition that it
is still what was read. Who is repeated after a crash finds the copy and goes on. Two more rules hold where workers
overlap:

- A copy that exists is overwritten only if it was read before the original was found unchanged once more. So whoever
  comes late with an older reading cannot overwrite what another worker has moved since.
- A copy that exists is always overwritten, even with the same. It gets a new version by that, so that another worker,
  which is moving the entity back and has read the older one, cannot delete the copy that is relied on here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import BadDesign, EntityAlreadyExists
from ...messages.lease import Lease
from ...retry import Overtaken
from ...typed_json import encoded
from .stores import Keys, Snapshot, Store


@dataclass(frozen=True)
class Move:
    """One move of an entity between two stores.

    :param origin: where it is
    :param destination: where it is to be
    :param keys: its keys
    :param overwrites: whether another entity with these keys gives way; if not, the move is refused
    """

    origin: Store
    destination: Store
    keys: Keys
    overwrites: bool

    async def attempt(self, lease: Lease) -> None:
        """Move the entity, unless there is none.

        Cost: a read, an insert and a delete; 3 words more where there is a copy already.

        :raises Overtaken: somebody changed it meanwhile; begin again
        :raises LeaseLost: somebody else has the message now
        :raises EntityAlreadyExists: another entity is there, which does not give way
        """
        held = await self.copy(lease)
        if held is not None:
            await self.delete(held)

    async def copy(self, lease: Lease) -> Snapshot | None:
        """Copy the entity, and return it as it was read; None if there is none.

        :raises Overtaken: a concurrent write was faster
        :raises LeaseLost: another worker has the message now
        :raises EntityAlreadyExists: a different entity is there, and must not be overwritten
        """
        held = await self.origin.get(self.keys)
        if held is None:
            return None
        await lease.keep()
        if not await self.destination.insert(self.keys, held.properties):
            await self._put_over(held)
        return held

    async def delete(self, held: Snapshot) -> None:
        """Delete the original, on condition that it is as it was read.

        :raises Overtaken: it changed since it was read
        """
        if not await self.origin.delete(self.keys, held):
            raise Overtaken

    async def _put_over(self, held: Snapshot) -> None:
        there = await self.destination.get(self.keys)
        again = await self.origin.get(self.keys)
        if there is None or again is None or again.version != held.version:
            raise Overtaken
        if there.version == held.version:
            rule = f"it is {self.origin.name} itself, and moving would delete the entity"
            raise BadDesign("target", self.destination.name, rule, "give another table or key")
        if not (self.overwrites or there.is_placeholder) and self._differ(there, held):
            text = f"{self.destination.name} has another entity {self.keys}; delete one of the two"
            raise EntityAlreadyExists(text)
        # A row that holds nothing but totals must not erase the entity that it stands for
        kept = there if held.is_placeholder else held
        if not await self.destination.replace(self.keys, there, kept.properties):
            raise Overtaken

    def _differ(self, one: Snapshot, other: Snapshot) -> bool:
        if other.is_placeholder:
            return False
        return encoded(self.keys, one.properties) != encoded(self.keys, other.properties)
