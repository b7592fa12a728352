"""Find an access pattern that makes up most of the bill and could cost less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import money, number, share

from ..model import Finding, Severity
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
    says="{access} of {set} is {share} of the bill: {transactions} transactions per call, {amount} a month.",
    better=(
        "Check what each of its transactions is for: keep fewer copies elsewhere, return fewer results, or cache the "
        "answer."
    ),
    why_not_automatic="what the call may leave out is a decision of the program",
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    bill, amounts = context.bill, context.bill.by_subject
    for call in context.measured:
        amount = amounts.get(part_of(call.of.name, call.access.name), 0.0)
        if call.transactions < _SEVERAL or amount < _WORTH or amount < _MOST * bill.total:
            continue
        words = {
            "share": share(amount / bill.total),
            "transactions": number(call.transactions),
            "amount": money(amount, bill.currency),
        }
        yield MOST_OF_THE_BILL.finding(Severity.NOTE, call, **words)
