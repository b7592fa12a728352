"""Model fields under other names, encrypted and in blobs: code uses the field names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import pytest

from tablepatterns import (
    ChildSet,
    CopiedFields,
    Encrypted,
    EncryptedProperties,
    EntityGroupTransaction,
    EntitySet,
    InBlobs,
    IndexEntity,
    InTable,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    KeyRotation,
    Large,
    LargeProperties,
    LocalKey,
    QueryClass,
    Stored,
    Summary,
    connect,
    prefix,
    prop,
)
from tablepatterns.errors import BadDesign, UnrecognizedEntity
from tablepatterns.jobs import backfill, repair, verify

KEY = Key("{department}", "empid_{employee_id:06d}")
JONES = {"department": "Sales", "employee_id": 223}
SECRET = LocalKey.generate("payroll")


@dataclass
class Employee:
    department: Annotated[str, Stored("Department")]
    employee_id: int
    email: Annotated[str, Stored("Email")]
    hired: Annotated[date, Stored("Hired")]
    salary: Annotated[Decimal, Stored("Salary"), Encrypted()] = Decimal(0)
    photo: Annotated[bytes, Large()] = b""


@dataclass
class Department:
    department: str
    email: str = ""


BY_EMAIL = IntraPartitionIndex(Key("{department}", "email_{email}"))
BY_EMAIL_EVENTUAL = InterPartitionIndex(Key("mail", "mail_{email}"), table="ByMail")
LISTED = IndexEntity("hired")
TOTALS = Summary(Key("{department}", "SUMMARY"), count="email")


@pytest.fixture
def employees(storage: Any, table_name: str) -> Any:
    return EntitySet(
        storage,
        table_name,
        KEY,
        model=Employee,
        derived=[BY_EMAIL, BY_EMAIL_EVENTUAL, LISTED, TOTALS],
        mappings=[EncryptedProperties(keys=SECRET)],
    )


def jones(**fields: Any) -> Employee:
    return Employee(**(JONES | {"email": "jo@contoso.com", "hired": date(2024, 1, 2)} | fields))


async def test_code_uses_the_names_of_fields(employees: Any, service: Any, table_name: str) -> None:
    inserted = jones(salary=Decimal("10.5"), photo=bytes(200_000))
    await employees.insert(inserted)
    found = await employees.get(JONES)
    assert found == inserted
    row = await service.get_table_client(table_name).get_entity("Sales", "empid_000223")
    assert {"Email", "Hired", "Salary", "photo"} <= row.keys()
    assert not {"email", "hired", "salary", "department", "Department"}.intersection(row)
    assert (row["Hired"], row["photo"][:4]) == ("2024-01-02", "http")
    assert await employees.find(BY_EMAIL_EVENTUAL, email="jo@contoso.com") == inserted
    assert await employees.find_all(LISTED, department="Sales", hired=date(2024, 1, 2)) == [inserted]
    assert await employees.take(1, BY_EMAIL, department="Sales", email=prefix("j")) == [inserted]
    where = (prop("hired") >= date(2024, 1, 1)) & ~(prop("email") == "x")
    asked = employees.range(department="Sales", where=where, allow=QueryClass.PARTITION_SCAN)
    assert [each async for each in asked] == [inserted]
    found.email = "x@contoso.com"
    await employees.replace(found)
    assert await employees.update(found, hired=date(2025, 1, 1)) == await employees.find(
        BY_EMAIL_EVENTUAL, email="x@contoso.com"
    )
    for derived in (BY_EMAIL, BY_EMAIL_EVENTUAL, LISTED):
        assert (await verify(employees, derived)).drifts == ()
    assert (await employees.totals(TOTALS, department="Sales")) == {"email": 1}
    await KeyRotation(employees).rotate()
    await employees.delete(await employees.get(JONES))
    assert [
        row async for row in service.get_table_client(table_name).list_entities() if row["RowKey"] != "SUMMARY"
    ] == []


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda _: InterPartitionIndex(Key("mail", "mail_{email}"), unique=True), id="unique"),
        pytest.param(
            lambda name: InterPartitionIndex(Key("mail", "mail_{email}"), table=name, include=["hired"]),
            id="in a table",
        ),
        pytest.param(lambda name: IndexEntity("email", store=InTable(name)), id="index entities"),
        pytest.param(lambda name: IndexEntity("email", store=InBlobs(name)), id="index blobs"),
        pytest.param(
            lambda name: Summary(Key("s_{department}", "s_{hired}"), count="number", store=InTable(name)), id="summary"
        ),
    ],
)
async def test_each_kind_of_derived_data_is_verified_backfilled_and_repaired(
    storage: Any, new_name: Callable[..., str], make: Callable[[str], Any]
) -> None:
    table_name, derived = new_name(), make(new_name())

    def employees(*declared: Any) -> Any:
        mappings = [EncryptedProperties(keys=SECRET)]
        return EntitySet(storage, table_name, KEY, model=Employee, derived=declared, mappings=mappings)

    await employees().insert(jones(employee_id=1, email="1"))
    people = employees(derived)
    await backfill(people, derived)
    second = await people.insert(jones(employee_id=2, email="2"))
    second.email = "3"
    await people.replace(second)
    await people.insert(jones(employee_id=3, email="4"))
    await people.delete(await people.get(department="Sales", employee_id=3))
    assert (await verify(people, derived)).is_clean
    await employees().update(jones(employee_id=1), email="5", hired=date(2020, 1, 1))
    assert not (await verify(people, derived)).is_clean
    await repair(people, derived)
    assert (await verify(people, derived)).is_clean


async def test_properties_with_the_names_of_renamed_fields_survive(storage: Any, service: Any, table_name: str) -> None:
    employees = EntitySet(storage, table_name, KEY, model=Employee, mappings=[EncryptedProperties(keys=SECRET)])
    await employees.insert(jones())
    client = service.get_table_client(table_name)
    await client.update_entity({"PartitionKey": "Sales", "RowKey": "empid_000223", "email": "of another program"})
    await employees.update(jones(), email="new")
    row = await client.get_entity("Sales", "empid_000223")
    assert (row["email"], row["Email"]) == ("of another program", "new")


async def test_models_with_other_names_share_a_transaction(storage: Any, service: Any, table_name: str) -> None:
    employees = EntitySet(
        storage, table_name, KEY, model=Employee, derived=[BY_EMAIL], mappings=[EncryptedProperties(keys=SECRET)]
    )
    departments = EntitySet(storage, table_name, Key("{department}", "DEPARTMENT"), model=Department)
    transaction = EntityGroupTransaction(storage, table_name)
    await transaction.commit(employees.inserting(jones()), departments.inserting(Department("Sales", "sales")))
    rows = {row["RowKey"]: row async for row in service.get_table_client(table_name).list_entities()}
    assert rows["DEPARTMENT"]["email"] == "sales"
    assert rows["empid_000223"]["Email"] == "jo@contoso.com"
    assert rows["email_jo@contoso.com"]["Hired"] == "2024-01-02"
    assert await employees.find(BY_EMAIL, department="Sales", email="jo@contoso.com") == jones()


async def test_errors_do_not_show_encrypted_values(employees: Any, storage: Any, table_name: str) -> None:
    wrong: Any = "plaintext"
    with pytest.raises(Exception, match="salary") as caught:
        await employees.insert(jones(salary=wrong))
    assert "plaintext" not in str(caught.value)
    await employees.insert(jones())
    await employees.without_model().update(lambda each: {**each, "salary": "plaintext"}, JONES)
    with pytest.raises(UnrecognizedEntity, match="salary") as unread:
        await employees.get(JONES)
    assert "plaintext" not in str(unread.value)


@dataclass
class Twice:
    department: str
    employee_id: int
    a: Annotated[str, Stored("c")]
    b: Annotated[str, Stored("c")]


@dataclass
class Hidden:
    department: str
    employee_id: int
    a: Annotated[str, Stored("b")]
    b: str


@dataclass
class OfService:
    department: str
    employee_id: int
    a: Annotated[str, Stored("Timestamp")]


@pytest.mark.parametrize("model", [Twice, Hidden, OfService])
def test_names_that_clash_are_rejected(model: Any) -> None:
    with pytest.raises(BadDesign, match="store it under another name"):
        EntitySet(connect(), "Staff", KEY, model=model)


@dataclass
class Manager:
    department: str
    employee_id: int
    email: Annotated[str, Stored("Email")] = ""


@dataclass
class Led:
    department: str
    manager_id: int | None = None
    manager_email: Annotated[str | None, Stored("ManagerEmail")] = None


@dataclass
class Renaming:
    department: str
    manager_id: int | None = None
    manager_email: str | None = None
    other: Annotated[str | None, Stored("email")] = None


COPIES = CopiedFields(
    Key("{department}", "DEPARTMENT"), refers={"employee_id": "manager_id"}, copies={"email": "manager_email"}
)


def test_fields_that_another_set_reads_keep_their_names() -> None:
    storage = connect()
    with pytest.raises(BadDesign, match=r"'email'.*another set"):
        EntitySet(storage, "Staff", KEY, model=Manager, derived=[COPIES])
    people = EntitySet(storage, "Staff", KEY, derived=[COPIES])
    for model in (Led, Renaming):
        with pytest.raises(BadDesign, match=r"email'.*another set"):
            EntitySet(storage, "Staff", COPIES.key, model=model, derived=[COPIES.filled_from(people)])


@dataclass
class Note:
    department: str
    employee_id: int
    year: int
    text: Annotated[str, Stored("Email")] = ""


async def test_a_family_has_its_parent_with_its_own_names(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, KEY)
    notes = ChildSet(storage, table_name, KEY, "_{year:04d}", model=Note)
    await staff.insert({**JONES, "Email": "jonesj@contoso.com", "text": "a"})
    await notes.insert(Note(**JONES, year=2026, text="b"))
    parent, children = await notes.family(JONES)
    assert dict(parent) == {**JONES, "Email": "jonesj@contoso.com", "text": "a"}
    assert children == [Note(**JONES, year=2026, text="b")]


@dataclass
class InPart:
    department: str
    employee_id: int
    ssn: Annotated[str, Encrypted()] | None = None


@dataclass
class InList:
    department: str
    employee_id: int
    ssns: list[Annotated[str, Encrypted()]]


@dataclass
class Inner:
    ssn: Annotated[str, Encrypted()]


@dataclass
class InNested:
    department: str
    employee_id: int
    inner: Inner


def test_no_annotation_is_without_effect() -> None:
    storage, mapping = connect(), EncryptedProperties(["ssn"], keys=SECRET)
    for model in (InPart, InList, InNested):
        with pytest.raises(BadDesign, match="no effect"):
            EntitySet(storage, "Staff", KEY, model=model, mappings=[mapping])


def test_an_encrypted_field_needs_a_key_and_a_mapping_needs_names() -> None:
    with pytest.raises(BadDesign, match="keys="):
        EntitySet(connect(), "Staff", KEY, model=Employee)
    for mapping in (EncryptedProperties(keys=SECRET), LargeProperties(container="photos")):
        with pytest.raises(BadDesign, match="no model"):
            EntitySet(connect(), "Staff", KEY, mappings=[mapping])
