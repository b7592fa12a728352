"""Find queries that read more entities, blobs or parts than they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.cost import Cost
from tablepatterns.figures import counted, listed, number, often, size
from tablepatterns.filters import Filter, QueryClass, classify, comparisons, parse, point_keys
from tablepatterns.limits import MAX_PAGE_ENTITIES

from ..design.model import DeclaredSet, Query
from ..kinds import kind_of
from ..kinds.recipes import oldest_days
from ..plans.planner import code_of, is_shared, knows_partition, mistakes_of, new_index
from ..plans.sizes import primary_sizes
from ..result import Finding, Measured, Severity
from .context import (
    ONCE_A_DAY,
    ONCE_AN_HOUR,
    RuleContext,
    has_order,
    is_frequent_count,
    known_of,
    needed_entities,
    unindexed_fields,
    waste_severity,
)
from .rule import RULES, entities

COPY_ELSEWHERE: Final = Cost(table=2, queue=2)
"""The additional cost of an insert for a copy in another partition: the intent, its deletion, the copy, and a check."""
_INDEX_ELSEWHERE: Final = (
    "Add an index in other partitions, {code}: a point or range query reads it, and it is eventually consistent. It "
    "takes {size}, and each write{written} at least {cost}."
)
_LISTS: Final = "Lists of the entities with a value (IndexEntity) take less space, but each entity is read separately."
_JOB: Final = "This may be right for a batch job: an index would be written with every change."
_NEWEST_FIRST: Final = (
    "Use inverted ticks in the RowKey, {{{field}:inverted}}, so that the newest are read first, and no others."
)
_HIGHEST_FIRST: Final = (
    "Store a number that falls as {field} rises, such as 999999999 - {field}, and begin the RowKey of the entities, or "
    "of an index, with it: the highest {field} is then read first."
)
_HOURLY: Final = 7
"""The days for which tables of an hour are not too many."""
_BLOBS: Final = 0.5
_SEVERAL_PARTS: Final = 4.0
_COLD: Final = 0.25
_SEVERAL_RESULTS: Final = 5.0
_ABOUT: Final = 2.0
_LITTLE: Final = 1.0


def find_problems(context: RuleContext) -> Iterator[Finding]:
    needless_spreads = [
        finding for declared_set in context.design.sets for finding in _find_needless_spread(context, declared_set)
    ]
    yield from needless_spreads
    spread_sets = {finding.subject for finding in needless_spreads}
    for query in context.queries:
        severity = None if _is_served(query) else waste_severity(query)
        if severity is None and _is_sorted_by_caller(query):
            severity = Severity.NOTE
        if severity is not None:
            yield _scan_finding(context, query, severity)
        elif query.of.name not in spread_sets:
            # Another key or index changes which parts are asked
            yield from _find_asked_parts(query)
        yield from _find_needless_blobs(query)
        yield from _find_joins(context, query)


def _is_served(query: Measured[Query]) -> bool:
    """Whether keys answer the query in its order, so that additional reads are the cost of a list or of buckets."""
    is_mistaken = query.access.filter is not None and mistakes_of(query.of, query.access.filter)
    if is_frequent_count(query.access) or is_mistaken or "contains" in query.access.known.values():
        # Frequent counts, text search and mistaken filters have rules of their own
        return True
    by_list = query.derived is not None and query.of.profile(query.derived).finder == "find_all"
    by_key = knows_partition(query.of, query.access) and has_order(query) and not unindexed_fields(query)
    return by_list or (query.access.filter is None and by_key)


def _is_sorted_by_caller(query: Measured[Query]) -> bool:
    """Whether an entity more than needed is read, since no key has the order; how many there are grows with the set."""
    take, is_read = query.access.take, query.access.filter is None and query.access.rate >= ONCE_A_DAY
    return take is not None and is_read and not has_order(query) and query.examined >= take + query.access.skip + 1


def _reads(query: Measured[Query]) -> str:
    label = "is" if query.query_class is None else f"is a {query.query_class.label},"
    rows = f"{entities(query.examined)} and needs {number(needed_entities(query))}"
    return (
        f"{query.access.name!r} of {query.of.name} {label} called {often(query.access.busiest)}: each call reads {rows}"
    )


def _scan_finding(context: RuleContext, query: Measured[Query], severity: Severity) -> Finding:
    text, words = query.access.filter, {"reads": _reads(query)}
    if text is not None and " or " in text and (queries := _queries_instead(parse(text))):
        return RULES["or-of-keys"].finding(severity, query, queries=queries, **words)
    fields = unindexed_fields(query)
    encrypted = [name for name in fields if name in query.of.encrypted()]
    if encrypted:
        words["properties"] = listed(encrypted)
        severity = max(severity, Severity.WARNING)
        return RULES["encrypted-filter"].finding(severity, query, fields=encrypted, **words)
    if query.access.take is not None and not has_order(query) and not fields:
        return _client_sort(query, severity)
    if _is_span_of_log(context, query):
        words["tables"] = _in_tables(query.of)
        return RULES["log-data"].finding(severity, query, **words)
    is_job = query.access.rate < ONCE_AN_HOUR
    index = None if is_job or not fields else new_index(query.of, query.access)
    if index is None:
        rule = RULES["table-scan"] if query.query_class is QueryClass.TABLE_SCAN else RULES["partition-scan"]
        reason = f"; {classify(parse(text)).reason}" if text else ""
        job_advice, job_pattern = (_JOB if is_job else None), ("parallel_reads" if is_job else None)
        return rule.finding(severity, query, better=job_advice, pattern=job_pattern, reason=reason, **words)
    copies = size(primary_sizes(query.of).row * query.of.shape.count)
    words |= {"properties": listed(fields), "code": code_of(index), "size": copies}
    better = pattern = None
    equal = [name for name in fields if known_of(query)[name] == "="]
    if index.is_eventual:
        rate = sum(write.access.rate for write in context.writes_of(query.of))
        written = f" ({often(rate)})" if rate else ""
        better = _INDEX_ELSEWHERE.format(written=written, cost=COPY_ELSEWHERE, **words)
        pattern = "inter_partition_index"
    elif equal and is_shared(query.of, equal):
        better = f"{RULES['missing-index'].better.format_map(words)} {_LISTS}"
    return RULES["missing-index"].finding(severity, query, better=better, pattern=pattern, fields=fields, **words)


def _queries_instead(expression: Filter) -> str:
    """Return which queries find the same as a filter of keys joined by `or`; empty for other filters."""
    keys = point_keys(expression)
    if keys:
        results = counted(len(keys), "entity")
        return f"{counted(len(keys), 'point query')} in parallel (get_many), which read at most {results}"
    equal = (term for term in comparisons(expression) if (term.name, term.operator) == ("PartitionKey", "eq"))
    partitions = {term.value for term in equal}
    return f"{counted(len(partitions), 'query')}, one for each PartitionKey, in parallel" if len(partitions) > 1 else ""


def _client_sort(query: Measured[Query], severity: Severity) -> Finding:
    order, fields = query.access.order or "", query.of.shape.fields
    field = order.removeprefix("-")
    words = {"reads": _reads(query), "field": field}
    kind = fields[field].type if field in fields else "datetime"
    if order.startswith("-") and kind == "datetime" and knows_partition(query.of, query.access):
        better = _NEWEST_FIRST.format(field=field)
        return RULES["client-sort"].finding(severity, query, better=better, pattern="log_tail", **words)
    if order.startswith("-") and kind in ("int32", "int64"):
        return RULES["client-sort"].finding(severity, query, better=_HIGHEST_FIRST.format(field=field), **words)
    return RULES["client-sort"].finding(severity, query, **words)


def _in_tables(declared_set: DeclaredSet) -> str:
    """Return how tables for periods would shorten the scan of a log."""
    if kind_of(declared_set).period_days(declared_set) is not None:
        return "query one partition at a time"
    days = oldest_days(declared_set)
    period, length = ("hour", 1 / 24) if days <= _HOURLY else ("day", 1.0)
    scanned = entities(declared_set.shape.count * length / days)
    return f"use one for each {period} (PeriodTables): the span then scans {scanned}"


def _is_span_of_log(context: RuleContext, query: Measured[Query]) -> bool:
    """Whether the query searches entities by nothing but time that are inserted and never updated."""
    fields = query.of.shape.fields
    is_by_time = any(name in fields and fields[name].type == "datetime" for name in known_of(query))
    is_by_time = is_by_time and "=" not in known_of(query).values()
    writes = [write.access for write in context.writes_of(query.of)]
    added_only = bool(writes) and all(write.operation != "update" for write in writes)
    return is_by_time and added_only and query.query_class is QueryClass.TABLE_SCAN


def _find_needless_blobs(query: Measured[Query]) -> Iterator[Finding]:
    large, select = sorted(set(query.of.in_blobs())), query.access.select
    # Each result takes one transaction more than the table query, for its blob
    if not large or query.transactions - 1 < _BLOBS * query.returned or not set(large).isdisjoint(select):
        return
    rate, rule = query.returned * query.access.busiest, RULES["blob-with-every-read"]
    words = {"large": listed(large), "reads": number(rate)}
    if select:
        severity = rule.severity_of(rate) or Severity.NOTE
        yield rule.finding(severity, query, fields=large, selected=listed(select, most=3), **words)
    elif query.returned >= _SEVERAL_RESULTS and rate >= rule.figures["lists"]:
        says = (
            f"{query.access.name!r} reads {listed(large)} from a blob for each of {entities(query.returned)}: "
            f"{number(rate)} blobs a second."
        )
        better = (
            "Declare, and select, only the properties that the list needs; read the blob of the one that is opened."
        )
        yield rule.finding(Severity.WARNING, query, says, better, fields=large)


def _find_asked_parts(query: Measured[Query]) -> Iterator[Finding]:
    kind, requests = kind_of(query.of), query.requests
    more = (requests - 1) * query.access.busiest
    severity = RULES["asks-every-part"].severity_of(more)
    if kind.parts and requests >= _SEVERAL_PARTS and severity is not None:
        words = {"requests": number(requests), "parts": kind.parts, "rate": often(query.access.busiest)}
        better = kind.advice_on_parts(query.of)
        yield RULES["asks-every-part"].finding(severity, query, better=better, more=number(more), **words)


def _find_needless_spread(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    buckets = declared_set.settings.get("buckets")
    if not kind_of(declared_set).is_spread or not isinstance(buckets, int) or buckets < 2:
        return
    for heat in context.heats:
        busiest = heat.partitions[0].peak * buckets if heat.table == declared_set.table and heat.partitions else None
        if busiest is not None and busiest < _COLD * heat.target:
            more = sum((query.requests - 1) * query.access.busiest for query in context.queries_of(declared_set))
            severity = RULES["needless-spread"].severity_of(more) or Severity.NOTE
            words = {"buckets": number(buckets), "busiest": number(busiest), "target": number(heat.target)}
            yield RULES["needless-spread"].finding(severity, declared_set, more=number(more), **words)


def _find_joins(context: RuleContext, one: Measured[Query]) -> Iterator[Finding]:
    """Yield a point query that is called once for each result of another query."""
    followed = [many for many in context.queries if _is_followed_by(many, one)]
    # If results of several queries may be followed, which of them is not known
    if not followed or any(needed_entities(many) < _SEVERAL_RESULTS for many in followed) or one.access.rate < _LITTLE:
        return
    many = followed[0]
    changes = sum(write.access.rate for write in context.writes_of(one.of))
    updates = f"it changes {often(changes)}, and each change updates the copies"
    words = {
        "query": repr(many.access.name),
        "returned": number(needed_entities(many)),
        "many": many.of.name,
        "rate": often(many.access.rate),
        "calls": often(one.access.rate),
        "updates": updates if changes else "it never changes",
    }
    severity = RULES["join-one-by-one"].severity_of(one.access.busiest) or Severity.NOTE
    better = pattern = None
    if one.of.shape.count <= MAX_PAGE_ENTITIES and changes < 1:
        better = f"Cache the {entities(one.of.shape.count)} of {one.of.name} in each reader: they rarely change."
        pattern = "lookup"
    yield RULES["join-one-by-one"].finding(severity, one, better=better, pattern=pattern, **words)


def _is_followed_by(many: Measured[Query], one: Measured[Query]) -> bool:
    """Whether a point query reads an entity that each result of another query refers to, about once per result."""
    if many.of.name == one.of.name or one.query_class is not QueryClass.POINT:
        return False
    equal = [name for name, how in known_of(one).items() if how == "="]
    named = all(name in many.of.shape.fields and name not in many.access.known for name in equal)
    # With copies of its texts, results need no other read
    copies = many.of.shape.fields.keys() & one.of.shape.fields.keys() - {*one.of.key.fields, *equal}
    if any(one.of.shape.fields[name].type == "string" for name in copies):
        return False
    # Reads that follow a query have its curve, too
    rates = ((many.access.rate, one.access.rate), (many.access.busiest, one.access.busiest))
    results = [(needed_entities(many) * rate, calls) for rate, calls in rates]
    near = all(returned / _ABOUT <= calls <= returned * _ABOUT for returned, calls in results)
    return bool(equal) and named and needed_entities(many) > 1 and near
