"""The page on encrypted properties: every example in it runs."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "patterns" / "encrypted_properties.md"


def test_the_examples_pass() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 5
    assert found.failed == 0
