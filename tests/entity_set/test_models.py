"""Sets with a model take and return instances, and reject values that do not fit before any request."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

import attrs
import pydantic
import pytest

from tablepatterns import (
    ChildSet,
    Entity,
    EntityGroupTransaction,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LogTail,
    Page,
    QueryClass,
    Summary,
    between,
    connect,
    prefix,
    prop,
)
from tablepatterns.entity_set.model_adapter import INSTANCES
from tablepatterns.errors import (
    BadDesign,
    BadFilter,
    BadInput,
    BadKey,
    BadProperty,
    BadToken,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    UnrecognizedEntity,
)
from tablepatterns.jobs import migrate, verify

KEY = Key("{department}", "empid_{employee_id:06d}")
JONES = {"department": "Sales", "employee_id": 223}


class Grade(Enum):
    JUNIOR = "junior"
    SENIOR = "senior"


@dataclass
class Address:
    street: str
    since: date | None = None


@dataclass
class Employee:
    department: str
    employee_id: int
    email: str
    hired: date = date(2024, 1, 1)
    salary: Decimal = Decimal(0)
    grade: Grade = Grade.JUNIOR
    address: Address | None = None
    skills: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    department: str
    employee_id: int
    email: str = ""


@dataclass(frozen=True, slots=True)
class Slotted:
    department: str
    employee_id: int
    email: str = ""


class OfPydantic(pydantic.BaseModel):
    department: str
    employee_id: int
    email: str = pydantic.Field("", alias="mail")


@attrs.define
class OfAttrs:
    department: str
    employee_id: int
    email: str = ""


BY_EMAIL = IntraPartitionIndex(Key("{department}", "email_{email}"))
BY_EMAIL_EVENTUAL = InterPartitionIndex(Key("mail", "mail_{email}"))
SKILLED = IndexEntity("grade")
PER_DEPARTMENT = Summary(Key("{department}", "SUMMARY"), count="employees")


@pytest.fixture
def employees(storage: Any, table_name: str) -> Any:
    return EntitySet(
        storage, table_name, KEY, model=Employee, derived=[BY_EMAIL, BY_EMAIL_EVENTUAL, SKILLED, PER_DEPARTMENT]
    )


def jones(**fields: Any) -> Employee:
    return Employee(**({**JONES, "email": "jonesj@contoso.com"} | fields))


async def rejected(engine: Any, error: type[Exception], call: Callable[[], Any], match: str) -> None:
    """Check that a call is rejected without a request."""

    async def run() -> None:
        result = call()
        if isinstance(result, Awaitable):
            await result
        else:
            [_ async for _ in result]

    with engine.ledger.span() as span, pytest.raises(error, match=match):
        await run()
    assert span.totals.requests == 0


async def test_instances_go_in_and_come_out(employees: Any) -> None:
    inserted = jones(address=Address("Main St", date(2020, 2, 29)), skills=["typing"], salary=Decimal("1.50"))
    assert await employees.insert(inserted) is inserted
    assert await employees.get(JONES) == inserted
    assert await employees.find(BY_EMAIL, department="Sales", email="jonesj@contoso.com") == inserted
    assert await employees.find(BY_EMAIL_EVENTUAL, email="jonesj@contoso.com") == inserted
    assert await employees.find_all(SKILLED, department="Sales", grade=Grade.JUNIOR) == [inserted]
    keys = await employees.keys_of(SKILLED, department="Sales", grade=Grade.JUNIOR)
    assert await employees.get_many([*keys, JONES | {"employee_id": 9}]) == [inserted, None]
    assert [each async for each in employees.range(department="Sales")] == [inserted]
    assert await employees.page(department="Sales", employee_id=between(1, 300)) == Page((inserted,), None)
    assert await employees.take(1, BY_EMAIL, department="Sales", email=prefix("j")) == [inserted]
    assert [each async for each in employees.scan()] == [inserted]
    assert (await employees.totals(PER_DEPARTMENT, department="Sales"))["employees"] == 1
    with pytest.raises(EntityAlreadyExists):
        await employees.insert(jones())


async def test_writes_are_conditional_on_what_was_read(employees: Any) -> None:
    await employees.insert(jones())
    first, second = await employees.get(JONES), await employees.get(JONES)
    first.email = "jo@contoso.com"
    assert await employees.replace(first) is first
    assert await employees.find(BY_EMAIL, department="Sales", email="jo@contoso.com") == first
    first.grade = Grade.SENIOR
    await employees.replace(first)
    for write in (employees.replace, employees.delete, partial(employees.merge, changes={"email": "x"})):
        with pytest.raises(EntityChanged):
            await write(second)
    merged = await employees.merge(first, {"hired": date(2024, 2, 1)})
    assert merged == replace(first, hired=date(2024, 2, 1)) == await employees.get(JONES)
    await employees.delete(merged)
    assert await employees.get(JONES) is None
    with pytest.raises(EntityNotFound):
        await employees.replace(merged)


async def test_update_takes_an_instance_or_a_function(employees: Any) -> None:
    read = await employees.insert(jones())
    changed = await employees.update(read, email="jo@contoso.com", grade=Grade.SENIOR)
    assert changed == jones(email="jo@contoso.com", grade=Grade.SENIOR) == await employees.get(JONES)
    with pytest.raises(EntityChanged):
        await employees.replace(read)

    def raised(employee: Employee) -> None:
        employee.salary += 1

    assert (await employees.update(raised, JONES)).salary == 1
    assert (await employees.update(lambda each: replace(each, salary=Decimal(7)), **JONES)).salary == 7
    # One that was never read is found by its key
    assert (await employees.update(jones(), skills=["typing"])).salary == 7
    await employees.replace(await employees.update(jones(), address=None))
    for wrong in (lambda each: each.salary, lambda each: {"email": "a"}):
        with pytest.raises(BadInput, match="in place and return None"):
            await employees.update(wrong, JONES)


async def test_writes_by_etag_and_by_force(employees: Any) -> None:
    await employees.insert(jones())
    etag = (await employees.without_model().get(JONES)).etag
    written = await employees.replace(jones(email="a"), etag=etag)
    assert (await employees.get(JONES)).email == "a"
    written.email = "b"
    await employees.replace(written)
    for write in (employees.replace, employees.delete, partial(employees.merge, changes={"email": "x"})):
        with pytest.raises(EntityChanged):
            await write(jones(), etag=etag)
    assert (await employees.merge(jones(), {"email": "c"}, force=True)).email == "c"
    assert (await employees.replace(jones(email="d"), force=True)).email == "d"
    await employees.delete(jones(), force=True)
    with pytest.raises(EntityNotFound):
        await employees.replace(jones(), etag=etag)
    with pytest.raises(EntityNotFound):
        await employees.replace(jones(), force=True)


async def test_upserts(employees: Any) -> None:
    assert await employees.insert_or_replace(jones(skills=["a"])) == jones(skills=["a"])
    assert await employees.insert_or_replace(jones(address=Address("x"))) == jones(address=Address("x"))
    merged = await employees.insert_or_merge(jones(email="b"))
    assert merged == jones(email="b", address=Address("x")) == await employees.get(JONES)
    await employees.replace(merged)


async def test_an_instance_that_was_never_read_is_not_written(employees: Any, engine: Any) -> None:
    read = await employees.insert(jones())
    for stranger in (jones(), replace(read, email="x")):
        for write in (employees.replace, employees.delete, partial(employees.merge, changes={"email": "x"})):
            await rejected(engine, BadInput, partial(write, stranger), "was not read from this set.*etag=")
    await rejected(engine, BadInput, lambda: employees.insert({"department": "Sales"}), "model Employee, not dict")
    await rejected(engine, BadInput, lambda: employees.insert(Frozen("Sales", 1)), "model Employee, not Frozen")


@pytest.mark.parametrize("kind", [Frozen, OfAttrs])
async def test_every_kind_of_class_is_a_model(storage: Any, table_name: str, kind: Any) -> None:
    people = EntitySet(storage, table_name, KEY, model=kind, derived=[BY_EMAIL])
    await people.insert(kind("Sales", 223, "a"))
    found = await people.get(JONES)
    assert found == kind("Sales", 223, "a")
    assert await people.replace(found) is found
    assert await people.update(found, email="b") == kind("Sales", 223, "b")
    await people.delete(await people.find(BY_EMAIL, department="Sales", email="b"))


async def test_a_class_of_pydantic_is_a_model(storage: Any, table_name: str) -> None:
    people = EntitySet(storage, table_name, KEY, model=OfPydantic, derived=[BY_EMAIL])
    await people.insert(OfPydantic(department="Sales", employee_id=223, mail="a"))
    found = await people.get(JONES)
    found.email = "b"
    await people.replace(found)
    assert (await people.find(BY_EMAIL, department="Sales", email="b")).employee_id == 223


async def test_a_class_that_cannot_be_remembered_is_written_by_its_etag(storage: Any, table_name: str) -> None:
    people = EntitySet(storage, table_name, KEY, model=Slotted)
    await people.insert(Slotted("Sales", 223))
    with pytest.raises(BadInput, match="weakref_slot=True"):
        await people.replace(Slotted("Sales", 223, "a"))
    assert await people.update(Slotted("Sales", 223), email="a") == Slotted("Sales", 223, "a")
    await people.replace(Slotted("Sales", 223, "b"), etag=(await people.without_model().get(JONES)).etag)
    assert (await people.get(JONES)).email == "b"


def test_instances_are_not_kept_alive() -> None:
    people = EntitySet(connect(), "People", KEY, model=Frozen)
    gc.collect()
    before = len(INSTANCES)
    first, same = people.insert(Frozen("Sales", 1)), people.get(department="Sales", employee_id=1)
    assert first == same
    assert len(INSTANCES) == before + 2
    del first, same
    gc.collect()
    assert len(INSTANCES) == before


async def test_filters_are_checked_against_the_model(employees: Any, engine: Any) -> None:
    for number, grade in enumerate(Grade):
        await employees.insert(
            jones(employee_id=number, email=f"{number}", grade=grade, hired=date(2024, 1, 1 + number))
        )

    def asked(where: Any) -> Any:
        return employees.range(department="Sales", where=where, allow=QueryClass.PARTITION_SCAN)

    for where, expected in (
        (prop("hired") >= date(2024, 1, 2), [1]),
        (prop("grade") == Grade.JUNIOR, [0]),
        (~(prop("grade") == Grade.JUNIOR) | (prop("email") == "0"), [0, 1]),
        (prop("Timestamp") < datetime(2000, 1, 1, tzinfo=timezone.utc), []),
    ):
        assert [each.employee_id async for each in asked(where)] == expected
    for where, rule in (
        (prop("hird") >= date(2024, 1, 2), "did you mean 'hired'"),
        (prop("hired") >= "2024-01-02", "must be date"),
        (prop("email") == 1, "must be str"),
        (prop("grade") == "chief", "must be Grade"),
        (prop("grade") > Grade.JUNIOR, "no order"),
        (prop("salary") > Decimal(1), "compare by value"),
        (prop("skills") == "a", "compare by value"),
    ):
        await rejected(engine, BadFilter, partial(asked, where), rule)
        await rejected(engine, BadFilter, partial(employees.page, department="Sales", where=where), rule)
    plain = employees.without_model()
    where = prop("hired") >= date(2024, 1, 2)
    await rejected(engine, BadFilter, lambda: plain.range(department="Sales", where=where), "query a set with a model")


async def test_wrong_values_are_rejected_before_any_request(employees: Any, engine: Any) -> None:
    read = await employees.insert(jones())
    wrong: Any = "2024"
    for call, error, match in (
        (lambda: employees.insert(jones(hired=wrong)), BadProperty, "Employee.hired"),
        (lambda: employees.insert(jones(employee_id="7")), BadKey, "Employee.employee_id"),
        (lambda: employees.insert(jones(address=Address(wrong, wrong))), BadProperty, "address.since"),
        (lambda: employees.get(department="Sales", employee_id="7"), BadKey, "Employee.employee_id"),
        (lambda: employees.get(department="Sales"), BadKey, "employee_id"),
        (lambda: employees.get(department="Sales", employee_id=7, emial="x"), BadKey, "emial"),
        (lambda: employees.merge(read, {"hired": "2024"}), BadProperty, "Employee.hired"),
        (lambda: employees.merge(read, {"hird": date(2024, 1, 1)}), BadInput, "hird"),
        (lambda: employees.update(read, hird=date(2024, 1, 1)), BadInput, "hird"),
        (lambda: employees.update(read, hired="2024"), BadProperty, "Employee.hired"),
        (lambda: employees.range(department="Sales", select=["email"]), BadInput, "needs all its fields"),
    ):
        await rejected(engine, error, call, match)


async def test_a_stored_value_that_does_not_fit_is_reported(employees: Any, table_name: str) -> None:
    await employees.insert(jones())
    await employees.without_model().update(lambda each: {**each, "hired": 7}, JONES)
    with pytest.raises(UnrecognizedEntity) as caught:
        await employees.get(JONES)
    for part in (table_name, "empid_000223", "hired", "7"):
        assert part in str(caught.value)


async def test_an_index_with_some_of_the_fields_is_rejected(storage: Any, table_name: str, engine: Any) -> None:
    partial_index = IntraPartitionIndex(Key("{department}", "email_{email}"), include=["hired"])
    people = EntitySet(storage, table_name, KEY, model=Employee, derived=[partial_index])
    await people.insert(jones())
    asked = {"department": "Sales", "email": "jonesj@contoso.com"}
    await rejected(engine, BadInput, lambda: people.find(partial_index, asked), "without_model")
    assert (await people.without_model().find(partial_index, asked))["employee_id"] == 223


async def test_rename_and_transactions(employees: Any, storage: Any, table_name: str) -> None:
    read = await employees.insert(jones())
    renamed = await employees.rename(read, employee_id=224)
    assert renamed == jones(employee_id=224) == await employees.get(department="Sales", employee_id=224)
    other = jones(employee_id=300, email="c")
    renamed.email = "b"
    transaction = EntityGroupTransaction(storage, table_name)
    await transaction.commit(employees.replacing(renamed), employees.inserting(other))
    for each in (renamed, other):
        each.email += "2"
        await employees.replace(each)
    await transaction.commit(employees.deleting(renamed), employees.merging(other, {"email": "d"}))
    assert [each.email async for each in employees.range(department="Sales")] == ["d"]


@dataclass
class Claim:
    employee: str
    amount: Decimal
    at: datetime | None = None
    entry: UUID | None = None


@dataclass
class Review:
    department: str
    employee_id: int
    year: int
    rating: int = 0


async def test_log_tails_and_child_sets_have_models(storage: Any, new_name: Any) -> None:
    claims = LogTail(storage, new_name(), "{employee}", at="at", entry="entry", model=Claim)
    last = [await claims.append(Claim("223", Decimal(number))) for number in range(3)][-1]
    assert last.at is not None
    assert await claims.latest(1, employee="223") == [last]
    assert [len(each) for each in await claims.latest_of_each(2, [{"employee": "223"}])] == [2]
    table = new_name()
    staff = EntitySet(storage, table, KEY, model=Employee)
    reviews = ChildSet(storage, table, KEY, "_{year:04d}", model=Review)
    await staff.insert(jones())
    review = await reviews.insert(Review("Sales", 223, 2012, 4))
    assert [each async for each in reviews.children(JONES)] == [review]
    parent, children = await reviews.family(JONES)
    assert isinstance(parent, Entity)
    assert children == [review]


def two_to_three(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"email": fields.pop("Mail")}


async def test_earlier_versions_are_upgraded_when_they_are_read(storage: Any, table_name: str) -> None:
    old = EntitySet(storage, table_name, KEY)
    for number in range(2):
        await old.insert({"department": "Sales", "employee_id": number, "mail": f"{number}", "Badge": 1})
    people = EntitySet(
        storage,
        table_name,
        KEY,
        model=Frozen,
        versions=[(2, two_to_three), (1, lambda fields: {**fields, "Mail": fields.pop("mail")})],
    )
    assert [each.email async for each in people.range(department="Sales")] == ["0", "1"]
    first, second = await people.take(2, department="Sales")
    await people.replace(first)
    assert (await people.merge(second, {"email": "x"})).email == "x"
    found = [dict(each) async for each in old.range(department="Sales")]
    assert [(each["ModelVersion"], each["email"], each["Badge"]) for each in found] == [(3, "0", 1), (3, "x", 1)]
    with pytest.raises(UnrecognizedEntity, match="ModelVersion 3"):
        await EntitySet(storage, table_name, KEY, model=Frozen).get(department="Sales", employee_id=0)


async def test_migrate_rewrites_earlier_versions_and_can_be_resumed(storage: Any, table_name: str) -> None:
    old = EntitySet(storage, table_name, KEY, derived=[BY_EMAIL])
    for number in range(3):
        await old.insert({"department": "Sales", "employee_id": number, "email": f"{number}", "Badge": 1})

    def one_to_two(fields: dict[str, Any]) -> dict[str, Any]:
        return fields | {"email": f"{fields['email']}@contoso.com"}

    versions = [(1, one_to_two)]
    people = EntitySet(storage, table_name, KEY, model=Frozen, derived=[BY_EMAIL], versions=versions)
    await people.replace(await people.get(department="Sales", employee_id=0))
    seen: list[Any] = []
    done = await migrate(people, progress=seen.append, max_per_second=1000)
    assert (done.seen, done.rewritten, done.token, seen) == (3, 2, None, [done])
    assert (await migrate(people)).rewritten == 0
    assert await people.find(BY_EMAIL, department="Sales", email="2@contoso.com") == Frozen("Sales", 2, "2@contoso.com")
    assert (await verify(people, BY_EMAIL)).is_clean
    assert (await old.get(department="Sales", employee_id=1))["Badge"] == 1
    with pytest.raises(BadToken):
        await migrate(people, resume="a token of other work")
    with pytest.raises(BadInput, match="no model"):
        await migrate(old)


async def test_an_upgrade_that_does_not_fit_writes_nothing(storage: Any, table_name: str) -> None:
    old = EntitySet(storage, table_name, KEY)
    await old.insert({"department": "Sales", "employee_id": 1, "email": "a"})
    people = EntitySet(storage, table_name, KEY, model=Frozen, versions=[(1, lambda fields: fields | {"email": 7})])
    with pytest.raises(UnrecognizedEntity, match="email"):
        await migrate(people)
    assert (await old.get(department="Sales", employee_id=1))["email"] == "a"


def test_an_index_formats_a_date_of_the_primary_key_too() -> None:
    key = Key("{department}", "{hired:%Y-%m-%d}_{employee_id:06d}")
    with pytest.raises(BadDesign, match="formats the date hired"):
        EntitySet(connect(), "People", key, model=Employee, derived=[BY_EMAIL])
    by_day = IntraPartitionIndex(Key("{department}", "email_{email}_{hired:%Y-%m-%d}"))
    people = EntitySet(connect(), "People", key, model=Employee, derived=[by_day])
    people.insert(jones())
    assert people.get(JONES | {"hired": date(2024, 1, 1)}) == jones()
    assert people.take(1, by_day, department="Sales") == [jones()]


def test_designs_that_cannot_work_are_rejected() -> None:
    storage = connect()
    for arguments, match in (
        ({"model": Frozen, "derived": [IntraPartitionIndex(Key("{department}", "mail_{mail}"))]}, "'mail'"),
        ({"model": Claim}, "lacks department"),
        ({"model": dict}, "not a dataclass"),
        ({"model": Frozen, "versions": [(2, two_to_three)]}, "version 1 is missing"),
        ({"versions": [(1, two_to_three)]}, "model"),
    ):
        with pytest.raises(BadDesign, match=match):
            EntitySet(storage, "People", KEY, **arguments)  # type: ignore[arg-type]
