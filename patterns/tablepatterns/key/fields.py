"""The fields of a key, passed as keywords, as a mapping or as an instance of a class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

from ..errors import BadInput, BadKey

T = TypeVar("T")


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


def fields_of(key: object, keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a key that a call got as one mapping, as keywords, or some as either.

    Field names in the mapping cannot clash with parameters of the call.
    """
    if key is None:
        return keywords
    key_fields = as_mapping(key)
    for name in keywords:
        if name in key_fields:
            raise BadKey(name, keywords[name], "the mapping has the field too", "pass each field once")
    return {**key_fields, **keywords}


def via_and_fields(
    via: T | Mapping[str, Any] | None, key: Mapping[str, Any] | None, keywords: Mapping[str, Any]
) -> tuple[T | None, Mapping[str, Any]]:
    """Return what may come first in a call, such as an index, and the fields; the fields may come first as well."""
    if not isinstance(via, Mapping):
        return via, fields_of(key, keywords)
    if key is not None:
        raise BadInput("key", key, "the call has the fields as a mapping already", "pass one mapping")
    return None, fields_of(cast("Mapping[str, Any]", via), keywords)
