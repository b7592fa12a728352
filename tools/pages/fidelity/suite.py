"""Read the tests of this repository, without running them, and their exclusions of Azurite."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Deviation(NamedTuple):
    """A difference between Azurite and the service."""

    name: str
    reason: str


@dataclass(frozen=True)
class Test:
    """A test.

    :param deviations: the reasons why it does not run on Azurite
    :param on_azurite: whether it runs there
    """

    deviations: tuple[Deviation, ...]
    on_azurite: bool


@lru_cache
def deviations(root: Path) -> dict[str, Deviation]:
    """Return the deviations of the conformance tests, by the names of their marks."""
    found: dict[str, Deviation] = {}
    for node in _tree(root / "tests/conformance/deviations.py").body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = Deviation(*map(ast.literal_eval, node.value.args))
    return found


@lru_cache
def exclusions(root: Path) -> list[tuple[str, Deviation]]:
    """Return the exclusions of the comparison of random operations, each with its file."""
    found: list[tuple[str, Deviation]] = []
    for path in sorted((root / "tests/differential").rglob("*.py")):
        for node in _tree(path).body:
            if isinstance(node, ast.FunctionDef) and (reason := _excluded(node)) is not None:
                name = path.relative_to(root).as_posix()
                found.append((name, Deviation(node.name.replace("_", " "), reason)))
    return found


def test_files(folder: Path) -> list[Path]:
    """Return the test files in a folder and its subfolders, in order."""
    # The packages from npm are many, and not ours
    return sorted(path for path in folder.rglob("test_*.py") if "node_modules" not in path.parts)


@lru_cache
def tests(root: Path, files: frozenset[str]) -> dict[str, Test]:
    """Return the tests of these files, if they exist, by their pytest names, without parameters."""
    known = deviations(root)
    return {
        f"{file}::{name}": test
        for file in files
        if (root / file).exists()
        for name, test in _tests_in(root / file, known)
    }


def _tests_in(path: Path, known: dict[str, Deviation]) -> Iterator[tuple[str, Test]]:
    tree = _tree(path)
    compared = "conformance" in path.parts and not _uses_engine(tree)
    for node in tree.body:
        within = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        for each in within:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and each.name.startswith("test_"):
                marks = tuple(_marks(each, known))
                alone = "engine" in {argument.arg for argument in each.args.args}
                yield prefix + each.name, Test(marks, compared and not marks and not alone)


def _uses_engine(tree: ast.Module) -> bool:
    """Return whether all tests of a file run on the in-memory engine."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            return "usefixtures('engine')" in ast.unparse(node.value)
    return False


def _marks(test: Function, known: dict[str, Deviation]) -> Iterator[Deviation]:
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id in known:
            yield known[decorator.id]


def _excluded(function: ast.FunctionDef) -> str | None:
    """Return the reason of an exclusion that a function defines; None for any other function."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and decorator.args and isinstance(decorator.args[0], ast.Constant):
            called = ast.unparse(decorator.func).rpartition(".")[2].strip("_")
            if called in ("excuse", "withhold"):
                return str(decorator.args[0].value)
    return None


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
