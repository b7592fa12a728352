"""The plan of a query: what it reads, what it costs, and better queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tablepatterns.errors import BadFilter
from tablepatterns.figures import count, counted
from tablepatterns.filters import (
    And,
    Explanation,
    Filter,
    Interval,
    Or,
    QueryClass,
    classify,
    comparisons,
    point_keys,
    prop,
)
from tablepatterns.limits import MAX_PAGE_ENTITIES

from .planner import compared_names, terms_of

_STYLES: Final = {
    QueryClass.POINT: "green",
    QueryClass.RANGE: "green",
    QueryClass.PARTITION_SCAN: "yellow",
    QueryClass.TABLE_SCAN: "red",
}
_LABEL_WIDTH: Final = 14


@dataclass(frozen=True, slots=True)
class Better:
    """A better way to get the same entities.

    :param words: the advice
    :param query_class: the worst class of the queries then; None if there is none
    :param code: the required filters, calls or declaration
    :param pattern: the guide's pattern; None if it is only another filter
    """

    words: str
    query_class: QueryClass | None
    code: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The plan of a query. `str()` returns it as text, and rich prints it in color.

    >>> from tablepatterns_review import explain
    >>> print(explain("PartitionKey eq 'Sales' and RowKey eq '2'"))
    PartitionKey eq 'Sales' and RowKey eq '2'
    <BLANKLINE>
      Class         point query
      Why           PartitionKey and RowKey are both given
      Reads         the one entity with the keys 'Sales' and '2', by the index
      Transactions  1
      Rule          Give PartitionKey and RowKey in queries: point queries are the most efficient.
      Guide         designing for querying
      Better        nothing is faster

    :param query: the filter; "" for all entities
    :param query_class: the guide's class of the query
    :param reason: the reason for this class
    :param reads: the entities that the service reads
    :param transactions: the minimum number of storage transactions
    :param cost: what further transactions depend on
    :param rule: the guide's rule for such queries
    :param guide: the section with the rule
    :param better: better queries, the best first; empty if there are none
    :param advice: the advice in short
    """

    query: str
    query_class: QueryClass
    reason: str
    reads: str
    transactions: int
    cost: str
    rule: str
    guide: str
    advice: str
    better: tuple[Better, ...] = ()

    @property
    def is_scan(self) -> bool:
        """Whether the service searches a whole partition or the whole table."""
        return self.query_class > QueryClass.RANGE

    def __str__(self) -> str:
        lines = [self.query or "(no filter)", ""]
        lines += [f"  {label:<{_LABEL_WIDTH}}{text}" for label, text in self._lines()]
        for better_key in self.better:
            lines += [f"  {'Better':<{_LABEL_WIDTH}}{_as_text(better_key)}"]
            lines += [f"  {'':<{_LABEL_WIDTH}}  {code}" for code in better_key.code]
        return "\n".join(lines)

    def __rich__(self) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        for label, text in self._lines():
            style = _STYLES[self.query_class] if label == "Class" else ""
            grid.add_row(label, Text(text, style=style))
        for better_key in self.better:
            grid.add_row("Better", Text(_as_text(better_key), style="bold"))
            for code in better_key.code:
                grid.add_row("", Text(f"  {code}", style="cyan"))
        return Group(Text(self.query or "(no filter)", style="bold"), "", grid)

    def _lines(self) -> list[tuple[str, str]]:
        labeled = [
            ("Class", self.query_class.label),
            ("Why", self.reason),
            ("Reads", self.reads),
            ("Transactions", self.cost),
            ("Rule", self.rule),
            ("Guide", self.guide),
        ]
        return labeled if self.better else [*labeled, ("Better", self.advice)]


def _as_text(better: Better) -> str:
    label = f" ({better.query_class.label})" if better.query_class is not None else ""
    return f"{better.words}{label}"


KEYS: Final = ("PartitionKey", "RowKey")
NO_QUERY: Final = "nothing: no entity can match, so there is nothing to ask"

_PAGES: Final = f"1 for each page of {count(MAX_PAGE_ENTITIES)} results"
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


def reads(explanation: Explanation, expression: Filter) -> str:
    """Return the entities that the service reads for a query."""
    rows, partition = explanation.searched.row_keys, explanation.searched.partition
    match explanation.query_class:
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
    """Return a range of RowKeys as a Python comparison.

    >>> interval(Interval("S", upper="T", upper_inclusive=False))
    "'S' <= RowKey < 'T'"
    """
    low = f"{rows.lower!r} {'<=' if rows.lower_inclusive else '<'} " if rows.lower or not rows.lower_inclusive else ""
    high = "" if rows.upper is None else f" {'<=' if rows.upper_inclusive else '<'} {rows.upper!r}"
    return f"{low}RowKey{high}"


def properties(expression: Filter) -> list[str]:
    """Return the names of the properties that a filter compares, without the keys, in order."""
    return list(dict.fromkeys(comparison.name for comparison in comparisons(expression) if comparison.name not in KEYS))


# ------------------------------------------------------------------ better queries from a filter alone

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
    equal = [name for name in compared_names(expression, ("eq",)) if name in names]
    every = [*equal, *(term.name for term in compared)]
    chosen = next((name for name in every if name != _SET_BY_SERVICE), every[0])
    is_local = explanation.bounds.partition is not None
    place = "intra" if is_local else "inter"
    where = "the partition" if is_local else "other partitions; it is eventually consistent"
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
