"""Read the fields of a key, passed as a mapping or as keywords, and the condition of a write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from .errors import BadInput, BadKey
from .key.key import record_fields
from .sdk.operation import ANY, weak_etag

T = TypeVar("T")


def as_mapping(key: object) -> Mapping[str, Any]:
    """Return the fields of a key that a call got as one mapping, or as one instance with fields."""
    if isinstance(key, Mapping):
        return cast("Mapping[str, Any]", key)
    if names := record_fields(key):
        return {name: getattr(key, name) for name in names}
    rule = f"the fields of a key are passed as one mapping or as keywords, not as {type(key).__name__}"
    raise BadInput("key", key, rule, 'write {"Department": "Sales"} or Department="Sales"')


def fields_of(key: object, keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a key; those in the mapping cannot clash with parameters of the call."""
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


def condition_of(etag: str | None, *, force: bool) -> str | None:
    """Return the ETag that a write is conditional on, `ANY` for an unconditional one; None for that of what was read.

    The service's ETags are weak, and HTTP headers spell them with or without quotes, so each spelling will do.
    """
    if etag is None:
        return ANY if force else None
    if force:
        raise BadInput("etag", etag, "a write is conditional or unconditional, not both", "give one of the two")
    weak = weak_etag(etag) if isinstance(etag, str) else ""
    opaque = weak[3:-1]
    if not opaque or opaque == ANY or '"' in opaque or not (opaque.isascii() and opaque.isprintable()):
        rule = "it is a single ETag, as in `Entity.etag` and the If-Match header"
        raise BadInput("etag", etag, rule, 'to overwrite any version, also instead of "*", pass force=True')
    return weak
