"""The project's own rules: names, versions, docstrings, sizes."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations
from pathlib import Path

import pytest

import tablepatterns
from support import azurite_server
from support.parsed import nodes_of, parsed

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "patterns"
MODULES = sorted(SOURCE.rglob("*.py"))
TEXTS = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path.read_text(encoding="utf-8")
    for path in MODULES
}
"""The sources of all modules, by their names."""
TESTS = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if "node_modules" not in path.parts)
MAX_LINES_OF_A_FILE = 600
MAX_LINES_OF_A_FUNCTION = 40


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines the function's body has, its docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_the_package_offers_its_listed_names_and_no_others() -> None:
    modules = {found.name for found in pkgutil.iter_modules(tablepatterns.__path__)}
    assert {name for name in dir(tablepatterns) if not name.startswith("_")} - modules == set(tablepatterns.__all__)


def test_the_version_is_that_of_the_newest_heading_of_the_changelog() -> None:
    version = re.search(r'^version = "(.+)"$', read("pyproject.toml"), re.MULTILINE)
    newest = re.search(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)
    assert version
    assert newest
    assert newest[1] == version[1] == tablepatterns.__version__


def test_docker_compose_starts_the_azurite_that_the_tests_are_made_for() -> None:
    pinned = json.loads(read("tests/azurite/package.json"))["dependencies"]["azurite"]
    assert f"image: mcr.microsoft.com/azure-storage/azurite:{pinned}\n" in read("docker-compose.yml")


def test_docker_compose_gives_it_the_options_of_the_tests_and_its_three_ports() -> None:
    compose = read("docker-compose.yml")
    options = re.findall(r"--(?!\w+Port)\w+(?: \d+)?", " ".join(azurite_server.OPTIONS))
    assert "--tableKeepAliveTimeout 600" in options
    assert [option for option in options if option not in compose] == []
    assert re.findall(r'"127\.0\.0\.1:(\d+):\1"', compose) == ["10000", "10001", "10002"]


@pytest.mark.parametrize("folder", ["azurite", "node"])
def test_a_lock_file_names_no_registry_but_the_public_one(folder: str) -> None:
    resolved = re.findall(r'"resolved": "(.+)"', read(f"tests/{folder}/package-lock.json"))
    assert [url for url in resolved if not url.startswith("https://registry.npmjs.org/")] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_every_make_command_that_a_document_names_exists(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", read(document), re.MULTILINE))
    assert named
    assert named <= targets


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name, text in TEXTS.items() if not ast.get_docstring(parsed(text))] == []


def test_every_module_has_each_name_that_it_lists_as_public_and_lists_it_once() -> None:
    for name in TEXTS:
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", [])
        assert [each for each in listed if not hasattr(module, each)] == [], name
        assert len(set(listed)) == len(listed), name


def test_every_module_is_short_enough_to_be_one_idea() -> None:
    long = {name: text for name, text in TEXTS.items() if len(text.splitlines()) > MAX_LINES_OF_A_FILE}
    assert [name for name, text in long.items() if "Over 600 lines on purpose:" not in text[:400]] == []


def test_every_function_of_a_module_can_be_read_at_once() -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [(name, node) for name, text in TEXTS.items() for node in nodes_of(text) if isinstance(node, functions)]
    assert [
        f"{name}.{each.name}: {lines_of(each)} lines"
        for name, each in found
        if lines_of(each) > MAX_LINES_OF_A_FUNCTION
    ] == []


def test_nothing_is_left_to_be_written() -> None:
    """With these words `make recipe` marks what is missing."""
    words = re.compile(r"\bwrite[ ]me\b", re.IGNORECASE)
    left = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for name in ("patterns", "tests", "docs", "notebooks", "examples", "benchmarks")
        for path in texts_below(ROOT / name)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line) and path.name != "test_new_recipe.py"
    ]
    assert not left, "\n".join(left)


def texts_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in {"node_modules", "_build"}:
            yield from texts_below(path)
        elif path.suffix in {".py", ".md", ".toml", ".ipynb"}:
            yield path


def test_no_test_is_written_twice() -> None:
    # Only what is called the same and as long can be the same
    named = {path: re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text("utf-8"), re.MULTILINE) for path in TESTS}
    repeated = {name for name, count in Counter(chain(*named.values())).items() if count > 1}
    found: dict[tuple[str, int], list[tuple[str, ast.AST]]] = {}
    for path in TESTS:
        if repeated.isdisjoint(named[path]):
            continue
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and each.name in repeated:
                found.setdefault((each.name, lines_of(each)), []).append(
                    (f"{path.relative_to(ROOT)}::{each.name}", each)
                )
    twice = [places for places in found.values() if len(places) > 1]
    assert [
        [one[0], other[0]]
        for places in twice
        for one, other in combinations(places, 2)
        if ast.dump(one[1]) == ast.dump(other[1])
    ] == []


def test_every_file_of_tests_is_short_enough_to_be_one_idea() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in TESTS}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES_OF_A_FILE} == {}
