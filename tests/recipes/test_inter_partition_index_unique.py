"""Unique indexes in other partitions: a second entity with the same key is rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.email_copies import BY_ID, COPY, ID, intents, sets_of, unique
from support.employees import jones, rows_of
from tablepatterns import EntitySet
from tablepatterns.errors import BadProperty, DuplicateIndexValue, EntityAlreadyExists
from tablepatterns.recipes.entity_group_transaction import EntityGroupTransaction


@pytest.fixture
def staff_of(backend: Any, storage: Any, table_name: str) -> Iterator[Callable[..., Any]]:
    with sets_of(backend, storage, table_name) as make:
        yield make


# ------------------------------------------------------------------ one key for two


async def test_the_copy_of_another_living_entity_is_left_alone(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of()
    await staff.insert(jones())
    other = await staff.insert(jones(EmployeeId=224, Age=50))
    assert (await rows_of(storage, table_name))[COPY]["EmployeeId"] == 223
    await staff.delete(other)
    assert (await rows_of(storage, table_name))[COPY]["EmployeeId"] == 223


async def test_a_copy_that_its_owner_left_is_taken_over(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of()
    await staff.insert(jones())
    await EntitySet(storage, table_name, BY_ID).delete(ID, force=True)
    await staff.insert(jones(EmployeeId=224))
    assert (await rows_of(storage, table_name))[COPY]["EmployeeId"] == 224


async def test_a_duplicate_of_a_unique_key_is_rejected_and_writes_nothing(
    staff_of: Any, storage: Any, table_name: str
) -> None:
    staff = staff_of(unique)
    await staff.insert(jones())
    other = await staff.insert(jones(EmployeeId=224, Email="other@contoso.com"))
    before = await rows_of(storage, table_name)
    for write in (
        staff.insert(jones(EmployeeId=225)),
        staff.merge(other, {"Email": COPY[1]}),
        staff.insert_or_replace(jones(EmployeeId=225)),
    ):
        with pytest.raises(DuplicateIndexValue, match="is already used by another entity in partition"):
            await write
        assert await rows_of(storage, table_name) == before
    assert await intents(storage, table_name) == 0


async def test_a_unique_key_is_free_again_once_its_owner_gave_it_up(staff_of: Any, storage: Any) -> None:
    staff = staff_of(unique)
    first = await staff.insert(jones())
    await staff.merge(first, {"Email": "new@contoso.com"})
    await staff.insert(jones(EmployeeId=224))
    assert (await staff.find(unique, Department="Sales", Email=COPY[1]))["EmployeeId"] == 224
    await staff.delete(first)
    await staff.insert(jones(EmployeeId=225, Email="new@contoso.com"))


async def test_a_rejected_insert_releases_its_reserved_key(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of(unique)
    await staff.insert(jones())
    before = await rows_of(storage, table_name)
    with pytest.raises(EntityAlreadyExists):
        await staff.insert(jones(Email="new@contoso.com"))
    assert await rows_of(storage, table_name) == before


async def test_two_of_one_transaction_cannot_have_one_unique_key(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of(unique)
    await staff.create_table()
    both = (staff.inserting(jones(EmployeeId=number)) for number in (1, 2))
    with pytest.raises(DuplicateIndexValue):
        await EntityGroupTransaction(storage, table_name).commit(*both)
    assert await rows_of(storage, table_name) == {}
    assert await intents(storage, table_name) == 0


async def test_a_reserved_property_name_is_rejected(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of(unique)
    with pytest.raises(BadProperty, match="rename the property"):
        await staff.insert(jones(IntentId="x"))
    assert await rows_of(storage, table_name) == {}
