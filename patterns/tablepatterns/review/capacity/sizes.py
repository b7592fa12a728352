"""Compute the stored bytes of a declared set's entities, including their derived rows.

The sum is that which the service bills capacity by (`entity_size`): strings and keys in UTF-16, and for each property
its name. Each row has the id of its last write besides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ...entity import WRITE_ID
from ...entity_set.derived import Derived
from ...entity_set.mapping import PropertyMapping, header_of, stored_size
from ...entity_set.shared_rows import PART
from ...key import Key
from ...limits import MAX_CUSTOM_PROPERTIES
from ...write_id import MAX_WRITE_IDS
from ..design.model import DeclaredSet, Field, FieldType
from ..key_parts import pieces_of
from .load import key_of

_FIXED: Final[Mapping[FieldType, int]] = {
    "int32": 4, "int64": 8, "double": 8, "boolean": 1, "datetime": 8, "guid": 16,
}  # fmt: skip
_TEXTS: Final[Mapping[FieldType, int]] = {"int32": 11, "int64": 20, "datetime": 28, "guid": 36, "boolean": 5}
_POINTS: Final = MAX_CUSTOM_PROPERTIES - 1
"""How many points of a series one row holds."""


@dataclass(frozen=True)
class Sizes:
    """What one entity takes in one row, in bytes.

    :param row: the row, with its keys
    :param blobs: what of it is in blobs
    :param in_blobs: the names of the fields that are
    :param most: the row at its largest
    :param properties: how many properties it has, without the three that the service makes
    :param value: the largest of its values that are texts or bytes; 0 for none
    :param payload: the bytes of a request that writes the row at its largest: JSON, and binary values in Base64
    """

    row: float
    blobs: float
    in_blobs: frozenset[str]
    most: float
    properties: int
    value: int
    payload: float = 0.0


def primary_sizes(declared: DeclaredSet) -> Sizes:
    """Return what an entity takes in its primary row."""
    return _sizes(declared, declared.key, set(declared.shape.fields).difference(declared.key.fields))


def rows_of(declared: DeclaredSet) -> int:
    """Return in how many rows an entity lies: a series that is split has one for each 251 points."""
    points = declared.settings.get("points")
    if declared.pattern != "data_series" or not declared.settings.get("split") or not isinstance(points, int):
        return 1
    return max(1, math.ceil(points / _POINTS))


def derived_sizes(declared: DeclaredSet, derived: Derived) -> Sizes | None:
    """Return what an entity takes in a row of its own among derived rows; None where it shares one with others."""
    layout = declared.profile(derived).layout
    if layout is None:
        return None
    held = {name for name in declared.shape.fields if layout.holds(name)}
    return _sizes(declared, layout.key, held, copies=True)


def entry_size(declared: DeclaredSet, derived: Derived) -> float:
    """Return the bytes that an entity takes in a list which it shares with others; 0 where there is none."""
    profile = declared.profile(derived)
    if not profile.lists_keys:
        return 0.0
    partition, row = key_units(declared.key, declared.shape.fields)
    units = partition + row + 2 if derived.is_eventual else row + 1
    # A summary notes beside each what it adds: one for the count, and its numbers
    note = 2 + 8 * (profile.numbers - 1) if profile.numbers else 0
    return 2.0 * (units + note)


def list_size(declared: DeclaredSet, derived: Derived) -> float:
    """Return the bytes that the row of a list takes beside its entries."""
    key = key_of(derived, declared.key)
    units = sum(key_units(key, declared.shape.fields)) if key else 0
    totals = len(declared.profile(derived).totals)
    return 4 + 2 * units + 8 + 2 * 7 + 4 + _write_id(1) + totals * (8 + 2 * 12 + 8)


def key_units(key: Key, fields: Mapping[str, Field], *, largest: bool = False) -> tuple[int, int]:
    """Return the UTF-16 units of a PartitionKey and a RowKey.

    :param largest: of the longest there are, in place of the usual ones
    """
    return _units(key.partition_template, fields, largest), _units(key.row_template, fields, largest)


def value_bytes(field: Field, *, largest: bool = False) -> int:
    """Return the bytes that a value takes in a row."""
    size = field.size if not largest or field.largest is None else field.largest
    if field.type == "string":
        return 4 + 2 * size
    return 4 + size if field.type == "binary" else _FIXED[field.type]


def _units(template: str, fields: Mapping[str, Field], largest: bool) -> int:
    return sum(len(piece.literal) + _text(piece.name, piece.width, fields, largest) for piece in pieces_of(template))


def _text(name: str | None, width: int | None, fields: Mapping[str, Field], largest: bool) -> int:
    """Return how many characters a field takes in a key."""
    if name is None or width is not None:
        return width or 0
    field = fields.get(name)
    if field is None:
        return 3 if name == PART else 16
    if field.type in _TEXTS:
        return _TEXTS[field.type]
    return field.size if not largest or field.largest is None else field.largest


def _sizes(declared: DeclaredSet, key: Key, held: set[str], *, copies: bool = False) -> Sizes:
    """Return what a row takes that holds some of the fields as properties."""
    fields = declared.shape.fields
    kept = {name: _kept(declared, name, fields[name]) for name in held}
    extra = _of_pattern(declared) if not copies else {}
    headers = {name: 4 + size for each in declared.mappings for name, size in header_of(each, held).items()}
    header = sum(headers.values())
    names = [*kept, *extra, *headers]
    overhead = sum(8 + 2 * len(name) for name in names) + header + sum(extra.values())
    usual, most = (4 + 2 * sum(key_units(key, fields, largest=largest)) + overhead for largest in (False, True))
    return Sizes(
        row=usual + sum(row for row, _, _ in kept.values()) + _write_id(1),
        blobs=0.0 if copies else sum(blob for _, blob, _ in kept.values()),
        in_blobs=frozenset(name for name, (_, blob, _) in kept.items() if blob),
        most=most + sum(largest for _, _, largest in kept.values()) + _write_id(MAX_WRITE_IDS),
        properties=len(names) + 1,
        payload=_payload(declared, key, {name: largest for name, (_, _, largest) in kept.items()}) + header / 2,
        value=max((largest - 4 for name, (_, _, largest) in kept.items() if _may_be_long(declared, name)), default=0),
    )


_OPERATION: Final = 650
"""Bytes of one write in a transaction besides its entity: the headers of its part, and the id of the write."""
_JSON: Final[Mapping[FieldType, int]] = {
    "int32": 11, "int64": 22, "double": 24, "boolean": 5, "datetime": 30, "guid": 38,
}  # fmt: skip
_ANNOTATED: Final = ("int64", "datetime", "guid", "binary")
_ANNOTATION: Final = 28


def _payload(declared: DeclaredSet, key: Key, largest: Mapping[str, int]) -> float:
    """Return the bytes of a request for a row whose values take so many bytes in the table."""
    total = float(_OPERATION + 2 * sum(key_units(key, declared.shape.fields, largest=True)))
    for name, stored in largest.items():
        kind = declared.shape.fields[name].type
        is_sealed = _is_sealed(declared, name)
        if is_sealed or kind == "binary":
            value = 2 + 4 * math.ceil((stored - 4) / 3)
        else:
            # Strings are sent in UTF-8, of which a character usually is one byte
            value = _JSON.get(kind, 2 + (stored - 4) // 2)
        annotation = _ANNOTATION + len(name) if is_sealed or kind in _ANNOTATED else 0
        total += len(name) + 4 + value + annotation
    return total


def _may_be_long(declared: DeclaredSet, name: str) -> bool:
    return _is_sealed(declared, name) or declared.shape.fields[name].type in ("string", "binary")


def _is_sealed(declared: DeclaredSet, name: str) -> bool:
    return any(each.keeps_secret and name in each.fields for each in declared.mappings)


def _kept(declared: DeclaredSet, name: str, field: Field) -> tuple[float, float, int]:
    """Return the bytes of a value in the row, in a blob, and in the row where it is largest."""
    usual, most = value_bytes(field), value_bytes(field, largest=True)
    blob, is_text = 0, field.type == "string"
    address = len(declared.table) + len(name) + sum(key_units(declared.key, declared.shape.fields, largest=True))
    for mapping in sorted(declared.mappings, key=lambda each: each.order):
        if name in mapping.fields:
            usual, blob = _mapped(mapping, usual, is_text, address)
            most = max(usual, _mapped(mapping, most, is_text, address)[0])
            is_text = is_text and not mapping.keeps_secret
    return float(usual), float(blob), most


def _mapped(mapping: PropertyMapping, size: int, is_text: bool, address: int) -> tuple[int, int]:
    """Return the bytes of a value in the row and in a blob, both with what tells its length in the row."""
    row, blob = stored_size(mapping, size - _LENGTH, is_text=is_text, address=address)
    return _LENGTH + row, blob


_LENGTH: Final = 4


def _of_pattern(declared: DeclaredSet) -> dict[str, int]:
    """Return the properties that a recipe adds to the declared ones: the points of a series, in one row."""
    points = declared.settings.get("points") if declared.pattern == "data_series" else None
    if not isinstance(points, int):
        return {}
    name, kind = str(declared.settings.get("name", "Point")), str(declared.settings.get("of", "int"))
    size = {"bool": 1, "float": 8, "Int64": 8}.get(kind.rpartition(".")[2].strip("'<>"), 4)
    digits = len(str(points - 1))
    return {f"{name}{number:0{digits}d}": size for number in range(min(points, _POINTS))}


def _write_id(ids: int) -> int:
    return 8 + 2 * len(WRITE_ID) + 4 + 16 * ids
