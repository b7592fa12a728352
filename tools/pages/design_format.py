"""The documentation of design files: a table of keys for each of their tables, from the declared types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from tablepatterns_review.design_file.format import TABLES
from tablepatterns_review.toml_file import bare, meanings


def as_markdown() -> str:
    """Return the documentation of the format: a table of keys for each table of a file.

    >>> as_markdown().splitlines()[2:5:2]
    ['| key | type | default | meaning |', '| `name` | string |  | the title of the report |']
    """
    parts: list[str] = []
    for table, kinds in TABLES.items():
        parts += [f"### `{table}`" if table != "The file" else f"### {table}", ""]
        for number, kind in enumerate(kinds):
            if len(kinds) > 1:
                parts += [(kind.__doc__ or "").splitlines()[0], ""]
            inherited = kinds[0] if number and issubclass(kind, kinds[0]) else object
            parts += [*_documented(kind, inherited), ""]
    return "\n".join(parts)


def _documented(kind: type[Any], inherited: type[Any]) -> list[str]:
    """Return a Markdown table of the keys of a type, without those of the type that it extends."""
    meaning_of, hints = meanings(kind), get_type_hints(kind)
    known = {each.name for each in fields(inherited)} if is_dataclass(inherited) else set[str]()
    # The text before the table names a required pattern
    own = [each for each in fields(kind) if each.name in meaning_of and each.name not in known]
    rows = [
        ["", f"`{each.name}`", _spelled(hints[each.name]), _default(each), meaning_of[each.name], ""] for each in own
    ]
    return ["| key | type | default | meaning |", "|---|---|---|---|", *(" | ".join(row).strip() for row in rows)]


def _default(each: Any) -> str:
    if each.default is MISSING or each.default in (None, (), ""):
        return ""
    return f"`{str(each.default).lower() if isinstance(each.default, bool) else each.default}`"


def _spelled(kind: Any) -> str:
    kind = bare(kind)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(kind))
    if kind in _TYPES:
        return _TYPES[kind]
    if is_dataclass(kind):
        return "table"
    if get_origin(kind) is tuple:
        return "array of strings" if get_args(kind)[0] is str else "array of tables"
    return "table" if get_origin(kind) is not None else "see below"


_TYPES: Final[Mapping[Any, str]] = {
    str: "string", int: "integer", float: "number", bool: "boolean", Any: "string or table", date: "date",
}  # fmt: skip
