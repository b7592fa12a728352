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
    old, new = ({_identity(each): each for each in found.measured} for found in (before, after))
    keys = [*old, *(key for key in new if key not in old)]
    return Sheet(
        "access-patterns",
        f"{plain(before.design.name)} → {plain(after.design.name)}",
        "The figures of one call of each access pattern, before and after.",
        (Column("Access pattern"), Column("Class"), *(Column(name, figures=True) for name in _FIGURES)),
        tuple(_row(old.get(key), new.get(key)) for key in keys),
    )


def _identity(found: Measured) -> tuple[str, str, bool]:
    """Return what is compared: the retention and the archive of a set stay the same if their days or place change."""
    name = found.access.name
    if found.is_implied:
        name = "retention" if is_of_retention(found.of, found.access) else "archive"
    return found.of.name, name, found.is_implied


def _row(old: Measured | None, new: Measured | None) -> tuple[Cell, ...]:
    names = [name_of(each) for each in (old, new) if each is not None]
    return (
        _pair(names[0], names[-1]),
        _pair(_class(old), _class(new)),
        *(_pair(_figure(old, field), _figure(new, field)) for field in ("requests", "transactions", "examined")),
        _pair(_cost(old), _cost(new)),
    )


def _class(found: Measured | None) -> str:
    return "none" if found is None else class_of(found)


def _figure(found: Measured | None, field: str) -> str:
    return "none" if found is None else number(getattr(found, field))


def _cost(found: Measured | None) -> str:
    return "none" if found is None or found.cost_a_month is None else sum_of_money(found.cost_a_month)


def _pair(old: str, new: str) -> Cell:
    return Cell(old if old == new else f"{old} → {new}")


def _totals(before: Reviewed, after: Reviewed) -> Sheet:
    rows = (
        ("Cost a month", *(money(each.bill.total, each.bill.currency) for each in (before, after))),
        ("Cost after growth", *(money(each.bill.then, each.bill.currency) for each in (before, after))),
        ("Busiest partition", *(share(each.busiest) for each in (before, after))),
        ("Peak of the account", *(share(each.account.peak / each.account.target) for each in (before, after))),
    )
    return Sheet(
        "totals",
        "Totals",
        "Shares are of the target of a partition or of the account.",
        (Column("Figure"), Column("Before", figures=True), Column("After", figures=True)),
        tuple((Cell(name), Cell(old), Cell(new)) for name, old, new in rows),
    )


def _findings(before: Reviewed, after: Reviewed) -> Sheet:
    old, new = (_by_subject(each) for each in (before, after))
    rows = [("resolved", key, old[key]) for key in old if key not in new]
    rows += [("new", key, new[key]) for key in new if key not in old]
    rows += [("still there", key, new[key]) for key in new if key in old]
    return Sheet(
        "findings",
        "Findings",
        "Findings that are resolved, new or unchanged." if rows else "Neither design has findings.",
        (Column("Change"), Column("Severity"), Column("Subject"), Column("Rule")),
        tuple(
            (Cell(change), Cell(SEVERITIES[each.severity]), Cell(plain(key[1])), Cell(key[0]))
            for change, key, each in rows
        ),
    )


def _by_subject(reviewed: Reviewed) -> dict[tuple[str, str], Finding]:
    found = [each for first in reviewed.findings for each in (first, *first.resolves)]
    return {(each.rule, each.subject): each for each in found}
