"""The documentation of design files, from the declared types: the keys of each table, and the patterns it may name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from tablepatterns_review.design_file.format import TABLES
from tablepatterns_review.toml_file import bare, meanings
from tools.pages.data_file import DataFile
from tools.pages.markdown import table


def patterns_of_tables() -> str:
    """Return a table of the patterns that each table of a file may name."""
    named = {name: dict.fromkeys(each for kind in kinds for each in _patterns(kind)) for name, kinds in TABLES.items()}
    rows = [(f"`{name}`", ", ".join(f"`{each}`" for each in patterns)) for name, patterns in named.items() if patterns]
    return table(("Table", "`pattern`"), rows)


def _patterns(kind: type[Any]) -> tuple[str, ...]:
    return get_args(get_type_hints(kind).get("pattern"))


def _keys() -> Iterator[tuple[str, ...]]:
    """Yield the keys of each table, without those of the type that it extends."""
    for name, kinds in TABLES.items():
        for number, kind in enumerate(kinds):
            inherited = kinds[0] if number and issubclass(kind, kinds[0]) else object
            known = {each.name for each in fields(inherited)} if is_dataclass(inherited) else set[str]()
            meaning_of, hints = meanings(kind), get_type_hints(kind)
            for each in fields(kind):
                if each.name in meaning_of and each.name not in known:
                    spelled = _spelled(hints[each.name]), _default(each), meaning_of[each.name]
                    yield name, ", ".join(_patterns(kind)), each.name, *spelled


KEYS: Final = DataFile("docs/data/design-keys.tsv", ("Table", "Pattern", "Key", "Type", "Default", "Meaning"), _keys)


def _default(each: Any) -> str:
    if each.default is MISSING or each.default in (None, (), ""):
        return ""
    return str(each.default).lower() if isinstance(each.default, bool) else str(each.default)


def _spelled(kind: Any) -> str:
    kind = bare(kind)
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    if kind in _TYPES:
        return _TYPES[kind]
    if get_origin(kind) is tuple:
        return "array of strings" if get_args(kind)[0] is str else "array of tables"
    return "table"


_TYPES: Final[Mapping[Any, str]] = {
    str: "string", int: "integer", float: "number", bool: "boolean", Any: "string or table", date: "date",
}  # fmt: skip
