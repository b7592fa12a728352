"""Measured figures of access patterns, compared with calculated ones for the guide's employees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tablepatterns import (
    DataSeries,
    EncryptedProperties,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    LogTail,
    PartitionSpread,
    Period,
    PeriodTables,
    QueryClass,
    Storage,
    Summary,
    WideEntity,
    connect,
)
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.mapping import PropertyMapping
from tablepatterns.recipe import Pattern
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns_review import DeclaredSet, Design, Field, Query, Retention, Shape, Write, declare_set
from tablepatterns_review.measure.measure import measure
from tablepatterns_review.result import Measured

STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
DEPARTMENTS, NAMES, AGES = 4, 12, 6
FIELDS = {
    "Department": Field(distinct=DEPARTMENTS, size=10),
    "EmployeeId": Field("int32"),
    "Email": Field(size=24),
    "LastName": Field(distinct=NAMES, size=12),
    "Age": Field("int32", distinct=AGES),
    "Since": Field("datetime", order="rising"),
}
COUNT = 120
IN_DEPARTMENT = COUNT // DEPARTMENTS

BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
BY_EMAIL_ALONE = InterPartitionIndex(Key("{Email}", "{Department}_{EmployeeId:06d}"), table="EmployeesByEmail")
BY_SINCE = IntraPartitionIndex(Key("{Department}", "since_{Since:inverted}_{EmployeeId:06d}"))
BY_NAME = IndexEntity("LastName")


def staff(
    queries: Iterable[Query] = (),
    writes: Iterable[Write] = (),
    *,
    derived: Iterable[Derived] = (),
    mappings: Iterable[PropertyMapping] = (),
    count: int = COUNT,
) -> DeclaredSet:
    entities = EntitySet(connect(), "Employees", STAFF, derived=derived, mappings=mappings)
    return declare_set(entities, shape=Shape("Employee", count, FIELDS), queries=queries, writes=writes)


def asked(known: Mapping[str, Any] | None = None, *derived: Derived, **more: Any) -> Measured:
    """Return what a question to the employees takes."""
    return took(staff([Query("question", known or {}, **more)], derived=derived))


def written(operation: Any, *derived: Derived, **more: Any) -> Measured:
    """Return what a write of an employee takes."""
    return took(staff(writes=[Write("write", operation, **more)], derived=derived))


def took(*sets: DeclaredSet) -> Measured:
    return measure(Design("Staff", sets))[0]


def figures(found: Measured) -> tuple[QueryClass | None, float, float, float]:
    return found.query_class, found.requests, found.examined, found.returned


# -- Questions


def test_all_of_the_key_is_a_point_query() -> None:
    found = asked({"Department": "=", "EmployeeId": "="}, BY_EMAIL)
    assert found.how == "get(Department=..., EmployeeId=...)"
    assert figures(found) == (QueryClass.POINT, 1, 1, 1)
    assert (found.transactions, found.partitions, found.sample) == (1, 1, COUNT)


def test_an_index_answers_with_a_point_query() -> None:
    found = asked({"Department": "=", "Email": "="}, BY_EMAIL)
    assert figures(found) == (QueryClass.POINT, 1, 1, 1)
    assert (found.via, found.follows) == (BY_EMAIL.name, False)


def test_an_inter_partition_index_is_eventually_consistent() -> None:
    found = asked({"Email": "="}, BY_EMAIL_ALONE)
    # The partition of an e-mail has one row
    assert figures(found) == (QueryClass.RANGE, 1, 1, 1)
    assert (found.via, found.follows) == (BY_EMAIL_ALONE.name, True)


def test_without_an_index_the_partition_is_searched() -> None:
    found = asked({"Department": "=", "Email": "="})
    assert figures(found) == (QueryClass.PARTITION_SCAN, 1, IN_DEPARTMENT, 1)
    assert found.how == "range(Department=..., where=(Email))"


def test_without_the_partition_the_table_is_searched_with_all_copies_in_it() -> None:
    found = asked({"Age": "="}, BY_EMAIL)
    assert figures(found) == (QueryClass.TABLE_SCAN, 1, 2 * COUNT, 2 * COUNT / AGES)
    assert found.partitions == DEPARTMENTS


def test_a_row_key_without_its_partition_is_a_search_of_the_table() -> None:
    found = asked({"EmployeeId": "="})
    assert figures(found) == (QueryClass.TABLE_SCAN, 1, COUNT, 1)


def test_of_two_indexes_the_one_that_leaves_nothing_to_look_at_is_taken() -> None:
    by_age = IntraPartitionIndex(Key("{Department}", "age_{Age:03d}_{EmployeeId:06d}"))
    by_both = IntraPartitionIndex(Key("{Department}", "both_{LastName:escape}{Age:03d}_{EmployeeId:06d}"))
    found = asked({"Department": "=", "LastName": "=", "Age": "="}, by_age, by_both)
    assert found.via == by_both.name
    assert (found.query_class, found.examined) == (QueryClass.RANGE, found.returned)


def by_hour(count: int) -> Measured:
    """Return what a span of hours takes of a log with 50 hours, each a partition."""
    log = EntitySet(connect(), "Log", Key("{Hour:%Y-%m-%dT%H}", "{Id:uuid}"))
    fields = {"Hour": Field("datetime", order="rising", distinct=50), "Id": Field("guid")}
    span = Query("span", {"Hour": "range"})
    return took(declare_set(log, shape=Shape("Entry", count, fields), queries=[span]))


@pytest.mark.parametrize("count", [500, 500_000])
def test_a_range_of_partitions_is_a_search_of_that_stretch_of_the_table(count: int) -> None:
    found = by_hour(count)
    assert found.query_class is QueryClass.TABLE_SCAN
    assert found.examined == found.returned == pytest.approx(count / 10, rel=0.25)
    assert found.partitions == pytest.approx(5)


def test_a_list_is_read_and_each_entity_on_it() -> None:
    found = asked({"Department": "=", "LastName": "="}, BY_NAME)
    alike = found.examined - 1
    assert figures(found) == (QueryClass.POINT, 1 + alike, 1 + alike, 1 + alike)
    # Each entity is on its list, and those of its department that have its name by chance
    assert alike == pytest.approx(1 + (IN_DEPARTMENT - 1) * (COUNT // NAMES - 1) / (COUNT - 1), rel=0.02)


def test_totals_are_one_row() -> None:
    payroll = Summary(Key("{Department}", "department"), count="Count", sums={"Age": "Ages"})
    found = asked({"Department": "="}, payroll, select=("Count",))
    assert figures(found) == (QueryClass.POINT, 1, 1, 1)


def test_rows_that_come_in_the_order_that_is_wanted_are_read_as_far_as_wanted() -> None:
    found = asked({"Department": "="}, BY_SINCE, order="-Since", take=5)
    assert found.how == f"take(5, <{BY_SINCE.name}>, Department=...)"
    assert figures(found) == (QueryClass.RANGE, 1, 5, 5)


def test_in_any_other_order_all_are_read_and_sorted_by_the_caller() -> None:
    found = asked({"Department": "="}, BY_SINCE, order="Age", take=5)
    assert "sorted by the caller" in found.how
    assert figures(found) == (QueryClass.PARTITION_SCAN, 1, IN_DEPARTMENT, IN_DEPARTMENT)


def test_the_other_way_round_is_another_order() -> None:
    assert "sorted by the caller" in asked({"Department": "="}, BY_SINCE, order="Since", take=5).how


def test_a_beginning_is_a_range_of_an_index() -> None:
    found = asked({"Department": "=", "Email": "prefix"}, BY_EMAIL)
    assert found.query_class is QueryClass.RANGE
    assert found.examined == found.returned <= IN_DEPARTMENT / 4


@pytest.mark.parametrize("results", [2, 6, 15])
def test_a_range_holds_as_many_as_declared(results: int) -> None:
    found = asked({"Department": "=", "EmployeeId": "range"}, results=results)
    assert figures(found) == (QueryClass.RANGE, 1, results, results)


def test_an_index_that_lacks_what_is_wanted_costs_a_second_read() -> None:
    narrow = IntraPartitionIndex(Key("{Department}", "email_{Email}"), include=["Age"])
    whole, part = (asked({"Department": "=", "Email": "="}, narrow, select=select) for select in ((), ("Age",)))
    assert (whole.requests, part.requests) == (2, 1)


def test_an_index_in_other_partitions_that_lacks_what_is_selected_costs_a_second_read() -> None:
    narrow = InterPartitionIndex(Key("age_{Age:03d}", "{EmployeeId:06d}"), include=["LastName"])
    lacking, holding = (asked({"Age": "="}, narrow, select=select) for select in (["Email", "Age"], ["LastName"]))
    assert (holding.requests, holding.examined) == (1, holding.returned)
    assert lacking.requests == 1 + holding.returned > 2


def test_row_keys_combined_by_or_search_the_partition() -> None:
    text = "PartitionKey eq 'Sales' and (RowKey eq 'a' or RowKey eq 'b' or RowKey eq 'c')"
    found = asked(filter=text)
    assert figures(found) == (QueryClass.PARTITION_SCAN, 1, IN_DEPARTMENT, 3)
    assert found.how == f"query({text})"


def test_partitions_combined_by_or_search_the_table() -> None:
    found = asked(filter="PartitionKey eq 'a' and RowKey eq '1' or PartitionKey eq 'b' and RowKey eq '2'")
    assert (found.query_class, found.examined, found.returned) == (QueryClass.TABLE_SCAN, COUNT, 2)


def test_what_is_encrypted_is_looked_at_by_the_caller() -> None:
    sealed = EncryptedProperties(["Email"], keys=LocalKey("test", bytes(32)))
    found = took(staff([Query("by e-mail", {"Department": "=", "Email": "="})], mappings=[sealed]))
    assert "Email checked by the caller" in found.how
    assert figures(found) == (QueryClass.PARTITION_SCAN, 1, IN_DEPARTMENT, IN_DEPARTMENT)


def test_large_values_are_read_from_their_blobs() -> None:
    large = LargeProperties(["Email"], container="mails", above=16)
    found = took(staff([Query("by number", {"Department": "=", "EmployeeId": "="})], mappings=[large]))
    assert (found.requests, found.examined, found.blob_reads) == (2, 1, 1)


def test_the_first_values_count_more_where_the_question_is_skewed() -> None:
    fields = {**FIELDS, "Department": Field(distinct=DEPARTMENTS, skew=1.0)}
    entities = EntitySet(connect(), "Employees", STAFF)
    evenly, skewed = (Query(f"skew {skew}", {"Department": "="}, skew=skew) for skew in (0.0, 2.0))
    declared = declare_set(entities, shape=Shape("Employee", COUNT, fields), queries=[evenly, skewed])
    plain, first = measure(Design("Staff", (declared,)))
    assert plain.examined == pytest.approx(COUNT / DEPARTMENTS)
    assert first.examined > 1.4 * plain.examined


# -- Writes


@pytest.mark.parametrize(
    ("operation", "derived", "transactions", "written_rows"),
    [
        ("insert", (), 1, 1),
        ("insert", (BY_EMAIL,), 1, 2),
        ("insert", (BY_EMAIL_ALONE,), 5, 2),
        ("insert", (BY_NAME,), 2, 2),
        ("update", (), 2, 1),
        ("update", (BY_EMAIL,), 2, 2),
        ("delete", (), 1, 1),
        ("delete", (BY_EMAIL,), 2, 2),
    ],
)
def test_a_write_takes_what_its_recipe_says(
    operation: Any, derived: tuple[Derived, ...], transactions: int, written_rows: int
) -> None:
    found = written(operation, *derived, changes=("Age",) if operation == "update" else ())
    assert (found.transactions, found.written) == (transactions, written_rows)
    assert found.query_class is None
    assert found.follows == any(each.is_eventual for each in derived)


def test_a_field_of_the_row_key_that_changes_makes_another_row_in_one_transaction() -> None:
    found = written("update", changes=("EmployeeId",))
    assert (found.transactions, found.written, found.partitions) == (2, 2, 1)


def test_a_field_of_the_partition_that_changes_moves_the_entity() -> None:
    found = written("update", changes=("Department",))
    assert found.how == "PartitionMove.move(...)"
    # To read it, and the six of the recipe
    assert (found.transactions, found.partitions) == (7, 2)


def together(table: str) -> Measured:
    head = EntitySet(connect(), table, Key("{Department}", "department"))
    fields = {"Department": Field(size=10), "Count": Field("int32")}
    count = Write("count", "update", changes=("Count",))
    heads = declare_set(head, shape=Shape("Department", DEPARTMENTS, fields), name="Departments", writes=[count])
    return took(staff(writes=[Write("hire", "insert", atomic_with=("count",))]), heads)


def test_writes_of_one_partition_that_belong_together_are_one_transaction() -> None:
    found = together("Employees")
    # The count is read first
    assert (found.transactions, found.written, found.partitions, found.follows) == (2, 2, 1, False)
    assert found.how == "EntityGroupTransaction.commit(insert(...), count)"


def test_writes_of_two_partitions_that_belong_together_are_carried_on_by_a_message() -> None:
    found = together("Departments")
    assert (found.written, found.partitions, found.follows) == (2, 2, True)
    # The message and its receipt and end, the insert, and the update with its read
    assert found.transactions >= 6
    assert found.how == "EventualTransaction.start(insert(...), count)"


# -- Sets that something else keeps

EVENTS = {
    "Device": Field(distinct=5, size=8),
    "At": Field("datetime", order="rising"),
    "EntryId": Field("guid"),
    "Value": Field("double"),
}
LATEST = Query("latest", {"Device": "="}, order="-At", take=3)
SPAN = Query("span", {"Device": "=", "At": "range"}, results=4)
ADD = Write("add", "insert")


def events(keeper: Pattern[Any], *accesses: Query | Write, **more: Any) -> list[Measured]:
    queries = [each for each in accesses if isinstance(each, Query)]
    writes = [each for each in accesses if isinstance(each, Write)]
    shape = Shape("Event", 100, EVENTS)
    declared = declare_set(keeper, shape=shape, queries=queries, writes=writes, **more)
    return list(measure(Design("Events", (declared,))))


def test_the_newest_entries_of_a_log_tail_are_one_request() -> None:
    latest, span, add = events(LogTail(connect(), "Events", "{Device}"), LATEST, SPAN, ADD)
    assert figures(latest) == (QueryClass.RANGE, 1, 3, 3)
    assert figures(span) == (QueryClass.RANGE, 1, 4, 4)
    assert (add.how, add.transactions) == ("append(...)", 1)


def test_a_spread_set_is_asked_bucket_by_bucket() -> None:
    key = Key("{Device}", "{At:inverted}_{EntryId:uuid}")
    latest, add = events(PartitionSpread(connect(), "Events", key, buckets=4), LATEST, ADD)
    assert (latest.requests, latest.partitions) == (4, 4)
    assert 3 <= latest.examined <= 12
    assert add.transactions == 1


def by_day(storage: Storage, table: str) -> EntitySet[Storage]:
    return EntitySet(storage, table, Key("{Device}", "{At:inverted}_{EntryId:uuid}"))


def test_tables_of_a_period_are_asked_as_far_back_as_it_takes() -> None:
    days = PeriodTables(connect(), "Events", Period.DAY, factory=by_day)
    kept = Retention(10, "table")
    latest, every, add, dropped = events(days, LATEST, Query("all", {}), ADD, retention=kept)
    # The list of tables; 20 entries of a device in 10 days are 2 a day
    assert 2 <= latest.requests <= 4
    assert (every.query_class, every.returned) == (QueryClass.TABLE_SCAN, 100)
    assert add.transactions == 1
    # The list of the tables, and the delete of one, every day
    assert (dropped.how, dropped.transactions, dropped.is_implied) == ("drop_expired()", 2, True)
    assert dropped.rate == pytest.approx(1 / 86_400)


@pytest.mark.parametrize("row", ["{At:ticks}_{EntryId:uuid}", "{EntryId:uuid}"])
@pytest.mark.parametrize(("period", "days"), [(Period.DAY, 10), (Period.MONTH, 300)])
def test_an_hour_is_read_in_the_table_of_its_period(row: str, period: Period, days: int) -> None:
    """Its entities are those of the set divided by its hours, wherever the key has the instant."""
    key = Key("{Hour:%Y-%m-%dT%H}", row)
    periods = PeriodTables(
        connect(), "Events", period, factory=lambda account, table: EntitySet(account, table, key), at="At"
    )
    rising = Field("datetime", order="rising")
    fields = {"Hour": replace(rising, distinct=24 * days), "At": rising, "EntryId": Field("guid"), "Level": Field()}
    declared = declare_set(
        periods,
        shape=Shape("Event", 4_800 * days, fields),
        queries=[Query("hour", {"Hour": "="}), Query("of a level", {"Hour": "=", "Level": "="})],
        retention=Retention(days, "table"),
    )
    for measured in measure(Design("Events", (declared,)))[:2]:
        assert (measured.examined, measured.requests) == (pytest.approx(200, rel=0.1), 1)


def test_a_range_of_days_is_no_point_query_although_the_sample_has_one_day_of_it() -> None:
    """Of 730 partitions of a day, those of a month are scanned for one of 20,000 elevators."""
    day = Field("datetime", order="rising", distinct=730)
    key, fields = Key("{Day:%Y-%m-%d}", "{Elevator:06d}"), {"Day": day, "Elevator": Field("int32", distinct=20_000)}
    trips = EntitySet(connect(), "Trips", key)
    month = Query("month", {"Elevator": "=", "Day": "range"}, results=30)
    found = took(declare_set(trips, shape=Shape("Trips", 14_600_000, fields), queries=[month]))
    assert (found.query_class, found.returned) == (QueryClass.TABLE_SCAN, 30)
    assert found.examined == pytest.approx(600_000, rel=0.1)


def test_a_series_is_read_and_set_by_one_request() -> None:
    series = DataSeries(connect(), "Counts", Key("{Device}", ""), 24, prefix="Hour", value_type=int)
    shape = Shape("Counts", 5, {"Device": Field(size=8)})
    read, point = Query("day", {"Device": "="}), Write("count", "update")
    declared = declare_set(series, shape=shape, queries=[read], writes=[point])
    day, count = measure(Design("Counts", (declared,)))
    assert figures(day) == (QueryClass.POINT, 1, 1, 1)
    assert (count.how, count.transactions) == ("set(slot, value)", 1)


def test_a_wide_entity_is_one_range() -> None:
    wide = WideEntity(connect(), "Surveys", Key("{Id}", ""))
    fields = {"Id": Field(size=8), **{f"Answer{number:03d}": Field("int32") for number in range(240)}}
    declared = declare_set(wide, shape=Shape("Survey", 5, fields), queries=[Query("one", {"Id": "="})])
    assert figures(took(declared)) == (QueryClass.RANGE, 1, 1, 1)


# -- Scale


def test_a_sample_estimates_what_all_entities_take() -> None:
    """5,000 entities, 1,000 of which are made; and all of them."""
    count = 5_000
    queries = [
        Query("by name", {"Department": "=", "LastName": "="}),
        Query("by age", {"Department": "=", "Age": "="}),
        Query("all of an age", {"Age": "="}),
        Query("some numbers", {"Department": "=", "EmployeeId": "range"}, results=40),
        Query("first", {"Department": "="}, take=20),
    ]
    fields = {
        "Department": Field(distinct=40, skew=0.5),
        "EmployeeId": Field("int32"),
        "LastName": Field(distinct=20),
        "Age": Field("int32", distinct=AGES),
    }
    entities = EntitySet(connect(), "Employees", STAFF, derived=[BY_NAME])
    declared = declare_set(entities, shape=Shape("Employee", count, fields), queries=queries)
    design = Design("Staff", (declared,))
    for scaled, exact in zip(measure(design), measure(design, most=count), strict=True):
        assert (scaled.sample, exact.sample) == (1000, count)
        assert (scaled.how, scaled.query_class) == (exact.how, exact.query_class)
        assert scaled.examined == pytest.approx(exact.examined, rel=0.15)
        assert scaled.returned == pytest.approx(exact.returned, rel=0.2)
        assert scaled.requests == pytest.approx(exact.requests, rel=0.2)
        assert scaled.bytes_out == pytest.approx(exact.bytes_out, rel=0.2)


def test_a_filter_returns_as_many_results_as_are_declared() -> None:
    """One value of a property may be rare, such as the state of what has not been processed."""
    query = Query("of an age", filter="Age eq 30", results=400)
    assert figures(took(staff([query], count=100_000))) == (QueryClass.TABLE_SCAN, 10, 100_000, 400)


def test_as_many_results_as_are_declared_come_of_entities_that_were_not_made() -> None:
    question = Query("some numbers", {"Department": "=", "EmployeeId": "range"}, results=1777)
    found = took(staff([question], count=10_000))
    assert figures(found) == (QueryClass.RANGE, 2, 1777, 1777)


def test_pages_of_a_thousand_are_counted_for_entities_that_were_not_made() -> None:
    found = took(staff([Query("all", {"Department": "="})], count=10_000))
    assert (found.requests, found.examined, found.returned) == (3, 2500, pytest.approx(2500))


def test_sets_that_share_an_access_pattern_are_each_measured() -> None:
    by_name, hire = Query("by name", {"LastName": "="}), Write("hire", "insert")
    first = staff([Query("all", {"Age": "="}), by_name], [hire], derived=[BY_NAME])
    second = replace(first, name="Again", table="Again", queries=(by_name,))
    found = measure(Design("Staff", (first, second)))
    alone = [*measure(Design("Staff", (first,))), *measure(Design("Staff", (second,)))]
    assert [(each.of.name, each.access.name) for each in found] == [(each.of.name, each.access.name) for each in alone]
    assert [each.requests for each in found] == [each.requests for each in alone]


def test_the_same_design_takes_the_same() -> None:
    design = Design("Staff", (staff([Query("all", {"Age": "="})], [Write("hire", "insert")], derived=[BY_NAME]),))
    assert measure(design) == measure(design)
