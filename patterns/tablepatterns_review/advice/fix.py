"""Make a change in a design file, whose comments and order stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

import tomlkit

from tablepatterns.errors import BadInput

from .changes import Change


def fixed_text(text: str, change: Change) -> str:
    """Return the text of a design file with a change.

    :param text: the design file, which can be read
    :raises BadInput: it has no set of this name
    """
    document: Any = tomlkit.parse(text)
    tables = [*cast("list[Any]", document.get("set", [])), *cast("list[Any]", document.get("blob_log", []))]
    table = next((table_of_set for table_of_set in tables if table_of_set.get("name") == change.set), None)
    if table is None:
        raise BadInput("set", change.set, "the file has no set of this name", "give the file that was reviewed")
    if change.moved_to is not None:
        _move(document, change.set, change.moved_to)
        return tomlkit.dumps(document)
    plain: dict[str, Any] = {name: table[name].unwrap() for name in ("derived", "mappings") if name in table}
    before = deepcopy(plain)
    edited = _Edited(table, plain)
    change.edit(edited)
    for name in ("derived", "mappings"):
        _write_array(table, name, before.get(name, []), plain.get(name, []))
    return tomlkit.dumps(document)


def _move(document: Any, name: str, log: Mapping[str, Any]) -> None:
    """Replace the table of a set by that of a blob log."""
    sets: Any = document["set"]
    for at in [at for at, set_table in enumerate(sets) if set_table.get("name") == name]:
        del sets[at]
    if not sets:
        document.remove("set")
    if "blob_log" not in document:
        document.append("blob_log", tomlkit.aot())
    made: Any = tomlkit.table()
    for key, value in log.items():
        if not isinstance(value, list):
            made[key] = value
    made.add(tomlkit.nl())
    for key in ("write", "read"):
        if accesses := cast("list[Mapping[str, Any]]", log[key]):
            made[key] = tomlkit.aot()
            for access in accesses:
                of: Any = tomlkit.table()
                of.update(access)
                of.add(tomlkit.nl())
                made[key].append(of)
    document["blob_log"].append(made)


class _Edited(dict[str, Any]):
    """The table of a set, whose arrays of tables are plain lists while a change is made."""

    def __init__(self, table: Any, plain: dict[str, Any]) -> None:
        super().__init__()
        self._table, self._plain = table, plain

    def _home(self, name: str) -> Any:
        return self._plain if name in ("derived", "mappings") else self._table

    def __getitem__(self, name: str) -> Any:
        return self._home(name)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._home(name)[name] = _inline(value) if self._home(name) is self._table else value

    def __delitem__(self, name: str) -> None:
        del self._home(name)[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self._home(name).get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        return self._home(name).pop(name, *default)


def _inline(value: Any) -> Any:
    """Return a value as a file has it: tables, such as keys, on one line."""
    if not isinstance(value, Mapping):
        return value
    table: Any = tomlkit.inline_table()
    table.update({name: _inline(item) for name, item in cast("Mapping[str, Any]", value).items()})
    return table


def _write_array(table: Any, name: str, before: list[Any], after: list[Any]) -> None:
    """Make an array of tables what it is after a change; tables that stay are not touched."""
    if before == after:
        return
    there = table.get(name)
    array: Any = tomlkit.aot() if there is None else there
    if len(before) == len(after):
        for item, old, new in zip(array, before, after, strict=True):
            for key in [*old, *(key for key in new if key not in old)]:
                if key not in new:
                    item.pop(key)
                elif old.get(key) != new[key]:
                    item[key] = _inline(new[key])
        return
    kept: list[Any] = [array[at] for at, item in enumerate(before) if item in after] if there is not None else []
    made = [item for item in after if item not in before]
    rebuilt: Any = tomlkit.aot()
    for each in kept:
        rebuilt.append(each)
    for each in made:
        added: Any = tomlkit.table()
        for key, value in each.items():
            added[key] = _inline(value)
        added.add(tomlkit.nl())
        rebuilt.append(added)
    if name in table:
        table.pop(name)
    if after:
        table[name] = rebuilt
