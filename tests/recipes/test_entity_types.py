"""Entity types: each entity is recognized by its type property or its keys, and read as an object of its class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.employees import rows_of
from support.typed_staff import (
    ID,
    Contractor,
    Customer,
    Department,
    Employee,
    Numbered,
    Person,
    Worker,
    jones,
    persons_of,
    raw_of,
    staff_of,
    values,
)
from tablepatterns import EntitySet, Key, QueryClass, between, prop
from tablepatterns.errors import (
    BadFilter,
    BadInput,
    BadKey,
    BadProperty,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
)
from tablepatterns.recipes.entity_types.entity_type import EntityType
from tablepatterns.recipes.entity_types.entity_types import EntityTypes
from tablepatterns_engine.account import Engine

# ------------------------------------------------------------------ the mark and the keys


@pytest.mark.guide("G-321", "G-323", "G-335")
async def test_insert_writes_the_mark_under_the_types_own_key(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(Department("Sales", 1))
    held = await staff.insert(jones())
    assert (held.key, held.value) == (("Sales", "EMPLOYEE_000223"), jones())
    employee = {"EntityType": "Employee", "LastName": "Jones", "Age": 34, "Salary": "0", "Rank": "junior"}
    assert await rows_of(storage, table_name) == {
        ("Sales", "DEPARTMENT"): {"EntityType": "Department", "EmployeeCount": 1},
        ("Sales", "EMPLOYEE_000223"): employee,
    }


@pytest.mark.guide("G-321", "G-322", "G-324")
@pytest.mark.parametrize("prefixed", ["row", "partition"])
async def test_with_prefixes_two_types_have_the_same_natural_key(storage: Any, table_name: str, prefixed: str) -> None:
    def rows(prefix: str) -> Any:
        halves = ("{Department}", "{EmployeeId:06d}")
        key = Key(halves[0], prefix + halves[1]) if prefixed == "row" else Key(prefix + halves[0], halves[1])
        return EntitySet(storage, table_name, key)

    staff = EntityTypes(EntityType(Employee, rows("E_")), EntityType(Contractor, rows("C_")), type_property=None)
    await staff.insert(jones())
    await staff.insert(Contractor("Sales", 223, "Smith"))
    assert (await staff.get(Employee, **ID)).value == jones()
    assert (await staff.get(Contractor, **ID)).value == Contractor("Sales", 223, "Smith")
    assert all("EntityType" not in row for row in (await rows_of(storage, table_name)).values())


@pytest.mark.guide("G-325", "G-327")
async def test_all_entities_of_a_type_are_one_range_query(storage: Any, engine: Engine, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(Department("Sales"))
    for number in range(5):
        await staff.insert(jones(EmployeeId=number))
    with engine.ledger.span() as span:
        found = await values(staff.range_of(Employee, Department="Sales"))
    assert found == [jones(EmployeeId=number) for number in range(5)]
    (record,) = span.records
    assert (record.query_class, record.examined) == ("range query", 5)
    some = await values(staff.range_of(Employee, Department="Sales", EmployeeId=between(1, 2)))
    assert [each.EmployeeId for each in some] == [1, 2]
    some = await values(staff.range_of(Employee, Department="Sales", where=prop("EmployeeId") >= 3))
    assert [each.EmployeeId for each in some] == [3, 4]


@pytest.mark.guide("G-280", "G-325")
async def test_a_class_whose_types_have_several_prefixes_is_one_range_query(
    storage: Any, engine: Engine, table_name: str
) -> None:
    def rows(prefix: str) -> Any:
        return EntitySet(storage, table_name, Key("person", f"{prefix}_{{PersonId:06d}}"))

    persons = EntityTypes(
        EntityType(Worker, rows("m")), EntityType(Customer, rows("c")), EntityType(Numbered, rows("z"))
    )
    some = [Customer(2, "Ann"), Worker(1, "Jo")]
    raw = raw_of(storage, table_name)
    for row_key in ("a_note", "f_note", "z_note"):
        await raw.insert({"PartitionKey": "person", "RowKey": row_key})
    for person in (*some, Numbered(7)):
        await persons.insert(person)
    with engine.ledger.span() as span:
        assert await values(persons.range_of(Person)) == some
    assert [(record.query_class, record.examined) for record in span.records] == [("range query", 3)]
    everything = [held.key[1] async for held in persons.range()]
    assert everything == ["a_note", "c_000002", "f_note", "m_000001", "z_000007", "z_note"]


@pytest.mark.guide("G-330", "G-011", "G-070")
async def test_a_range_gives_each_entity_as_its_own_class(storage: Any, engine: Engine, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(jones())
    await staff.insert(Department("Sales", 1))
    await staff.insert(Department("Marketing"))
    with engine.ledger.span() as span:
        found = await values(staff.range(Department="Sales"))
    assert found == [Department("Sales", 1), jones()]
    assert span.totals.requests == 1
    adults = await values(staff.range(Department="Sales", where=prop("Age") >= 18, allow=QueryClass.PARTITION_SCAN))
    assert adults == [jones()]


@pytest.mark.guide("G-294", "G-327")
async def test_a_point_get_gives_the_object_or_none(storage: Any, engine: Engine, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    assert await staff.get(Employee, **ID) is None
    await staff.insert(jones())
    with engine.ledger.span() as span:
        held = await staff.get(Employee, **ID)
    assert held.value == jones()
    assert (span.totals.requests, span.totals.examined) == (1, 1)
    assert await staff.get(Employee, Department="Sales", EmployeeId=1) is None


@pytest.mark.guide("G-331")
async def test_keys_timestamp_and_etag_travel_beside_the_object(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    written = await staff.insert(Department("Sales"))
    held = await staff.get(Department, Department="Sales")
    assert held.value == Department("Sales")
    assert (held.key, held.etag) == (("Sales", "DEPARTMENT"), written.etag)
    assert held.timestamp is not None
    assert repr(held) == f"<TypedEntity Department ('Sales', 'DEPARTMENT') {held.etag}>"


async def test_pages_follow_one_another_and_hold_one_class(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(Department("Sales"))
    for number in range(5):
        await staff.insert(jones(EmployeeId=number))
    first = await staff.page(object, size=4, Department="Sales")
    second = await staff.page(object, size=4, token=first.token, Department="Sales")
    kinds = [[type(held.value) for held in page.items] for page in (first, second)]
    assert kinds == [[Department, Employee, Employee, Employee], [Employee, Employee]]
    assert second.token is None
    assert [held.value.EmployeeId for held in (await staff.page(Employee, size=2, Department="Sales")).items] == [0, 1]


# ------------------------------------------------------------------ inheritance


@pytest.mark.guide("G-279", "G-280")
async def test_classes_that_share_their_keys_come_back_as_what_they_are(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    some = [Worker(1, "Jo", ["typing"]), Customer(2, "Ann", 0.5), Worker(3, "Kim")]
    for person in some:
        await persons.insert(person)
    assert await values(persons.range_of(Person)) == some
    assert await values(persons.range_of(Worker)) == [some[0], some[2]]
    assert (await persons.get(Person, PersonId=2)).value.greeting() == "Dear Ann"
    assert await persons.get(Worker, PersonId=2) is None
    with pytest.raises(EntityAlreadyExists):
        await persons.insert(Customer(1, "Jo"))


@pytest.mark.guide("G-280")
async def test_an_undeclared_class_is_rejected_before_any_request(
    storage: Any, engine: Engine, table_name: str
) -> None:
    persons = persons_of(storage, table_name)
    with engine.ledger.span() as span:
        for word in (persons.insert(jones()), persons.get(Employee, PersonId=1), persons.get("Worker", PersonId=1)):
            with pytest.raises(BadInput, match=r"type|callable"):
                await word
        with pytest.raises(BadInput, match="the declared classes are Customer, Worker"):
            persons.inserting(jones())
    assert span.records == []


async def test_a_class_with_several_keys_has_no_point_query(storage: Any, table_name: str) -> None:
    with pytest.raises(BadInput, match="get_any"):
        await staff_of(storage, table_name).get(object, Department="Sales")


async def test_an_entity_keeps_its_type(storage: Any, table_name: str, engine: Engine) -> None:
    persons = persons_of(storage, table_name)
    jo = await persons.insert(Worker(1, "Jo"))
    before = await rows_of(storage, table_name)
    for write in (
        persons.replace(jo, Customer(1, "Jo")),
        persons.update(lambda person: Customer(person.PersonId, person.Name), Person, PersonId=1),
    ):
        with pytest.raises(BadInput, match="of type Worker, and keeps its type"):
            await write
    with pytest.raises(BadProperty, match="keeps its type"):
        await persons.merge(jo, {"EntityType": "Customer"})
    assert await rows_of(storage, table_name) == before


# ------------------------------------------------------------------ writing


async def test_replace_takes_a_typed_entity_and_a_changed_value(storage: Any, engine: Engine, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    first = await staff.insert(jones())
    with engine.ledger.span() as span:
        second = await staff.replace(first, replace(first.value, Age=35))
    assert span.totals.billable == 1
    assert (await staff.get(Employee, **ID)).value == second.value == jones(Age=35)
    assert first.value == jones()
    with pytest.raises(EntityChanged):
        await staff.replace(first, jones(Age=36))
    third = await staff.replace(second, jones(Age=None))
    assert (await staff.get(Employee, **ID)).value.Age is None
    await staff.delete(third)
    with pytest.raises(EntityNotFound):
        await staff.delete(third)


async def test_a_value_that_was_changed_in_place_is_written(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    await persons.insert(Worker(1, "Jo", ["typing"]))
    held = await persons.get(Worker, PersonId=1)
    held.value.Skills.append("filing")
    held.value.Name = "Joe"
    await persons.replace(held, held.value)
    assert (await persons.get(Worker, PersonId=1)).value == Worker(1, "Joe", ["typing", "filing"])


async def test_update_reads_changes_and_writes(storage: Any, engine: Engine, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(jones())
    with engine.ledger.span() as span:
        held = await staff.update(lambda each: replace(each, Age=each.Age + 1), Employee, **ID)
    assert span.totals.billable == 2
    assert held.value == (await staff.get(Employee, **ID)).value == jones(Age=35)
    again = await staff.replace(held, jones(Age=36))
    assert again.value.Age == 36
    with pytest.raises(EntityNotFound):
        await staff.update(lambda each: each, Employee, Department="Sales", EmployeeId=1)


async def test_update_does_not_see_an_entity_of_another_class(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    await persons.insert(Customer(1, "Ann"))
    with pytest.raises(EntityNotFound, match="of another class"):
        await persons.update(lambda worker: worker, Worker, PersonId=1)


async def test_a_key_cannot_be_changed(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    held = await staff.insert(jones())
    with pytest.raises(BadKey, match="use rename"):
        await staff.replace(held, jones(EmployeeId=224))


async def test_a_typed_entity_of_other_types_is_rejected(storage: Any, new_name: Any) -> None:
    held = await staff_of(storage, new_name()).insert(jones())
    others = staff_of(storage, new_name())
    for write in (others.replace(held, jones(Age=1)), others.merge(held, {"Age": 1}), others.delete(held)):
        with pytest.raises(BadInput, match="other EntityTypes"):
            await write


# ------------------------------------------------------------------ what cannot be asked


@pytest.mark.parametrize("key", [{"EmployeeId": "223"}, {"EmployeeId": 223.0}, {"Department": 7}, {"EmployeeId": None}])
async def test_a_key_of_another_type_makes_no_request(
    storage: Any, engine: Engine, table_name: str, key: dict[str, Any]
) -> None:
    staff = staff_of(storage, table_name)
    with engine.ledger.span() as span:
        with pytest.raises(BadKey):
            await staff.get(Employee, **{**ID, **key})
        with pytest.raises(BadKey):
            await values(staff.range_of(Employee, **{**ID, **key}))
        with pytest.raises(BadKey):
            await staff.get_any("Sales", "a/b")
    assert span.records == []


async def test_a_condition_on_the_key_belongs_in_the_range(storage: Any, table_name: str) -> None:
    with pytest.raises(BadFilter, match="give it as a keyword"):
        await values(staff_of(storage, table_name).range(Department="Sales", where=prop("EmployeeId") == 1))


async def test_types_in_several_partitions_have_no_common_range(storage: Any, table_name: str) -> None:
    rows = [EntitySet(storage, table_name, Key(f"{prefix}_{{Department}}", "{EmployeeId:06d}")) for prefix in "EC"]
    staff = EntityTypes(EntityType(Employee, rows[0]), EntityType(Contractor, rows[1]))
    with pytest.raises(BadInput, match="several partitions"):
        await values(staff.range(Department="Sales"))
    await staff.insert(jones())
    assert await values(staff.range_of(Employee, Department="Sales")) == [jones()]
