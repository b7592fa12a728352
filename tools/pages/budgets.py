"""Write the cost of each call into the page on costs, from the rows that a test measures."""

from __future__ import annotations

from collections.abc import Iterable

from budgets.budget import Budget, all_budgets
from tablepatterns.catalog import ENTRIES
from tablepatterns.cost import Cost
from tablepatterns_review import PriceTable
from tools import ROOT
from tools.pages.homes import recipes_on_pages
from tools.pages.markdown import between, introduction, page, table

PAGE = "docs/costs.md"
PARTS = {
    "Sets, keys and types": "sets",
    "Derived data": "derived",
    "Logs, series, wide entities, periods": "series",
    "Large and encrypted properties": "mapped",
    "Loads, messages, archives, moves": "journeys",
    "Relations and access": "relations",
}


def render() -> str:
    """Return the page, with new tables."""
    elsewhere = recipes_on_pages("costs")
    here = [row for row in all_budgets() if row.recipe not in elsewhere]
    rows = {title: [row for row in here if row.module == f"budgets.{part}"] for title, part in PARTS.items()}
    rows["Other recipes"] = [row for row in here if not row.module.startswith("budgets.")]
    parts = [f"### {title}\n\n{table_of(part)}" for title, part in rows.items() if part]
    calls = page(
        introduction("budgets", rows=len(all_budgets()), **_prices()), f"### Patterns\n\n{_patterns()}", *parts
    )
    return between((ROOT / PAGE).read_text(encoding="utf-8"), "calls", calls)


def _patterns() -> str:
    """Return links to the costs on the pages of patterns."""
    shown = {pattern.name for pattern in recipes_on_pages("costs").values()}
    return ", ".join(f"[{each.title}](patterns/{each.name}.md#cost)" for each in ENTRIES if each.name in shown) + "."


def _prices() -> dict[str, str]:
    prices = PriceTable.default()
    kinds = {"queue": Cost(queue=1), "read": Cost(blob_read=1), "write": Cost(blob_write=1)}
    relative = {kind: f"{cost.table_operations():,.0f}" for kind, cost in kinds.items()}
    return relative | {"region": prices.region, "dated": prices.dated.isoformat()}


def table_of(rows: Iterable[Budget], *, names_recipes: bool = True) -> str:
    """Return rows as a table, without the column of table operations if there are no others, and without empty columns.

    :param names_recipes: whether to say of which recipe each call is
    """
    rows = list(rows)
    columns = {
        "Recipe": [row.recipe for row in rows] if names_recipes else [],
        "Call": [f"`{row.call}`" if " " not in row.call else row.call for row in rows],
        "Storage transactions": [row.cost.by_service for row in rows],
        "In table operations": [f"{row.cost.table_operations():,.0f}" for row in rows],
        "When": [row.when for row in rows],
    }
    if all(row.cost.table == row.cost.transactions for row in rows):
        del columns["In table operations"]
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    return table(tuple(columns), zip(*columns.values(), strict=True))
