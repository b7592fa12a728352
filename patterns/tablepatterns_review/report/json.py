"""Write a review as JSON: the fields of the model, and figures that are computed from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from math import isfinite
from typing import Any, Final, cast, get_type_hints

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.mapping import PropertyMapping
from tablepatterns.filters import QueryClass
from tablepatterns.key import Key

from ..design.model import DeclaredSet, Query, Write
from ..result import AccessT_co, Reviewed, Severity
from .formatting import SEVERITIES

SCHEMA: Final = 5
"""The version of the JSON format."""
_DIGITS: Final = 6


def as_json(reviewed: Reviewed) -> str:
    """Return the report as indented JSON with a final line break; the same review gives the same bytes."""
    return json.dumps(document(reviewed), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def document(reviewed: Reviewed) -> dict[str, Any]:
    return {"schema": SCHEMA, **_object(reviewed)}


def members(kind: type) -> Iterator[tuple[str, str, Any]]:
    """Yield the JSON keys of a class of the model, each with its attribute and its type: `str` if shown by its name.

    The keys are the names of its fields, unless marked with another key or None, and the properties in `IN_JSON`.
    A part of the design is shown by its name.
    """
    hints = get_type_hints(kind)
    for field in fields(kind):
        key = field.metadata.get("json", field.name)
        if key is not None:
            is_part = hints[field.name] in (DeclaredSet, Query | Write, AccessT_co)
            yield key, field.name, str if is_part else hints[field.name]
    shown: Mapping[str, str] = getattr(kind, "IN_JSON", {})
    for key, name in shown.items():
        yield key, name, get_type_hints(getattr(kind, name).fget)["return"]


def _object(value: object) -> dict[str, Any]:
    return {key: _member(getattr(value, name), kind) for key, name, kind in members(type(value))}


def _member(value: Any, kind: Any) -> Any:
    # A part of the design, which JSON refers to by its name
    return value.name if kind is str and not isinstance(value, str) else _plain(value)


def _plain(value: Any) -> Any:
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
            return {name: _plain(item) for name, item in found.items()}
        case Sequence():
            items: Sequence[Any] = value  # pyright: ignore[reportUnknownVariableType]
            return [_plain(item) for item in items]
        case _ if is_dataclass(value):
            return _object(value)
        case _:
            return str(value)


def figure(value: float | None) -> float | None:
    """Return a number with six significant digits, an integer if it is whole; None if it is infinite."""
    if value is None or not isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded == int(rounded) else rounded
