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
    for query in context.queries():
        yield from _stale(context, query)
    for write in context.writes():
        yield from _apart(context, write)


def _stale(context: RuleContext, query: MeasuredQuery) -> Iterator[Finding]:
    via = query.via
    writes = [write.write for write in context.writes_of(query.of)]
    if not any(write.rate for write in writes):
        return
    if query.query.region == "secondary" and query.query.max_staleness < _REPLICATED:
        yield _from_secondary(query, sum(write.rate for write in writes))
        return
    if query.query.max_staleness > 0 or via is None or not via.is_eventual:
        return
    says = (
        f"{query.query.name!r} must not return stale data, but is answered by {via.name!r}, which is eventually "
        f"consistent and written {often(sum(write.rate for write in writes))}."
    )
    better = (
        "Read the entity itself by the key that was found, store the copies in its partition, or declare how stale an "
        "answer may be (max_staleness)."
    )
    yield STALE_READ.finding(Severity.WARNING, part_of(query.of.name, query.query.name), says, better)


_REPLICATED: Final = 900.0
"""The usual maximum lag of a secondary region in seconds; the service guarantees no maximum."""


def _from_secondary(query: MeasuredQuery, rate: float) -> Finding:
    stale = query.query.max_staleness
    may = f"lag by more than {number(stale)} s" if stale else "be stale"
    says = (
        f"{query.query.name!r} must not {may}, but reads the "
        f"secondary region, which is usually up to {number(_REPLICATED / 60)} minutes behind; "
        f"{query.of.name} is written {often(rate)}."
    )
    better = "Read the primary region, and the secondary only if the primary does not answer."
    return STALE_READ.finding(Severity.WARNING, part_of(query.of.name, query.query.name), says, better)


def _apart(context: RuleContext, write: MeasuredWrite) -> Iterator[Finding]:
    other_writes = [
        other_write for name in write.write.atomic_with if (other_write := context.writer(name)) is not None
    ]
    apart = [other_write for other_write in other_writes if not _share(write.of, other_write.of)]
    if not apart:
        return
    sets = [write.of, *(write.of for write in apart)]
    strict = [query.query.name for one in sets for query in context.queries_of(one) if query.query.max_staleness <= 0]
    says = (
        f"{write.write.name!r} must be atomic with {listed([repr(write.write.name) for write in apart])}, but "
        f"{_why(write.of, apart[0].of)}: readers can see one without the other"
    )
    says = (
        f"{says}, although {listed([repr(name) for name in dict.fromkeys(strict)], most=3)} must not."
        if strict
        else f"{says}."
    )
    severity = Severity.WARNING if strict else Severity.NOTE
    pattern = "entity_group_transaction" if _could_share(write.of, apart[0].of) else None
    subject = part_of(write.of.name, write.write.name)
    yield TOGETHER_APART.finding(severity, subject, says, _better(write.of, apart[0].of), pattern=pattern)


def _share(one: DeclaredSet, other_set: DeclaredSet) -> bool:
    """Whether entities of two sets with the same field values share a partition."""
    return (
        one.table.lower() == other_set.table.lower() and one.key.partition_template == other_set.key.partition_template
    )


def _why(one: DeclaredSet, other_set: DeclaredSet) -> str:
    if one.key.partition_template == other_set.key.partition_template:
        return f"{one.table} and {other_set.table} are different tables"
    return f"their PartitionKeys are {one.key.partition_template} and {other_set.key.partition_template}"


def _common(one: DeclaredSet, other_set: DeclaredSet) -> list[str]:
    """Return the fields of both PartitionKeys."""
    return [name for name in one.key.partition_fields if name in other_set.key.partition_fields]


def _could_share(one: DeclaredSet, other_set: DeclaredSet) -> bool:
    same = one.key.partition_template == other_set.key.partition_template
    return same or bool(_common(one, other_set))


def _better(one: DeclaredSet, other_set: DeclaredSet) -> str:
    if one.key.partition_template == other_set.key.partition_template:
        return "Store both in one table, with different RowKey prefixes, so that one transaction changes both."
    if common := _common(one, other_set):
        return (
            f"Store both in one table with {listed(common)} as the PartitionKey, so that one transaction changes both."
        )
    return (
        "Use an EventualTransaction with idempotent steps, and let readers handle a missing step; if "
        "they cannot, store "
        "both in one partition."
    )
