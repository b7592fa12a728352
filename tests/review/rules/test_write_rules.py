"""Findings about writes that cannot be atomic, conflict, could be batched, or are never deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from review.rules.made import EMPLOYEES, asked, done, found, hot, reported
from tablepatterns import IndexEntity, InTable, InterPartitionIndex, Key, Summary
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Retention, Shape, Write
from tablepatterns_review.result import Severity

ORDERS = DeclaredSet(
    "Orders",
    "Orders",
    Key("{Customer}", "order_{OrderId:08d}"),
    Shape("Order", 1000, {"Customer": Field(distinct=100), "OrderId": Field("int32")}),
)
LINES = DeclaredSet(
    "Lines",
    "Orders",
    Key("{Customer}", "line_{OrderId:08d}_{Line:02d}"),
    Shape(
        "Line",
        4000,
        {"Customer": Field(distinct=100), "OrderId": Field("int32", distinct=1000), "Line": Field("int32", distinct=9)},
    ),
)
PLACE = Write("place", "insert", rate=0.00001, atomic_with=("add",))
ADD = Write("add", "insert", rate=0.00001)


class TestWritesThatMustHappenTogether:
    def test_are_one_transaction_in_one_partition(self) -> None:
        assert found(done(ORDERS, PLACE), done(LINES, ADD)) == []

    def test_are_not_in_two_tables(self) -> None:
        (one,) = found(done(ORDERS, PLACE), done(replace(LINES, table="Lines"), ADD))
        assert (one.rule, one.subject, one.pattern) == ("together-apart", "Orders: place", "entity_group_transaction")
        assert "Store both in one table" in one.better

    def test_could_share_a_partition_by_what_both_know(self) -> None:
        apart = replace(LINES, key=Key("lines_{Customer}_{OrderId:08d}", "{Line:02d}"))
        (one,) = found(done(ORDERS, PLACE), done(apart, ADD))
        assert "Store both in one table with Customer as the PartitionKey" in one.better

    def test_need_a_queue_where_nothing_is_common(self) -> None:
        stranger = replace(
            LINES,
            key=Key("{Ledger}", "{Id:uuid}"),
            shape=Shape("Line", 9, {"Ledger": Field(distinct=64), "Id": Field("guid")}),
        )
        (one,) = found(done(ORDERS, PLACE), done(stranger, ADD))
        assert one.pattern == "eventual_transaction"

    @pytest.mark.parametrize(("fresh", "severity"), [(0.0, Severity.SERIOUS), (5.0, Severity.WARNING)])
    def test_are_a_warning_if_readers_may_see_one_without_the_other(self, fresh: float, severity: Severity) -> None:
        read = asked(ORDERS, Query("order", {"Customer": "=", "OrderId": "="}, rate=1, max_staleness=fresh))
        (one,) = found(read, done(ORDERS, PLACE), done(replace(LINES, table="Lines"), ADD))
        assert one.severity is severity


class TestALateAnswer:
    INDEX = InterPartitionIndex(Key("email_{Email}", "email"), unique=True, name="by e-mail")
    OF = replace(EMPLOYEES, derived=(INDEX,))
    WRITE = Write("hire", "insert", rate=0.00001)

    @pytest.mark.parametrize("accepted", [0, 59])
    def test_is_reported_if_the_query_must_not_lag_as_long_as_after_a_crash(self, accepted: float) -> None:
        read = asked(self.OF, Query("it", {"Email": "="}, rate=1, max_staleness=accepted), via="by e-mail")
        assert reported(found(read, done(self.OF, self.WRITE))) == [("stale-read", "Employees: it")]

    @pytest.mark.parametrize("accepted", [60, None])
    def test_is_none_where_it_may_be_or_nothing_is_declared(self, accepted: float | None) -> None:
        read = asked(self.OF, Query("it", {"Email": "="}, rate=1, max_staleness=accepted), via="by e-mail")
        assert found(read, done(self.OF, self.WRITE)) == []

    def test_is_none_where_nothing_is_written(self) -> None:
        read = asked(self.OF, Query("it", {"Email": "="}, rate=1, max_staleness=0), via="by e-mail")
        assert found(read) == []


class TestContention:
    @pytest.mark.parametrize(
        ("peak", "expected"),
        [
            (80_000.0, [Severity.SERIOUS]),
            (79_999.0, [Severity.WARNING]),
            (20_000.0, [Severity.WARNING]),
            (19_999.0, []),
        ],
    )
    def test_on_one_entity_is_by_how_often_it_changes(self, peak: float, expected: list[Severity]) -> None:
        of = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, count=4000))
        write = Write("age", "update", ("Age",), rate=0.0001, peak=peak, writers=2)
        assert [each.severity for each in found(done(of, write))] == expected

    @pytest.mark.parametrize(("skew", "expected"), [(None, [Severity.SERIOUS]), (0.0, [])])
    def test_on_the_entity_of_the_current_day_is_that_of_all_changes(
        self, skew: float | None, expected: list[Severity]
    ) -> None:
        """By default, updates change entities of the current day; here, it has one."""
        fields = {"Day": Field("datetime", order="rising", distinct=700), "Searches": Field("int64")}
        of = DeclaredSet("Counts", "Counts", Key("{Day:%Y-%m-%d}", "searches"), Shape("Count", 700, fields))
        write = Write("search", "update", ("Searches",), rate=20, writers=2, skew=skew)
        assert [finding.severity for finding in found(done(of, write))] == expected

    def test_is_none_with_one_writer(self) -> None:
        assert found(done(EMPLOYEES, Write("age", "update", ("Age",), rate=0.0001, peak=1e9))) == []

    def test_on_a_total_is_by_the_busiest_group(self) -> None:
        of = replace(EMPLOYEES, derived=(Summary(Key("{Department}", "department"), name="count"),))
        write = Write("hire", "insert", rate=0.00001, peak=800, writers=2)
        (one,) = found(done(of, write))
        assert (one.rule, one.subject, one.severity) == ("contention", "Employees: count", Severity.SERIOUS)

    def test_on_a_total_of_each_day_is_that_of_the_current_day(self) -> None:
        totals = Summary(Key("{Department}", "{HiredAt:%Y-%m-%d}"), store=InTable("Totals"), name="count")
        of = replace(EMPLOYEES, derived=(totals,))
        (finding,) = found(done(of, Write("hire", "insert", rate=0.00001, peak=800, writers=2)))
        assert (finding.rule, finding.subject, finding.severity) == ("contention", "Employees: count", Severity.SERIOUS)

    def test_on_a_list_is_less_if_it_is_spread(self) -> None:
        write = Write("hire", "insert", rate=0.00001, peak=10_000, writers=2)
        used = Query("it", {"LastName": "="}, rate=1, max_staleness=60)
        rules = {}
        for spread in (1, 2):
            index = IndexEntity("LastName", store=InTable("Names"), spread=spread)
            of = replace(EMPLOYEES, derived=(index,))
            rules[spread] = [each.rule for each in found(done(of, write), asked(of, used, via="LastName"))]
        assert rules == {1: ["contention"], 2: []}

    def test_on_a_list_is_none_of_updates_that_leave_it_alone(self) -> None:
        of = replace(EMPLOYEES, derived=(IndexEntity("Age"),))
        query = asked(of, Query("it", {"Age": "=", "Department": "="}, rate=1), via="Age")
        write = Write("name", "update", ("LastName",), rate=0.00001, peak=19_999, writers=2)
        assert found(query, done(of, write)) == []


class TestSingleWrites:
    FEED = DeclaredSet(
        "Feed",
        "Feed",
        Key("{Source}", "{RowId:uuid}"),
        Shape("Row", 10**6, {"Source": Field(distinct=2), "RowId": Field("guid")}),
        retention=Retention(1, "table"),
        pattern="period_tables",
    )

    @pytest.mark.parametrize(
        ("rate", "writers", "expected"),
        [
            (100, 1, [Severity.WARNING]),
            (50, 1, [Severity.NOTE]),
            (40, 2, [Severity.NOTE]),
            (39, 2, []),
            (99, 5, []),
            (400, 5, [Severity.WARNING]),
        ],
    )
    def test_could_be_one_transaction(self, rate: float, writers: int, expected: list[Severity]) -> None:
        write = Write("load", "insert", rate=rate, writers=writers)
        assert [each.severity for each in found(done(self.FEED, write))] == expected

    def test_to_a_partition_that_must_be_divided_are_no_further_finding(self) -> None:
        write = Write("load", "insert", rate=100)
        heats = [hot("Feed", 2_000)]
        assert [finding.rule for finding in found(done(self.FEED, write), heats=heats)] == ["few-partitions"]

    @pytest.mark.parametrize(
        ("partition", "expected"),
        [
            ("{At:%Y-%m-%d}", ["single-writes"]),
            ("{Source}_{At:%Y-%m-%dT%H}", ["single-writes"]),
            # Each entity has its own partition
            ("{At:ticks}", []),
            ("{Source}_{RowId:uuid}", []),
        ],
    )
    def test_of_the_current_day_or_hour_share_its_partition(self, partition: str, expected: list[str]) -> None:
        fields = {**self.FEED.shape.fields, "At": Field("datetime", order="rising")}
        key = Key(partition, "row" if "RowId" in partition else "{RowId:uuid}")
        feed = replace(self.FEED, key=key, shape=replace(self.FEED.shape, fields=fields))
        findings = found(done(feed, Write("load", "insert", rate=400, writers=2)))
        assert [finding.rule for finding in findings if finding.rule == "single-writes"] == expected


class TestDeletes:
    @pytest.mark.parametrize(
        ("a_day", "expected"),
        [
            (100_000_000, [Severity.SERIOUS]),
            (99_000_000, [Severity.WARNING]),
            (250_000, [Severity.WARNING]),
            (249_999, [Severity.NOTE]),
            (10_000, [Severity.NOTE]),
            (9_999, []),
        ],
    )
    def test_of_one_entity_at_a_time_matter_by_the_day(self, a_day: float, expected: list[Severity]) -> None:
        of = replace(EMPLOYEES, retention=Retention(30, "entity"))
        said = found(done(of, Write("hire", "insert", rate=a_day / 86_400 + 1e-9)))
        assert [each.severity for each in said if each.rule == "delete-by-entity"] == expected

    def test_that_are_declared_count_too(self) -> None:
        write = Write("fire", "delete", rate=0.2)
        assert reported(found(done(EMPLOYEES, write))) == [("delete-by-entity", "Employees")]

    def test_of_many_processes_are_those_of_users(self) -> None:
        assert found(done(EMPLOYEES, Write("fire", "delete", rate=0.2, writers=4))) == []

    def test_of_entities_that_last_less_than_a_day_are_right(self) -> None:
        """Tasks that are done leave no table that could be dropped."""
        assert found(done(EMPLOYEES, Write("fire", "delete", rate=1))) == []

    @pytest.mark.parametrize(("share", "expected"), [(0.3, []), (0.95, ["delete-by-entity"])])
    def test_of_some_entities_are_no_cleanup(self, share: float, expected: list[str]) -> None:
        """Users who no longer follow others leave most rows of a growing table; those that expire leave none."""
        growing = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, growth=6e6))
        writes = (
            done(growing, Write("follow", "insert", rate=0.2)),
            done(growing, Write("leave", "delete", rate=0.2 * share)),
        )
        assert [each.rule for each in found(*writes) if each.rule == "delete-by-entity"] == expected

    def test_of_tables_are_right(self) -> None:
        of = replace(EMPLOYEES, retention=Retention(30, "table"), pattern="period_tables")
        assert found(done(of, Write("hire", "insert", rate=1))) == []


class TestALongPeriod:
    FIELDS: ClassVar = {"Id": Field("guid"), "At": Field("datetime", order="rising"), "Name": Field(personal=True)}

    @pytest.mark.parametrize(
        ("period", "names", "expected"),
        [
            ("month", ("Id", "At", "Name"), [Severity.WARNING]),
            ("month", ("Id", "At"), [Severity.NOTE]),
            ("week", ("Id", "At", "Name"), []),
        ],
    )
    def test_keeps_personal_data_beyond_its_retention(
        self, period: str, names: tuple[str, ...], expected: list[Severity]
    ) -> None:
        shape = Shape("Visit", 1000, {name: self.FIELDS[name] for name in names})
        key, settings = Key("{Id:uuid}", "row"), {"period": period, "at": "At"}
        of = DeclaredSet("Visits", "Visits", key, shape, "period_tables", settings, retention=Retention(7, "table"))
        assert [finding.severity for finding in found(sets=[of])] == expected


class TestGrowth:
    FIELDS: ClassVar = {"Id": Field("guid"), "Content": Field("binary", size=800)}
    """Rows of about a KiB."""

    @pytest.mark.parametrize(
        ("count", "growth", "expected"),
        [
            (10**9, 1e8, [Severity.WARNING]),
            (10**9, 9.9e7, []),
            (10**8, 2.5e7, [Severity.WARNING]),
            (10**8 + 1, 2.5e7, []),
            (10**7, 2.4e7, []),
        ],
    )
    def test_without_an_end_is_reported_unless_it_is_declared_so(
        self, count: int, growth: float, expected: list[Severity]
    ) -> None:
        of = DeclaredSet("Log", "Log", Key("{Id:uuid}", "row"), Shape("Row", count, self.FIELDS, growth))
        assert [each.severity for each in found(sets=[of])] == expected
        assert found(sets=[replace(of, permanent=True)]) == []

    def test_of_a_tebibyte_is_reported_of_fewer_entities(self) -> None:
        large = {**self.FIELDS, "Content": Field("binary", size=60_000)}
        of = DeclaredSet("Log", "Log", Key("{Id:uuid}", "row"), Shape("Row", 1, large, 2e7))
        assert reported(found(sets=[of])) == [("unbounded-growth", "Log")]

    def test_that_the_writes_exceed_is_reported(self) -> None:
        write = Write("hire", "insert", rate=0.01)
        assert reported(found(done(EMPLOYEES, write))) == [("growth-mismatch", "Employees")]
        gone = Write("fire", "delete", rate=0.0099)
        assert found(done(EMPLOYEES, write), done(EMPLOYEES, gone)) == []

    def test_that_has_no_end_is_compared_with_the_writes_too(self) -> None:
        of = DeclaredSet("Log", "Log", Key("{Id:uuid}", "row"), Shape("Row", 10**9, {"Id": Field("guid")}, 4e7))
        said = found(done(of, Write("log", "insert", rate=30)))
        # The growth of 40 million a year is too little for a finding, and the inserts may be wrong
        assert reported(said) == [("growth-mismatch", "Log")]
        # Which figure is right cannot be decided by a change; what the growth means as a rate helps to decide it
        assert said[0].better.endswith("The growth corresponds to a rate of 1.3/s.")


class TestALargePartition:
    @pytest.mark.parametrize(
        ("count", "skew", "expected"),
        [
            (4 * 10**8, 0.0, [Severity.NOTE]),
            (3 * 10**8, 0.0, []),
            (3 * 10**8, 1.0, [Severity.NOTE]),
        ],
    )
    def test_is_that_of_the_most_frequent_value(self, count: int, skew: float, expected: list[Severity]) -> None:
        fields = {**EMPLOYEES.shape.fields, "Department": Field(distinct=40, skew=skew)}
        of = replace(EMPLOYEES, key=Key("{Department}", "{EmployeeId:012d}"), shape=Shape("Employee", count, fields))
        assert [each.severity for each in found(sets=[of])] == expected

    def test_is_none_of_partitions_that_multiply(self) -> None:
        own = Shape("Employee", 4 * 10**9, EMPLOYEES.shape.fields)
        assert found(sets=[replace(EMPLOYEES, key=Key("{EmployeeId:012d}", "row"), shape=own)]) == []


class TestAnOverwrite:
    FIELDS: ClassVar = {
        "Ship": Field("int32"),
        "SeenAt": Field("datetime", order="rising"),
        "LastRead": Field("datetime"),
        "DueAt": Field("datetime"),
        "Latitude": Field("double"),
        "Calls": Field("int32"),
        "CallCount": Field("int32"),
        "Track": Field(size=9_000),
    }
    SHIPS = DeclaredSet("Ships", "Ships", Key("{Ship:09d}", "last"), Shape("Ship", 1000, FIELDS))

    @pytest.mark.parametrize(
        ("changes", "rules"),
        [
            (("SeenAt", "Latitude"), []),
            (("LastRead",), []),
            (("DueAt",), [("lost-update", Severity.WARNING)]),
            (("Latitude",), [("lost-update", Severity.WARNING)]),
            (("SeenAt", "CallCount"), [("lost-update", Severity.SERIOUS)]),
            (("SeenAt", "Track"), [("lost-update", Severity.WARNING)]),
            ((), [("lost-update", Severity.WARNING)]),
        ],
    )
    def test_loses_changes_unless_it_stores_what_was_seen_last(
        self, changes: tuple[str, ...], rules: list[tuple[str, Severity]]
    ) -> None:
        write = Write("see", "update", changes, rate=1, writers=4, overwrite=True)
        assert [(finding.rule, finding.severity) for finding in found(done(self.SHIPS, write))] == rules

    @pytest.mark.parametrize(("name", "rules"), [("count a call", ["lost-update"]), ("new account", [])])
    def test_loses_changes_that_its_name_says_are_added(self, name: str, rules: list[str]) -> None:
        write = Write(name, "update", ("SeenAt", "Calls"), rate=1, writers=4, overwrite=True)
        assert [finding.rule for finding in found(done(self.SHIPS, write))] == rules
