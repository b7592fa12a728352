"""The fields of a key, passed as an instance of a class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from ..errors import BadInput


def record_fields(record: object) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass or a NamedTuple, or of an instance; empty for anything else."""
    if is_dataclass(record):
        return tuple(field.name for field in fields(record))
    return cast("tuple[str, ...]", getattr(record, "_fields", ()))


def as_mapping(key: object) -> Mapping[str, Any]:
    """Return the fields of a key that a call got as one mapping, or as one instance with fields."""
    if isinstance(key, Mapping):
        return cast("Mapping[str, Any]", key)
    if names := record_fields(key):
        return {name: getattr(key, name) for name in names}
    rule = f"the fields of a key are passed as one mapping or as keywords, not as {type(key).__name__}"
    raise BadInput("key", key, rule, 'write {"Department": "Sales"} or Department="Sales"')
