"""Make a change in a design file, whose comments and order stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import tomlkit

from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.errors import BadInput
from tablepatterns.key import Key

from ..design.model import Retention
from .changes import Change, DerivedChange


def fixed_text(text: str, change: Change) -> str:
    document: Any = tomlkit.parse(text)
    sets = cast("list[Any]", document.get("set", []))
    table = next((table for table in sets if table.get("name") == change.set), None)
    if table is None:
        raise BadInput("set", change.set, "the file has no set of this name", "give the file that was reviewed")
    _edit(table, change)
    return tomlkit.dumps(document)


def _edit(table: Any, change: Change) -> None:
    _set_values(table, {**change.values, **change.settings})
    for name, values in change.fields.items():
        table["fields"][name] = _inline(values)
    for access in [*table.get("query", []), *table.get("write", [])]:
        access.update(change.access.get(access["name"], {}))
    if change.derived is not None:
        _edit_derived(table, change.derived)
    if change.mapping is not None:
        _write_array(table, "mappings", [*table.get("mappings", []), _new_table(change.mapping[1])])


def _set_values(table: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, Retention):
            table["retention"]["by"] = value.by
        elif value is not None:
            table[name] = _inline(value)
        elif name in table:
            table.remove(name)


def _edit_derived(table: Any, change: DerivedChange) -> None:
    items = list(table.get("derived", []))
    if change.name is None:
        _write_array(table, "derived", [*items, _new_table(change.table)])
    elif change.new is None:
        del items[change.at]
        _write_array(table, "derived", items)
    else:
        item = items[change.at]
        for name in [name for name in item if name not in change.table]:
            item.remove(name)
        _set_values(item, {name: value for name, value in change.table.items() if item.get(name) != _inline(value)})


def _write_array(table: Any, name: str, items: list[Any]) -> None:
    """Write an array of tables; they are put together again, since tomlkit misplaces what is appended to one."""
    if name in table:
        table.remove(name)
    if items:
        array: Any = tomlkit.aot()
        array.extend(items)
        table[name] = array


def _new_table(values: Mapping[str, Any]) -> Any:
    table: Any = tomlkit.table()
    table.update({name: _inline(value) for name, value in values.items()})
    table.add(tomlkit.nl())
    return table


def _inline(value: Any) -> Any:
    """Return a value as a file has it: tables, such as keys, on one line, and whole numbers without a point."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case None:
            # A summary without a count
            return ""
        case tuple() | list():
            return [*cast("Sequence[Any]", value)]
        case InTable():
            return "table"
        case Key():
            return _inline({"partition": value.partition_template, "row": value.row_template})
        case InBlobs():
            return _inline({"container": value.container})
        case Mapping():
            table: Any = tomlkit.inline_table()
            table.update({name: _inline(item) for name, item in cast("Mapping[str, Any]", value).items()})
            return table
        case _:
            return value
