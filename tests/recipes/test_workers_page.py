"""The page on workers: every example of the console in it runs."""

from __future__ import annotations

import doctest
import re
from dataclasses import fields
from pathlib import Path

from tablepatterns.messages.delivery import Observer
from tablepatterns.recipes.worker import Report

PAGE = Path(__file__).parents[2] / "docs" / "workers.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_examples_for_the_console_pass() -> None:
    assert TEXT.count("```pycon") == 2
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0


def test_the_page_explains_every_outcome_and_observer_method() -> None:
    documented = {*re.findall(r"`(\w+)`", TEXT)}
    assert {each.name for each in fields(Report)[1:]} <= documented
    assert {name for name in vars(Observer) if not name.startswith("_")} <= documented
