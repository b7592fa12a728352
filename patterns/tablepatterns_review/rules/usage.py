"""Find operations that Table storage lacks, stale reads, lost updates, and what readers see that they must not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import Final

from tablepatterns.figures import number, often, plural
from tablepatterns.limits import MAX_PAGE_ENTITIES

from ..design.distribution import equal, equal_names
from ..design.model import Access, DeclaredSet, Field, Query, Write
from ..design.writes import touched
from ..plans.planner import mistakes_of
from ..result import Finding, Measured, Severity
from .context import HEAVY, NOTICEABLE, ONCE_AN_HOUR, RuleContext, needed_entities
from .rule import RULES, entities, listed, part_of, severity_of

_SHORT: Final = 256
_ADDED_UP: Final = re.compile(
    r"count|total|sum|balance|amount|owed|credit|debit|stock|quantity|on_?hand|remaining|clicks|likes|views|hits|points|score|left|used|inside|present|attendance|fail|attempt",
    re.IGNORECASE,
)
"""Names of fields whose new value is computed from the old one."""
_ADDS: Final = re.compile(
    r"\b(count|add|increase|increment|decrement|deduct|tally|adjust|deposit|withdraw|spend)", re.I
)
"""Names of writes that compute the new value from the old one."""
_CLAIMED: Final = re.compile(r"state|status|available|free|booked|reserved|taken|assign", re.IGNORECASE)
"""Names of fields that tell who may have something: the later of two writers takes it from the other."""
_OBSERVED: Final = re.compile(r"last|seen|updated|reported|checked|synced|heartbeat|observed|measured", re.IGNORECASE)
"""Names of the time at which something was observed."""
_NUMBERS: Final = ("int32", "int64", "double")
_FOUR_TIMES: Final = 4.0
_FEW: Final = 10
"""So few entities are counted as fast as a stored count is read."""
REPLICATED: Final = 900.0
"""The usual maximum lag of a secondary region in seconds; the service guarantees no maximum."""
DELAYED: Final = 60.0
"""The seconds until a worker finishes what a process left undone that was killed, such as the copies of an entity."""


def find_problems(context: RuleContext) -> Iterator[Finding]:
    for query in context.queries:
        yield from _find_unsupported(query)
        yield from _find_too_many_results(query)
        yield from _find_stale_read(context, query)
    for write in context.writes:
        yield from _find_lost_update(context, write)
        yield from _find_others(context, write)
    for declared_set in context.design.sets:
        yield from _find_private_data(context, declared_set)
        for access in declared_set.access:
            yield from _find_access_problems(declared_set, access)


def _find_unsupported(query: Measured[Query]) -> Iterator[Finding]:
    access, read = query.access, query.examined
    for comparison, reason in mistakes_of(query.of, access.filter or "true")[:1]:
        is_true = comparison.operator in ("ne", "lt", "le") and not reason.startswith("no entity")
        words = {"comparison": str(comparison), "reason": reason, "result": "true" if is_true else "false"}
        yield RULES["filter-mistake"].finding(Severity.SERIOUS, query, **words)
    words = {"read": entities(read), "returned": number(needed_entities(query)), "rate": often(access.busiest)}
    if parts := [name for name, how in access.known.items() if how == "contains"]:
        is_small = read <= MAX_PAGE_ENTITIES and read * access.rate < NOTICEABLE
        severity = Severity.SERIOUS if read > MAX_PAGE_ENTITIES else Severity.NOTE if is_small else Severity.WARNING
        yield RULES["text-search"].finding(severity, query, fields=parts, names=listed(parts), **words)
    if access.count_only:
        is_small = read <= MAX_PAGE_ENTITIES or access.rate < ONCE_AN_HOUR
        count = severity_of(read * access.busiest, serious=HEAVY, warning=NOTICEABLE, note=inf if is_small else 0.0)
        if count is not None and read > _FEW:
            names = listed([*access.known]) if access.known else "the set"
            yield RULES["count-by-reading"].finding(count, query, names=names, **words)
    if access.skip:
        severity = RULES["deep-paging"].severity_of(access.skip * access.busiest) or Severity.NOTE
        yield RULES["deep-paging"].finding(
            severity, query, skipped=entities(access.skip), take=number(access.take or 0), **words
        )


def _find_too_many_results(query: Measured[Query]) -> Iterator[Finding]:
    access, shape = query.access, query.of.shape
    # One field may follow from another, as a city from its street
    counts = [equal(shape, [name], access.skew, [name]) for name in equal_names(access)]
    there = min(counts, default=float(shape.count))
    if access.filter is None and shape.count and (access.results or 0.0) > max(_FEW, _FOUR_TIMES * there):
        words = {"results": entities(access.results or 0.0), "there": number(there)}
        yield RULES["results-mismatch"].finding(Severity.WARNING, query, **words)


def _find_lost_update(context: RuleContext, call: Measured[Write]) -> Iterator[Finding]:
    write = call.access
    if write.operation != "update" or not write.overwrite or _is_latest_state(call):
        return
    own, writers = set(write.changes), write.writers
    for other in (other.access for other in context.writes_of(call.of) if other.access is not write):
        if other.operation == "update" and (not own or not other.changes or own.intersection(other.changes)):
            writers += other.writers
    if writers > 1:
        changes, rate = listed(write.changes) if own else "the entity", often(write.busiest)
        fields = [(name, call.of.shape.fields.get(name, Field())) for name in write.changes]
        adds = bool(_ADDS.search(write.name))
        is_computed = any((adds or _ADDED_UP.search(name)) and field.type in _NUMBERS for name, field in fields)
        is_claimed = len(fields) > 1 and any(map(_CLAIMED.search, write.changes))
        severity = Severity.SERIOUS if is_computed or is_claimed else Severity.WARNING
        yield RULES["lost-update"].finding(
            severity, call, changes=changes, writers=plural(writers, "writer"), rate=rate
        )


def _is_latest_state(call: Measured[Write]) -> bool:
    """Whether a write stores what was observed at a time, such as a position: the last writer is right.

    What is added up, and long values that grow, depend on the value before.
    """
    fields = [(name, call.of.shape.fields.get(name, Field())) for name in call.access.changes]
    is_timed = any(
        field.type == "datetime" and (field.order == "rising" or _OBSERVED.search(name)) for name, field in fields
    )
    is_added = any(
        _ADDED_UP.search(name) or (field.type in ("string", "binary") and field.size > _SHORT) for name, field in fields
    )
    return is_timed and not is_added and not _ADDS.search(call.access.name)


def _find_access_problems(declared_set: DeclaredSet, access: Access) -> Iterator[Finding]:
    subject = part_of(declared_set.name, access.name)
    words = {"reader": repr(access.name), "whole": declared_set.name}
    leading = declared_set.key.fields[: max(1, len(access.by))]
    if set(leading[: len(access.by)]) != set(access.by):
        words |= {"names": listed(access.by), "leading": listed(leading) or "a constant"}
        yield RULES["access-not-by-key"].finding(Severity.SERIOUS, subject, **words)
    if plain := [name for name in access.hidden if name not in declared_set.encrypted()]:
        yield RULES["access-to-hidden-property"].finding(
            Severity.SERIOUS, subject, fields=plain, hidden=listed(plain), **words
        )


def _find_private_data(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    fields, in_keys = declared_set.shape.fields.items(), {name for key in declared_set.keys for name in key.fields}
    secrets = {name for name, field in fields if field.secret}
    personal = {name for name, field in fields if field.personal}
    is_deleted = any(write.kind == "delete" for write in context.writes_of(declared_set))
    has_end = is_deleted or declared_set.retention is not None or declared_set.archive is not None
    for rule, severity, concerned in (
        ("secret-in-key", Severity.SERIOUS, secrets & in_keys),
        ("secret-in-plain-text", Severity.SERIOUS, secrets - in_keys - declared_set.encrypted()),
        ("personal-data-in-key", Severity.WARNING, (personal & in_keys) - secrets),
        ("personal-data-kept", Severity.WARNING, () if has_end else personal),
    ):
        if names := [name for name, _ in fields if name in concerned]:
            yield RULES[rule].finding(severity, declared_set, fields=names, names=listed(names))


def _find_stale_read(context: RuleContext, query: Measured[Query]) -> Iterator[Finding]:
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
        yield RULES["stale-read"].finding(Severity.SERIOUS, query, says, better)
    elif stale < DELAYED and via is not None and via.is_eventual:
        may = f"lag by more than {number(stale)} s" if stale else "return stale data"
        yield RULES["stale-read"].finding(Severity.WARNING, query, may=may, via=repr(via.name), rate=often(rate))


def _find_others(context: RuleContext, write: Measured[Write]) -> Iterator[Finding]:
    own = write.of
    place = own.table.lower(), own.key.partition_template
    others = list(filter(None, map(context.writer, write.access.atomic_with)))
    others = [other for other in others if (other.of.table.lower(), other.of.key.partition_template) != place]
    if not others:
        return
    other_set = others[0].of
    sets = [own, *(other.of for other in others)]
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
        Severity.SERIOUS if fresh else Severity.WARNING,
        write,
        better=better,
        pattern="entity_group_transaction" if better else None,
        other_writes=listed([repr(other.access.name) for other in others]),
        why_apart=why,
        strict=f", although {listed([*dict.fromkeys(strict)], most=3)} must not" if strict else "",
    )
