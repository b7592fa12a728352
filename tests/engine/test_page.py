"""The page on the in-memory account without the recipes: its examples run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "in-memory-storage.md"


def test_the_examples_run() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 10
    assert outcome.failed == 0


def test_the_example_for_pytest_passes(pytester: pytest.Pytester) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (code_under_test,) = re.findall(r"^>>> def register.*?(?=^>>> )", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    source = "\n".join(line[4:] for line in code_under_test.splitlines())
    pytester.makepyfile(f"import os\nfrom azure.data.tables import TableClient\n{source}\n{example}")
    pytester.runpytest("-q").assert_outcomes(passed=1)
