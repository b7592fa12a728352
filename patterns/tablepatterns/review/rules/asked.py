"""Asked: which fields a question gives one value of, which a range, and what is left to search for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ...entity_set.derived import Index
from ...filters import And, Comparison, Filter, parse
from ...key import Key
from ..design.model import Query
from ..key_parts import pieces_of
from .known import Asked

KEYS: Final = ("PartitionKey", "RowKey")


@dataclass(frozen=True)
class Terms:
    """What a question says.

    :param equal: the fields of which it gives one value
    :param ranged: the fields of which it gives a range or a beginning
    """

    equal: tuple[str, ...]
    ranged: tuple[str, ...]


def terms_of(query: Query, key: Key) -> Terms:
    """Return what a question says; a filter's PartitionKey gives the fields that it is made of."""
    if query.filter is None:
        equal = tuple(name for name, how in query.known.items() if how == "=")
        return Terms(equal, tuple(name for name in query.known if name not in equal))
    return _of_filter(query.filter, key)


@lru_cache(maxsize=256)
def _of_filter(text: str, key: Key) -> Terms:
    found: Filter = parse(text)
    joined = found.terms if isinstance(found, And) else (found,)
    simple = [each for each in joined if isinstance(each, Comparison)]
    equal = [name for each in simple if each.operator == "eq" for name in _fields(each.name, key)]
    ranged = [name for each in simple if each.operator in ("gt", "ge", "lt", "le") for name in _fields(each.name, key)]
    return Terms(tuple(dict.fromkeys(equal)), tuple(dict.fromkeys(ranged)))


def _fields(name: str, key: Key) -> tuple[str, ...]:
    if name not in KEYS:
        return (name,)
    return key.partition_fields if name == "PartitionKey" else key.row_fields


def key_of(asked: Asked) -> Key:
    """Return the key of the rows that answer a question."""
    via = asked.via
    return via.key if isinstance(via, Index) else asked.of.key


def partition_known(asked: Asked) -> bool:
    """Whether a question tells the partition of the primary rows."""
    terms = terms_of(asked.query, asked.of.key)
    if not asked.of.key.partition_fields:
        return asked.query.filter is None or "PartitionKey" in asked.query.filter
    return all(name in terms.equal for name in asked.of.key.partition_fields)


def unindexed(asked: Asked) -> Sequence[str]:
    """Return the fields that a question gives, and that the rows which answer it must be searched for."""
    terms, key = terms_of(asked.query, asked.of.key), key_of(asked)
    if not all(name in terms.equal for name in key.partition_fields):
        return [name for name in (*terms.equal, *terms.ranged) if name not in key.partition_fields]
    left = list(key.row_fields)
    served: set[str] = set(key.partition_fields)
    while left and left[0] in terms.equal:
        served.add(left.pop(0))
    if left and left[0] in terms.ranged:
        served.add(left[0])
    return [name for name in (*terms.equal, *terms.ranged) if name not in served]


def in_order(asked: Asked) -> bool:
    """Whether the rows that answer a question come in the order that is asked for."""
    order = asked.query.order
    if order is None:
        return True
    terms, key = terms_of(asked.query, asked.of.key), key_of(asked)
    if not all(name in terms.equal for name in key.partition_fields):
        return False
    pieces = [piece for piece in pieces_of(key.row_template) if piece.name]
    first = next((piece for piece in pieces if piece.name not in terms.equal), None)
    if first is None or first.name != order.removeprefix("-"):
        return first is None
    return order.startswith("-") == (first.spec == "inverted")
