"""Sets declared from a program are equal to those declared in a file."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tablepatterns import (
    ChildSet,
    DataSeries,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LogTail,
    PartitionSpread,
    Period,
    PeriodTables,
    Storage,
    WideEntity,
    connect,
)
from tablepatterns.entity_set.placement import InTable
from tablepatterns.errors import BadDesign, BadInput
from tablepatterns.recipe import Pattern
from tablepatterns_review import (
    Design,
    Field,
    Query,
    Retention,
    Reviewed,
    Shape,
    Write,
    declare_set,
    read_design,
    review,
)
from tablepatterns_review.design.model import DeclaredSet
from tablepatterns_review.kinds.recipes import create_sets, recipe_of_set
from tablepatterns_review.report.markdown import markdown

EVENT_KEY = Key("{Device}", "{At:inverted}_{EventId:uuid}")
EVENTS = Shape(
    "Event",
    300,
    {"Device": Field(distinct=5), "At": Field("datetime", order="rising"), "EventId": Field("guid")},
)


def by_day(storage: Storage, table: str) -> EntitySet[Storage]:
    return EntitySet(storage, table, EVENT_KEY)


def logs_by_day(storage: Storage, table: str) -> LogTail[Storage]:
    return LogTail(storage, table, "{Device}")


def keepers() -> dict[str, Pattern[Any]]:
    parent = Key("{Device}", "day_{Day:06d}")
    return {
        "entity_set": EntitySet(connect(), "Events", EVENT_KEY, derived=[IndexEntity("Kind")]),
        "log_tail": LogTail(connect(), "Events", "{Device}", row_prefix="log_"),
        "partition_spread": PartitionSpread(connect(), "Events", EVENT_KEY, buckets=4, by=["EventId"]),
        "period_tables": PeriodTables(connect(), "Events", Period.DAY, factory=by_day, retention=timedelta(days=60)),
        "period_tables of log tails": PeriodTables(connect(), "Events", Period.WEEK, factory=logs_by_day, retention=4),
        "data_series": DataSeries(connect(), "Events", Key("{Device}", ""), 24, prefix="Hour", value_type=float),
        "wide_entity": WideEntity(connect(), "Events", Key("{Device}", "wide_")),
        "compound_key": ChildSet(connect(), "Events", parent, "_{Number:04d}"),
    }


@pytest.mark.parametrize("pattern", keepers())
def test_a_set_is_built_again_on_another_account_as_it_was_declared(pattern: str) -> None:
    declared = declare_set(keepers()[pattern], shape=EVENTS)
    assert declared.pattern == pattern.split(" ")[0]
    again = create_sets(Design("Events", (declared,)), connect())["Events"]
    # What is special of a compound key is the key
    expected = replace(declared, pattern="entity_set") if pattern == "compound_key" else declared
    assert declare_set(again, shape=declared.shape) == expected


def test_what_period_tables_keep_is_the_retention() -> None:
    found = keepers()
    days, weeks = (declare_set(found[name], shape=EVENTS) for name in ("period_tables", "period_tables of log tails"))
    assert (days.retention, weeks.retention) == (Retention(60, "table"), Retention(28, "table"))
    assert declare_set(found["period_tables"], shape=EVENTS, retention=Retention(7)).retention == Retention(7)


def test_something_that_keeps_no_set_is_rejected() -> None:
    with pytest.raises(BadInput, match="a Pattern holds no set of entities"):
        declare_set(Pattern(connect()), shape=EVENTS)


def test_a_pattern_that_keeps_no_set_is_rejected() -> None:
    with pytest.raises(BadDesign, match="no set uses it"):
        recipe_of_set(connect(), DeclaredSet("Events", "Events", EVENT_KEY, Shape("Event", 0, {}), "archive"), ())


# -- One design, two declarations

STAFF = """\
name = "Staff"
years = 2

[[set]]
name = "Employees"
key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
entity = "Employee"
count = 5_000
growth = 500

[set.fields]
Department = { distinct = 12, skew = 0.7, size = 10 }
EmployeeId = { type = "int32" }
Email = { size = 24 }
LastName = { distinct = 400 }

[[set.derived]]
pattern = "intra_partition_index"
key = { row = "email_{Email}" }
[[set.derived]]
pattern = "index_entities"
fields = ["LastName"]
key = { partition = "lastname_{LastName}", row = "list" }
store = "table"
table = "Names"

[[set.query]]
name = "by e-mail"
known = { Department = "=", Email = "=" }
rate = 20
[[set.query]]
name = "by name"
known = { LastName = "=" }
rate = 1
[[set.write]]
name = "hire"
operation = "insert"
rate = 0.1

[[set]]
name = "Log"
pattern = "partition_spread"
buckets = 4
key = { partition = "{Day:%Y-%m-%d}", row = "{At:ticks}_{EntryId:uuid}" }
count = 100_000
retention = { days = 30, by = "entity" }
[set.fields]
Day = { type = "datetime", order = "rising", distinct = 30 }
At = { type = "datetime", order = "rising" }
EntryId = { type = "guid" }
Text = { size = 100 }
[[set.write]]
name = "note"
operation = "insert"
rate = 30
peak = 90
"""


def staff() -> Design:
    """Return the design of the file, from the sets that a program has."""
    storage = connect()
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    by_name = IndexEntity("LastName", key=Key("lastname_{LastName}", "list"), store=InTable("Names"))
    employees = EntitySet(
        storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email, by_name]
    )
    log = PartitionSpread(storage, "Log", Key("{Day:%Y-%m-%d}", "{At:ticks}_{EntryId:uuid}"), buckets=4)
    people = {
        "Department": Field(distinct=12, skew=0.7, size=10),
        "EmployeeId": Field("int32"),
        "Email": Field(size=24),
        "LastName": Field(distinct=400),
    }
    entries = {
        "Day": Field("datetime", order="rising", distinct=30),
        "At": Field("datetime", order="rising"),
        "EntryId": Field("guid"),
        "Text": Field(size=100),
    }
    sets = (
        declare_set(
            employees,
            shape=Shape("Employee", 5_000, people, growth=500),
            queries=[
                Query("by e-mail", {"Department": "=", "Email": "="}, rate=20),
                Query("by name", {"LastName": "="}, rate=1),
            ],
            writes=[Write("hire", "insert", rate=0.1)],
        ),
        declare_set(
            log,
            shape=Shape("Log", 100_000, entries),
            writes=[Write("note", "insert", rate=30, peak=90)],
            retention=Retention(30),
        ),
    )
    return Design("Staff", sets, years=2)


def without_sets(reviewed: Reviewed) -> list[Any]:
    """Return all that a review says, without the sets that it is of: those of two declarations are never the same."""
    blank = replace(reviewed.design.sets[0], name="", derived=(), key=EVENT_KEY, shape=EVENTS, queries=(), writes=())
    measured = [(each.of.name, replace(each, of=blank)) for each in reviewed.measured]
    consistency = [(each.of.name, replace(each, of=blank)) for each in reviewed.consistency]
    rest = (reviewed.heats, reviewed.account, reviewed.in_sight, reviewed.bill, reviewed.findings)
    return [measured, consistency, rest]


def test_a_file_and_a_program_that_declare_one_design_get_one_review() -> None:
    from_file, from_sets = read_design(STAFF), staff()
    for one, other in zip(from_file.sets, from_sets.sets, strict=True):
        assert replace(one, derived=()) == replace(other, derived=())
        assert [repr(each) for each in one.derived] == [repr(each) for each in other.derived]
    first, second = review(from_file), review(from_sets)
    assert without_sets(first) == without_sets(second)
    assert markdown(first) == markdown(second)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (Query("one", {"Nothing": "="}), 'query "one": known.Nothing is not a field of Event'),
        (Query("one", order="-Nothing"), "order = '-Nothing' is not a field of Event"),
        (Query("one", {"At": "prefix"}), "only strings can be searched so"),
        (Query("one", filter="At eq"), "the filter cannot be sent"),
        (Query("one", {"At": "="}, filter="true"), "there is a filter too"),
        (Query("one", rate=2, peak=1), "peak = 1: it is below rate = 2"),
        (Write("one", "update", ("Nothing",)), "changes: Nothing is not a field of Event"),
        (Write("one", "insert", atomic_with=("two",)), "'two' is not a write of another set"),
    ],
)
def test_a_program_gets_the_same_errors_as_a_design_file(broken: Query | Write, says: str) -> None:
    accesses: dict[str, Any] = {"queries" if isinstance(broken, Query) else "writes": [broken]}
    declared = declare_set(keepers()["entity_set"], shape=replace(EVENTS, fields=WITH_KIND), **accesses)
    with pytest.raises(BadDesign) as caught:
        review(Design("Events", (declared,)))
    assert says in str(caught.value)


WITH_KIND = {**EVENTS.fields, "Kind": Field(distinct=3)}


def test_the_review_reports_that_eventual_copies_may_be_stale() -> None:
    late = InterPartitionIndex(Key("{Kind}", "{Device}_{EventId:uuid}"), table="ByKind")
    entities = EntitySet(connect(), "Events", EVENT_KEY, derived=[late])
    by_kind = Query("by kind", {"Kind": "="})
    declared = declare_set(entities, shape=replace(EVENTS, fields=WITH_KIND), queries=[by_kind])
    (found,) = review(Design("Events", (declared,))).measured
    assert found.follows
