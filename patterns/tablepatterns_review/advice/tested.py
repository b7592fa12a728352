"""Try the changes that may remove findings, and keep those that do without causing others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from tablepatterns.errors import BadInput

from ..design.model import Design
from ..model import Effect, Finding, Reviewed, Severity, part_of
from ..rules import RULES
from ..rules.context import RuleContext
from .candidates import candidates
from .changes import Change

Simulate: TypeAlias = Callable[[Design], Reviewed]
_UNDONE: Final = frozenset({"unused-index", "redundant-index", "needless-spread"})
"""Findings whose advice would undo a change that causes them."""


def with_tested_advice(
    reviewed: Reviewed, context: RuleContext, simulate: Simulate, may_test: Callable[[], bool]
) -> tuple[tuple[Finding, ...], tuple[Change | None, ...]]:
    """Return the findings with advice that was tried, and the change of each.

    A change is given if it removes the finding and causes no serious one, neither alone nor with the others. Findings
    that one change removes are one finding, that of the worst.
    """
    remaining_findings = list(reviewed.findings)
    advised: list[tuple[Finding, Change | None]] = []
    while remaining_findings:
        finding = remaining_findings.pop(0)
        if not may_test():
            advised.append((replace(finding, better=f"{finding.better} {_TOO_MANY}"), None))
            continue
        change, after, why = _best_that_works(context, finding, remaining_findings, reviewed, simulate)
        if change is None or after is None:
            rule = next(rule for rule in RULES if rule.name == finding.rule)
            reason = rule.why_not_automatic or "no tested change resolves the finding"
            untested = f"{finding.better} No automatic change: {reason}."
            better = untested if why is None else f"{why} {_OTHERWISE}"
            advised.append((replace(finding, better=better), None))
            continue
        there = set(map(_key, after.findings))
        fixed_findings = [other for other in remaining_findings if _key(other) not in there]
        remaining_findings = [other for other in remaining_findings if _key(other) in there]
        if why is not None:
            # The advice of the rule is the usual change
            finding = replace(finding, better=f"Better here: {change.says}. {why}")
        advised.append((_with(finding, change, reviewed, after, fixed_findings), change))
    advised = _together(advised, reviewed, simulate)
    numbered = [replace(finding, fix=at if change else None) for at, (finding, change) in enumerate(advised, start=1)]
    return tuple(numbered), tuple(change for _, change in advised)


_ALONE: Final = "A change that resolves it was tried, but conflicts with the other changes in this report."
_CONFLICTS: Final = "This was tried, but conflicts with the other changes in this report."
_TOO_MANY: Final = "No change was tested: the design has too many access patterns to test one for each finding."
_OTHERWISE: Final = "Consider another design of the set."


def _with(
    finding: Finding, change: Change, before: Reviewed, after: Reviewed, fixed_findings: Sequence[Finding]
) -> Finding:
    there = set(map(_key, before.findings))
    return replace(
        finding,
        change=change.says,
        pattern=change.pattern,
        before=effect_of(before, finding),
        after=effect_of(after, finding),
        resolves=tuple(fixed_findings),
        causes=tuple(f"{new.rule} ({new.subject})" for new in after.findings if _key(new) not in there),
    )


def _together(
    advised: list[tuple[Finding, Change | None]], reviewed: Reviewed, simulate: Simulate
) -> list[tuple[Finding, Change | None]]:
    """Return the findings without the changes that cause a serious finding once all others are made, the last first."""
    advised = list(advised)
    while sum(change is not None for _, change in advised) > 1:
        if _work_together([change for _, change in advised if change is not None], reviewed, simulate):
            break
        last = max(at for at, (_, change) in enumerate(advised) if change is not None)
        finding, _ = advised[last]
        better = f"{finding.better} {_CONFLICTS}"
        advised[last : last + 1] = [
            (replace(finding, change=None, before=None, after=None, causes=(), better=better, resolves=()), None),
            *((replace(fixed, better=f"{fixed.better} {_ALONE}"), None) for fixed in finding.resolves),
        ]
    return advised


def _work_together(changes: Iterable[Change], reviewed: Reviewed, simulate: Simulate) -> bool:
    """Whether a design with all these changes is accepted, and has no finding that they must not cause."""
    design = reviewed.design
    try:
        for change in changes:
            design = change.applied(design)
        return not _caused(reviewed.findings, simulate(design).findings)
    except BadInput:
        # Each change was accepted alone, so one of them contradicts another
        return False


def _best_that_works(
    context: RuleContext,
    finding: Finding,
    remaining_findings: Sequence[Finding],
    reviewed: Reviewed,
    simulate: Simulate,
) -> tuple[Change | None, Reviewed | None, str | None]:
    """Return a change that removes a finding and causes no other, or why the usual one is not recommended.

    It is the first one that also removes most of the other findings about the same subject: two changes of one index
    would undo each other.
    """
    why: str | None = None
    same = {_key(other) for other in remaining_findings if other.subject == finding.subject}
    best: tuple[Change, Reviewed] | None = None
    fewest = len(same) + 1
    for change in candidates(context, finding):
        try:
            after = simulate(change.applied(reviewed.design))
        except BadInput:
            continue
        caused, there = _caused(reviewed.findings, after.findings), set(map(_key, after.findings))
        if not caused and _key(finding) not in there:
            if len(same & there) < fewest:
                best, fewest = (change, after), len(same & there)
            if not fewest:
                break
        elif caused and why is None and best is None:
            worst = caused[0]
            is_worse = _key(worst) in map(_key, reviewed.findings)
            effect = f"makes {worst.rule} of {worst.subject} serious" if is_worse else None
            effect = effect or f"causes {worst.rule} in {worst.subject}"
            why = f"The usual change, to {change.says}, was tried: it {effect}."
    return (*best, why) if best else (None, None, why)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.subject


def _caused(before: Sequence[Finding], after: Sequence[Finding]) -> list[Finding]:
    """Return the findings that a change must not cause: serious ones, and those whose advice would undo it."""
    there = set(map(_key, before))
    serious = {_key(finding) for finding in before if finding.severity is Severity.SERIOUS}
    return [
        finding
        for finding in after
        if (finding.severity is Severity.SERIOUS and _key(finding) not in serious)
        or (finding.rule in _UNDONE and _key(finding) not in there)
    ]


def effect_of(reviewed: Reviewed, finding: Finding) -> Effect:
    """Return the figures of the access pattern that a finding is about, or of the whole design."""
    named = [call for call in reviewed.measured if part_of(call.of.name, call.access.name) == finding.subject]
    is_of_call = bool(named) and finding.about in ("query", "write")
    calls = named if is_of_call else [call for call in reviewed.measured if not call.rejected]
    weighted_calls = [(call, 1.0 if is_of_call else call.rate) for call in calls]
    return Effect(
        "call" if is_of_call else "second",
        sum(call.requests * weight for call, weight in weighted_calls),
        sum(call.examined * weight for call, weight in weighted_calls),
        reviewed.bill.total,
        reviewed.busiest,
    )
