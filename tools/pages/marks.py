"""Read the tests that are marked with a guarantee, without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.pages.fidelity.suite import test_files


class Mark(NamedTuple):
    """A test, and the guarantee of a recipe that it proves.

    :param path: the path of its file, from the root
    :param test: its pytest name, without parameters
    """

    recipe: str
    clause: str
    path: str
    test: str


@cache
def marks(root: Path, kind: str = "guarantee") -> tuple[Mark, ...]:
    """Return all marks, ordered by file and line.

    :param kind: `guarantee`, or `broken` for deliberately broken variants, which have no clause
    """
    return tuple(mark for path in test_files(root / "tests") for mark in _in(path, root, kind))


def _in(path: Path, root: Path, kind: str) -> Iterator[Mark]:
    text = path.read_text(encoding="utf-8")
    if f"mark.{kind}" not in text:
        return
    tree, name = ast.parse(text), path.relative_to(root).as_posix()
    constants = _constants(tree)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == f"pytest.mark.{kind}":
                    recipe, *clause = (_text(argument, constants) for argument in decorator.args)
                    yield Mark(recipe, "".join(clause), name, f"{name}::{node.name}")


def _constants(tree: ast.Module) -> dict[str, str]:
    """Return the string constants of a module, which marks may use."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = _text(node.value, found)
            except ValueError:
                continue
    return found


def _text(node: ast.AST, constants: dict[str, str]) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, constants) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, constants)
    raise ValueError(f"no text that is known without running it: {ast.unparse(node)}")
