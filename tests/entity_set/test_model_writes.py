"""Every write of a set with a model keeps undeclared properties, and never mixes two versions of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import pytest

from tablepatterns import EntityGroupTransaction, EntitySet, IntraPartitionIndex, Key, Summary
from tablepatterns.entity_set.calls import SetCalls
from tablepatterns.errors import EntityAlreadyExists, UnrecognizedEntity
from tablepatterns.jobs import migrate
from tablepatterns_explore import World, explore

KEY = Key("{department}", "empid_{employee_id:06d}")
JONES = {"department": "Sales", "employee_id": 223}
BY_EMAIL = IntraPartitionIndex(Key("{department}", "email_{email}"))
TOTALS = Summary(Key("{department}", "SUMMARY"), count="employees")
DERIVED = {"nothing": [], "index and totals": [BY_EMAIL, TOTALS]}


@dataclass
class Employee:
    department: str
    employee_id: int
    email: str
    phone: str | None = None


def one_to_two(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"phone": fields.pop("Telephone")}


def changed(email: str = "new@contoso.com") -> Employee:
    return Employee(**JONES, email=email)


class Writes:
    """Each way to write an entity that exists: by its name, with an instance that was read, or with a new one."""

    def __init__(self, people: Any) -> None:
        self.people = people
        self.entities = people.without_model()

    async def read(self) -> Employee:
        employee: Employee = await self.people.get(JONES)
        return replace_in_place(employee, email="new@contoso.com")

    async def etag(self) -> str:
        return str((await self.entities.get(JONES)).etag)

    async def commit(self, *writes: Any) -> None:
        await EntityGroupTransaction(self.people.account, self.people.table.name).commit(*writes)

    async def replace(self) -> None:
        await self.people.replace(await self.read())

    async def replace_by_etag(self) -> None:
        await self.people.replace(changed(), etag=await self.etag())

    async def replace_by_force(self) -> None:
        await self.people.replace(changed(), force=True)

    async def merge(self) -> None:
        await self.people.merge(await self.people.get(JONES), {"email": "new@contoso.com"})

    async def merge_by_etag(self) -> None:
        await self.people.merge(changed(), {"email": "new@contoso.com"}, etag=await self.etag())

    async def merge_by_force(self) -> None:
        await self.people.merge(changed(), {"email": "new@contoso.com"}, force=True)

    async def insert_or_replace(self) -> None:
        await self.people.insert_or_replace(changed())

    async def insert_or_merge(self) -> None:
        await self.people.insert_or_merge(changed())

    async def update(self) -> None:
        await self.people.update(changed(), email="new@contoso.com")

    async def update_by_function(self) -> None:
        await self.people.update(lambda each: replace(each, email="new@contoso.com"), JONES)

    async def rename(self) -> None:
        renamed = await self.people.rename(await self.read(), employee_id=224)
        await self.people.rename(renamed, employee_id=223)

    async def replacing(self) -> None:
        await self.commit(self.people.replacing(await self.read()))

    async def merging(self) -> None:
        await self.commit(self.people.merging(await self.people.get(JONES), {"email": "new@contoso.com"}))

    async def renaming(self) -> None:
        await self.commit(*self.people.renaming(await self.read(), {"employee_id": 224}))
        await self.people.rename(await self.people.get({**JONES, "employee_id": 224}), employee_id=223)

    async def migrate(self) -> None:
        await migrate(self.people)
        await self.replace()


NAMES = [name for name in vars(Writes) if not name.startswith("_") and name not in ("read", "etag", "commit")]
KEEPING_NONE = [name for name in NAMES if not name.startswith("replace_by") and name != "insert_or_replace"]


def replace_in_place(employee: Employee, **fields: Any) -> Employee:
    for name, value in fields.items():
        setattr(employee, name, value)
    return employee


def test_every_method_that_writes_an_entity_is_tested() -> None:
    calls = {name: getattr(SetCalls, name) for name in vars(SetCalls) if not name.startswith("_")}
    writing = {name for name, call in calls.items() if {"entity", "change"} & signature(call).parameters.keys()}
    assert writing - set(NAMES) == {"insert", "delete", "inserting", "deleting"}


@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("name", NAMES)
async def test_undeclared_properties_survive_a_write(storage: Any, table_name: str, name: str, derived: str) -> None:
    people = EntitySet(storage, table_name, KEY, model=Employee, derived=DERIVED[derived])
    await people.insert(changed("old@contoso.com"))
    entities = people.without_model()
    await entities.update(lambda each: {**each, "Badge": "A1"}, JONES)
    await getattr(Writes(people), name)()
    assert dict(await entities.get(JONES)) == {**JONES, "email": "new@contoso.com", "Badge": "A1"}


@pytest.mark.parametrize("name", NAMES)
async def test_a_write_upgrades_an_earlier_version(storage: Any, table_name: str, name: str) -> None:
    old = EntitySet(storage, table_name, KEY)
    await old.insert({**JONES, "email": "old@contoso.com", "Telephone": "1234", "Badge": "A1"})
    people = EntitySet(storage, table_name, KEY, model=Employee, versions=[(1, one_to_two)])
    await getattr(Writes(people), name)()
    found = dict(await old.get(JONES))
    phone = {"phone": "1234"} if name in KEEPING_NONE else {}
    assert found == {**JONES, **phone, "email": "new@contoso.com", "Badge": "A1", "ModelVersion": 2}


@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("name", NAMES)
async def test_a_newer_version_is_rejected_and_stays_as_it_is(
    storage: Any, table_name: str, name: str, derived: str
) -> None:
    newer = EntitySet(storage, table_name, KEY, derived=DERIVED[derived])
    before = dict(await newer.insert({**JONES, "email": "old@contoso.com", "Number": "1234", "ModelVersion": 3}))
    people = EntitySet(storage, table_name, KEY, model=Employee, derived=DERIVED[derived], versions=[(1, one_to_two)])
    with pytest.raises(UnrecognizedEntity, match="ModelVersion"):
        await getattr(Writes(people), name)()
    assert dict(await newer.get(JONES)) == before


def people_in(world: World) -> Any:
    return EntitySet(world.storage, "People", KEY, model=Employee)


@pytest.mark.parametrize("name", ["insert_or_replace", "insert_or_merge"])
@pytest.mark.parametrize("exists", [True, False])
def test_an_upsert_keeps_what_a_concurrent_writer_stores(name: str, exists: bool) -> None:
    async def store_badge(entities: Any) -> None:
        fields = {**JONES, "email": "old@contoso.com", "Badge": "A1"}
        await (entities.update(lambda each: {**each, "Badge": "A1"}, JONES) if exists else entities.insert(fields))

    def actors(world: World) -> list[Any]:
        people = people_in(world)
        world.run(people.create_table())
        if exists:
            world.run(people.insert(changed("old@contoso.com")))
        return [getattr(people, name)(changed()), store_badge(people.without_model())]

    def both_are_stored(world: World) -> None:
        found = dict(world.run(people_in(world).without_model().get(JONES)))
        assert found.pop("Badge", "lost" if exists else None) in ("A1", None)
        assert found == {**JONES, "email": "new@contoso.com"}

    # An insert may find the entity that the upsert has created
    explore(actors, invariant=both_are_stored, expected=() if exists else (EntityAlreadyExists,))
