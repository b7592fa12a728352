"""Find reads that may be too stale, and writes that cannot be one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import number, often

from ..design.model import DeclaredSet, Query, Write
from ..design.writes import touched
from ..result import Finding, Measured, Severity
from .context import RuleContext
from .rule import RULES, listed

REPLICATED: Final = 900.0
"""The usual maximum lag of a secondary region in seconds; the service guarantees no maximum."""


def find_problems(context: RuleContext) -> Iterator[Finding]:
    for query in context.queries:
        yield from _stale(context, query)
    for write in context.writes:
        yield from _apart(context, write)


def _stale(context: RuleContext, query: Measured[Query]) -> Iterator[Finding]:
    via, stale, is_secondary = query.derived, query.access.max_staleness, query.access.region == "secondary"
    writes = [write.access for write in context.writes_of(query.of)]
    rate = sum(write.rate for write in writes if is_secondary or via in touched(query.of, write))
    if not rate or stale is None:
        return
    if is_secondary and stale < REPLICATED:
        may = f"lag by more than {number(stale)} s" if stale else "be stale"
        says = (
            f"{query.access.name!r} must not {may}, but reads the secondary region, which is usually up to "
            f"{number(REPLICATED / 60)} minutes behind; {query.of.name} is written {often(rate)}."
        )
        better = "Read the primary region, and the secondary only if the primary does not answer."
        yield RULES["stale-read"].finding(Severity.WARNING, query, says, better)
    elif stale <= 0 and via is not None and via.is_eventual:
        yield RULES["stale-read"].finding(Severity.WARNING, query, via=repr(via.name), rate=often(rate))


def _apart(context: RuleContext, write: Measured[Write]) -> Iterator[Finding]:
    other_writes = [context.writer(name) for name in write.access.atomic_with]
    apart = [other for other in other_writes if other is not None and not _share(write.of, other.of)]
    if not apart:
        return
    own, other_set = write.of, apart[0].of
    sets = [own, *(other.of for other in apart)]
    fresh = [query.access for one in sets for query in context.queries_of(one) if not query.access.max_staleness]
    strict = [repr(query.name) for query in fresh if query.max_staleness is not None]
    common = [name for name in own.key.partition_fields if name in other_set.key.partition_fields]
    better = None
    why = f"their PartitionKeys are {own.key.partition_template} and {other_set.key.partition_template}"
    if own.key.partition_template == other_set.key.partition_template:
        why = f"{own.table} and {other_set.table} are different tables"
        better = "Store both in one table, with different RowKey prefixes, so that one transaction changes both."
    elif common:
        names = listed(common)
        better = f"Store both in one table with {names} as the PartitionKey, so that one transaction changes both."
    yield RULES["together-apart"].finding(
        Severity.WARNING if fresh else Severity.NOTE,
        write,
        better=better,
        pattern="entity_group_transaction" if better else None,
        other_writes=listed([repr(other.access.name) for other in apart]),
        why_apart=why,
        strict=f", although {listed([*dict.fromkeys(strict)], most=3)} must not" if strict else "",
    )


def _share(one: DeclaredSet, other_set: DeclaredSet) -> bool:
    """Whether entities of two sets with the same field values share a partition."""
    return (
        one.table.lower() == other_set.table.lower() and one.key.partition_template == other_set.key.partition_template
    )
