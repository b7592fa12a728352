"""How the site's extension formats docstrings."""

from __future__ import annotations

import doctest

from tools.sphinx_extensions import docstrings


def test_the_examples_of_the_extension_are_true() -> None:
    assert doctest.testmod(docstrings) == (0, 2)


def test_a_table_of_markdown_is_a_table() -> None:
    shown = docstrings.shown(["| a | b |", "|---|---|", "| 1 |   |"])
    assert shown[3:7] == ["   * - a", "     - b", "   * - 1", "     - "]


def test_a_drawn_tree_is_shown_as_it_is() -> None:
    assert docstrings.shown(["One.", "", "  a", "  ├── b"])[2:6] == ["::", "", "  a", "  ├── b"]


def test_code_with_a_backslash_is_no_link() -> None:
    assert docstrings.shown(["an `\\` in it, and `Key`"])[0] == "an ``\\`` in it, and `Key`"
