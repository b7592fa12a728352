"""Find partitions, accounts and rows with too much load, and its cause."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from tablepatterns.entity_set.derived import Derived, RowProfile
from tablepatterns.figures import number, of_target, often, plural, share, time_of_day
from tablepatterns.limits import MAX_PAGE_ENTITIES, MAX_TRANSACTION_OPERATIONS

from ..capacity.hot_partitions import partitions_of
from ..capacity.partitions import shares
from ..design.distribution import Zipf, busiest_share, names_one, values_in
from ..design.key_parts import pieces_of_key
from ..design.model import DeclaredSet, Write
from ..design.writes import retries_at, touches
from ..kinds import kind_of
from ..result import Finding, Measured, Severity, TableLoad
from .context import RuleContext, waste_severity, without_waste
from .rule import RULES, entities, listed, part_of, severity_of

_NEAR: Final = 2 / 3
"""The share of a partition's target from which a finding is a warning: it does not spread its load."""
_NEAR_ACCOUNT: Final = 0.8
_FEW: Final = 32
_MOST: Final = 0.5
"""The share of the requests from which an access pattern is named."""

_LOG_TO_BLOBS: Final = "Write the log to blobs, which have no hot partitions, or spread it over buckets{effect}."
_TOGETHER: Final = 10.0
"""The writes of one process to one partition in a second from which they can share transactions."""


def find_problems(context: RuleContext) -> Iterator[Finding]:
    hot_tables = set[str]()
    for heat in context.heats:
        severity = severity_of(1 / heat.headroom, serious=1, warning=_NEAR)
        if severity is not None:
            hot_tables.add(heat.table)
            yield _hot_partition(context, heat, severity)
    yield from _find_account_load(context)
    for write in context.writes:
        if write.of.table not in hot_tables:
            # Another PartitionKey changes which writes can share a transaction
            yield from _find_single_writes(write)
        if write.access.operation == "update" and write.access.writers > 1 and not write.access.overwrite:
            yield from _find_contended_entity(write)
    for declared_set in context.design.sets:
        for derived, profile in declared_set.profiles():
            if profile.is_shared:
                yield from _find_contended_rows(context, declared_set, derived, profile)


def _hot_partition(context: RuleContext, heat: TableLoad, severity: Severity) -> Finding:
    # Without one, derived rows of other sets cause the load
    calls = [call for call in context.measured if call.of.table == heat.table]
    cause = max(calls, key=_load_of_busiest, default=None)
    words = {"reaches": _describe_peak(context, heat), "effect": _describe_buckets(heat)}
    if cause is None or _is_of_derived(heat, cause):
        return RULES["hot-index"].finding(severity, heat.table, **words)
    load, total = _load_of_busiest(cause), sum(map(_load_of_busiest, calls))
    if load and load >= _MOST * total:
        words["reaches"] += f"; {cause.access.name!r} causes {share(load / total)} of it"
    declared_set, is_spread, is_read = cause.of, kind_of(cause.of).is_spread, cause.kind == "query"
    key, shape = declared_set.key, declared_set.shape
    values = values_in(shape, key.partition_fields)
    words |= {
        "key": key.partition_template,
        "values": plural(values, "value"),
        "share": share(heat.partitions[0].share),
    }
    at_a_time = math.prod(dimension.values.count for dimension in partitions_of(declared_set).dimensions)
    better = pattern = None
    if heat.follows_time and not is_spread and at_a_time <= _FEW:
        rule, is_insert = "prepend-append", cause.kind == "insert"
        words["places"] = "one partition" if at_a_time == 1 else plural(at_a_time, "partition")
        words["calls"] = "all inserts" if is_insert else "all inserts and the calls for new entities"
        words["even"] = "" if is_insert else " If those calls use all periods alike, declare skew = 0."
        if _is_log(context, declared_set):
            better, pattern = _LOG_TO_BLOBS.format(**words), "blob_log"
    elif not key.partition_fields and not is_spread:
        rule, words["key_fields"] = "one-partition", listed(key.row_fields) or "a field"
        if is_read and shape.count <= MAX_PAGE_ENTITIES:
            better = f"Cache the {entities(shape.count)} in each reader, and refresh them when they expire."
            pattern = "lookup"
    elif values <= _FEW:
        rule = "few-partitions"
    else:
        rule = "hot-partition"
        better = "Cache what is read most, or store copies in several partitions." if is_read else None
    if is_spread and partitions_of(declared_set).buckets < kind_of(declared_set).buckets(declared_set):
        better = "Choose the bucket by all fields of the key (leave out by): those of by have too few values."
    return RULES[rule].finding(severity, declared_set, better=better, pattern=pattern, **words)


def _load_of_busiest(call: Measured) -> float:
    needed = next(without_waste(call), None)
    if needed is None:
        return 0.0
    work = max(1.0, needed.examined + needed.written) / max(1.0, needed.partitions)
    return needed.access.busiest * work * busiest_share(call.of.shape, call.of.key.partition_fields)


def _is_of_derived(heat: TableLoad, cause: Measured) -> bool:
    """Whether the busiest partition holds rows of an index with its own partitions."""
    hottest = heat.partitions[0].partition if heat.partitions else ""
    own = cause.of.key.partition_template.split("{")[0]
    return bool(own) and not hottest.startswith(own) and any(derived.is_eventual for derived in cause.of.derived)


def _is_log(context: RuleContext, declared_set: DeclaredSet) -> bool:
    """Whether a set is read by time, and never updated."""
    fields = declared_set.shape.fields
    by_time = any(
        name in fields and fields[name].type == "datetime" and how != "="
        for query in context.queries_of(declared_set)
        for name, how in query.access.known.items()
    )
    return by_time and all(write.access.operation != "update" for write in context.writes_of(declared_set))


def _describe_peak(context: RuleContext, heat: TableLoad) -> str:
    hottest = heat.partitions[0]
    is_scanned = any(query.of.table == heat.table and waste_severity(query) is not None for query in context.queries)
    before = "even without needless reads, " if is_scanned else ""
    peak = f"{entities(hottest.peak)} a second, {of_target(1 / heat.headroom)}"
    after = "" if heat.over_target_from is None else f", and exceeds it from {time_of_day(heat.over_target_from)} on"
    return f"{before}partition {hottest.partition!r} of {heat.table} handles up to {peak}{after}"


def _describe_buckets(heat: TableLoad) -> str:
    if heat.buckets == 1:
        return ", which does not help the reads, since each of them reads every bucket"
    return f": with {number(heat.buckets)} buckets, the busiest handles {entities(heat.spread_peak)} a second"


def _find_account_load(context: RuleContext) -> Iterator[Finding]:
    peak, target = max(context.account.rates, default=0.0), context.account.target
    severity = severity_of(peak / target, serious=1, warning=_NEAR_ACCOUNT)
    if severity is None:
        return
    calls = [needed for call in context.measured for needed in without_waste(call)]
    rates = {call.requests * call.access.busiest: call for call in calls}
    most = ""
    if max(rates, default=0.0) >= _MOST * peak:
        rate, busiest = max(rates), rates[max(rates)]
        most = f"; {busiest.access.name!r} of {busiest.of.name} sends {share(min(1.0, rate / peak))} of them"
    words = {"peak": number(peak), "of_target": of_target(peak / target), "most": most}
    is_scanned = any(waste_severity(call) is not None for call in context.measured)
    words["all"] = "Together, and even without needless reads" if is_scanned else "Together"
    yield RULES["account-target"].finding(severity, "account", **words)


def _find_single_writes(call: Measured[Write]) -> Iterator[Finding]:
    write = call.access
    if call.is_implied or write.atomic_with or write.operation == "update":
        return
    partitions = partitions_of(call.of)
    is_new_each_time = partitions.clock is not None and partitions.clock.seconds is None
    # Of periods of time, all inserts use the current one
    busiest = max(part.of for _, part in shares(partitions, "new" if write.operation == "insert" else "entity", None))
    writer_rate = write.rate / write.writers * busiest
    if is_new_each_time or writer_rate < _TOGETHER:
        return
    at_once = min(MAX_TRANSACTION_OPERATIONS / max(1.0, call.written), writer_rate)
    saved = write.rate * (1 - 1 / at_once)
    yield RULES["single-writes"].finding(
        RULES["single-writes"].severity_of(saved) or Severity.NOTE,
        call,
        rate=often(write.rate),
        writers=plural(write.writers, "writer"),
        sent=number(writer_rate),
        most=number(round(at_once)),
        saved=number(saved),
    )


def changes_of_busiest_row(declared_set: DeclaredSet, derived: Derived, writes: Iterable[Write]) -> float:
    """Return how often writes change the busiest row that entities share, in changes a second."""
    profile, shape = declared_set.profile(derived), declared_set.shape
    # Of days, the current one is changed
    key = profile.key or declared_set.key
    periods = {piece.name for piece in pieces_of_key(key) if "%" in piece.spec}
    names = [name for name in profile.groups if name in shape.fields and name not in periods]
    top = 1 / max(1, shape.count) if names_one(shape, names) else busiest_share(shape, names)
    return sum(write.busiest for write in writes if touches(declared_set, derived, write)) * top / profile.spread


def rows_for(rate: float) -> int:
    """Return the number of rows over which to spread one that is changed `rate` times per second."""
    return max(2, round(rate / RULES["contention"].figures["warning"]) + 1)


def _find_contended_entity(call: Measured[Write]) -> Iterator[Finding]:
    # The changes of the busiest entity; by default, those of the current day or hour are changed alike
    clock, entity_count = partitions_of(call.of).clock, call.of.shape.count
    if clock is not None and clock.seconds is not None and call.access.skew is None:
        entity_count //= clock.values
    rate = call.access.busiest * Zipf(max(1, entity_count), call.access.skew or 0.0).share(1)
    severity = RULES["contention"].severity_of(rate)
    if severity is not None:
        better = (
            "Spread a counter over several rows that readers add up, insert each change as an entity of its own, "
            "or let one worker make all changes of an entity."
        )
        row = f"{call.access.name!r} changes one entity of {call.of.name}"
        yield RULES["contention"].finding(severity, call, better=better, **_contention(row, rate, call.access.writers))


def _find_contended_rows(
    context: RuleContext, declared_set: DeclaredSet, derived: Derived, profile: RowProfile
) -> Iterator[Finding]:
    writes = [write.access for write in context.writes_of(declared_set)]
    writers = max((write.writers for write in writes if touches(declared_set, derived, write)), default=1)
    rate = changes_of_busiest_row(declared_set, derived, writes)
    severity = RULES["contention"].severity_of(rate)
    if severity is not None and writers > 1:
        kind, rows = profile.called.removesuffix("s"), rows_for(rate * profile.spread)
        words = _contention(f"The busiest {kind} of {derived.name!r} in {declared_set.name} changes", rate, writers)
        subject = part_of(declared_set.name, derived.name)
        yield RULES["contention"].finding(
            severity, subject, pattern=profile.pattern, kind=kind, rows=number(rows), spread=f"{rows}", **words
        )


def _contention(row: str, rate: float, writers: int) -> dict[str, str]:
    lost = share(1 - 1 / (1 + retries_at(rate)))
    return {"row": row, "rate": often(rate), "writers": plural(writers, "writer"), "lost": lost}
