"""Format the names, sentences and recommendations that all reports share."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
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
from ..model import Effect, Finding, Measured, Reviewed, Severity, TableLoad

_CONTROLS: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def plain(text: str) -> str:
    r"""Return a text from a design on one line, without control characters for terminals or text direction.

    >>> plain("Log\x1b[31m\nby hour")
    'Log\ufffd[31m by hour'
    """
    seen = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(character) in _CONTROLS else character for character in seen)


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters, shortened in the middle.

    >>> shortened("2014-08-22T18:05", 9)
    '2014…8:05'
    """
    text = plain(text)
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[head + 1 - most :]}"


def reached(years: float | None, horizon: float) -> str:
    """Return when a limit is reached, if it is within the declared growth.

    >>> reached(None, 3), reached(0.0, 3), reached(0.1, 3)
    ('not within 3 years', 'now', 'in 5 weeks')
    """
    return f"not within {plural(horizon, 'year')}" if years is None else years_from_now(years)


_LITTLE: Final = 0.001


@dataclass(frozen=True)
class Cost:
    """The monthly cost of one access pattern.

    :param name: the name of the access pattern, with that of its set if it is ambiguous
    """

    of: Measured
    name: str

    @property
    def transactions(self) -> float:
        """Storage transactions per month."""
        return self.of.transactions_a_month

    @property
    def money(self) -> float | None:
        """The monthly amount; None if the bill has no line for it."""
        return self.of.cost_a_month


@dataclass(frozen=True)
class Load:
    """The load of a table's busiest partition or of the account, compared with its target.

    :param name: the name of the table, or `Account`
    :param peak: the highest load per second
    :param unit: the unit of the load
    :param spread_peak: the peak after spreading the partition; None if spreading is not needed
    :param buckets: the number of buckets for that
    """

    name: str
    peak: float
    target: float
    unit: str
    spread_peak: float | None = None
    buckets: int = 1

    @property
    def share(self) -> float:
        """The peak as a share of the target."""
        return self.peak / self.target


def verdict(reviewed: Reviewed) -> str:
    """Return the number of findings of each severity."""
    counts = Counter(finding.severity for finding in reviewed.findings)
    if not counts:
        return "no findings"
    return ", ".join(
        plural(counts[severity], word)
        for severity, word in (
            (Severity.SERIOUS, "serious finding"),
            (Severity.WARNING, "warning"),
            (Severity.NOTE, "note"),
        )
        if counts[severity]
    )


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


def name_of(measured_set: Measured) -> str:
    """Return the name of an access pattern with its set."""
    return f"{plain(measured_set.of.name)}: {plain(measured_set.access.name)}"


def class_of(measured_set: Measured) -> str:
    """Return the guide's class of a query, `read of blobs` for that of a log, or `write`."""
    if measured_set.query_class is None:
        return "write" if isinstance(measured_set.access, Write) else "read of blobs"
    return measured_set.query_class.label


def costs(reviewed: Reviewed) -> tuple[Cost, ...]:
    """Return the monthly cost of each access pattern, the most expensive first."""
    named = Counter(measured_set.access.name for measured_set in reviewed.measured)
    costs = [
        Cost(
            measured_set,
            plain(measured_set.access.name) if named[measured_set.access.name] == 1 else name_of(measured_set),
        )
        for measured_set in reviewed.measured
    ]
    return tuple(sorted(costs, key=lambda cost: (-(cost.money or 0.0), -cost.transactions)))


def loads(reviewed: Reviewed) -> tuple[Load, ...]:
    """Return the load of each table and of the account, the nearest to its target first."""
    loads = [
        Load(
            plain(heat.table),
            peak_of(heat),
            heat.target,
            "entities",
            heat.spread_peak if heat.buckets > 1 else None,
            heat.buckets,
        )
        for heat in reviewed.heats
    ]
    account = reviewed.account
    loads.append(Load("Account", max(account.rates, default=0.0), account.target, "requests"))
    return tuple(sorted(loads, key=lambda load: -load.share))


def hottest_first(reviewed: Reviewed) -> tuple[TableLoad, ...]:
    """Return the load of each table, the nearest to its target first."""
    return tuple(sorted(reviewed.heats, key=lambda heat: (-peak_of(heat) / heat.target, heat.table)))


def cost_sentence(reviewed: Reviewed) -> str:
    """Return a sentence about the most expensive access pattern."""
    found = costs(reviewed)
    if not found:
        return "The design has no access patterns"
    first, whole = found[0], sum(cost.money or 0.0 for cost in found)
    if whole > 0 and first.money:
        total = money(whole, plain(reviewed.bill.currency))
        return f"“{first.name}” takes {share(first.money / whole)} of the {total} that transactions cost a month"
    sent = sum(cost.transactions for cost in found)
    most = max(found, key=lambda cost: cost.transactions)
    if not sent:
        return "No access pattern has a rate, so none has a cost"
    return f"“{most.name}” takes {share(most.transactions / sent)} of the transactions of a month"


def heat_sentence(heat: TableLoad) -> str:
    """Return a sentence about the peak of a table's busiest partition."""
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
    """Return sentences about the tables with a partition over its target, and about the account."""
    account = reviewed.account
    whole = of_target(max(account.rates, default=0.0) / account.target)
    sentence = f"The account takes {whole} of {number(account.target)} requests a second."
    if not reviewed.heats:
        return sentence
    over = sum(1 for table_load in reviewed.heats if peak_of(table_load) > table_load.target)
    if len(reviewed.heats) == 1:
        tables = f"{'A' if over else 'No'} partition of the table"
    else:
        which = {0: "None", len(reviewed.heats): "Each"}.get(over, number(over))
        tables = f"{which} of {number(len(reviewed.heats))} tables"
    verb = "is" if len(reviewed.heats) == 1 else "have a partition" if over > 1 else "has a partition"
    return f"{tables} {verb} over its target. {sentence}"


def scans(reviewed: Reviewed) -> int:
    """Return the number of access patterns that scan a partition or a table."""
    return sum(
        1
        for measured_set in reviewed.measured
        if measured_set.query_class and measured_set.query_class > QueryClass.RANGE
    )


def peak_of(heat: TableLoad) -> float:
    """Return the peak load of a table's busiest partition, in entities per second."""
    return max((partition_load.peak for partition_load in heat.partitions), default=0.0)


SEVERITIES = {Severity.SERIOUS: "serious", Severity.WARNING: "warning", Severity.NOTE: "note"}


def pattern_title(name: str) -> str:
    """Return the title and the name of a pattern; only the name if it is not in the catalog."""
    try:
        return f"{entry(name).title} ({entry(name).name})"
    except BadInput:
        return plain(name)


def _effect(before: Effect, after: Effect) -> str:
    """Return the figures before and after a change."""
    per = "" if before.per == "call" else " a second"
    pairs = (
        (f"requests{per}", number(before.requests), number(after.requests)),
        (f"entities read{per}", number(before.examined), number(after.examined)),
        ("cost a month", sum_of_money(before.cost_a_month), sum_of_money(after.cost_a_month)),
        ("busiest partition", share(before.busiest), share(after.busiest)),
    )
    changed_names = [f"{name} {old} → {new}" for name, old, new in pairs if old != new]
    same = [f"{name} {old}" for name, old, new in pairs if old == new]
    return "; ".join([*changed_names, *([f"unchanged: {', '.join(same)}"] if same else [])])


def lines(finding: Finding) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the details of a finding as lines, each with its label."""
    found: list[tuple[str, tuple[str, ...]]] = [("Why", (plain(finding.why),)), ("Do", (plain(finding.better),))]
    if finding.change is not None and finding.before is not None and finding.after is not None:
        found.append((f"--fix {finding.fix}", (f"Tested: {plain(finding.change)}.",)))
        found.append(("Effect", (_effect(finding.before, finding.after),)))
    if finding.resolves:
        found.append(("Resolves", tuple(f"{finding.rule} ({subject_of(finding)})" for finding in finding.resolves)))
    if finding.causes:
        found.append(("Leads to", tuple(map(plain, finding.causes))))
    if finding.pattern is not None:
        found.append(("Pattern", (pattern_title(finding.pattern),)))
    return (*found, ("Guide", (plain(finding.guide),)))
