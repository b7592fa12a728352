"""The review rules: each finding with its numbers, the guide's reason, and what to do instead.

Each module covers one concern: its rules, and `find_problems`, which applies them. The thresholds are constants of the
module; `Rule.severity` describes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..design.model import Design
from ..result import About, Finding
from . import hot_partitions, indexes, keys, lifecycle, limits, scans, usage
from .context import RuleContext
from .rule import RULES, Rule

__all__ = ["RULES", "Rule", "RuleContext", "findings"]

_CONCERNS: Final = (scans, hot_partitions, indexes, limits, lifecycle, usage, keys)

_HOT: Final = ("prepend-append", "one-partition", "few-partitions", "hot-partition")


def findings(context: RuleContext) -> tuple[Finding, ...]:
    """Return the findings, ordered by severity and then by subject.

    Nothing is reported twice: if a scan makes a partition hot, only the scan is reported, and that it takes long only
    if nothing else is reported of it. That a hot partition is large, too, is no further note.
    """
    all_findings = dict.fromkeys(finding for concern in _CONCERNS for finding in concern.find_problems(context))
    subjects = {finding.subject for finding in all_findings if finding.rule != "long-answer"}
    hot = {finding.subject for finding in all_findings if finding.rule in _HOT}
    covering_subjects = {"long-answer": subjects, "large-partition": hot}
    unique_findings = (one for one in all_findings if one.subject not in covering_subjects.get(one.rule, ()))
    findings = [_with_kind(context.design, finding) for finding in unique_findings]
    return tuple(sorted(findings, key=lambda finding: (-finding.severity, finding.subject, finding.rule)))


_DERIVED: Final[Mapping[str, About]] = {"copies": "index", "lists": "list", "totals": "summary"}


def _with_kind(design: Design, finding: Finding) -> Finding:
    """Return a finding with which kind of derived data it is about."""
    name, _, part = finding.subject.partition(": ")
    if not part or finding.about not in ("set", "index"):
        return finding
    for declared_set in design.sets:
        for derived, profile in declared_set.profiles():
            if (declared_set.name, derived.name) == (name, part):
                is_index = profile.layout is not None or profile.called != "copies"
                return replace(finding, about=_DERIVED[profile.called] if is_index else "copies")
    return finding
