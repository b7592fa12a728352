"""EntitySet: costs of reads, writes that never lose concurrent changes, errors that change nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError

from support.employees import BY_ID, by_email, employees_of, jones, numbered, rows_of
from tablepatterns import Entity, EntitySet
from tablepatterns.errors import BadInput, BadKey, EntityAlreadyExists, EntityChanged, EntityNotFound
from tablepatterns_engine.account import Engine

ID = {"Department": "Sales", "EmployeeId": 223}


@pytest.fixture(params=["plain", "indexed"])
def employees(request: pytest.FixtureRequest, storage: Any, table_name: str) -> Any:
    """A set without derived data and one with: what it promises is the same."""
    return EntitySet(storage, table_name, BY_ID, derived=[by_email] if request.param == "indexed" else [])


@pytest.fixture
def unchanged(storage: Any, table_name: str) -> Any:
    """A block in which the table must not change."""

    @asynccontextmanager
    async def block() -> AsyncIterator[None]:
        before = await rows_of(storage, table_name)
        yield
        assert await rows_of(storage, table_name) == before

    return block


# ------------------------------------------------------------------ writing


@pytest.mark.guide("G-040", "G-308")
async def test_an_insert_of_existing_keys_is_rejected(employees: Any, unchanged: Any) -> None:
    await employees.insert(jones())
    async with unchanged():
        with pytest.raises(EntityAlreadyExists, match="empid_000223") as refusal:
            await employees.insert(jones(Age=35, Email="other@contoso.com"))
    assert isinstance(refusal.value, ResourceExistsError)
    assert refusal.value.status_code == 409


@pytest.mark.guide("G-041")
async def test_the_same_row_key_in_two_partitions_is_two_entities(employees: Any) -> None:
    await employees.insert(jones(Age=1))
    await employees.insert(jones(Age=2, Department="Marketing"))
    assert (await employees.get(**ID))["Age"] == 1
    assert (await employees.get(Department="Marketing", EmployeeId=223))["Age"] == 2


@pytest.mark.guide("G-309", "G-308", "G-319")
async def test_replace_removes_what_it_is_not_given(employees: Any) -> None:
    entity = await employees.insert(jones())
    del entity["Age"]
    entity["Title"] = "Head"
    before = entity.etag
    assert await employees.replace(entity) is entity
    expected = jones(Title="Head")
    del expected["Age"]
    found = await employees.get(**ID)
    assert found == expected == entity
    assert before != entity.etag == found.etag


@pytest.mark.guide("G-310", "G-308", "G-319")
async def test_merge_keeps_what_it_is_not_given(employees: Any) -> None:
    entity = await employees.insert(jones())
    before = entity.etag
    assert await employees.merge(entity, {"Age": 35, "Title": "Head"}) is entity
    found = await employees.get(**ID)
    assert found == jones(Age=35, Title="Head") == entity
    assert before != entity.etag == found.etag


@pytest.mark.guide("G-311", "G-312")
async def test_replace_merge_and_delete_of_a_missing_entity_fail(employees: Any, unchanged: Any) -> None:
    entity = await employees.insert(jones())
    await employees.delete(await employees.get(**ID))
    async with unchanged():
        for write in (
            employees.replace(entity),
            employees.merge(entity, {"Age": 1}),
            employees.delete(entity),
            employees.replace(jones(), force=True),
            employees.merge(ID, {"Age": 1}, force=True),
            employees.delete(ID, force=True),
            employees.update(lambda each: each.update(Age=1), **ID),
        ):
            with pytest.raises(EntityNotFound) as refusal:
                await write
            assert isinstance(refusal.value, ResourceNotFoundError)


@pytest.mark.guide("G-313", "G-353")
async def test_insert_or_replace_creates_or_replaces(employees: Any) -> None:
    created = await employees.insert_or_replace(jones())
    assert created.etag == (await employees.get(**ID)).etag
    assert await employees.get(**ID) == jones()
    slim = {name: jones()[name] for name in ("Department", "EmployeeId", "Email")}
    written = await employees.insert_or_replace(slim)
    assert await employees.get(**ID) == slim
    await employees.merge(written, {"Age": 1})


@pytest.mark.guide("G-314")
async def test_insert_or_merge_creates_or_merges(employees: Any) -> None:
    await employees.insert_or_merge(jones())
    await employees.insert_or_merge(ID | {"Age": 35})
    assert await employees.get(**ID) == jones(Age=35)


@pytest.mark.guide("G-316", "G-317")
async def test_a_stale_entity_is_rejected_and_nothing_changes(employees: Any, unchanged: Any) -> None:
    await employees.insert(jones())
    stale = [await employees.get(**ID) for _ in range(3)]
    await employees.merge(await employees.get(**ID), {"Age": 99})
    async with unchanged():
        writes = employees.replace(stale[0]), employees.merge(stale[1], {"Age": 1}), employees.delete(stale[2])
        for write in writes:
            with pytest.raises(EntityChanged, match="read it again") as refusal:
                await write
            assert isinstance(refusal.value, ResourceModifiedError)
            assert refusal.value.status_code == 412


async def test_a_changed_copy_of_what_was_read_is_written_back_in_its_place(employees: Any) -> None:
    read = await employees.insert(jones(Age=34))
    older = await employees.replace(read | {"Age": 35})
    assert (older["Age"], read["Age"]) == (35, 34)
    with pytest.raises(EntityChanged):
        await employees.replace(read | {"Age": 36})


@pytest.mark.guide("G-318")
async def test_the_check_is_skipped_only_with_force(employees: Any) -> None:
    stale = await employees.insert(jones())
    await employees.merge(await employees.get(**ID), {"Age": 99})
    await employees.merge(stale, {"LastName": "Smith"}, force=True)
    assert await employees.get(**ID) == jones(Age=99, LastName="Smith")
    await employees.replace(jones(Age=1), force=True)
    assert await employees.get(**ID) == jones(Age=1)
    await employees.delete(ID, force=True)
    assert await employees.get(**ID) is None


async def test_a_mapping_that_was_never_read_is_rejected(employees: Any, unchanged: Any) -> None:
    await employees.insert(jones())
    async with unchanged():
        for write in (employees.replace(jones()), employees.merge(jones(), {"Age": 1}), employees.delete(jones())):
            with pytest.raises(BadInput, match="force=True"):
                await write


async def test_a_field_of_the_key_cannot_be_changed(employees: Any, unchanged: Any) -> None:
    entity = await employees.insert(jones())
    async with unchanged():
        with pytest.raises(BadKey, match="use rename"):
            await employees.merge(entity, {"EmployeeId": 7})
        entity["EmployeeId"] = 7
        with pytest.raises(BadKey, match="use rename"):
            await employees.replace(entity)


@pytest.mark.guide("G-315")
def test_there_is_no_update_that_hides_whether_it_merges_or_replaces() -> None:
    words = {"replace", "merge", "insert_or_replace", "insert_or_merge"}
    assert words <= set(dir(EntitySet))
    assert not {"upsert", "save", "put"} & set(dir(EntitySet))


@pytest.mark.guide("G-029", "G-030")
@pytest.mark.parametrize("key", [{"Department": None}, {"EmployeeId": None}, {"EmployeeId": "223"}, {"Department": 7}])
async def test_a_write_without_a_proper_key_makes_no_request(
    storage: Any, engine: Engine, table_name: str, key: dict[str, Any]
) -> None:
    employees = employees_of(storage, table_name)
    with engine.ledger.span() as span:
        for write in (employees.insert(jones(**key)), employees.insert_or_merge(jones(**key))):
            with pytest.raises(BadKey):
                await write
        with pytest.raises(BadKey):
            await employees.get(**{**ID, **key})
    assert span.records == []


@pytest.mark.guide("G-096")
async def test_writes_by_key_never_query(storage: Any, engine: Engine, table_name: str) -> None:
    employees = EntitySet(storage, table_name, BY_ID)
    await employees.insert(jones())
    with engine.ledger.span() as span:
        await employees.merge(ID, {"Age": 1}, force=True)
        await employees.insert_or_replace(jones())
        await employees.delete(ID, force=True)
    assert [record.query_class for record in span.records] == [None] * 3


@pytest.mark.guide("G-012", "G-076")
async def test_dropping_the_table_is_one_request_whatever_it_holds(
    storage: Any, engine: Engine, table_name: str
) -> None:
    numbers = await numbered(storage, table_name, 250)
    with engine.ledger.span() as span:
        await numbers.drop_table()
    assert (span.totals.requests, span.totals.billable) == (1, 1)
    assert await numbers.take(1, Group="all") == []
    await numbers.drop_table()


async def test_a_response_hook_of_the_users_sees_writes_too(backend: Any, table_name: str) -> None:
    seen: list[str] = []
    storage = backend.connect(raw_response_hook=lambda response: seen.append(response.http_request.method))
    employees = EntitySet(storage, table_name, BY_ID)
    await employees.create_table()
    await employees.insert(jones())
    await employees.get(**ID)
    assert seen == ["POST", "POST", "GET"]


async def test_a_table_is_made_once(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    assert await employees.create_table()
    assert not await employees.create_table()


# ------------------------------------------------------------------ read-modify-write


@pytest.mark.guide("G-337")
async def test_counting_in_an_entity_that_has_no_count_writes_nothing(employees: Any, unchanged: Any) -> None:
    await employees.insert(jones())

    def hire(department: Entity) -> None:
        department["Age"] = 99
        department["EmployeeCount"] += 1

    async with unchanged():
        with pytest.raises(KeyError, match="EmployeeCount"):
            await employees.update(hire, **ID)


async def test_a_conflict_that_the_change_itself_raises_is_not_taken_for_another_writers(employees: Any) -> None:
    calls = []

    def refuse(employee: Entity) -> None:
        calls.append(employee)
        raise EntityNotFound("the employee's manager is not there")

    await employees.insert(jones())
    with pytest.raises(EntityNotFound, match="manager"):
        await employees.update(refuse, **ID)
    assert len(calls) == 1
