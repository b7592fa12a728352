"""The page on traffic and plans: every example runs, and every member is documented."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from support.plugin_options import STRICT
from tablepatterns.traffic import Traffic

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "costs.md"
TEXT = PAGE.read_text(encoding="utf-8")
PLUMBING = {"take", "wants"}


def test_the_examples_for_the_console_pass() -> None:
    assert TEXT.count("```pycon") == 6
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0


def test_the_example_for_pytest_passes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "patterns"))
    (example,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    pytester.makepyfile(example)
    pytester.runpytest_inprocess("-p", "pytest_tablepatterns", *STRICT).assert_outcomes(passed=1)


def test_every_word_of_traffic_is_reported_of() -> None:
    documented = set(re.findall(r"`(\w+)(?:\(.*?\))?`", TEXT))
    assert {name for name in vars(Traffic) if not name.startswith("_")} - PLUMBING <= documented
