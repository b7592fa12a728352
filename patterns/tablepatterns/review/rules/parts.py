"""Parts: tables of periods and buckets that a query must ask one by one, or that nobody needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...figures import number, often
from ...limits import ACCOUNT_TRANSACTIONS_PER_SECOND
from ..design.model import DeclaredSet
from ..model import Finding, Severity
from .known import Asked, Known
from .rule import Rule
from .words import part_of

_SEVERAL: Final = 4.0
_NOTICEABLE: Final = 0.005 * ACCOUNT_TRANSACTIONS_PER_SECOND
_MANY: Final = 0.05 * ACCOUNT_TRANSACTIONS_PER_SECOND
_COLD: Final = 0.25
ASKS_EVERY_PART: Final = Rule(
    name="asks-every-part",
    finds="a query asks many tables of periods, or many buckets, since it does not tell which",
    severity=f"a warning from {number(_MANY)} requests more a second on, a note from {number(_NOTICEABLE)}",
    why="Does the design still serve the other uses of the data: finding single entities, relating them, aggregating?",
    guide="High volume delete pattern; prepend/append anti-pattern (issues and considerations)",
)
NEEDLESS_SPREAD: Final = Rule(
    name="needless-spread",
    finds="a partition is spread over buckets, and would be cool without",
    severity="a note",
    why="Do the keys support the queries efficiently? Each bucket is one request more for whoever reads.",
    guide="Prepend/append anti-pattern (issues and considerations)",
    pattern="log_tail",
)
RULES: Final = (ASKS_EVERY_PART, NEEDLESS_SPREAD)


def found(known: Known) -> Iterator[Finding]:
    """Hand out the queries that ask many parts, and the sets that have more of them than they need."""
    for asked in known.queries():
        yield from _asks(asked)
    for declared in known.design.sets:
        yield from _needless(known, declared)


def _asks(asked: Asked) -> Iterator[Finding]:
    pattern, requests = asked.of.pattern, asked.measured.requests
    more = (requests - 1) * asked.query.busiest
    if pattern not in ("period_tables", "partition_spread") or requests < _SEVERAL or more < _NOTICEABLE:
        return
    severity = Severity.WARNING if more >= _MANY else Severity.NOTE
    parts = "tables of periods" if pattern == "period_tables" else "buckets"
    says = (
        f"{asked.query.name!r} of {asked.of.name} makes {number(requests)} requests, to many {parts}, "
        f"{often(asked.query.busiest)}: {number(more)} requests a second more than one for each call."
    )
    yield ASKS_EVERY_PART.finding(severity, part_of(asked.of.name, asked.query.name), says, _better(asked))


def _better(asked: Asked) -> str:
    if asked.of.pattern == "period_tables":
        at = asked.of.settings.get("at", "At")
        return f"Let whoever asks tell {at} too, such as in the id that is handed out, or use longer periods."
    return "Make the bucket of fields that the question knows (by), or use fewer buckets."


def _needless(known: Known, declared: DeclaredSet) -> Iterator[Finding]:
    buckets = declared.settings.get("buckets")
    if declared.pattern != "partition_spread" or not isinstance(buckets, int) or buckets < 2:
        return
    for heat in known.heats:
        if heat.table == declared.table and heat.partitions and heat.partitions[0].peak * buckets < _COLD * heat.target:
            says = (
                f"{declared.name} is spread over {number(buckets)} buckets; without them the busiest partition would "
                f"serve {number(heat.partitions[0].peak * buckets)} entities a second, of {number(heat.target)} it can."
            )
            better = "Keep it in one partition, which one request reads, until the rates are ten times as high."
            yield NEEDLESS_SPREAD.finding(Severity.NOTE, declared.name, says, better)
