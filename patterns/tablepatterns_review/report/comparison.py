"""Compare the reviews of two designs, by access pattern."""

from __future__ import annotations

from typing import Final

from tablepatterns.figures import money, number, share, sum_of_money

from ..measure.measure import is_of_retention
from ..model import Finding, Measured, Reviewed
from .formatting import SEVERITIES, class_of, name_of, plain
from .tables import Cell, Column, Sheet

_FIGURES: Final = ("Requests", "Billed", "Examined", "A month")


def comparison(before: Reviewed, after: Reviewed) -> tuple[Sheet, ...]:
    """Return the tables that compare two designs: access patterns, totals, and findings."""
    return _accesses(before, after), _totals(before, after), _findings(before, after)


def _accesses(before: Reviewed, after: Reviewed) -> Sheet:
    old, new = (
        {_identity(measured_set): measured_set for measured_set in reviewed.measured} for reviewed in (before, after)
    )
    keys = [*old, *(key for key in new if key not in old)]
    return Sheet(
        "access-patterns",
        f"{plain(before.design.name)} → {plain(after.design.name)}",
        "The figures of one call of each access pattern, before and after.",
        (Column("Access pattern"), Column("Class"), *(Column(name, figures=True) for name in _FIGURES)),
        tuple(_row(old.get(key), new.get(key)) for key in keys),
    )


def _identity(measured_set: Measured) -> tuple[str, str, bool]:
    """Return what is compared: the retention and the archive of a set stay the same if their days or place change."""
    name = measured_set.access.name
    if measured_set.is_implied:
        name = "retention" if is_of_retention(measured_set.of, measured_set.access) else "archive"
    return measured_set.of.name, name, measured_set.is_implied


def _row(old: Measured | None, new: Measured | None) -> tuple[Cell, ...]:
    names = [name_of(measured_set) for measured_set in (old, new) if measured_set is not None]
    return (
        _pair(names[0], names[-1]),
        _pair(_class(old), _class(new)),
        *(_pair(_figure(old, field), _figure(new, field)) for field in ("requests", "transactions", "examined")),
        _pair(_cost(old), _cost(new)),
    )


def _class(measured_set: Measured | None) -> str:
    return "none" if measured_set is None else class_of(measured_set)


def _figure(measured_set: Measured | None, field: str) -> str:
    return "none" if measured_set is None else number(getattr(measured_set, field))


def _cost(measured_set: Measured | None) -> str:
    return (
        "none" if measured_set is None or measured_set.cost_a_month is None else sum_of_money(measured_set.cost_a_month)
    )


def _pair(old: str, new: str) -> Cell:
    return Cell(old if old == new else f"{old} → {new}")


def _totals(before: Reviewed, after: Reviewed) -> Sheet:
    rows = (
        ("Cost a month", *(money(reviewed.bill.total, reviewed.bill.currency) for reviewed in (before, after))),
        ("Cost after growth", *(money(reviewed.bill.then, reviewed.bill.currency) for reviewed in (before, after))),
        ("Busiest partition", *(share(reviewed.busiest) for reviewed in (before, after))),
        (
            "Peak of the account",
            *(share(reviewed.account.peak / reviewed.account.target) for reviewed in (before, after)),
        ),
    )
    return Sheet(
        "totals",
        "Totals",
        "Shares are of the target of a partition or of the account.",
        (Column("Figure"), Column("Before", figures=True), Column("After", figures=True)),
        tuple((Cell(name), Cell(old), Cell(new)) for name, old, new in rows),
    )


def _findings(before: Reviewed, after: Reviewed) -> Sheet:
    old, new = (_by_subject(reviewed) for reviewed in (before, after))
    rows = [("resolved", key, old[key]) for key in old if key not in new]
    rows += [("new", key, new[key]) for key in new if key not in old]
    rows += [("still there", key, new[key]) for key in new if key in old]
    return Sheet(
        "findings",
        "Findings",
        "Findings that are resolved, new or unchanged." if rows else "Neither design has findings.",
        (Column("Change"), Column("Severity"), Column("Subject"), Column("Rule")),
        tuple(
            (Cell(change), Cell(SEVERITIES[finding.severity]), Cell(plain(key[1])), Cell(key[0]))
            for change, key, finding in rows
        ),
    )


def _by_subject(reviewed: Reviewed) -> dict[tuple[str, str], Finding]:
    findings = [finding for first in reviewed.findings for finding in (first, *first.resolves)]
    return {(finding.rule, finding.subject): finding for finding in findings}
