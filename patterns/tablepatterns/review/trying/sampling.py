"""Sampling: entities of a declared shape, the same in every run.

The values of each field occur as declared: those of a field with 12 different ones, evenly, each in a twelfth of the
entities. Values of two fields meet about as often as they would by chance, and begin elsewhere for another design.
Values are made of the field's name and a rank, so that fields of one name mean the same in all sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate
from typing import Any, Final
from uuid import UUID

from ...edm import Int64
from ...key import Key
from ...limits import MAX_BINARY_BYTES, MAX_CUSTOM_PROPERTIES, MAX_STRING_UNITS
from ..declaring.declared import DeclaredSet, Field, Shape
from ..templates import Piece, pieces_of
from .population import different, names_one, values_of

NOW: Final = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)
"""When a review takes place, by the account's clock: no report depends on the day on which it is made."""
SPARE: Final = 12
"""How many entities are made that are not stored, to be inserted while it is measured."""
_KEY_UNITS: Final = 200
_PROPERTIES: Final = MAX_CUSTOM_PROPERTIES - 4
_ENTITY_BYTES: Final = 900_000
_ATTEMPTS: Final = 64
_DIGITS: Final = "abcdefghij"
_BOOLEANS: Final = 2
_WIDTH: Final = 4

Fields = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """Entities that were made.

    :param stored: those that lie in the tables
    :param spare: those that are still to come
    :param ranks: for each field the ranks of the stored entities' values, from 1 on
    """

    stored: Sequence[Fields]
    spare: Sequence[Fields]
    ranks: Mapping[str, Sequence[int]]


def sample(seed: str, shape: Shape, keys: Sequence[Key], *, span: timedelta) -> Sample:
    """Return as many entities as the shape has, and some more.

    :param seed: what the draws follow from
    :param shape: what they look like
    :param keys: the primary key, then those of the indexes: values fit them, and no two entities share one
    :param span: how long ago the oldest entity came, where fields rise
    """
    count = shape.count
    pieces = {piece.name: piece for key in reversed(keys) for piece in _pieces(key)}
    ranks = {name: _ranks(seed, shape, name, count + SPARE) for name in shape.fields}
    _number_anew(shape, ranks)
    _keep_apart(shape, keys[0], ranks)
    makers = {name: _Maker(name, field, pieces.get(name), count, span) for name, field in _storable(shape, pieces)}
    made = [{name: maker.value(ranks[name][at]) for name, maker in makers.items()} for at in range(count + SPARE)]
    return Sample(made[:count], made[count:], {name: each[:count] for name, each in ranks.items()})


def width_of(declared: DeclaredSet) -> int:
    """Return how many properties an entity has, the points of a series among them."""
    points = declared.settings.get("points", 0)
    return len(declared.shape.fields) + (points if isinstance(points, int) else 0)


def bytes_of(shape: Shape) -> int:
    """Return about how many bytes an entity of the shape takes."""
    return sum(2 * len(name) + 12 + _size(field) for name, field in shape.fields.items())


def _size(field: Field) -> int:
    return {"string": 2 * field.size, "binary": field.size}.get(field.type, 8)


def _pieces(key: Key) -> Iterator[Piece]:
    for template in (key.partition_template, key.row_template):
        yield from (piece for piece in pieces_of(template) if piece.name)


def _mixed(ranks: Sequence[int], seed: str, shape: Shape, name: str) -> list[int]:
    """Return the ranks in another order, in which those of any two fields meet about as often as they should.

    The entities are put in the order of the fractions of their number times a square root, another one for each field.
    Such fractions lie evenly, also those of several roots together, where drawn numbers leave gaps and heaps.
    """
    step = math.sqrt(_prime(sorted(shape.fields).index(name)))
    shift = int.from_bytes(sha256(f"{seed}\n{name}".encode()).digest()[:4], "big") / 2**32
    order = sorted(range(len(ranks)), key=lambda number: (shift + number * step) % 1)
    found = [0] * len(ranks)
    for at, number in enumerate(order):
        found[number] = ranks[at]
    return found


@lru_cache(maxsize=512)
def _prime(number: int) -> int:
    """Return the prime of a number, counted from 0."""
    if number == 0:
        return 2
    found = _prime(number - 1) + 1
    while any(found % divisor == 0 for divisor in range(2, math.isqrt(found) + 1)):
        found += 1
    return found


def _ranks(seed: str, shape: Shape, name: str, count: int) -> list[int]:
    """Return the rank of each entity's value of a field: each value as often as declared."""
    field, stored = shape.fields[name], max(1, shape.count)
    if different(field) is None:
        found = list(range(1, count + 1))
    else:
        values = values_of(shape, name)
        bounds = list(accumulate(values.share(rank) for rank in range(1, values.count + 1)))
        found, rank = list[int](), 0
        for at in range(stored):
            while rank < values.count - 1 and (at + 0.5) / stored >= bounds[rank]:
                rank += 1
            found.append(rank + 1)
        found += [found[-1] if field.order == "rising" else found[at % stored] for at in range(count - stored)]
    if field.order == "none":
        # The spare ones stay behind, so that those which are stored are as declared
        found[: shape.count] = _mixed(found[: shape.count], seed, shape, name)
    return found


def _number_anew(shape: Shape, ranks: dict[str, list[int]]) -> None:
    for name, field in shape.fields.items():
        if field.within is None or field.within not in ranks or field.distinct is not None:
            continue
        seen: dict[int, int] = {}
        for at, group in enumerate(ranks[field.within]):
            seen[group] = ranks[name][at] = seen.get(group, 0) + 1


def _keep_apart(shape: Shape, key: Key, ranks: dict[str, list[int]]) -> None:
    """Give entities whose keys are the same by chance other values of a field of the key."""
    fields = [name for name in key.fields if name in ranks]
    free = [name for name in fields if shape.fields[name].order == "none"] or fields
    if not free or names_one(shape, fields):
        return
    moved = max(free, key=lambda name: values_of(shape, name).count)
    most = values_of(shape, moved).count
    seen: set[tuple[Any, ...]] = set()
    for at in range(len(ranks[moved])):
        for _ in range(_ATTEMPTS):
            if tuple(ranks[name][at] for name in fields) not in seen:
                break
            ranks[moved][at] = ranks[moved][at] % (most if at < shape.count else most + SPARE) + 1
        seen.add(tuple(ranks[name][at] for name in fields))


def _storable(shape: Shape, pieces: Mapping[str | None, Piece]) -> list[tuple[str, Field]]:
    """Return the fields that an entity can be stored with: what is too much for one is the matter of a finding."""
    fields = sorted(shape.fields.items(), key=lambda each: each[0] not in pieces)[:_PROPERTIES]
    left, found = _ENTITY_BYTES, list[tuple[str, Field]]()
    for name, field in fields:
        if _size(field) <= left:
            found.append((name, field))
            left -= min(_size(field), 2 * MAX_STRING_UNITS)
    kept = {name for name, _ in found}
    return [(name, field) for name, field in shape.fields.items() if name in kept]


class _Maker:
    """Makes the values of one field."""

    def __init__(self, name: str, field: Field, piece: Piece | None, count: int, span: timedelta) -> None:
        self._name = name
        self._field = field
        self._spec = piece.spec if piece else None
        self._width = piece.width if piece else None
        values = count if field.distinct is None else field.distinct
        self._step = span / max(1, min(values, count))
        self._values = max(1, min(values, count))

    def value(self, rank: int) -> Any:
        match self._field.type:
            case "string":
                return self._text(rank)
            case "int32":
                return rank
            case "int64":
                return Int64(rank)
            case "double":
                return rank * 1.25
            case "boolean":
                return rank % _BOOLEANS == 1
            case "datetime":
                return self._instant(rank)
            case "guid":
                return UUID(bytes=sha256(f"{self._name} {rank}".encode()).digest()[:16], version=4)
            case "binary":
                return sha256(f"{self._name} {rank}".encode()).digest()[:1] * min(self._field.size, MAX_BINARY_BYTES)

    def _text(self, rank: int) -> str:
        width = max(len(str(self._values + SPARE)), min(_WIDTH, self._field.size))
        digits = "".join(_DIGITS[int(digit)] for digit in f"{rank:0{width}d}")
        if self._field.order == "none":
            # Backwards, so that a beginning of so many characters is that of every tenth, hundredth, ... value
            digits = digits[::-1]
        most = MAX_STRING_UNITS if self._spec is None else _KEY_UNITS
        return digits.ljust(min(self._field.size, most), "x")

    def _instant(self, rank: int) -> datetime | date:
        instant = NOW - self._step * max(0, self._values - rank)
        if rank > self._values:
            instant = NOW + timedelta(milliseconds=rank - self._values)
        if self._spec is None or "%" not in self._spec:
            return instant
        if "%H" not in self._spec:
            return datetime.strptime(instant.strftime(self._spec), self._spec).replace(tzinfo=timezone.utc).date()
        return datetime.strptime(instant.strftime(self._spec), self._spec).replace(tzinfo=timezone.utc)
