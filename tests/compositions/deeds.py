"""Operations on whole entities: load, delete by a filter, archive, move, read."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from compositions.fields import shown
from compositions.mappings import SECRET
from compositions.part import Fields, Part
from tablepatterns import (
    Archive,
    BulkDelete,
    BulkLoad,
    EntityGroupTransaction,
    EntitySet,
    Key,
    QueryClass,
    Worker,
    prop,
)
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.encrypted_properties.key_rotation import KeyRotation
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns.recipes.lookup import Lookup
from tablepatterns.recipes.one_to_many import OneToMany
from tablepatterns.recipes.parallel_reads import ParallelReads
from tablepatterns.recipes.partition_move import PartitionMove


class Transaction(Part):
    name = "EntityGroupTransaction"

    async def inserted(self, staff: Any, those: list[Fields]) -> bool:
        for group in staff.groups(those):
            entities = staff.home.set_of(group[0])
            transaction = EntityGroupTransaction(staff.storage, entities.table.name)
            await transaction.commit(*(entities.inserting(staff.home.new(each)) for each in group))
        return True

    async def deleted(self, staff: Any, those: list[Fields]) -> bool:
        for group in staff.groups(those):
            entities = staff.home.set_of(group[0])
            transaction = EntityGroupTransaction(staff.storage, entities.table.name)
            found = [await entities.get(**staff.home.key_of(each)) for each in group]
            await transaction.commit(*(entities.deleting(each) for each in found))
        return True


class Load(Part):
    name = "BulkLoad"

    async def inserted(self, staff: Any, those: list[Fields]) -> bool:
        for table, loaded in groupby(those, key=lambda each: staff.home.set_of(each).table.name):
            listed = list(loaded)
            entities = staff.home.entities_of(listed[0])
            assert entities.table.name == table
            result = await BulkLoad(entities).load([staff.home.stored(each) for each in listed])
            assert result.entities == len(listed)
        return True


class Deletion(Part):
    name = "BulkDelete"

    async def deleted(self, staff: Any, those: list[Fields]) -> bool:
        for entities in staff.sets():
            deleted = await BulkDelete(entities).delete(prop("Salary") > 0, allow=QueryClass.TABLE_SCAN)
            assert deleted.left == 0
        return True


class Archived(Part):
    name = "Archive"

    async def acted(self, staff: Any, those: list[Fields]) -> bool:
        """Move the last employee to a set of the same design, and back."""
        former = staff.like(f"{staff.table}Former", self)
        gone, key = those[-1], staff.home.key_of(those[-1])
        archive = Archive(
            staff.home.entities_of(gone), former.home.entities_of(gone), queue=f"{staff.table.lower()}-archive"
        )
        worker = Worker(staff.storage, [archive])
        await archive.archive(await staff.home.entities_of(gone).get(**key))
        assert (await worker.run_once()).handled == 1
        await staff.right(those[:-1])
        await former.right([gone])
        assert shown(await archive.get(**key)) == gone
        await archive.restore(await former.home.entities_of(gone).get(**key))
        assert (await worker.run_once()).handled == 1
        await former.right([])
        return True


class Moved(Part):
    name = "PartitionMove"

    async def acted(self, staff: Any, those: list[Fields]) -> bool:
        """Move the last employee to another department, and back."""
        mover, there = those[-1], those[-1] | {"Department": "Marketing"}
        entities = staff.home.entities_of(mover)
        move = PartitionMove(entities, queue=f"{staff.table.lower()}-moves")
        await move.move(await entities.get(**staff.home.key_of(mover)), **staff.home.group(there))
        await staff.right([*those[:-1], there])
        await move.move(await entities.get(**staff.home.key_of(there)), **staff.home.group(mover))
        return True


class Rotated(Part):
    """Encrypts with an old key first, and finally with a new one."""

    name = "KeyRotation"

    def __init__(self) -> None:
        self.keys: list[LocalKey] = [SECRET]

    def mappings(self, table: str) -> list[Any]:
        return [EncryptedProperties(["Ssn"], keys=self.keys)]

    async def acted(self, staff: Any, those: list[Fields]) -> bool:
        self.keys = [LocalKey("2027", bytes(range(1, 33))), SECRET]
        staff.home.begin()
        for entities in staff.sets():
            rotation = KeyRotation(entities)
            rotated = await rotation.rotate()
            assert rotated.rewritten == rotated.seen
            assert set(await rotation.in_use()) == {"2027"}
        return True


class Parallel(Part):
    name = "ParallelReads"

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for entities in staff.sets():
            here = [each for each in those if staff.home.set_of(each).table.name == entities.table.name]
            reads = ParallelReads(entities)
            gathered = await reads.points([staff.home.key_of(each) for each in here])
            assert [shown(each) for each in gathered.entities] == here


class LookedUp(Part):
    name = "Lookup"

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for each in those:
            lookup = Lookup(staff.home.set_of(each))
            for _ in range(2):
                assert shown(await lookup.get(**staff.home.key_of(each))) == each


class Belonging(Part):
    name = "OneToMany"

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for group in staff.groups(those):
            many = staff.home.set_of(group[0])
            heads = EntitySet(staff.storage, many.table.name, Key(staff.home.partition, "head"))
            belonging = OneToMany(heads, many).children_of(**staff.home.group(group[0]))
            assert sorted([shown(each) async for each in belonging], key=lambda each: each["EmployeeId"]) == group


DEEDS: tuple[type[Part], ...] = (Transaction, Load, Deletion, Archived, Moved, Rotated)
READERS: tuple[type[Part], ...] = (Parallel, LookedUp, Belonging)
