"""The API reference lists every public name once, and no others."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from typing import Any, get_origin

import pytest

import tablepatterns
from support.page_programs import DOCS
from tablepatterns.catalog import ENTRIES

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md")}
ON_OTHER_PAGES = {"prop", "parse", "QueryClass"}
"""Of `filters`, on the page of sets: they are names of the package too."""
OF_KIND = {"pattern": "patterns", "relationship": "relationships", "implementation": "implementations"}


def documented(module: str = "tablepatterns") -> Counter[str]:
    return Counter(re.findall(rf"^\.\. auto\w+:: {module}\.(\w+)$", "\n".join(PAGES.values()), re.MULTILINE))


def test_every_public_name_is_documented_once_and_no_other() -> None:
    modules = {"errors", "limits"}
    assert documented() == Counter([*tablepatterns.__all__, *modules])


@pytest.mark.parametrize(
    "module_name", ["tablepatterns.testing", "tablepatterns.filters", "tablepatterns_engine", "tablepatterns_explore"]
)
def test_every_name_of_a_public_module_is_documented(module_name: str) -> None:
    module: Any = importlib.import_module(module_name)
    # A TypeAlias has nothing to document but its name; before Python 3.11, some are instances of type
    members = {name: getattr(module, name) for name in module.__all__}
    classes = {name for name, member in members.items() if isinstance(member, type) and not get_origin(member)}
    kept = {name for name in members if name.islower() or name in classes}
    aliases = {"Value"}
    assert set(documented(module_name)) >= kept - ON_OTHER_PAGES - aliases


@pytest.mark.parametrize("kind", OF_KIND)
def test_a_class_is_on_the_page_of_its_kind(kind: str) -> None:
    wanted = {name for each in ENTRIES if each.kind == kind for name in each.classes}
    assert [name for name in sorted(wanted) if not re.search(rf":: tablepatterns\.{name}$", _near(kind), re.M)] == []


def _near(kind: str) -> str:
    return PAGES[OF_KIND[kind]] + PAGES["sets"] + PAGES["review"]
