"""The rules of a review: the name, severity and reason of each kind of finding, and the recommended pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tablepatterns.figures import number, plural

from ..model import About, Finding, Severity, part_of
from .context import RuleContext


@dataclass(frozen=True)
class Rule:
    """One kind of finding.

    :param name: its name, which stays the same between versions
    :param finds: what it finds, in a few words, for the list of rules
    :param severity: when it is a note, a warning or serious, in words
    :param why: the guide's reason
    :param guide: the section of the guide
    :param pattern: the pattern that is usually better, by its name in the catalogue; None if there is none
    :param about: what its subject is, unless a finding says otherwise; `derived` for derived data of any kind
    :param why_not_automatic: why no change of the design can be derived from the finding; None if one is tested
    """

    name: str
    finds: str
    severity: str
    why: str
    guide: str
    pattern: str | None = None
    why_not_automatic: str | None = None
    about: About | Literal["derived"] = "set"

    def finding(
        self,
        severity: Severity,
        subject: str,
        says: str,
        better: str,
        *,
        pattern: str | None = None,
        about: About | Literal["derived"] | None = None,
        fields: Sequence[str] = (),
    ) -> Finding:
        """Return a finding of this kind.

        :param says: one sentence with the figures
        :param pattern: the better pattern in this case; by default that of the rule
        :param about: what the subject is; by default what the rule is about
        :param fields: the fields of the set that it is about
        """
        kind = about or self.about
        fits = pattern or self.pattern
        finding = Finding(self.name, severity, subject, says, self.why, better, self.guide, fits)
        # `findings` tells the kinds of derived data apart
        return replace(finding, about="index" if kind == "derived" else kind, fields=tuple(fields))


__all__ = ["Check", "Rule", "entities", "listed", "part_of"]

Check: TypeAlias = Callable[[RuleContext], Iterable[Finding]]
"""A function that yields the findings about a design."""


def entities(count: float) -> str:
    """Return a number of entities as text.

    >>> entities(1), entities(5000)
    ('1 entity', '5,000 entities')
    """
    return plural(count, "entity")


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """Return names as a list in a sentence, shortened to the first `most` names.

    >>> listed(["Email"]), listed(["Email", "Age", "City"]), listed(["Email", "Age", "City"], most=1)
    ('Email', 'Email, Age and City', 'Email and 2 more')
    """
    shown_names = [*names[:most], f"{number(len(names) - most)} more"] if len(names) > most else list(names)
    *before, last = shown_names
    return f"{', '.join(before)} and {last}" if before else last
