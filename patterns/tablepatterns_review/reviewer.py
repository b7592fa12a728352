"""Run every part of a review on a design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from .advice.changes import Change
from .advice.tested import with_tested_advice
from .capacity.growth import in_sight
from .capacity.hot_partitions import simulate_day
from .capacity.price import PriceTable, bill, with_costs
from .design.archives import with_moves
from .design.model import Design
from .design_file.checks import check
from .measure.measure import Measurements, estimated, measure
from .result import Measured, Reviewed
from .rules import findings
from .rules.context import RuleContext, without_waste
from .simulation.consistency import consistency
from .simulation.simulate import simulate

MAX_TESTS: Final = 10_000
"""How many access patterns are measured in tests of changes. Each test measures those of the changed design again."""


def review(
    design: Design, *, prices: PriceTable | None = None, on_measured: Callable[[int], None] | None = None
) -> Reviewed:
    """Measure a design on the in-memory engine, and return a complete review of it.

    Every access pattern runs on generated entities of the declared shape, and the engine counts its requests and reads.
    Then the load of a day and the growth are computed, and the review's rules are applied. Sets with more than 1,000
    entities are measured with a sample, and the figures scaled. In a smaller sample, each access pattern is carried out
    request by request, with a crash after each request.

    Guarantees: the same design gives the same review, on any day. No request leaves the process.

    Limits: it does not measure the speed of the service, and it considers only what is declared.

    Advice is tested first: each suggested change is made in a copy of the design, which is measured again. Tests end
    after 10,000 measurements of access patterns, which only designs with hundreds of these reach; the findings that
    are left say so.

    Cost: no storage transaction; a second for 100 access patterns, and another for each change that is tested.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> from tablepatterns_review import Design, Field, Query, Shape, declare_set
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "{EmployeeId:06d}"))
    >>> fields = {"Department": Field(distinct=4), "EmployeeId": Field("int32"), "LastName": Field(distinct=100)}
    >>> by_name = Query("employee by name", {"Department": "=", "LastName": "="}, rate=20)
    >>> declared = declare_set(employees, shape=Shape("Employee", 400, fields), queries=[by_name])
    >>> measured = review(Design("Staff", (declared,))).measured[0]
    >>> measured.query_class.label, measured.examined
    ('partition scan', 100)

    :param design: the design
    :param prices: the prices of the service; None for those included in the package
    :param on_measured: called after each access pattern, with how many have been measured
    :raises BadDesign: parts of the design do not fit together
    :raises BadInput: declared values cannot be stored as they are

    Guide: designing for querying, designing for modification, scalability targets, cost considerations.
    """
    reviewed, _ = review_with_changes(design, prices=prices, on_measured=on_measured)
    simulation = simulate(design)
    return replace(reviewed, simulation=simulation, consistency=consistency(reviewed.measured, simulation))


def review_with_changes(
    design: Design, *, prices: PriceTable | None = None, on_measured: Callable[[int], None] | None = None
) -> tuple[Reviewed, tuple[Change | None, ...]]:
    """Return the result of `review`, and for each finding the change that removes it; None if none was found."""
    price_table, measurements = prices or PriceTable.default(), Measurements(on_measured)
    context, reviewed = without_advice(design, price_table, measurements)
    most = measurements.count + MAX_TESTS
    findings, changes, together = with_tested_advice(
        reviewed,
        context,
        lambda changed: without_advice(changed, price_table, measurements)[1],
        lambda changed: review_by_estimate(changed, price_table),
        lambda: measurements.count < most,
    )
    return replace(reviewed, findings=findings, together=together), changes


def review_by_estimate(design: Design, prices: PriceTable) -> Reviewed:
    """Return the review that estimates give, within a second; measuring may correct it."""
    check(design)
    return _of_calls(with_moves(design), estimated(design), prices)[1]


def without_advice(design: Design, prices: PriceTable, measurements: Measurements) -> tuple[RuleContext, Reviewed]:
    """Return the context of the rules, and the review without tested advice."""
    check(design)
    design = with_moves(design)
    return _of_calls(design, measure(design, measurements=measurements), prices)


def _of_calls(design: Design, measured_sets: tuple[Measured, ...], prices: PriceTable) -> tuple[RuleContext, Reviewed]:
    heats, account = simulate_day(design, measured_sets)
    limits = in_sight(design, measured_sets)
    costs = bill(design, measured_sets, prices)
    measured_sets = with_costs(measured_sets, costs)
    # Needless reads have their own findings, so a partition or the account is reported only if it would be hot anyway
    needed_calls = tuple(call for one in measured_sets for call in without_waste(one))
    is_all_needed = needed_calls == measured_sets
    needed_load, needed_account = (heats, account) if is_all_needed else simulate_day(design, needed_calls)
    context = RuleContext(design, measured_sets, needed_load, needed_account, limits, costs)
    return context, Reviewed(design, measured_sets, heats, account, limits, costs, (), findings(context))
