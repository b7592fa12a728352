"""Every page that `make pages` writes as a whole or between markers is up to date."""

from __future__ import annotations

from types import ModuleType

import pytest
from tools import ROOT
from tools.pages import budgets as page_on_costs
from tools.pages.__main__ import PAGES
from tools.pages.tutorials import TUTORIALS, Tutorial

from budgets.budget import all_budgets


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.nightly] if page in TUTORIALS else []) for page in PAGES],
    ids=lambda page: page.PAGE,
)
def test_a_generated_page_is_up_to_date(page: ModuleType) -> None:
    assert (ROOT / page.PAGE).read_text(encoding="utf-8") == page.render(), "run `make pages`"


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.PAGE)
def test_the_code_and_the_first_commands_of_a_tutorial_are_up_to_date(page: Tutorial) -> None:
    assert (ROOT / page.PAGE).read_text(encoding="utf-8") == page.render(blocks=1), "run `make pages`"


def test_a_list_of_costs_has_each_call_and_converts_what_is_not_of_a_table() -> None:
    index = [row for row in all_budgets() if row.recipe == "InterPartitionIndex"]
    lines = page_on_costs.list_of(index, unnamed="InterPartitionIndex").splitlines()
    assert "- `insert`: 4 table + 2 queue = 26 (unique)" in lines
    assert "- `find`: 1 table" in lines
    every = page_on_costs.list_of(all_budgets())
    assert "- `EntitySet.insert`: 3 table (the first of a table, which it makes)" in every.splitlines()
    assert every.count(".insert`") == sum(row.call == "insert" for row in all_budgets())
