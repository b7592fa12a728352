"""Tests of the cost of each call, by the ledger of the in-memory engine, and of the page."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import tablepatterns
from budgets.budget import Budget, all_budgets, measured
from budgets.statements import costs_in
from tablepatterns import connect
from tablepatterns.cost import Cost
from tablepatterns_review.rules.scans import COPY_ELSEWHERE

ROOT = Path(__file__).parents[2]
BUDGETS = all_budgets()
ONE_OF_A_TABLE = Cost(table=1)
RECIPE = re.compile(r"^class (\w+)\((?:Pattern|EntitySet|Derived|Index|PropertyMapping|WideReads)\b", re.MULTILINE)


def name_of(row: Budget) -> str:
    return re.sub(r"\W+", "-", f"{row.recipe}.{row.call} {row.when}").strip("-")


@pytest.mark.parametrize("row", BUDGETS, ids=name_of)
@pytest.mark.few(70)
def test_a_call_costs_what_its_budget_says(row: Budget) -> None:
    with connect() as account:
        assert measured(row, account) == row.cost


def test_a_review_reports_the_extra_cost_of_a_copy_in_another_partition() -> None:
    found = {(row.recipe, row.call, row.when): row.cost for row in BUDGETS}
    assert found["EntitySet", "insert", ""] + COPY_ELSEWHERE == found["InterPartitionIndex", "insert", ""]


def test_every_recipe_has_a_budget() -> None:
    """Except `FilledCopies`: its costs are in the rows of `CopiedFields`, of which it is the other side."""
    folder = ROOT / "patterns" / "tablepatterns" / "recipes"
    recipes = {name for path in folder.glob("*.py") for name in RECIPE.findall(path.read_text("utf-8"))}
    assert recipes - {"FilledCopies"} == recipes & {row.recipe for row in BUDGETS}


def of_other_services(row: Budget) -> bool:
    return row.cost.table != row.cost.transactions


def described(recipe: str, call: str = "") -> str:
    """Return the docstring of a class, or of a method of it."""
    found = getattr(tablepatterns, recipe)
    return inspect.getdoc(getattr(found, call.partition("(")[0], None) if call else found) or ""


@pytest.mark.parametrize("row", [row for row in BUDGETS if of_other_services(row)], ids=name_of)
def test_a_docstring_states_what_a_call_of_queues_or_blobs_costs(row: Budget) -> None:
    assert str(row.cost) in costs_in(f"{described(row.recipe)} {described(row.recipe, row.call)}")


@pytest.mark.parametrize("recipe", sorted({row.recipe for row in BUDGETS}))
def test_no_docstring_states_another_cost_by_service_than_is_measured(recipe: str) -> None:
    rows = [row for row in BUDGETS if row.recipe == recipe]
    measured = {str(row.cost) for row in rows} | {str(ONE_OF_A_TABLE)}
    assert {*costs_in(described(recipe))} <= measured
    for call in {row.call for row in rows}:
        assert {*costs_in(described(recipe, call))} <= {str(row.cost) for row in rows if row.call == call}


@pytest.mark.parametrize("recipe", sorted({row.recipe for row in BUDGETS if of_other_services(row)}))
def test_a_docstring_of_queues_or_blobs_counts_no_transactions_without_their_service(recipe: str) -> None:
    calls = {"", *(row.call for row in BUDGETS if row.recipe == recipe and of_other_services(row))}
    for call in calls:
        stated = " ".join(described(recipe, call).split())
        assert re.findall(r"\b\d+ (?:storage )?(?:transactions?|more\b)", stated) == [], call
