"""Suggested: the declaration of an index that a query lacks, with keys that can be written so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...figures import size
from ..capacity.sizes import primary_sizes
from ..design.model import DeclaredSet, Field, FieldType
from ..key_parts import pieces_of

_FORMATS: Final[Mapping[FieldType, str]] = {
    "int32": ":010d",
    "int64": ":019d",
    "double": ":float",
    "datetime": ":ticks",
    "guid": ":uuid",
}


def index_here(declared: DeclaredSet, names: Sequence[str]) -> str:
    """Return an index in the partition of the primary rows, by these fields."""
    partition = declared.key.partition_template
    row = "_".join([f"{names[0].lower()}_{_spelled(declared, names[0])}", *_rest(declared, names, names[1:], False)])
    return f'IntraPartitionIndex(Key("{partition}", "{row}"))'


def index_elsewhere(declared: DeclaredSet, names: Sequence[str]) -> str:
    """Return an index in partitions of their own, by these fields."""
    # The same words begin the RowKey, so that no copy can have the key of a primary row
    head = names[0].lower()
    partition = f"{head}_{_spelled(declared, names[0])}"
    row = "_".join([head, *_rest(declared, names, names[1:], True)])
    unique = ", unique=True" if _has_own(declared, names) else ""
    return f'InterPartitionIndex(Key("{partition}", "{row}"){unique})'


def copies_take(declared: DeclaredSet) -> str:
    """Say how much room a copy of each entity takes."""
    return size(primary_sizes(declared).row * declared.shape.count)


def _rest(declared: DeclaredSet, names: Sequence[str], after: Sequence[str], elsewhere: bool) -> list[str]:
    """Return what follows in the RowKey; where several entities share the values, the primary key, which none share."""
    parts = [_spelled(declared, name) for name in after]
    if _has_own(declared, names):
        return parts
    templates = [declared.key.partition_template] if elsewhere else []
    pieces = [piece for template in (*templates, declared.key.row_template) for piece in pieces_of(template)]
    return parts + [_field(piece.name, piece.spec) for piece in pieces if piece.name and piece.name not in names]


def is_shared(declared: DeclaredSet, names: Sequence[str]) -> bool:
    """Whether several entities have the same values of these fields."""
    return not _has_own(declared, names)


def _has_own(declared: DeclaredSet, names: Sequence[str]) -> bool:
    """Whether each entity has its own value of one of the fields."""
    fields = [declared.shape.fields.get(name, Field(distinct=1)) for name in names]
    return any(each.distinct is None and each.within is None and each.order == "none" for each in fields)


def _spelled(declared: DeclaredSet, name: str) -> str:
    field = declared.shape.fields.get(name, Field())
    return _field(name, _FORMATS.get(field.type, "").removeprefix(":"))


def _field(name: str | None, spec: str) -> str:
    return f"{{{name}:{spec}}}" if spec else f"{{{name}}}"
