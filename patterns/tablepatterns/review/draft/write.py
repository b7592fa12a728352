"""Write a draft of a design as a design file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, cast

import tomlkit

from ..design.model import Field
from .from_table import Draft, DraftSet

_WIDTH: Final = 118


def design_text(draft: Draft) -> str:
    """Return a draft as the text of a design file; what is a guess is said in comments.

    :param draft: the draft
    """
    document: Any = tomlkit.document()
    for note in draft.notes:
        _comment(document, note)
    document["name"] = draft.name
    sets: Any = tomlkit.aot()
    for each in draft.sets:
        sets.append(_set(each))
    document["set"] = sets
    text: str = tomlkit.dumps(document)
    return text


def _comment(container: Any, text: str) -> None:
    line = ""
    for word in text.split():
        if line and len(line) + len(word) >= _WIDTH:
            container.add(tomlkit.comment(line))
            line = ""
        line = f"{line} {word}" if line else word
    container.add(tomlkit.comment(line))


def _set(draft: DraftSet) -> Any:
    found: Any = tomlkit.table()
    for note in draft.notes:
        _comment(found, note)
    found["name"] = draft.name
    if (draft.table or draft.rows.table) != draft.name:
        found["table"] = draft.table or draft.rows.table
    if draft.pattern is not None:
        found["pattern"] = draft.pattern
    for name, value in draft.settings.items():
        found[name] = value
    found["key"] = _inline(draft.key)
    found["count"] = draft.count
    if draft.growth:
        found["growth"] = draft.growth
    found["fields"] = _fields(draft.fields)
    for name, tables in (
        ("derived", draft.derived),
        ("mappings", draft.mappings),
        ("query", draft.queries),
        ("write", draft.writes),
    ):
        if tables:
            found[name] = _array(tables)
    return found


def _fields(given: Mapping[str, Field]) -> Any:
    found: Any = tomlkit.table()
    for name, each in given.items():
        found[name] = _inline(_declared(each))
    return found


def _declared(given: Field) -> dict[str, Any]:
    """Return what differs from the defaults."""
    sized = given.type in ("string", "binary")
    found = {
        each.name: getattr(given, each.name) for each in fields(given) if getattr(given, each.name) != each.default
    }
    return {name: value for name, value in found.items() if sized or name not in ("size", "largest")}


def _array(tables: Sequence[Mapping[str, Any]]) -> Any:
    found: Any = tomlkit.aot()
    for each in tables:
        table: Any = tomlkit.table()
        for name, value in each.items():
            if name == "notes":
                for note in value:
                    _comment(table, note)
            else:
                table[name] = _inline(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        found.append(table)
    return found


def _inline(given: Mapping[str, Any]) -> Any:
    found: Any = tomlkit.inline_table()
    found.update(given)
    return found
