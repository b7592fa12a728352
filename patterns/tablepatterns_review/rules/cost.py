"""Find an access pattern that makes up most of the bill and could cost less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import money, number, share

from ..design.model import Query
from ..model import About, Finding, Severity
from .context import RuleContext
from .rule import Rule, part_of

_MOST: Final = 0.5
_WORTH: Final = 100.0
_SEVERAL: Final = 3.0
"""An update is two transactions: it reads the entity first."""
MOST_OF_THE_BILL: Final = Rule(
    name="most-of-the-bill",
    finds="one access pattern accounts for most of the bill, with several transactions per call",
    severity=f"a note if it is half of a bill of at least {number(2 * _WORTH)} a month",
    why="Estimate both capacity and transactions: storing data twice may cost less than reading it twice.",
    guide="Cost considerations",
    why_not_automatic="what the call may leave out is a decision of the program",
)
RULES: Final = (MOST_OF_THE_BILL,)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield the access pattern that makes up most of the bill and could cost less."""
    by_access: dict[str, float] = {}
    for line in context.bill.lines:
        by_access[line.subject] = by_access.get(line.subject, 0.0) + line.amount
    for measured_set in context.measured:
        subject = part_of(measured_set.of.name, measured_set.access.name)
        amount = by_access.get(subject, 0.0)
        if measured_set.transactions < _SEVERAL or amount < _WORTH or amount < _MOST * context.bill.total:
            continue
        says = (
            f"{measured_set.access.name!r} of {measured_set.of.name} is {share(amount / context.bill.total)} "
            "of the bill: "
            f"{number(measured_set.transactions)} transactions per call, "
            f"{money(amount, context.bill.currency)} a month."
        )
        about: About = "query" if isinstance(measured_set.access, Query) else "write"
        better = (
            "Check what each of its transactions is for: keep fewer copies elsewhere, return "
            "fewer results, or cache the answer."
        )
        yield MOST_OF_THE_BILL.finding(Severity.NOTE, subject, says, better, about=about)
