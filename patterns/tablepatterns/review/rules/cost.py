"""Find an access pattern that makes up most of the bill and could cost less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...figures import money, number, share
from ..model import Finding, Severity
from .known import Known
from .rule import Rule, part_of

_MOST: Final = 0.5
_WORTH: Final = 100.0
_SEVERAL: Final = 3.0
"""An update is two: what is there is read first."""
MOST_OF_THE_BILL: Final = Rule(
    name="most-of-the-bill",
    finds="one access pattern makes most of the bill, and each of its calls is several transactions",
    severity=f"a note from half of a bill of {number(2 * _WORTH)} a month on",
    why="Estimate both the capacity and the transactions when you judge a design: data kept twice may cost less.",
    guide="Cost considerations",
)
RULES: Final = (MOST_OF_THE_BILL,)


def found(known: Known) -> Iterator[Finding]:
    """Yield the access pattern that makes up most of the bill and could cost less."""
    by_access: dict[str, float] = {}
    for line in known.bill.lines:
        by_access[line.subject] = by_access.get(line.subject, 0.0) + line.amount
    for each in known.measured:
        subject = part_of(each.of.name, each.access.name)
        amount = by_access.get(subject, 0.0)
        if each.transactions < _SEVERAL or amount < _WORTH or amount < _MOST * known.bill.total:
            continue
        says = (
            f"{each.access.name!r} of {each.of.name} makes {share(amount / known.bill.total)} of the bill: "
            f"{number(each.transactions)} transactions a call, {money(amount, known.bill.currency)} a month."
        )
        better = (
            "Look at what each of its transactions is for: fewer copies elsewhere, fewer results, or a cached answer."
        )
        yield MOST_OF_THE_BILL.finding(Severity.NOTE, subject, says, better)
