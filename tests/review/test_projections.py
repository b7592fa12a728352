"""The figures at other scales are those that a review of the scaled design gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from review.detailed import design, reviewed
from tablepatterns.review import Design, PriceTable, read_design
from tablepatterns.review.capacity.growth import in_sight
from tablepatterns.review.capacity.hot_partitions import busiest_partition, simulate_day
from tablepatterns.review.capacity.price import bill
from tablepatterns.review.capacity.projections import ENTITIES, RATES, project, scaled
from tablepatterns.review.measure.measure import measure
from tablepatterns.review.model import Projections

FOLDER = Path(__file__).parents[2] / "docs" / "reviews"
POINTS = [(0.1, 100.0), (1.0, 1.0), (3.0, 0.3), (10.0, 30.0), (100.0, 10.0)]


@pytest.fixture(scope="module", params=["log_prepend_append", "detailed"])
def declared(request: pytest.FixtureRequest) -> Design:
    return design() if request.param == "detailed" else read_design(FOLDER / f"{request.param}.toml")


@pytest.fixture(scope="module")
def found(declared: Design) -> Projections:
    return project(declared, PriceTable.default())


@pytest.mark.parametrize(("entities", "rates"), POINTS)
def test_a_point_is_what_a_review_of_the_scaled_design_finds(
    declared: Design, found: Projections, entities: float, rates: float
) -> None:
    other = scaled(declared, entities, rates)
    measured = measure(other)
    heats, account = simulate_day(other, measured)
    at = (ENTITIES.index(entities) * len(RATES) + RATES.index(rates)) * len(found.years)
    assert found.cost[at] == pytest.approx(bill(other, measured, PriceTable.default()).total)
    assert found.busiest[at] == pytest.approx(max((1 / heat.headroom for heat in heats), default=0.0))
    assert found.account[at] == pytest.approx(account.peak / account.target)
    for number, years in enumerate(found.years):
        later = replace(other, years=max(years, 1e-9))
        assert found.cost[at + number] == pytest.approx(bill(later, measured, PriceTable.default()).then, rel=1e-6)
        near = {f"{use.limit}: {use.subject}": use.then / use.most for use in in_sight(later, measured)}
        used = dict(zip(found.limits, found.used[at + number], strict=True))
        assert {name: used[name] for name in near} == pytest.approx(near, rel=1e-6)


def test_the_busiest_partition_is_that_of_the_simulated_day(declared: Design) -> None:
    for entities, rates in POINTS:
        other = scaled(declared, entities, rates)
        measured = measure(other)
        heats, _ = simulate_day(other, measured)
        most = max(heats, key=lambda heat: 1 / heat.headroom)
        assert busiest_partition(other, measured) == (
            pytest.approx(1 / most.headroom),
            f"{most.table}: {most.partitions[0].partition}",
        )


def test_the_first_point_of_the_design_itself_is_its_review() -> None:
    review = reviewed()
    found = review.projections
    assert found is not None
    at = (found.entities.index(1) * len(found.rates) + found.rates.index(1)) * len(found.years)
    assert found.cost[at] == pytest.approx(review.bill.total)
    assert found.cost[at + found.years.index(review.design.years)] == pytest.approx(review.bill.then)
    assert found.busiest[at] == pytest.approx(review.busiest)


def test_more_entities_and_higher_rates_cost_more(found: Projections) -> None:
    step = len(found.years)
    assert all(low <= high for low, high in zip(found.cost[::step], found.cost[step::step], strict=False) if low < high)
    assert found.cost[0] < found.cost[-1]


def test_a_design_that_does_not_grow_has_no_years() -> None:
    declared = read_design(FOLDER / "log_prepend_append.toml")
    still = replace(declared, sets=tuple(replace(each, shape=replace(each.shape, growth=0)) for each in declared.sets))
    assert project(still, PriceTable.default()).years == (0.0,)
