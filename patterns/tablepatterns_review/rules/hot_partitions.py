"""Find partitions, accounts and rows with too much load, and its cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tablepatterns.entity_set.derived import Derived, RowProfile
from tablepatterns.figures import number, of_target, often, plural, share, time_of_day
from tablepatterns.limits import MAX_TRANSACTION_OPERATIONS

from ..capacity.contention import retries_at
from ..design.model import DeclaredSet, Query, Write
from ..kinds import kind_of
from ..measure.sample import names_one, values_in, values_of
from ..model import Finding, Severity, TableLoad
from ..zipf import Zipf
from .context import MeasuredQuery, MeasuredWrite, RuleContext, waste_severity
from .rule import Rule, entities, listed, part_of

_LEVELS: Final = "serious if the busiest partition reaches its target, a warning from half of it"
_NEAR: Final = 2.0
"""The headroom up to which a partition counts as near its target."""
_FEW: Final = 32
_MOST: Final = 0.5
"""The share of the requests from which an access pattern is named."""
_SMALL: Final = 1000
"""The number of entities that fit on one page, so that readers can cache them all."""
_GUIDE: Final = "Scalability targets; designing your Table service solution to be write efficient"
PREPEND_APPEND: Final = Rule(
    name="prepend-append",
    finds="all inserts go to one partition at a time, because its key is a timestamp or a counter",
    severity=_LEVELS,
    why="All inserts hit one partition at a time, so the service cannot balance them over its nodes.",
    guide="Prepend/append anti-pattern",
    pattern="partition_spread",
)
ONE_PARTITION: Final = Rule(
    name="one-partition",
    finds="the only partition of a table is overloaded",
    severity=_LEVELS,
    why="One node serves a partition, so a table with one partition cannot be load balanced.",
    guide="Choosing an appropriate PartitionKey",
    pattern="compound_key",
)
FEW_PARTITIONS: Final = Rule(
    name="few-partitions",
    finds=f"the PartitionKey has at most {_FEW} values, too few for the declared rates",
    severity=_LEVELS,
    why="More partitions let the service balance the load; each one has the same target.",
    guide="Choosing an appropriate PartitionKey",
    pattern="partition_spread",
)
HOT_PARTITION: Final = Rule(
    name="hot-partition",
    finds="one of many partitions is overloaded, because most calls use its value",
    severity=_LEVELS,
    why="Do not create hot partitions: choose keys that spread requests over partitions at every moment.",
    guide=_GUIDE,
    pattern="partition_spread",
)
HOT_INDEX: Final = Rule(
    name="hot-index",
    finds="a partition of index, list or summary rows is overloaded",
    severity=_LEVELS,
    why="Index rows have the same targets as any others: their partitions must spread the load, too.",
    guide="Index entities pattern; inter-partition secondary index pattern",
    pattern="compound_key",
    why_not_automatic="the field that divides the rows must be chosen",
    about="table",
)
ACCOUNT_TARGET: Final = Rule(
    name="account-target",
    finds="all requests together come near the target of a storage account",
    severity="serious if the account reaches its target, a warning from half of it",
    why="Know the throughput that you need, and stay within the scalability targets.",
    guide=_GUIDE,
    why_not_automatic="tables have to be divided among accounts",
    about="account",
)


@dataclass(frozen=True)
class _Cause:
    """The access pattern that causes most of the load on a table."""

    of: DeclaredSet
    access: MeasuredQuery | MeasuredWrite


def _near_targets(context: RuleContext) -> Iterator[Finding]:
    """Yield a finding for each table whose busiest partition is near its target, and one for the account."""
    for heat in context.heats:
        severity = _severity(heat.headroom)
        cause = _cause(context, heat)
        if severity is not None:
            yield _finding(context, heat, severity, cause)
    yield from _account(context)


def _severity(ceiling: float) -> Severity | None:
    if ceiling > _NEAR:
        return None
    return Severity.SERIOUS if ceiling <= 1 else Severity.WARNING


def _cause(context: RuleContext, heat: TableLoad) -> _Cause | None:
    """Return the access pattern that causes most of a table's load; None if derived rows of other sets cause it."""
    accesses: list[MeasuredQuery | MeasuredWrite] = [*context.queries(), *context.writes()]
    here = [access for access in accesses if access.of.table == heat.table and waste_severity(access.measured) is None]
    if not here:
        return None
    busiest = max(here, key=lambda access: access.measured.access.busiest * _work(access) / _partitions(access))
    return _Cause(busiest.of, busiest)


def _work(access: MeasuredQuery | MeasuredWrite) -> float:
    return max(1.0, access.measured.examined + access.measured.written) / max(1.0, access.measured.partitions)


def _partitions(access: MeasuredQuery | MeasuredWrite) -> float:
    """Return the number of partitions that the calls would use if all were as busy as the busiest."""
    shape, names = access.of.shape, access.of.key.partition_fields
    if not names:
        return 1.0
    top = 1.0
    for name in names:
        top *= values_of(shape, name).share(1)
    return 1 / top


def _finding(context: RuleContext, heat: TableLoad, severity: Severity, cause: _Cause | None) -> Finding:
    if cause is None or _is_of_derived(heat, cause):
        return _index(context, heat, severity)
    declared_set = cause.of
    if heat.follows_time and not kind_of(declared_set).is_spread:
        return _prepend_append(context, heat, severity, declared_set)
    if not declared_set.key.partition_fields and not kind_of(declared_set).is_spread:
        return _one_partition(context, heat, severity, cause)
    if values_in(declared_set.shape, declared_set.key.partition_fields) <= _FEW:
        return _few_partitions(context, heat, severity, declared_set)
    return _hot_partition(context, heat, severity, cause)


def _is_of_derived(heat: TableLoad, cause: _Cause) -> bool:
    """Whether the busiest partition holds rows of an index with its own partitions."""
    hottest = heat.partitions[0].partition if heat.partitions else ""
    own = cause.of.key.partition_template.split("{")[0]
    return bool(own) and not hottest.startswith(own) and any(derived.is_eventual for derived in cause.of.derived)


def reaches(context: RuleContext, heat: TableLoad) -> str:
    """Describe the peak of a table's busiest partition, and when it exceeds the target."""
    hottest = heat.partitions[0]
    queries = [query for query in context.queries() if query.of.table == heat.table]
    is_scanned = any(waste_severity(query.measured) is not None for query in queries)
    before = "apart from scans, " if is_scanned else ""
    peak = f"{entities(hottest.peak)} a second, {of_target(1 / heat.headroom)}"
    says = f"{before}partition {hottest.partition!r} of {heat.table} handles up to {peak}"
    if heat.over_target_from is None:
        return says
    return f"{says}, and exceeds it from {time_of_day(heat.over_target_from)} on"


def cooled(heat: TableLoad) -> str:
    """Describe the peak of the busiest partition after spreading it."""
    return f"with {number(heat.buckets)} buckets, the busiest handles {entities(heat.spread_peak)} a second"


def _prepend_append(context: RuleContext, heat: TableLoad, severity: Severity, declared_set: DeclaredSet) -> Finding:
    says = (
        f"The PartitionKey {declared_set.key.partition_template} follows time, so all inserts go to one "
        "partition at a time: "
        f"{reaches(context, heat)}."
    )
    by_time = any(
        name in declared_set.shape.fields and declared_set.shape.fields[name].type == "datetime" and how != "="
        for query in context.queries_of(declared_set)
        for name, how in query.query.known.items()
    )
    if by_time and all(write.write.operation != "update" for write in context.writes_of(declared_set)):
        better = f"Write the log to blobs, which have no hot partitions, or spread it over buckets: {cooled(heat)}."
        return PREPEND_APPEND.finding(severity, declared_set.name, says, better, pattern="blob_log")
    better = (
        "Start the PartitionKey with a field that differs between simultaneous inserts, if the queries know it; "
        f"otherwise spread it over buckets: {cooled(heat)}."
    )
    return PREPEND_APPEND.finding(severity, declared_set.name, says, better)


def _one_partition(context: RuleContext, heat: TableLoad, severity: Severity, cause: _Cause) -> Finding:
    declared_set = cause.of
    says = f"All of {declared_set.name} is in one partition: {reaches(context, heat)}."
    if isinstance(cause.access, MeasuredQuery) and declared_set.shape.count <= _SMALL:
        better = f"Cache the {entities(declared_set.shape.count)} in each reader, and refresh them when they expire."
        return ONE_PARTITION.finding(severity, declared_set.name, says, better, pattern="lookup")
    fields = listed(list(declared_set.key.row_fields)) or "a field"
    better = (
        f"Use {fields}, or a part of it, as the PartitionKey, or spread the partition over buckets: {cooled(heat)}."
    )
    return ONE_PARTITION.finding(severity, declared_set.name, says, better)


def _few_partitions(context: RuleContext, heat: TableLoad, severity: Severity, declared_set: DeclaredSet) -> Finding:
    count = number(values_in(declared_set.shape, declared_set.key.partition_fields))
    says = f"The PartitionKey {declared_set.key.partition_template} has {count} values: {reaches(context, heat)}."
    better = (
        "Add a field with more values to the PartitionKey, if the queries know it; otherwise spread it over buckets: "
        f"{cooled(heat)}."
    )
    return FEW_PARTITIONS.finding(severity, declared_set.name, says, better)


def _hot_partition(context: RuleContext, heat: TableLoad, severity: Severity, cause: _Cause) -> Finding:
    declared_set, hottest = cause.of, heat.partitions[0]
    says = f"One of many partitions takes {share(hottest.share)} of the work: {reaches(context, heat)}."
    if isinstance(cause.access.measured.access, Query):
        better = f"Cache what is read most, or store copies in several partitions: {cooled(heat)}."
        return HOT_PARTITION.finding(severity, declared_set.name, says, better)
    better = (
        "Divide the busiest value over several partitions, with another field in the PartitionKey or with buckets: "
        f"{cooled(heat)}."
    )
    return HOT_PARTITION.finding(severity, declared_set.name, says, better)


def _index(context: RuleContext, heat: TableLoad, severity: Severity) -> Finding:
    says = f"Index, list or summary rows are in too few partitions: {reaches(context, heat)}."
    better = (
        "Start their PartitionKey with a field that has more values, or spread each list or "
        "total over several rows (spread)."
    )
    return HOT_INDEX.finding(severity, heat.table, says, better)


def _account(context: RuleContext) -> Iterator[Finding]:
    peak, target = max(context.account.rates, default=0.0), context.account.target
    if peak * _NEAR < target:
        return
    severity = Severity.SERIOUS if peak >= target else Severity.WARNING
    says = (
        f"All access patterns together send {number(peak)} requests a second at their peak, {of_target(peak / target)}"
    )
    most = max(
        context.measured, key=lambda measured_set: measured_set.requests * measured_set.access.busiest, default=None
    )
    part = most.requests * most.access.busiest / peak if most else 0.0
    if most is not None and part >= _MOST:
        says += f"; {most.access.name!r} of {most.of.name} sends {share(min(1.0, part))} of them"
    better = (
        "Move sets that share no transaction to other accounts, batch writes in entity group transactions, or "
        "read less."
    )
    yield ACCOUNT_TARGET.finding(severity, "account", f"{says}.", better)


_WRITERS: Final = 4
_TOGETHER: Final = 10.0
_SAVED: Final = 50.0
SINGLE_WRITES: Final = Rule(
    name="single-writes",
    finds="a few writers often write to one partition, one entity at a time",
    severity=f"a warning if {number(_SAVED)} transactions a second could be saved, otherwise a note",
    why="One transaction writes up to 100 entities of one partition, and is billed as one.",
    guide="Entity group transactions; cost considerations",
    pattern="bulk_load",
    why_not_automatic="the writes are sent by your code",
    about="write",
)


def _single_writes(context: RuleContext) -> Iterator[Finding]:
    """Yield the writes that could be batched."""
    for write in context.writes():
        yield from _single(write)


def _single(done: MeasuredWrite) -> Iterator[Finding]:
    write = done.write
    if done.measured.is_implied or write.atomic_with or write.writers > _WRITERS or write.operation == "update":
        return
    writer_rate = write.rate / write.writers * _busiest(done)
    if writer_rate < _TOGETHER:
        return
    rows = max(1.0, done.measured.written)
    at_once = min(MAX_TRANSACTION_OPERATIONS / rows, writer_rate)
    saved = write.rate * (1 - 1 / at_once)
    severity = Severity.WARNING if saved >= _SAVED else Severity.NOTE
    says = (
        f"{write.name!r} writes {often(write.rate)}, by {plural(write.writers, 'writer')}: each "
        f"sends {number(writer_rate)} transactions a second to one partition."
    )
    better = (
        f"Buffer writes for a second, and send them in entity group transactions of up to {number(at_once)} entities: "
        f"{number(saved)} fewer transactions a second."
    )
    yield SINGLE_WRITES.finding(severity, part_of(done.of.name, write.name), says, better)


def _busiest(write: MeasuredWrite) -> float:
    """Return the share of the writes that go to the busiest partition."""
    share = 1.0
    for name in write.of.key.partition_fields:
        share *= values_of(write.of.shape, name).share(1)
    buckets = write.of.settings.get("buckets", 1)
    return share / (buckets if isinstance(buckets, int) else 1)


_HARDLY: Final = 20.0
_OFTEN: Final = 5.0
CONTENTION: Final = Rule(
    name="contention",
    finds="several writers often change one row, and conflict with each other",
    severity=f"serious from {number(_HARDLY)} changes of one row a second, a warning from {number(_OFTEN)}",
    why="When many clients update one entity by its ETag, all but one of them must retry.",
    guide="Data series pattern; managing concurrency",
    pattern="summary",
)


def _contended_rows(context: RuleContext) -> Iterator[Finding]:
    """Yield the primary and derived rows that are written too often."""
    for declared_set in context.design.sets:
        for write in context.writes_of(declared_set):
            if write.write.operation == "update" and write.write.writers > 1 and not write.write.overwrite:
                yield from _entity(declared_set, write.write)
        for derived, profile in declared_set.profiles():
            if profile.is_shared:
                yield from _shared(context, declared_set, derived, profile)


def _contention_severity(rate: float) -> Severity | None:
    if rate < _OFTEN:
        return None
    return Severity.SERIOUS if rate >= _HARDLY else Severity.WARNING


def _lost(rate: float) -> str:
    """Describe how many attempts conflict."""
    return f"about {share(1 - 1 / (1 + retries_at(rate)))} of the attempts conflict and are retried"


def changes_of_busiest_entity(declared_set: DeclaredSet, write: Write) -> float:
    """Return how often a write changes the busiest entity, in changes a second."""
    return write.busiest * Zipf(max(1, declared_set.shape.count), write.skew).share(1)


def changes_of_busiest_row(declared_set: DeclaredSet, derived: Derived, writes: Iterable[Write]) -> float:
    """Return how often writes change the busiest row that entities share, in changes a second."""
    profile = declared_set.profile(derived)
    names = [name for name in profile.groups if name in declared_set.shape.fields]
    return (
        sum(write.busiest for write in writes if _changes(write, derived)) * _top(declared_set, names) / profile.spread
    )


def rows_for(rate: float) -> int:
    """Return the number of rows to spread a row over.

    :param rate: its changes per second
    """
    return max(2, round(rate / _OFTEN) + 1)


def _entity(declared_set: DeclaredSet, write: Write) -> Iterator[Finding]:
    rate = changes_of_busiest_entity(declared_set, write)
    severity = _contention_severity(rate)
    if severity is not None:
        says = (
            f"{write.name!r} changes one entity of {declared_set.name} {often(rate)}, by "
            f"{plural(write.writers, 'writer')}: {_lost(rate)}."
        )
        better = (
            "Spread a counter over several rows that readers add up, insert each change as an entity of its own, "
            "or let one worker make all changes of an entity."
        )
        yield CONTENTION.finding(severity, part_of(declared_set.name, write.name), says, better, about="write")


def _shared(
    context: RuleContext, declared_set: DeclaredSet, derived: Derived, profile: RowProfile
) -> Iterator[Finding]:
    writes = [write.write for write in context.writes_of(declared_set)]
    writers = max((write.writers for write in writes if _changes(write, derived)), default=1)
    rate = changes_of_busiest_row(declared_set, derived, writes)
    severity = _contention_severity(rate)
    if severity is None or writers < 2:
        return
    kind = profile.called.removesuffix("s")
    says = (
        f"The busiest {kind} of {derived.name!r} in {declared_set.name} changes {often(rate)}, by "
        f"{plural(writers, 'writer')}: {_lost(rate)}."
    )
    wanted = rows_for(rate * profile.spread)
    better = (
        f"Spread each {kind} over {number(wanted)} rows in another table (spread={wanted}), or read a range instead of "
        f"keeping a {kind}."
    )
    subject = part_of(declared_set.name, derived.name)
    yield CONTENTION.finding(severity, subject, says, better, pattern=profile.pattern, about="derived")


def _changes(write: Write, derived: Derived) -> bool:
    """Whether a write changes such rows; an update does if it changes a field that they depend on."""
    return write.operation != "update" or not write.changes or bool(set(write.changes) & set(derived.reads))


def _top(declared_set: DeclaredSet, names: list[str]) -> float:
    """Return the share of the changes that go to the busiest row."""
    if names_one(declared_set.shape, names):
        return 1 / max(1, declared_set.shape.count)
    share = 1.0
    for name in names:
        share *= values_of(declared_set.shape, name).share(1)
    return share


RULES: Final = (
    PREPEND_APPEND,
    ONE_PARTITION,
    FEW_PARTITIONS,
    HOT_PARTITION,
    HOT_INDEX,
    ACCOUNT_TARGET,
    SINGLE_WRITES,
    CONTENTION,
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield the partitions and rows that are too busy, and the writes that could be batched."""
    yield from _near_targets(context)
    yield from _single_writes(context)
    yield from _contended_rows(context)
