"""Parts put together two by two: whatever works alone works with the others, or is refused with the reason."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backends import awaited
from composing.homes import HOMES, Home
from composing.life import live
from composing.pairs import PAIRS, Pair, everything_in, name_of, parts_of
from composing.refused import REFUSED, Refused, reason
from tablepatterns import CompoundKey, DataSeries, EntitySet, IntraPartitionIndex, Key, LogTail, WideEntity, connect

ROOT = Path(__file__).parents[1]
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
BY_RATING = IntraPartitionIndex(Key("{Department}", "rating_{Rating:02d}_{EmployeeId:06d}_{Year:04d}"))


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
async def test_two_parts_work_together(pair: Pair) -> None:
    with connect() as storage:
        await live(storage.awaited(), "Staff", parts_of(pair))


@pytest.fixture
def staff_name(backend: Any, storage: Any, table_name: str) -> Iterator[str]:
    """What the names of all tables, queues and containers of a test begin with; they are deleted after it."""
    yield table_name
    if backend.kind != "memory":
        backend.run(_drop(storage, table_name))


async def _drop(storage: Any, name: str) -> None:
    queues, blobs = awaited(storage.queues), awaited(storage.blobs)
    for table in [table async for table in storage.table_names(name, f"{name}~")]:
        await storage.table(table).drop()
    for queue in [queue.name async for queue in queues.list_queues(name_starts_with=name.lower())]:
        await queues.delete_queue(queue)
    for container in [container.name async for container in blobs.list_containers(name_starts_with=name.lower())]:
        await blobs.delete_container(container)


@pytest.mark.parametrize("home", [Home, *HOMES], ids=lambda home: home.name)
async def test_all_parts_work_together(storage: Any, staff_name: str, home: type[Home]) -> None:
    await live(storage, staff_name, everything_in(home))


async def test_all_live_in_one_partition(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, Key("{Department}", "empid_{EmployeeId:06d}"), derived=[BY_EMAIL])
    reviews = CompoundKey(storage, table_name, staff.key, "_{Year:04d}", derived=[BY_RATING])
    claims = LogTail(storage, table_name, "{Department}", row_prefix="claim_")
    counts = DataSeries(storage, table_name, Key("{Department}", "count_{Year:04d}"), 12, name="Month", of=int)
    wide = WideEntity(storage, table_name, Key("{Department}", "wide_{Year:04d}_"))
    year, jones = {"Department": "Sales", "Year": 2014}, {"Department": "Sales", "EmployeeId": 223}

    await staff.insert({**jones, "Email": "jonesj@contoso.com"})
    await reviews.insert({**jones, "Year": 2014, "Rating": 4})
    await claims.append({"Department": "Sales", "Amount": 12.5})
    await counts.add(3, 7, **year)
    value = await wide.insert({**year} | {f"Day{day:03d}": day for day in range(365)})

    assert [found["Email"] async for found in staff.range(Department="Sales")] == ["jonesj@contoso.com"]
    assert [found["EmployeeId"] async for found in staff.range(BY_EMAIL, Department="Sales")] == [223]
    assert [found["Rating"] async for found in reviews.range(BY_RATING, Department="Sales")] == [4]
    assert [found["Year"] async for found in reviews.children(**jones)] == [2014]
    assert [found["Amount"] for found in await claims.latest(9, Department="Sales")] == [12.5]
    assert (await counts.read(**year))[3] == 7
    assert (await wide.get(**year))["Day364"] == 364

    await wide.delete(value)
    await counts.delete(**year)
    await claims.delete((await claims.latest(1, Department="Sales"))[0])
    await reviews.delete(await reviews.get(**jones, Year=2014))
    await staff.delete(await staff.get(**jones))
    assert [row.key async for row in storage.table(table_name).query(None)] == []


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: f"{' x '.join(refused.parts)} {refused.what}")
def test_what_cannot_work_is_refused_with_the_reason_and_a_way_out(refused: Refused) -> None:
    assert reason(refused).count("; ") >= 1


def test_the_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    page: Any = importlib.import_module("proof.compositions")
    assert (ROOT / page.PAGE).read_text(encoding="utf-8") == page.render(), "make pages writes it anew"
