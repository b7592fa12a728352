"""Write a review as JSON: the fields of the result's model, and the figures that follow from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from math import isfinite
from typing import Any, Final, cast, get_type_hints

from ...entity_set.derived import Derived
from ...entity_set.mapping import PropertyMapping
from ...filters import QueryClass
from ...key import Key
from ..model import Reviewed, Severity
from .formatting import SEVERITIES

SCHEMA: Final = 2
"""The version of the report's keys."""
_DIGITS: Final = 6


def as_json(reviewed: Reviewed) -> str:
    """Return the report in JSON, indented, with a line break at its end.

    Guarantees: the same review gives the same bytes.

    Cost: nothing.

    :param reviewed: what `review` found out
    """
    return json.dumps(document(reviewed), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def document(reviewed: Reviewed) -> dict[str, Any]:
    """Return the report as dictionaries, lists, texts and figures."""
    return {"schema": SCHEMA, **_object(reviewed)}


def members(kind: type) -> Iterator[tuple[str, str, Any]]:
    """Yield the keys of a class of the model in JSON, with the attributes that they show, and the attributes' types.

    What is referred to by its name is a text.

    These are its fields, except those that are marked with another key or none, and the properties in its `IN_JSON`.
    """
    hints = get_type_hints(kind)
    for each in fields(kind):
        key = each.metadata.get("json", each.name)
        if key is not None:
            yield key, each.name, str if each.metadata.get("by_name") else hints[each.name]
    shown: Mapping[str, str] = getattr(kind, "IN_JSON", {})
    for key, name in shown.items():
        yield key, name, get_type_hints(getattr(kind, name).fget)["return"]


def _object(value: object) -> dict[str, Any]:
    return {key: _member(getattr(value, name), kind) for key, name, kind in members(type(value))}


def _member(value: Any, kind: Any) -> Any:
    # What is a text in JSON and not in the model is a part of the design
    return value.name if kind is str and not isinstance(value, str) else _plain(value)


def _plain(value: Any) -> Any:
    """Return a value of the model as JSON has it."""
    match value:
        case Severity():
            return SEVERITIES[value]
        case QueryClass():
            return value.label
        case Enum():
            return value.value
        case bool() | int() | str() | None:
            return value
        case float():
            return figure(value)
        case date():
            return value.isoformat()
        case Key():
            return {"partition": value.partition_template, "row": value.row_template}
        case Derived() | PropertyMapping():
            return value.name
        case Mapping():
            found = cast("Mapping[str, Any]", value)
            return {name: _plain(each) for name, each in found.items()}
        case Sequence():
            items: Sequence[Any] = value  # pyright: ignore[reportUnknownVariableType]
            return [_plain(each) for each in items]
        case _ if is_dataclass(value):
            return _object(value)
        case _:
            return str(value)


def figure(value: float | None) -> float | None:
    """Return a figure with six significant digits, whole where it is; null where it has no bound."""
    if value is None or not isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded == int(rounded) else rounded
