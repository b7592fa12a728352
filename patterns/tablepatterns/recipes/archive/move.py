"""Move one entity from a store to another, so that it is always in at least one, and no concurrent change is lost.

The entity is read, its copy is written, and only then the original is deleted, on condition that it has not changed
since it was read. A worker that retries after a crash finds the copy and goes on. Two more rules apply if workers
overlap:

- An existing copy is overwritten only if it was read before the original was last found unchanged. So a late worker
  with an old read cannot overwrite what another worker has moved since.
- An existing copy is always overwritten, even with equal values, which gives it a new version. So a worker that moves
  the entity back and has read the old version cannot delete the copy that this move relies on.
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

    :param origin: the store that the entity leaves
    :param destination: the store that it goes to
    :param keys: its keys
    :param overwrites: whether a different entity with these keys is overwritten; if not, the move is rejected
    """

    origin: Store
    destination: Store
    keys: Keys
    overwrites: bool

    async def attempt(self, lease: Lease) -> None:
        """Move the entity, if there is one.

        Cost: a read, an insert and a delete; 3 store calls more if there is a copy already.

        :raises Overtaken: a concurrent write changed it; start again
        :raises LeaseLost: another worker has the message now
        :raises EntityAlreadyExists: a different entity has these keys, and must not be overwritten
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
        await lease.renew_if_due()
        if not await self.destination.insert(self.keys, held.properties):
            await self._put_over(held)
        return held

    async def delete(self, held: Snapshot) -> None:
        """Delete the original, on condition that it has not changed since it was read.

        :raises Overtaken: it has changed
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
        # A row that holds only totals must not overwrite the entity it is a placeholder for
        kept = there if held.is_placeholder else held
        if not await self.destination.replace(self.keys, there, kept.properties):
            raise Overtaken

    def _differ(self, one: Snapshot, other: Snapshot) -> bool:
        if other.is_placeholder:
            return False
        return encoded(self.keys, one.properties) != encoded(self.keys, other.properties)
