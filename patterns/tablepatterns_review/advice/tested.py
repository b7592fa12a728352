"""Try the changes that may remove findings, and keep those that do without causing others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tablepatterns.errors import BadInput
from tablepatterns.figures import listed

from ..capacity.hot_partitions import table_loads
from ..design.model import Design
from ..measure.measure import independent
from ..result import Effect, Finding, Reviewed, Severity
from ..rules import RULES
from ..rules.context import RuleContext, known_of, without_waste
from .candidates import candidates
from .changes import Change

Simulate: TypeAlias = Callable[[Design], Reviewed]
_UNDONE: Final = frozenset({"unused-index", "redundant-index", "needless-spread"})
"""Findings whose advice would undo a change that causes them."""
_ABOUT_READS: Final = frozenset({"missing-index", "client-sort", "log-data", "count-by-reading", "asks-every-part"})
_LESS: Final = 0.95
"""The share of a figure below which a change has improved it."""


def with_tested_advice(
    reviewed: Reviewed, context: RuleContext, simulate: Simulate, may_test: Callable[[], bool]
) -> tuple[tuple[Finding, ...], tuple[Change | None, ...], tuple[Effect, ...]]:
    """Return the findings with advice that was tried, the change of each, and the effect of all changes together.

    A change is given if it removes the finding, improves a figure, and causes no serious finding, neither alone nor
    with the others. Less severe findings that it removes are told with it; serious ones keep their own sentence.
    """
    remaining_findings = list(reviewed.findings)
    advised: list[Advised] = []
    while remaining_findings:
        finding = remaining_findings.pop(0)
        known = next((made for made in advised if made.change is not None and _key(finding) in made.removes), None)
        if known is not None:
            if finding.severity is Severity.SERIOUS:
                advised.append(_with(finding, known, reviewed, ()))
            continue
        if not may_test():
            advised.append(Advised(replace(finding, better=f"{finding.better} {_TOO_MANY}")))
            continue
        change, after, why = _best_that_works(context, finding, remaining_findings, reviewed, simulate)
        if change is None or after is None:
            reason = RULES[finding.rule].why_not_automatic or "no tested change resolves the finding"
            untested = f"{finding.better} No automatic change: {reason}."
            better = untested if why is None else f"{why} {_otherwise(context, finding)}"
            advised.append(Advised(replace(finding, better=better)))
            continue
        there = set(map(_key, after.findings))
        removed = [other for other in remaining_findings if _key(other) not in there]
        made = Advised(finding, change, after, frozenset(map(_key, removed)), why)
        minor = [other for other in removed if other.severity is not Severity.SERIOUS]
        advised.append(_with(finding, made, reviewed, minor))
    advised, together = _together(advised, reviewed, simulate)
    numbered = [replace(made.finding, fix=at if made.change else None) for at, made in enumerate(advised, start=1)]
    return tuple(numbered), tuple(made.change for made in advised), together


@dataclass(frozen=True)
class Advised:
    """A finding with the change that removes it.

    :param after: the review with the change
    :param removes: the other findings that it removes
    :param why: why the usual change is not recommended
    """

    finding: Finding
    change: Change | None = None
    after: Reviewed | None = None
    removes: frozenset[tuple[str, str]] = frozenset()
    why: str | None = None


_ALONE: Final = "A change that resolves it was tried, but conflicts with the other changes in this report."
_CONFLICTS: Final = "This was tried, but conflicts with the other changes in this report."
_TOO_MANY: Final = "No change was tested: the design has too many access patterns to test one for each finding."


def _otherwise(context: RuleContext, finding: Finding) -> str:
    """Return what to consider if the usual change was tried, and causes a worse finding."""
    query = next((query for query in context.queries if query.subject == finding.subject), None)
    equal = [name for name in finding.fields if query is not None and known_of(query).get(name) == "="]
    if finding.rule != "missing-index" or query is None or not equal:
        return "Consider another design of the set."
    others = [repr(other.access.name) for other in context.queries_of(query.of) if equal[0] not in known_of(other)]
    also = f"; {listed(others, most=3)} must then give {equal[0]}, too" if others else ""
    return f"Consider a PartitionKey of {equal[0]} for {query.of.name}{also}."


def _with(finding: Finding, made: Advised, before: Reviewed, removed: Sequence[Finding]) -> Advised:
    """Return a finding with the change of an advice, whose words are those of the change."""
    change, after, there = made.change, made.after, set(map(_key, before.findings))
    if change is None or after is None:
        return made
    does = f"{change.says[0].upper()}{change.says[1:]}."
    finding = replace(
        finding,
        better=does if made.why is None else f"{does} {made.why}",
        change=change.says,
        pattern=change.pattern,
        before=effect_of(before, finding),
        after=effect_of(after, finding),
        resolves=tuple(removed),
        causes=tuple(new for new in after.findings if _key(new) not in there),
    )
    return replace(made, finding=finding)


def _together(
    advised: list[Advised], reviewed: Reviewed, simulate: Simulate
) -> tuple[list[Advised], tuple[Effect, ...]]:
    """Drop the changes that conflict with those of worse findings; return the findings, and the effect of the rest."""
    changes = list({id(made.change): made.change for made in advised if made.change is not None}.values())
    kept, after = changes, _all_made(changes, reviewed, simulate)
    if after is None:
        by_sets = [_compatible([], group, reviewed, simulate) for group in _by_sets(changes, reviewed.design)]
        compatible = {id(change) for group in by_sets for change in group}
        kept = [change for change in changes if id(change) in compatible]
        after = _all_made(kept, reviewed, simulate)
    if after is None:
        # Together, they exceed what the whole account can do
        kept = _compatible([], kept, reviewed, simulate)
        after = _all_made(kept, reviewed, simulate)
    is_dropped = {id(change) for change in changes} - {id(change) for change in kept}
    advised = [one for made in advised for one in (_without(made) if id(made.change) in is_dropped else [made])]
    return advised, (effect_of(reviewed), effect_of(after)) if kept and after is not None else ()


def _by_sets(changes: Sequence[Change], design: Design) -> list[list[Change]]:
    """Return the changes in groups: those of different groups concern sets that share nothing, with or without them."""
    shared, groups = independent(design), list[frozenset[str]]()
    for change in changes:
        names = frozenset({change.set})
        for sharing in (*shared, *independent(change.applied(design))):
            names = names if names.isdisjoint(sharing) else names | sharing
        joined = [group for group in groups if not group.isdisjoint(names)]
        groups = [*(group for group in groups if group not in joined), names.union(*joined)]
    return [[change for change in changes if change.set in group] for group in groups]


def _compatible(kept: list[Change], changes: Sequence[Change], reviewed: Reviewed, simulate: Simulate) -> list[Change]:
    """Return the changes that can be made with those that are kept, the first ones first.

    Each can be made alone. Few conflict, so that halves are tried before single changes.
    """
    if len([*kept, *changes]) == 1 or _all_made([*kept, *changes], reviewed, simulate) is not None:
        return [*kept, *changes]
    if len(changes) <= 1:
        return kept
    half = len(changes) // 2
    kept = _compatible(kept, changes[:half], reviewed, simulate)
    return _compatible(kept, changes[half:], reviewed, simulate)


def _without(made: Advised) -> list[Advised]:
    """Return a finding without its change, and those that this resolves."""
    finding = made.finding
    plain = replace(finding, change=None, before=None, after=None, causes=(), resolves=())
    return [
        Advised(replace(plain, better=f"{finding.better} {_CONFLICTS}")),
        *(Advised(replace(fixed, better=f"{fixed.better} {_ALONE}")) for fixed in finding.resolves),
    ]


def _all_made(changes: Iterable[Change], reviewed: Reviewed, simulate: Simulate) -> Reviewed | None:
    """Return the review with all these changes; None if it is rejected, or has a finding that they must not cause."""
    design = reviewed.design
    try:
        for change in changes:
            design = change.applied(design)
        after = simulate(design)
    except BadInput:
        # Each change was accepted alone, so one of them contradicts another
        return None
    return None if _caused(reviewed.findings, after.findings) else after


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
    usual = ""
    same = {_key(other) for other in remaining_findings if other.subject == finding.subject}
    best: tuple[Change, Reviewed] | None = None
    fewest = len(same) + 1
    for change in candidates(context, finding):
        try:
            after = simulate(change.applied(reviewed.design))
        except BadInput:
            continue
        caused, there = _caused(reviewed.findings, after.findings), set(map(_key, after.findings))
        if not caused and not _saves(effect_of(reviewed, finding), effect_of(after, finding), finding):
            why, usual = (why or "It saves nothing."), (usual or change.says)
        elif not caused and _key(finding) not in there:
            if len(same & there) < fewest:
                best, fewest = (change, after), len(same & there)
            if not fewest:
                break
        elif caused and why is None and best is None:
            why, usual = f"With it: {caused[0].says}", change.says
    if why is None:
        return (*best, None) if best else (None, None, None)
    if best and best[0].says.startswith(usual):
        return (*best, why.replace("With it:", "Otherwise:"))
    why = f"The usual change, to {usual}, was tried. {why}"
    return (*best, why) if best else (None, None, why)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.subject


def _caused(before: Sequence[Finding], after: Sequence[Finding]) -> list[Finding]:
    """Return the findings that a change must not cause: serious ones, and those whose advice would undo it."""
    there = set(map(_key, before))
    serious = {_key(finding) for finding in before if finding.severity is Severity.SERIOUS}

    def is_new(finding: Finding) -> bool:
        # What is wrong with the key of the entities is wrong with those of their indexes, too
        return serious.isdisjoint((_key(finding), (finding.rule, finding.subject.partition(": ")[0])))

    return [
        finding
        for finding in after
        if (finding.severity is Severity.SERIOUS and is_new(finding))
        or (finding.rule in _UNDONE and _key(finding) not in there)
    ]


def _saves(before: Effect, after: Effect, finding: Finding) -> bool:
    """Whether a change improves a figure of the query that a finding is about; of others, it removes the finding."""
    if finding.about != "query" or finding.rule not in _ABOUT_READS:
        return True
    figures = ((before.requests, after.requests), (before.examined, after.examined), (before.busiest, after.busiest))
    return any(new < _LESS * old for old, new in figures) or after.cost_a_month < before.cost_a_month


def effect_of(reviewed: Reviewed, finding: Finding | None = None) -> Effect:
    """Return the figures of the access pattern, set or table that a finding is about, or of the whole design."""
    subject, about = ("", "account") if finding is None else (finding.subject, finding.about)
    named = [call for call in reviewed.measured if call.subject == subject]
    is_of_call = bool(named) and about in ("query", "write")
    calls = named if is_of_call else [call for call in reviewed.measured if not call.rejected]
    whole = subject.partition(": ")[0]
    own_calls = [call for call in calls if whole in (call.of.name, call.of.table)]
    calls = own_calls or calls
    weighted_calls = [(call, 1.0 if is_of_call else call.rate) for call in calls]
    amounts, names = reviewed.bill.by_subject, {whole, *(call.of.name for call in own_calls)}
    of_part = [amount for name, amount in amounts.items() if name.partition(": ")[0] in names]
    tables = {whole, *(call.of.table for call in own_calls)}
    return Effect(
        "call" if is_of_call else "second",
        sum(call.requests * weight for call, weight in weighted_calls),
        sum(call.examined * weight for call, weight in weighted_calls),
        amounts.get(subject, 0.0) if is_of_call else sum(of_part) if own_calls else reviewed.bill.total,
        _busiest(reviewed, subject, tables) if own_calls else reviewed.busiest,
    )


def _busiest(reviewed: Reviewed, subject: str, tables: Collection[str]) -> float:
    """Return the load of the busiest partition of tables, as a share of its target.

    Needless reads of other access patterns have findings of their own, and would hide what a change does here.
    """
    own = {declared_set.name for declared_set in reviewed.design.sets if declared_set.table in tables}
    groups = (group for group in independent(reviewed.design) if not group.isdisjoint(own))
    names = set[str]().union(*groups)
    calls = [
        needed
        for call in reviewed.measured
        if call.of.name in names
        for needed in ([call] if call.subject == subject else without_waste(call))
    ]
    loads = table_loads(reviewed.design, calls)
    return max((1 / load.headroom for load in loads if load.table in tables), default=0.0)
