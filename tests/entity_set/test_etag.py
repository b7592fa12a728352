"""`etag=`: writes on the condition of an ETag that the caller knows, from a request's If-Match, without the entity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.employees import BY_ID, by_email, jones, rows_of
from tablepatterns import EncryptedProperties, EntitySet, Key, LocalKey, Summary, connect
from tablepatterns.errors import BadInput, BadKey, DuplicateIndexValue, EntityChanged, EntityNotFound
from tablepatterns_engine.account import Engine

ID = {"Department": "Sales", "EmployeeId": 223}


SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    lambda etag: etag.removeprefix("W/"),
    lambda etag: etag[2:].strip('"'),
    lambda etag: "W/" + etag[2:].strip('"'),
    lambda etag: "w/" + etag[2:],
    lambda etag: f" {etag} ",
)


@pytest.fixture(params=["plain", "indexed"])
def employees(request: pytest.FixtureRequest, storage: Any, table_name: str) -> Any:
    totals = Summary(Key("{Department}", "department"), sums={"Age": "Ages"})
    return EntitySet(storage, table_name, BY_ID, derived=[by_email, totals] if request.param == "indexed" else [])


@pytest.mark.guide("G-319")
@pytest.mark.parametrize("spelled", SPELLINGS)
async def test_a_write_on_the_current_etag_is_made(employees: Any, spelled: Callable[[str], str]) -> None:
    entity = await employees.insert(jones())
    replaced = await employees.replace(jones(Age=35), etag=spelled(entity.etag))
    found = await employees.get(**ID)
    assert found == replaced == jones(Age=35)
    assert found.etag == replaced.etag
    merged = await employees.merge(ID, {"Age": 36}, etag=spelled(replaced.etag))
    found = await employees.get(**ID)
    assert found == jones(Age=36)
    assert found.etag == merged.etag
    await employees.delete(ID, etag=spelled(merged.etag))
    assert await employees.get(**ID) is None


@pytest.mark.parametrize("spelled", SPELLINGS)
async def test_the_etag_of_an_entity_may_be_spelled_otherwise_too(employees: Any, spelled: Any) -> None:
    entity = await employees.insert(jones())
    entity.etag = spelled(entity.etag)
    entity = await employees.replace(entity | {"Age": 35})
    entity.etag = spelled(entity.etag)
    entity = await employees.merge(entity, {"Age": 36})
    entity.etag = spelled(entity.etag)
    await employees.delete(entity)
    assert await employees.get(**ID) is None


@pytest.mark.guide("G-319")
async def test_an_older_etag_of_an_entity_is_stale_however_it_is_spelled(employees: Any) -> None:
    for spelled in SPELLINGS:
        entity = await employees.insert_or_replace(jones())
        await employees.insert_or_replace(jones(Age=50))
        entity.etag = spelled(entity.etag)
        for write in (employees.replace(entity), employees.merge(entity, {"Age": 1}), employees.delete(entity)):
            with pytest.raises(EntityChanged):
                await write
    assert (await employees.get(**ID))["Age"] == 50


@pytest.mark.guide("G-319")
async def test_a_write_on_an_older_etag_is_rejected_and_changes_nothing(
    employees: Any, storage: Any, table_name: str
) -> None:
    etag = (await employees.insert(jones())).etag
    current = await employees.merge(await employees.get(**ID), {"Age": 50})
    before = await rows_of(storage, table_name)
    for write in (
        employees.replace(jones(), etag=etag),
        employees.merge(ID, {"Age": 1}, etag=etag),
        employees.delete(ID, etag=etag),
    ):
        with pytest.raises(EntityChanged):
            await write
    assert await rows_of(storage, table_name) == before
    await employees.delete(current)
    for write in (
        employees.replace(jones(), etag=current.etag),
        employees.merge(ID, {"Age": 1}, etag=current.etag),
        employees.delete(ID, etag=current.etag),
    ):
        with pytest.raises(EntityNotFound):
            await write


async def test_derived_data_follows_a_write_on_an_etag(storage: Any, table_name: str) -> None:
    totals = Summary(Key("{Department}", "department"), sums={"Age": "Ages"})
    staff = EntitySet(storage, table_name, BY_ID, derived=[by_email, totals])
    await staff.insert(jones(EmployeeId=1, Email="taken@contoso.com", Age=1))
    entity = await staff.insert(jones())
    entity = await staff.replace(jones(Email="jo@contoso.com", Age=40), etag=entity.etag)
    found = await staff.find(by_email, Department="Sales", Email="jo@contoso.com")
    assert found == jones(Email="jo@contoso.com", Age=40)
    assert await staff.totals(totals, Department="Sales") == {"Count": 2, "Ages": 41}
    with pytest.raises(DuplicateIndexValue):
        await staff.merge(ID, {"Email": "taken@contoso.com"}, etag=entity.etag)
    await staff.delete(ID, etag=entity.etag)
    assert await staff.totals(totals, Department="Sales") == {"Count": 1, "Ages": 1}


@pytest.mark.parametrize(("derived", "requests"), [([], 1), ([by_email], 2)], ids=["plain", "indexed"])
def test_it_costs_no_read_unless_data_is_derived(engine: Engine, derived: list[Any], requests: int) -> None:
    staff = EntitySet(connect(engine), "Staff", BY_ID, derived=derived)
    entity: Any = staff.insert(jones())
    for write in (
        lambda etag: staff.replace(jones(Age=35), etag=etag),
        lambda etag: staff.merge(ID, {"Age": 36}, etag=etag),
        lambda etag: staff.delete(ID, etag=etag),
    ):
        with engine.ledger.span() as span:
            entity = write(entity.etag)
        assert span.totals.requests == requests


@pytest.mark.parametrize("derived", [[], [by_email]], ids=["plain", "indexed"])
@pytest.mark.parametrize("etag", ["", "*", " ", '"a", "b"', 'W/"a", W/"b"', 7, b"a"])
def test_what_is_no_single_etag_is_rejected_before_any_request(engine: Engine, derived: list[Any], etag: Any) -> None:
    staff = EntitySet(connect(engine), "Staff", BY_ID, derived=derived)
    for write in (
        lambda **options: staff.replace(jones(), **options),
        lambda **options: staff.merge(ID, {"Age": 36}, **options),
        lambda **options: staff.delete(ID, **options),
    ):
        with pytest.raises(BadInput, match="etag"):
            write(etag=etag)
        with pytest.raises(BadInput, match="not both"):
            write(etag='W/"a"', force=True)
    assert engine.ledger.totals.requests == 0


@pytest.mark.parametrize("condition", [{"etag": 'W/"a"'}, {"force": True}], ids=str)
def test_a_merge_without_a_read_changes_no_key_and_leaves_no_field_under_an_old_data_key(
    engine: Engine, condition: dict[str, Any]
) -> None:
    storage = connect(engine)
    with pytest.raises(BadKey, match="EmployeeId"):
        EntitySet(storage, "Staff", BY_ID).merge(ID, {"EmployeeId": 1}, **condition)
    encrypted = EntitySet(
        storage, "Staff", BY_ID, mappings=[EncryptedProperties(["Salary"], keys=LocalKey.generate("1"))]
    )
    with pytest.raises(BadInput):
        encrypted.merge(ID, {"Salary": 1}, **condition)
    assert engine.ledger.totals.requests == 0
