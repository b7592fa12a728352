"""Run every part of a review on a design."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from .advice.changes import Change
from .advice.tested import with_tested_advice
from .capacity.growth import in_sight
from .capacity.hot_partitions import account_load, table_loads
from .capacity.price import PriceTable, bill, with_costs
from .design.model import Design
from .design.writes import with_moves
from .design_file.checks import check
from .measure.measure import Measurements, estimated, independent, measure
from .result import Finding, Measured, Reviewed
from .rules import findings
from .rules.context import RuleContext, without_waste

MAX_TESTS: Final = 10_000
"""How many access patterns are measured in tests of changes. Each test measures those of the changed design again."""

_OBJECTS: Final = 100_000
"""How many objects a review makes between two collections of garbage."""


@contextmanager
def _fewer_collections() -> Generator[None, None, None]:
    """Collect garbage less often: most objects of a review live as long as it does."""
    thresholds = gc.get_threshold()
    # A review in another thread restores those that it changed
    if thresholds[0] >= _OBJECTS:
        yield
        return
    gc.set_threshold(_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@_fewer_collections()
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
    # Loads the explorer of schedules, which the first findings do not need
    from .simulation.consistency import consistency
    from .simulation.simulate import simulate

    simulation = simulate(design)
    return replace(reviewed, simulation=simulation, consistency=consistency(reviewed.measured, simulation))


@_fewer_collections()
def review_with_changes(
    design: Design, *, prices: PriceTable | None = None, on_measured: Callable[[int], None] | None = None
) -> tuple[Reviewed, tuple[Change | None, ...]]:
    """Return the result of `review`, and for each finding the change that removes it; None if none was found."""
    price_table, measurements = prices or PriceTable.default(), Measurements(on_measured)
    context, reviewed = without_advice(design, price_table, measurements)
    most = measurements.count + MAX_TESTS

    def review_part(part: Design, beside: Sequence[float]) -> Reviewed:
        return without_advice(part, price_table, measurements, beside)[1]

    findings, changes, together = with_tested_advice(
        reviewed, context, ChangedReviews(reviewed, review_part).review, lambda: measurements.count < most
    )
    return replace(reviewed, findings=findings, together=together), changes


class ChangedReviews:
    """Reviews of changes of a design: only the sets that a change concerns are reviewed, beside the load of the others.

    :param review_part: reviews a design beside other requests to the account, per second at each step of a day
    """

    def __init__(self, whole: Reviewed, review_part: Callable[[Design, Sequence[float]], Reviewed]) -> None:
        self._whole = whole
        self._review_part = review_part
        self._parts: dict[frozenset[str], tuple[Sequence[float], Reviewed]] = {}

    def review(self, changed: Design) -> Reviewed:
        """Return the review of a changed design; its limits and the load of its account are those before the change."""
        whole, names = self._whole, self._concerned(changed)
        beside, before = self._parts.get(names) or self._parts.setdefault(names, self._unchanged(names))
        after = self._review_part(changed.part(names), beside)
        tables, costs = {load.table for load in before.heats}, whole.bill
        lines = [line for line in costs.lines if line.subject.partition(": ")[0] not in names]
        return replace(
            whole,
            design=changed,
            measured=(*(call for call in whole.measured if call.of.name not in names), *after.measured),
            heats=(*(load for load in whole.heats if load.table not in tables), *after.heats),
            bill=replace(
                costs,
                lines=(*lines, *after.bill.lines),
                total=costs.total - before.bill.total + after.bill.total,
                then=costs.then - before.bill.then + after.bill.then,
            ),
            findings=_merged(whole.findings, before.findings, after.findings),
        )

    def _concerned(self, changed: Design) -> frozenset[str]:
        """Return the sets that a change alters, and those that share something with them before or after."""
        pairs = zip(self._whole.design.sets, changed.sets, strict=True)
        altered = {new.name for old, new in pairs if new is not old}
        groups = [*independent(self._whole.design), *independent(changed)]
        return frozenset[str]().union(*(group for group in groups if not group.isdisjoint(altered)))

    def _unchanged(self, names: Collection[str]) -> tuple[Sequence[float], Reviewed]:
        others = [call for call in self._whole.measured if call.of.name not in names]
        beside = account_load(needed for call in others for needed in without_waste(call)).rates
        return beside, self._review_part(self._whole.design.part(names), beside)


def _merged(whole: Sequence[Finding], before: Sequence[Finding], after: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a design of which a part has changed; some need the whole, such as the account's."""
    keys, old = ({(finding.rule, finding.subject) for finding in findings} for findings in (whole, before))
    remain = [finding for finding in whole if (finding.rule, finding.subject) not in old]
    # What only a part has without the change is no effect of the change
    new = [one for one in after if (one.rule, one.subject) in keys or (one.rule, one.subject) not in old]
    return (*new, *remain)


def first_findings(design: Design) -> tuple[Finding, ...]:
    """Return the findings that estimates give, within a second; a review measures, and may correct them.

    :raises BadDesign: parts of the design do not fit together
    """
    check(design)
    return _of_calls(with_moves(design), estimated(design), PriceTable.default(), ())[1].findings


def without_advice(
    design: Design, prices: PriceTable, measurements: Measurements, beside: Sequence[float] = ()
) -> tuple[RuleContext, Reviewed]:
    """Return the context of the rules, and the review without tested advice.

    :param beside: the other requests to the account, per second at each step of a day
    """
    check(design)
    design = with_moves(design)
    return _of_calls(design, measure(design, measurements=measurements), prices, beside)


def _of_calls(
    design: Design, measured_sets: tuple[Measured, ...], prices: PriceTable, beside: Sequence[float]
) -> tuple[RuleContext, Reviewed]:
    heats, account = table_loads(design, measured_sets), account_load(measured_sets)
    limits = in_sight(design, measured_sets)
    costs = bill(design, measured_sets, prices)
    measured_sets = with_costs(measured_sets, costs)
    # Needless reads have their own findings, so a partition or the account is reported only if it would be hot anyway
    needed_calls = tuple(call for one in measured_sets for call in without_waste(one))
    needed_load, needed_account = heats, account
    if needed_calls != measured_sets:
        needed_load, needed_account = table_loads(design, needed_calls), account_load(needed_calls)
    if beside:
        needed_account = replace(needed_account, rates=tuple(map(sum, zip(needed_account.rates, beside, strict=True))))
    context = RuleContext(design, measured_sets, needed_load, needed_account, limits, costs)
    return context, Reviewed(design, measured_sets, heats, account, limits, costs, (), findings(context))
