"""Format the names, sentences and recommendations that all reports share."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tablepatterns.figures import listed, number, of_target, plural, share, sum_of_money, time_of_day, years_from_now
from tablepatterns.filters import QueryClass

from ..design.model import Write
from ..result import Consistency, Effect, Finding, Measured, Reviewed, Severity, TableLoad, Walkthrough

_LITTLE: Final = 0.001
_DECIDING: Final = 5
_CONTROLS: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def plain(text: str) -> str:
    r"""Return a text from a design on one line, without control characters for terminals or text direction.

    >>> plain("Log\x1b[31m\nby hour")
    'Log\ufffd[31m by hour'
    """
    seen = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(character) in _CONTROLS else character for character in seen)


def reached(years: float | None, horizon: float) -> str:
    """Return when a limit is reached, if it is within the declared growth.

    >>> reached(None, 3), reached(0.0, 3), reached(0.1, 3)
    ('not within 3 years', 'now', 'in 5 weeks')
    """
    return f"not within {plural(horizon, 'year')}" if years is None else years_from_now(years)


def verdict(reviewed: Reviewed) -> str:
    counts = Counter(finding.severity for finding in reviewed.findings)
    if not counts:
        return "no findings"
    words = {Severity.SERIOUS: "serious finding", Severity.WARNING: "warning", Severity.NOTE: "note"}
    return ", ".join(plural(counts[severity], word) for severity, word in words.items() if counts[severity])


def subject_of(finding: Finding) -> str:
    """Return what a finding is about, such as `Employees: index 'by email'` or `Employees: field Age`."""
    subject = plain(finding.subject)
    name, _, part = subject.partition(": ")
    if finding.about == "account":
        return "Account"
    if finding.about == "table":
        return f"table {subject}"
    if part and finding.about != "set":
        return f"{name}: {finding.about} {part!r}"
    if finding.fields and not part:
        return f"{name}: {'field' if len(finding.fields) == 1 else 'fields'} {plain(listed(finding.fields, most=3))}"
    return subject


def deciding(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the few findings that decide on a design: the serious ones, or else the first warnings."""
    serious = [finding for finding in findings if finding.severity is Severity.SERIOUS]
    return (serious or [finding for finding in findings if finding.severity is Severity.WARNING])[:_DECIDING]


def name_of(call: Measured | Consistency | Walkthrough) -> str:
    return f"{plain(call.of.name)}: {plain(call.access.name)}"


def class_of(measured_set: Measured) -> str:
    """Return the guide's class of a query, `read of blobs` for that of an archive in blobs, or `write`."""
    if measured_set.query_class is None:
        return "write" if isinstance(measured_set.access, Write) else "read of blobs"
    return measured_set.query_class.label


def nearest_to_target(reviewed: Reviewed) -> tuple[float, str]:
    """Return the peak of a table's busiest partition or of the account, as a share of its target, and its name."""
    tables = ((heat.peak / heat.target, plain(heat.table)) for heat in reviewed.heats)
    account = reviewed.account.peak / reviewed.account.target, "Account"
    return max([*tables, account], key=lambda load: load[0])


def hottest_first(reviewed: Reviewed) -> tuple[TableLoad, ...]:
    """Return the load of each table, the nearest to its target first."""
    return tuple(sorted(reviewed.heats, key=lambda heat: (-heat.peak / heat.target, heat.table)))


def heat_sentence(heat: TableLoad) -> str:
    """Return how near the busiest partition of a table comes to its target; the table has a load."""
    busiest = f"“{plain(heat.partitions[0].partition)}”, the busiest partition,"
    whose = "the current partition" if heat.follows_time else busiest
    most = heat.peak / heat.target
    sentence = f"{plain(heat.table)}: {whose} takes {'' if most < _LITTLE else 'up to '}{of_target(most)}"
    if heat.over_target_from is None:
        return sentence
    return f"{sentence}, and exceeds it from {time_of_day(heat.over_target_from)}"


def target_sentence(reviewed: Reviewed) -> str:
    peak, target = reviewed.account.peak, reviewed.account.target
    sentence = f"The account takes {of_target(peak / target)} of {number(target)} requests a second."
    if not reviewed.heats:
        return sentence
    over = sum(1 for table_load in reviewed.heats if table_load.peak > table_load.target)
    tables = f"{number(over) if over else 'None'} of {plural(len(reviewed.heats), 'table')}"
    return f"{tables} {'have' if over > 1 else 'has'} a partition over its target. {sentence}"


def scans(reviewed: Reviewed) -> int:
    return sum((call.query_class or QueryClass.POINT) > QueryClass.RANGE for call in reviewed.measured)


SEVERITIES = {Severity.SERIOUS: "serious", Severity.WARNING: "warning", Severity.NOTE: "note"}


def effect_of_all(reviewed: Reviewed) -> str:
    """Return the effect of all tested changes together; an empty text if there are fewer than two."""
    changes = {finding.change for finding in reviewed.findings if finding.change is not None}
    if len(changes) < 2 or not reviewed.together:
        return ""
    before, after = reviewed.together
    return f"All {len(changes)} tested changes together: {_effect(before, after)}."


_CENT: Final = 0.01


def _effect(before: Effect, after: Effect) -> str:
    per = "" if before.per == "call" else " a second"
    pairs = (
        (f"requests{per}", number(before.requests), number(after.requests)),
        (f"entities read{per}", number(before.examined), number(after.examined)),
        ("cost a month", sum_of_money(before.cost_a_month), sum_of_money(after.cost_a_month)),
        ("busiest partition", share(before.busiest), share(after.busiest)),
    )
    changed_names = [f"{name} {old} → {new}" for name, old, new in pairs if old != new]
    same = [f"{name} {old}" for name, old, new in pairs if old == new]
    saved = before.cost_a_month - after.cost_a_month
    if sum_of_money(before.cost_a_month) == sum_of_money(after.cost_a_month) and saved >= _CENT:
        changed_names.append(f"{sum_of_money(saved)} less a month")
    return "; ".join([*changed_names, *([f"unchanged: {', '.join(same)}"] if same else [])])


def lines(finding: Finding) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the details of a finding as lines, each with its label."""
    found: list[tuple[str, tuple[str, ...]]] = [("Do", (plain(finding.better),))]
    if finding.change is not None and finding.before is not None and finding.after is not None:
        found.append((f"--fix {finding.fix}", ("Tested; it makes this change in the design file.",)))
        found.append(("Effect", (_effect(finding.before, finding.after),)))
    for label, others in (("Resolves", finding.resolves), ("Leads to", finding.causes)):
        texts = (f"{SEVERITIES[other.severity]}, {subject_of(other)}: {plain(other.says)}" for other in others)
        if others:
            found.append((label, tuple(texts)))
    return (*found, ("Guide", (f"{plain(finding.guide)}. {plain(finding.why)}",)))
