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
    left = list(reviewed.findings)
    found: list[tuple[Finding, Change | None]] = []
    while left:
        finding = left.pop(0)
        if not may_test():
            found.append((replace(finding, better=f"{finding.better} {_TOO_MANY}"), None))
            continue
        change, after, why = _best_that_works(context, finding, left, reviewed, simulate)
        if change is None or after is None:
            better = f"{why} {_OTHERWISE}" if why is not None else f"{finding.better} {_untested(finding)}"
            found.append((replace(finding, better=better), None))
            continue
        gone = [each for each in left if not _is_there(each, after.findings)]
        left = [each for each in left if each not in gone]
        if why is not None:
            # The advice of the rule is the usual change
            finding = replace(finding, better=f"Better here: {change.says}. {why}")
        found.append((_with(finding, change, reviewed, after, gone), change))
    found = _together(found, reviewed, simulate)
    numbered = [replace(each, fix=at if change else None) for at, (each, change) in enumerate(found, start=1)]
    return tuple(numbered), tuple(change for _, change in found)


def _untested(finding: Finding) -> str:
    """Say that advice was not simulated, and why."""
    rule = next(each for each in RULES if each.name == finding.rule)
    return f"No automatic change: {rule.why_not_automatic or 'no tested change resolves the finding'}."


_ALONE: Final = "A change that resolves it was tried, but conflicts with the other changes in this report."
_TOO_MANY: Final = "No change was tested: the design has too many access patterns to test one for each finding."
_OTHERWISE: Final = "Consider another design of the set."


def _with(finding: Finding, change: Change, before: Reviewed, after: Reviewed, gone: Sequence[Finding]) -> Finding:
    new = [each for each in after.findings if not _is_there(each, before.findings)]
    return replace(
        finding,
        change=change.says,
        pattern=change.pattern,
        before=effect_of(before, finding),
        after=effect_of(after, finding),
        resolves=tuple(gone),
        causes=tuple(f"{each.rule} ({each.subject})" for each in new),
    )


def _together(
    found: list[tuple[Finding, Change | None]], reviewed: Reviewed, simulate: Simulate
) -> list[tuple[Finding, Change | None]]:
    """Return the findings without the changes that cause a serious finding once all others are made, the last first."""
    kept = list(found)
    while sum(change is not None for _, change in kept) > 1:
        if _work_together([change for _, change in kept if change is not None], reviewed, simulate):
            return kept
        last = max(at for at, (_, change) in enumerate(kept) if change is not None)
        finding = replace(kept[last][0], change=None, before=None, after=None, causes=())
        better = f"{finding.better} This was tried, but conflicts with the other changes in this report."
        kept[last : last + 1] = [
            (replace(finding, better=better, resolves=()), None),
            *((replace(each, better=f"{each.better} {_ALONE}"), None) for each in finding.resolves),
        ]
    return kept


def _work_together(made: Iterable[Change], reviewed: Reviewed, simulate: Simulate) -> bool:
    """Whether a design with all these changes is accepted, and has no finding that they must not cause."""
    design = reviewed.design
    try:
        for change in made:
            design = change.applied(design)
        return not _caused(reviewed.findings, simulate(design).findings)
    except BadInput:
        # Each change was accepted alone, so one of them contradicts another
        return False


def _best_that_works(
    context: RuleContext, finding: Finding, left: Sequence[Finding], reviewed: Reviewed, simulate: Simulate
) -> tuple[Change | None, Reviewed | None, str | None]:
    """Return a change that removes a finding and causes no other, or why the usual one is not recommended.

    It is the first one that also removes most of the other findings about the same subject: two changes of one index
    would undo each other.

    :param left: the other findings
    """
    why: str | None = None
    same = [each for each in left if each.subject == finding.subject]
    best: tuple[Change, Reviewed] | None = None
    fewest = len(same) + 1
    for change in candidates(context, finding):
        try:
            after = simulate(change.applied(reviewed.design))
        except BadInput:
            continue
        caused = _caused(reviewed.findings, after.findings)
        if not caused and not _is_there(finding, after.findings):
            remaining = sum(_is_there(each, after.findings) for each in same)
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
        each
        for each in after
        if (each.severity is Severity.SERIOUS and not _was_serious(each, before))
        or (each.rule in _UNDONE and not _is_there(each, before))
    ]


def _was_serious(finding: Finding, before: Sequence[Finding]) -> bool:
    same = [each for each in before if (each.rule, each.subject) == (finding.rule, finding.subject)]
    return any(each.severity is Severity.SERIOUS for each in same)


def effect_of(reviewed: Reviewed, finding: Finding) -> Effect:
    """Return the figures of the access pattern that a finding is about, or of the whole design."""
    named = [each for each in reviewed.measured if part_of(each.of.name, each.access.name) == finding.subject]
    is_of_call = bool(named) and finding.about in ("query", "write")
    shown = named if is_of_call else [each for each in reviewed.measured if not each.rejected]
    weights = [1.0 if is_of_call else each.rate for each in shown]
    return Effect(
        "call" if is_of_call else "second",
        sum(each.requests * weight for each, weight in zip(shown, weights, strict=True)),
        sum(each.examined * weight for each, weight in zip(shown, weights, strict=True)),
        reviewed.bill.total,
        reviewed.busiest,
    )
