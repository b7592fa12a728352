"""Combinations of two parts: they work together, or are rejected with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from compositions.homes import HOMES, Home
from compositions.life import live
from compositions.mappings import SECRET
from compositions.pairs import PAIRS, Pair, everything_in, is_combined, name_of, partition_of, parts_of
from compositions.refused import REFUSED, Refused, reason
from compositions.wide import ModelWide, WideHome
from support.backends import Backend, awaited
from tablepatterns import (
    ChildSet,
    DataSeries,
    EntitySet,
    InBlobs,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LogTail,
    OneOf,
    Period,
    PeriodTables,
    WideEntity,
)
from tablepatterns.errors import BadDesign, BadInput
from tablepatterns.jobs import verify
from tablepatterns.recipe import table_names
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.large_properties.large_values import LargePropertyStore
from tablepatterns.recipes.partition_move import PartitionMove
from tablepatterns_engine.account import Engine

ROOT = Path(__file__).parents[2]
NAMES = [name_of(pair) for pair in PAIRS]
JONES = {"Department": "Sales", "EmployeeId": 223}
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
BY_RATING = IntraPartitionIndex(Key("{Department}", "rating_{Rating:02d}_{EmployeeId:06d}_{Year:04d}"))


@dataclass(frozen=True)
class Person:
    """A person with a secret."""

    City: str
    Name: str
    Ssn: str


@pytest.mark.nightly_on_azurite
@pytest.mark.parametrize(
    "pair", [pytest.param(pair, marks=pytest.mark.nightly if is_combined(pair) else ()) for pair in PAIRS], ids=NAMES
)
@pytest.mark.few(20)
async def test_two_parts_work_together(storage: Any, staff_name: str, pair: Pair) -> None:
    await live(storage, staff_name, parts_of(pair))


@pytest.fixture
def staff_name(backend: Any, storage: Any, table_name: str) -> Iterator[str]:
    """The prefix of all tables, queues and containers of a test, which are deleted after it."""
    yield table_name
    if backend.kind != "memory":
        backend.run(_drop(storage, table_name))


async def _drop(storage: Any, name: str) -> None:
    queues, blobs = awaited(storage.queues), awaited(storage.blobs)
    for table in [table async for table in table_names(storage, name, f"{name}~")]:
        await storage.table(table).drop()
    for queue in [queue.name async for queue in queues.list_queues(name_starts_with=name.lower())]:
        await queues.delete_queue(queue)
    for container in [container.name async for container in blobs.list_containers(name_starts_with=name.lower())]:
        await blobs.delete_container(container)


@pytest.mark.nightly_on_azurite
@pytest.mark.parametrize(
    "home",
    [
        *(Home, WideHome, ModelWide),
        *(pytest.param(home, marks=pytest.mark.nightly) for home in HOMES),
    ],
    ids=[home.name for home in (Home, WideHome, ModelWide, *HOMES)],
)
async def test_all_parts_work_together(storage: Any, staff_name: str, home: type[Home]) -> None:
    await live(storage, staff_name, everything_in(home))


@pytest.mark.nightly_on_azurite
@pytest.mark.parametrize("home", HOMES, ids=[home.name for home in HOMES])
@pytest.mark.few(1)
async def test_parts_of_one_partition_work_together(storage: Any, staff_name: str, home: type[Home]) -> None:
    await live(storage, staff_name, partition_of(home))


async def test_all_live_in_one_partition(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, Key("{Department}", "empid_{EmployeeId:06d}"), derived=[BY_EMAIL])
    reviews = ChildSet(storage, table_name, staff.key, "_{Year:04d}", derived=[BY_RATING])
    claims = LogTail(storage, table_name, "{Department}", row_prefix="claim_")
    counts = DataSeries(
        storage, table_name, Key("{Department}", "count_{Year:04d}"), 12, prefix="Month", value_type=int
    )
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
def test_impossible_combinations_are_rejected_with_a_reason_and_a_hint(refused: Refused) -> None:
    assert reason(refused).count("; ") >= 1


# ------------------------------------------------------------------ other statements on the page


async def test_the_blobs_of_a_dropped_period_go_with_its_collections(storage: Any, engine: Engine) -> None:
    photos = LargeProperties(["Photo"], container="photos")
    key, now = Key("{User}", "{At:ticks}"), storage.now()

    def make(account: Any, table: str) -> Any:
        return EntitySet(account, table, key, mappings=[photos])

    logins = PeriodTables(storage, "Logins", Period.DAY, factory=make, retention=timedelta(days=1))
    await logins.insert({"User": "jo", "At": now, "Photo": bytes(100_000)})
    engine.clock.advance(3 * 86_400)
    assert len(await logins.drop_expired()) == 1
    values = LargePropertyStore(logins.of(now))
    for _ in range(2):
        engine.clock.advance(86_401)
        await values.collect_orphans()
    assert [blob.name async for blob in storage.container("photos").blobs()] == []


async def test_a_merge_of_encrypted_objects_is_rejected(storage: Any, table_name: str) -> None:
    encrypted = EncryptedProperties(["Ssn"], keys=SECRET)
    people = EntitySet(storage, table_name, Key("{City}", "{Name}"), mappings=[encrypted], model=OneOf(Person))
    jones = await people.insert(Person("Rome", "Jones", "078-05-1120"))
    with pytest.raises(BadInput, match="merge"):
        await people.merge(jones, {"Ssn": "219-09-9999"})


async def test_a_family_has_its_parent_as_it_is_stored(storage: Any, table_name: str) -> None:
    parent, encrypted = Key("{Department}", "empid_{EmployeeId:06d}"), EncryptedProperties(["Ssn"], keys=SECRET)
    staff = EntitySet(storage, table_name, parent, mappings=[encrypted])
    reviews = ChildSet(storage, table_name, parent, "_{Year:04d}", mappings=[encrypted])
    await staff.insert({**JONES, "Ssn": "078-05-1120"})
    await reviews.insert({**JONES, "Year": 2014, "Ssn": "078-05-1120"})
    found, children = await reviews.family(**JONES)
    assert type(found["Ssn"]) is bytes
    assert [child["Ssn"] for child in children] == ["078-05-1120"]


async def test_a_move_that_would_keep_a_unique_key_is_rejected_before_any_request(
    storage: Any, engine: Engine, table_name: str
) -> None:
    by_email = InterPartitionIndex(Key("email_{Email}", "copy"), unique=True)
    staff = EntitySet(storage, table_name, Key("empid_{Department}", "{EmployeeId:06d}"), derived=[by_email])
    jones = await staff.insert({**JONES, "Email": "jonesj@contoso.com"})
    with engine.ledger.span() as span, pytest.raises(BadDesign, match="unique"):
        await PartitionMove(staff).move(jones, Department="Marketing")
    assert span.totals.requests == 0


async def test_two_sets_of_one_connection_cannot_keep_copies_in_one_table_under_keys_of_one_form(
    storage: Any, new_name: Any
) -> None:
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), table=new_name())
    key, name = Key("{Department}", "{EmployeeId:06d}"), new_name()
    for _ in "ab":
        EntitySet(storage, name, key, derived=[by_email])
    with pytest.raises(BadDesign, match=f"rows of 'email_.*derived from '{name}'"):
        EntitySet(storage, new_name(), key, derived=[by_email])


async def test_two_sets_of_one_connection_cannot_keep_lists_in_one_container(storage: Any, new_name: Any) -> None:
    by_name = IndexEntity("LastName", store=InBlobs("names"))
    key = Key("{Department}", "{EmployeeId:06d}")
    EntitySet(storage, new_name(), key, derived=[by_name])
    with pytest.raises(BadDesign, match="a row of the container 'names' could"):
        EntitySet(storage, new_name(), key, derived=[by_name])
    EntitySet(storage, new_name(), key, derived=[IndexEntity("LastName", store=InBlobs("others"))])


async def test_of_two_sets_of_two_connections_each_takes_the_others_copies_for_orphans(
    backend: Backend, storage: Any, engine: Engine, new_name: Any
) -> None:
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), table=new_name())
    staff, guests = (
        EntitySet(each, new_name(), Key("{Department}", "{EmployeeId:06d}"), derived=[by_email])
        for each in (storage, backend.connect(engine))
    )
    await guests.insert({**JONES, "Email": "jonesj@contoso.com"})
    await staff.create_table()
    report = await verify(staff, by_email)
    assert [drift.finding.value for drift in report.drifts] == ["orphaned"]
