"""The page on what is guaranteed: it is up to date, and every marked test has been explored for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tools.pages import guarantees as page
from tools.pages.homes import recipes_on_pages

from tablepatterns.catalog import ENTRIES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SHOWN_WITH = {"jobs.repair", "LargePropertyStore"}
AGAIN = "run make guarantees to explore again"


@pytest.fixture
def proof() -> Any:
    return page.Proof.read()


def test_every_marked_test_was_explored(proof: Any) -> None:
    assert [mark.test for mark in proof.marks if not proof.explored(mark.test)] == [], AGAIN


def test_every_marked_test_and_what_it_shows_is_listed(proof: Any) -> None:
    listed = {(recipe, clause, test) for recipe, clause, *_, test in page.explored()}
    assert {(mark.recipe, mark.clause, mark.test) for mark in proof.marks} == listed


def test_every_recipe_is_on_the_page_or_that_of_its_pattern(proof: Any) -> None:
    text, homes = page.render(), recipes_on_pages()
    assert {name for name in proof.recipes if (name in homes) == (f"\n## {name}\n" in text)} == set()


def test_a_limit_is_stated_once() -> None:
    with_entry = {name for each in ENTRIES if each.kind != "guidance" for name in each.classes}
    stated = {name for name, limit in tomllib.loads(page.LIMITS.read_text(encoding="utf-8")).items() if "not" in limit}
    assert stated & with_entry == set()
    texts = [row[:2] for row in page.limits_of_recipes() if not row[2]]
    assert len(set(texts)) == len(texts)


def test_every_limit_is_listed_with_its_schedule(proof: Any) -> None:
    stated = {(name, text) for name in proof.recipes for text in proof.limits[name]["not"]}
    rows = list(page.limits_of_recipes())
    assert stated <= {row[:2] for row in rows}
    named = {limit["test"] for limit in proof.limits.values() if "test" in limit}
    assert {row[-1] for row in rows if row[-2]} == named


def test_what_was_recorded_is_of_tests_that_are_there(proof: Any) -> None:
    gone = [test for test in proof.record if f"def {test.rpartition('::')[2]}(" not in _text(test)]
    assert gone == [], AGAIN


def _text(test: str) -> str:
    path = ROOT / test.partition("::")[0]
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_whatever_is_guaranteed_something_is_not(proof: Any) -> None:
    assert set(proof.recipes) - proof.limits.keys() == set()


def test_every_limit_that_names_a_schedule_has_one(proof: Any) -> None:
    named = [limit["test"] for limit in proof.limits.values() if "test" in limit]
    assert named
    assert all(proof.found(test) for test in named), AGAIN


def test_every_recipe_has_a_broken_variant_that_is_found(proof: Any) -> None:
    """But for two, whose variants stand with the other recipe of their file."""
    assert {recipe for recipe in proof.recipes if not proof.broken(recipe)} == SHOWN_WITH
