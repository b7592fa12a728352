"""Suggest better queries from a filter alone."""

from __future__ import annotations

from collections.abc import Sequence
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


def equalities(expression: Filter) -> list[Comparison]:
    """Return the comparisons with `eq` that every match satisfies: those outside `or` and `not`."""
    return [term for term in conditions(expression) if isinstance(term, Comparison) and term.operator == "eq"]


def conditions(expression: Filter) -> Sequence[Filter]:
    """Return the terms joined by `and`."""
    return expression.terms if isinstance(expression, And) else (expression,)


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
    terms = conditions(expression)
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
    useful = [
        comparison.name
        for comparison in comparisons(expression)
        if comparison.name in names and comparison.operator != "ne"
    ]
    if not useful:
        return [Better("no index helps with 'ne': add an index by what you do look for", None)]
    equal = [comparison.name for comparison in equalities(expression) if comparison.name in useful]
    chosen = next((name for name in [*equal, *useful] if name != _SET_BY_SERVICE), useful[0])
    copies, lists = _indexes(chosen, explanation)
    if chosen in equal:
        return [copies, lists]
    return [copies] if explanation.bounds.partition is not None else [_ordered(chosen)]


def _ordered(name: str) -> Better:
    """Return the pattern for a range of values, which a PartitionKey with the value could not answer."""
    words = f"add an index ordered by {name}, in partitions that the query knows; it is eventually consistent"
    code = f'InterPartitionIndex(Key(<a part of {name}, such as its year>, "{name.lower()}_{{{name}}}"))'
    return Better(words, QueryClass.RANGE, (code,), "inter-partition secondary index pattern")


def _indexes(name: str, explanation: Explanation) -> tuple[Better, Better]:
    """Return the two ways to find entities by a property: sorted copies, and a list for each value."""
    row = f"{name.lower()}_{{{name}}}"
    if explanation.bounds.partition is not None:
        return (
            Better(
                f"if {name} is unique in a partition, or entities are read in its order, add an index by it",
                QueryClass.RANGE,
                (f'IntraPartitionIndex(Key(<the same partition>, "{row}"))',),
                "intra-partition secondary index pattern",
            ),
            Better(
                f"if many entities share a value of {name}, keep lists of them",
                QueryClass.POINT,
                (f'IndexEntity("{name}")',),
                "index entities pattern",
            ),
        )
    return (
        Better(
            f"add an index by {name} in other partitions; it is eventually consistent",
            QueryClass.RANGE,
            (f'InterPartitionIndex(Key("{row}", <what tells them apart>))',),
            "inter-partition secondary index pattern",
        ),
        Better(
            f"if many entities share a value of {name}, keep lists of them in another table",
            QueryClass.POINT,
            (f'IndexEntity("{name}", store=InTable(<name>))',),
            "index entities pattern",
        ),
    )


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
