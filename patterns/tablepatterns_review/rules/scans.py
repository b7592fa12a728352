"""Find queries that read more entities, blobs or parts than they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tablepatterns.cost import Cost
from tablepatterns.figures import counted, number, often
from tablepatterns.filters import QueryClass, classify, parse, point_keys
from tablepatterns.limits import ACCOUNT_TRANSACTIONS_PER_SECOND
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex

from ..design.model import DeclaredSet
from ..kinds import kind_of
from ..model import Finding, Severity
from ..planner import code_of, is_shared, new_index
from .context import (
    ONCE_AN_HOUR,
    WASTE_LEVELS,
    MeasuredQuery,
    RuleContext,
    in_order,
    partition_known,
    unindexed,
    wanted,
    waste_severity,
)
from .indexes import copies_take
from .rule import Rule, entities, listed, part_of

COPY_ELSEWHERE: Final = Cost(table=2, queue=2)
"""The additional cost of an insert for a copy in another partition: the intent, its deletion, the copy, and a check."""
MISSING_INDEX: Final = Rule(
    name="missing-index",
    finds="a query filters on a property that is in no key, and an index would help",
    severity=WASTE_LEVELS,
    why="Only PartitionKey and RowKey are indexed: a filter on anything else scans the partition, or the whole table.",
    guide="Designing for querying; optimizing queries",
    pattern="intra_partition_index",
    about="query",
)
TABLE_SCAN: Final = Rule(
    name="table-scan",
    finds="a query scans every partition, and no index would help",
    severity=WASTE_LEVELS,
    why="Without PartitionKey, every partition is scanned, whether or not RowKey is in the filter.",
    guide="Designing for querying",
    why_not_automatic="the key must change with what callers know, or the query be accepted",
    about="query",
)
PARTITION_SCAN: Final = Rule(
    name="partition-scan",
    finds="a query scans a partition, and no index would help",
    severity=WASTE_LEVELS,
    why="Only the keys are indexed: without a range of RowKeys, every entity of the partition is examined.",
    guide="Designing for querying",
    why_not_automatic="the filter must be expressed as equal values, which a file cannot decide",
    about="query",
)
OR_OF_KEYS: Final = Rule(
    name="or-of-keys",
    finds="one filter asks for several keys, joined by 'or'",
    severity=WASTE_LEVELS,
    why="RowKeys joined by 'or' are not treated as a range: they cause a partition scan.",
    guide="Designing for querying (the rule on 'or')",
    pattern="parallel_reads",
    why_not_automatic="the queries are sent by your code",
    about="query",
)
CLIENT_SORT: Final = Rule(
    name="client-sort",
    finds="a query wants the first few results in an order that no key has, so all are read and sorted by the client",
    severity=WASTE_LEVELS,
    why="Results are sorted by PartitionKey and RowKey, and cannot be sorted otherwise.",
    guide="Sorting data in the Table service",
    pattern="intra_partition_index",
    about="query",
)
LOG_DATA: Final = Rule(
    name="log-data",
    finds="a log in a table is queried by time span, which scans every partition",
    severity=WASTE_LEVELS,
    why="A key made of time makes a hot partition, and with any other key a time span is a table scan.",
    guide="Log data anti-pattern",
    pattern="blob_log",
    why_not_automatic="a blob log is only appended to, and read by time span; this set is used in other ways"
    " or its writes are not declared",
    about="query",
)


@dataclass(frozen=True)
class _Advice:
    """The finding about a query: its rule, the problem, and what to do instead."""

    rule: Rule
    says: str
    better: str
    pattern: str | None = None
    fields: tuple[str, ...] = ()


def _scans(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each query that reads many entities it does not return."""
    for query in context.queries():
        severity = None if _is_served(query) else waste_severity(query.measured)
        if severity is not None:
            advice = _advice(context, query)
            subject = part_of(query.of.name, query.query.name)
            yield advice.rule.finding(
                severity, subject, advice.says, advice.better, pattern=advice.pattern, fields=advice.fields
            )


def _advice(context: RuleContext, query: MeasuredQuery) -> _Advice:
    if _is_or_of_keys(query):
        return _or_of_keys(query)
    if query.query.take is not None and not in_order(query) and not unindexed(query):
        return _client_sort(query)
    if _is_span_of_log(context, query):
        return _log_data(query)
    is_job = query.query.rate < ONCE_AN_HOUR
    index = None if is_job or not unindexed(query) else new_index(query.of, query.query)
    return _scan(query) if index is None else _missing_index(context, query, index)


def _is_served(query: MeasuredQuery) -> bool:
    """Whether keys answer the query in its order, so that additional reads are the cost of a list or of buckets."""
    if "contains" in query.query.known.values():
        # Text search has a rule of its own
        return True
    if query.query.count_only and query.query.rate >= ONCE_AN_HOUR:
        # Frequent counts have a rule of their own: a stored count needs no index
        return True
    by_list = query.via is not None and query.of.profile(query.via).finder == "find_all"
    return by_list or (
        query.query.filter is None and partition_known(query) and in_order(query) and not unindexed(query)
    )


def reads(query: MeasuredQuery) -> str:
    """Describe how many entities a query reads and returns, and how often."""
    measured_set = query.measured
    label = "reads" if measured_set.query_class is None else f"is a {measured_set.query_class.label}: it reads"
    found = f"{entities(measured_set.examined)} to return {number(wanted(measured_set))}"
    return f"{query.query.name!r} of {query.of.name} {label} {found}, {often(query.query.busiest)}"


def _is_or_of_keys(query: MeasuredQuery) -> bool:
    text = query.query.filter
    return text is not None and " or " in text and bool(point_keys(parse(text)))


def _or_of_keys(query: MeasuredQuery) -> _Advice:
    keys = point_keys(parse(query.query.filter or "")) or []
    better = (
        f"Send {counted(len(keys), 'point query')} in parallel (get_many), which read at most "
        f"{counted(len(keys), 'entity')}."
    )
    return _Advice(OR_OF_KEYS, f"{reads(query)}; its keys are joined by 'or'.", better)


def _client_sort(query: MeasuredQuery) -> _Advice:
    order = query.query.order or ""
    field = order.removeprefix("-")
    kind = query.of.shape.fields[field].type if field in query.of.shape.fields else "datetime"
    newest = order.startswith("-") and kind == "datetime"
    says = f"{reads(query)}; its first {query.query.take} by {field} are found by sorting in the client."
    if newest and partition_known(query):
        better = (
            f"Use inverted ticks in the RowKey, {{{field}:inverted}}, so that the newest are read first, and no others."
        )
        return _Advice(CLIENT_SORT, says, better, "log_tail")
    better = f"Add an index whose RowKey starts with {field}, so that the first {query.query.take} are a range."
    return _Advice(CLIENT_SORT, says, better)


def _is_span_of_log(context: RuleContext, query: MeasuredQuery) -> bool:
    """Whether the query searches entities by time that are inserted and never updated."""
    fields = query.of.shape.fields
    ranged = [name for name, how in query.known.items() if how != "="]
    by_time = any(name in fields and fields[name].type == "datetime" for name in ranged)
    writes = [write.write for write in context.writes_of(query.of)]
    added_only = bool(writes) and all(write.operation != "update" for write in writes)
    return by_time and added_only and query.measured.query_class is QueryClass.TABLE_SCAN


def _log_data(query: MeasuredQuery) -> _Advice:
    better = (
        "Write the log to one blob per hour, found by name; or, if it must stay in a table, query one partition at a "
        "time."
    )
    return _Advice(LOG_DATA, f"{reads(query)}; it does not know the partition, so it searches all of them.", better)


def _missing_index(
    context: RuleContext, query: MeasuredQuery, index: IntraPartitionIndex | InterPartitionIndex
) -> _Advice:
    fields = tuple(unindexed(query))
    says = f"{reads(query)}; it filters on {listed(fields)}, which no key can answer."
    if not index.is_eventual:
        better = (
            f"Add an index in the same partition, {code_of(index)}: it changes with the entity, and one range query "
            f"reads it. It takes {copies_take(query.of)}, and no extra transactions."
        )
        equal = [name for name in fields if query.known[name] == "="]
        if equal and is_shared(query.of, equal):
            better += (
                " Lists of the entities with a value (IndexEntity) take less space, but each entity is read separately."
            )
        return _Advice(MISSING_INDEX, says, better, fields=fields)
    written = sum(write.write.rate for write in context.writes_of(query.of))
    rate = f" ({often(written)})" if written else ""
    better = (
        f"Add an index in other partitions, {code_of(index)}: a point or range query reads it, and it is eventually "
        f"consistent. It takes {copies_take(query.of)}, and each write{rate} at least {COPY_ELSEWHERE}."
    )
    return _Advice(MISSING_INDEX, says, better, "inter_partition_index", fields)


def _scan(query: MeasuredQuery) -> _Advice:
    is_table = query.measured.query_class is QueryClass.TABLE_SCAN
    says = f"{reads(query)}{_reason(query)}."
    if query.query.rate < ONCE_AN_HOUR:
        rule = TABLE_SCAN if is_table else PARTITION_SCAN
        better = "This may be right for a batch job: an index would be written with every change."
        return _Advice(rule, says, better, "parallel_reads")
    if is_table:
        better = "Query one partition at a time, or store the data under keys that the query knows."
        return _Advice(TABLE_SCAN, says, better, "inter_partition_index")
    better = "Query by equal values, and keep a list or an index of only the entities that this query needs."
    return _Advice(PARTITION_SCAN, says, better, "index_entities")


def _reason(query: MeasuredQuery) -> str:
    return f"; {classify(parse(query.query.filter)).reason}" if query.query.filter else ""


_READS: Final = 10.0
_BLOBS: Final = 0.5
BLOB_WITH_EVERY_READ: Final = Rule(
    name="blob-with-every-read",
    finds="a query reads large values from blobs although it does not need them",
    severity=f"a warning from {number(_READS)} such reads a second, otherwise a note",
    why="A complete entity costs one transaction for the entity and one for the blob: read only what you need.",
    guide="Large entities pattern; one-to-one relationships (large entities)",
    pattern="one_to_one",
    why_not_automatic="the large values must move into a set of their own",
    about="query",
)


def _unwanted_blobs(context: RuleContext) -> Iterator[Finding]:
    """Yield the queries that read blobs they do not need."""
    for query in context.queries():
        large = set(query.of.in_blobs())
        unwanted = bool(query.query.select) and not large.intersection(query.query.select)
        # Each result takes one transaction more than the table query, for its blob
        blobs = query.measured.transactions - 1 >= _BLOBS * query.measured.returned
        if large and unwanted and blobs:
            yield _blob_finding(query, sorted(large))


def _blob_finding(query: MeasuredQuery, large: list[str]) -> Finding:
    reads = query.measured.returned * query.query.busiest
    severity = Severity.WARNING if reads >= _READS else Severity.NOTE
    wanted = listed(list(query.query.select), most=3)
    says = (
        f"{query.query.name!r} needs {wanted}, but reads {listed(large)} from a blob for each of {query.of.name}: "
        f"{number(reads)} needless reads a second."
    )
    better = f"Store {listed(large)} in a separate entity in the same partition (OneToOne), and read it when needed."
    subject = part_of(query.of.name, query.query.name)
    return BLOB_WITH_EVERY_READ.finding(severity, subject, says, better, fields=large)


_SEVERAL_PARTS: Final = 4.0
_NOTICEABLE: Final = 0.005 * ACCOUNT_TRANSACTIONS_PER_SECOND
_MANY: Final = 0.05 * ACCOUNT_TRANSACTIONS_PER_SECOND
_COLD: Final = 0.25
ASKS_EVERY_PART: Final = Rule(
    name="asks-every-part",
    finds="a query is sent to many period tables or buckets, because it does not know which",
    severity=f"a warning from {number(_MANY)} extra requests a second, a note from {number(_NOTICEABLE)}",
    why=(
        "Splitting data over tables or partitions makes it harder to find single entities, relate "
        "them and aggregate them."
    ),
    guide="High volume delete pattern; prepend/append anti-pattern (issues and considerations)",
    about="query",
)
NEEDLESS_SPREAD: Final = Rule(
    name="needless-spread",
    finds="a partition is spread over buckets although one bucket would be enough",
    severity="a note",
    why="Each bucket is one more request for every read of the partition.",
    guide="Prepend/append anti-pattern (issues and considerations)",
    pattern="log_tail",
)


def _many_parts(context: RuleContext) -> Iterator[Finding]:
    """Yield the queries that are sent to many tables or buckets, and the sets with more buckets than they need."""
    for query in context.queries():
        yield from _asks(query)
    for declared_set in context.design.sets:
        yield from _needless(context, declared_set)


def _asks(query: MeasuredQuery) -> Iterator[Finding]:
    parts, requests = kind_of(query.of).parts, query.measured.requests
    more = (requests - 1) * query.query.busiest
    if not parts or requests < _SEVERAL_PARTS or more < _NOTICEABLE:
        return
    severity = Severity.WARNING if more >= _MANY else Severity.NOTE
    says = (
        f"{query.query.name!r} of {query.of.name} sends {number(requests)} requests to many {parts}, "
        f"{often(query.query.busiest)}: {number(more)} extra requests a second."
    )
    yield ASKS_EVERY_PART.finding(
        severity, part_of(query.of.name, query.query.name), says, kind_of(query.of).advice_on_parts(query.of)
    )


def _needless(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    buckets = declared_set.settings.get("buckets")
    if not kind_of(declared_set).is_spread or not isinstance(buckets, int) or buckets < 2:
        return
    for heat in context.heats:
        if (
            heat.table == declared_set.table
            and heat.partitions
            and heat.partitions[0].peak * buckets < _COLD * heat.target
        ):
            says = (
                f"{declared_set.name} is spread over {number(buckets)} buckets; without them, the busiest "
                "partition would "
                f"handle {number(heat.partitions[0].peak * buckets)} of {number(heat.target)} entities a second."
            )
            better = "Use a single partition, which one request reads, until the rates are ten times as high."
            yield NEEDLESS_SPREAD.finding(Severity.NOTE, declared_set.name, says, better)


_SEVERAL_RESULTS: Final = 5.0
_ABOUT: Final = 2.0
_BUSY: Final = 100.0
_LITTLE: Final = 1.0
_SMALL: Final = 1000
JOIN_ONE_BY_ONE: Final = Rule(
    name="join-one-by-one",
    finds="each result of a query is followed by a point query for a related entity",
    severity=f"a warning from {number(_BUSY)} such reads a second, otherwise a note",
    why="Copies of related data in the same entity save the requests that fetch it, and those are what is paid for.",
    guide="Denormalization pattern; join in the client",
    pattern="denormalize",
    why_not_automatic="the fields that hold the copies must be declared",
    about="query",
)


def _joins(context: RuleContext) -> Iterator[Finding]:
    """Yield the point queries that are called once for each result of another query."""
    for one in context.queries():
        named = next((many for many in context.queries() if _is_followed_by(many, one)), None)
        if named is not None and one.query.rate >= _LITTLE:
            yield _joined(context, named, one)


def _is_followed_by(many: MeasuredQuery, one: MeasuredQuery) -> bool:
    """Whether a point query reads an entity that each result of another query refers to, about once per result."""
    if many.of.name == one.of.name or one.measured.query_class is not QueryClass.POINT:
        return False
    equal = [name for name, how in one.known.items() if how == "="]
    named = all(name in many.of.shape.fields and name not in many.query.known for name in equal)
    results = many.measured.returned * many.query.rate
    near = results / _ABOUT <= one.query.rate <= results * _ABOUT
    return bool(equal) and named and many.measured.returned >= _SEVERAL_RESULTS and near


def _joined(context: RuleContext, many: MeasuredQuery, one: MeasuredQuery) -> Finding:
    says = (
        f"{many.query.name!r} returns {number(many.measured.returned)} of {many.of.name}, "
        f"{often(many.query.rate)}, and "
        f"{one.query.name!r} is called {often(one.query.rate)}: each result is followed by a read of {one.of.name}."
    )
    subject = part_of(one.of.name, one.query.name)
    severity = Severity.WARNING if one.query.busiest >= _BUSY else Severity.NOTE
    changes = sum(write.write.rate for write in context.writes_of(one.of))
    if one.of.shape.count <= _SMALL and changes < 1:
        better = f"Cache the {entities(one.of.shape.count)} of {one.of.name} in each reader: they rarely change."
        return JOIN_ONE_BY_ONE.finding(severity, subject, says, better, pattern="lookup")
    updates = f"it changes {often(changes)}, and each change updates the copies" if changes else "it never changes"
    better = f"Copy the properties of {one.of.name} that are shown into {many.of.name} (CopiedFields): {updates}."
    return JOIN_ONE_BY_ONE.finding(severity, subject, says, better)


RULES: Final = (
    MISSING_INDEX,
    TABLE_SCAN,
    PARTITION_SCAN,
    OR_OF_KEYS,
    CLIENT_SORT,
    LOG_DATA,
    BLOB_WITH_EVERY_READ,
    ASKS_EVERY_PART,
    NEEDLESS_SPREAD,
    JOIN_ONE_BY_ONE,
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield the queries that read more than they need."""
    yield from _scans(context)
    yield from _unwanted_blobs(context)
    yield from _many_parts(context)
    yield from _joins(context)
