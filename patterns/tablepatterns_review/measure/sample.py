"""Generate sample entities with the declared distributions, the same in every run."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, timezone
from hashlib import sha256
from itertools import accumulate, islice, pairwise, product
from random import Random
from typing import Any, Final
from uuid import UUID

from tablepatterns.edm import Int64
from tablepatterns.key import Key
from tablepatterns.limits import MAX_BINARY_BYTES, MAX_CUSTOM_PROPERTIES, MAX_STRING_UNITS

from ..design.distribution import combinations, different, names_one, values_of
from ..design.key_parts import Piece, pieces_of_key, span_of
from ..design.model import DeclaredSet, Design, Field, Shape

FEW_VALUES: Final = 16
"""The minimum number of different values that a smaller shape keeps."""

_COLLISIONS: Final = 2
"""How many more keys than entities a sample has, so that few values collide."""


def shrunk(shape: Shape, most: int, key: Collection[str] = (), fewest_values: int = FEW_VALUES) -> Shape:
    """Return a shape of at most `most` entities, in which the same number of them share each value of a field.

    :param key: the fields of the key, which keep enough values for unique keys
    :param fewest_values: the minimum number of different values that a field keeps
    """
    if shape.count <= most:
        return shape
    factor = most / shape.count
    fields = {name: _shrunk(field, factor, fewest_values) for name, field in shape.fields.items()}
    smaller = replace(shape, count=most, fields=fields, growth=shape.growth * factor)
    for name in sorted(key, key=lambda field_name: -values_of(shape, field_name).count):
        field, declared = fields.get(name), shape.fields.get(name, Field()).distinct
        missing = 0.0 if names_one(smaller, key) else _COLLISIONS * most / max(1.0, combinations(smaller, key))
        if field is not None and field.distinct is not None and declared is not None and missing > 1:
            fields[name] = replace(field, distinct=min(declared, math.ceil(field.distinct * missing)))
    return smaller


def _shrunk(field: Field, factor: float, fewest_values: int) -> Field:
    if field.distinct is None:
        return field
    return replace(field, distinct=min(field.distinct, max(fewest_values, round(field.distinct * factor))))


NOW: Final = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)
"""The time of every review, by the account's clock, so that reports do not depend on the day."""
_SHORTEST: Final = timedelta(milliseconds=1)
SPARE: Final = 12
"""The number of spare entities, which are inserted while measuring."""
_KEY_UNITS: Final = 200
_PROPERTIES: Final = MAX_CUSTOM_PROPERTIES - 4
_ENTITY_BYTES: Final = 900_000
_WIDE_ROWS: Final = 40
_LARGEST: Final = 2**22
"""The maximum number of characters or bytes of a sample value that is stored in a blob."""
_ATTEMPTS: Final = 64
_MOST_CHOICES: Final = 10_000
_DIGITS: Final = str.maketrans("0123456789", "abcdefghij")
_DIGIT: Final = re.compile("[0-9]")
_WIDTH: Final = 4
_SHOWN: Final = 24
"""The characters of a value that a page shows."""

Fields = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """Generated entities, also spare ones; `ranks` has the ranks of the stored values of each field, starting at 1."""

    stored: Sequence[Fields]
    spare: Sequence[Fields]
    ranks: Mapping[str, Sequence[int]]


def sample(
    seed: str,
    shape: Shape,
    keys: Sequence[Key],
    *,
    span: timedelta,
    is_wide: bool = False,
    large: Collection[str] = (),
    readable: bool = False,
) -> Sample:
    """Generate the entities of a shape, and spare ones.

    :param keys: the primary key, then those of the indexes; the entities have unique, valid keys
    :param span: the age of the oldest entity, if fields rise
    :param is_wide: whether an entity may take several rows
    :param large: the fields whose large values are stored in blobs
    :param readable: whether texts are named after their fields; otherwise they are letters, of which every tenth,
        hundredth, ... value has the same first ones
    """
    count = shape.count
    if not count:
        # The spare entities of an empty set have as many different values as those of a small one
        shape = replace(shape, count=SPARE)
    pieces = {piece.name: piece for key in reversed(keys) for piece in pieces_of_key(key)}
    ranks = {name: _ranks(seed, shape, name, count + SPARE) for name in shape.fields}
    _number_within(shape, ranks)
    _keep_apart(shape, keys[0], ranks)
    all_pieces = [piece for key in keys for piece in pieces_of_key(key)] if readable else []
    # The literal texts of keys, and what is longer once it is escaped
    separators = {piece.literal for piece in all_pieces} | {"." for piece in all_pieces if piece.spec == "escape"}
    values: dict[str, list[Any]] = {}
    for name, field in _storable(shape, pieces, large, is_wide=is_wide):
        maker = _Maker(name, field, pieces.get(name), count, span, name in large, separators if readable else None)
        values[name] = maker.values(ranks[name])
    _keep_in_periods(shape, pieces, values)
    rows = [{name: each[at] for name, each in values.items()} for at in range(count + SPARE)]
    return Sample(rows[:count], rows[count:], {name: ranks[:count] for name, ranks in ranks.items()})


def without(sample: Sample, entities: Collection[Mapping[str, Any]]) -> Sample:
    """Return a sample without the stored entities that have all fields of one of these."""
    kept = [at for at, row in enumerate(sample.stored) if not any(of.items() <= row.items() for of in entities)]
    ranks = {name: [each[at] for at in kept] for name, each in sample.ranks.items()}
    return Sample([sample.stored[at] for at in kept], sample.spare, ranks)


def width_of(declared_set: DeclaredSet) -> int:
    """Return how many properties an entity has, including the points of a series."""
    points = declared_set.settings.get("points", 0)
    return len(declared_set.shape.fields) + (points if isinstance(points, int) else 0)


def bytes_of(shape: Shape) -> int:
    return sum(2 * len(name) + 12 + _size(field) for name, field in shape.fields.items())


def _size(field: Field) -> int:
    return {"string": 2 * field.size, "binary": field.size}.get(field.type, 8)


def _ranks(seed: str, shape: Shape, name: str, count: int) -> list[int]:
    """Return the ranks of the entities' values of a field: as often as declared, and independent of other fields."""
    field, stored = shape.fields[name], max(1, shape.count)
    # A generator of its own, so that any two fields agree as often as by chance, and other fields change nothing
    generator = Random(f"{seed}\n{name}")  # noqa: S311
    if different(field) is None:
        numbers = list(range(1, count + 1))
    else:
        values = values_of(shape, name)
        bounds = list(accumulate(values.share(rank) for rank in range(1, values.count + 1)))
        numbers, rank = list[int](), 0
        for at in range(stored):
            while rank < values.count - 1 and (at + 0.5) / stored >= bounds[rank]:
                rank += 1
            numbers.append(rank + 1)
        # The spare ones have the declared distribution, too
        positions = (int((at + 0.5) / (count - stored) * stored) for at in range(count - stored))
        numbers += _mixed([numbers[-1 if field.order == "rising" else at] for at in positions], generator)
    if field.order == "none":
        # The spare ones come last, so that the stored ones have the declared distribution
        numbers[: shape.count] = _mixed(numbers[: shape.count], generator)
    return numbers


def _mixed(ranks: Sequence[int], generator: Random) -> list[int]:
    return sorted(ranks, key=lambda _: generator.random())


def _number_within(shape: Shape, ranks: dict[str, list[int]]) -> None:
    for name, field in shape.fields.items():
        if field.within is None or field.within not in ranks or field.distinct is not None:
            continue
        seen: dict[int, int] = {}
        for at, group in enumerate(ranks[field.within]):
            seen[group] = ranks[name][at] = seen.get(group, 0) + 1


def _keep_apart(shape: Shape, key: Key, ranks: dict[str, list[int]]) -> None:
    """Change a key field of entities whose keys are equal by chance."""
    fields = [name for name in key.fields if name in ranks]
    free = [name for name in fields if shape.fields[name].order == "none"] or fields
    if not free or names_one(shape, fields):
        return
    moved = max(free, key=lambda name: values_of(shape, name).count)
    most = values_of(shape, moved).count
    seen: set[tuple[Any, ...]] = set()
    for at in range(len(ranks[moved])):
        for _ in range(min(_ATTEMPTS, most)):
            if tuple(ranks[name][at] for name in fields) not in seen:
                break
            ranks[moved][at] = ranks[moved][at] % (most if at < shape.count else most + SPARE) + 1
        else:
            # All values of that field are used with those of the others
            choices = product(*(range(1, values_of(shape, name).count + 1) for name in free))
            kept = {name: ranks[name][at] for name in fields}
            for chosen in islice(choices, _MOST_CHOICES):
                kept |= dict(zip(free, chosen, strict=True))
                if tuple(kept.values()) not in seen:
                    break
            for name, rank in kept.items():
                ranks[name][at] = rank
        seen.add(tuple(ranks[name][at] for name in fields))


def _keep_in_periods(shape: Shape, pieces: Mapping[str | None, Piece], values: Mapping[str, list[Any]]) -> None:
    """Move the instants of stored entities into the day or hour of the same entity."""
    rising = [name for name in values if (shape.fields[name].type, shape.fields[name].order) == ("datetime", "rising")]
    specs = {name: pieces[name].spec if name in pieces else "" for name in rising}
    rising.sort(key=lambda name: -span_of(pieces[name])[0] if "%" in specs[name] else 0.0)
    for outer, inner in pairwise(rising):
        if "%" not in specs[outer]:
            return
        pairs = list(islice(zip(values[outer], values[inner], strict=True), shape.count))
        periods: dict[Any, dict[Any, Any]] = {}
        for period, instant in pairs:
            periods.setdefault(period, {})[instant] = None
        for period, instants in periods.items():
            start = period if isinstance(period, datetime) else datetime.combine(period, time(), timezone.utc)
            room = max(_SHORTEST, min(timedelta(seconds=span_of(pieces[outer])[0]), NOW - start))
            for at, instant in enumerate(instants):
                instants[instant] = _shown(start + room * at / len(instants), specs[inner])
        values[inner][: shape.count] = [periods[period][instant] for period, instant in pairs]


def _shown(instant: datetime, spec: str) -> datetime | date:
    """Return the time that a key with a format shows of an instant."""
    if "%" not in spec:
        return instant
    start = datetime.strptime(instant.strftime(spec), spec).replace(tzinfo=timezone.utc)
    return start if "%H" in spec else start.date()


def _storable(
    shape: Shape, pieces: Mapping[str | None, Piece], large: Collection[str], *, is_wide: bool = False
) -> list[tuple[str, Field]]:
    """Return the fields that fit in an entity; exceeding the limit is a finding."""
    most = _WIDE_ROWS * _PROPERTIES if is_wide else _PROPERTIES
    fields = sorted(shape.fields.items(), key=lambda each: each[0] not in pieces)[:most]
    left, kept_names = (_WIDE_ROWS if is_wide else 1) * _ENTITY_BYTES, set[str]()
    for name, field in fields:
        size = 0 if name in large else _size(field)
        if size <= left:
            kept_names.add(name)
            left -= min(size, 2 * MAX_STRING_UNITS)
    return [(name, field) for name, field in shape.fields.items() if name in kept_names]


def readable_text(name: str, length: int, ranks: int, separators: Collection[str], rank: int) -> str:
    """Return the text of a rank, which is named after its field, such as `lastname03`; texts sort by their ranks.

    Only long texts have the declared length. If a key could not be read back from them, they are letters.
    """
    number = f"{rank:0{len(str(ranks))}d}"
    label = re.sub("[^a-z]", "", name.lower())[: max(0, length - len(number))]
    text = (label + number).ljust(length if length > _SHOWN else 0, "x")
    like, between = _DIGIT.sub("0", text), [_DIGIT.sub("0", separator) for separator in separators if separator]
    # A text that ends as a separator begins could not be read back either
    if any((like + separator).find(separator) < len(text) for separator in between):
        return number.translate(_DIGITS)
    return text


@dataclass
class _Maker:
    """Makes the values of one field; `piece` is its part of a key, if any."""

    name: str
    field: Field
    piece: Piece | None
    count: int
    span: timedelta
    is_large: bool
    separators: Collection[str] | None

    def __post_init__(self) -> None:
        distinct, most = self.field.distinct, _LARGEST if self.is_large else MAX_STRING_UNITS
        self.number = max(1, self.count if distinct is None else min(distinct, self.count))
        self.length = min(self.field.size, _KEY_UNITS if self.piece else most)

    def values(self, ranks: Sequence[int]) -> list[Any]:
        """Return the values of these ranks; entities with the same rank share one."""
        by_rank = {rank: self._value(rank) for rank in dict.fromkeys(ranks)}
        return [by_rank[rank] for rank in ranks]

    def _value(self, rank: int) -> Any:
        match self.field.type:
            case "string":
                return self._text(rank)
            case "int32":
                return rank
            case "int64":
                return Int64(rank)
            case "double":
                return rank * 1.25
            case "boolean":
                return rank % 2 == 1
            case "datetime":
                return self._instant(rank)
            case "guid":
                return UUID(bytes=sha256(f"{self.name} {rank}".encode()).digest()[:16], version=4)
            case "binary":
                return sha256(f"{self.name} {rank}".encode()).digest()[:1] * min(
                    self.field.size, _LARGEST if self.is_large else MAX_BINARY_BYTES
                )

    def _text(self, rank: int) -> str:
        if self.separators is not None:
            return readable_text(self.name, self.length, self.number + SPARE, self.separators, rank)
        width = max(len(str(self.number + SPARE)), min(_WIDTH, self.field.size))
        digits = f"{rank:0{width}d}".translate(_DIGITS)
        if self.field.order == "none":
            # Reversed, so that a prefix is shared by every tenth, hundredth, ... value
            digits = digits[::-1]
        return digits.ljust(self.length, "x")

    def _instant(self, rank: int) -> datetime | date:
        instant = NOW - self.span / self.number * max(0, self.number - rank)
        if rank > self.number:
            instant = NOW + timedelta(milliseconds=rank - self.number)
        return _shown(instant, self.piece.spec if self.piece else "")


def referring_fields(declared_set: DeclaredSet) -> set[str]:
    """Return the fields that refer to other entities, and those that are copied."""
    return {name for derived, profile in declared_set.profiles() if profile.filled_from for name in derived.reads}


def referring(design: Design, samples: Mapping[str, Sample]) -> dict[str, Sample]:
    """Return the samples with references only to stored entities, or none."""
    samples_by_set = dict(samples)
    for declared_set in design.sets:
        for _, profile in declared_set.profiles():
            copies = profile.filled_from
            of = next((source for source in design.sets if copies in source.derived), None)
            if copies is not None and of is not None:
                refers, there = of.profile(copies).refers, samples_by_set[of.name].stored
                sample = samples_by_set[declared_set.name]
                stored, spare = (
                    [_referring(row, at, of, refers, there) for at, row in enumerate(rows)]
                    for rows in (sample.stored, sample.spare)
                )
                samples_by_set[declared_set.name] = Sample(stored, spare, sample.ranks)
    return samples_by_set


def _referring(fields: Fields, at: int, of: DeclaredSet, refers: Mapping[str, str], there: Sequence[Fields]) -> Fields:
    same = [name for name in of.key.fields if name not in refers]
    near = [row for row in there if all(row.get(name) == fields.get(name) for name in same)]
    kept = {name: value for name, value in fields.items() if name not in refers.values()}
    if near:
        chosen = near[at % len(near)]
        kept |= {held: chosen[name] for name, held in refers.items()}
    return kept
