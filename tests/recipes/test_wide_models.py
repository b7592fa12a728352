"""Wide entities with a model: a class with more fields than one row has."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass, replace
from typing import Annotated, Any

import pytest

from tablepatterns import Encrypted, EncryptedProperties, Key, LocalKey, Stored, WideEntity
from tablepatterns.errors import BadDesign, BadInput, EntityChanged

KEY = Key("{employee}", "")
DAYS = [f"day{number:03d}" for number in range(365)]
SECRET = LocalKey("2026", bytes(range(32)))
Year: Any = make_dataclass("Year", [("employee", str), *((day, int, field(default=0)) for day in DAYS)])


@dataclass
class Person:
    employee: str
    name: Annotated[str, Stored("Name")] = ""
    ssn: Annotated[str, Encrypted()] = ""
    note: str | None = None


@pytest.fixture
def years(storage: Any, table_name: str) -> Any:
    return WideEntity(storage, table_name, KEY, model=Year)


async def test_an_instance_with_a_field_for_each_day_comes_back_equal(years: Any) -> None:
    jones = await years.insert(Year("223", day364=7))
    assert await years.get(employee="223") == jones == Year("223", day364=7)
    jones.day000 = 1
    assert await years.replace(jones) is jones
    assert await years.merge(jones, {"day001": 2}) == Year("223", day000=1, day001=2, day364=7)
    assert (await years.update(lambda each: replace(each, day002=3), employee="223")).day002 == 3
    assert (await years.update(Year("223"), day003=4)).day364 == 7
    for write in (years.replace, years.delete):
        with pytest.raises(EntityChanged):
            await write(jones)
    with pytest.raises(BadInput, match="not read from this set"):
        await years.replace(Year("223"))
    await years.delete(Year("223"), force=True)
    assert await years.get(employee="223") is None


async def test_undeclared_properties_survive_and_annotations_apply(storage: Any, table_name: str) -> None:
    mapping = EncryptedProperties(keys=SECRET)
    people = WideEntity(storage, table_name, KEY, model=Person, mappings=[mapping], part_bytes=200)
    jones = await people.insert(Person("223", "Jones", "078-05-1120", "a" * 90))
    entities = people.without_model()
    await entities.update(lambda each: {**each, "Badge": "A1"}, employee="223")
    await people.update(jones, name="Smith")
    assert dict(await entities.get(employee="223")) == {
        "employee": "223",
        "name": "Smith",
        "ssn": "078-05-1120",
        "note": "a" * 90,
        "Badge": "A1",
    }
    rows = [row async for row in storage.table(table_name).query(None)]
    assert len(rows) > 1
    assert [row["Name"] for row in rows if "Name" in row] == ["Smith"]
    assert not any("078-05" in repr(row) for row in rows)


async def test_earlier_versions_are_upgraded(storage: Any, table_name: str) -> None:
    await WideEntity(storage, table_name, KEY).insert({"employee": "223", "Surname": "Jones"})

    def one_to_two(fields: dict[str, Any]) -> dict[str, Any]:
        return fields | {"name": fields.pop("Surname")}

    people = WideEntity(
        storage, table_name, KEY, model=Person, mappings=[EncryptedProperties(keys=SECRET)], versions=[(1, one_to_two)]
    )
    found = await people.get(employee="223")
    assert found == Person("223", "Jones")
    await people.replace(found)
    assert (await people.without_model().get(employee="223"))["ModelVersion"] == 2


def test_a_class_without_the_fields_of_the_key_is_rejected(years: Any) -> None:
    with pytest.raises(BadDesign, match="lacks department"):
        WideEntity(
            years.account, "Wide", Key("{department}", ""), model=Person, mappings=[EncryptedProperties(keys=SECRET)]
        )
