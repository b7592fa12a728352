"""Shared rows: how rows that several entities have a part in are spread, and written on condition of what was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from ..edm import entity_size
from ..entity import Entity
from ..errors import LimitExceeded
from ..key import Key
from ..limits import MAX_ENTITY_BYTES
from ..words.operation import ANY, Operation, plain
from .derived import Keys

PART: Final = "ListPart"
"""The field that numbers the rows which one list is spread over."""
_OVERHEAD: Final = 256
"""More than the properties take that every stored row has besides its own."""


@lru_cache
def spread_key(key: Key) -> Key:
    """Return the key of rows of which there are several for each value."""
    return Key(key.partition_template, f"{key.row_template}_{{{PART}:03d}}", max_units=key.max_units)


def part_of(primary: Keys, spread: int) -> int:
    """Return in which of so many rows an entity has its part, by a hash of its keys.

    The number is SHA-256 of both keys with a `#` between them, in UTF-8; of which the first eight bytes, as a
    big-endian number, modulo `spread`.
    """
    digest = sha256("#".join(primary).encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") % spread


def rewriting(keys: Keys, row: Entity | None, properties: Mapping[str, Any]) -> Operation | None:
    """Return the write that makes a row hold these properties and no others, or removes it where there are none."""
    if row is None:
        return Operation.insert(with_keys(keys, properties)) if properties else None
    etag = row.etag or ANY
    write = Operation.replace(with_keys(keys, properties), etag) if properties else Operation.delete(*keys, etag)
    return replace(write, lineage=row.lineage)


def merging(keys: Keys, row: Entity | None, properties: Mapping[str, Any]) -> Operation:
    """Return the write that makes a row hold these properties besides what it holds."""
    if row is None:
        return Operation.insert(with_keys(keys, properties))
    written = with_keys(keys, properties)
    return replace(Operation.merge(written, row.etag or ANY, becomes={**row, **written}), lineage=row.lineage)


def with_keys(keys: Keys, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a row with its keys."""
    return {**properties, "PartitionKey": keys[0], "RowKey": keys[1]}


def check_size(name: str, keys: Keys, properties: Mapping[str, Any], way_out: str) -> None:
    """Refuse a row that its list makes too large.

    :param name: what the error calls it
    :raises LimitExceeded: it is
    """
    size = entity_size(*keys, plain(properties))
    if size + _OVERHEAD > MAX_ENTITY_BYTES:
        rule = "the entities that it lists fill a row (1 MiB)"
        raise LimitExceeded(f"{name} {keys}, in bytes", size, rule, way_out)
