"""The README: its table and figures match the pages, its links work, and its example is short."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from defusedxml.ElementTree import parse
from tools.pages import readme as page

from tablepatterns.catalog import ENTRIES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_figure_is_found_on_its_page() -> None:
    assert set(page.figures()) == set(page.FIGURES)
    assert all(figure in TEXT for figure in page.figures().values())


def test_the_table_has_every_pattern_of_the_catalog_with_its_class() -> None:
    rows = {row.split("|")[1].strip(" []").partition("]")[0]: row for row in page.patterns().splitlines()[2:]}
    wanted = {each.title: each.classes for each in ENTRIES if each.modules and each.kind != "anti-pattern"}
    assert set(rows) == set(wanted)
    assert [title for title, names in wanted.items() if f"`{names[0]}`" not in rows[title]] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "examples/README.md"])
def test_every_link_leads_to_a_file(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link}
    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []


def test_the_example_takes_about_thirty_lines() -> None:
    examples = doctest.DocTestParser().get_examples(TEXT)
    lines = sum(example.source.count("\n") for example in examples)
    assert 25 <= lines <= 36


def test_the_picture_is_one_and_its_words_are_text() -> None:
    picture = parse(ROOT / "docs" / "images" / "one-write-three-rows.svg").getroot()
    words = " ".join(picture.itertext())
    assert "one entity group transaction" in words
    assert "prefers-color-scheme: dark" in words
