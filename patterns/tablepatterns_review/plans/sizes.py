"""Compute the stored bytes of a declared set's entities, including their derived rows.

The size is the one that the service bills (`entity_size`): strings and keys in UTF-16, and the name of each property.
Each row also has the id of its last write.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tablepatterns.entity import MAX_WRITE_IDS, WRITE_ID
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.mapping import PropertyMapping, header_of, stored_size
from tablepatterns.entity_set.shared_rows import PART
from tablepatterns.key import Key
from tablepatterns.limits import MAX_CUSTOM_PROPERTIES

from ..design.key_parts import Piece, pieces_of
from ..design.model import DeclaredSet, Field, FieldType
from ..kinds import kind_of

_FIXED: Final[Mapping[FieldType, tuple[int, int, int]]] = {
    "int32": (4, 11, 11),
    "int64": (8, 20, 22),
    "double": (8, 16, 24),
    "boolean": (1, 5, 5),
    "datetime": (8, 28, 30),
    "guid": (16, 36, 38),
}
"""The sizes of values that all have about the same: in a row, in a key, and in JSON."""
_POINTS: Final = MAX_CUSTOM_PROPERTIES - 1
"""The number of points of a series in one row."""


@dataclass(frozen=True)
class Sizes:
    """The size of an entity in one row, in bytes.

    :param blobs: its part in blobs
    :param in_blobs: the names of the fields in blobs
    :param most: the maximum size of the row
    :param properties: the number of properties, without the three system properties
    :param value: the largest text or binary value; 0 if there is none
    :param payload: the maximum size of a request that writes the row: JSON, with binary values in Base64
    """

    row: float
    blobs: float
    in_blobs: frozenset[str]
    most: float
    properties: int
    value: int
    payload: float = 0.0


def primary_sizes(declared_set: DeclaredSet) -> Sizes:
    return _sizes(declared_set, declared_set.key, set(declared_set.shape.fields).difference(declared_set.key.fields))


def rows_of(declared_set: DeclaredSet) -> int:
    """Return the number of rows of an entity: a split series has one per 251 points."""
    points = kind_of(declared_set).points(declared_set)
    if not points or not declared_set.settings.get("split"):
        return 1
    return max(1, math.ceil(points / _POINTS))


def derived_sizes(declared_set: DeclaredSet, derived: Derived) -> Sizes | None:
    """Return the size of an entity's derived row; None if it shares a row with others."""
    layout = declared_set.profile(derived).layout
    if layout is None:
        return None
    held_names = {name for name in declared_set.shape.fields if layout.holds(name)}
    return _sizes(declared_set, layout.key, held_names, copies=True)


def entry_size(declared_set: DeclaredSet, derived: Derived) -> float:
    """Return the bytes of an entity in a shared list; 0 if there is none."""
    profile = declared_set.profile(derived)
    if not profile.lists_keys:
        return 0.0
    partition, row = key_units(declared_set.key, declared_set.shape.fields)
    units = partition + row + 2 if derived.is_eventual else row + 1
    # A summary stores what each entity adds: one for the count, and its numbers
    note = 2 + 8 * (profile.numbers - 1) if profile.numbers else 0
    return 2.0 * (units + note)


def list_size(declared_set: DeclaredSet, derived: Derived) -> float:
    """Return the size of a list's row without its entries."""
    profile = declared_set.profile(derived)
    units = sum(key_units(profile.table_key, declared_set.shape.fields)) if profile.table_key else 0
    totals = len(profile.totals)
    return 4 + 2 * units + 8 + 2 * 7 + 4 + _write_id(1) + totals * (8 + 2 * 12 + 8)


def key_units(key: Key, fields: Mapping[str, Field], *, largest: bool = False) -> tuple[int, int]:
    """Return the length of a PartitionKey and a RowKey in UTF-16 code units, of typical or of the longest keys."""
    return _units(key.partition_template, fields, largest), _units(key.row_template, fields, largest)


def value_bytes(field: Field, *, largest: bool = False) -> int:
    size = field.size if not largest or field.largest is None else field.largest
    if field.type == "string":
        return 4 + 2 * size
    return 4 + size if field.type == "binary" else _FIXED[field.type][0]


def _units(template: str, fields: Mapping[str, Field], largest: bool) -> int:
    return sum(len(piece.literal) + _text(piece, fields, largest) for piece in pieces_of(template))


def _text(piece: Piece, fields: Mapping[str, Field], largest: bool) -> int:
    if piece.name is None or piece.width is not None:
        return piece.width or 0
    field = fields.get(piece.name)
    if field is None:
        return 3 if piece.name == PART else 16
    if field.type in _FIXED:
        return _FIXED[field.type][1]
    return field.size if not largest or field.largest is None else field.largest


def _sizes(declared_set: DeclaredSet, key: Key, held_names: set[str], *, copies: bool = False) -> Sizes:
    fields = declared_set.shape.fields
    values = {name: _value_sizes(declared_set, name, fields[name]) for name in held_names}
    extra = _of_pattern(declared_set) if not copies else {}
    headers = {
        name: 4 + size for mapping in declared_set.mappings for name, size in header_of(mapping, held_names).items()
    }
    header = sum(headers.values())
    names = [*values, *extra, *headers]
    long_names = [
        name for name in values if name in declared_set.encrypted() or fields[name].type in ("string", "binary")
    ]
    overhead = sum(8 + 2 * len(name) for name in names) + header + sum(extra.values())
    usual, most = (4 + 2 * sum(key_units(key, fields, largest=largest)) + overhead for largest in (False, True))
    request = _OPERATION + 2 * sum(key_units(key, fields, largest=True))
    return Sizes(
        row=usual + sum(row for row, _, _ in values.values()) + _write_id(1),
        blobs=0.0 if copies else sum(blob for _, blob, _ in values.values()),
        in_blobs=frozenset(name for name, (_, blob, _) in values.items() if blob),
        most=most + sum(largest for _, _, largest in values.values()) + _write_id(MAX_WRITE_IDS),
        properties=len(names) + 1,
        payload=request + _json_size(declared_set, {name: size for name, (_, _, size) in values.items()}) + header / 2,
        value=max((values[name][2] - 4 for name in long_names), default=0),
    )


_OPERATION: Final = 650
"""The bytes of a write in a transaction without its entity: the headers of its part, and the write id."""
_ANNOTATED: Final = ("int64", "datetime", "guid", "binary")
_ANNOTATION: Final = 28


def _json_size(declared_set: DeclaredSet, sizes: Mapping[str, int]) -> float:
    """Return the size of properties in JSON, from the stored size of their values."""
    total = 0.0
    for name, stored in sizes.items():
        kind = declared_set.shape.fields[name].type
        is_sealed = name in declared_set.encrypted()
        if is_sealed or kind == "binary":
            value = 2 + 4 * math.ceil((stored - 4) / 3)
        else:
            # Strings are sent as UTF-8, in which a character usually takes one byte
            value = _FIXED[kind][2] if kind in _FIXED else 2 + (stored - 4) // 2
        annotation = _ANNOTATION + len(name) if is_sealed or kind in _ANNOTATED else 0
        total += len(name) + 4 + value + annotation
    return total


_MEMBERS: Final = len('{"v":1,"PartitionKey":"","RowKey":"","properties":{}}')


def archived_size(declared_set: DeclaredSet) -> float:
    """Return the size of an entity in a blob: JSON, with all values of the entity."""
    fields = declared_set.shape.fields
    held = {name: value_bytes(field) for name, field in fields.items() if name not in declared_set.key.fields}
    return _MEMBERS + sum(key_units(declared_set.key, fields)) + _json_size(declared_set, held)


def _value_sizes(declared_set: DeclaredSet, name: str, field: Field) -> tuple[float, float, int]:
    """Return the size of a value in the row and in a blob, and its maximum size in the row."""
    usual, most = value_bytes(field), value_bytes(field, largest=True)
    blob, is_text = 0, field.type == "string"
    key_size = sum(key_units(declared_set.key, declared_set.shape.fields, largest=True))
    address = len(declared_set.table) + len(name) + key_size
    for mapping in sorted(declared_set.mappings, key=lambda mapping: mapping.order):
        if name in mapping.fields:
            usual, blob = _mapped(mapping, usual, is_text, address)
            most = max(usual, _mapped(mapping, most, is_text, address)[0])
            is_text = is_text and not mapping.keeps_secret
    return float(usual), float(blob), most


def _mapped(mapping: PropertyMapping, size: int, is_text: bool, address: int) -> tuple[int, int]:
    row, blob = stored_size(mapping, size - _LENGTH, is_text=is_text, address=address)
    return _LENGTH + row, blob


_LENGTH: Final = 4


def _of_pattern(declared_set: DeclaredSet) -> dict[str, int]:
    """Return the number of properties that a recipe adds: the points of a series, in one row."""
    points = kind_of(declared_set).points(declared_set)
    if not points:
        return {}
    name, kind = str(declared_set.settings.get("name", "Point")), str(declared_set.settings.get("of", "int"))
    size = {"bool": 1, "float": 8, "Int64": 8}.get(kind.rpartition(".")[2].strip("'<>"), 4)
    digits = len(str(points - 1))
    return {f"{name}{number:0{digits}d}": size for number in range(min(points, _POINTS))}


def _write_id(ids: int) -> int:
    return 8 + 2 * len(WRITE_ID) + 4 + 16 * ids
