"""What is special about a pattern is in its module of `kinds`, which rules and measurements ask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tablepatterns_review
from tablepatterns_review.kinds import KINDS

SOURCE = Path(tablepatterns_review.__file__).parent
NAMES_PATTERNS = {
    "design_file/format.py": "the tables of a design file, of which pydantic makes the parser and the schema",
    "design/model.py": "the default of a declared set",
}
"""The other files that name a pattern, and why."""


def named(path: Path) -> Iterator[str]:
    """Yield the patterns that a file names; rules name the pattern in the catalog that they recommend."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    recommended = {
        id(keyword.value) for node in ast.walk(tree) if isinstance(node, ast.Call) for keyword in node.keywords
    }
    advised = {id(node) for call in ast.walk(tree) if isinstance(call, ast.Call) for node in call.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in KINDS and id(node) not in recommended | advised:
            yield f"{path.name}:{node.lineno}: {node.value}"


def test_only_kinds_name_a_pattern() -> None:
    files = {str(path.relative_to(SOURCE)).replace("\\", "/"): list(named(path)) for path in SOURCE.rglob("*.py")}
    naming = {name: lines for name, lines in files.items() if lines and not name.startswith("kinds/")}
    assert set(naming) == set(NAMES_PATTERNS), naming


def test_each_kind_has_a_table_in_design_files() -> None:
    from tablepatterns_review.design_file.format import schema

    spelled = str(schema())
    assert [pattern for pattern in KINDS if f"'{pattern}'" not in spelled] == []
