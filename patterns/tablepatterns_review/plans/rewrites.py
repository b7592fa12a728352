"""Suggest better queries from a filter alone."""

from __future__ import annotations

from typing import Final

from tablepatterns.errors import BadFilter
from tablepatterns.figures import counted
from tablepatterns.filters import (
    And,
    Comparison,
    Explanation,
    Filter,
    Or,
    QueryClass,
    classify,
    comparisons,
    point_keys,
    prop,
)

from ..planner import terms_of
from .query_plan import Better, properties

_SET_BY_SERVICE: Final = "Timestamp"
_MAX_SHOWN: Final = 15


def rewrites(expression: Filter, explanation: Explanation) -> tuple[Better, ...]:
    """Return better forms of a query, the best first; none if nothing is faster."""
    if explanation.query_class is QueryClass.POINT:
        return ()
    if explanation.bounds.empty:
        return (Better("remove the query: no entity can match", None),)
    better = _points(expression) or _apart(expression, explanation.query_class)
    if properties(expression):
        return (*better, *_patterns(expression, explanation))
    return tuple(better) or _keys(expression, explanation)


def _points(expression: Filter) -> list[Better]:
    """Replace an `or` of keys by a point query for each."""
    keys = point_keys(expression)
    if not keys:
        return []
    queries = [str((prop("PartitionKey") == partition) & (prop("RowKey") == row)) for partition, row in keys]
    points, billed = counted(len(keys), "point query"), counted(len(keys), "transaction")
    words = f"send {points} in parallel: {billed}, and at most {counted(len(keys), 'entity')} read"
    return [Better(words, QueryClass.POINT, tuple(queries))]


def _apart(expression: Filter, above: QueryClass) -> list[Better]:
    """Split an `or` into one query per term, if each alone has a better class."""
    terms = terms_of(expression)
    for term in terms:
        if not isinstance(term, Or):
            continue
        rest = [other_condition for other_condition in terms if other_condition is not term]
        try:
            queries = [And(*rest, term) if rest else term for term in term.terms]
        except BadFilter:
            continue
        worst = max(classify(term).query_class for term in queries)
        if worst < above:
            words = f"send {len(queries)} queries, one per term of the 'or'; an entity can match several"
            return [Better(words, worst, tuple(map(str, queries[:_MAX_SHOWN])))]
    return []


def _patterns(expression: Filter, explanation: Explanation) -> list[Better]:
    """Suggest the pattern with the compared properties in a key."""
    names = properties(expression)
    if names == [_SET_BY_SERVICE]:
        words = "Timestamp is set by the service and not indexed: store your own timestamp, in the RowKey"
        return [Better(words, QueryClass.RANGE, ('LogTail(storage, table, partition, at="At")',), "log tail pattern")]
    compared = [term for term in comparisons(expression) if term.name in names and term.operator != "ne"]
    if not compared:
        return [Better("no index helps with 'ne': add an index by what you do look for", None)]
    equal = [
        term.name
        for term in terms_of(expression)
        if isinstance(term, Comparison) and term.operator == "eq" and term.name in names
    ]
    every = [*equal, *(term.name for term in compared)]
    chosen = next((name for name in every if name != _SET_BY_SERVICE), every[0])
    is_local = explanation.bounds.partition is not None
    place, where = (
        ("intra", "the partition") if is_local else ("inter", "other partitions; it is eventually consistent")
    )
    words = f"add an index by {chosen} in {where}"
    index = Better(words, QueryClass.RANGE, pattern=f"{place}-partition secondary index pattern")
    if chosen not in equal or any(term.kind is not str for term in compared if term.name == chosen):
        # The key of a list is the text of its value
        return [index]
    code = f'IndexEntity("{chosen}")' if is_local else f'IndexEntity("{chosen}", store=InTable("By{chosen}"))'
    words = f"if many entities share a value of {chosen}, keep lists of them"
    return [index, Better(words, QueryClass.POINT, (code,), "index entities pattern")]


def _keys(expression: Filter, explanation: Explanation) -> tuple[Better, ...]:
    """Name the missing key, if the filter compares nothing else."""
    if explanation.query_class is QueryClass.RANGE:
        return ()
    if explanation.query_class is QueryClass.PARTITION_SCAN:
        return (Better("if you only need part of the partition, bound RowKey", QueryClass.RANGE),)
    if any(comparison.name == "PartitionKey" for comparison in comparisons(expression)):
        return (Better("use PartitionKey eq, with one query per partition", QueryClass.RANGE),)
    if any(comparison.name == "RowKey" for comparison in comparisons(expression)):
        words = "add PartitionKey; if you do not know it, add an index in a partition that the RowKey determines"
        return (Better(words, QueryClass.POINT, pattern="inter-partition secondary index pattern"),)
    return (Better("query one partition at a time, or store what you need in another table", None),)
