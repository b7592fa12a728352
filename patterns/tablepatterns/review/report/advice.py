"""Advice: one finding as labelled lines, which every form of the report shows."""

from __future__ import annotations

from ...catalogue import entry
from ...errors import BadInput
from ..outcome import Finding, Severity
from .wording import plain

SEVERITIES = {Severity.SERIOUS: "serious", Severity.WARNING: "warning", Severity.NOTE: "note"}


def pattern_title(name: str) -> str:
    """Return what people call a pattern, and its name; that alone where the catalogue does not know it."""
    try:
        return f"{entry(name).title} ({entry(name).name})"
    except BadInput:
        return plain(name)


def lines(finding: Finding) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what there is to tell of a finding besides what it says, each with its label."""
    told: list[tuple[str, tuple[str, ...]]] = [("Why", (plain(finding.why),)), ("Better", (plain(finding.better),))]
    if finding.pattern is not None:
        told.append(("Pattern", (pattern_title(finding.pattern),)))
    if finding.trade_offs:
        told.append(("Mind", tuple(map(plain, finding.trade_offs))))
    return (*told, ("Guide", (plain(finding.guide),)))
