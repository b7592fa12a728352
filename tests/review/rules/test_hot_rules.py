"""Findings about overloaded partitions and accounts: each once, with its cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from review.rules.made import EMPLOYEES, STEP, asked, done, found, hot, reported
from tablepatterns import EntitySet, IndexEntity, InTable, Key, connect
from tablepatterns.filters import QueryClass
from tablepatterns_review import Design, PriceTable, Retention, declare_set
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Shape, Write
from tablepatterns_review.measure.measure import Measurements
from tablepatterns_review.result import AccountLoad, Severity
from tablepatterns_review.reviewer import without_advice

HIRE = Write("hire", "insert", rate=0.0001, peak=3000)
BY_HOUR = replace(EMPLOYEES, key=Key("{HiredAt:%Y-%m-%dT%H}", "empid_{EmployeeId:06d}"))
ALONE = replace(EMPLOYEES, key=Key("all", "empid_{EmployeeId:06d}"))


class TestAHotPartition:
    @pytest.mark.parametrize(
        ("peak", "expected"),
        [(2000.0, [Severity.SERIOUS]), (1999.0, [Severity.WARNING]), (1334.0, [Severity.WARNING]), (1333.0, [])],
    )
    def test_matters_by_how_near_its_target_is(self, peak: float, expected: list[Severity]) -> None:
        measured = done(EMPLOYEES, HIRE)
        assert [each.severity for each in found(measured, heats=[hot("Employees", peak)])] == expected

    def test_is_reported_with_its_peak_its_hour_and_the_effect_of_buckets(self) -> None:
        (one,) = found(done(EMPLOYEES, HIRE), heats=[hot("Employees", 6000)])
        assert one.rule == "hot-partition"
        assert "partition 'Sales' of Employees handles up to 6,000 entities a second" in one.says
        assert "300% of its target, and exceeds it from 12:00 on" in one.says
        assert "with 4 buckets, the busiest handles 1,500 entities a second" in one.better

    def test_that_reads_keep_hot_is_not_to_be_spread(self) -> None:
        heat = replace(hot("Employees", 6000), buckets=1, spread_peak=6000.0)
        page = asked(EMPLOYEES, Query("page", {"Department": "="}, take=90, rate=60), QueryClass.RANGE, examined=90.0)
        (read,) = found(page, heats=[heat])
        assert read.better == "Cache what is read most, or store copies in several partitions."
        (written,) = found(done(EMPLOYEES, HIRE), heats=[heat])
        assert "which does not help the reads, since each of them reads every bucket." in written.better

    @pytest.mark.parametrize(("peak", "words"), [(2000, "100% of its target"), (1900, "95% of its target")])
    def test_is_reported_by_its_share_of_the_target(self, peak: float, words: str) -> None:
        (one,) = found(done(EMPLOYEES, HIRE), heats=[hot("Employees", peak)])
        assert words in one.says

    def test_of_few_values_is_reported_as_such(self) -> None:
        few = replace(
            EMPLOYEES,
            shape=replace(EMPLOYEES.shape, fields={**EMPLOYEES.shape.fields, "Department": Field(distinct=32)}),
        )
        assert reported(found(done(few, HIRE), heats=[hot("Employees", 6000)])) == [("few-partitions", "Employees")]

    def test_that_moves_with_time_is_prepend_append_and_nothing_else(self) -> None:
        heat = hot("Employees", 6000, partition="2014-08-22T12", follows_time=True)
        (one,) = found(done(BY_HOUR, HIRE), heats=[heat])
        assert (one.rule, one.pattern) == ("prepend-append", "partition_spread")

    @pytest.mark.guide("G-106", "G-250")
    @pytest.mark.parametrize(
        ("partition", "row", "is_flagged"),
        [
            ("{At:%Y-%m-%dT%H}", "{EntryId:uuid}", True),
            ("{At:ticks}", "{EntryId:uuid}", True),
            ("log_{At:inverted}", "{EntryId:uuid}", True),
            ("{Source}_{EntryId:uuid}", "{At:%Y-%m-%dT%H}", False),
            ("{Source}_{At:%Y-%m-%dT%H}", "{EntryId:uuid}", False),
            ("{At:%Y-%m-%d}_{Source}", "{EntryId:uuid}", False),
            ("{Level}_{At:%Y-%m-%dT%H}", "{EntryId:uuid}", True),
            ("{Tenant}_{At:%Y-%m-%dT%H}", "{EntryId:uuid}", False),
        ],
    )
    def test_of_time_alone_is_prepend_append(self, partition: str, row: str, is_flagged: bool) -> None:
        log = EntitySet(connect(), "Log", Key(partition, row))
        fields = {"At": Field("datetime", order="rising"), "EntryId": Field("guid"), "Source": Field(distinct=10_000)}
        fields |= {"Level": Field(distinct=2), "Tenant": Field(distinct=200, skew=1.8)}
        writes = [Write("log", "insert", rate=5_000, writers=50)]
        shape = Shape("Entry", 1_000_000, fields, growth=5_000 * 31_557_600)
        declared = declare_set(log, shape=shape, writes=writes, retention=Retention(30, "entity"))
        _, reviewed = without_advice(Design("Log", (declared,)), PriceTable.default(), Measurements())
        rules = {finding.rule: finding.says for finding in reviewed.findings}
        assert ("prepend-append" in rules) is is_flagged
        assert ("2 partitions at a time" in rules.get("prepend-append", "")) is ("Level" in partition)
        # The largest of many tenants takes half of what is written at a time
        assert ("hot-partition" in rules) is ("Tenant" in partition)

    @pytest.mark.parametrize(
        ("partition", "skew", "rate", "is_flagged"),
        [
            ("{Day:%Y-%m-%d}", None, 1_500, True),
            ("{Day:%Y-%m}", None, 1_500, True),
            # The calls use all days alike, as they do for nights that guests book in advance
            ("{Day:%Y-%m-%d}", 0.0, 1_500, False),
            ("{Day:%Y-%m-%d}", None, 100, False),
            ("{Hotel}_{Day:%Y-%m-%d}", None, 1_500, False),
            # A key of microseconds is that of one entity, which reads do not share
            ("{Day:ticks}", None, 1_500, False),
        ],
    )
    def test_of_the_current_day_takes_the_calls_whose_skew_is_not_declared(
        self, partition: str, skew: float | None, rate: float, is_flagged: bool
    ) -> None:
        fields = {"Day": Field("datetime", order="rising", distinct=400), "Hotel": Field(distinct=9_000)}
        fields |= {"StayId": Field("guid"), "State": Field(distinct=4)}
        stays = EntitySet(connect(), "Stays", Key(partition, "{StayId:uuid}"))
        query = Query("stay", dict.fromkeys(stays.key.fields, "="), rate=rate, skew=skew)
        writes = [
            Write("book", "insert", rate=0.1),
            Write("check in", "update", ("State",), rate=rate / 3, skew=skew, writers=1),
        ]
        shape = Shape("Stay", 8_000_000, fields, growth=0.1 * 31_557_600)
        declared = declare_set(stays, shape=shape, queries=[query], writes=writes)
        _, reviewed = without_advice(Design("Stays", (declared,)), PriceTable.default(), Measurements())
        hot_days = [finding for finding in reviewed.findings if finding.rule == "prepend-append"]
        assert [(finding.severity, "declare skew = 0" in finding.better) for finding in hot_days] == [
            (Severity.SERIOUS, True)
        ] * is_flagged

    def test_of_the_current_day_takes_no_deletes_of_old_entities(self) -> None:
        """The deletes of a retention are as many as the inserts, and use the oldest day."""
        log = EntitySet(connect(), "Log", Key("{At:%Y-%m-%d}", "{EntryId:uuid}"))
        fields = {"At": Field("datetime", order="rising"), "EntryId": Field("guid")}
        shape = Shape("Entry", 1_800_000_000, fields)
        writes = [Write("log", "insert", rate=700, writers=50)]
        declared = declare_set(log, shape=shape, writes=writes, retention=Retention(30, "entity"))
        _, reviewed = without_advice(Design("Log", (declared,)), PriceTable.default(), Measurements())
        assert "prepend-append" not in {finding.rule for finding in reviewed.findings}

    def test_of_a_log_that_is_read_by_time_belongs_in_blobs(self) -> None:
        heat = hot("Employees", 6000, follows_time=True)
        span = asked(BY_HOUR, Query("span", {"HiredAt": "range"}, rate=0.00001), QueryClass.RANGE)
        (one,) = found(done(BY_HOUR, HIRE), span, heats=[heat])
        assert (one.rule, one.pattern) == ("prepend-append", "blob_log")

    def test_that_is_the_only_one_is_reported_as_such(self) -> None:
        (one,) = found(done(ALONE, HIRE), heats=[hot("Employees", 6000, partition="all")])
        assert (one.rule, one.pattern) == ("one-partition", "compound_key")

    def test_of_a_few_entities_that_are_read_is_to_be_kept_by_the_readers(self) -> None:
        small = replace(ALONE, shape=replace(ALONE.shape, count=1000))
        read = asked(small, Query("it", {"EmployeeId": "="}, rate=6000))
        (one,) = found(read, heats=[hot("Employees", 6000, partition="all")])
        assert one.pattern == "lookup"

    def test_is_judged_without_the_scans_which_are_findings_of_their_own(self) -> None:
        """A partition that only scans make hot is the scan's finding; a scan does not hide one that is hot anyway."""
        log = EntitySet(connect(), "Log", Key("{At:%Y-%m-%dT%H}", "{EntryId:uuid}"))
        fields = {"At": Field("datetime", order="rising"), "EntryId": Field("guid"), "Level": Field(distinct=4)}
        scan = Query("of a level", {"Level": "="}, rate=1)
        rules = {}
        for rate in (1, 5_000):
            writes = [Write("log", "insert", rate=rate, writers=50)]
            shape = Shape("Entry", 1_000_000, fields, growth=rate * 31_557_600)
            declared = declare_set(log, shape=shape, queries=[scan], writes=writes, retention=Retention(30, "entity"))
            _, reviewed = without_advice(Design("Log", (declared,)), PriceTable.default(), Measurements())
            rules[rate] = {each.rule for each in reviewed.findings}
        assert "prepend-append" not in rules[1]
        assert {"prepend-append", "missing-index"} <= rules[5_000]

    def test_of_lists_in_another_table_is_that_of_the_index(self) -> None:
        listed = replace(EMPLOYEES, derived=(IndexEntity("LastName", store=InTable("Names")),))
        query = asked(listed, Query("it", {"LastName": "="}, rate=1, max_staleness=60), via="LastName")
        assert reported(found(query, heats=[hot("Names", 6000)])) == [("hot-index", "Names")]


class TestTheAccount:
    @pytest.mark.parametrize(
        ("peak", "expected"),
        [
            (20_000.0, [Severity.SERIOUS]),
            (19_999.0, [Severity.WARNING]),
            (16_000.0, [Severity.WARNING]),
            (15_999.0, []),
        ],
    )
    def test_is_near_its_target_from_four_fifths_of_it_on(self, peak: float, expected: list[Severity]) -> None:
        load = AccountLoad(STEP, (1.0, peak), 20_000.0)
        assert [each.severity for each in found(sets=[EMPLOYEES], account=load)] == expected

    def test_is_not_at_its_target_if_only_a_scan_takes_it_there(self) -> None:
        fields = {"Department": Field(distinct=10), "EmployeeId": Field("int32"), "Email": Field(size=20)}
        shape = Shape("Employee", 1_000_000, fields)
        for known, rule in (({"Email": "="}, False), ({"Department": "=", "EmployeeId": "="}, True)):
            query = Query("it", known, rate=30_000 if rule else 1_000)  # type: ignore[arg-type]
            staff = replace(EMPLOYEES, shape=shape, derived=(), queries=(query,), writes=())
            _, reviewed = without_advice(Design("Staff", (staff,)), PriceTable.default(), Measurements())
            assert reviewed.account.peak > reviewed.account.target
            assert ("account-target" in {finding.rule for finding in reviewed.findings}) is rule

    def test_is_the_subject(self) -> None:
        load = AccountLoad(STEP, (30_000.0,), 20_000.0)
        (one,) = found(sets=[EMPLOYEES], account=load)
        assert (one.rule, one.subject) == ("account-target", "account")
        assert "150% of its target" in one.says


def test_that_a_hot_partition_is_large_is_no_further_note() -> None:
    large = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, count=400_000_000))
    call, about = done(large, replace(HIRE, peak=3_000)), ("hot-partition", "large-partition")
    assert {rule for rule, _ in reported(found(call))}.intersection(about) == {"large-partition"}
    rules = {rule for rule, _ in reported(found(call, heats=[hot("Employees", 6000)]))}
    assert rules.intersection(about) == {"hot-partition"}


def test_two_sets_of_one_table_are_hot_by_the_one_that_does_more() -> None:
    other = DeclaredSet(
        "Notes",
        "Employees",
        Key("{Department}", "note_{NoteId:uuid}"),
        Shape("Note", 9000, {"NoteId": Field("guid"), "Department": Field(distinct=40)}),
    )
    measured = [
        done(EMPLOYEES, replace(HIRE, peak=10)),
        done(other, Write("write", "insert", rate=0.0000001, peak=3000)),
    ]
    assert reported(found(*measured, heats=[hot("Employees", 6000)])) == [("hot-partition", "Notes")]
