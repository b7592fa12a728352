"""Find entities that are deleted one by one, or never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...figures import number
from ..design.model import DeclaredSet
from ..model import Finding, Severity
from .known import Known
from .rule import Rule, entities

_DAY: Final = 86_400
_YEAR: Final = 365.25 * _DAY
_THOUSANDS: Final = 1_000
_TEN_THOUSANDS: Final = 10_000
_MANY: Final = 1e8
_TOO_MANY: Final = 1e9
_TWICE: Final = 2.0
DELETE_BY_ENTITY: Final = Rule(
    name="delete-by-entity",
    finds="entities are found and deleted one by one, by the thousand every day",
    severity=f"a warning from {number(_TEN_THOUSANDS)} a day on, a note from {number(_THOUSANDS)}",
    why="Each must be found first and deleted then; a table is dropped by a single operation, whatever is in it.",
    guide="High volume delete pattern",
    pattern="period_tables",
)
UNBOUNDED_GROWTH: Final = Rule(
    name="unbounded-growth",
    finds="much is added, and nothing says how long it is kept",
    severity="a warning from a billion entities a year on, a note from a hundred million",
    why="What is deleted together should be kept together from the first day: it cannot be arranged later.",
    guide="High volume delete pattern",
    pattern="period_tables",
)
GROWTH_MISMATCH: Final = Rule(
    name="growth-mismatch",
    finds="the declared writes add far more entities than the declared growth",
    severity="a warning where there are more than twice as many after a year as declared",
    why="Estimate the capacity that is used as well as the transactions when you judge a design.",
    guide="Cost considerations",
)
RULES: Final = (DELETE_BY_ENTITY, UNBOUNDED_GROWTH, GROWTH_MISMATCH)


def found(known: Known) -> Iterator[Finding]:
    """Yield what is wrong with how the entities of each set are deleted, or that they are not."""
    for declared in known.design.sets:
        yield from _deleted(known, declared)
        yield from _kept(known, declared)


def _rate(known: Known, declared: DeclaredSet, operation: str) -> float:
    return sum(each.write.rate for each in known.writes_of(declared) if each.write.operation == operation)


def _deleted(known: Known, declared: DeclaredSet) -> Iterator[Finding]:
    retention = declared.retention
    if retention is not None and retention.by == "table":
        return
    # What comes goes again after the days that are declared
    gone = _rate(known, declared, "insert") if retention is not None else _rate(known, declared, "delete")
    if gone * _DAY < _THOUSANDS or (retention is None and not _ages(declared)):
        return
    severity = Severity.WARNING if gone * _DAY >= _TEN_THOUSANDS else Severity.NOTE
    says = f"{entities(gone * _DAY)} of {declared.name} are found and deleted every day, one by one."
    better = (
        "Keep a table for each day, week or month (PeriodTables), and drop one when all in it is old: 1 transaction."
    )
    yield DELETE_BY_ENTITY.finding(severity, declared.name, says, better)


def _ages(declared: DeclaredSet) -> bool:
    """Whether entities have a moment, so that those of a day can be kept together."""
    return any(each.type == "datetime" and each.order == "rising" for each in declared.shape.fields.values())


def _kept(known: Known, declared: DeclaredSet) -> Iterator[Finding]:
    if declared.retention is not None:
        return
    added = (_rate(known, declared, "insert") - _rate(known, declared, "delete")) * _YEAR
    growth = declared.shape.growth
    if max(added, growth) >= _MANY:
        more = max(added, growth)
        severity = Severity.WARNING if more >= _TOO_MANY else Severity.NOTE
        says = f"{entities(more)} a year are added to {declared.name}, and nothing says when one may go."
        better = "Say how long they are kept, and keep a table for each period, or move what is old to an archive."
        yield UNBOUNDED_GROWTH.finding(severity, declared.name, says, better)
    elif added > _TWICE * growth + max(_TEN_THOUSANDS, declared.shape.count):
        says = (
            f"The writes of {declared.name} add {entities(added)} a year, and the declared growth is {number(growth)}."
        )
        better = "Declare the growth, or how long entities are kept: limits and costs are reckoned from it."
        yield GROWTH_MISMATCH.finding(Severity.WARNING, declared.name, says, better)
