"""Run every part of a review on a design."""

from __future__ import annotations

from dataclasses import replace

from .advice.changes import Change
from .advice.tested import with_tested_advice
from .capacity.growth import in_sight
from .capacity.hot_partitions import simulate_day
from .capacity.price import PriceTable, bill, with_costs
from .capacity.projections import project
from .consistency import promises
from .design.checks import check
from .design.model import Design
from .measure.measure import measure
from .model import Reviewed
from .rules import findings
from .rules.context import RuleContext, waste_severity
from .simulation.simulate import simulate


def review(design: Design, *, prices: PriceTable | None = None, detailed: bool = False) -> Reviewed:
    """Try a design on an account in memory, and return all that there is to say about it.

    Every access pattern is carried out on entities of the declared shape, and what it took is taken from the ledger; a
    day is simulated, the growth is followed, and a reviewer's rules are applied. Of sets with more than 1,000 entities
    a sample is made, and scaled.

    Guarantees: the same design gives the same review, on any day. No request leaves the process.

    Does not: measure how fast the service is, or see what is not declared.

    Advice is tried before it is given: each change is made in the design, which is measured again.

    Cost: no storage transaction; about a second, and as much for each change that is tried.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> from tablepatterns.review import Design, Field, Query, Shape, declare_set
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "{EmployeeId:06d}"))
    >>> fields = {"Department": Field(distinct=4), "EmployeeId": Field("int32"), "LastName": Field(distinct=100)}
    >>> by_name = Query("employee by name", {"Department": "=", "LastName": "="}, rate=20)
    >>> declared = declare_set(employees, shape=Shape("Employee", 400, fields), queries=[by_name])
    >>> measured = review(Design("Staff", (declared,))).measured[0]
    >>> measured.query_class.label, measured.examined
    ('partition scan', 100)

    :param design: the design
    :param prices: what the service charges; None for the prices that come with the package
    :param detailed: whether to add what the page and JSON show besides: sample rows, each request of each access
        pattern with what a crash leaves, and the figures at other scales; this takes about ten times as long
    :raises BadDesign: parts of the design do not fit together
    :raises BadInput: declared values cannot be stored as they are

    Guide: designing for querying, designing for modification, scalability targets, cost considerations.
    """
    found = review_with_changes(design, prices=prices)[0]
    if not detailed:
        return found
    return replace(found, simulation=simulate(design), projections=project(design, prices or PriceTable.default()))


def review_with_changes(
    design: Design, *, prices: PriceTable | None = None
) -> tuple[Reviewed, tuple[Change | None, ...]]:
    """Return what `review` does, and for each finding the change that removes it; None if none was found."""
    table = prices or PriceTable.default()
    context, found = _simulated(design, table)
    findings, changes = with_tested_advice(found, context, lambda changed: _simulated(changed, table)[1])
    return replace(found, findings=findings), changes


def _simulated(design: Design, prices: PriceTable) -> tuple[RuleContext, Reviewed]:
    """Return what is known of a design, and its review without tested advice."""
    check(design)
    measured = measure(design)
    heats, account = simulate_day(design, measured)
    limits = in_sight(design, measured)
    costs = bill(design, measured, prices)
    measured = with_costs(measured, costs)
    promised = promises(design, measured)
    # A scan is a finding of its own; what is hot without it would stay hot when it is gone
    without_scans, _ = simulate_day(design, [each for each in measured if waste_severity(each) is None])
    context = RuleContext(design, measured, without_scans, account, limits, costs, promised)
    found = findings(design, measured, without_scans, account, limits, costs, promised)
    return context, Reviewed(design, measured, heats, account, limits, costs, promised, found)
