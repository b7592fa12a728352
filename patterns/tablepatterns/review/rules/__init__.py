"""The review rules: each finding with its numbers, the guide's reason, and what to do instead.

Each module is one concern: its rules, and `found`, which looks for them. What a number must be for a finding, and how
much it then matters, is a constant of the module, and in words in `Rule.severity`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..design.model import Design
from ..model import AccountLoad, Bill, Consistency, Finding, LimitUse, Measured, TableLoad
from . import (
    consistency,
    cost,
    hot_partitions,
    indexes,
    keys,
    lifecycle,
    limits,
    scans,
    security,
    usage,
)
from .context import RuleContext
from .rule import Check, Rule

__all__ = ["RULES", "Rule", "RuleContext", "findings"]

_CONCERNS: Final = (
    scans,
    hot_partitions,
    indexes,
    limits,
    lifecycle,
    consistency,
    security,
    usage,
    keys,
    cost,
)
RULES: Final[tuple[Rule, ...]] = tuple(rule for concern in _CONCERNS for rule in concern.RULES)
"""Every rule, by concern."""
_CHECKS: Final[tuple[Check, ...]] = tuple(concern.found for concern in _CONCERNS)


def findings(
    design: Design,
    measured: Iterable[Measured],
    heats: Iterable[TableLoad],
    account: AccountLoad,
    in_sight: Iterable[LimitUse],
    bill: Bill,
    promises: Iterable[Consistency],
) -> tuple[Finding, ...]:
    """Return what a reviewer would say, the worst first, then by subject.

    Nothing is said twice: a partition that is hot because of a scan is found as the scan, and a bill that is large
    because of anything else that is found, as that.

    :param design: the design
    :param measured: what one call of each access pattern takes
    :param heats: the work on the partitions of each table
    :param account: the requests of the account
    :param in_sight: the limits that the design is near
    :param bill: what a month costs
    :param promises: what readers may see
    """
    context = RuleContext(design, tuple(measured), tuple(heats), account, tuple(in_sight), bill, tuple(promises))
    found = dict.fromkeys(finding for check in _CHECKS for finding in check(context))
    found |= dict.fromkeys(limits.unreported(context, found))
    told = {each.subject for each in found if each.rule != cost.MOST_OF_THE_BILL.name}
    kept = [each for each in found if each.rule != cost.MOST_OF_THE_BILL.name or each.subject not in told]
    return tuple(sorted(kept, key=lambda each: (-each.severity, each.subject, each.rule)))
