"""Find entities that are deleted one by one or never, and archives that contradict a retention or the rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import money, number, plural, size
from tablepatterns.figures import rate as mean_rate
from tablepatterns.filters import QueryClass

from ..design.model import DAY, YEAR, ArchivePolicy, DeclaredSet
from ..design.writes import inserted_at, is_of_archive
from ..kinds import kind_of
from ..plans.sizes import archived_size, primary_sizes, rows_of
from ..result import Finding, Severity
from .context import RuleContext
from .rule import RULES, entities

_NO_GROWTH: Final = "Declare the growth; or, if old entities are deleted, their retention or these deletes."
_NO_TIME: Final = (
    "Store when each entity was inserted, so that old ones can be dropped with the table of their period "
    "(PeriodTables), or moved to an archive; or declare permanent = true."
)
_TEN_THOUSANDS: Final = 10_000
_TWICE: Final = 2.0
_FOUR_TIMES: Final = 4.0
_SMALL_SHARE: Final = 0.25
_UNCERTAIN: Final = 0.1
_NEARLY_ALL: Final = 0.9
_GIB: Final = 2**30
_BYTES: Final = 1024 * _GIB
_LEAST: Final = 10.0
"""The least amount a month that an archive costs more than it saves to be reported."""
_SCANS: Final = (QueryClass.PARTITION_SCAN, QueryClass.TABLE_SCAN)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    for declared_set in context.design.sets:
        yield from _find_single_deletes(context, declared_set)
        yield from _find_long_period(declared_set)
        yield from _find_growth_problems(context, declared_set)
        if declared_set.archive is not None:
            yield from _find_archive_conflict(declared_set, declared_set.archive)
            yield from _find_emptied_set(context, declared_set, declared_set.archive)
            yield from _find_costly_archive(context, declared_set, declared_set.archive)


def _rate(context: RuleContext, declared_set: DeclaredSet, operation: str) -> float:
    """Return the rate of the declared writes of a kind, without those that follow from a retention or an archive."""
    writes = [write.access for write in context.writes_of(declared_set) if not write.is_implied]
    return sum(write.rate for write in writes if write.operation == operation)


def _find_single_deletes(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    retention = declared_set.retention
    # Only entities with a timestamp can be stored with those of their day
    is_timed = inserted_at(declared_set) is not None
    if (retention is None and not is_timed) or (retention is not None and retention.by == "table"):
        return
    # As many entities expire as are inserted
    inserts, deletes = (_rate(context, declared_set, operation) * DAY for operation in ("insert", "delete"))
    deletes = deletes if retention is None else inserts
    if retention is None and (declared_set.shape.count < deletes or deletes < _NEARLY_ALL * inserts):
        # Entities that are deleted within a day, such as tasks that are done, leave a table before its period ends;
        # where many stay, such as followers, the others are deleted for another reason than their age
        return
    writers = (write.access.writers for write in context.writes_of(declared_set) if write.kind == "delete")
    if retention is None and max(writers, default=1) > 1:
        # One job deletes what is old; what many processes delete is deleted by users
        return
    severity = RULES["delete-by-entity"].severity_of(deletes)
    if severity is not None:
        better = None if is_timed else f"Store when each entity was inserted. {RULES['delete-by-entity'].better}"
        yield RULES["delete-by-entity"].finding(severity, declared_set, better=better, deleted=entities(deletes))


def _find_long_period(declared_set: DeclaredSet) -> Iterator[Finding]:
    retention, period = declared_set.retention, kind_of(declared_set).period_days(declared_set)
    if retention is None or retention.by != "table" or period is None or period <= retention.days:
        return
    is_personal = any(field.personal for field in declared_set.shape.fields.values())
    words = {"days": number(retention.days), "period": number(period), "most": number(retention.days + period)}
    severity = Severity.WARNING if is_personal else Severity.NOTE
    yield RULES["long-period"].finding(severity, declared_set, **words)


def _find_growth_problems(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    if declared_set.retention is not None:
        yield from _find_wrong_retention(context, declared_set, declared_set.retention.days)
        return
    shape, is_archived = declared_set.shape, declared_set.archive is not None
    inserts = _rate(context, declared_set, "insert") * YEAR
    deletes, growth = _rate(context, declared_set, "delete") * YEAR, shape.growth
    net_inserts = inserts - deletes
    if is_archived and not growth:
        # The archive takes what is added
        return
    if not is_archived and shape.moves.received:
        inserts, net_inserts = (rate + shape.moves.received_rate * YEAR for rate in (inserts, net_inserts))
        growth = shape.net_growth
    # The difference of two large rates is as uncertain as these are
    tolerated = max(_TEN_THOUSANDS, _SMALL_SHARE * shape.count, _UNCERTAIN * min(inserts, deletes))
    are_too_many = net_inserts > _TWICE * growth + tolerated
    # Of two figures that contradict each other, the higher one may be the wrong one
    yearly = growth if are_too_many and growth > 0 else max(net_inserts, growth)
    stored = primary_sizes(declared_set).row * rows_of(declared_set) * yearly
    words = {"added": entities(max(0.0, net_inserts)), "growth": number(growth)}
    figures = RULES["unbounded-growth"].figures
    is_fast = yearly >= figures["fast"] and yearly >= _SMALL_SHARE * shape.count
    is_large = is_fast or yearly >= figures["warning"] or stored >= _BYTES
    if is_large and not is_archived and not declared_set.permanent:
        # What can be dropped or archived depends on the fields
        at = inserted_at(declared_set)
        grown = {"added": entities(yearly), "bytes": size(stored), "at": at or ""}
        better = _NO_TIME if at is None else None
        yield RULES["unbounded-growth"].finding(Severity.WARNING, declared_set, better=better, **grown)
    if are_too_many:
        calls = (write for write in context.writes_of(declared_set) if write.kind == "insert")
        busiest = max(calls, key=lambda write: write.access.rate, default=None)
        words |= {"access": repr(busiest.access.name) if busiest else "the insert", "mean": mean_rate(growth / YEAR)}
        better = None if growth else _NO_GROWTH
        yield RULES["growth-mismatch"].finding(Severity.WARNING, declared_set, better=better, **words)
    elif inserts and growth > _TWICE * max(0.0, net_inserts) + tolerated:
        better = "Correct one of the two, or declare the other inserts."
        yield RULES["growth-mismatch"].finding(Severity.WARNING, declared_set, better=better, **words)


def _find_wrong_retention(context: RuleContext, declared_set: DeclaredSet, days: float) -> Iterator[Finding]:
    """Yield a finding if a set has far more entities than the retained days have inserts."""
    inserts, count = _rate(context, declared_set, "insert") * DAY * days, declared_set.shape.count
    if inserts and count > _FOUR_TIMES * inserts + _TEN_THOUSANDS:
        says = (
            f"The inserts of {number(days)} days of {declared_set.name} are {entities(inserts)}, and it has "
            f"{number(count)}."
        )
        better = "Which is right: the count, the rate of the inserts, or the retention?"
        yield RULES["growth-mismatch"].finding(Severity.WARNING, declared_set, says, better)


def _find_archive_conflict(declared_set: DeclaredSet, policy: ArchivePolicy) -> Iterator[Finding]:
    retention, days = declared_set.retention, policy.after_days
    if retention is None or days is None or policy.rate is not None:
        return
    after, retained = plural(days, "day"), plural(retention.days, "day")
    says = better = None
    if policy.is_late(retention):
        says = f"Entities of {declared_set.name} are deleted after {retained}, before they are archived after {after}."
        better = f"Archive them earlier, and declare how long {policy.place} keeps them instead."
    words = {"after": after, "retention": retained, "place": policy.place}
    yield RULES["archive-or-retention"].finding(Severity.WARNING, declared_set, says, better, **words)


def _find_emptied_set(context: RuleContext, declared_set: DeclaredSet, policy: ArchivePolicy) -> Iterator[Finding]:
    shape = declared_set.shape
    if policy.rate is not None and shape.count and context.entities_then(declared_set) <= 0:
        years = plural(round(-shape.count / shape.net_growth, 1), "year")
        words = {"rate": entities(policy.rate * YEAR), "count": number(shape.count), "years": years}
        yield RULES["archive-empties-set"].finding(Severity.WARNING, declared_set, **words)
    elif policy.rate is not None and shape.net_growth > shape.moves.archived + _TEN_THOUSANDS:
        words = {"rate": entities(shape.moves.archived), "growth": entities(shape.net_growth)}
        yield RULES["archive-falls-behind"].finding(Severity.SERIOUS, declared_set, **words)


def _find_costly_archive(context: RuleContext, declared_set: DeclaredSet, policy: ArchivePolicy) -> Iterator[Finding]:
    """Yield a finding if moving entities to blobs, and reading them there, costs more than it saves of capacity."""
    writes, queries = context.writes_of(declared_set), context.queries_of(declared_set)
    if policy.container is None or any(query.query_class in _SCANS for query in queries):
        # Without the old entities, a scan is shorter
        return
    bill, units = context.bill, {line.unit: line.amount / line.quantity for line in context.bill.lines}
    archived = policy.count + declared_set.shape.moves.archived * context.design.years
    price = units.get("GB in tables", 0.0) * primary_sizes(declared_set).row
    saved = archived / _GIB * (price - units.get("GB in blobs", 0.0) * archived_size(declared_set))
    subjects = [write.subject for write in writes if is_of_archive(declared_set, write.access)]
    subjects += [query.subject for query in queries if query.access.archived]
    cost = sum(bill.by_subject.get(subject, 0.0) for subject in subjects)
    if cost - saved >= _LEAST and cost >= _TWICE * saved:
        words = {"cost": money(cost, bill.currency), "saved": money(max(0.0, saved), bill.currency)}
        yield RULES["archive-costs-more"].finding(Severity.WARNING, declared_set, place=policy.place, **words)
