"""Write the cost of each call into the page on costs, from the rows that a test measures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from budgets.budget import Budget, all_budgets
from tablepatterns.cost import Cost
from tablepatterns_review import PriceTable
from tools import ROOT
from tools.pages.data_file import DataFile
from tools.pages.markdown import between, introduction, page, table

PAGE = "docs/costs.md"


def render() -> str:
    """Return the page, with a new table of calls."""
    rows = all_budgets()
    of_sets = _calls_by_cost(row for row in rows if row.recipe == "EntitySet")
    calls = page(introduction("budgets", rows=len(rows), **_prices()), of_sets)
    return between((ROOT / PAGE).read_text(encoding="utf-8"), "calls", calls)


def _calls_by_cost(rows: Iterable[Budget]) -> str:
    """Return a table of costs with the calls of each, the cheapest first."""
    calls = dict[str, list[str]]()
    for row in sorted(rows, key=lambda row: row.cost.table_operations()):
        when = f" ({row.when})" if row.when else ""
        calls.setdefault(row.cost.by_service, []).append(f"`{row.call}`{when}")
    return table(("Storage transactions", "Calls"), ((cost, ", ".join(of_cost)) for cost, of_cost in calls.items()))


def _prices() -> dict[str, str]:
    prices = PriceTable.default()
    kinds = {"queue": Cost(queue=1), "read": Cost(blob_read=1), "write": Cost(blob_write=1)}
    relative = {kind: f"{cost.table_operations():,.0f}" for kind, cost in kinds.items()}
    return relative | {"region": prices.region, "dated": prices.dated.isoformat()}


def _rows() -> Iterator[tuple[str, ...]]:
    for row in sorted(all_budgets(), key=lambda row: row.recipe.lower()):
        yield row.recipe, row.call, row.cost.by_service, f"{row.cost.table_operations():,.0f}", row.when


COSTS = DataFile(
    "docs/data/costs.tsv", ("Recipe", "Call", "Storage transactions", "In table operations", "When"), _rows
)


def list_of(rows: Iterable[Budget], *, unnamed: str = "") -> str:
    """Return rows as a list, calls of the same cost together: transactions, their equal in table operations, the case.

    :param unnamed: the recipe whose calls need no name
    """
    calls = defaultdict[str, list[str]](list)
    for row in rows:
        equal = "" if is_in_tables(row) else f" = {row.cost.table_operations():,.0f}"
        case = f" ({row.when})" if row.when else ""
        call = row.call if row.recipe == unnamed else f"{row.recipe}.{row.call}"
        calls[f"{row.cost.by_service}{equal}{case}"].append(call if " " in call else f"`{call}`")
    return "\n".join(f"- {', '.join(names)}: {cost}" for cost, names in calls.items())


def is_in_tables(row: Budget) -> bool:
    """Whether a call sends requests to tables only, which need no conversion."""
    return row.cost.table == row.cost.transactions
