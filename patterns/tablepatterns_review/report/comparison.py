"""Compare the reviews of two designs, by access pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tablepatterns.figures import money, number, share, sum_of_money

from ..measure.measure import is_of_retention
from ..result import Finding, Measured, Reviewed
from .formatting import SEVERITIES, class_of, name_of, plain
from .tables import Cell, Sheet, columns, row

_FIGURES: Final = {">Requests": "requests", ">Billed": "transactions", ">Examined": "examined"}
"""The attributes of the figures, by their headings."""


def comparison(before: Reviewed, after: Reviewed) -> tuple[Sheet, ...]:
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
        columns("Access pattern", "Class", *_FIGURES, ">A month"),
        tuple(_row(old.get(key), new.get(key)) for key in keys),
    )


def _identity(measured_set: Measured) -> tuple[str, str, bool]:
    """Return what is compared: the retention and the archive of a set stay the same if their days or place change."""
    name = measured_set.access.name
    if measured_set.is_implied:
        name = "retention" if is_of_retention(measured_set.of, measured_set.access) else "archive"
    return measured_set.of.name, name, measured_set.is_implied


def _row(old: Measured | None, new: Measured | None) -> tuple[Cell, ...]:
    names = [name_of(call) for call in (old, new) if call is not None]
    figures = (_figures(old), _figures(new))
    return row(_pair(names[0], names[-1]), *map(_pair, *figures))


def _figures(call: Measured | None) -> list[str]:
    if call is None:
        return ["none"] * (2 + len(_FIGURES))
    cost = "none" if call.cost_a_month is None else sum_of_money(call.cost_a_month)
    return [class_of(call), *(number(getattr(call, name)) for name in _FIGURES.values()), cost]


def _pair(old: str, new: str) -> str:
    return old if old == new else f"{old} → {new}"


def _totals(before: Reviewed, after: Reviewed) -> Sheet:
    figures: dict[str, Callable[[Reviewed], str]] = {
        "Cost a month": lambda reviewed: money(reviewed.bill.total, reviewed.bill.currency),
        "Cost after growth": lambda reviewed: money(reviewed.bill.then, reviewed.bill.currency),
        "Busiest partition": lambda reviewed: share(reviewed.busiest),
        "Peak of the account": lambda reviewed: share(reviewed.account.peak / reviewed.account.target),
    }
    return Sheet(
        "totals",
        "Totals",
        "Shares are of the target of a partition or of the account.",
        columns("Figure", ">Before", ">After"),
        tuple(row(name, figure(before), figure(after)) for name, figure in figures.items()),
    )


def _findings(before: Reviewed, after: Reviewed) -> Sheet:
    old, new = (_by_subject(reviewed) for reviewed in (before, after))
    changes = [("resolved", key, old[key]) for key in old if key not in new]
    changes += [("new", key, new[key]) for key in new if key not in old]
    changes += [("still there", key, new[key]) for key in new if key in old]
    return Sheet(
        "findings",
        "Findings",
        "Findings that are resolved, new or unchanged." if changes else "Neither design has findings.",
        columns("Change", "Severity", "Subject", "Rule"),
        tuple(row(change, SEVERITIES[finding.severity], key[1], key[0]) for change, key, finding in changes),
    )


def _by_subject(reviewed: Reviewed) -> dict[tuple[str, str], Finding]:
    findings = [finding for first in reviewed.findings for finding in (first, *first.resolves)]
    return {(finding.rule, finding.subject): finding for finding in findings}
