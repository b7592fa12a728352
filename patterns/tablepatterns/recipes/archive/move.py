"""Move one entity from a store to another, so that it is always in at least one, and no concurrent change is lost.

The entity is read, its copy is inserted, and then the original is deleted, on condition of the version that was read.
After a crash, the next worker finds the copy and continues. Two more rules apply if workers overlap:

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

        :raises Overtaken: a concurrent write changed it; retry
        :raises LeaseLost: another worker has the message now
        :raises EntityAlreadyExists: a different entity has these keys, and must not be overwritten
        """
        snapshot = await self.copy(lease)
        if snapshot is not None:
            await self.delete(snapshot)

    async def copy(self, lease: Lease) -> Snapshot | None:
        """Copy the entity, and return it as it was read; None if there is none.

        :raises Overtaken: a concurrent write was faster
        :raises LeaseLost: another worker has the message now
        :raises EntityAlreadyExists: a different entity is there, and must not be overwritten
        """
        snapshot = await self.origin.get(self.keys)
        if snapshot is None:
            return None
        await lease.renew_if_due()
        if not await self.destination.insert(self.keys, snapshot.properties):
            await self._put_over(snapshot)
        return snapshot

    async def delete(self, snapshot: Snapshot) -> None:
        """Delete the original, on condition that it has not changed since it was read.

        :raises Overtaken: it has changed
        """
        if not await self.origin.delete(self.keys, snapshot):
            raise Overtaken

    async def _put_over(self, snapshot: Snapshot) -> None:
        there = await self.destination.get(self.keys)
        again = await self.origin.get(self.keys)
        if there is None or again is None or again.version != snapshot.version:
            raise Overtaken
        if there.version == snapshot.version:
            rule = f"it is {self.origin.name} itself, and a move would delete the entity"
            raise BadDesign("target", self.destination.name, rule, "use another table or key")
        if not (self.overwrites or there.is_placeholder) and self._differ(there, snapshot):
            text = f"{self.destination.name} has another entity {self.keys}; delete one of the two"
            raise EntityAlreadyExists(text)
        # A row that holds only totals must not overwrite the entity it is a placeholder for
        snapshot_to_keep = there if snapshot.is_placeholder else snapshot
        if not await self.destination.replace(self.keys, there, snapshot_to_keep.properties):
            raise Overtaken

    def _differ(self, one: Snapshot, another: Snapshot) -> bool:
        if another.is_placeholder:
            return False
        return encoded(self.keys, one.properties) != encoded(self.keys, another.properties)
