"""Scans: queries that read much more than they return, and how each would read less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...cost import Cost
from ...figures import counted, number, often
from ...filters import QueryClass, classify, parse, point_keys
from ...recipes.index_entities import IndexEntity
from ..model import Finding
from . import waste
from .asked import in_order, partition_known, terms_of, unindexed
from .known import Asked, Known
from .rule import Rule
from .suggested import copies_take, index_elsewhere, index_here, is_shared
from .words import entities, listed, part_of

COPY_ELSEWHERE: Final = Cost(table=2, queue=2)
"""What an insert costs more for its copy in another partition: the intent and its end, the copy, a look."""
MISSING_INDEX: Final = Rule(
    name="missing-index",
    finds="a query searches for a property that no key holds, and an index would find it",
    severity=waste.LEVELS,
    why="Only PartitionKey and RowKey are indexed: for anything else the partition, or the whole table, is searched.",
    guide="Designing for querying; optimizing queries",
    pattern="intra_partition_index",
)
TABLE_SCAN: Final = Rule(
    name="table-scan",
    finds="a query searches every partition, and no index would help it as it is asked",
    severity=waste.LEVELS,
    why="Without PartitionKey every partition is searched, whether or not RowKey is in the filter.",
    guide="Designing for querying",
)
PARTITION_SCAN: Final = Rule(
    name="partition-scan",
    finds="a query searches a partition, and no index would help it as it is asked",
    severity=waste.LEVELS,
    why="Only the keys are indexed: without a range of RowKeys every entity of the partition is examined.",
    guide="Designing for querying",
)
OR_OF_KEYS: Final = Rule(
    name="or-of-keys",
    finds="several keys are asked for in one filter, joined by 'or'",
    severity=waste.LEVELS,
    why="RowKeys joined by 'or' are not treated as a range: they cause a partition scan.",
    guide="Designing for querying (the rule on 'or')",
    pattern="parallel_reads",
)
CLIENT_SORT: Final = Rule(
    name="client-sort",
    finds="a few results of an order are wanted that the keys do not have, so that all are read and sorted",
    severity=waste.LEVELS,
    why="Results come in the order of PartitionKey and RowKey, and in no other.",
    guide="Sorting data in the Table service",
    pattern="intra_partition_index",
)
LOG_DATA: Final = Rule(
    name="log-data",
    finds="a log in a table is read by spans of time, and searched for them in every partition",
    severity=waste.LEVELS,
    why="A key of time makes a hot partition, and any other makes a span of time a search of every partition.",
    guide="Log data anti-pattern",
    pattern="blob_log",
)
RULES: Final = (MISSING_INDEX, TABLE_SCAN, PARTITION_SCAN, OR_OF_KEYS, CLIENT_SORT, LOG_DATA)


@dataclass(frozen=True)
class _Advice:
    """What is wrong with a query, and what to do instead."""

    rule: Rule
    says: str
    better: str
    pattern: str | None = None


def found(known: Known) -> Iterator[Finding]:
    """Hand out one finding for each query that reads much in vain."""
    for asked in known.queries():
        severity = None if _is_served(asked) else waste.severity_of(asked.measured)
        if severity is not None:
            advice = _advice(known, asked)
            subject = part_of(asked.of.name, asked.query.name)
            yield advice.rule.finding(severity, subject, advice.says, advice.better, pattern=advice.pattern)


def _advice(known: Known, asked: Asked) -> _Advice:
    if _is_or_of_keys(asked):
        return _or_of_keys(asked)
    if asked.query.take is not None and not in_order(asked) and not unindexed(asked):
        return _client_sort(asked)
    if _is_span_of_log(known, asked):
        return _log_data(asked)
    is_job = asked.query.rate < waste.ONCE_AN_HOUR
    return _scan(asked) if is_job or not _can_be_indexed(asked) else _missing_index(known, asked)


def _is_served(asked: Asked) -> bool:
    """Whether keys lead to the results in their order: what is read more is the price of a list, or of buckets."""
    by_list = isinstance(asked.via, IndexEntity)
    return by_list or (
        asked.query.filter is None and partition_known(asked) and in_order(asked) and not unindexed(asked)
    )


def reads(asked: Asked) -> str:
    """Say what a query reads, for what, and how often."""
    measured = asked.measured
    label = "reads" if measured.query_class is None else f"is a {measured.query_class.label}: it reads"
    found = f"{entities(measured.examined)} for {number(waste.wanted(measured))}"
    return f"{asked.query.name!r} of {asked.of.name} {label} {found}, {often(asked.query.busiest)}"


def _is_or_of_keys(asked: Asked) -> bool:
    text = asked.query.filter
    return text is not None and " or " in text and bool(point_keys(parse(text)))


def _or_of_keys(asked: Asked) -> _Advice:
    keys = point_keys(parse(asked.query.filter or "")) or []
    better = (
        f"Ask {counted(len(keys), 'point query')}, together (get_many): {counted(len(keys), 'entity')} read at most."
    )
    return _Advice(OR_OF_KEYS, f"{reads(asked)}; its keys are joined by 'or'.", better)


def _client_sort(asked: Asked) -> _Advice:
    order = asked.query.order or ""
    field = order.removeprefix("-")
    kind = asked.of.shape.fields[field].type if field in asked.of.shape.fields else "datetime"
    newest = order.startswith("-") and kind == "datetime"
    says = f"{reads(asked)}; its first {asked.query.take} by {field} are found by sorting them in the client."
    if newest and partition_known(asked):
        better = (
            f"Count time backwards in the RowKey, {{{field}:inverted}}: the newest are then read first, and no others."
        )
        return _Advice(CLIENT_SORT, says, better, "log_tail")
    better = f"Keep copies whose RowKey begins with {field}; the first {asked.query.take} are then a range."
    return _Advice(CLIENT_SORT, says, better)


def _is_span_of_log(known: Known, asked: Asked) -> bool:
    """Whether entities that are added and never changed are searched for by time."""
    fields = asked.of.shape.fields
    ranged = terms_of(asked.query, asked.of.key).ranged
    by_time = any(name in fields and fields[name].type == "datetime" for name in ranged)
    writes = [each.write for each in known.writes_of(asked.of)]
    added_only = bool(writes) and all(each.deed != "update" for each in writes)
    return by_time and added_only and asked.measured.query_class is QueryClass.TABLE_SCAN


def _log_data(asked: Asked) -> _Advice:
    better = (
        "Keep the log in blobs of an hour each, which are found by their names; or, where the table must stay, ask for "
        "one partition at a time."
    )
    return _Advice(LOG_DATA, f"{reads(asked)}; no partition is known, so a span of time is in all of them.", better)


def _can_be_indexed(asked: Asked) -> bool:
    """Whether rows under another key would be found: by a value, or in a known partition by a range."""
    terms = terms_of(asked.query, asked.of.key)
    left = unindexed(asked)
    return any(name in terms.equal for name in left) or (partition_known(asked) and bool(left))


def _missing_index(known: Known, asked: Asked) -> _Advice:
    terms = terms_of(asked.query, asked.of.key)
    left = unindexed(asked)
    equal = [name for name in terms.equal if name in left]
    says = f"{reads(asked)}; it searches for {listed(left)}, which no key holds in a place where it helps."
    chosen = equal or left
    if partition_known(asked):
        code = index_here(asked.of, chosen)
        better = (
            f"Keep copies in the same partition, {code}: they change with the entity, and one range finds them. "
            f"They take {copies_take(asked.of)} more, and no transaction."
        )
        if equal and is_shared(asked.of, equal):
            better = f"{better} Lists of those that share a value (IndexEntity) take less room, and a read of each."
        return _Advice(MISSING_INDEX, says, better)
    code = index_elsewhere(asked.of, chosen)
    written = sum(each.write.rate for each in known.writes_of(asked.of))
    better = (
        f"Keep copies in partitions of their own, {code}: a point or range query finds them, a moment late. They take "
        f"{copies_take(asked.of)} more, and each write that they follow at least {COPY_ELSEWHERE}: {often(written)}."
    )
    return _Advice(MISSING_INDEX, says, better, "inter_partition_index")


def _scan(asked: Asked) -> _Advice:
    is_table = asked.measured.query_class is QueryClass.TABLE_SCAN
    says = f"{reads(asked)}{_reason(asked)}."
    if asked.query.rate < waste.ONCE_AN_HOUR:
        rule = TABLE_SCAN if is_table else PARTITION_SCAN
        better = "For a job that nobody waits for this may be right: an index would be written with every change."
        return _Advice(rule, says, better, "parallel_reads")
    if is_table:
        better = "Ask for one partition at a time, or keep what is wanted under keys that the question can name."
        return _Advice(TABLE_SCAN, says, better, "inter_partition_index")
    better = (
        "Ask for what is wanted by equal values, and keep it under keys of its own: a list or an index of only those."
    )
    return _Advice(PARTITION_SCAN, says, better, "index_entities")


def _reason(asked: Asked) -> str:
    return f"; {classify(parse(asked.query.filter)).reason}" if asked.query.filter else ""
