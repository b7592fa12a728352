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


def test_a_list_of_costs_converts_what_is_not_of_a_table() -> None:
    rotation = [row for row in all_budgets() if row.recipe == "KeyRotation"]
    assert page_on_costs.list_of(rotation, names_recipes=False).endswith("- `in_use`: 1 table (up to 1,000 rows)")
    lines = page_on_costs.list_of(all_budgets()).splitlines()
    assert "- InterPartitionIndex `insert`: 3 table + 2 queue = 25" in lines
    assert len(lines) == len(all_budgets())
