"""Typed JSON: an entity as text that reads back with the same types, in the service's own notation.

Types that JSON lacks are stated in another member, such as `"Salary@odata.type": "Edm.Int64"`. Property names cannot
contain `@`, so there are no conflicts.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Any, Final
from uuid import UUID

from .edm import FROM_JSON, Int64, Ticks
from .entity import typed
from .errors import BadInput, message_of

VERSION: Final = 1
_TYPE: Final = "@odata.type"


def encoded(keys: tuple[str, str], properties: Mapping[str, Any]) -> bytes:
    """Return an entity as JSON in UTF-8; equal entities give equal bytes.

    >>> encoded(("Sales", "000223"), {"Salary": Int64(5_000)})
    b'{"v":1,"PartitionKey":"Sales","RowKey":"000223","properties":{"Salary":"5000","Salary@odata.type":"Edm.Int64"}}'
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
    if isinstance(value, Int64):
        return "Edm.Int64", str(int(value))
    if isinstance(value, Ticks):
        return "Edm.DateTime", value.iso()
    if isinstance(value, datetime):
        return "Edm.DateTime", Ticks.of(value).iso()
    if isinstance(value, UUID):
        return "Edm.Guid", str(value)
    if isinstance(value, bytes):
        return "Edm.Binary", b64encode(value).decode()
    if isinstance(value, float) and not isfinite(value):
        return "Edm.Double", str(value)
    return None, value


def _read(value: Any, kind: str | None) -> Any:
    if kind == "Edm.Binary":
        return b64decode(value, validate=True)
    return value if kind is None else FROM_JSON[kind](value)
