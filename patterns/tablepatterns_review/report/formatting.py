"""Format the names, sentences and recommendations that all reports share."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import Final

from tablepatterns.catalog import entry
from tablepatterns.errors import BadInput
from tablepatterns.figures import (
    listed,
    money,
    number,
    of_target,
    plural,
    share,
    sum_of_money,
    time_of_day,
    years_from_now,
)
from tablepatterns.filters import QueryClass

from ..design.model import Write
from ..model import Consistency, Effect, Finding, Measured, Reviewed, Severity, TableLoad

_LITTLE: Final = 0.001
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


def name_of(call: Measured | Consistency) -> str:
    return f"{plain(call.of.name)}: {plain(call.access.name)}"


def class_of(measured_set: Measured) -> str:
    """Return the guide's class of a query, `read of blobs` for that of a log, or `write`."""
    if measured_set.query_class is None:
        return "write" if isinstance(measured_set.access, Write) else "read of blobs"
    return measured_set.query_class.label


def costs(reviewed: Reviewed) -> list[tuple[str, Measured]]:
    """Return each access pattern with its name, and that of its set if it is ambiguous; the most expensive first."""
    counts = Counter(measured_set.access.name for measured_set in reviewed.measured)
    costs = [
        (plain(call.access.name) if counts[call.access.name] == 1 else name_of(call), call)
        for call in reviewed.measured
    ]
    return sorted(costs, key=lambda cost: (-(cost[1].cost_a_month or 0.0), -cost[1].transactions_a_month))


def nearest_to_target(reviewed: Reviewed) -> tuple[float, str]:
    """Return the peak of a table's busiest partition or of the account, as a share of its target, and its name."""
    tables = ((heat.peak / heat.target, plain(heat.table)) for heat in reviewed.heats)
    account = reviewed.account.peak / reviewed.account.target, "Account"
    return max([*tables, account], key=lambda load: load[0])


def hottest_first(reviewed: Reviewed) -> tuple[TableLoad, ...]:
    """Return the load of each table, the nearest to its target first."""
    return tuple(sorted(reviewed.heats, key=lambda heat: (-heat.peak / heat.target, heat.table)))


def cost_sentence(reviewed: Reviewed) -> str:
    if not reviewed.measured:
        return "The design has no access patterns"
    all_costs = costs(reviewed)
    (first, call), whole = all_costs[0], sum(call.cost_a_month or 0.0 for call in reviewed.measured)
    if whole > 0 and call.cost_a_month:
        total = money(whole, plain(reviewed.bill.currency))
        return f"“{first}” takes {share(call.cost_a_month / whole)} of the {total} that transactions cost a month"
    sent = sum(call.transactions_a_month for call in reviewed.measured)
    most, call = max(all_costs, key=lambda cost: cost[1].transactions_a_month)
    if not sent:
        return "No access pattern has a rate, so none has a cost"
    return f"“{most}” takes {share(call.transactions_a_month / sent)} of the transactions of a month"


def heat_sentence(heat: TableLoad) -> str:
    if not heat.partitions:
        return f"{plain(heat.table)}: no requests"
    first = heat.partitions[0]
    busiest = f"“{plain(first.partition)}”, the busiest partition,"
    whose = "the current partition" if heat.follows_time else busiest
    most = first.peak / heat.target
    sentence = f"{plain(heat.table)}: {whose} takes {'' if most < _LITTLE else 'up to '}{of_target(most)}"
    if heat.over_target_from is None:
        return sentence
    return f"{sentence}, and exceeds it from {time_of_day(heat.over_target_from)}"


def target_sentence(reviewed: Reviewed) -> str:
    account = reviewed.account
    whole = of_target(account.peak / account.target)
    sentence = f"The account takes {whole} of {number(account.target)} requests a second."
    if not reviewed.heats:
        return sentence
    over = sum(1 for table_load in reviewed.heats if table_load.peak > table_load.target)
    if len(reviewed.heats) == 1:
        tables = f"{'A' if over else 'No'} partition of the table"
    else:
        which = {0: "None", len(reviewed.heats): "Each"}.get(over, number(over))
        tables = f"{which} of {number(len(reviewed.heats))} tables"
    verb = "is" if len(reviewed.heats) == 1 else "have a partition" if over > 1 else "has a partition"
    return f"{tables} {verb} over its target. {sentence}"


def scans(reviewed: Reviewed) -> int:
    return sum((call.query_class or QueryClass.POINT) > QueryClass.RANGE for call in reviewed.measured)


SEVERITIES = {Severity.SERIOUS: "serious", Severity.WARNING: "warning", Severity.NOTE: "note"}


def pattern_title(name: str) -> str:
    """Return the title and the name of a pattern; only the name if it is not in the catalog."""
    try:
        return f"{entry(name).title} ({entry(name).name})"
    except BadInput:
        return plain(name)


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
    found: list[tuple[str, tuple[str, ...]]] = [("Why", (plain(finding.why),)), ("Do", (plain(finding.better),))]
    if finding.change is not None and finding.before is not None and finding.after is not None:
        found.append((f"--fix {finding.fix}", ("Tested; it makes this change in the design file.",)))
        found.append(("Effect", (_effect(finding.before, finding.after),)))
    if finding.resolves:
        found.append(("Resolves", tuple(f"{finding.rule} ({subject_of(finding)})" for finding in finding.resolves)))
    if finding.causes:
        found.append(("Leads to", tuple(map(plain, finding.causes))))
    if finding.pattern is not None:
        found.append(("Pattern", (pattern_title(finding.pattern),)))
    return (*found, ("Guide", (plain(finding.guide),)))
