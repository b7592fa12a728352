"""Parts that encode properties: checks of what is stored, and that nothing is left after deletes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from compositions.fields import shown
from compositions.homes import Home
from compositions.part import Fields, Part
from tablepatterns import EncryptedProperties, IntraPartitionIndex, Key, LargeProperties, LargePropertyStore, LocalKey
from tablepatterns.entity_set.internals import mappings_of

BLIND_KEY = bytes(range(32))
SECRET = LocalKey("2026", bytes(range(32)))
DAY = 86_400


class Encrypted(Part):
    name = "EncryptedProperties"

    def mappings(self, table: str) -> list[Any]:
        return [EncryptedProperties(["Ssn", "Notes"], keys=SECRET)]

    async def check(self, staff: Any, those: list[Fields]) -> None:
        """Check that no row holds the secret in plaintext, and that rows of stored employees hold it encrypted."""
        rows = await staff.rows()
        for each in those:
            assert not any(each["Ssn"] in repr(row) or each["Notes"] in repr(row) for row in rows)
        assert not those or any(isinstance(row.get("Ssn"), bytes) for row in rows)


class Blind(Encrypted):
    name = "EncryptedProperties, blind"

    def derived(self, home: type[Home], table: str) -> list[Any]:
        return [IntraPartitionIndex(Key(home.partition, "ssn_{SsnHash}"), name=self.name)] if home.derives else []

    def mappings(self, table: str) -> list[Any]:
        blind = {"Ssn": "SsnHash"}
        return [EncryptedProperties(["Ssn", "Notes"], keys=SECRET, blind=blind, blind_key=BLIND_KEY)]

    async def check(self, staff: Any, those: list[Fields]) -> None:
        await super().check(staff, those)
        home = staff.home
        for each in those:
            entities = home.set_of(each)
            (encrypted,) = (
                mapping for mapping in mappings_of(entities).mappings if isinstance(mapping, EncryptedProperties)
            )
            asked = encrypted.blind(entities.table.name, Ssn=each["Ssn"])
            if not home.derives:
                assert len([row for row in await staff.rows() if row.get("SsnHash") == asked["SsnHash"]]) == 1
                continue
            (index,) = (index for index in entities.derived if index.name == self.name)
            assert shown(await entities.find(index, **home.group(each), **asked)) == each


class Large(Part):
    name = "LargeProperties"

    def mappings(self, table: str) -> list[Any]:
        return [LargeProperties(["Photo", "Notes"], container=f"{table.lower()}-large", above=64)]

    async def check(self, staff: Any, those: list[Fields]) -> None:
        rows = await staff.rows()
        assert not those or any(str(row.get("Photo", "")).startswith("http") for row in rows)
        assert not any(isinstance(row.get("Photo"), bytes) for row in rows)

    async def gone(self, staff: Any) -> None:
        """Check that orphan collection removes all blobs, which takes two days."""
        engine = staff.storage.engine
        for entities in staff.sets():
            values = LargePropertyStore(entities)
            if engine is None:
                continue
            for _ in range(3):
                engine.clock.advance(DAY + 1)
                await values.collect_orphans(grace=timedelta(days=1))
            container = staff.storage.container(f"{entities.table.name.lower()}-large")
            assert [blob.name async for blob in container.blobs()] == []


MAPPINGS: tuple[type[Part], ...] = (Encrypted, Blind, Large)
