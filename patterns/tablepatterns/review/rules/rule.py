"""What a kind of finding is called, why it matters by the guide, and which pattern fits better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...figures import number, plural
from ..model import Finding, Severity, part_of, trade_offs
from .context import RuleContext


@dataclass(frozen=True)
class Rule:
    """One kind of finding.

    :param name: its name, which stays the same between versions
    :param finds: what it finds, in a few words, as the list of rules shows it
    :param severity: from which numbers on it is a note, a warning or serious, in words
    :param why: the guide's reason
    :param guide: the section of the guide
    :param pattern: the pattern that fits better most of the time, by its name in the catalogue; None if none does
    :param why_not_automatic: why no change of the design file can be derived from the finding; None if one is tried
    """

    name: str
    finds: str
    severity: str
    why: str
    guide: str
    pattern: str | None = None
    why_not_automatic: str | None = None

    def finding(
        self, severity: Severity, subject: str, says: str, better: str, *, pattern: str | None = None
    ) -> Finding:
        """Return a finding of this kind.

        :param says: one sentence with the numbers
        :param pattern: the pattern that fits better here; by default the rule's own
        """
        fits = pattern or self.pattern
        costs = trade_offs(fits) if fits else ()
        return Finding(self.name, severity, subject, says, self.why, better, self.guide, fits, costs)


__all__ = ["Check", "Rule", "entities", "listed", "part_of"]

Check: TypeAlias = Callable[[RuleContext], Iterable[Finding]]
"""Looks at what is known of a design, and says what it finds."""


def entities(count: float) -> str:
    """Return so many entities.

    >>> entities(1), entities(5000)
    ('1 entity', '5,000 entities')
    """
    return plural(count, "entity")


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """Return names as a sentence lists them, no more than so many by themselves.

    >>> listed(["Email"]), listed(["Email", "Age", "City"]), listed(["Email", "Age", "City"], most=1)
    ('Email', 'Email, Age and City', 'Email and 2 more')
    """
    shown = [*names[:most], f"{number(len(names) - most)} more"] if len(names) > most else list(names)
    *before, last = shown
    return f"{', '.join(before)} and {last}" if before else last
