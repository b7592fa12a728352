"""Query plan: what a query will read and cost, by which rule, and what to ask instead; as object, text and table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...filters import QueryClass

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

    :param words: what to do
    :param query_class: the class of the worst query that is left then; None where none is left
    :param code: the filters, the calls or the declaration that this takes
    :param pattern: the guide's pattern that it is, None where it is only another filter
    """

    words: str
    query_class: QueryClass | None
    code: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What the service will do for one query. `str()` is the whole as text, and rich prints it in colour.

    >>> from tablepatterns.review import explain
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

    :param query: the filter, "" where every entity is asked for
    :param query_class: the guide's class of the query
    :param reason: why it is of this class
    :param reads: which entities the service reads to answer it
    :param transactions: the fewest storage transactions that it takes
    :param cost: on what more of them depends
    :param rule: what the guide says of such queries
    :param guide: the section that says it
    :param better: what to ask instead, the best first; empty where nothing is better
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
        """Whether the service searches a whole partition, or the whole table."""
        return self.query_class > QueryClass.RANGE

    def __str__(self) -> str:
        lines = [self.query or "(no filter)", ""]
        lines += [f"  {label:<{_LABEL_WIDTH}}{text}" for label, text in self._lines()]
        for each in self.better:
            lines += [f"  {'Better':<{_LABEL_WIDTH}}{_told(each)}"]
            lines += [f"  {'':<{_LABEL_WIDTH}}  {code}" for code in each.code]
        return "\n".join(lines)

    def __rich__(self) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        for label, text in self._lines():
            style = _STYLES[self.query_class] if label == "Class" else ""
            grid.add_row(label, Text(text, style=style))
        for each in self.better:
            grid.add_row("Better", Text(_told(each), style="bold"))
            for code in each.code:
                grid.add_row("", Text(f"  {code}", style="cyan"))
        return Group(Text(self.query or "(no filter)", style="bold"), "", grid)

    def _lines(self) -> list[tuple[str, str]]:
        found = [
            ("Class", self.query_class.label),
            ("Why", self.reason),
            ("Reads", self.reads),
            ("Transactions", self.cost),
            ("Rule", self.rule),
            ("Guide", self.guide),
        ]
        return found if self.better else [*found, ("Better", self.advice)]


def _told(better: Better) -> str:
    label = f" ({better.query_class.label})" if better.query_class is not None else ""
    return f"{better.words}{label}"
