"""What each call costs, by the account's own ledger, and the page that says so."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from budgeting import derived, journeys, mapped, relations, series, sets
from budgeting.budget import BUDGETS, Budget, measured
from tablepatterns import connect

ROOT = Path(__file__).parents[1]
ROWS = (sets, derived, series, mapped, journeys, relations)
"""Each adds its rows when it is imported."""
RECIPE = re.compile(r"^class (\w+)\((?:Pattern|EntitySet|Derived|Index|PropertyMapping|WideReads)\b", re.MULTILINE)


def name_of(row: Budget) -> str:
    return re.sub(r"\W+", "-", f"{row.recipe}.{row.call} {row.when}").strip("-")


@pytest.mark.parametrize("row", BUDGETS, ids=name_of)
def test_a_call_costs_what_its_budget_says(row: Budget) -> None:
    with connect() as account:
        assert measured(row, account) == row.transactions


def test_every_recipe_has_a_budget() -> None:
    """But for `Filled`: it is the other side of `Denormalize`, and stands in its rows."""
    folder = ROOT / "patterns" / "tablepatterns" / "recipes"
    recipes = {name for path in folder.glob("*.py") for name in RECIPE.findall(path.read_text("utf-8"))}
    assert recipes - {"Filled"} == recipes & {row.recipe for row in BUDGETS}


def test_the_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    page: Any = importlib.import_module("proof.budgets")
    assert (ROOT / page.PAGE).read_text(encoding="utf-8") == page.render(), "make pages writes it anew"
