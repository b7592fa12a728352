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
    that one change removes are one finding, that of the worst. Where each change that was tried causes others, the
    finding says so.

    :param reviewed: the design as it is
    :param simulate: reviews a changed design, without advice
    :param may_test: whether another change may be tested
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
            better = f"{why} {_OTHERWISE}" if why is not None else f"{finding.better} {_untested(finding)}"
            advised.append((replace(finding, better=better), None))
            continue
        fixed_findings = [finding for finding in remaining_findings if not _is_there(finding, after.findings)]
        remaining_findings = [finding for finding in remaining_findings if finding not in fixed_findings]
        if why is not None:
            # The advice of the rule is the usual change
            finding = replace(finding, better=f"Better here: {change.says}. {why}")
        advised.append((_with(finding, change, reviewed, after, fixed_findings), change))
    advised = _together(advised, reviewed, simulate)
    numbered = [replace(finding, fix=at if change else None) for at, (finding, change) in enumerate(advised, start=1)]
    return tuple(numbered), tuple(change for _, change in advised)


def _untested(finding: Finding) -> str:
    """Say that advice was not simulated, and why."""
    rule = next(rule for rule in RULES if rule.name == finding.rule)
    return f"No automatic change: {rule.why_not_automatic or 'no tested change resolves the finding'}."


_ALONE: Final = "A change that resolves it was tried, but conflicts with the other changes in this report."
_TOO_MANY: Final = "No change was tested: the design has too many access patterns to test one for each finding."
_OTHERWISE: Final = "Consider another design of the set."


def _with(
    finding: Finding, change: Change, before: Reviewed, after: Reviewed, fixed_findings: Sequence[Finding]
) -> Finding:
    new = [finding for finding in after.findings if not _is_there(finding, before.findings)]
    return replace(
        finding,
        change=change.says,
        pattern=change.pattern,
        before=effect_of(before, finding),
        after=effect_of(after, finding),
        resolves=tuple(fixed_findings),
        causes=tuple(f"{finding.rule} ({finding.subject})" for finding in new),
    )


def _together(
    advised: list[tuple[Finding, Change | None]], reviewed: Reviewed, simulate: Simulate
) -> list[tuple[Finding, Change | None]]:
    """Return the findings without the changes that cause a serious finding once all others are made, the last first."""
    kept = list(advised)
    while sum(change is not None for _, change in kept) > 1:
        if _work_together([change for _, change in kept if change is not None], reviewed, simulate):
            return kept
        last = max(at for at, (_, change) in enumerate(kept) if change is not None)
        finding = replace(kept[last][0], change=None, before=None, after=None, causes=())
        better = f"{finding.better} This was tried, but conflicts with the other changes in this report."
        kept[last : last + 1] = [
            (replace(finding, better=better, resolves=()), None),
            *((replace(finding, better=f"{finding.better} {_ALONE}"), None) for finding in finding.resolves),
        ]
    return kept


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

    :param remaining_findings: the other findings
    """
    why: str | None = None
    same = [each for each in remaining_findings if each.subject == finding.subject]
    best: tuple[Change, Reviewed] | None = None
    fewest = len(same) + 1
    for change in candidates(context, finding):
        try:
            after = simulate(change.applied(reviewed.design))
        except BadInput:
            continue
        caused = _caused(reviewed.findings, after.findings)
        if not caused and not _is_there(finding, after.findings):
            remaining = sum(_is_there(finding, after.findings) for finding in same)
            if remaining < fewest:
                best, fewest = (change, after), remaining
            if not fewest:
                break
        elif caused and why is None and best is None:
            worst = caused[0]
            effect = (
                f"makes {worst.rule} of {worst.subject} serious"
                if _is_there(worst, reviewed.findings)
                else f"causes {worst.rule} in {worst.subject}"
            )
            why = f"The usual change, to {change.says}, was tried: it {effect}."
    return (*best, why) if best else (None, None, why)


def _is_there(finding: Finding, among: Sequence[Finding]) -> bool:
    return any((each.rule, each.subject) == (finding.rule, finding.subject) for each in among)


def _caused(before: Sequence[Finding], after: Sequence[Finding]) -> list[Finding]:
    """Return the findings that a change must not cause: serious ones, and those whose advice would undo it."""
    return [
        finding
        for finding in after
        if (finding.severity is Severity.SERIOUS and not _was_serious(finding, before))
        or (finding.rule in _UNDONE and not _is_there(finding, before))
    ]


def _was_serious(finding: Finding, before: Sequence[Finding]) -> bool:
    same = [each for each in before if (each.rule, each.subject) == (finding.rule, finding.subject)]
    return any(finding.severity is Severity.SERIOUS for finding in same)


def effect_of(reviewed: Reviewed, finding: Finding) -> Effect:
    """Return the figures of the access pattern that a finding is about, or of the whole design."""
    named = [
        measured_set
        for measured_set in reviewed.measured
        if part_of(measured_set.of.name, measured_set.access.name) == finding.subject
    ]
    is_of_call = bool(named) and finding.about in ("query", "write")
    shown = named if is_of_call else [measured_set for measured_set in reviewed.measured if not measured_set.rejected]
    weights = [1.0 if is_of_call else measured_set.rate for measured_set in shown]
    return Effect(
        "call" if is_of_call else "second",
        sum(measured_set.requests * weight for measured_set, weight in zip(shown, weights, strict=True)),
        sum(measured_set.examined * weight for measured_set, weight in zip(shown, weights, strict=True)),
        reviewed.bill.total,
        reviewed.busiest,
    )
