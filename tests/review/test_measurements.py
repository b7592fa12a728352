"""What one review measured is used again for sets that are the same, and only for these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from review.detailed import design
from review.recall.recalled import FOLDER
from tablepatterns import IntraPartitionIndex, Key
from tablepatterns_review import Design, read_design
from tablepatterns_review.measure import measure as measuring
from tablepatterns_review.measure.account import SampleDesign
from tablepatterns_review.measure.measure import Measurements, SampleCost, calls_of, estimated, independent, measure
from tablepatterns_review.reviewer import PriceTable, first_findings, without_advice

DESIGN = design()
MOST = 12
"""The maximum number of sample entities per set."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the sets of each account that is measured."""
    found, run = list[list[str]](), measuring.run_calls

    def noted(of: SampleDesign, known: Measurements, unchanged: Mapping[tuple[str, str], SampleCost]) -> object:
        found.append([each.name for each in of.design.sets])
        return run(of, known, unchanged)

    monkeypatch.setattr(measuring, "run_calls", noted)
    return found


def renamed(of: Design, name: str) -> Design:
    """Return a design with a copy of its first set under another name, in a table of its own."""
    first = of.sets[0]
    return replace(of, sets=(*of.sets, replace(first, name=name, table=name, derived=(), writes=(), archive=None)))


def test_sets_that_share_an_archive_or_a_transaction_are_measured_together() -> None:
    assert independent(renamed(DESIGN, "Others")) == [{"Employees", "Changes", "OldChanges"}, {"Others"}]


def test_other_rates_are_not_measured_again(measured: list[list[str]]) -> None:
    known = Measurements()
    first = calls_of(DESIGN, most=MOST, measurements=known)
    sets = (
        replace(
            declared,
            queries=tuple(replace(query, rate=30 * query.rate) for query in declared.queries),
            writes=tuple(replace(write, rate=30 * write.rate, peak=None) for write in declared.writes),
        )
        for declared in DESIGN.sets
    )
    faster = calls_of(replace(DESIGN, sets=tuple(sets)), most=MOST, measurements=known)
    assert [each.requests for each in faster] == [each.requests for each in first]
    assert measured == [["Employees", "Changes", "OldChanges"]]


def test_only_the_sets_that_change_are_measured_again(measured: list[list[str]]) -> None:
    _, *kept = renamed(DESIGN, "Others").sets
    # Without the first set, whose writes take long
    known, before = Measurements(), replace(DESIGN, sets=tuple(kept))
    calls_of(before, most=MOST, measurements=known)
    *others, last = before.sets
    for changed in (
        replace(last, queries=last.queries[:1]),
        replace(last, shape=replace(last.shape, count=last.shape.count // 2 - 1)),
        replace(last, mappings=()),
    ):
        after = replace(before, sets=(*others, changed))
        found = {(each.of.name, each.access.name): each for each in calls_of(after, most=MOST, measurements=known)}
        for each in calls_of(after, most=MOST):
            assert found[each.of.name, each.access.name] == each
    first, *later = measured
    assert later == [["Others"], *3 * [["Others"], first, ["Others"]]]


def test_queries_that_do_not_use_a_new_index_are_scaled_and_take_what_they_take() -> None:
    before = read_design(FOLDER / "faulty" / "employees_by_last_name.toml")
    by_age = IntraPartitionIndex(Key(before.sets[0].key.partition_template, "note_{EmployeeId:06d}"), name="another")
    after = replace(before, sets=(replace(before.sets[0], derived=(*before.sets[0].derived, by_age)), *before.sets[1:]))
    known = Measurements()
    calls_of(before, measurements=known)
    count = known.count
    scaled = calls_of(after, measurements=known)
    queries = len(before.sets[0].queries)
    assert known.count - count == len(scaled) - queries
    for each, measured_again in zip(scaled, calls_of(after), strict=True):
        assert each.examined == pytest.approx(measured_again.examined, rel=0.05)
        assert each.requests == pytest.approx(measured_again.requests, rel=0.05)


@pytest.mark.parametrize("name", ["held_out_7/tenant_audit", "held_out_7/stock", "sound/currencies"])
def test_a_first_answer_from_estimates_has_the_findings_of_the_measured_one(name: str) -> None:
    made = read_design(FOLDER / f"{name}.toml")
    _, reviewed = without_advice(made, PriceTable.default(), Measurements())
    first = {(each.rule, each.subject, each.severity) for each in first_findings(made)}
    assert first == {(each.rule, each.subject, each.severity) for each in reviewed.findings}


def test_an_estimate_of_each_call_is_close_to_its_measurement() -> None:
    made = read_design(FOLDER / "held_out_7" / "shop_orders.toml")
    for guess, call in zip(estimated(made), measure(made), strict=True):
        assert (guess.how, guess.query_class) == (call.how, call.query_class) or call.query_class is None
        assert guess.examined == pytest.approx(call.examined, rel=0.1, abs=1)
        assert guess.requests == pytest.approx(call.requests, rel=0.1, abs=1)
