"""The figures at other scales are those that a review of the scaled design gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from review.detailed import design
from tablepatterns.review import Design, PriceTable, read_design, review
from tablepatterns.review.capacity.growth import in_sight
from tablepatterns.review.capacity.hot_partitions import busiest_partition, simulate_day
from tablepatterns.review.capacity.price import bill
from tablepatterns.review.capacity.projections import ENTITIES, RATES, project, scaled
from tablepatterns.review.measure.measure import measure
from tablepatterns.review.model import Measured, Projections

FOLDER = Path(__file__).parents[2] / "docs" / "reviews"
POINTS = [(0.1, 100.0), (1.0, 1.0), (3.0, 0.3), (10.0, 30.0), (100.0, 10.0)]
LOG, INDEXED, DETAILED = "log_prepend_append", "indexed", "detailed"


@cache
def projected(name: str) -> tuple[Design, Projections]:
    """Return a design and its projections, which tests share."""
    declared = read_design(FOLDER / f"{name}.toml") if name == LOG else design()
    if name == INDEXED:
        # Without what only the recipe can write, which takes longer, and without other sets
        staff = declared.sets[0]
        fields = {each: field for each, field in staff.shape.fields.items() if each != "Photo"}
        indexed = replace(
            staff,
            shape=replace(staff.shape, fields=fields),
            derived=staff.derived[:2],
            mappings=(),
            queries=staff.queries[:2],
            writes=tuple(replace(each, atomic_with=()) for each in staff.writes),
        )
        declared = replace(declared, sets=(indexed,))
    return declared, project(declared, PriceTable.default())


@dataclass(frozen=True)
class Point:
    """A scaled design, what its calls take, and the projections of the design itself."""

    entities: float
    rates: float
    design: Design
    measured: tuple[Measured, ...]
    found: Projections


@pytest.fixture(
    scope="module",
    params=[
        # In every run each point is computed of one of two designs, in turn
        pytest.param(
            (name, entities, rates),
            marks=[] if name != DETAILED and (number + at) % 2 else pytest.mark.nightly,
            id=f"{entities}-{rates}-{name}",
        )
        for at, name in enumerate((LOG, INDEXED, DETAILED))
        for number, (entities, rates) in enumerate(POINTS)
    ],
)
def point(request: pytest.FixtureRequest) -> Point:
    name, entities, rates = request.param
    declared, found = projected(name)
    other = scaled(declared, entities, rates)
    return Point(entities, rates, other, measure(other), found)


def test_a_point_is_what_a_review_of_the_scaled_design_finds(point: Point) -> None:
    other, measured, found = point.design, point.measured, point.found
    heats, account = simulate_day(other, measured)
    at = (ENTITIES.index(point.entities) * len(RATES) + RATES.index(point.rates)) * len(found.years)
    assert found.cost[at] == pytest.approx(bill(other, measured, PriceTable.default()).total)
    assert found.busiest[at] == pytest.approx(max((1 / heat.headroom for heat in heats), default=0.0))
    assert found.account[at] == pytest.approx(account.peak / account.target)
    for number, years in enumerate(found.years):
        later = replace(other, years=max(years, 1e-9))
        assert found.cost[at + number] == pytest.approx(bill(later, measured, PriceTable.default()).then, rel=1e-6)
        near = {f"{use.limit}: {use.subject}": use.then / use.most for use in in_sight(later, measured)}
        used = dict(zip(found.limits, found.used[at + number], strict=True))
        assert {name: used[name] for name in near} == pytest.approx(near, rel=1e-6)


def test_the_busiest_partition_is_that_of_the_simulated_day(point: Point) -> None:
    heats, _ = simulate_day(point.design, point.measured)
    most = max(heats, key=lambda heat: 1 / heat.headroom)
    load, name = busiest_partition(point.design, point.measured)
    assert load == pytest.approx(1 / most.headroom)
    assert name == f"{most.table}: {most.partitions[0].partition}"


def test_the_first_point_of_the_design_itself_is_its_review() -> None:
    declared, found = projected(INDEXED)
    reviewed = review(declared)
    at = (found.entities.index(1) * len(found.rates) + found.rates.index(1)) * len(found.years)
    assert found.cost[at] == pytest.approx(reviewed.bill.total)
    assert found.cost[at + found.years.index(reviewed.design.years)] == pytest.approx(reviewed.bill.then)
    assert found.busiest[at] == pytest.approx(reviewed.busiest)


@pytest.mark.parametrize("name", [LOG, INDEXED])
def test_more_entities_and_higher_rates_cost_more(name: str) -> None:
    _, found = projected(name)
    step = len(found.years)
    assert all(low <= high for low, high in zip(found.cost[::step], found.cost[step::step], strict=False) if low < high)
    assert found.cost[0] < found.cost[-1]


def test_a_design_that_does_not_grow_has_no_years() -> None:
    declared = read_design(FOLDER / "log_prepend_append.toml")
    still = replace(declared, sets=tuple(replace(each, shape=replace(each.shape, growth=0)) for each in declared.sets))
    assert project(still, PriceTable.default()).years == (0.0,)
