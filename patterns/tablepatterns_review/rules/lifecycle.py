"""Find entities that are deleted one by one, or never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import number, plural

from ..design.archives import is_of_archive
from ..design.model import DAY, YEAR, DeclaredSet
from ..model import Finding, Severity
from .context import RuleContext
from .rule import Rule, entities, severity_of

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
    says="{deleted} of {set} are found and deleted one by one every day.",
    better="Use a table per day, week or month (PeriodTables), and drop expired tables: 1 transaction each.",
    pattern="period_tables",
)
UNBOUNDED_GROWTH: Final = Rule(
    name="unbounded-growth",
    finds="a set grows fast, and has no retention",
    severity="a warning from a billion entities a year, a note from a hundred million",
    why="Data that is deleted together should be stored together from the start; that is hard to change later.",
    guide="High volume delete pattern",
    says="{added} a year are added to {subject}, and none is ever deleted.",
    better="Declare a retention and use a table per period, or move old entities to an archive.",
    pattern="period_tables",
    why_not_automatic="how long entities must be kept is a decision of the business",
)
GROWTH_MISMATCH: Final = Rule(
    name="growth-mismatch",
    finds="the declared inserts and deletes contradict the declared growth, or the retention",
    severity="a warning if one is more than twice the other",
    why="Estimate both capacity and transactions when you evaluate a design.",
    guide="Cost considerations",
    says="The writes of {set} add {added} a year, and the declared growth is {growth}.",
    better="Declare the growth, or a retention: limits and costs are calculated from them.",
    why_not_automatic="which of the figures is right, only you know",
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield findings about how the entities of each set are deleted, or about missing deletes."""
    for declared_set in context.design.sets:
        yield from _deleted(context, declared_set)
        yield from _kept(context, declared_set)
    for log in context.design.logs:
        added = log.rate * YEAR
        severity = severity_of(added, warning=_TOO_MANY, note=_MANY)
        if log.retention_days is None and severity is not None:
            better = "Declare retention_days, and call drop_before every day: deletes of blobs are free."
            words = {"added": plural(added, "entry")}
            yield UNBOUNDED_GROWTH.finding(severity, log.name, better=better, pattern="blob_log", **words)


def _rate(context: RuleContext, declared_set: DeclaredSet, operation: str) -> float:
    writes = [write.write for write in context.writes_of(declared_set) if not is_of_archive(declared_set, write.write)]
    return sum(write.rate for write in writes if write.operation == operation)


def _deleted(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    retention = declared_set.retention
    if (retention is not None and retention.by == "table") or (retention is None and not _ages(declared_set)):
        return
    # As many entities expire as are inserted
    gone = _rate(context, declared_set, "delete" if retention is None else "insert") * DAY
    severity = severity_of(gone, warning=_TEN_THOUSANDS, note=_THOUSANDS)
    if severity is not None:
        yield DELETE_BY_ENTITY.finding(severity, declared_set, deleted=entities(gone))


def _ages(declared_set: DeclaredSet) -> bool:
    """Whether entities have a timestamp, so that those of a day can be stored together."""
    return any(field.type == "datetime" and field.order == "rising" for field in declared_set.shape.fields.values())


def _kept(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    """Yield a finding if a set grows without end, or its writes contradict its growth."""
    if declared_set.retention is not None:
        yield from _expired(context, declared_set, declared_set.retention.days)
        return
    shape, is_archived = declared_set.shape, declared_set.archive is not None
    inserted = _rate(context, declared_set, "insert") * YEAR
    added, growth = inserted - _rate(context, declared_set, "delete") * YEAR, shape.growth
    if is_archived and not growth:
        # The archive takes what is added
        return
    if not is_archived and shape.moves.received:
        inserted, added = (rate + shape.moves.received_rate * YEAR for rate in (inserted, added))
        growth = shape.net_growth
    severity = severity_of(max(added, growth), warning=_TOO_MANY, note=_MANY)
    tolerated = max(_TEN_THOUSANDS, shape.count)
    words = {"added": entities(max(0.0, added)), "growth": number(growth)}
    if not is_archived and severity is not None:
        yield UNBOUNDED_GROWTH.finding(severity, declared_set, added=entities(max(added, growth)))
    elif added > _TWICE * growth + tolerated:
        yield GROWTH_MISMATCH.finding(Severity.WARNING, declared_set, **words)
    elif inserted and growth > _TWICE * max(0.0, added) + tolerated:
        better = "Declare all inserts, or the growth that they lead to: limits and costs are calculated from both."
        yield GROWTH_MISMATCH.finding(Severity.WARNING, declared_set, better=better, **words)


def _expired(context: RuleContext, declared_set: DeclaredSet, days: float) -> Iterator[Finding]:
    """Yield a finding if a set has far more entities than the retained days have inserts."""
    count, there = _rate(context, declared_set, "insert") * DAY * days, declared_set.shape.count
    if count and there > _FOUR_TIMES * count + _TEN_THOUSANDS:
        says = (
            f"The inserts of {number(days)} days of {declared_set.name} are {entities(count)}, and it has "
            f"{number(there)}."
        )
        better = "Declare the count that the inserts lead to within the retention, or the other rate."
        yield GROWTH_MISMATCH.finding(Severity.WARNING, declared_set, says, better)
