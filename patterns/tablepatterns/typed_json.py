"""Typed JSON: an entity as text that reads back with the same types, in the service's own notation.

Types that JSON lacks are stated in another member, such as `"Salary@odata.type": "Edm.Int64"`. Property names cannot
contain `@`, so there are no conflicts.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Any, Final

from .edm import FROM_JSON, KINDS, Ticks, type_of
from .entity import typed
from .errors import BadInput, message_of

VERSION: Final = 1
_TYPE: Final = "@odata.type"


def encoded(keys: tuple[str, str], properties: Mapping[str, Any]) -> bytes:
    """Return an entity as JSON in UTF-8; equal entities give equal bytes.

    >>> encoded(("Sales", "223"), {"Age": 34})
    b'{"v":1,"PartitionKey":"Sales","RowKey":"223","properties":{"Age":34}}'
    """
    fields: dict[str, Any] = {}
    for name, value in sorted(properties.items()):
        kind, fields[name] = _typed_value(typed(name, value))
        if kind:
            fields[name + _TYPE] = kind
    document = {"v": VERSION, "PartitionKey": keys[0], "RowKey": keys[1], "properties": fields}
    return json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def decoded(content: bytes, keys: tuple[str, str], where: str) -> dict[str, Any]:
    """Return the properties of the entity with these keys that `encoded` wrote; `where` names it in errors."""
    try:
        document = json.loads(content)
        if document["v"] != VERSION or (document["PartitionKey"], document["RowKey"]) != keys:
            raise ValueError(f"it is not version {VERSION} of the entity {keys}")
        fields: dict[str, Any] = document["properties"]
        return {name: _read(value, fields.get(name + _TYPE)) for name, value in fields.items() if "@" not in name}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        rule = f"it does not hold an archived entity as it was written ({message_of(error)})"
        raise BadInput(where, content[:40], rule, "find out what overwrote it") from error


def _typed_value(value: Any) -> tuple[str | None, Any]:
    if isinstance(value, datetime):
        value = Ticks.of(value)
    kind = KINDS[type_of(value)]
    if kind.from_json is None or (isinstance(value, float) and isfinite(value)):
        # JSON has it as it is
        return None, value
    return kind.edm, json.loads(kind.to_json(value))


def _read(value: Any, kind: str | None) -> Any:
    if kind == "Edm.Binary":
        return b64decode(value, validate=True)
    return value if kind is None else FROM_JSON[kind](value)
