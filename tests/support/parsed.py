"""Syntax trees, parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache


@cache
def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a source, which tests only read."""
    return ast.parse(text)


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a source."""
    return tuple(ast.walk(parsed(text)))
