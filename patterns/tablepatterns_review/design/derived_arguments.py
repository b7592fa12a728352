"""Derived data as the arguments that make it: it is changed by them, and written to a design file or as Python."""

from __future__ import annotations

from inspect import signature
from typing import Any, TypeVar

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InPartition
from tablepatterns.key import Key
from tablepatterns.recipes.summary import Summary

DerivedT = TypeVar("DerivedT", bound=Derived)


def arguments_of(derived: Derived) -> dict[str, Any]:
    """Return the arguments that make derived data, without defaults; `fields` are positional."""
    kind: Any = type(derived)
    defaults = {name: parameter.default for name, parameter in signature(kind).parameters.items()}
    arguments = {name: _argument(derived, name) for name in defaults}
    return {name: value for name, value in arguments.items() if value != defaults[name]}


def rebuilt(derived: DerivedT, **changes: Any) -> DerivedT:
    arguments = arguments_of(derived) | changes
    return type(derived)(*arguments.pop("fields", ()), **arguments)


def _argument(derived: Any, name: str) -> Any:
    match name:
        case "key" if isinstance(derived, Summary):
            # Without the number of a row if a group has several
            layout = derived.layout
            row = layout.row_template.rpartition("_{")[0] if derived.spread > 1 else layout.row_template
            return Key(layout.partition_template, row, max_units=layout.max_units)
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
