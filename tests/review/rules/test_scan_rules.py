"""Findings about queries that read more than they return, and queries without findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from review.rules.made import EMPLOYEES, asked, done, found, reported
from tablepatterns import EntitySet, InterPartitionIndex, IntraPartitionIndex, Key, connect
from tablepatterns.filters import QueryClass
from tablepatterns_review.design.model import DeclaredSet, Design, Field, Query, Shape, Write
from tablepatterns_review.measure.measure import measure
from tablepatterns_review.result import Severity

BY_AGE = Query("by age", {"Age": "="}, rate=1.0)


def scanned(examined: float, rate: float, returned: float = 1.0, query: Query = BY_AGE) -> list[Severity]:
    access = Query(query.name, query.known, rate=rate)
    measured = asked(EMPLOYEES, access, QueryClass.TABLE_SCAN, examined=examined, returned=returned)
    return [finding.severity for finding in found(measured)]


class TestHowMuchAScanMatters:
    @pytest.mark.parametrize(
        ("examined", "rate", "expected"),
        [
            (1_001, 1.0, [Severity.SERIOUS]),
            (1_000, 1.0, [Severity.WARNING]),
            (21, 1.0, [Severity.WARNING]),
            (20, 1.0, []),
            (10_001, 1 / 3600, [Severity.WARNING]),
            (9_000, 1 / 3600, [Severity.NOTE]),
            (1_002, 1 / 86_400, [Severity.NOTE]),
            (1_001, 1 / 86_400, []),
            (50, 1 / 3600, []),
        ],
    )
    def test_follows_from_what_is_read_in_vain(self, examined: float, rate: float, expected: list[Severity]) -> None:
        assert scanned(examined, rate) == expected

    def test_is_nothing_where_half_of_what_is_read_is_wanted(self) -> None:
        assert scanned(20_000, 1.9, returned=10_000) == []
        assert scanned(20_000, 1.9, returned=9_999) == [Severity.SERIOUS]

    def test_is_a_warning_where_all_is_wanted_but_exceeds_an_account(self) -> None:
        assert scanned(10_000, 2.0, returned=10_000) == [Severity.WARNING]
        assert scanned(1_000, 20.0, returned=1_000) == []

    @pytest.mark.parametrize(("results", "expected"), [(2_001, ["results-mismatch"]), (2_000, [])])
    def test_is_of_results_that_the_set_can_have(self, results: float, expected: list[str]) -> None:
        """Each of 40 departments has 500 employees."""
        query = Query("those hired since", {"Department": "=", "HiredAt": "range"}, results=results, rate=0.001)
        measured = asked(EMPLOYEES, query, QueryClass.RANGE, examined=500, returned=500)
        assert [finding.rule for finding in found(measured)] == expected

    def test_is_that_of_the_busiest_time(self) -> None:
        query = Query("by age", {"Age": "="}, rate=0.1, peak=10)
        measured = asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=200)
        assert [each.severity for each in found(measured)] == [Severity.SERIOUS]

    @pytest.mark.parametrize(
        ("rate", "requests", "expected"),
        [
            (20.1, 1, [Severity.SERIOUS]),
            (19.9, 1, [Severity.WARNING]),
            (1.0, 1, [Severity.WARNING]),
            # An index would take one request, too
            (0.9, 1, []),
            (0.9, 2, [Severity.WARNING]),
        ],
    )
    def test_in_one_partition_is_that_of_the_busiest(
        self, rate: float, requests: int, expected: list[Severity]
    ) -> None:
        fields = {**EMPLOYEES.shape.fields, "Department": Field(distinct=10)}
        of = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, fields=fields))
        query = Query("by age", {"Department": "=", "Age": "="}, rate=rate)
        measured = asked(of, query, QueryClass.PARTITION_SCAN, examined=501, requests=requests)
        assert [each.severity for each in found(measured)] == expected

    def test_in_one_partition_is_greater_if_the_question_is_skewed(self) -> None:
        query = Query("by age", {"Department": "=", "Age": "="}, rate=39, skew=1.0)
        one_entity = Query("by e-mail", {"Department": "=", "Email": "="}, rate=39, skew=0.0)
        said = [found(asked(EMPLOYEES, each, QueryClass.PARTITION_SCAN, examined=501)) for each in (query, one_entity)]
        assert [each.severity for (each,) in said] == [Severity.WARNING, Severity.WARNING]
        by_partition = Query("it", {"Department": "=", "Age": "range"}, rate=39, skew=1.0)
        (one,) = found(asked(EMPLOYEES, by_partition, QueryClass.PARTITION_SCAN, examined=501))
        assert one.severity is Severity.SERIOUS

    def test_is_serious_if_all_partitions_together_read_as_much_as_an_account_handles(self) -> None:
        spread = replace(EMPLOYEES.shape, fields={**EMPLOYEES.shape.fields, "Department": Field(distinct=10_000)})
        query = Query("by age", {"Department": "=", "Age": "="}, rate=40)
        severities = [
            [each.severity for each in found(asked(replace(EMPLOYEES, shape=spread), query, scan, examined=examined))]
            for scan, examined in ((QueryClass.PARTITION_SCAN, 500), (QueryClass.PARTITION_SCAN, 501))
        ]
        assert severities == [[Severity.WARNING], [Severity.SERIOUS]]

    @pytest.mark.parametrize(
        ("rate", "peak", "expected"),
        [(0.01, 0.4, []), (0.05, 0.4, [Severity.WARNING]), (0.01, 0.5, [Severity.WARNING])],
    )
    def test_that_is_rare_follows_from_its_mean_and_not_its_peak(
        self, rate: float, peak: float, expected: list[Severity]
    ) -> None:
        query = Query("by age", {"Age": "="}, rate=rate, peak=peak)
        measured = asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=401)
        assert [each.severity for each in found(measured)] == expected

    def test_does_not_include_pages_that_are_skipped(self) -> None:
        query = Query("page 40", {"Department": "="}, take=50, skip=2_000, rate=1)
        measured = asked(EMPLOYEES, query, QueryClass.RANGE, examined=2_050, returned=2_050)
        assert [each.rule for each in found(measured)] == ["deep-paging"]

    def test_in_one_partition_is_greater_if_that_has_more_entities(self) -> None:
        fields = {**EMPLOYEES.shape.fields, "Department": Field(distinct=40, skew=1.0)}
        of = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, fields=fields))
        query = Query("by age", {"Department": "=", "Age": "="}, rate=40)
        (one,) = found(asked(of, query, QueryClass.PARTITION_SCAN, examined=501))
        assert one.severity is Severity.SERIOUS

    def test_of_a_filter_is_always_in_the_same_partition(self) -> None:
        query = Query("by age", filter="PartitionKey eq 'Sales' and Age eq 30", rate=2.1)
        measured = asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=501)
        assert [each.severity for each in found(measured)] == [Severity.SERIOUS]


class TestAMissingIndex:
    def test_is_in_another_partition_if_the_query_does_not_give_the_partition(self) -> None:
        query = Query("by e-mail", {"Email": "="}, rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=20_000))
        assert (one.rule, one.subject, one.pattern) == (
            "missing-index",
            "Employees: by e-mail",
            "inter_partition_index",
        )
        assert 'InterPartitionIndex(Key("email_{Email}", "email"), unique=True)' in one.better
        assert "a table scan, called 50 times a second: each call reads 20,000 entities and needs 1" in one.says
        assert "MiB, and each write at least 2 table + 2 queue transactions, equivalent to" in one.better

    def test_is_in_the_partition_if_the_query_gives_it(self) -> None:
        query = Query("by name", {"Department": "=", "LastName": "="}, rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=500))
        assert one.pattern == "intra_partition_index"
        assert 'IntraPartitionIndex(Key("{Department}", "lastname_{LastName}_{EmployeeId:06d}"))' in one.better

    def test_serves_a_range_in_a_known_partition(self) -> None:
        query = Query("hired in", {"Department": "=", "HiredAt": "range"}, rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=500))
        assert one.rule == "missing-index"
        assert '"hiredat_{HiredAt:ticks}_{EmployeeId:06d}"' in one.better

    @pytest.mark.parametrize(
        "known",
        [
            ("Email",),
            ("LastName",),
            ("Age", "LastName"),
            ("HiredAt",),
            ("EmployeeId",),
            ("Department", "Email"),
            ("Department", "Age", "LastName"),
            ("Department", "HiredAt"),
        ],
    )
    def test_is_declared_as_python_can_read(self, known: tuple[str, ...]) -> None:
        query = Query("it", dict.fromkeys(known, "="), rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=20_000))
        code = one.better[one.better.index("Int") : one.better.rindex("):") + 1].rstrip(":")
        names = {"Key": Key, "IntraPartitionIndex": IntraPartitionIndex, "InterPartitionIndex": InterPartitionIndex}
        index = eval(code, names)  # noqa: S307
        assert EntitySet(connect(), "Employees", EMPLOYEES.key, derived=[index]).derived == (index,)

    def test_is_missed_by_what_is_asked_every_hour(self) -> None:
        query = Query("by age", {"Age": "="}, rate=1 / 3600)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=20_000, returned=400))
        assert one.rule == "missing-index"
        query = Query("older", {"Age": "range"}, rate=1 / 3600)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=20_000, returned=400))
        assert "one partition at a time" in one.better

    def test_is_not_missed_by_a_job_that_runs_once_a_day(self) -> None:
        query = Query("by age", {"Age": "="}, rate=1 / 86_400)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=20_000, returned=400))
        assert (one.rule, one.severity) == ("table-scan", Severity.NOTE)


class TestACount:
    QUERY = Query("how many", {"Department": "=", "Age": "="}, count_only=True, rate=2)

    def test_is_one_finding(self) -> None:
        count = asked(EMPLOYEES, self.QUERY, QueryClass.PARTITION_SCAN, examined=500, returned=20)
        assert reported(found(count)) == [("count-by-reading", "Employees: how many")]

    @pytest.mark.parametrize(("examined", "rules"), [(11, ["count-by-reading"]), (10, [])])
    def test_of_a_few_entities_is_none(self, examined: float, rules: list[str]) -> None:
        query = replace(self.QUERY, rate=80)
        count = asked(EMPLOYEES, query, QueryClass.RANGE, examined=examined, returned=examined)
        assert [finding.rule for finding in found(count)] == rules

    def test_of_a_rare_job_is_a_scan(self) -> None:
        query = replace(self.QUERY, rate=1 / 80_000)
        count = asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=5_000, returned=20)
        assert reported(found(count)) == [("partition-scan", "Employees: how many")]


class TestAJob:
    @pytest.mark.parametrize(
        ("examined", "expected"),
        [(17_000_000, [Severity.NOTE]), (18_000_000, [Severity.WARNING])],
    )
    def test_that_reads_for_a_tenth_of_the_day_is_a_note(self, examined: float, expected: list[Severity]) -> None:
        query = Query("who is due", {"Age": "range"}, rate=1 / 86_400, peak=1 / 86_400)
        scan = asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=examined, returned=350)
        assert [finding.severity for finding in found(scan) if finding.rule == "table-scan"] == expected


class TestAKeyOfSeveralFields:
    MAILS = DeclaredSet(
        "Mails",
        "Mails",
        Key("{User}", "{Channel}_{At:ticks}_{MailId:uuid}"),
        Shape(
            "Mail",
            9000,
            {
                "User": Field(distinct=90),
                "Channel": Field(distinct=4),
                "At": Field("datetime", order="rising"),
                "MailId": Field("guid"),
            },
        ),
    )

    def reported(self, query: Query) -> list[tuple[str, str]]:
        return reported(found(asked(self.MAILS, query, QueryClass.RANGE, examined=900)))

    def test_serves_what_is_known_from_the_left_and_one_range(self) -> None:
        assert self.reported(Query("it", {"User": "=", "Channel": "=", "At": "range"}, rate=9)) == []

    def test_does_not_serve_fields_after_one_that_the_query_does_not_give(self) -> None:
        query = Query("it", {"User": "=", "Channel": "=", "MailId": "="}, rate=9)
        (one,) = found(asked(self.MAILS, query, QueryClass.RANGE, examined=900))
        assert one.rule == "missing-index"
        assert "it filters on MailId," in one.says

    def test_does_not_serve_a_range_behind_a_range(self) -> None:
        query = Query("it", {"User": "=", "Channel": "range", "At": "range"}, rate=9)
        assert self.reported(query) == [("missing-index", "Mails: it")]

    def test_has_the_order_of_the_first_field_that_is_not_known(self) -> None:
        by_time = Query("it", {"User": "="}, order="At", take=5, rate=9)
        assert self.reported(by_time) == [("client-sort", "Mails: it")]
        of_channel = Query("it", {"User": "=", "Channel": "="}, order="At", take=5, rate=9)
        assert self.reported(of_channel) == []


class TestAFilter:
    def test_of_keys_joined_by_or_is_reported_as_such(self) -> None:
        text = "PartitionKey eq 'Sales' and (RowKey eq '1' or RowKey eq '2')"
        query = Query("two of them", filter=text, rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=500, returned=2))
        assert one.rule == "or-of-keys"
        assert "2 point queries" in one.better

    def test_of_partitions_joined_by_or_is_reported_as_such(self) -> None:
        text = "(PartitionKey eq 'Sales' or PartitionKey eq 'Legal' or PartitionKey eq 'IT') and Age eq 30"
        query = Query("three departments", filter=text, rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=20_000, returned=90))
        assert (one.rule, one.better) == ("or-of-keys", "Send 3 queries, one for each PartitionKey, in parallel.")

    @pytest.mark.parametrize(
        "text",
        [
            "PartitionKey eq 'Sales' or Age eq 30",
            "PartitionKey ge 'A' and PartitionKey lt 'C' and (Age eq 30 or Age eq 31)",
        ],
    )
    def test_of_one_partition_or_of_a_range_of_them_is_a_scan(self, text: str) -> None:
        query = Query("some", filter=text, rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=20_000, returned=90))
        assert one.rule == "table-scan"

    def test_of_a_value_in_a_known_partition_misses_an_index_there(self) -> None:
        query = Query("by age", filter="PartitionKey eq 'Sales' and Age eq 30", rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=500))
        assert (one.rule, one.pattern) == ("missing-index", "intra_partition_index")

    def test_of_what_is_unequal_is_a_scan_that_no_index_helps(self) -> None:
        query = Query("not thirty", filter="PartitionKey eq 'Sales' and Age ne 30", rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=500))
        assert one.rule == "partition-scan"

    def test_of_a_range_in_all_partitions_is_a_table_scan(self) -> None:
        query = Query("older", filter="Age gt 30", rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.TABLE_SCAN, examined=500))
        assert one.rule == "table-scan"


class TestAnOrder:
    ENTRIES = DeclaredSet(
        "Entries",
        "Entries",
        Key("{Room}", "{At:ticks}_{EntryId:uuid}"),
        Shape(
            "Entry",
            1000,
            {"Room": Field(distinct=10), "At": Field("datetime", order="rising"), "EntryId": Field("guid")},
        ),
    )

    def test_of_the_newest_is_that_of_a_log_tail(self) -> None:
        query = Query("newest", {"Room": "="}, order="-At", take=10, rate=50)
        (one,) = found(asked(self.ENTRIES, query, QueryClass.PARTITION_SCAN, examined=100, returned=10))
        assert (one.rule, one.pattern) == ("client-sort", "log_tail")
        assert "{At:inverted}" in one.better

    def test_of_a_number_that_falls_needs_one_that_rises(self) -> None:
        """No format of a key sorts numbers in descending order, so no index by the number itself helps."""
        query = Query("oldest", {"Department": "="}, order="-Age", take=3, rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=500, returned=3))
        assert one.better.startswith("Store a number that falls as Age rises")

    @pytest.mark.parametrize("order", ["Age", "-Age", "HiredAt"])
    def test_of_anything_else_is_that_of_an_index(self, order: str) -> None:
        query = Query("youngest", {"Department": "="}, order=order, take=3, rate=50)
        (one,) = found(asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=500, returned=3))
        assert (one.rule, one.pattern) == ("client-sort", "intra_partition_index")

    def test_that_the_keys_have_is_no_finding(self) -> None:
        query = Query("oldest", {"Room": "="}, order="At", take=10, rate=50)
        assert found(asked(self.ENTRIES, query, QueryClass.PARTITION_SCAN, examined=10, returned=10)) == []


class TestALog:
    LOG = DeclaredSet(
        "Log",
        "Log",
        Key("{Source}", "{At:ticks}_{EntryId:uuid}"),
        Shape(
            "Entry",
            9000,
            {"Source": Field(distinct=9), "At": Field("datetime", order="rising"), "EntryId": Field("guid")},
        ),
    )
    SPAN = Query("span", {"At": "range"}, rate=1)

    def test_that_is_searched_for_a_span_of_time_belongs_in_blobs(self) -> None:
        scan = asked(self.LOG, self.SPAN, QueryClass.TABLE_SCAN, examined=9000, returned=10)
        one = found(scan, done(self.LOG, Write("log", "insert", rate=0.0001)))[0]
        assert (one.rule, one.pattern) == ("log-data", "blob_log")

    def test_is_none_if_its_entities_are_changed(self) -> None:
        scan = asked(self.LOG, self.SPAN, QueryClass.TABLE_SCAN, examined=9000, returned=10)
        change = done(self.LOG, Write("mend", "update", ("Text",), rate=0.0001))
        assert reported(found(scan, change)) == [("table-scan", "Log: span")]


class TestAFilterAsItIsSent:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("HiredAt ge '2026-01-01T00:00:00Z'", "HiredAt is a timestamp, and '2026-01-01T00:00:00Z' is text"),
            ("Age eq '5'", "Age is an int32, and '5' is text"),
            ("Age eq 5L", "Age is an int32, and 5L is an int64"),
            ("PartitionKey eq 'a' and Mail eq 'b'", "no entity has a property Mail; Email is meant"),
            ("partitionkey eq 'a'", "no entity has a property partitionkey; PartitionKey is meant"),
            ("Xyzzy eq 'a'", "no entity has a property Xyzzy"),
            ("Age eq 5", None),
            ("Age eq 5 and Timestamp ge datetime'2026-01-01T00:00:00Z'", None),
        ],
    )
    def test_matches_nothing_if_a_name_or_a_type_is_wrong(self, text: str, reason: str | None) -> None:
        said = found(asked(EMPLOYEES, Query("it", filter=text, rate=5), QueryClass.TABLE_SCAN, examined=20_000))
        mistakes = [each.says for each in said if each.rule == "filter-mistake"]
        assert [f"but {reason}: this condition is false" in each for each in mistakes] == [True] * bool(reason)
        # No index helps it
        assert reason is None or [each.rule for each in said] == ["filter-mistake"]

    @pytest.mark.parametrize(("text", "returned"), [("Age eq '5'", 0), ("Age eq 5", 400), ("Age lt '5'", 20_000)])
    def test_is_measured_as_the_engine_answers_it(self, text: str, returned: float) -> None:
        of = replace(EMPLOYEES, queries=(Query("it", filter=text, rate=5),))
        (measured,) = measure(Design("Staff", (of,)))
        assert measured.returned == pytest.approx(returned, rel=0.05)


class TestResultsThatTheCallerSorts:
    BY_HIRING = Query("it", {"Department": "="}, order="-HiredAt", take=10, rate=1)

    @pytest.mark.parametrize(("examined", "expected"), [(13, [Severity.NOTE]), (10, []), (600, [Severity.WARNING])])
    def test_are_found_even_if_there_are_few(self, examined: float, expected: list[Severity]) -> None:
        measured = asked(EMPLOYEES, self.BY_HIRING, QueryClass.PARTITION_SCAN, examined=examined, returned=examined)
        assert [each.severity for each in found(measured)] == expected

    def test_are_none_if_the_key_has_the_order(self) -> None:
        of = replace(EMPLOYEES, key=Key("{Department}", "{HiredAt:inverted}_{EmployeeId:06d}"))
        assert found(asked(of, self.BY_HIRING, QueryClass.RANGE, examined=13, returned=13)) == []
