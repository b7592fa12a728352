"""Property mappings: all reads and writes apply them, and invalid combinations are rejected."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import pytest

from support.backends import awaited
from tablepatterns import BulkLoad, EntitySet, IntraPartitionIndex, Key, prop
from tablepatterns.entity_set.mapping import Encoded, Place, PropertyMapping
from tablepatterns.errors import BadDesign, BadFilter, BadInput

KEY = Key("{Department}", "empid_{EmployeeId:06d}")
JONES = {"Department": "Sales", "EmployeeId": 223, "Email": "jonesj", "Note": "abc"}
STORED = "Sales/empid_000223:cba"


class Backwards(PropertyMapping):
    """Writes a text backwards, behind the key of its entity, and its length beside it."""

    order: ClassVar[int] = 7

    def __init__(self, *names: str) -> None:
        self._names = names

    @property
    def name(self) -> str:
        return "backwards"

    @property
    def fields(self) -> Collection[str]:
        return self._names

    def stored(self, name: str) -> Collection[str]:
        return (name, f"{name}Length") if name in self._names else (name,)

    async def encode(self, fields: Mapping[str, Any], place: Place) -> Encoded:
        found = dict(fields)
        for name in set(self._names).intersection(fields):
            found[name] = f"{'/'.join(place.key)}:{fields[name][::-1]}"
            found[f"{name}Length"] = len(fields[name])
        return Encoded(found)

    async def decode(self, fields: Mapping[str, Any], place: Place) -> dict[str, Any]:
        found = dict(fields)
        for name in set(self._names).intersection(fields):
            text = found[name].removeprefix(f"{'/'.join(place.key)}:")[::-1]
            assert len(text) == found.pop(f"{name}Length")
            found[name] = text
        return found


class WholeOnly(Backwards):
    """The same, but an entity is written whole."""

    allows_merge: ClassVar[bool] = False


BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


@pytest.fixture
def employees(storage: Any, table_name: str) -> EntitySet[Any]:
    return EntitySet(storage, table_name, KEY, derived=[BY_EMAIL], mappings=[Backwards("Note")])


async def stored_notes(storage: Any, table_name: str) -> set[str]:
    """Return the property as the rows of the table hold it."""
    client = awaited(storage.tables.get_table_client(table_name))
    return {row["Note"] async for row in client.list_entities()}


async def test_the_primary_and_its_copies_hold_what_the_mapping_made(
    storage: Any, table_name: str, employees: EntitySet[Any]
) -> None:
    inserted = await employees.insert(JONES)
    assert inserted == JONES
    assert await stored_notes(storage, table_name) == {STORED}


async def test_every_way_of_reading_gives_the_fields_back(employees: EntitySet[Any]) -> None:
    await employees.insert(JONES)
    key = {"Department": "Sales", "EmployeeId": 223}
    assert await employees.get(**key) == JONES
    assert await employees.get_many([key]) == [JONES]
    assert await employees.find(BY_EMAIL, Department="Sales", Email="jonesj") == JONES
    assert [found async for found in employees.range(Department="Sales")] == [JONES]
    assert (await employees.page(BY_EMAIL, Department="Sales")).items == (JONES,)
    assert await employees.take(1, Department="Sales") == [JONES]
    where = (prop("PartitionKey") == "Sales") & (prop("RowKey") >= "empid")
    assert [found async for found in employees.query(where)] == [JONES]
    assert [found async for found in employees.scan()] == [JONES]
    projected = await employees.take(1, select=("Note",), Department="Sales")
    assert projected == [{"Department": "Sales", "EmployeeId": 223, "Note": "abc"}]


async def test_every_way_of_writing_goes_through_it(storage: Any, table_name: str, employees: EntitySet[Any]) -> None:
    jones = await employees.insert(JONES)
    jones["Note"] = "def"
    assert (await employees.replace(jones))["Note"] == "def"
    assert (await employees.merge(jones, {"Note": "ghi"})) == {**JONES, "Note": "ghi"}
    assert await stored_notes(storage, table_name) == {"Sales/empid_000223:ihg"}
    assert (await employees.merge(jones, {"Email": "jj"})) == {**JONES, "Note": "ghi", "Email": "jj"}
    assert await employees.insert_or_replace(JONES) == JONES
    assert (await employees.insert_or_merge({**JONES, "Note": "jkl"}))["Note"] == "jkl"

    def shout(jones: Any) -> None:
        jones["Note"] = jones["Note"].upper()

    assert (await employees.update(shout, Department="Sales", EmployeeId=223))["Note"] == "JKL"
    assert await stored_notes(storage, table_name) == {"Sales/empid_000223:LKJ"}


async def test_upserts_without_derived_data_go_through_it(storage: Any, table_name: str) -> None:
    employees = EntitySet(storage, table_name, KEY, mappings=[Backwards("Note")])
    await employees.insert_or_replace(JONES)
    assert await stored_notes(storage, table_name) == {STORED}
    await employees.insert_or_merge({"Department": "Sales", "EmployeeId": 223, "Age": 34})
    assert await employees.get(Department="Sales", EmployeeId=223) == {**JONES, "Age": 34}


async def test_a_bulk_load_goes_through_it(storage: Any, table_name: str, employees: EntitySet[Any]) -> None:
    await BulkLoad(employees).load([JONES])
    assert await stored_notes(storage, table_name) == {STORED}
    assert await employees.get(Department="Sales", EmployeeId=223) == JONES


async def test_a_condition_on_a_mapped_field_is_rejected(employees: EntitySet[Any]) -> None:
    with pytest.raises(BadFilter, match="no condition on it can match"):
        await employees.take(1, Department="Sales", where=prop("Note") == "abc")


async def test_a_merge_is_rejected_where_the_entity_is_written_whole(storage: Any, table_name: str) -> None:
    employees = EntitySet(storage, table_name, KEY, mappings=[WholeOnly("Note")])
    jones = await employees.insert(JONES)
    with pytest.raises(BadInput, match="only whole entities can be written"):
        await employees.merge(jones, {"Age": 34})
    with pytest.raises(BadInput, match="only whole entities can be written"):
        await employees.insert_or_merge({**JONES, "Age": 34})


@pytest.mark.parametrize(
    ("derived", "mappings", "reason"),
    [
        ([], [Backwards("EmployeeId")], "it is a field of the primary key"),
        ([], [Backwards("Note"), Backwards("Email")], "one mapping of each kind"),
        ([IntraPartitionIndex(Key("{Department}", "email_{Email}"), include=["Note"])], [Backwards("Note")], "lack"),
    ],
)
async def test_what_cannot_work_is_rejected_when_the_set_is_made(
    storage: Any, table_name: str, derived: Any, mappings: Any, reason: str
) -> None:
    with pytest.raises(BadDesign, match=reason):
        EntitySet(storage, table_name, KEY, derived=derived, mappings=mappings)


async def test_a_projection_of_copies_brings_the_key_that_they_are_decoded_by(storage: Any, table_name: str) -> None:
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    staff = EntitySet(storage, table_name, KEY, derived=[by_email], mappings=[Backwards("Note")])
    await staff.insert(JONES)
    (found,) = [each async for each in staff.range(by_email, select=["Note"], Department="Sales")]
    assert found == {"Department": "Sales", "EmployeeId": 223, "Email": "jonesj", "Note": "abc"}
    (taken,) = await staff.take(1, by_email, select=["Email"], Department="Sales")
    assert taken == {"Department": "Sales", "EmployeeId": 223, "Email": "jonesj"}
