"""Findings about limits, series and joins; and all rules are listed and name existing patterns."""

from __future__ import annotations

from dataclasses import replace
from string import Formatter

import pytest

from review.rules.made import EMPLOYEES, asked, done, found, hot, reported
from tablepatterns import Key, LargeProperties
from tablepatterns.catalog import entry
from tablepatterns.figures import number
from tablepatterns.filters import QueryClass
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Shape, Write
from tablepatterns_review.result import LimitUse, Severity
from tablepatterns_review.rules import RULES, Rule
from tablepatterns_review.rules.context import HEAVY, NOTICEABLE, SLOW

_LIMITS = {
    "bytes of a property": "value-too-large",
    "bytes of an entity": "entity-too-large",
    "properties of an entity": "too-many-properties",
    "bytes of a list of entities": "list-too-long",
    "characters of a PartitionKey": "key-too-long",
    "characters of a RowKey": "key-too-long",
    "operations of a transaction": "transaction-too-large",
    "bytes of a transaction": "transaction-too-large",
    "bytes of the account": "account-full",
}


def sight(limit: str, now: float, then: float, reached: float | None, subject: str = "Employees") -> LimitUse:
    return LimitUse(limit, subject, now, then, 100.0, reached)


class TestALimit:
    @pytest.mark.parametrize("limit", _LIMITS)
    def test_that_is_passed_is_serious_and_one_that_is_near_a_warning(self, limit: str) -> None:
        for given, severity in (
            (sight(limit, 100, 100, 0.0), Severity.SERIOUS),
            (sight(limit, 50, 150, 1.5), Severity.SERIOUS),
            (sight(limit, 50, 90, None), Severity.WARNING),
        ):
            (one,) = found(sets=[EMPLOYEES], in_sight=[given])
            assert (one.rule, one.severity) == (_LIMITS[limit], severity)
        assert found(sets=[EMPLOYEES], in_sight=[sight(limit, 50, 89, None)]) == []
        assert found(sets=[EMPLOYEES], in_sight=[sight(limit, 99, 99, None)]) == []  # It does not grow

    def test_is_reported_with_its_numbers_and_date(self) -> None:
        (one,) = found(sets=[EMPLOYEES], in_sight=[sight("properties of an entity", 50, 150, 1.5)])
        assert one.says == (
            "An entity of Employees has 50 properties, and 150 at the end of the growth; the limit is 100, "
            "exceeded in 18 months."
        )

    def test_of_an_entity_is_reported_for_its_value(self) -> None:
        both = [sight("bytes of a property", 100, 100, 0.0), sight("bytes of an entity", 100, 100, 0.0)]
        assert reported(found(sets=[EMPLOYEES], in_sight=both)) == [("value-too-large", "Employees")]

    def test_of_a_transaction_is_reported_though_each_value_fits(self) -> None:
        both = [sight("bytes of a property", 99, 99, None), sight("bytes of a transaction", 100, 100, 0.0)]
        assert [each.rule for each in found(sets=[EMPLOYEES], in_sight=both)] == ["transaction-too-large"]

    def test_of_five_seconds_is_a_note_for_what_is_wanted(self) -> None:
        query = Query("all", {"Department": "="}, rate=1)
        read = asked(EMPLOYEES, query, QueryClass.PARTITION_SCAN, examined=12_000, returned=12_000)
        given = sight("entities that a partition serves in 5 s", 120, 120, 0.0, "Employees: all")
        (one,) = found(read, in_sight=[given])
        assert (one.rule, one.severity) == ("long-answer", Severity.NOTE)
        assert one.says == "'all' reads 120 entities of one partition; a partition serves 100 in five seconds."
        (more,) = found(read, in_sight=[sight(given.limit, 120, 150, 0.0, "Employees: all")])
        assert "reads 120 entities of one partition, and 150 at the end of the growth" in more.says
        seldom = asked(EMPLOYEES, replace(query, rate=0.0002), QueryClass.PARTITION_SCAN, examined=120, returned=120)
        assert [each.rule for each in found(seldom, in_sight=[given])] == ["long-answer"]

    def test_of_messages_in_a_queue_is_serious(self) -> None:
        (one,) = found(in_sight=[sight("messages of a queue in a second", 4_000, 4_000, 0.0, "Employees")])
        assert (one.rule, one.severity) == ("queue-target", Severity.SERIOUS)

    def test_that_rejects_a_call_is_serious_and_said_once(self) -> None:
        write = replace(done(EMPLOYEES, Write("hire", "insert")), rejected="Name = 'x': it is too long")
        again = replace(write, access=Write("rehire", "insert"))
        (one,) = found(write, again)
        assert (one.rule, one.severity) == ("call-rejected", Severity.SERIOUS)
        assert one.says == "'hire' of Employees is rejected: Name = 'x': it is too long."

    def test_and_a_list_that_is_too_long_do_not_hide_that_calls_are_rejected(self) -> None:
        write = replace(done(EMPLOYEES, Write("hire", "insert")), rejected="Age = 1: text must be a str, not int")
        in_sight = [sight("bytes of a list of entities", 200, 200, 0.0, "Employees: by age")]
        rules = {each.rule for each in found(write, in_sight=in_sight)}
        assert rules == {"list-too-long", "call-rejected"}


class TestASeries:
    SLOTS = DeclaredSet(
        "Slots",
        "Slots",
        Key("{Meter:06d}", "{Day:%Y-%m-%d}_{Hour:02d}"),
        Shape(
            "Slot",
            24_000,
            {
                "Meter": Field("int32", distinct=100),
                "Day": Field("datetime", distinct=10),
                "Hour": Field("int32", distinct=24),
                "Count": Field("int32", distinct=100),
            },
        ),
    )
    CHART = Query("chart", {"Meter": "=", "Day": "="}, rate=10)

    @pytest.mark.parametrize(("rate", "severity"), [(10.0, Severity.WARNING), (8.0, Severity.NOTE)])
    def test_of_slots_that_are_read_together_is_one_entity(self, rate: float, severity: Severity) -> None:
        read = asked(self.SLOTS, replace(self.CHART, rate=rate), QueryClass.RANGE, examined=24, returned=24)
        (one,) = found(read)
        assert (one.rule, one.severity, one.pattern) == ("slots-as-entities", severity, "data_series")

    @pytest.mark.parametrize(("returned", "rules"), [(10, ["slots-as-entities"]), (9, [])])
    def test_has_ten_points_or_more(self, returned: float, rules: list[str]) -> None:
        read = asked(self.SLOTS, self.CHART, QueryClass.RANGE, examined=returned, returned=returned)
        assert [each.rule for each in found(read)] == rules

    @pytest.mark.parametrize(("returned", "rules"), [(22.5, ["slots-as-entities"]), (22, [])])
    def test_is_none_if_few_places_are_taken(self, returned: float, rules: list[str]) -> None:
        """A bag of 90 places holds some items; the hours of a day all have a value."""
        fields = {**self.SLOTS.shape.fields, "Hour": Field("int32", distinct=90)}
        of = replace(self.SLOTS, shape=replace(self.SLOTS.shape, fields=fields))
        read = asked(of, self.CHART, QueryClass.RANGE, examined=returned, returned=returned)
        assert [finding.rule for finding in found(read)] == rules

    def test_is_none_if_each_slot_is_read_alone(self) -> None:
        point = Query("hour", {"Meter": "=", "Day": "=", "Hour": "="}, rate=10)
        assert found(asked(self.SLOTS, point)) == []

    @pytest.mark.parametrize(
        ("name", "field", "rules"),
        [("Note", Field(), []), ("Quality", Field(size=1, distinct=4), ["slots-as-entities"])],
    )
    def test_is_none_if_the_entities_hold_more_than_numbers_and_flags(
        self, name: str, field: Field, rules: list[str]
    ) -> None:
        fields = {**self.SLOTS.shape.fields, name: field}
        of = replace(self.SLOTS, shape=replace(self.SLOTS.shape, fields=fields))
        findings = found(asked(of, self.CHART, QueryClass.RANGE, examined=24, returned=24))
        assert [finding.rule for finding in findings] == rules


class TestAJoin:
    POSTS = DeclaredSet(
        "Posts",
        "Posts",
        Key("{Reader}", "{PostId:uuid}"),
        Shape("Post", 9000, {"Reader": Field(distinct=100), "PostId": Field("guid"), "AuthorId": Field(distinct=2000)}),
    )
    AUTHORS = DeclaredSet(
        "Authors", "Authors", Key("{AuthorId}", "author"), Shape("Author", 2000, {"AuthorId": Field()})
    )
    LIST = Query("posts", {"Reader": "="}, rate=10)

    def joined(
        self, rate: float, returned: float = 50, authors: int = 2000, peak: float | None = None
    ) -> list[tuple[str, str | None, Severity]]:
        of = replace(self.AUTHORS, shape=replace(self.AUTHORS.shape, count=authors))
        many = asked(self.POSTS, self.LIST, QueryClass.PARTITION_SCAN, examined=returned, returned=returned)
        one = asked(of, Query("author", {"AuthorId": "="}, rate=rate, peak=peak))
        return [(each.rule, each.pattern, each.severity) for each in found(many, one)]

    def test_of_one_read_for_each_result_is_reported(self) -> None:
        assert self.joined(500) == [("join-one-by-one", "denormalize", Severity.NOTE)]
        assert self.joined(1000) == [("join-one-by-one", "denormalize", Severity.WARNING)]

    @pytest.mark.parametrize(("field", "rules"), [("AuthorName", []), ("Rank", ["join-one-by-one"])])
    def test_is_none_if_the_results_have_copies(self, field: str, rules: list[str]) -> None:
        """A text that both sets have is a copy; a number may be anything."""
        kind = Field() if field == "AuthorName" else Field("int32")
        posts, authors = (
            replace(of, shape=replace(of.shape, fields={**of.shape.fields, field: kind}))
            for of in (self.POSTS, self.AUTHORS)
        )
        many = asked(posts, self.LIST, QueryClass.PARTITION_SCAN, examined=50, returned=50)
        one = asked(authors, Query("author", {"AuthorId": "="}, rate=500))
        assert [rule for rule, _ in reported(found(many, one))] == rules

    def test_of_few_entities_is_better_kept_by_the_reader(self) -> None:
        assert self.joined(500, authors=1000) == [("join-one-by-one", "lookup", Severity.NOTE)]

    @pytest.mark.parametrize("rate", [250, 1000])
    def test_of_about_one_read_for_each_result_is_reported_too(self, rate: float) -> None:
        assert [rule for rule, _, _ in self.joined(rate)] == ["join-one-by-one"]

    @pytest.mark.parametrize("rate", [249, 1001])
    def test_is_none_if_the_rates_do_not_fit(self, rate: float) -> None:
        assert self.joined(rate) == []

    @pytest.mark.parametrize(("peak", "expected"), [(1000, ["join-one-by-one"]), (1001, [])])
    def test_is_none_if_the_peaks_do_not_fit(self, peak: float, expected: list[str]) -> None:
        assert [rule for rule, _, _ in self.joined(500, peak=peak)] == expected

    @pytest.mark.parametrize(("returned", "list_rate"), [(0, 10), (50, 0)])
    def test_is_none_of_a_query_that_returns_nothing_or_is_not_called(self, returned: float, list_rate: float) -> None:
        many = asked(self.POSTS, replace(self.LIST, rate=list_rate), QueryClass.PARTITION_SCAN, returned=returned)
        one = asked(self.AUTHORS, Query("author", {"AuthorId": "="}, rate=500))
        assert "join-one-by-one" not in [rule for rule, _ in reported(found(many, one))]

    def test_is_none_of_a_few_results(self) -> None:
        assert self.joined(40, returned=4) == []
        assert [rule for rule, _, _ in self.joined(50, returned=5)] == ["join-one-by-one"]


class TestParts:
    PERIODS = replace(EMPLOYEES, pattern="period_tables", settings={"period": "day", "at": "HiredAt"})
    SPREAD = replace(EMPLOYEES, pattern="partition_spread", settings={"buckets": 8})

    @pytest.mark.parametrize(
        ("rate", "requests", "expected"),
        [
            (100, 11.0, [Severity.WARNING]),
            (99.9, 11.0, [Severity.NOTE]),
            (10, 11.0, [Severity.NOTE]),
            (9.9, 11.0, []),
            (99, 3.9, []),
        ],
    )
    def test_that_are_queried_one_by_one_are_reported(
        self, rate: float, requests: float, expected: list[Severity]
    ) -> None:
        query = Query("it", {"Department": "=", "EmployeeId": "="}, rate=rate)
        for of in (self.PERIODS, self.SPREAD):
            reported = found(asked(of, query, requests=requests))
            assert [(each.rule, each.severity) for each in reported] == [("asks-every-part", each) for each in expected]
        assert found(asked(EMPLOYEES, query, requests=requests)) == []

    @pytest.mark.parametrize(("peak", "rules"), [(62.0, ["needless-spread"]), (62.5, [])])
    def test_that_the_load_does_not_need_are_reported(self, peak: float, rules: list[str]) -> None:
        assert [each.rule for each in found(sets=[self.SPREAD], heats=[hot("Employees", peak)])] == rules
        assert found(sets=[EMPLOYEES], heats=[hot("Employees", peak)]) == []
        assert found(sets=[self.SPREAD], heats=[hot("Others", peak)]) == []

    @pytest.mark.parametrize(("rate", "severity"), [(50.0, Severity.WARNING), (49.9, Severity.NOTE)])
    def test_that_the_load_does_not_need_cost_requests(self, rate: float, severity: Severity) -> None:
        query = Query("it", {"Department": "=", "EmployeeId": "="}, rate=rate)
        findings = found(asked(self.SPREAD, query, requests=3.0), heats=[hot("Employees", 9)])
        assert [(finding.rule, finding.severity) for finding in findings] == [("needless-spread", severity)]

    def test_are_reported_with_their_name(self) -> None:
        query = Query("it", {"Department": "=", "EmployeeId": "="}, rate=100)
        says = [found(asked(of, query, requests=11.0))[0].says for of in (self.PERIODS, self.SPREAD)]
        assert ["period tables" in each for each in says] == [True, False]


class TestALargeValue:
    OF = replace(EMPLOYEES, mappings=(LargeProperties(["Photo"], container="photos"),))

    @pytest.mark.parametrize(("rate", "severity"), [(10.0, Severity.WARNING), (9.9, Severity.NOTE)])
    def test_that_is_read_in_vain_is_reported(self, rate: float, severity: Severity) -> None:
        query = Query("it", {"Department": "=", "EmployeeId": "="}, select=("Age",), rate=rate)
        (one,) = found(asked(self.OF, query, transactions=2.0))
        assert (one.rule, one.subject, one.severity) == ("blob-with-every-read", "Employees: it", severity)

    def test_that_is_wanted_is_right(self) -> None:
        query = Query("it", {"Department": "=", "EmployeeId": "="}, select=("Age", "Photo"), rate=99)
        assert found(asked(self.OF, query, transactions=2.0)) == []
        assert found(asked(self.OF, replace(query, select=()), transactions=2.0)) == []

    @pytest.mark.parametrize(
        ("returned", "rate", "rules"),
        [(10, 10.0, ["blob-with-every-read"]), (10, 9.9, []), (4, 99.0, [])],
    )
    def test_that_a_list_reads_for_each_result_is_reported(
        self, returned: float, rate: float, rules: list[str]
    ) -> None:
        query = Query("those of a department", {"Department": "="}, rate=rate)
        read = asked(self.OF, query, QueryClass.RANGE, examined=returned, returned=returned, transactions=1 + returned)
        assert [finding.rule for finding in found(read)] == rules

    def test_that_is_not_read_is_right(self) -> None:
        query = Query("it", {"Department": "="}, select=("Age",), rate=99)
        assert found(asked(self.OF, query, QueryClass.RANGE, transactions=1.0, returned=9, examined=9)) == []


def test_the_worst_come_first_then_by_subject() -> None:
    queries = [Query("b", {"Age": "="}, rate=1), Query("a", {"Age": "="}, rate=1), Query("c", {"Age": "="}, rate=10)]
    scans = [asked(EMPLOYEES, each, QueryClass.TABLE_SCAN, examined=500) for each in queries]
    assert [each.subject for each in found(*scans)] == ["Employees: c", "Employees: a", "Employees: b"]


@pytest.mark.parametrize("one", RULES.values(), ids=lambda rule: rule.name)
def test_every_rule_has_a_name_and_names_a_pattern_of_the_catalog(one: Rule) -> None:
    assert one.name == one.name.lower().replace(" ", "-")
    assert one.pattern is None or entry(one.pattern).name == one.pattern


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.says], ids=lambda rule: rule.name)
def test_every_sentence_of_a_rule_can_be_formatted_and_ends_like_one(rule: Rule) -> None:
    names = [name for text in (rule.says, rule.better) for _, name, _, _ in Formatter().parse(text) if name]
    assert all(name.isidentifier() for name in names)
    words = dict.fromkeys(names, "a word")
    assert rule.says.format_map(words).endswith((".", "a word"))
    assert rule.better.format_map(words).endswith((".", "?", "a word"))


def test_the_levels_of_needless_reads_are_those_of_the_code() -> None:
    said = RULES["missing-index"].severity
    assert f"serious if it reads {number(HEAVY)} entities a second" in said
    assert f"a warning from {number(NOTICEABLE)} a second" in said
    assert f"{number(SLOW)} in one call" in said
    assert RULES["second-read"].figures["lists"] == 100
