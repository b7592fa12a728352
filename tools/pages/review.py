"""The page on reviews: what a design is declared by, the rules, and the report's schema, from the package itself."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from tablepatterns.catalogue import entry
from tablepatterns.review.design.format import as_markdown
from tablepatterns.review.report.json import ReviewJson
from tablepatterns.review.rules import RULES
from tools import DATA
from tools.pages.markdown import table

PAGE = "docs/review.md"
EXAMPLE = DATA / "review_example"
NAMES = {str: "text", int: "number", float: "number", bool: "true or false", type(None): "null"}


def render() -> str:
    """Return the page."""
    text = (DATA / "introductions" / "review.md").read_text(encoding="utf-8")
    parts = {
        "example": EXAMPLE.with_suffix(".toml").read_text(encoding="utf-8").strip(),
        "python": EXAMPLE.with_suffix(".py").read_text(encoding="utf-8").strip(),
        "keys": as_markdown().strip(),
        "count": str(len(RULES)),
        "rules": _rules(),
        "json": table(("Key", "Value"), _json(ReviewJson, "")),
    }
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    return text


def _rules() -> str:
    return table(
        ("Rule", "It finds", "It is", "Better, most of the time"),
        [(f"`{each.name}`", each.finds, each.severity, _pattern(each.pattern)) for each in RULES],
    )


def _pattern(name: str | None) -> str:
    return f"{entry(name).title} (`{name}`)" if name else ""


def _json(kind: Any, above: str) -> Iterator[tuple[str, str]]:
    """Hand out each key with what its value is, those of what it holds beneath it."""
    for key, value in get_type_hints(kind).items():
        path = f"{above}.{key}" if above else key
        yield f"`{path}`", _words(value)
        inner = get_args(value)[0] if get_origin(value) is list else value
        if is_typeddict(inner):
            yield from _json(inner, f"{path}[]" if get_origin(value) is list else path)


def _words(kind: Any) -> str:
    if is_typeddict(kind):
        return inspect.cleandoc(kind.__doc__ or "").replace("\n", " ")
    if get_origin(kind) is list:
        return f"list: {_words(get_args(kind)[0])}"
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(map(_words, get_args(kind)))
    return NAMES[kind]
