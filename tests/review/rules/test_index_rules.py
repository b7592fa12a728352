"""Findings about indexes that are unused, redundant or incomplete."""

from __future__ import annotations

from dataclasses import replace

import pytest

from review.rules.made import EMPLOYEES, asked, done, found, reported
from tablepatterns import IndexEntity, InterPartitionIndex, IntraPartitionIndex, Key, Summary
from tablepatterns.entity_set.derived import Derived
from tablepatterns.filters import QueryClass
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Write
from tablepatterns_review.result import Severity

BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"), name="by e-mail")
BY_NAME = IntraPartitionIndex(Key("{Department}", "name_{LastName}_{EmployeeId:06d}"), name="by name")
FIND = Query("it", {"Department": "=", "Email": "="}, rate=1.0)


def having(*derived: Derived, of: DeclaredSet = EMPLOYEES) -> DeclaredSet:
    return replace(of, derived=derived)


class TestAnUnusedIndex:
    def test_is_found(self) -> None:
        of = having(BY_EMAIL, BY_NAME)
        assert reported(found(asked(of, FIND, via="by e-mail"))) == [("unused-index", "Employees: by name")]

    def test_is_a_note_where_little_is_written_and_kept(self) -> None:
        small = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, count=9_999))
        assert [each.severity for each in found(sets=[having(BY_NAME, of=small)])] == [Severity.NOTE]
        many = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, count=10_000))
        assert [each.severity for each in found(sets=[having(BY_NAME, of=many)])] == [Severity.WARNING]
        busy = done(having(BY_NAME, of=small), Write("hire", "update", ("Age",), rate=0.0001, peak=1))
        assert [each.severity for each in found(busy)] == [Severity.WARNING]

    def test_is_none_if_it_keeps_a_value_unique(self) -> None:
        unique = InterPartitionIndex(Key("email_{Email}", "email"), unique=True)
        assert found(sets=[having(unique)]) == []

    def test_is_none_if_it_is_kept_for_more_than_queries(self) -> None:
        assert found(sets=[having(Summary(Key("{Department}", "department")))]) == []


class TestARedundantIndex:
    def test_begins_with_all_fields_of_another(self) -> None:
        longer = IntraPartitionIndex(Key("{Department}", "mail_{Email}_{Age:03d}"), name="longer")
        of = having(BY_EMAIL, longer)
        assert reported(found(asked(of, FIND, via="by e-mail"))) == [("redundant-index", "Employees: longer")]

    def test_is_reported_once_for_two_equal_indexes(self) -> None:
        again = IntraPartitionIndex(Key("{Department}", "mail_{Email}"), name="again")
        of = having(BY_EMAIL, again)
        assert reported(found(asked(of, FIND, via="by e-mail"))) == [("redundant-index", "Employees: again")]

    def test_has_the_order_of_the_entities_themselves(self) -> None:
        same = IntraPartitionIndex(Key("{Department}", "number_{EmployeeId:06d}_{Age:03d}"), name="same")
        query = Query("it", {"Department": "="}, rate=1.0)
        assert reported(found(asked(having(same), query, via="same"))) == [("redundant-index", "Employees: same")]

    def test_is_none_if_it_holds_what_the_other_does_not(self) -> None:
        bare = IntraPartitionIndex(Key("{Department}", "mail_{Email}"), include=["Age"], name="bare")
        full = IntraPartitionIndex(Key("{Department}", "email_{Email}_{Age:03d}"), name="full")
        queries = [
            asked(having(bare, full), replace(FIND, name=each, select=("Age",)), via=each) for each in ("bare", "full")
        ]
        assert found(*queries) == []

    def test_is_none_if_time_runs_the_other_way(self) -> None:
        oldest = IntraPartitionIndex(Key("{Department}", "old_{HiredAt:ticks}_{EmployeeId:06d}"), name="oldest")
        newest = IntraPartitionIndex(Key("{Department}", "new_{HiredAt:inverted}_{EmployeeId:06d}"), name="newest")
        query = Query("it", {"Department": "="}, rate=1.0)
        queries = [asked(having(oldest, newest), replace(query, name=each), via=each) for each in ("oldest", "newest")]
        assert found(*queries) == []


class TestASecondRead:
    BARE = IntraPartitionIndex(Key("{Department}", "email_{Email}"), include=["Age"], name="bare")

    @pytest.mark.parametrize(("rate", "severity"), [(10.0, Severity.WARNING), (9.9, Severity.NOTE)])
    def test_follows_where_the_index_lacks_a_property(self, rate: float, severity: Severity) -> None:
        query = replace(FIND, select=("LastName",), rate=rate)
        (one,) = found(asked(having(self.BARE), query, via="bare"))
        assert (one.rule, one.severity) == ("second-read", severity)
        assert "does not include LastName" in one.says

    def test_does_not_follow_where_it_holds_all_that_is_wanted(self) -> None:
        query = replace(FIND, select=("Age", "EmployeeId", "Email"), rate=99)
        assert found(asked(having(self.BARE), query, via="bare")) == []

    @pytest.mark.parametrize(("rate", "rules"), [(10.0, ["second-read"]), (9.9, [])])
    def test_of_each_listed_entity_is_reported_from_a_hundred_per_second_on(
        self, rate: float, rules: list[str]
    ) -> None:
        of = having(IndexEntity("LastName"))
        query = Query("it", {"Department": "=", "LastName": "="}, rate=rate)
        listed = found(asked(of, query, via="LastName", returned=10, examined=11))
        assert [each.rule for each in listed] == rules


class TestACopyThatNoQueryReads:
    PHOTOS = replace(
        EMPLOYEES,
        shape=replace(EMPLOYEES.shape, fields={**EMPLOYEES.shape.fields, "Photo": Field("binary", size=60_000)}),
    )
    NARROW = IntraPartitionIndex(Key("{Department}", "email_{Email}"), include=["Age"], name="by e-mail")

    @pytest.mark.parametrize(
        ("index", "select", "rules"),
        [
            (BY_EMAIL, ("Age",), ["needless-copies"]),
            (BY_EMAIL, ("Age", "Photo"), []),
            (BY_EMAIL, (), []),
            (NARROW, ("Age",), []),
        ],
    )
    def test_is_found_by_what_its_queries_select(
        self, index: Derived, select: tuple[str, ...], rules: list[str]
    ) -> None:
        query = replace(FIND, select=select)
        said = found(asked(having(index, of=self.PHOTOS), query, via="by e-mail"))
        assert [each.rule for each in said] == rules

    @pytest.mark.parametrize(
        ("changes", "rate", "is_far", "rules"),
        [
            (("Age",), 10.0, True, ["needless-copies"]),
            (("Age",), 9.9, True, []),
            # In the partition, it takes no further request
            (("Age",), 100.0, False, ["needless-copies"]),
            (("Age",), 99.9, False, []),
            # The index changes in any case
            (("Age", "LastName"), 10.0, True, []),
        ],
    )
    def test_but_that_changes_often_is_found(
        self, changes: tuple[str, ...], rate: float, is_far: bool, rules: list[str]
    ) -> None:
        far = InterPartitionIndex(Key("email_{Email}", "email"), name="by e-mail", unique=True)
        of, select = having(far if is_far else BY_EMAIL), ("LastName",)
        findings = found(
            asked(of, replace(FIND, select=select), via="by e-mail"),
            done(of, Write("birthday", "update", changes, rate=rate)),
        )
        assert [finding.rule for finding in findings if finding.rule == "needless-copies"] == rules

    def test_of_small_properties_is_none(self) -> None:
        assert found(asked(having(BY_EMAIL), replace(FIND, select=("Age",)), via="by e-mail")) == []


class TestAnIndexWhoseKeyChanges:
    @pytest.mark.parametrize(
        ("rate", "reads", "expected"),
        [
            (10.0, 9.9, [Severity.NOTE]),
            (1.0, 0.9, [Severity.NOTE]),
            (10.0, 10.0, []),
            # One that is never read has no need of the rule
            (0.9, 0.1, []),
        ],
    )
    def test_more_often_than_it_is_read_is_found(self, rate: float, reads: float, expected: list[Severity]) -> None:
        query = replace(FIND, rate=reads)
        write = Write("correct", "update", ("Email",), rate=rate)
        of = having(BY_EMAIL)
        said = found(asked(of, query, via="by e-mail"), done(of, write))
        assert [each.severity for each in said if each.rule == "index-key-changes"] == expected

    def test_costs_further_requests_in_other_partitions(self) -> None:
        elsewhere = InterPartitionIndex(Key("email_{Email}", "{EmployeeId:06d}"), name="by e-mail")
        query = replace(FIND, rate=9.9, max_staleness=60)
        of = having(elsewhere)
        said = found(asked(of, query, via="by e-mail"), done(of, Write("correct", "update", ("Email",), rate=10.0)))
        assert [each.severity for each in said if each.rule == "index-key-changes"] == [Severity.WARNING]

    def test_is_none_of_an_update_of_other_properties(self) -> None:
        of = having(BY_EMAIL)
        assert found(asked(of, FIND, via="by e-mail"), done(of, Write("age", "update", ("Age",), rate=99))) == []


class TestAnIndexKey:
    def test_that_several_entities_have_is_serious(self) -> None:
        index = IntraPartitionIndex(Key("{Department}", "age_{Age:03d}"), name="by age")
        query = Query("it", {"Department": "=", "Age": "="}, rate=1.0)
        (one,) = found(asked(having(index), query, via="by age"))
        assert (one.rule, one.severity) == ("colliding-index-keys", Severity.SERIOUS)
        assert "2,000 keys" in one.says
        assert "EmployeeId" in one.better

    def test_that_ends_with_the_primary_key_is_sound(self) -> None:
        query = Query("it", {"Department": "=", "LastName": "="}, rate=1.0)
        assert found(asked(having(BY_NAME), query, QueryClass.RANGE, via="by name")) == []

    def test_that_should_be_unique_but_is_not_enforced_is_reported(self) -> None:
        index = InterPartitionIndex(Key("email_{Email}", "email"), name="by e-mail")
        query = Query("it", {"Email": "="}, rate=1.0, max_staleness=60)
        assert reported(found(asked(having(index), query, via="by e-mail"))) == [
            ("index-not-unique", "Employees: by e-mail")
        ]

    @pytest.mark.parametrize(
        ("name", "severity"), [("Email", Severity.WARNING), ("UserName", Severity.WARNING), ("Isbn", Severity.NOTE)]
    )
    def test_of_what_others_issue_is_a_note(self, name: str, severity: Severity) -> None:
        fields = {**EMPLOYEES.shape.fields, name: Field()}
        of = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, fields=fields))
        index = InterPartitionIndex(Key(f"by_{{{name}}}", "row"), name="by it")
        query = Query("it", {name: "="}, rate=1.0, max_staleness=60)
        (finding,) = found(asked(having(index, of=of), query, via="by it"))
        assert (finding.rule, finding.severity) == ("index-not-unique", severity)

    def test_that_ends_with_the_primary_key_finds_entities_by_what_comes_before(self) -> None:
        """The number of an employee, which is a text here, only tells those of one age apart."""
        fields = {**EMPLOYEES.shape.fields, "EmployeeId": Field()}
        of = replace(EMPLOYEES, key=Key("{Department}", "{EmployeeId}"), shape=replace(EMPLOYEES.shape, fields=fields))
        index = InterPartitionIndex(Key("age_{Age:03d}", "{EmployeeId}"), name="by age")
        query = Query("those of an age", {"Age": "="}, rate=1.0, max_staleness=60)
        assert found(asked(having(index, of=of), query, QueryClass.RANGE, via="by age")) == []

    def test_that_is_unique_by_itself_is_sound(self) -> None:
        badge = replace(
            EMPLOYEES, shape=replace(EMPLOYEES.shape, fields={**EMPLOYEES.shape.fields, "Badge": Field("guid")})
        )
        index = InterPartitionIndex(Key("badge_{Badge:uuid}", "badge"), name="by badge")
        query = Query("it", {"Badge": "="}, rate=1.0, max_staleness=60)
        assert found(asked(having(index, of=badge), query, via="by badge")) == []
