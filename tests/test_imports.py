"""Who may know whom: what a module is for can be trusted only while these rules hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "patterns"
MODULES = sorted(SOURCE.rglob("*.py"))

PURE = {"argument_types", "edm", "limits", "errors", "extras", "key", "filters"}
ENGINE = {"engine"}
JOINERS = {"__init__", "__main__", "storage", "aio", "testing", "cli"}
SHOWS = {"tour", "review"}
ADVICE = {"catalogue"}
ADVISED = {"review", "cli"}
CORE = {"words", "writing", "reading", "deriving", "eventual", "tending", "working"}
"""What recipes are built on."""
RECIPES = {"recipes"}


def dotted(path: Path) -> str:
    """Return the module's full name; a package's ends with `__init__`."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def imported(text: str, module: str) -> Iterator[str]:
    """Return the full name of everything that the module's text imports, wherever in the text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{name.name}" for name in node.names)


def part(name: str) -> str:
    """Return which part of the package a full name belongs to: the file or folder right under it."""
    first = [*name.split("."), "__init__"][1]
    known = (SOURCE / "tablepatterns" / first).is_dir() or (SOURCE / "tablepatterns" / f"{first}.py").is_file()
    return first if known else "__init__"


def may_know(knower: str, known: str) -> bool:
    """Tell whether one part of the package may import another; a part with no rule of its own is a recipe.

    What recipes are built on knows none of them.
    The joiners bring recipes and engine together. A show uses both as any user would, by the public names.
    The catalogue is data about recipes: it needs none of them, and none needs it.
    """
    if knower in PURE:
        return known in PURE
    if knower in ENGINE:
        return known in PURE | ENGINE
    if knower in CORE and known in RECIPES:
        return False
    if knower in ADVICE:
        return known in ADVICE | {"errors", "limits"}
    if known in ADVICE:
        return knower in ADVISED
    if knower in SHOWS:
        return known not in ENGINE
    return knower in JOINERS or known not in ENGINE | JOINERS | SHOWS


def broken_rules(text: str, module: str) -> list[str]:
    """Return what the module imports that it may not know."""
    own = [name for name in imported(text, module) if name.split(".")[0] == "tablepatterns"]
    return [name for name in own if not may_know(part(module), part(name))]


def private_azure(text: str, module: str) -> list[str]:
    """Return what the module imports from the private parts of the SDK."""
    names = [name.split(".") for name in imported(text, module)]
    return [".".join(name) for name in names if name[0] == "azure" and any(step.startswith("_") for step in name)]


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_module_knows_only_what_it_may(path: Path) -> None:
    assert broken_rules(path.read_text(encoding="utf-8"), dotted(path)) == []


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_module_reaches_into_private_parts_of_the_sdk(path: Path) -> None:
    assert private_azure(path.read_text(encoding="utf-8"), dotted(path)) == []


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("tablepatterns.limits", "from . import recipe"),
        ("tablepatterns.key.template", "from ..engine.tables import Tables"),
        ("tablepatterns.engine.rest.__init__", "from ...recipe import finish"),
        ("tablepatterns.engine.tables", "import tablepatterns.storage"),
        ("tablepatterns.recipes.log_tail", "def later():\n    from tablepatterns.engine.account import Engine"),
        ("tablepatterns.recipe", "from . import connect"),
        ("tablepatterns.catalogue.find", "from ..recipes.log_tail import LogTail"),
        ("tablepatterns.recipes.log_tail", "from ..catalogue import entry"),
        ("tablepatterns.tour.load", "from tablepatterns.engine.account import Engine"),
        ("tablepatterns.reading.lookups", "from ..recipes.summary import Summary"),
    ],
)
def test_an_import_across_the_house_is_seen_in_every_spelling(module: str, text: str) -> None:
    assert len(broken_rules(text, module)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "from azure.data.tables._models import TableEntity",
        "import azure.core._match_conditions",
        "from azure.data.tables import _deserialize",
    ],
)
def test_a_private_import_is_seen_in_every_spelling(text: str) -> None:
    assert len(private_azure(text, "tablepatterns.words.table")) == 1
