"""Properties of the findings about any design and any measurements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from review.rules.made import asked, done, found, hot
from support.examples import examples
from tablepatterns import IndexEntity, InTable, InterPartitionIndex, IntraPartitionIndex, Key, Summary
from tablepatterns.catalog import entry
from tablepatterns.filters import QueryClass
from tablepatterns_review.design.model import ArchivePolicy, DeclaredSet, Field, Query, Retention, Shape, Write
from tablepatterns_review.result import Finding, Measured, Severity
from tablepatterns_review.rules import RULES

KEYS = [
    Key("{A}", "{B:06d}"),
    Key("all", "{B:06d}"),
    Key("{At:%Y-%m-%dT%H}", "{A}_{B:06d}"),
    Key("{A}", "{At:inverted}_{Id:uuid}"),
    Key("{Id:uuid}", "row"),
]
DERIVED = [
    (),
    (InterPartitionIndex(Key("by_{C}", "by_{C2}"), name="by C", unique=True),),
    (InterPartitionIndex(Key("by_{C}", "by"), name="by C"), IndexEntity("C2", store=InTable("Lists"))),
    (Summary(Key("total_{C}", "total"), store=InTable("Totals"), name="totals"),),
]
numbers = st.sampled_from([0.0, 0.5, 1.0, 7.0, 150.0, 2_500.0, 40_000.0, 9e8])
rates = st.sampled_from([0.0, 1e-6, 0.01, 3.0, 250.0, 9_000.0])
fields = st.builds(
    Field,
    distinct=st.sampled_from([None, 1, 3, 90, 40_000]),
    skew=st.sampled_from([0.0, 1.5]),
    secret=st.booleans(),
    personal=st.booleans(),
    order=st.sampled_from(["none", "rising"]),
)
NAMES = ("A", "C", "C2", "Url")
EMPTIES = ArchivePolicy(to="Other", rate=1e4)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    own = {name: draw(fields) for name in NAMES}
    own |= {"B": Field("int32", distinct=draw(st.sampled_from([None, 24]))), "At": Field("datetime", order="rising")}
    own["Id"] = Field("guid")
    return Shape("Thing", draw(st.sampled_from([0, 1, 300, 10**9])), own, draw(st.sampled_from([0.0, 5e8])))


@st.composite
def sets(draw: st.DrawFn) -> DeclaredSet:
    return DeclaredSet(
        draw(st.sampled_from(["One", "Other"])),
        "Things",
        draw(st.sampled_from(KEYS)),
        draw(shapes()),
        draw(st.sampled_from(["entity_set", "period_tables", "partition_spread"])),
        {"buckets": 4},
        draw(st.sampled_from(DERIVED)),
        retention=draw(st.sampled_from([None, Retention(3, "entity"), Retention(3, "table")])),
        archive=draw(st.sampled_from([None, ArchivePolicy(container="old", after_days=9), EMPTIES])),
    )


@st.composite
def measured(draw: st.DrawFn, of: DeclaredSet) -> Measured:
    took = {name: draw(numbers) for name in ("examined", "returned", "written", "transactions", "requests")}
    if draw(st.booleans()):
        changes = draw(st.sampled_from([(), ("A",), ("C",)]))
        operation = draw(st.sampled_from(["insert", "update", "delete"]))
        atomic_with = draw(st.sampled_from([(), ("it",), ("nobody",)]))
        write = Write("it", operation, changes, draw(rates), writers=draw(st.integers(1, 9)), atomic_with=atomic_with)
        return done(of, write, **took)
    names = draw(st.lists(st.sampled_from(list(of.shape.fields)), unique=True))
    query = Query(
        "it",
        dict.fromkeys(names, draw(st.sampled_from(["=", "range"]))),
        filter=draw(st.sampled_from([None, "PartitionKey eq 'a' and (RowKey eq 'b' or RowKey eq 'c')", "C ne 'd'"])),
        order=draw(st.sampled_from([None, "-At", "C"])),
        take=draw(st.sampled_from([None, 10])),
        rate=draw(rates),
    )
    via = draw(st.sampled_from([None, *(each.name for each in of.derived)]))
    return asked(of, query, draw(st.sampled_from(list(QueryClass))), via=via, **took)


@st.composite
def reviews(draw: st.DrawFn) -> list[Finding]:
    of = draw(sets())
    each = [draw(measured(of)) for _ in range(draw(st.integers(1, 3)))]
    heat = hot("Things", draw(st.sampled_from([1.0, 1_500.0, 90_000.0])), follows_time=draw(st.booleans()))
    return found(*each, heats=[heat])


@examples(150)
@given(reviews())
def test_findings_are_of_a_rule_and_complete_and_come_once_the_worst_first(said: list[Finding]) -> None:
    rules = RULES
    assert len(set(said)) == len(said)
    assert [each.severity for each in said] == sorted((each.severity for each in said), reverse=True)
    for each in said:
        assert each.why == rules[each.rule].why
        assert each.says.endswith(".")
        assert "None" not in each.says + each.better
        assert all((each.subject, each.better, each.guide))
        assert each.pattern is None or entry(each.pattern)


@examples(60)
@given(st.data())
def test_a_higher_rate_never_makes_a_scan_matter_less(data: st.DataObject) -> None:
    of = data.draw(sets())
    low, high = sorted((data.draw(rates), data.draw(rates)))
    took = {"examined": data.draw(numbers), "returned": data.draw(numbers)}
    worst = []
    for rate in (low, high):
        query = Query("it", {"C": "="}, rate=rate)
        said = found(asked(of, query, QueryClass.TABLE_SCAN, **took))
        worst.append(max((each.severity for each in said if each.subject.endswith(": it")), default=Severity(1) - 1))
    assert worst == sorted(worst)


def test_an_index_in_the_partition_or_outside_it_is_reported_the_same_way() -> None:
    here = IntraPartitionIndex(Key("{A}", "c_{C}_{B:06d}"), name="here")
    elsewhere = InterPartitionIndex(Key("c_{C}", "by_{A}_{B:06d}"), name="elsewhere")
    shape = Shape("Thing", 100, {"A": Field(distinct=9), "B": Field("int32"), "C": Field(distinct=50)})
    said = {
        index.name: [each.rule for each in found(sets=[DeclaredSet("T", "T", KEYS[0], shape, derived=(index,))])]
        for index in (here, elsewhere)
    }
    assert said == {"here": ["unused-index"], "elsewhere": ["unused-index"]}
