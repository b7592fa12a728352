"""The page on testing one's own code: every example in it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.plugin_options import STRICT
from tablepatterns_engine.faults import Faults

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing-your-own-code.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_examples_for_pytest_pass(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "patterns"))
    for number, example in enumerate(EXAMPLES):
        named = re.match(r"# (\w+)\.py$", example, re.MULTILINE)
        pytester.makepyfile(**{named[1] if named else f"test_example_{number}": example})
    result = pytester.runpytest_inprocess("-p", "pytest_tablepatterns", *STRICT)
    result.assert_outcomes(passed=TEXT.count("def test_"))


def test_every_fault_is_explained() -> None:
    verbs = {name for name, member in vars(Faults).items() if getattr(member, "__annotations__", {}).get("where")}
    assert verbs - {"add"} == set(re.findall(r"^\| `(\w+)\(", TEXT, re.MULTILINE))
