"""Backfill: every entity gets its derived rows, also while writers keep writing."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from support.employees import rows_of
from support.maintained_set import BY_ID, NEAR, change, fill, found_by, person
from tablepatterns import EntitySet, Finding, IntraPartitionIndex, Key, PartitionSpread, connect
from tablepatterns.errors import BadDesign, BadInput, BadToken, DerivedDataMismatch, DuplicateIndexValue
from tablepatterns.jobs import Report, backfill, repair, verify
from tablepatterns.sdk.operation import Operation
from tablepatterns_engine.account import Engine


async def test_backfill_gives_every_entity_its_row(plain: Any, staff: Any, index: Any) -> None:
    await fill(plain, 30)
    await plain.insert(person(30, Email=None))
    report = await backfill(staff, index)
    assert (report.entities, report.token) == (31, None)
    assert (await verify(staff, index)) == Report(entities=31, rows=30)
    assert (await staff.find(index, Department="Sales", Email="7@contoso.com")) == person(7)


async def test_backfill_may_be_done_again(plain: Any, staff: Any, index: Any, storage: Any, table_name: str) -> None:
    await fill(plain, 5)
    await backfill(staff, index)
    before = await rows_of(storage, table_name)
    await backfill(staff, index)
    assert await rows_of(storage, table_name) == before


async def test_hundreds_of_entities_in_a_partition_take_few_requests(
    plain: Any, storage: Any, table_name: str, engine: Engine
) -> None:
    await fill(plain, 300)
    near = EntitySet(storage, table_name, BY_ID, derived=[NEAR])
    with engine.ledger.span() as span:
        report = await backfill(near, NEAR)
    assert report.entities == 300
    assert span.totals.requests <= 12
    assert await verify(near, NEAR) == Report(entities=300, rows=300)


async def test_entities_whose_rows_exist_do_not_keep_others_from_their_group(
    plain: Any, storage: Any, table_name: str, engine: Engine
) -> None:
    await fill(plain, 40)
    near = EntitySet(storage, table_name, BY_ID, derived=[NEAR], backfilling=[NEAR])
    for number in (3, 17):
        await change(near, number, Age=50)
    with engine.ledger.span() as span:
        await backfill(near, NEAR)
    assert span.totals.requests <= 10
    assert await verify(near, NEAR) == Report(entities=40, rows=40)


class Stop(Exception):
    """The process that tends the rows is asked to stop."""


PAGE = 10


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablepatterns.jobs.walk.MAX_PAGE_ENTITIES", PAGE)


async def spread(plain: Any, storage: Any) -> None:
    """Put three entities in front of a page of rows of another kind, and three behind them: on two pages."""
    for department in "AC":
        for number in range(3):
            await plain.insert(person(number, Department=department))
    rows = ({"PartitionKey": "empid_B", "RowKey": f"x{number}"} for number in range(PAGE))
    await storage.table(plain.table.name).submit(*map(Operation.insert, rows))


@pytest.mark.usefixtures("small_pages")
async def test_backfill_resumes_where_it_broke(plain: Any, staff: Any, index: Any, storage: Any) -> None:
    await spread(plain, storage)
    reports: list[Report] = []

    def stop(report: Report) -> None:
        reports.append(report)
        raise Stop

    with pytest.raises(Stop):
        await backfill(staff, index, progress=stop)
    assert reports[0].entities == 3
    report = await backfill(staff, index, resume=reports[0].token, progress=reports.append)
    assert report == reports[-1] == Report(entities=3)
    assert (await verify(staff, index)).is_clean


@pytest.mark.usefixtures("small_pages")
async def test_verify_resumes_where_it_broke(plain: Any, staff: Any, index: Any, storage: Any) -> None:
    await spread(plain, storage)
    reports: list[Report] = []
    whole = await verify(staff, index, progress=reports.append)
    assert (len(whole.drifts), len(reports[0].drifts)) == (6, 3)
    rest = await verify(staff, index, resume=reports[0].token)
    assert {*reports[0].drifts, *rest.drifts} == set(whole.drifts)


async def test_backfill_keeps_to_its_pace(plain: Any, staff: Any, index: Any, engine: Engine) -> None:
    await fill(plain, 20)
    before = engine.clock.now().datetime()
    await backfill(staff, index, max_per_second=2, max_concurrency=1)
    assert 9 <= (engine.clock.now().datetime() - before).total_seconds() < 12


@pytest.mark.parametrize("work", [backfill, verify])
async def test_a_token_of_other_work_is_rejected(staff: Any, index: Any, work: Any, engine: Engine) -> None:
    with engine.ledger.span() as span:
        for token in ("not a token", "e30=", "WzIsMSwxLDFd", b64encode(b"[" * 9_000).decode()):
            with pytest.raises(BadToken):
                await work(staff, index, resume=token)
    assert span.totals.requests == 0


def test_a_job_takes_a_set_or_a_pattern_that_has_one() -> None:
    by_email = IntraPartitionIndex(Key("{Bucket:02d}_{Department}", "email_{Email}"))
    spread = PartitionSpread(
        connect(),
        "Staff",
        Key("{Department}", "id_{EmployeeId:06d}"),
        buckets=2,
        factory=lambda account, table, key: EntitySet(account, table, key, derived=[by_email]),
    )
    spread.insert({"Department": "Sales", "EmployeeId": 1, "Email": "jo@contoso.com"})
    assert verify(spread, by_email) == Report(entities=1, rows=1)
    stranger: Any = connect()
    with pytest.raises(BadInput, match="it must be an EntitySet"):
        verify(stranger, by_email)


@pytest.mark.usefixtures("small_pages")
async def test_a_token_of_a_backfill_does_not_resume_a_verification(
    plain: Any, staff: Any, index: Any, storage: Any
) -> None:
    await spread(plain, storage)
    tokens: list[str | None] = []
    await backfill(staff, index, progress=lambda report: tokens.append(report.token))
    with pytest.raises(BadToken, match="only the work that returned it"):
        await verify(staff, index, resume=tokens[0])


async def test_derived_data_of_another_set_and_bad_numbers_are_rejected(staff: Any, index: Any) -> None:
    stranger = IntraPartitionIndex(Key("empid_{Department}", "name_{LastName}"))
    for work in (backfill, verify, repair):
        with pytest.raises(BadInput, match="the set keeps"):
            await work(staff, stranger)
        with pytest.raises(BadInput):
            await work(staff, index, max_per_second=0)
        with pytest.raises(BadInput):
            await work(staff, index, max_concurrency=0)


# ------------------------------------------------------------------ writers while the rows are being built


async def test_while_rows_are_built_entities_without_them_can_be_changed(
    plain: Any, storage: Any, table_name: str
) -> None:
    await fill(plain, 4)
    strict = EntitySet(storage, table_name, BY_ID, derived=[NEAR])
    with pytest.raises(DerivedDataMismatch):
        await change(strict, 0, Age=1)
    staff = EntitySet(storage, table_name, BY_ID, derived=[NEAR], backfilling=[NEAR])
    await change(staff, 0, Age=1)
    await change(staff, 1, Email="moved@contoso.com")
    await staff.delete(await staff.get(Department="Sales", EmployeeId=2))
    await staff.insert(person(5))
    with pytest.raises(DuplicateIndexValue):
        await staff.insert(person(6, Email="5@contoso.com"))
    assert found_by(await verify(staff, NEAR)) == {Finding.MISSING: ["3@contoso.com"]}
    await backfill(staff, NEAR)
    assert (await verify(strict, NEAR)).is_clean
    await change(strict, 3, Age=2)


async def test_what_is_built_must_be_declared(storage: Any) -> None:
    with pytest.raises(BadDesign, match="does not derive"):
        EntitySet(storage, "Staff", BY_ID, backfilling=[NEAR])
