"""Find entities that are deleted one by one, or never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import number, plural

from ..design.archives import is_of_archive
from ..design.model import DAY, YEAR, DeclaredLog, DeclaredSet
from ..model import Finding, Severity
from .context import RuleContext
from .rule import Rule, entities

_THOUSANDS: Final = 1_000
_TEN_THOUSANDS: Final = 10_000
_MANY: Final = 1e8
_TOO_MANY: Final = 1e9
_TWICE: Final = 2.0
_FOUR_TIMES: Final = 4.0
DELETE_BY_ENTITY: Final = Rule(
    name="delete-by-entity",
    finds="thousands of entities are deleted one by one every day",
    severity=f"a warning from {number(_TEN_THOUSANDS)} a day, a note from {number(_THOUSANDS)}",
    why="Each entity is found and then deleted; a table is dropped with one request, whatever it contains.",
    guide="High volume delete pattern",
    pattern="period_tables",
)
UNBOUNDED_GROWTH: Final = Rule(
    name="unbounded-growth",
    finds="a set grows fast, and has no retention",
    severity="a warning from a billion entities a year, a note from a hundred million",
    why="Data that is deleted together should be stored together from the start; that is hard to change later.",
    guide="High volume delete pattern",
    pattern="period_tables",
    why_not_automatic="how long entities must be kept is a decision of the business",
)
GROWTH_MISMATCH: Final = Rule(
    name="growth-mismatch",
    finds="the declared inserts and deletes contradict the declared growth, or the retention",
    severity="a warning if one is more than twice the other",
    why="Estimate both capacity and transactions when you evaluate a design.",
    guide="Cost considerations",
    why_not_automatic="which of the figures is right, only you know",
)
RULES: Final = (DELETE_BY_ENTITY, UNBOUNDED_GROWTH, GROWTH_MISMATCH)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield findings about how the entities of each set are deleted, or about missing deletes."""
    for declared_set in context.design.sets:
        yield from _deleted(context, declared_set)
        yield from _kept(context, declared_set)
    for log in context.design.logs:
        yield from _logged(log)


def _rate(context: RuleContext, declared_set: DeclaredSet, operation: str) -> float:
    writes = [write.write for write in context.writes_of(declared_set) if not is_of_archive(declared_set, write.write)]
    return sum(write.rate for write in writes if write.operation == operation)


def _deleted(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    retention = declared_set.retention
    if retention is not None and retention.by == "table":
        return
    # As many entities expire as are inserted
    gone = _rate(context, declared_set, "insert") if retention is not None else _rate(context, declared_set, "delete")
    if gone * DAY < _THOUSANDS or (retention is None and not _ages(declared_set)):
        return
    severity = Severity.WARNING if gone * DAY >= _TEN_THOUSANDS else Severity.NOTE
    says = f"{entities(gone * DAY)} of {declared_set.name} are found and deleted one by one every day."
    better = "Use a table per day, week or month (PeriodTables), and drop expired tables: 1 transaction each."
    yield DELETE_BY_ENTITY.finding(severity, declared_set.name, says, better)


def _ages(declared_set: DeclaredSet) -> bool:
    """Whether entities have a timestamp, so that those of a day can be stored together."""
    return any(field.type == "datetime" and field.order == "rising" for field in declared_set.shape.fields.values())


def _kept(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    """Yield a finding if a set grows without end, or its writes contradict its growth."""
    if declared_set.retention is not None:
        yield from _expired(context, declared_set)
        return
    inserted = _rate(context, declared_set, "insert") * YEAR
    added = (_rate(context, declared_set, "insert") - _rate(context, declared_set, "delete")) * YEAR
    growth = declared_set.shape.growth
    if declared_set.archive is not None and not growth:
        # The archive takes what is added
        return
    if declared_set.archive is None and declared_set.shape.moves.received:
        inserted, added = (rate + declared_set.shape.moves.received_rate * YEAR for rate in (inserted, added))
        growth = declared_set.shape.net_growth
    if declared_set.archive is None and max(added, growth) >= _MANY:
        more = max(added, growth)
        severity = Severity.WARNING if more >= _TOO_MANY else Severity.NOTE
        says = f"{entities(more)} a year are added to {declared_set.name}, and none is ever deleted."
        better = "Declare a retention and use a table per period, or move old entities to an archive."
        yield UNBOUNDED_GROWTH.finding(severity, declared_set.name, says, better)
    elif added > _TWICE * growth + max(_TEN_THOUSANDS, declared_set.shape.count):
        says = (
            f"The writes of {declared_set.name} add {entities(added)} a year, and the declared growth is "
            f"{number(growth)}."
        )
        better = "Declare the growth, or a retention: limits and costs are calculated from them."
        yield GROWTH_MISMATCH.finding(Severity.WARNING, declared_set.name, says, better)
    elif inserted and growth > _TWICE * max(0.0, added) + max(_TEN_THOUSANDS, declared_set.shape.count):
        says = (
            f"The writes of {declared_set.name} add {entities(max(0.0, added))} a year, and the declared growth is "
            f"{number(growth)}."
        )
        better = "Declare all inserts, or the growth that they lead to: limits and costs are calculated from both."
        yield GROWTH_MISMATCH.finding(Severity.WARNING, declared_set.name, says, better)


def _logged(log: DeclaredLog) -> Iterator[Finding]:
    added = log.rate * YEAR
    if log.retention_days is None and added >= _MANY:
        severity = Severity.WARNING if added >= _TOO_MANY else Severity.NOTE
        says = f"{plural(added, 'entry')} a year are added to {log.name}, and none is ever deleted."
        better = "Declare retention_days, and call drop_before every day: deletes of blobs are free."
        yield UNBOUNDED_GROWTH.finding(severity, log.name, says, better, pattern="blob_log")


def _expired(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    """Yield a finding if a set has far more entities than the retained days have inserts."""
    days = declared_set.retention.days if declared_set.retention else 0.0
    count, there = _rate(context, declared_set, "insert") * DAY * days, declared_set.shape.count
    if count and there > _FOUR_TIMES * count + _TEN_THOUSANDS:
        says = (
            f"The inserts of {number(days)} days of {declared_set.name} are {entities(count)}, and it has "
            f"{number(there)}."
        )
        better = "Declare the count that the inserts lead to within the retention, or the other rate."
        yield GROWTH_MISMATCH.finding(Severity.WARNING, declared_set.name, says, better)
