"""What is said of keys: of their order, of what they cannot hold, of those that change or are shared, "
"and of secrets."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import pytest

from review.rules.made import EMPLOYEES, asked, done, found, reported
from tablepatterns import EncryptedProperties, IntraPartitionIndex, Key
from tablepatterns.errors import BadDesign
from tablepatterns.filters import QueryClass
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns_review import Design, review
from tablepatterns_review.design.model import ArchivePolicy, DeclaredSet, Field, Query, Retention, Shape, Write
from tablepatterns_review.result import Severity


def made(key: Key, count: int = 1000, growth: float = 0.0, **fields: Field) -> DeclaredSet:
    return DeclaredSet("Things", "Things", key, Shape("Thing", count, fields, growth))


class TestTextThatRises:
    SET = made(Key("{Product}", "{Build}"), Product=Field(distinct=10), Build=Field(order="rising"))

    @pytest.mark.parametrize(
        "query",
        [
            Query("from one on", {"Product": "=", "Build": "range"}, rate=1),
            Query("newest", {"Product": "="}, order="-Build", rate=1),
        ],
    )
    def test_does_not_sort(self, query: Query) -> None:
        assert reported(found(asked(self.SET, query, QueryClass.RANGE))) == [("text-order", "Things")]

    def test_may_be_a_key_that_is_asked_for_as_it_is(self) -> None:
        assert found(asked(self.SET, Query("one", {"Product": "=", "Build": "="}, rate=1))) == []


class TestTextInTheMiddleOfARowKey:
    QUERY = Query("of a week", {"Hotel": "=", "Day": "range"}, rate=2)

    @pytest.mark.parametrize(
        ("row", "rules"),
        [
            ("stay_{Day}_{Stay:uuid}", [("text-order", "Things")]),
            ("stay_{Day:escape}_{Stay:uuid}", []),
            ("{Stay:uuid}_{Day}", [("missing-index", "Things: of a week")]),
        ],
    )
    def test_is_no_range_of_keys(self, row: str, rules: list[tuple[str, str]]) -> None:
        of = made(Key("{Hotel}", row), Hotel=Field(distinct=10), Day=Field(distinct=99), Stay=Field("guid"))
        assert reported(found(asked(of, self.QUERY, QueryClass.PARTITION_SCAN, examined=900, returned=60))) == rules

    def test_is_one_finding_however_many_queries_it_slows(self) -> None:
        of = made(Key("{Hotel}", "{Day}_{Stay:uuid}"), Hotel=Field(), Day=Field(distinct=99), Stay=Field("guid"))
        queries = [self.QUERY, replace(self.QUERY, name="of a month")]
        scans = [asked(of, each, QueryClass.PARTITION_SCAN, examined=900, returned=60) for each in queries]
        assert reported(found(*scans)) == [("text-order", "Things")]

    def test_is_no_finding_where_little_is_read(self) -> None:
        of = made(Key("{Hotel}", "{Day}_{Stay:uuid}"), Hotel=Field(), Day=Field(distinct=99), Stay=Field("guid"))
        assert found(asked(of, self.QUERY, QueryClass.PARTITION_SCAN, examined=9, returned=6)) == []

    def test_is_no_order(self) -> None:
        of = made(Key("{Hotel}", "{Day}_{Stay:uuid}"), Hotel=Field(), Day=Field(distinct=99), Stay=Field("guid"))
        query = Query("first", {"Hotel": "="}, order="Day", take=3, rate=2)
        assert reported(found(asked(of, query, QueryClass.RANGE, examined=900, returned=3))) == [
            ("client-sort", "Things: first")
        ]


class TestANumber:
    @pytest.mark.parametrize(
        ("count", "growth", "rules"), [(9, 30, []), (9, 31, ["narrow-number"]), (100, 0, ["narrow-number"])]
    )
    def test_has_digits_for_the_declared_growth(self, count: int, growth: float, rules: list[str]) -> None:
        of = made(Key("things", "{Number:02d}"), count, growth, Number=Field("int32"))
        assert [each.rule for each in found(sets=[of])] == rules

    def test_of_so_many_values_does_not_grow(self) -> None:
        of = made(Key("{Id:uuid}", "{Line:02d}"), 1000, 1000, Id=Field("guid"), Line=Field("int32", distinct=99))
        assert found(sets=[of]) == []

    def test_that_restarts_for_each_group_is_not_reported(self) -> None:
        of = made(Key("{Id:uuid}", "{Line:02d}"), 1000, 0, Id=Field("guid"), Line=Field("int32", within="Id"))
        assert found(sets=[of]) == []

    def test_of_a_date_has_no_end(self) -> None:
        of = made(Key("{At:%Y%m%d}", "{Id:uuid}"), 10**9, 10**9, At=Field("datetime"), Id=Field("guid"))
        assert "narrow-number" not in [each.rule for each in found(sets=[of])]

    def test_with_a_sign_has_a_digit_less(self) -> None:
        of = made(Key("things", "{Number:+02d}"), 100, 0, Number=Field("int32"))
        assert [each.rule for each in found(sets=[of])] == ["narrow-number"]

    def test_of_an_index_is_looked_at_too(self) -> None:
        index = IntraPartitionIndex(Key("{Department}", "no_{EmployeeId:03d}_{Email}"), name="by number")
        of = replace(EMPLOYEES, derived=(index,))
        query = Query("it", {"Department": "="}, rate=1)
        rules = [each.rule for each in found(asked(of, query, QueryClass.RANGE, via="by number"))]
        assert "narrow-number" not in rules  # The same field has digits enough in the key of the entities

    @pytest.mark.parametrize(("digits", "rules"), [(2, ["narrow-number"]), (3, [])])
    def test_that_is_numbered_within_a_field_needs_digits_for_its_busiest_value(
        self, digits: int, rules: list[str]
    ) -> None:
        """1,000 lines of 8 orders are 125 of each."""
        key = Key("{Order}", f"{{Line:0{digits}d}}")
        of = made(key, 1000, 0, Order=Field(distinct=8), Line=Field("int32", within="Order"))
        assert [each.rule for each in found(sets=[of])] == rules

    def test_is_reported_with_the_time_until_it_ends(self) -> None:
        of = made(Key("things", "{Number:02d}"), 50, 49, Number=Field("int32"))
        (one,) = found(sets=[of])
        assert "ends at 99, which is reached in 12 months" in one.says
        assert "{Number:05d}" in one.better


class TestAKeyThatChanges:
    def test_moves_the_entity(self) -> None:
        (one,) = found(done(EMPLOYEES, Write("move", "update", ("Department",), rate=0.001)))
        assert (one.rule, one.subject, one.pattern) == ("key-field-changes", "Employees: move", "partition_move")

    def test_within_the_partition_is_better_an_index(self) -> None:
        (one,) = found(done(EMPLOYEES, Write("renumber", "update", ("EmployeeId",), rate=0.001)))
        assert one.pattern == "intra_partition_index"

    def test_is_none_of_an_update_of_other_properties(self) -> None:
        assert found(done(EMPLOYEES, Write("age", "update", ("Age",), rate=0.001))) == []


class TestAKeyThatTwoCanHave:
    SECONDS = made(Key("{Door}", "{At:%Y-%m-%dT%H%M%S}"), Door=Field(distinct=10), At=Field("datetime", order="rising"))

    @pytest.mark.parametrize(
        ("peak", "expected"),
        [(1.0, [Severity.SERIOUS]), (0.99, [Severity.WARNING]), (0.01, [Severity.WARNING]), (0.009, [])],
    )
    def test_is_a_moment_alone(self, peak: float, expected: list[Severity]) -> None:
        write = Write("pass", "insert", rate=0.0000001, peak=peak)
        assert [each.severity for each in found(done(self.SECONDS, write))] == expected

    def test_is_hardly_one_of_ticks(self) -> None:
        ticks = replace(self.SECONDS, key=Key("{Door}", "{At:ticks}"))
        assert found(done(ticks, Write("pass", "insert", rate=0.0000001, peak=100))) == []

    @pytest.mark.parametrize(("rate", "expected"), [(99, []), (100, [Severity.SERIOUS])])
    def test_is_one_of_ticks_that_many_sources_share(self, rate: float, expected: list[Severity]) -> None:
        """Each of 10 doors has 10 entities a second: some 16,000 pairs a year have the same microsecond."""
        shape = replace(self.SECONDS.shape, growth=rate * 31_557_600)
        ticks = replace(self.SECONDS, key=Key("{Door}", "{At:ticks}"), shape=shape, permanent=True)
        findings = found(done(ticks, Write("pass", "insert", rate=rate)))
        assert [finding.severity for finding in findings if finding.rule == "colliding-keys"] == expected

    def test_is_none_with_an_id_behind_the_moment(self) -> None:
        own = made(Key("{At:%Y-%m-%d}", "{Id:uuid}"), At=Field("datetime", order="rising"), Id=Field("guid"))
        assert found(done(own, Write("pass", "insert", rate=0.0000001, peak=100))) == []

    def test_is_none_where_all_values_are_counted(self) -> None:
        slots = made(
            Key("{Meter:03d}", "{Day:%Y-%m-%d}_{Slot:02d}"),
            Meter=Field("int32", distinct=10),
            Day=Field("datetime", order="rising", distinct=10),
            Slot=Field("int32", distinct=24),
        )
        assert found(done(slots, Write("report", "insert", rate=0.0000001, peak=10))) == []


class TestTextInAKey:
    @pytest.mark.parametrize("name", ["Url", "PageUrl", "FilePath", "Link", "title"])
    def test_that_is_an_address_has_what_a_key_may_not_hold(self, name: str) -> None:
        of = made(Key("pages", f"{{{name}}}"), **{name: Field()})
        assert reported(found(sets=[of])) == [("unsafe-key", "Things")]

    @pytest.mark.parametrize("text", ["{Url:escape}", "{Name}", "{FileName}", "{Curling}"])
    def test_that_is_escaped_or_no_address_is_sound(self, text: str) -> None:
        name = text.strip("{}").partition(":")[0]
        assert found(sets=[made(Key("pages", text), **{name: Field()})]) == []


FIELDS = {**EMPLOYEES.shape.fields, "Email": Field(size=24, secret=True)}
SECRET = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, fields=FIELDS))


class TestASecret:
    def test_that_is_stored_as_it_is_is_serious(self) -> None:
        (one,) = found(sets=[SECRET])
        assert (one.rule, one.severity, one.pattern) == (
            "secret-in-plain-text",
            Severity.SERIOUS,
            "encrypted_properties",
        )

    def test_that_is_encrypted_is_sound(self) -> None:
        mapping = EncryptedProperties(["Email"], keys=LocalKey.generate("one"))
        assert found(sets=[replace(SECRET, mappings=(mapping,))]) == []

    def test_that_is_encrypted_cannot_be_filtered_on(self) -> None:
        mapping = EncryptedProperties(["Email"], keys=LocalKey.generate("one"))
        query = Query("it", {"Department": "=", "Email": "="}, rate=10)
        of = replace(SECRET, mappings=(mapping,))
        (one,) = found(asked(of, query, QueryClass.PARTITION_SCAN, examined=500.0, matching=1.0, returned=500.0))
        assert (one.rule, one.fields) == ("encrypted-filter", ("Email",))
        assert "blind index of Email" in one.better

    def test_in_a_key_is_reported_once_as_such(self) -> None:
        index = IntraPartitionIndex(Key("{Department}", "email_{Email}"), name="by e-mail")
        query = Query("it", {"Department": "=", "Email": "="}, rate=1)
        of = replace(SECRET, derived=(index,))
        assert reported(found(asked(of, query, via="by e-mail"))) == [("secret-in-key", "Employees")]


class TestPersonalData:
    FIELDS: ClassVar = {**EMPLOYEES.shape.fields, "Email": Field(size=24, personal=True)}
    SET = replace(EMPLOYEES, shape=replace(EMPLOYEES.shape, fields=FIELDS))
    KEPT = ("personal-data-kept", "Employees")

    def test_needs_an_end(self) -> None:
        write = done(self.SET, Write("hire", "insert", rate=0.0001))
        (finding,) = found(write)
        assert (finding.rule, finding.severity, finding.fields) == (self.KEPT[0], Severity.WARNING, ("Email",))
        assert found(write, done(self.SET, Write("fire", "delete", rate=0.0001))) == []
        # An archive is a set of its own
        archive = ArchivePolicy(to="Former", after_days=90)
        assert found(sets=[replace(self.SET, archive=archive)]) == []
        assert found(sets=[replace(self.SET, retention=Retention(90))]) == []

    def test_that_must_never_be_deleted_is_a_contradiction(self) -> None:
        assert reported(found(sets=[replace(self.SET, permanent=True)])) == [self.KEPT]

    @pytest.mark.parametrize("is_index", [True, False])
    def test_in_a_key_is_reported(self, is_index: bool) -> None:
        key = Key("{Department}", "email_{Email}")
        changes = {"derived": (IntraPartitionIndex(key, name="by e-mail"),)} if is_index else {"key": key}
        query = Query("it", {"Department": "=", "Email": "="}, rate=1)
        of = replace(self.SET, retention=Retention(90), **changes)
        (finding,) = found(asked(of, query, via="by e-mail" if is_index else None))
        assert (finding.rule, finding.severity) == ("personal-data-in-key", Severity.WARNING)

    def test_that_is_secret_is_reported_as_a_secret(self) -> None:
        fields = {**self.FIELDS, "Email": Field(size=24, personal=True, secret=True)}
        of = replace(self.SET, key=Key("{Email}", "row"), shape=replace(self.SET.shape, fields=fields))
        assert reported(found(sets=[replace(of, retention=Retention(90))])) == [("secret-in-key", "Employees")]


class TestAKeyInTablesByPeriod:
    """20,000 tickets of a day are numbered from 1 on each of 40 lines, in the table of the day."""

    FIELDS: ClassVar = {
        "Line": Field(distinct=40, size=6),
        "Number": Field("int32", distinct=500),
        "Day": Field("datetime", order="rising", distinct=60),
        "At": Field("datetime", order="rising"),
    }
    KEY = Key("{Line}", "{Number:03d}")

    def tickets(self, key: Key = KEY, count: int = 1_200_000, **fields: Field) -> DeclaredSet:
        shape = Shape("Ticket", count, {**self.FIELDS, **fields})
        days = Retention(60, "table")
        settings = {"period": "day", "at": "At"}
        return DeclaredSet("Tickets", "Tickets", key, shape, "period_tables", settings, retention=days)

    def test_only_has_to_be_unique_and_wide_enough_within_a_period(self) -> None:
        assert review(Design("Tickets", (self.tickets(),))).findings == ()
        single = replace(self.tickets(), pattern="entity_set", settings={}, retention=None)
        with pytest.raises(BadDesign, match=r"20,000 different values for 1\.2 million entities"):
            review(Design("Tickets", (single,)))

    def test_with_a_day_in_the_key_has_the_values_of_all_tables_already(self) -> None:
        """40 lines of 60 days have 2,400 keys in two tables of a month, for 1.2 million tickets."""
        tickets = self.tickets(Key("{Line}", "{Day:%Y-%m-%d}"))
        monthly = replace(tickets, settings={"period": "month", "at": "At"})
        with pytest.raises(BadDesign, match=r"2,400 different values for 1\.2 million entities"):
            review(Design("Tickets", (monthly,)))

    def test_that_is_too_narrow_for_a_period_is_found(self) -> None:
        narrow = self.tickets(Key("{Line}", "{Number:02d}"))
        assert reported(found(sets=[narrow])) == [("narrow-number", "Tickets")]

    @pytest.mark.parametrize(("known", "requests"), [("Day", 1), ("At", 1), (None, 31)])
    def test_that_names_the_day_names_the_table(self, known: str | None, requests: float) -> None:
        """Without a day, half of the tables are searched, since each key of the sample is in one of them."""
        key = Key("{Line}", "{Day:%Y-%m-%d}_{Number:03d}" if known == "Day" else "{Number:03d}")
        names = ["Line", "Number", *([known] if known else [])]
        query = Query("ticket of a day", dict.fromkeys(names, "="), rate=1)
        (measured, *_) = review(Design("Tickets", (replace(self.tickets(key), queries=(query,)),))).measured
        assert measured.requests == pytest.approx(requests, abs=1)


def test_a_few_expected_collisions_of_many_entities_are_no_finding() -> None:
    """4.7 pairs of 75 million entities are expected."""
    for values, expected in ((24_500_000, []), (10_000, [Severity.SERIOUS])):
        own = made(Key("{A}", "{B}"), count=75_000_000, A=Field(distinct=values), B=Field(distinct=values))
        assert [each.severity for each in found(sets=[own]) if each.rule == "colliding-keys"] == expected


@pytest.mark.parametrize(("values", "expected"), [((4_000, 60), []), ((1_100, 1_100), [Severity.SERIOUS])])
def test_most_of_a_list_occur_once_for_each_owner(values: tuple[int, int], expected: list[Severity]) -> None:
    """A tenant has its own value of most of 60 flags."""
    tenants, flags = (Field(distinct=value) for value in values)
    own = made(Key("{Tenant}", "{Flag}"), count=math.prod(values) // 2, Tenant=tenants, Flag=flags)
    assert [finding.severity for finding in found(sets=[own]) if finding.rule == "colliding-keys"] == expected


@pytest.mark.parametrize(("count", "expected"), [(800_000_000, []), (100_000_000_000, [Severity.SERIOUS])])
def test_a_combination_of_references_occurs_once_unless_there_are_too_few(count: int, expected: list[Severity]) -> None:
    """A learner has one level in each skill of a course."""
    fields = {"Learner": Field(distinct=40_000_000), "Course": Field(distinct=40, skew=1.0)}
    own = made(Key("{Learner}", "{Course}_{Skill}"), count=count, Skill=Field(distinct=120), **fields)
    assert [each.severity for each in found(sets=[own]) if each.rule == "colliding-keys"] == expected


@pytest.mark.parametrize("title", ["Title", "PageTitle", "Url"])
def test_text_that_may_contain_a_slash_is_escaped_in_a_key(title: str) -> None:
    for spec, expected in (("", [("unsafe-key", "Things")]), (":escape", [])):
        own = made(Key("{Wiki}", f"{{{title}{spec}}}"), Wiki=Field(distinct=9), **{title: Field(size=30)})
        assert reported(found(sets=[own])) == expected


@pytest.mark.parametrize(("key", "expected"), [("{User}_{Friend}", []), ("{FirstName}_{LastName}", [Severity.WARNING])])
def test_a_pair_of_references_occurs_once_in_a_partition_key_too(key: str, expected: list[Severity]) -> None:
    """Two users match once; two people can have one name."""
    users = Field(distinct=12_000_000)
    own = made(Key(key, "match"), count=300_000_000, User=users, Friend=users, FirstName=users, LastName=users)
    assert [each.severity for each in found(sets=[own]) if each.rule == "colliding-keys"] == expected


@pytest.mark.parametrize(("row", "expected"), [("{User}", []), ("{First}_{Last}", [Severity.SERIOUS])])
def test_a_pair_of_references_occurs_once_and_a_name_does_not(row: str, expected: list[Severity]) -> None:
    """A user stars a repository once; two people of a company can have one name."""
    fields = {"User": Field(distinct=3_000_000), "First": Field(distinct=3_000), "Last": Field(distinct=1_000)}
    own = made(Key("{Repo}", row), count=90_000_000, Repo=Field(distinct=1_000_000, skew=0.7), **fields)
    assert [each.severity for each in found(sets=[own]) if each.rule == "colliding-keys"] == expected
