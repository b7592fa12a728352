"""Inter-partition secondary indexes: copies under a second key in other partitions and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from support.employees import jones, rows_of
from tablepatterns import EntitySet, Key, between, prefix
from tablepatterns.entity_set.mapping import Encoded, PropertyMapping
from tablepatterns.errors import (
    BadDesign,
    BadFilter,
    BadInput,
    BadProperty,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    LimitExceeded,
)
from tablepatterns.filters import prop
from tablepatterns.jobs import repair, verify
from tablepatterns.recipes.entity_group_transaction import EntityGroupTransaction
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns_engine.account import Engine

BY_ID = Key("empid_{Department}", "{EmployeeId:06d}")
BY_EMAIL = Key("email_{Department}", "{Email}")
ID = {"Department": "Sales", "EmployeeId": 223}
PRIMARY = ("empid_Sales", "000223")
COPY = ("email_Sales", "jonesj@contoso.com")
by_email = InterPartitionIndex(BY_EMAIL)
unique = InterPartitionIndex(BY_EMAIL, unique=True)


@pytest.fixture
def staff_of(backend: Any, storage: Any, table_name: str) -> Iterator[Callable[..., Any]]:
    """A function that returns sets of one table, whose queue of intents is deleted after the test."""

    def make(*derived: Any, **options: Any) -> Any:
        return EntitySet(storage, table_name, BY_ID, derived=derived or (by_email,), **options)

    yield make
    backend.run(storage.queue(f"{table_name}-intents").drop())


async def intents(storage: Any, table_name: str) -> int:
    """Return how many messages wait for the table."""
    return int(await storage.queue(f"{table_name}-intents").length())


# ------------------------------------------------------------------ what is stored, and what is found


@pytest.mark.guide("G-127", "G-128", "G-133", "G-140")
async def test_an_employee_is_stored_under_both_keys(staff_of: Any, storage: Any, table_name: str) -> None:
    await staff_of().insert(jones())
    assert await rows_of(storage, table_name) == {
        PRIMARY: {"FirstName": "Jo", "LastName": "Jones", "Age": 34, "Email": "jonesj@contoso.com"},
        COPY: {"FirstName": "Jo", "LastName": "Jones", "Age": 34, "EmployeeId": 223},
    }
    assert await intents(storage, table_name) == 0


@pytest.mark.guide("G-129")
async def test_copies_may_be_in_a_table_of_their_own(staff_of: Any, storage: Any, new_name: Any) -> None:
    other = new_name()
    outside = InterPartitionIndex(Key("{Department}", "{Email}"), table=other)
    staff = staff_of(outside)
    await staff.insert(jones())
    assert set(await rows_of(storage, other)) == {("Sales", "jonesj@contoso.com")}
    assert await staff.find(outside, Department="Sales", Email="jonesj@contoso.com") == jones()
    found = [each["EmployeeId"] async for each in staff.range(outside, Department="Sales")]
    assert found == [223]
    assert (await staff.page(outside, Department="Sales")).items == (jones(),)
    assert await staff.take(2, outside, Department="Sales") == [jones()]


@pytest.mark.guide("G-130", "G-131", "G-132")
async def test_point_and_range_queries_are_those_of_the_guide(staff_of: Any, storage: Any, engine: Engine) -> None:
    staff = staff_of()
    for number, email in [(100, "zoe@x.com"), (199, "amy@x.com"), (200, "abe@x.com"), (99, "bob@x.com")]:
        await staff.insert(jones(EmployeeId=number, Email=email))
    with engine.ledger.span() as span:
        found = await staff.find(by_email, Department="Sales", Email="amy@x.com")
        ids = [each["EmployeeId"] async for each in staff.range(Department="Sales", EmployeeId=between(100, 199))]
        emails = [each["Email"] async for each in staff.range(by_email, Department="Sales", Email=prefix("a"))]
    assert found["EmployeeId"] == 199
    assert ids == [100, 199]
    assert emails == ["abe@x.com", "amy@x.com"]
    assert [record.query_class for record in span.records] == ["point query", "range query", "range query"]
    assert span.totals.examined == 1 + 2 + 2


@pytest.mark.guide("G-138")
async def test_a_copy_can_hold_a_part_of_the_properties(staff_of: Any, storage: Any, table_name: str) -> None:
    slim = InterPartitionIndex(BY_EMAIL, include=["LastName"])
    staff = staff_of(slim)
    await staff.insert(jones())
    assert (await rows_of(storage, table_name))[COPY] == {"LastName": "Jones", "EmployeeId": 223}
    found = await staff.find(slim, Department="Sales", Email="jonesj@contoso.com")
    with pytest.raises(BadInput, match="only a part of it was read"):
        await staff.replace(found)
    with pytest.raises(BadFilter, match="hold no such property"):
        await staff.take(1, slim, Department="Sales", where=prop("Age") > 30)


@pytest.mark.guide("G-136", "G-137")
async def test_copies_move_and_go_with_their_entity(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of()
    entity = await staff.insert(jones())
    entity["Email"] = "jo@contoso.com"
    await staff.replace(entity)
    assert set(await rows_of(storage, table_name)) == {PRIMARY, ("email_Sales", "jo@contoso.com")}
    del entity["Email"]
    await staff.replace(entity)
    assert set(await rows_of(storage, table_name)) == {PRIMARY}
    await staff.merge(entity, {"Email": "jonesj@contoso.com"})
    assert set(await rows_of(storage, table_name)) == {PRIMARY, COPY}
    await staff.delete(entity)
    assert await rows_of(storage, table_name) == {}
    assert await intents(storage, table_name) == 0


async def test_every_word_of_a_set_keeps_the_copies_right(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of()
    await staff.insert_or_replace(jones())
    await staff.insert_or_merge(ID | {"Age": 35})
    await staff.update(lambda each: each.update(Age=each["Age"] + 1), **ID)
    await staff.merge(ID, {"Title": "Head"}, force=True)
    assert (await staff.find(by_email, Department="Sales", Email=COPY[1])) == jones(Age=36, Title="Head")
    await staff.replace(jones(Age=1), force=True)
    assert (await staff.find(by_email, Department="Sales", Email=COPY[1])) == jones(Age=1)
    await staff.delete(ID, force=True)
    assert await rows_of(storage, table_name) == {}


# ------------------------------------------------------------------ what it costs


@pytest.mark.guide("G-139")
async def test_what_each_call_costs(staff_of: Any, storage: Any, engine: Engine) -> None:
    staff, with_unique = staff_of(), staff_of(unique)
    await staff.create_table()
    await storage.queue(f"{staff.table.name}-intents").create()

    async def cost(call: Any, number: int) -> Any:
        with engine.ledger.span() as span:
            result = await call
        assert span.totals.billable == number, [record.operation for record in span.records]
        return result

    entity = await cost(staff.insert(jones()), 5)
    await cost(staff.merge(entity, {"Age": 35}), 6)
    await cost(staff.merge(entity, {"Email": "j@contoso.com"}), 7)
    await cost(staff.replace(entity), 1)
    found = await cost(staff.find(by_email, Department="Sales", Email="j@contoso.com"), 1)
    await cost(staff.delete(entity), 6)
    with pytest.raises(EntityNotFound):
        await cost(staff.replace(found), 1)
    entity = await cost(with_unique.insert(jones()), 6)
    await cost(with_unique.merge(entity, {"Email": "j@contoso.com"}), 8)
    await cost(with_unique.merge(entity, {"Age": 35}), 6)


async def test_a_rejected_write_costs_the_intent_and_its_deletion(staff_of: Any, storage: Any, engine: Engine) -> None:
    staff = staff_of()
    await staff.insert(jones())
    with engine.ledger.span() as span, pytest.raises(EntityAlreadyExists):
        await staff.insert(jones(Email="other@contoso.com"))
    assert [record.operation for record in span.records] == ["PutMessage", "InsertEntity", "DeleteMessage"]


# ------------------------------------------------------------------ what is read from a copy, and written back


async def test_an_entity_found_by_the_index_can_be_written_back(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of()
    await staff.insert(jones())
    found = await staff.find(by_email, Department="Sales", Email=COPY[1])
    found["Age"] = 35
    await staff.replace(found)
    await staff.merge(found, {"Title": "Head"})
    assert await staff.get(**ID) == jones(Age=35, Title="Head")
    again = await staff.find(by_email, Department="Sales", Email=COPY[1])
    await staff.delete(again)
    assert await rows_of(storage, table_name) == {}


async def test_writing_back_a_stale_copy_is_rejected(staff_of: Any, storage: Any, table_name: str) -> None:
    staff = staff_of()
    entity = await staff.insert(jones())
    stale = await staff.find(by_email, Department="Sales", Email=COPY[1])
    await staff.merge(entity, {"Age": 99})
    before = await rows_of(storage, table_name)
    for write in (staff.replace(stale), staff.merge(stale, {"Age": 1}), staff.delete(stale)):
        with pytest.raises(EntityChanged, match="changed since it was read from an index"):
            await write
    assert await rows_of(storage, table_name) == before


async def test_what_was_read_from_a_copy_needs_a_request_that_a_ready_change_cannot_make(staff_of: Any) -> None:
    staff = staff_of()
    await staff.insert(jones())
    found = await staff.find(by_email, Department="Sales", Email=COPY[1])
    with pytest.raises(BadInput, match="read it with get"):
        staff.replacing(found)


# ------------------------------------------------------------------ together with the rest


class Sealed(PropertyMapping):
    """Stores a text backwards, with a number that makes it another one each time."""

    order = 1
    name = "sealed"
    fields = ("LastName",)

    def __init__(self) -> None:
        self._numbers = count()

    async def encode(self, fields: Any, place: Any) -> Encoded:
        if "LastName" not in fields:
            return Encoded(dict(fields))
        return Encoded({**fields, "LastName": f"{fields['LastName'][::-1]}{next(self._numbers)}"})

    async def decode(self, fields: Any, place: Any) -> dict[str, Any]:
        if "LastName" not in fields:
            return dict(fields)
        return {**fields, "LastName": fields["LastName"].rstrip("0123456789")[::-1]}


async def test_a_copy_holds_what_the_primary_holds_however_that_is_stored(
    staff_of: Any, storage: Any, table_name: str
) -> None:
    staff = staff_of(mappings=[Sealed()])
    await staff.insert(jones())
    found = await staff.find(by_email, Department="Sales", Email=COPY[1])
    assert found == jones()
    await staff.replace(found)
    rows = await rows_of(storage, table_name)
    assert rows[PRIMARY]["LastName"] == rows[COPY]["LastName"] != "Jones"
    assert (await verify(staff, by_email)).is_clean
    await EntitySet(storage, table_name, BY_ID).merge(ID, {"Age": 99}, force=True)
    await repair(staff, by_email)
    assert await staff.find(by_email, Department="Sales", Email=COPY[1]) == jones(Age=99)


# ------------------------------------------------------------------ what is refused


async def test_a_copy_that_cannot_be_stored_is_rejected_before_any_request(
    staff_of: Any, storage: Any, engine: Engine
) -> None:
    staff = staff_of(InterPartitionIndex(Key("by", "{A:escape}_{Department}_{EmployeeId:06d}")))
    text = "x" * 600
    with engine.ledger.span() as span, pytest.raises(BadInput):
        await staff.insert(jones(A=text))
    assert span.totals.requests == 0
    full = {f"P{number}": number for number in range(250)}
    staff = staff_of(InterPartitionIndex(Key("by", "{P1:06d}")))
    with engine.ledger.span() as span, pytest.raises(LimitExceeded):
        await staff.insert(jones() | full)
    assert span.totals.requests == 0


@pytest.mark.parametrize(
    ("derived", "rule"),
    [
        ([InterPartitionIndex(Key("empid_{Department}", "email_{Email}"))], "share the primary's partition"),
        ([InterPartitionIndex(Key("{Email}", "{EmployeeId:06d}"))], "could have the keys of the primary rows"),
        ([by_email, InterPartitionIndex(Key("email_{LastName}", "{Email}"))], "could have the keys of"),
        ([by_email, InterPartitionIndex(BY_EMAIL, table="Other")], "the name twice"),
    ],
)
async def test_an_invalid_index_is_rejected_at_construction(storage: Any, derived: Any, rule: str) -> None:
    with pytest.raises(BadDesign, match=rule):
        EntitySet(storage, "Employees", BY_ID, derived=derived)


async def test_an_invalid_lease_and_queue_are_rejected(storage: Any) -> None:
    with pytest.raises(BadDesign, match="lease = 0: it must be at least 1"):
        EntitySet(storage, "Employees", BY_ID, derived=[by_email], lease=0)
    with pytest.raises(BadInput, match="lower-case"):
        EntitySet(storage, "Employees", BY_ID, derived=[by_email], intents="Not a queue")


# ------------------------------------------------------------------ one key for two


async def test_the_copy_of_another_entity_is_left_alone_until_it_is_gone(
    staff_of: Any, storage: Any, table_name: str
) -> None:
    staff = staff_of()
    await staff.insert(jones())
    other = await staff.insert(jones(EmployeeId=224, Age=50))
    assert (await rows_of(storage, table_name))[COPY]["EmployeeId"] == 223
    await staff.delete(other)
    assert (await rows_of(storage, table_name))[COPY]["EmployeeId"] == 223
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
