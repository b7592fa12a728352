"""The page on reviews: the format of designs, the rules, and the report's schema, from the package."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, Literal, Union, get_args, get_origin

from tablepatterns.catalog import entry
from tablepatterns.key import Key
from tablepatterns_review.report.json import members
from tablepatterns_review.result import Reviewed
from tablepatterns_review.rules import RULES
from tools import DATA
from tools.pages.data_file import DataFile
from tools.pages.design_format import patterns_of_tables
from tools.pages.markdown import INTRODUCTIONS

PAGE = "docs/review.md"
EXAMPLE = DATA / "review_example"
NAMES: dict[Any, str] = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    type(None): "null",
    Key: "object",
}


def render() -> str:
    """Return the page."""
    text = (INTRODUCTIONS / "review.md").read_text(encoding="utf-8")
    parts = {
        "example": EXAMPLE.with_suffix(".toml").read_text(encoding="utf-8").strip(),
        "patterns": patterns_of_tables(),
        "count": str(len(RULES)),
    }
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    return text


def _report_keys() -> Iterator[tuple[str, str]]:
    """Yield the keys of the report in JSON, with the types and meanings of their values."""
    for key, value in _json(Reviewed, ""):
        yield key.strip("`"), value


REPORT_KEYS = DataFile("docs/data/review-report.tsv", ("Key", "Value"), _report_keys)


def rules() -> Iterator[tuple[str, ...]]:
    """Yield the rules: what each finds, the pattern that is often better, and its severity."""
    for each in RULES.values():
        yield each.name, each.finds, entry(each.pattern).title if each.pattern else "", each.severity


RULE_TABLE = DataFile("docs/data/review-rules.tsv", ("Rule", "It finds", "Often better", "Severity"), rules)


def _json(kind: Any, above: str) -> Iterator[tuple[str, str]]:
    """Yield each key with the type of its value, followed by the keys below it."""
    described = re.findall(r":param (\w+): ((?:.|\n(?!:))+)", inspect.cleandoc(kind.__doc__ or ""))
    texts = {name: " ".join(text.split()) for name, text in described}
    for key, name, hint in members(kind):
        path = f"{above}.{key}" if above else key
        is_list = get_origin(hint) is tuple
        inner = get_args(hint)[0] if is_list else hint
        described_as = texts.get(name) or _property_text(kind, name)
        if not described_as and is_dataclass(inner):
            described_as = _first_line(inner)
        yield f"`{path}`", ": ".join(filter(None, [_words(hint), described_as]))
        if is_dataclass(inner) and inner is not kind:
            yield from _json(inner, f"{path}[]" if is_list else path)


def _property_text(kind: type, name: str) -> str:
    member = getattr(kind, name, None)
    return _first_line(member).rstrip(".") if isinstance(member, property) else ""


def _first_line(described: object) -> str:
    return (inspect.getdoc(described) or "").partition("\n")[0].rstrip(".")


def _words(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"list of {_words(get_args(kind)[0])}"
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_words, get_args(kind))))
    if get_origin(kind) is not None or is_dataclass(kind):
        return "text" if get_origin(kind) is Literal else "object"
    return NAMES.get(kind, "text")
