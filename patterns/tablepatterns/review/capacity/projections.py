"""Compute the figures of a design with other numbers of entities, other rates, and after some years."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ..design.archives import with_moves
from ..design.model import ArchivePolicy, DeclaredSet, Design, faster
from ..measure.measure import Measurements, calls_of, rated
from ..model import Measured, Projections
from .growth import IN_SIGHT, grown_call, grown_design, shares_of_limits
from .hot_partitions import account_peak, busiest_partition
from .price import PriceTable, cost_after

ENTITIES: Final = (0.1, 1.0, 3.0, 10.0, 100.0)
"""The factors of the entities; the design is measured for each of them."""
RATES: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""The factors of the rates."""
YEARS: Final = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0)


def scaled(design: Design, entities: float, rates: float) -> Design:
    """Return a design with so many times the entities and the rates.

    The number of different values of a field stays as it is declared.

    :param entities: the factor of the entities of every set, and of their growth
    :param rates: the factor of the rate of every access pattern
    """
    sets = tuple(_scaled(each, entities, rates) for each in design.sets)
    logs = tuple(each.faster(rates, entities) for each in design.logs)
    return with_moves(replace(design, sets=sets, logs=logs))


def _scaled(declared: DeclaredSet, entities: float, rates: float) -> DeclaredSet:
    shape, policy = declared.shape, declared.archive
    return replace(
        declared,
        shape=replace(shape, count=round(shape.count * entities), growth=shape.growth * entities),
        queries=tuple(faster(each, rates) for each in declared.queries),
        writes=tuple(faster(each, rates) for each in declared.writes),
        archive=None if policy is None else _scaled_archive(policy, entities, rates),
    )


def _scaled_archive(policy: ArchivePolicy, entities: float, rates: float) -> ArchivePolicy:
    rate, peak = (None if each is None else each * rates for each in (policy.rate, policy.peak))
    return replace(policy, rate=rate, peak=peak, count=round(policy.count * entities))


def project(design: Design, prices: PriceTable, known: Measurements | None = None) -> Projections:
    """Return the figures at every combination of the factors and years, by the model of the review itself.

    What one call takes is measured for each number of entities. The rates change only how often it is made, and how
    often writers retry.

    :param prices: what the service charges
    :param known: what was measured before
    """
    grows = any(each.shape.net_growth for each in with_moves(design).sets) or any(
        each.retention_days is None and each.rate for each in design.logs
    )
    known = known or Measurements()
    years = tuple(sorted({*YEARS, design.years})) if grows else (0.0,)
    points = list[_Point]()
    for entities in ENTITIES:
        calls = calls_of(scaled(design, entities, 1.0), known=known)
        for rates in RATES:
            other = scaled(design, entities, rates)
            points += [_point(other, rated(other, calls), each, prices) for each in years]
    near = list(dict.fromkeys(name for point in points for name, used in point.used.items() if used >= IN_SIGHT))
    return Projections(
        ENTITIES,
        RATES,
        years,
        cost=tuple(point.cost for point in points),
        busiest=tuple(point.busiest for point in points),
        partition=tuple(point.partition for point in points),
        account=tuple(point.account for point in points),
        limits=tuple(near),
        used=tuple(tuple(point.used.get(name, 0.0) for name in near) for point in points),
    )


class _Point(NamedTuple):
    """The figures at one combination; their names are those of `Projections`."""

    cost: float
    busiest: float
    partition: str
    account: float
    used: Mapping[str, float]


def _point(design: Design, measured: Sequence[Measured], years: float, prices: PriceTable) -> _Point:
    later = [grown_call(each, years) for each in measured]
    busiest, partition = busiest_partition(grown_design(design, years), later)
    return _Point(
        cost_after(design, measured, prices, years),
        busiest,
        partition,
        account_peak(later),
        shares_of_limits(design, measured, years),
    )
