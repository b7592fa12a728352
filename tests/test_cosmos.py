"""The Cosmos DB Table API, which does not sort: which recipes work there, work unordered, or are rejected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential

import tablepatterns as tp
from support.declared_objects import Make, Verdict, all_public_objects
from support.queue_workers import RecordingHandler
from support.sdk_requests import BY_SDK
from tablepatterns import EntitySet, IndexEntity, IntraPartitionIndex, Key, Storage, WideEntity
from tablepatterns.catalog import ENTRIES
from tablepatterns.connection import in_memory
from tablepatterns.errors import BadDesign
from tablepatterns.jobs import recount, verify
from tablepatterns.recipe import Pattern
from tablepatterns.sdk.page_token import EntityPage, PageQuery
from tablepatterns.sdk.table import Table
from tablepatterns_engine.account import Engine

STRING = (
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;TableEndpoint=https://a.table.cosmos.azure.com:443/"
)
KEY = Key("{Department}", "empid_{EmployeeId:06d}")
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


@dataclass(frozen=True)
class Employee:
    Department: str
    EmployeeId: int


def staff(account: Any, *derived: Any, mappings: Any = (), key: Key = KEY) -> Any:
    return EntitySet(account, "Staff", key, derived=derived, mappings=mappings)


def former(account: Any) -> Any:
    return EntitySet(account, "Former", KEY)


def heads(account: Any) -> Any:
    return EntitySet(account, "Staff", Key("{Department}", "head"))


def logins(account: Any) -> Any:
    key = Key("{User}", "{At:inverted}")
    return tp.PeriodTables(account, "Logins", tp.Period.DAY, factory=lambda on, table: EntitySet(on, table, key))


def encrypted(account: Any) -> Any:
    return staff(account, mappings=[tp.EncryptedProperties(["Ssn"], keys=tp.LocalKey.generate("k"))])


def large(account: Any) -> Any:
    return staff(account, mappings=[tp.LargeProperties(["Photo"], container="photos")])


def nothing(body: object) -> None:
    """A step."""


def series(account: Any, *, split: bool = False) -> Any:
    return tp.DataSeries(account, "Counts", Key("{Employee}", ""), 24, prefix="Hour", value_type=int, split=split)


DESIGNS: dict[str, tuple[Verdict, str, Make]] = {
    "Archive": ("rejected", "its messages need a queue", lambda on: tp.Archive(staff(on), former(on))),
    "BlobLog": ("rejected", "it needs blobs", lambda on: tp.BlobLog(on, "logs", "web")),
    "BulkDelete": (
        "works",
        "more transactions, if the entities of a partition are not listed together",
        lambda on: tp.BulkDelete(staff(on)),
    ),
    "BulkLoad": (
        "works",
        "the service rejects a chunk over 2 MB: keep entities small",
        lambda on: tp.BulkLoad(staff(on)),
    ),
    "ChildSet": (
        "unordered",
        "children are found by their range",
        lambda on: tp.ChildSet(on, "Staff", KEY, "_{Year:04d}"),
    ),
    "DataSeries": ("unordered", "a series is one entity; several series of a partition are unordered", series),
    "DataSeries(split=True)": ("rejected", "the rows of a series must be adjacent", lambda on: series(on, split=True)),
    "CopiedFields": (
        "works",
        "point queries and transactions",
        lambda on: staff(on, tp.CopiedFields(heads(on).key, refers={"EmployeeId": "Head"}, copies={"Email": "Mail"})),
    ),
    "SharedFields": ("works", "pages are followed by their tokens", lambda on: tp.SharedFields(staff(on), ["Floor"])),
    "EncryptedProperties": ("works", "it changes only what is in a row", encrypted),
    "EntityGroupTransaction": (
        "works",
        "one partition, 100 operations",
        lambda on: tp.EntityGroupTransaction(on, "Staff"),
    ),
    "EntitySet": ("unordered", "`range`, `page`, `query` and `scan`", staff),
    "EntitySet.take": (
        "rejected",
        '"first" means first in key order',
        lambda on: staff(on).take(3, Department="Sales"),
    ),
    "EntityTypes": ("unordered", "each row has its type", lambda on: tp.EntityTypes(staff(on))),
    "EventualTransaction": (
        "rejected",
        "its messages need a queue",
        lambda on: tp.EventualTransaction(on, "orders", "order", {"pay": nothing}),
    ),
    "IndexEntity": ("works", "the client sorts the keys", lambda on: staff(on, IndexEntity("LastName", spread=3))),
    "IndexEntity(store=InTable())": (
        "rejected",
        "lists elsewhere are updated through a queue",
        lambda on: staff(on, IndexEntity("LastName", store=tp.InTable())),
    ),
    "InterPartitionIndex": (
        "rejected",
        "copies elsewhere are updated through a queue",
        lambda on: staff(on, tp.InterPartitionIndex(Key("email_{Email}", "copy"))),
    ),
    "IntraPartitionIndex": ("unordered", "`find` works; ranges are unordered", lambda on: staff(on, BY_EMAIL)),
    "KeyRotation": ("works", "pages are followed by their tokens", lambda on: tp.KeyRotation(encrypted(on))),
    "LargeProperties": (
        "rejected",
        "large values need blobs",
        lambda on: large(on).insert({"Department": "Sales", "EmployeeId": 1}),
    ),
    "LargePropertyStore": ("rejected", "large values need blobs", lambda on: tp.LargePropertyStore(large(on))),
    "LogTail": ("rejected", "newest first depends on key order", lambda on: tp.LogTail(on, "Claims", "{Employee}")),
    "Lookup": ("works", "point queries, or all rows at once", lambda on: tp.Lookup(staff(on))),
    "OneToMany": ("unordered", "children are found by their range", lambda on: tp.OneToMany(heads(on), staff(on))),
    "OneToOne": ("works", "point queries", lambda on: tp.OneToOne(staff(on), EntitySet(on, "Photos", KEY))),
    "ParallelReads": (
        "unordered",
        "the reads are in order, the entities of each read are not",
        lambda on: tp.ParallelReads(staff(on)),
    ),
    "PartitionMove": ("rejected", "its messages need a queue", lambda on: tp.PartitionMove(staff(on))),
    "PartitionSpread": ("rejected", "buckets are merged by key order", lambda on: tp.PartitionSpread(on, "Staff", KEY)),
    "PeriodTables": ("unordered", "the tables are in order, the entities of each table are not", logins),
    "PeriodTables.latest": (
        "rejected",
        "newest first depends on key order",
        lambda on: logins(on).latest(3, User="jo"),
    ),
    "Summary": (
        "works",
        "totals are one row, or are added up by the client",
        lambda on: staff(on, tp.Summary(Key("{Department}", "total"))),
    ),
    "Summary(store=InTable())": (
        "rejected",
        "totals elsewhere are updated through a queue",
        lambda on: staff(on, tp.Summary(Key("total_{Department}", "all"), store=tp.InTable())),
    ),
    "WideEntity": (
        "works",
        "the keys identify the parts; whether a page is a snapshot is not documented",
        lambda on: WideEntity(on, "Wide", KEY),
    ),
    "Worker": ("rejected", "it needs a queue", lambda on: tp.Worker(on, {"orders": [RecordingHandler()]})),
    "grant": (
        "works",
        "for a whole table; there are no stored access policies",
        lambda on: tp.grant(on, "Staff", expires=timedelta(hours=1)),
    ),
    "grant(within=...)": (
        "rejected",
        "signatures cannot be limited to a range of keys",
        lambda on: tp.grant(on, staff(on), within={"Department": "Sales"}, expires=timedelta(hours=1)),
    ),
} | {name: (each.on_cosmos, each.why, each.make) for name, each in all_public_objects().items()}
"""Whether the Cosmos DB Table API can serve each design, and why; a page shows this."""


@pytest.fixture(params=[STRING, "https://a.table.cosmos.azure.com"], ids=["connection string", "URL"])
def cosmos(request: pytest.FixtureRequest) -> Iterator[Any]:
    credential = None if ";" in request.param else AzureNamedKeyCredential("a", "a2V5")
    with tp.connect(request.param, credential=credential, retry_total=0) as storage:
        yield storage


@pytest.mark.guide("G-103", "G-212")
@pytest.mark.parametrize("name", DESIGNS)
def test_an_unsupported_recipe_is_rejected_before_any_request(cosmos: Any, name: str) -> None:
    verdict, _, make = DESIGNS[name]
    with tp.Traffic(cosmos) as traffic:
        if verdict == "rejected":
            with pytest.raises(BadDesign, match="Cosmos DB"):
                make(cosmos)
        else:
            assert make(cosmos) is not None
    assert not traffic.requests


def test_no_queue_or_container_of_another_account_is_addressed(cosmos: Any) -> None:
    for service in ("queues", "blobs"):
        with pytest.raises(BadDesign, match=f"a Cosmos DB account has no {service}"):
            getattr(cosmos, service)


def test_queues_and_blobs_may_be_in_another_account() -> None:
    with tp.connect(f"{STRING};QueueEndpoint=https://q.example;BlobEndpoint=https://b.example") as storage:
        assert storage.queues.url.startswith("https://q.example")
        assert storage.blobs.url.startswith("https://b.example")


def test_no_pattern_was_forgotten() -> None:
    kinds = ("pattern", "implementation", "relationship")
    classes = {name for entry in ENTRIES if entry.kind in kinds for name in entry.classes}
    patterns = {name for name in classes if isinstance(made := getattr(tp, name), type) and issubclass(made, Pattern)}
    assert patterns - {"Grant", "AccessPolicies", *DESIGNS} == set()


# ------------------------------------------------------------------ in whatever order results come


class Jumbled(Table):
    """A table whose pages come in another order than that of the keys."""

    async def read_page(self, query: PageQuery) -> EntityPage:
        found = await super().read_page(query)
        return found._replace(entities=found.entities[::-1])


class Unsorted(Storage):
    """An account in memory that sorts nothing."""

    def table(self, name: str) -> Table:
        return Jumbled(self.tables.get_table_client(name), None, BY_SDK)


@pytest.fixture(params=[None, 3], ids=["pages of 1,000", "pages of 3"])
def unsorted(request: pytest.FixtureRequest) -> Iterator[Any]:
    engine = Engine(page_examines=request.param)
    with Unsorted(in_memory(engine.account_name, engine.account_key), engine, {}) as storage:
        storage._keeps_key_order = False
        yield storage


def hired(entities: Any, count: int = 8) -> Any:
    for number in range(count):
        entities.insert({"Department": "Sales", "EmployeeId": number, "Email": f"{number}@c.com", "LastName": "Jo"})
    return entities


def numbers(entities: Any, field: str = "EmployeeId") -> list[int]:
    return sorted(each[field] for each in entities)


ALL = list(range(8))


def test_results_are_in_no_order_here(unsorted: Any) -> None:
    found = [each["EmployeeId"] for each in hired(staff(unsorted)).range(Department="Sales")]
    assert found != sorted(found)


def test_a_range_holds_the_same_in_no_order(unsorted: Any) -> None:
    employees = hired(staff(unsorted, BY_EMAIL))
    assert numbers(employees.range(Department="Sales")) == ALL
    assert numbers(employees.range(BY_EMAIL, Department="Sales", Email=tp.between("2@", "4@z"))) == [2, 3, 4]
    asked = [{"Department": "Sales"}, {"Department": "Marketing"}]
    assert numbers(tp.ParallelReads(employees).ranges(asked).entities) == ALL


def test_pages_go_on_to_the_end_in_no_order(unsorted: Any) -> None:
    employees = hired(staff(unsorted))
    page = employees.page(size=3, Department="Sales")
    found = [*page.items]
    while page.token is not None:
        page = employees.page(size=3, token=page.token, Department="Sales")
        found += page.items
    assert numbers(found) == ALL


def test_a_family_is_complete_in_no_order(unsorted: Any) -> None:
    hired(staff(unsorted))
    reviews = tp.ChildSet(unsorted, "Staff", KEY, "_{Year:04d}")
    for year in range(2010, 2016):
        reviews.insert({"Department": "Sales", "EmployeeId": 3, "Year": year})
    parent, children = reviews.family(Department="Sales", EmployeeId=3)
    assert parent["Email"] == "3@c.com"
    years = list(range(2010, 2016))
    assert numbers(children, "Year") == numbers(reviews.children(Department="Sales", EmployeeId=3), "Year") == years


def test_one_has_all_its_many_in_no_order(unsorted: Any) -> None:
    heads(unsorted).insert({"Department": "Sales", "Floor": 3})
    family = tp.OneToMany(heads(unsorted), hired(staff(unsorted))).family(Department="Sales")
    assert (family.parent["Floor"], numbers(family.children)) == (3, ALL)


def test_lists_and_totals_are_right_in_no_order(unsorted: Any) -> None:
    by_name, total = IndexEntity("LastName", spread=3), tp.Summary(Key("{Department}", "total"))
    employees = hired(staff(unsorted, by_name, total))
    found = employees.find_all(by_name, Department="Sales", LastName="Jo")
    assert [each["EmployeeId"] for each in found] == ALL
    assert employees.totals(total, Department="Sales") == {"Count": 8}
    assert recount(employees, total, Department="Sales") == []
    assert verify(employees, by_name).is_clean


def test_a_wide_entity_is_whole_in_no_order(unsorted: Any) -> None:
    wide = WideEntity(unsorted, "Wide", KEY, part_bytes=100)
    fields = {f"Text{number}": "x" * 30 for number in range(12)}
    wide.insert({"Department": "Sales", "EmployeeId": 1, **fields})
    assert wide.get(Department="Sales", EmployeeId=1) == {"Department": "Sales", "EmployeeId": 1, **fields}


def test_series_and_types_are_complete_in_no_order(unsorted: Any) -> None:
    counts = tp.DataSeries(unsorted, "Counts", Key("{Employee}", "{Day:02d}"), 24, prefix="Hour", value_type=int)
    for day in range(8):
        counts.set(9, day, Employee="jo", Day=day)
    assert sorted((known["Day"], points[9]) for known, points in counts.range(Employee="jo")) == list(
        zip(ALL, ALL, strict=True)
    )
    employees = tp.EntitySet(unsorted, "Staff", KEY, model=Employee)
    for number in ALL:
        employees.insert_or_replace(Employee("Sales", number))
    assert sorted(person.EmployeeId for person in tp.EntityTypes(employees).range(Department="Sales")) == ALL


def test_what_is_deleted_or_changed_in_bulk_is_all_in_no_order(unsorted: Any) -> None:
    employees = hired(staff(unsorted, BY_EMAIL))
    assert tp.SharedFields(employees, ["Floor"]).change({"Floor": 4}, chunk=3, Department="Sales").entities == 8
    assert {each["Floor"] for each in employees.range(BY_EMAIL, Department="Sales")} == {4}
    everybody = (tp.prop("PartitionKey") == "Sales") & (tp.prop("RowKey") >= "empid_") & (tp.prop("RowKey") < "f")
    assert tp.BulkDelete(employees).delete(everybody).entities == 8


def test_periods_come_in_order_and_what_is_in_one_does_not(unsorted: Any) -> None:
    series = logins(unsorted)
    now = unsorted.now()
    moments = [now - timedelta(hours=hours) for hours in (0, 1, 2, 30, 31)]
    for moment in moments:
        series.insert({"User": "jo", "At": moment})
    found = [each["At"] for each in series.range(now - timedelta(days=3), User="jo")]
    assert sorted(found) == sorted(moments)
    assert [moment.date() for moment in found] == sorted((moment.date() for moment in moments), reverse=True)
