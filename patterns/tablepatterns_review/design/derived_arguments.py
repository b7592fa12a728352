"""Derived data as the arguments that make it: it is changed by them, and written to a design file or as Python."""

from __future__ import annotations

from inspect import signature
from typing import Any, TypeVar

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InPartition
from tablepatterns.key import Key
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.summary import Summary

DerivedT = TypeVar("DerivedT", bound=Derived)


def arguments_of(derived: Derived, primary: Key) -> dict[str, Any]:
    """Return the arguments that make derived data of a set, without defaults; `fields` are positional.

    :param primary: the key of the set's entities
    """
    kind: Any = type(derived)
    defaults = {name: parameter.default for name, parameter in signature(kind).parameters.items()}
    arguments = {name: _argument(derived, name, primary) for name in defaults}
    return {name: value for name, value in arguments.items() if value != defaults[name]}


def rebuilt(derived: DerivedT, primary: Key, **changes: Any) -> DerivedT:
    arguments = arguments_of(derived, primary) | changes
    return type(derived)(*arguments.pop("fields", ()), **arguments)


def _argument(derived: Any, name: str, primary: Key) -> Any:
    match name:
        case "key":
            return _declared_key(derived, primary)
        case "include":
            return None if derived.include is None else sorted(derived.include)
        case "sums":
            return derived.sums or None
        case "store":
            return None if isinstance(derived.placement, InPartition) else derived.placement
        case "table":
            return derived.placement.name
        case "unique":
            return derived.is_unique
        case "ids" | "members":
            return derived.key_list.name
        case _:
            return getattr(derived, name)


def _declared_key(derived: Any, primary: Key) -> Key | None:
    """Return the declared key, without the number of a row if each value has several; None for that of the fields."""
    if isinstance(derived, IndexEntity):
        layout, default = derived.layout(primary), IndexEntity(*derived.fields, spread=derived.spread)
        if layout == default.layout(primary) and set(derived.reads) == set(default.reads):
            return None
    elif isinstance(derived, Summary):
        layout = derived.layout
    else:
        key: Key = derived.key
        return key
    row = layout.row_template.rpartition("_{")[0] if derived.spread > 1 else layout.row_template
    return Key(layout.partition_template, row, max_units=layout.max_units)
