"""Format figures, sentences and recommendations the same way in every report."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from math import isinf
from typing import Final

from ...catalogue import entry
from ...errors import BadInput
from ...filters import QueryClass
from ..model import Finding, Heat, Measured, Reviewed, Severity

_DAY: Final = 86_400
_MONTH_DAYS: Final = 30.44
SECONDS_OF_A_MONTH: Final = _MONTH_DAYS * _DAY
_RATES: Final = ((1.0, "s"), (60.0, "min"), (3_600.0, "h"), (float(_DAY), "day"))
_LARGE: Final = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_SIZES: Final = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_MANY_TIMES: Final = 10
_BYTES: Final = "bytes"
_CONTROLS: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def plain(text: str) -> str:
    r"""Return a text from a design on one line, without what would command a terminal or reorder what is around it.

    >>> plain("Log\x1b[31m\nby hour")
    'Log\ufffd[31m by hour'
    """
    seen = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(each) in _CONTROLS else each for each in seen)


def shortened(text: str, most: int) -> str:
    """Return a text of no more characters than that, the middle left out where it is longer.

    >>> shortened("2014-08-22T18:05", 9)
    '2014…8:05'
    """
    text = plain(text)
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[head + 1 - most :]}"


def number(value: float) -> str:
    """Return a count or an average of counts.

    >>> from math import inf
    >>> [number(each) for each in (0, 3.0, 2.44, 0.15, 0.012, 1234.5, 20_000, 51_840_000, inf)]
    ['0', '3', '2.4', '0.15', '0.012', '1,234', '20,000', '51.8 million', '∞']
    """
    if isinf(value):
        return "∞"
    for least, word in _LARGE:
        if abs(value) >= least:
            return f"{value / least:,.1f}".removesuffix(".0") + f" {word}"
    if value and abs(value) < 1:
        return f"{value:.2g}" if abs(value) >= 0.0001 else "under 0.0001"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}".removesuffix(".0")


def rate(value: float) -> str:
    """Return how often something happens, in the unit in which it is no less than 1.

    >>> [rate(each) for each in (200, 0.5, 0.0005, 0)]
    ['200/s', '30/min', '1.8/h', 'never']
    """
    if value <= 0:
        return "never"
    for seconds, unit in _RATES:
        if value * seconds >= 0.9995:
            return f"{number(value * seconds)}/{unit}"
    return f"{number(value * SECONDS_OF_A_MONTH)}/month"


def share(value: float) -> str:
    """Return a part of a whole, or of a target that may be passed.

    >>> [share(each) for each in (0, 0.0004, 0.023, 0.616, 0.9999, 1.0, 3.14, 1200.0)]
    ['0%', 'under 0.1%', '2.3%', '62%', '99.9%', '100%', '314%', '1,200 times']
    """
    if value >= _MANY_TIMES:
        return f"{number(value)} times"
    if 0 < value < 0.001:
        return "under 0.1%"
    if value < 0.0995 or 0.995 <= value < 1:
        # 99.99% is not yet all of it
        return f"{min(value * 100, 99.9):.1f}".removesuffix(".0") + "%"
    return f"{value * 100:.0f}%"


def briefly(value: float) -> str:
    """Return a share where there is little room.

    >>> briefly(0.0004), briefly(0.023)
    ('<0.1%', '2.3%')
    """
    return share(value).replace("under ", "<")


def of_target(value: float) -> str:
    """Return a share of a target in words.

    >>> of_target(0.5), of_target(12)
    ('50% of its target', '12 times its target')
    """
    return f"{share(value)} {'' if value >= _MANY_TIMES else 'of '}its target"


def money(amount: float, currency: str) -> str:
    """Return an amount of money with its currency.

    >>> money(1.5, "USD")
    '1.50 USD'
    """
    return f"{sum_of_money(amount)} {plain(currency)}"


def sum_of_money(amount: float) -> str:
    """Return an amount of money, where the currency is told elsewhere.

    >>> [sum_of_money(each) for each in (0, 0.004, 1.5, 1234.56, 2_500_000)]
    ['0', 'under 0.01', '1.50', '1,235', '2.5 million']
    """
    if not amount:
        return "0"
    if amount < 0.01:
        return "under 0.01"
    return f"{amount:.2f}" if amount < 1_000 else number(round(amount))


def clock(seconds: float) -> str:
    """Return an instant of the simulated day.

    >>> clock(36_780)
    '10:13'
    """
    minutes = int(seconds // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def amount(value: float, unit: str) -> str:
    """Return so much of something that is limited: bytes in their larger units, everything else as a number.

    >>> amount(65_536, "bytes of a string"), amount(252, "properties of an entity")
    ('64 KiB', '252')
    """
    if not unit.startswith(_BYTES):
        return number(value)
    for least, word in _SIZES:
        if value >= least:
            return f"{value / least:,.1f}".removesuffix(".0") + f" {word}"
    return f"{number(value)} B"


def years(value: float | None, horizon: float) -> str:
    """Return when a limit is reached.

    >>> years(None, 3), years(0.0, 3), years(0.1, 3), years(2.25, 3)
    ('not within 3 years', 'now', 'in 5 weeks', 'in 2.2 years')
    """
    if value is None:
        return f"not within {number(horizon)} {'year' if horizon == 1 else 'years'}"
    if value <= 0:
        return "now"
    if value < 0.9:
        return f"in {plural(max(round(value * 52), 1), 'week')}"
    return f"in {number(value)} {'year' if number(value) == '1' else 'years'}"


def plural(count: int, word: str) -> str:
    """Return so many of something.

    >>> plural(1, "note"), plural(2, "query"), plural(1_200, "partition")
    ('1 note', '2 queries', '1,200 partitions')
    """
    if count == 1:
        return f"1 {word}"
    return f"{number(count)} {word[:-1] + 'ies' if word.endswith('y') else word + 's'}"


_LITTLE: Final = 0.001


@dataclass(frozen=True)
class Cost:
    """What one access pattern costs in a month.

    :param name: that of the access pattern, with its set's where another has the same
    :param money: None where the bill has no line for it
    """

    of: Measured
    name: str
    transactions: float
    money: float | None


@dataclass(frozen=True)
class Load:
    """How near something comes to its target: the busiest partition of a table, or the account.

    :param name: the table's, or `Account`
    :param peak: the most in a second
    :param unit: of what
    :param cooled: the peak with a spread key, None where it needs none
    :param buckets: over how many buckets the key then spreads
    """

    name: str
    peak: float
    target: float
    unit: str
    cooled: float | None = None
    buckets: int = 1

    @property
    def share(self) -> float:
        """The peak in units of the target."""
        return self.peak / self.target


def verdict(reviewed: Reviewed) -> str:
    """Return how many findings of each severity there are."""
    counts = Counter(each.severity for each in reviewed.findings)
    if not counts:
        return "nothing to say against it"
    return ", ".join(
        plural(counts[each], word)
        for each, word in (
            (Severity.SERIOUS, "serious finding"),
            (Severity.WARNING, "warning"),
            (Severity.NOTE, "note"),
        )
        if counts[each]
    )


def name_of(found: Measured) -> str:
    """Return the name of an access pattern, with that of its set."""
    return f"{plain(found.of.name)}: {plain(found.access.name)}"


def class_of(found: Measured) -> str:
    """Return the class of a query in the guide's words, or that it is a write."""
    return "write" if found.query_class is None else found.query_class.label


def costs(reviewed: Reviewed) -> tuple[Cost, ...]:
    """Return what each access pattern costs in a month, the dearest first."""
    named = Counter(each.access.name for each in reviewed.measured)
    found = [_cost(reviewed, each, alone=named[each.access.name] == 1) for each in reviewed.measured]
    return tuple(sorted(found, key=lambda each: (-(each.money or 0.0), -each.transactions)))


def _cost(reviewed: Reviewed, found: Measured, *, alone: bool) -> Cost:
    own = {f"{found.of.name}: {found.access.name}", *([found.access.name] if alone else [])}
    lines = [line.amount for line in reviewed.bill.lines if line.subject in own]
    name = plain(found.access.name) if alone else name_of(found)
    return Cost(found, name, found.transactions * found.access.rate * SECONDS_OF_A_MONTH, sum(lines) if lines else None)


def loads(reviewed: Reviewed) -> tuple[Load, ...]:
    """Return how near each table and the account come to their targets, the nearest first."""
    found = [
        Load(
            plain(heat.table),
            peak_of(heat),
            heat.target,
            "entities",
            heat.cooled if heat.buckets > 1 else None,
            heat.buckets,
        )
        for heat in reviewed.heats
    ]
    account = reviewed.account
    found.append(Load("Account", max(account.rates, default=0.0), account.target, "requests"))
    return tuple(sorted(found, key=lambda each: -each.share))


def hottest_first(reviewed: Reviewed) -> tuple[Heat, ...]:
    """Return the heat of each table, that of the nearest to its target first."""
    return tuple(sorted(reviewed.heats, key=lambda heat: (-peak_of(heat) / heat.target, heat.table)))


def cost_sentence(reviewed: Reviewed) -> str:
    """Return which access pattern the money goes to."""
    found = costs(reviewed)
    if not found:
        return "Nothing is asked and nothing is written"
    first, whole = found[0], sum(each.money or 0.0 for each in found)
    if whole > 0 and first.money:
        total = money(whole, reviewed.bill.currency)
        return f"“{first.name}” takes {share(first.money / whole)} of the {total} that transactions cost a month"
    sent = sum(each.transactions for each in found)
    most = max(found, key=lambda each: each.transactions)
    if not sent:
        return "No access pattern has a rate, so none has a cost"
    return f"“{most.name}” takes {share(most.transactions / sent)} of the transactions of a month"


def load_sentence(reviewed: Reviewed) -> str:
    """Return how near the busiest part comes to its target, and how near any other."""
    first, *rest = loads(reviewed)
    whose = "The account" if first.unit == "requests" else f"The busiest partition of {first.name}"
    told = f"{whose} takes {of_target(first.share)}"
    if not rest or not rest[0].peak:
        return told
    other = rest[0].share
    return f"{told}; nothing else takes {'even 0.1%' if other < _LITTLE else f'more than {share(other)}'}"


def heat_sentence(heat: Heat) -> str:
    """Return how hot the busiest partition of a table gets, and when."""
    if not heat.partitions:
        return f"{plain(heat.table)}: nothing is asked of it"
    first = heat.partitions[0]
    whose = "the partition of the moment" if heat.moving else f"“{plain(first.partition)}”, the busiest partition,"
    most = first.peak / heat.target
    told = f"{plain(heat.table)}: {whose} takes {'' if most < _LITTLE else 'up to '}{of_target(most)}"
    return told if heat.saturated is None else f"{told}, and more than all of it from {clock(heat.saturated)}"


def target_sentence(reviewed: Reviewed) -> str:
    """Return how many tables have a partition over its target, and how near the account comes to its own."""
    account = reviewed.account
    whole = share(max(account.rates, default=0.0) / account.target)
    told = f"The account takes {whole} of {number(account.target)} requests a second."
    if not reviewed.heats:
        return told
    over = sum(1 for each in reviewed.heats if peak_of(each) > each.target)
    if len(reviewed.heats) == 1:
        tables = f"{'A' if over else 'No'} partition of the table"
    else:
        which = {0: "None", len(reviewed.heats): "Each"}.get(over, number(over))
        tables = f"{which} of {number(len(reviewed.heats))} tables"
    verb = "is" if len(reviewed.heats) == 1 else "have a partition" if over > 1 else "has a partition"
    return f"{tables} {verb} over its target. {told}"


def scans(reviewed: Reviewed) -> int:
    """Return how many access patterns search a partition or a table."""
    return sum(1 for each in reviewed.measured if each.query_class and each.query_class > QueryClass.RANGE)


def peak_of(heat: Heat) -> float:
    """Return the most entities in a second that a partition of a table has to do with."""
    return max((each.peak for each in heat.partitions), default=0.0)


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
