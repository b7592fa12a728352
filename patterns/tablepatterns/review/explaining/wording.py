"""Wording: what each class of query reads, costs, and goes against, in words. The class itself is `classify`'s."""

from __future__ import annotations

from typing import Final

from ...filters import Explanation, Filter, Interval, QueryClass, comparisons
from ...limits import MAX_PAGE_ENTITIES

KEYS: Final = ("PartitionKey", "RowKey")
NO_QUERY: Final = "nothing: no entity can match, so there is nothing to ask"

_PAGES: Final = f"1 for each page of {MAX_PAGE_ENTITIES:,} results"
COSTS: Final = {
    QueryClass.POINT: "1",
    QueryClass.RANGE: f"{_PAGES}, at least 1",
    QueryClass.PARTITION_SCAN: f"{_PAGES}, at least 1; and 1 for every five seconds that the search takes",
    QueryClass.TABLE_SCAN: (
        f"{_PAGES}, at least 1; and 1 for every five seconds that the search takes, or range of partitions it enters"
    ),
}
RULES: Final = {
    QueryClass.POINT: "Give PartitionKey and RowKey in queries: point queries are the most efficient.",
    QueryClass.RANGE: "A range of RowKeys in one partition is read by the index, in the order of the keys.",
    QueryClass.PARTITION_SCAN: "Only the keys are indexed: without a range of RowKeys the partition is searched.",
    QueryClass.TABLE_SCAN: "Without PartitionKey every partition is searched, whether or not RowKey is in the filter.",
}
OR_RULE: Final = "RowKeys combined by 'or' are not treated as a range: they cause a partition scan."
GUIDE: Final = "designing for querying"


def reads(found: Explanation, expression: Filter) -> str:
    """Return which entities the service reads to answer a query."""
    rows, partition = found.searched.row_keys, found.searched.partition
    match found.query_class:
        case QueryClass.POINT:
            text = f"the one entity with the keys {partition!r} and {rows.exact!r}, by the index"
        case QueryClass.RANGE:
            text = f"the entities of partition {partition!r} with {interval(rows)}"
        case QueryClass.PARTITION_SCAN:
            text = f"every entity of partition {partition!r}"
        case QueryClass.TABLE_SCAN:
            text = "every entity of the table, in every partition"
    names = properties(expression)
    return f"{text}; each is checked for {', '.join(names)}" if names else text


def interval(rows: Interval) -> str:
    """Return a range of RowKeys in the form in which Python compares.

    >>> interval(Interval("S", upper="T", upper_inclusive=False))
    "'S' <= RowKey < 'T'"
    """
    low = f"{rows.lower!r} {'<=' if rows.lower_inclusive else '<'} " if rows.lower or not rows.lower_inclusive else ""
    high = "" if rows.upper is None else f" {'<=' if rows.upper_inclusive else '<'} {rows.upper!r}"
    return f"{low}RowKey{high}"


def properties(expression: Filter) -> list[str]:
    """Return the names of the properties that a filter compares besides the keys, in its order."""
    return list(dict.fromkeys(each.name for each in comparisons(expression) if each.name not in KEYS))
