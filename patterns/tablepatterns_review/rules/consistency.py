"""Find reads that may be too stale, and writes that cannot be one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import number, often

from ..design.model import DeclaredSet
from ..model import Finding, Severity
from .context import MeasuredQuery, MeasuredWrite, RuleContext
from .rule import Rule, listed, part_of

STALE_READ: Final = Rule(
    name="stale-read",
    finds="a query that must not return stale data reads eventually consistent copies, or the secondary region",
    severity="a warning",
    why=(
        "Copies in other partitions are eventually consistent: for a while, a reader may see the old "
        "value, or no entity."
    ),
    guide="Inter-partition secondary index pattern; eventually consistent transactions pattern",
    pattern="intra_partition_index",
    about="query",
)
TOGETHER_APART: Final = Rule(
    name="together-apart",
    finds="entities that must change atomically are in different partitions",
    severity="a warning if a query of one of them must not return stale data, otherwise a note",
    why="Only an entity group transaction changes several entities atomically, and it is limited to one partition.",
    guide="Entity group transactions; eventually consistent transactions pattern",
    pattern="eventual_transaction",
    about="write",
)
RULES: Final = (STALE_READ, TOGETHER_APART)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield the reads that may be stale, and the writes that are not one transaction."""
    for asked in context.queries():
        yield from _stale(context, asked)
    for done in context.writes():
        yield from _apart(context, done)


def _stale(context: RuleContext, asked: MeasuredQuery) -> Iterator[Finding]:
    via = asked.via
    writes = [each.write for each in context.writes_of(asked.of)]
    if not any(each.rate for each in writes):
        return
    if asked.query.region == "secondary" and asked.query.max_staleness < _REPLICATED:
        yield _from_secondary(asked, sum(each.rate for each in writes))
        return
    if asked.query.max_staleness > 0 or via is None or not via.is_eventual:
        return
    says = (
        f"{asked.query.name!r} must not return stale data, but is answered by {via.name!r}, which is eventually "
        f"consistent and written {often(sum(each.rate for each in writes))}."
    )
    better = (
        "Read the entity itself by the key that was found, store the copies in its partition, or declare how stale an "
        "answer may be (max_staleness)."
    )
    yield STALE_READ.finding(Severity.WARNING, part_of(asked.of.name, asked.query.name), says, better)


_REPLICATED: Final = 900.0
"""The usual maximum lag of a secondary region in seconds; the service guarantees no maximum."""


def _from_secondary(asked: MeasuredQuery, rate: float) -> Finding:
    stale = asked.query.max_staleness
    may = f"lag by more than {number(stale)} s" if stale else "be stale"
    says = (
        f"{asked.query.name!r} must not {may}, but reads the "
        f"secondary region, which is usually up to {number(_REPLICATED / 60)} minutes behind; "
        f"{asked.of.name} is written {often(rate)}."
    )
    better = "Read the primary region, and the secondary only if the primary does not answer."
    return STALE_READ.finding(Severity.WARNING, part_of(asked.of.name, asked.query.name), says, better)


def _apart(context: RuleContext, done: MeasuredWrite) -> Iterator[Finding]:
    others = [other for name in done.write.atomic_with if (other := context.writer(name)) is not None]
    apart = [other for other in others if not _share(done.of, other.of)]
    if not apart:
        return
    sets = [done.of, *(each.of for each in apart)]
    strict = [each.query.name for one in sets for each in context.queries_of(one) if each.query.max_staleness <= 0]
    says = (
        f"{done.write.name!r} must be atomic with {listed([repr(each.write.name) for each in apart])}, but "
        f"{_why(done.of, apart[0].of)}: readers can see one without the other"
    )
    says = (
        f"{says}, although {listed([repr(name) for name in dict.fromkeys(strict)], most=3)} must not."
        if strict
        else f"{says}."
    )
    severity = Severity.WARNING if strict else Severity.NOTE
    pattern = "entity_group_transaction" if _could_share(done.of, apart[0].of) else None
    subject = part_of(done.of.name, done.write.name)
    yield TOGETHER_APART.finding(severity, subject, says, _better(done.of, apart[0].of), pattern=pattern)


def _share(one: DeclaredSet, other: DeclaredSet) -> bool:
    """Whether entities of two sets with the same field values share a partition."""
    return one.table.lower() == other.table.lower() and one.key.partition_template == other.key.partition_template


def _why(one: DeclaredSet, other: DeclaredSet) -> str:
    if one.key.partition_template == other.key.partition_template:
        return f"{one.table} and {other.table} are different tables"
    return f"their PartitionKeys are {one.key.partition_template} and {other.key.partition_template}"


def _common(one: DeclaredSet, other: DeclaredSet) -> list[str]:
    """Return the fields of both PartitionKeys."""
    return [name for name in one.key.partition_fields if name in other.key.partition_fields]


def _could_share(one: DeclaredSet, other: DeclaredSet) -> bool:
    same = one.key.partition_template == other.key.partition_template
    return same or bool(_common(one, other))


def _better(one: DeclaredSet, other: DeclaredSet) -> str:
    if one.key.partition_template == other.key.partition_template:
        return "Store both in one table, with different RowKey prefixes, so that one transaction changes both."
    if common := _common(one, other):
        return (
            f"Store both in one table with {listed(common)} as the PartitionKey, so that one transaction changes both."
        )
    return (
        "Use an EventualTransaction with idempotent steps, and let readers handle a missing step; if "
        "they cannot, store "
        "both in one partition."
    )
