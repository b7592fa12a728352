"""Archive with children: a department goes with its employees, and comes back with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.archive_moves import PLACES, Work
from support.department_archive import DEPARTMENT, EMPLOYEE, SALES, Family, employee, family_of, fill, places, sets_in
from tablepatterns import Archive, BlobArchive, EntitySet, IntraPartitionIndex, Key, LargeProperties, OneToMany
from tablepatterns.errors import BadDesign
from tablepatterns.recipes.archive.stores import Store
from tablepatterns.recipes.worker import Report

NUMBERS = (152, 223)


@pytest.fixture(params=PLACES)
def family(
    request: pytest.FixtureRequest, backend: Any, storage: Any, new_name: Callable[..., str], queue_name: str
) -> Iterator[Family]:
    with places(request.param, backend, storage, new_name("Closed")) as to:
        yield family_of(storage, new_name("Staff"), to, queue_name)


@pytest.fixture
def in_table(storage: Any, new_name: Callable[..., str], queue_name: str) -> Family:
    return family_of(storage, new_name("Staff"), sets_in(storage, new_name("Closed")), queue_name)


async def here(family: Family) -> tuple[Any, list[int]]:
    found = [each["EmployeeId"] async for each in family.employees.range(**SALES)]
    return await family.departments.get(**SALES), found


async def there(family: Family) -> tuple[Any, list[int]]:
    found = [each["EmployeeId"] async for each in family.archive.children(**SALES)]
    return await family.archive.get(**SALES), found


DEPARTED = ({**SALES, "Floor": 3}, list(NUMBERS))
NONE: tuple[None, list[int]] = (None, [])


async def test_a_department_is_archived_with_its_employees_and_restored_with_them(family: Family, work: Work) -> None:
    await family.archive.archive(await fill(family, *NUMBERS, LastName="Jones"))
    await family.employees.insert({"Department": "Marketing", "EmployeeId": 7})
    assert await work(family.archive) == Report(received=1, handled=1)
    assert (await here(family), await there(family)) == (NONE, DEPARTED)
    assert [each async for each in family.archive.children(**SALES)] == [
        employee(number, LastName="Jones") for number in NUMBERS
    ]
    assert await family.employees.get(Department="Marketing", EmployeeId=7) is not None
    await family.archive.restore(SALES)
    assert await work(family.archive) == Report(received=1, handled=1)
    assert (await here(family), await there(family)) == (DEPARTED, NONE)


async def test_a_child_that_comes_after_the_move_is_moved_when_it_is_asked_for_again(
    family: Family, work: Work
) -> None:
    await family.archive.archive(await fill(family, *NUMBERS))
    await work(family.archive)
    await family.employees.insert(employee(300))
    assert (await here(family), await there(family)) == ((None, [300]), DEPARTED)
    await family.archive.archive(SALES)
    assert await work(family.archive) == Report(received=1, handled=1)
    assert (await here(family), await there(family)) == (NONE, (DEPARTED[0], [*NUMBERS, 300]))


async def test_a_child_that_the_set_has_again_goes_to_the_poison_queue_and_both_stay(
    in_table: Family, work: Work
) -> None:
    await in_table.archive.archive(await fill(in_table, *NUMBERS))
    await work(in_table.archive)
    await in_table.employees.insert(employee(223, LastName="Other"))
    await in_table.archive.restore(SALES)
    assert (await work(in_table.archive)).poisoned == 1
    assert (await here(in_table), await there(in_table)) == (DEPARTED, (DEPARTED[0], [223]))


# ------------------------------------------------------------------ totals in the parent's row


@pytest.fixture
def with_count(storage: Any, new_name: Callable[..., str], queue_name: str) -> Family:
    to = sets_in(storage, new_name("Closed"), is_counted=True)
    return family_of(storage, new_name("Staff"), to, queue_name, is_counted=True)


async def test_each_place_counts_the_children_that_it_has(with_count: Family, work: Work) -> None:
    await with_count.archive.archive(await fill(with_count, *NUMBERS))
    await work(with_count.archive)
    former = with_count.archive._there.entities
    assert await former.get(**SALES) == {**SALES, "Floor": 3, "EmployeeCount": 2}
    assert await here(with_count) == NONE
    await with_count.archive.restore(SALES)
    await work(with_count.archive)
    assert await with_count.departments.get(**SALES) == {**SALES, "Floor": 3, "EmployeeCount": 2}
    assert await former.get(**SALES) is None


async def test_a_late_child_whose_count_makes_the_row_again_does_not_erase_the_archived_parent(
    with_count: Family, work: Work
) -> None:
    await with_count.archive.archive(await fill(with_count, *NUMBERS))
    await work(with_count.archive)
    await with_count.employees.insert(employee(300))
    assert await with_count.departments.get(**SALES) == {**SALES, "EmployeeCount": 1}
    for ask in (with_count.archive.archive, with_count.archive.restore):
        await ask(SALES)
        assert await work(with_count.archive) == Report(received=1, handled=1)
        found = [await with_count.departments.get(**SALES), await with_count.archive._there.entities.get(**SALES)]
        assert [each for each in found if each is not None] == [{**SALES, "Floor": 3, "EmployeeCount": 3}]


async def test_a_row_of_a_late_count_gives_way_to_the_parent_that_comes_back(with_count: Family, work: Work) -> None:
    await with_count.archive.archive(await fill(with_count, *NUMBERS))
    await work(with_count.archive)
    await with_count.employees.insert(employee(300))
    await with_count.archive.restore(SALES)
    assert await work(with_count.archive) == Report(received=1, handled=1)
    assert await with_count.departments.get(**SALES) == {**SALES, "Floor": 3, "EmployeeCount": 3}


# ------------------------------------------------------------------ large properties


@pytest.fixture(params=PLACES)
def with_photos(
    request: pytest.FixtureRequest, backend: Any, storage: Any, new_name: Callable[..., str], queue_name: str
) -> Iterator[Family]:
    photos = LargeProperties(["Photo", "Notes"], container=f"c{new_name().lower()}")
    closed = new_name("Closed")
    with places(request.param, backend, storage, closed) as to:
        to = sets_in(storage, closed, mappings=[photos]) if request.param == "table" else to
        yield family_of(storage, new_name("Staff"), to, queue_name, mappings=[photos])


async def test_large_properties_go_along_to_every_place(with_photos: Family, work: Work) -> None:
    family = with_photos
    large = {"Photo": bytes(range(256)) * 1024, "Notes": "ä" * 70_000, "Floor": 3}
    await family.departments.insert(SALES | large)
    await family.employees.insert(employee(223) | large)
    for _ in range(2):
        await family.archive.archive(SALES)
    assert await work(family.archive) == Report(received=2, handled=2)
    assert await here(family) == NONE
    assert await family.archive.get(**SALES) == SALES | large
    assert [each async for each in family.archive.children(**SALES)] == [employee(223) | large]
    await family.archive.restore(SALES)
    assert await work(family.archive) == Report(received=1, handled=1)
    assert await family.employees.get(**employee(223)) == employee(223) | large
    assert await there(family) == NONE


async def test_a_copy_with_large_properties_that_a_crash_left_behind_is_no_conflict(
    storage: Any, new_name: Callable[..., str], queue_name: str, work: Work
) -> None:
    photos = LargeProperties(["Photo"], container=f"c{new_name().lower()}")
    family = family_of(
        storage,
        new_name("Staff"),
        sets_in(storage, new_name("Closed"), mappings=[photos]),
        queue_name,
        mappings=[photos],
    )
    for each in (family.departments, family.archive._there.entities):
        await each.insert({**SALES, "Photo": bytes(100_000)})
    await family.archive.restore(SALES)
    assert await work(family.archive) == Report(received=1, handled=1)
    assert (await family.departments.get(**SALES))["Photo"] == bytes(100_000)


# ------------------------------------------------------------------ what is rejected


class CannotList(BlobArchive):
    """A store that can move entities, but was written without `list`."""

    list = Store.list


def test_children_that_could_not_be_found_again_are_rejected(storage: Any, new_name: Callable[..., str]) -> None:
    departments, employees = sets_in(storage, new_name("Staff"))
    closed, left = sets_in(storage, new_name("Closed"))
    others, _ = sets_in(storage, new_name("Others"))
    staff: Any = OneToMany(departments, employees)
    by_id: Any = EntitySet(storage, new_name("ById"), Key("{EmployeeId:06d}", "{Department}"))
    by_last = IntraPartitionIndex(Key("{Department}", "last_{LastName}"))
    indexed: Any = EntitySet(storage, new_name("Indexed"), EMPLOYEE, derived=[by_last])
    unlisted = CannotList(storage, "unlisted")
    blobs = BlobArchive(storage, "closed")
    elsewhere: Any = OneToMany(departments, EntitySet(storage, new_name("Elsewhere"), EMPLOYEE))
    designs: tuple[tuple[Any, str], ...] = (
        ({departments: left}, "must be a mapping of OneToMany"),
        ({staff: None}, "must be a mapping of OneToMany"),
        ({staff: "Closed"}, "must be a mapping of OneToMany"),
        ({OneToMany(others, employees): left}, "its parents are in"),
        ({OneToMany(departments, indexed, via=by_last): left}, "not every archive keeps indexes"),
        ({staff: closed}, "its key must be made of"),
        ({staff: by_id}, "could be in any partition"),
        ({staff: unlisted}, "cannot list"),
    )
    for children, part in designs:
        with pytest.raises(BadDesign, match=part):
            Archive(departments, closed, children=children)
    with pytest.raises(BadDesign, match="use another prefix"):
        Archive(departments, blobs, children={elsewhere: blobs})
    assert Archive(departments, blobs, children={staff: blobs}) is not None


async def test_a_child_with_too_long_a_name_is_rejected_before_anything_is_moved(
    storage: Any, new_name: Callable[..., str], queue_name: str, work: Work
) -> None:
    departments: Any = EntitySet(storage, new_name("Staff"), DEPARTMENT)
    employees: Any = EntitySet(storage, departments.table.name, Key("{Department}", "email_{Email}"))
    blobs = BlobArchive(storage, "closed", prefix="x" * 850)
    archive: Any = Archive(departments, blobs, children={OneToMany(departments, employees): blobs}, queue=queue_name)
    await departments.insert(SALES)
    await employees.insert({**SALES, "Email": "a" * 260})
    await archive.archive(SALES)
    assert (await work(archive)).poisoned == 1
    assert await departments.get(**SALES) is not None
    assert await archive.get(**SALES) is None
