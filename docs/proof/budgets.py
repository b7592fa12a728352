"""The page on what each call costs, from the rows that a test measures."""

from __future__ import annotations

from collections.abc import Iterable

from budgeting import derived, journeys, mapped, relations, series, sets
from budgeting.budget import BUDGETS, Budget
from proof.markdown import introduction, page, table

PAGE = "docs/budgets.md"
PARTS = {
    "Sets, keys and types": sets,
    "Derived data": derived,
    "Logs, series, wide entities, periods": series,
    "Large and encrypted properties": mapped,
    "Loads, messages, archives, moves": journeys,
    "Relations and access": relations,
}


def render() -> str:
    """Return the page."""
    parts = [f"## {title}\n\n{_table(part.__name__)}" for title, part in PARTS.items()]
    return page(introduction("budgets", rows=len(BUDGETS)), *parts)


def _table(module: str) -> str:
    return table_of(row for row in BUDGETS if row.module == module)


def table_of(rows: Iterable[Budget]) -> str:
    """Return rows as a table."""
    return table(("Recipe", "Call", "Storage transactions", "When"), map(_cells, rows))


def _cells(row: Budget) -> tuple[str, ...]:
    return row.recipe, f"`{row.call}`" if " " not in row.call else row.call, str(row.transactions), row.when
