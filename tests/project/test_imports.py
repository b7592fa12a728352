"""Imports point down: ordered layers, no cycles of files or of folders, and a pattern's inner files are its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from support.parsed import nodes_of

SOURCE = Path(__file__).parents[2] / "patterns"
MODULES = sorted(SOURCE.rglob("*.py"))

LAYERS = (
    ("errors", "limits", "figures", "cost", "extras", "batches"),
    ("argument_types", "connection"),
    ("edm",),
    ("entity", "key", "filters"),
    ("declared_rows", "same_value", "set_identity", "typed_json"),
    ("models",),
    ("catalog",),
    ("tablepatterns_engine",),
    ("traffic",),
    ("sdk",),
    ("recipe",),
    ("rate_limit", "retry"),
    ("messages",),
    ("entity_set",),
    ("jobs", "inventory"),
    ("recipes",),
    ("tablepatterns_transfer",),
    ("account", "storage", "aio"),
    ("testing",),
    ("tablepatterns_explore",),
    ("tablepatterns_review",),
    ("__init__", "pytest_tablepatterns"),
    ("cli", "__main__", "tablepatterns_review.cli", "tablepatterns_review.mcp_server", "tablepatterns_transfer.cli"),
)
"""From the bottom up. A module imports modules of its own layer and of the layers below."""
NEVER = (
    (
        "tablepatterns_engine",
        ("recipe", "messages", "models", "sdk", "entity", "entity_set", "key", "recipes", "traffic", "catalog"),
    ),
    ("tablepatterns_explore", ("entity_set", "messages", "models", "recipes", "catalog")),
    ("traffic", ("tablepatterns_engine",)),
    ("sdk", ("tablepatterns_engine", "catalog")),
    ("recipe", ("tablepatterns_engine", "catalog")),
    ("rate_limit", ("tablepatterns_engine", "catalog")),
    ("retry", ("tablepatterns_engine", "catalog")),
    ("messages", ("tablepatterns_engine", "catalog")),
    ("entity_set", ("tablepatterns_engine", "catalog")),
    ("jobs", ("tablepatterns_engine", "catalog")),
    ("recipes", ("tablepatterns_engine", "catalog")),
    ("tablepatterns_transfer", ("tablepatterns_engine", "catalog")),
)
"""What a module does not import although it lies below: the engine and the recipes do not know each other."""


def dotted(path: Path) -> str:
    """Return a module's full name; a package's is that of its folder."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {dotted(path): path for path in MODULES}
FOLDERS = sorted({path.parent for path in MODULES if path.parent != SOURCE})


def imported(text: str, module: str, *, is_package: bool = False) -> Iterator[str]:
    """Yield the full name of everything that a module imports, at any place in it."""
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = [*module.split("."), *(["__init__"] if is_package else [])]
            above = parts[: -node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{name.name}" for name in node.names)


def own_imports(text: str, module: str, *, is_package: bool = False) -> set[str]:
    """Return the modules of the package that a module's text imports."""
    found = set()
    for name in imported(text, module, is_package=is_package):
        if name.split(".")[0].startswith("tablepatterns"):
            found.add(name if name in NAMES else name.rpartition(".")[0])
    return found - {module}


def part(module: str) -> str:
    """Return which part a module belongs to: another package, or the file or folder right under `tablepatterns`."""
    package, first = [*module.split("."), "__init__"][:2]
    if package != "tablepatterns":
        # The commands of a package are part of the command line
        return module if first in ("cli", "mcp_server") else package
    return first if any(first in layer for layer in LAYERS) else "__init__"


def layer(module: str) -> int:
    """Return the height of a module's layer."""
    return next(height for height, parts in enumerate(LAYERS) if part(module) in parts)


def pattern(module: str) -> str:
    """Return the package of the pattern that a module belongs to; empty where there is none."""
    parts = module.split(".")
    return ".".join(parts[:3]) if parts[1:2] == ["recipes"] and len(parts) > 3 else ""


def part_imports(texts: Mapping[str, str], folder: str) -> Mapping[str, set[str]]:
    """Return what the files and folders right inside a folder import of each other."""
    depth = folder.count(".") + 1
    graph: dict[str, set[str]] = {}
    for module, text in texts.items():
        names = [name.split(".") for name in own_imports(text, module) if name.startswith(f"{folder}.")]
        own = module.split(".")[depth]
        graph.setdefault(own, set()).update(name[depth] for name in names if name[depth] != own)
    return graph


def broken_rules(text: str, module: str, *, is_package: bool = False) -> list[str]:
    """Return what a module imports that it may not."""
    forbidden = dict(NEVER).get(part(module), ())
    return [
        name
        for name in sorted(own_imports(text, module, is_package=is_package))
        if layer(name) > layer(module) or part(name) in forbidden or is_inner(name, module)
    ]


def is_inner(name: str, module: str) -> bool:
    """Whether a module imports a file of another pattern that defines no public name."""
    home = pattern(name)
    return bool(home) and home != pattern(module) and name not in public_files()


@cache
def public_files() -> frozenset[str]:
    """Return the modules that define public names, as `tablepatterns/__init__.pyi` lists them."""
    init = SOURCE / "tablepatterns" / "__init__.pyi"
    return frozenset(own_imports(init.read_text(encoding="utf-8"), "tablepatterns", is_package=True))


def private_azure(text: str, module: str) -> list[str]:
    """Return what a module imports from the private parts of the SDK."""
    names = [name.split(".") for name in imported(text, module)]
    return [".".join(name) for name in names if name[0] == "azure" and any(step.startswith("_") for step in name)]


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the modules that can be reached from themselves, those of each cycle together."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        found, left = set[str](), [*graph[start]]
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += graph.get(name, ())
        reach[start] = found
    groups = {frozenset({a, *(b for b in reach[a] if a in reach.get(b, ()))}) for a in graph if a in reach[a]}
    return sorted(sorted(group) for group in groups)


@pytest.mark.parametrize("path", MODULES, ids=dotted)
class TestEveryModule:
    def test_imports_only_from_its_own_layer_and_below(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert broken_rules(text, dotted(path), is_package=path.stem == "__init__") == []

    def test_uses_only_public_names_of_the_sdk(self, path: Path) -> None:
        assert private_azure(path.read_text(encoding="utf-8"), dotted(path)) == []


def test_no_modules_import_each_other_in_a_cycle() -> None:
    graph = {
        module: own_imports(path.read_text(encoding="utf-8"), module, is_package=path.stem == "__init__")
        for module, path in NAMES.items()
        # The public names are imported when they are first used
        if module != "tablepatterns"
    }
    assert cycles(graph) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=dotted)
def test_no_parts_of_a_folder_import_each_other_in_a_cycle(folder: Path) -> None:
    files = {name: path for name, path in NAMES.items() if folder in path.parents and path.stem != "__init__"}
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    assert cycles(part_imports(texts, dotted(folder))) == []


def test_a_cycle_of_folders_is_found_where_no_files_form_one() -> None:
    texts = {
        "tablepatterns_engine.http.errors": "from ..tables.json import Level",
        "tablepatterns_engine.tables.json": "from ..account import Engine",
        "tablepatterns_engine.tables.api": "from ..http.errors import ErrorWriter",
    }
    assert cycles(part_imports(texts, "tablepatterns_engine")) == [["http", "tables"]]


def test_a_cycle_is_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("tablepatterns.limits", "from . import recipe"),
        ("tablepatterns.key.template", "from tablepatterns_engine.tables import state"),
        ("tablepatterns_engine.http.api", "from tablepatterns.recipe import finish"),
        ("tablepatterns_engine.tables.service", "import tablepatterns.storage"),
        ("tablepatterns.recipes.log_tail", "def later():\n    from tablepatterns_engine.account import Engine"),
        ("tablepatterns.recipe", "from . import connect"),
        ("tablepatterns.catalog", "from .recipes.log_tail import LogTail"),
        ("tablepatterns.recipes.log_tail", "from ..catalog import entry"),
        ("tablepatterns.entity_set.entity_set", "from ..recipes.summary import Summary"),
        ("tablepatterns.recipes.log_tail", "from .blob_log.writer import Buffer"),
    ],
)
def test_a_wrong_import_is_found_in_every_spelling(module: str, text: str) -> None:
    assert len(broken_rules(text, module)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "from azure.data.tables._models import TableEntity",
        "import azure.core._match_conditions",
        "from azure.data.tables import _deserialize",
    ],
)
def test_a_private_import_is_found_in_every_spelling(text: str) -> None:
    assert len(private_azure(text, "tablepatterns.sdk.table")) == 1
