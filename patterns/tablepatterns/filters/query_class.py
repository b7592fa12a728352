"""Classify a query as the guide does, with the reason and a better query. Guide: designing for querying."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from itertools import chain, product
from typing import Final

from ..errors import BadFilter
from .bounds import ANYWHERE, KeyBounds, fold_bounds, key_bounds
from .expression import And, Comparison, Filter, Or, comparisons

_POINT_QUERIES: Final = "send one point query per key; see point_keys()"


class QueryClass(IntEnum):
    """The guide's classes of query, best first.

    >>> QueryClass.POINT < QueryClass.TABLE_SCAN, QueryClass.RANGE.label
    (True, 'range query')
    """

    POINT = 1
    RANGE = 2
    PARTITION_SCAN = 3
    TABLE_SCAN = 4

    @property
    def label(self) -> str:
        """The class in the guide's words."""
        return self.name.lower().replace("_", " ") + (" query" if self <= QueryClass.RANGE else "")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a query costs and why.

    :param query_class: the class of the query
    :param reason: why it is of this class
    :param rewrite: a better query
    :param bounds: the keys that contain every match
    :param searched: the keys that the service reads to find the matches, with the guide's rule for `or`
    """

    query_class: QueryClass
    reason: str
    rewrite: str
    bounds: KeyBounds
    searched: KeyBounds


def classify(expression: Filter) -> Explanation:
    """Return the class of a query with this filter, with the reason.

    Conditions on other properties are checked on each entity in the key range. If RowKey is not bounded, they cause a
    partition scan: the whole partition is read, and a part of it returned. PartitionKey alone is a range query that
    returns all rows. By the guide's rule for `or`, RowKey values combined by `or` cause a partition scan.

    >>> from tablepatterns.filters import parse
    >>> explanation = classify(parse("PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')"))
    >>> explanation.query_class.label
    'partition scan'
    >>> explanation.rewrite
    'send one point query per key; see point_keys()'

    :param expression: the filter of the query

    Guide: designing for querying.
    """
    bounds, searched = key_bounds(expression), fold_bounds(expression, _common_partition)
    is_whole = all(comparison.name == "PartitionKey" for comparison in comparisons(expression))
    query_class = _class(searched, is_whole=is_whole)
    match query_class:
        case QueryClass.POINT:
            reason, rewrite = "PartitionKey and RowKey are both given", "nothing is faster"
        case QueryClass.RANGE if not searched.row_keys.bounded:
            reason = "only PartitionKey is given, and all its rows are returned"
            rewrite = "add a range of RowKey to read less"
        case QueryClass.RANGE:
            reason, rewrite = "PartitionKey is given, and RowKey is a range", "give the exact RowKey for a point query"
        case QueryClass.PARTITION_SCAN:
            reason, rewrite = _why_partition_scan(expression)
        case QueryClass.TABLE_SCAN:
            reason, rewrite = _why_table_scan(expression, bounds)
    return Explanation(query_class, reason, rewrite, bounds, searched)


def reject_scans(expression: Filter, allow: QueryClass = QueryClass.RANGE, *, hint: str = "") -> Explanation:
    """Return the explanation of a query, or reject a query of a worse class than allowed.

    >>> from tablepatterns.filters import prop
    >>> reject_scans(prop("LastName") == "Jones")
    Traceback (most recent call last):
        ...
    tablepatterns.errors.BadFilter: query = "LastName eq 'Jones'": a table scan, but only a range query or better is \
allowed: no PartitionKey is given, so every partition is searched; add PartitionKey eq, or an index on this property

    :param expression: the filter of the query
    :param allow: the worst class to allow
    :param hint: an addition to the hint of the error
    :raises BadFilter: the query is of a worse class; the error names the class, the reason and the rewrite

    Guide: designing for querying.
    """
    explanation = classify(expression)
    if explanation.query_class > allow:
        rule = f"a {explanation.query_class.label}, but only a {allow.label} or better is allowed: {explanation.reason}"
        raise BadFilter("query", str(expression), rule, explanation.rewrite + hint)
    return explanation


def point_keys(expression: Filter) -> list[tuple[str, str]] | None:
    """Return the keys (PartitionKey, RowKey) that the filter selects, or None if it selects anything else.

    Read each with a point query, instead of sending `or`, which scans. The keys are in the order of the filter, without
    duplicates; a contradictory filter selects none.

    >>> from tablepatterns.filters import parse
    >>> point_keys(parse("PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')"))
    [('Sales', '121'), ('Sales', '322')]
    >>> point_keys(parse("PartitionKey eq 'Sales' and RowKey gt '121'")) is None
    True

    :param expression: the filter of the query

    Guide: designing for querying.
    """
    boxes = _alternatives(expression)
    if boxes is None:
        return None
    keys = [box.key for box in boxes if not box.empty]
    point_keys = [key for key in keys if key is not None]
    return list(dict.fromkeys(point_keys)) if len(point_keys) == len(keys) else None


def _alternatives(expression: Filter) -> list[KeyBounds] | None:
    """Expand the filter to alternative keys; None if it contains anything but equality of keys."""
    match expression:
        case Comparison(name="PartitionKey" | "RowKey", operator="eq"):
            return [key_bounds(expression)]
        case And(terms=terms) | Or(terms=terms):
            parts = [part for term in terms if (part := _alternatives(term)) is not None]
            if len(parts) < len(terms):
                return None
            if isinstance(expression, Or):
                return list(chain.from_iterable(parts))
            return [reduce(KeyBounds.__and__, choice) for choice in product(*parts)]
        case _:
            return None


def _class(searched: KeyBounds, *, is_whole: bool) -> QueryClass:
    if searched.partition is None:
        return QueryClass.TABLE_SCAN
    if searched.key is not None:
        return QueryClass.POINT
    # A whole partition is a range from its first row to its last: everything that is read is returned
    return QueryClass.RANGE if searched.row_keys.bounded or is_whole else QueryClass.PARTITION_SCAN


def _common_partition(boxes: list[KeyBounds]) -> KeyBounds:
    """Combine the terms of an `or` by the guide's rule: keep a common partition, but no range of row keys."""
    partitions = {box.partition for box in boxes}
    return KeyBounds(boxes[0].partition_keys) if len(partitions) == 1 and None not in partitions else ANYWHERE


def _why_table_scan(expression: Filter, bounds: KeyBounds) -> tuple[str, str]:
    operators = {c.operator for c in comparisons(expression) if c.name == "PartitionKey"}
    if bounds.empty:
        return "no keys satisfy its conditions", "omit the query: no entity can match"
    if point_keys(expression):
        return "keys combined by 'or' are in several partitions", _POINT_QUERIES
    if "eq" in operators:
        return "PartitionKey eq does not apply to the whole filter", "send one query per partition"
    if operators:
        return "PartitionKey is compared, but not with eq", "use PartitionKey eq, with one query per partition"
    if any(c.name == "RowKey" for c in comparisons(expression)):
        return "no PartitionKey is given, and RowKey is indexed only within a partition", "add PartitionKey eq"
    rewrite = "add PartitionKey eq, or an index on this property"
    return "no PartitionKey is given, so every partition is searched", rewrite


def _why_partition_scan(expression: Filter) -> tuple[str, str]:
    if point_keys(expression):
        return "RowKey values combined by 'or' are not a range, so the whole partition is searched", _POINT_QUERIES
    if any(c.name == "RowKey" for c in comparisons(expression)):
        reason = "RowKey is compared only inside 'or' or 'not', with ne, or with a value that excludes nothing"
        return reason, "compare RowKey with eq, gt, ge, lt or le outside of 'or'"
    reason = "RowKey is not limited to a range, so the whole partition is searched"
    return reason, "add a range of RowKey, or a secondary index on the other property"
