"""Find keys that change, collide, cannot be written or do not sort like their values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

from tablepatterns.figures import number, often, years_from_now
from tablepatterns.key import Key

from ..design.model import DeclaredSet, Field, Flaw, Shape
from ..key_parts import Piece, pieces_of
from ..kinds import kind_of
from ..measure.sample import coincidence_of, values_of
from ..model import Finding, Severity
from ..planner import is_sorted
from .context import MeasuredQuery, RuleContext, key_of, unindexed, wanted, waste_severity
from .rule import Rule, entities, listed, part_of

_CERTAIN: Final = 0.1
_POSSIBLE: Final = 0.001
_ALL: Final = 1.05
_MANY: Final = 1_000
"""Collisions per year."""
_SECONDS: Final = {"Y": 31_557_600.0, "m": 2_629_800.0, "d": 86_400.0, "H": 3600.0, "M": 60.0, "S": 1.0, "f": 1e-6}
_TICK: Final = 1e-6
_WITH_SLASHES: Final = re.compile(r"(url|uri|path|href|link|file_?name)s?$", re.IGNORECASE)
KEY_CHANGES: Final = Rule(
    name="key-field-changes",
    finds="a write changes a property of the key",
    severity="a warning",
    why=(
        "A key cannot change: the entity is deleted and inserted again, and between partitions that "
        "is not one transaction."
    ),
    guide="One-to-many relationships (moving an employee); eventually consistent transactions pattern",
    pattern="partition_move",
    why_not_automatic="the value that replaces it in the key must be chosen",
    about="write",
)
COLLIDING_KEYS: Final = Rule(
    name="colliding-keys",
    finds="two entities can have the same key",
    severity=(
        f"serious if one in ten collides at the peak, or {number(_MANY)} in a year; a warning from one in "
        f"{number(1 / _POSSIBLE)}, or one in a year"
    ),
    why="PartitionKey and RowKey together must be unique: add an id to a timestamp.",
    guide="Compound key pattern; log data anti-pattern (date, time and message id)",
    pattern="compound_key",
)
UNPADDED: Final = Rule(
    name="unpadded-key-field",
    finds="a number or timestamp is written to a key without a format that keeps its order",
    severity="serious if a query reads it by range or in order, otherwise a warning",
    why="Keys are strings: numbers only sort as numbers if they are padded to one length.",
    guide="Sorting data in the Table service",
    pattern="compound_key",
)
BOTH_KEYS: Final = Rule(
    name="field-in-both-keys",
    finds="one field is in the PartitionKey and in the RowKey",
    severity="a warning",
    why="The value is stored twice, and keeps entities that belong together from sharing a partition.",
    guide="Choosing an appropriate PartitionKey",
    pattern="compound_key",
)
OVERLAPPING: Final = Rule(
    name="overlapping-keys",
    finds="rows of two kinds in one table can have the same keys",
    severity="serious",
    why="PartitionKey and RowKey together must be unique, and readers must be able to tell kinds of rows apart.",
    guide="Working with heterogeneous entity types; intra-partition secondary index pattern",
    pattern="entity_types",
)
AMBIGUOUS: Final = Rule(
    name="ambiguous-key",
    finds="nothing separates a text in a key from the field that follows",
    severity="a warning",
    why="Different values can make the same key, and a key cannot be read back.",
    guide="Compound key pattern",
    pattern="compound_key",
)
UNSAFE_KEY: Final = Rule(
    name="unsafe-key",
    finds="a key contains text that is likely to have characters which keys cannot contain",
    severity="a warning",
    why="Keys cannot contain '/', '\\', '#', '?' or control characters: such an entity is rejected.",
    guide="Characters not allowed in PartitionKey and RowKey values",
    pattern="compound_key",
)


def _unsound_keys(context: RuleContext) -> Iterator[Finding]:
    """Yield findings about keys that change or collide."""
    for declared_set in context.design.sets:
        yield from _changing(context, declared_set)
        if ("too-few", declared_set.name) not in {(flaw.kind, flaw.subject) for flaw in context.design.flaws}:
            yield from _colliding(context, declared_set)
        yield from _unsafe(declared_set)


def _changing(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    for write in context.writes_of(declared_set):
        changed_names = [name for name in write.write.changes if name in declared_set.key.fields]
        if write.write.operation != "update" or not changed_names:
            continue
        moves = any(name in declared_set.key.partition_fields for name in changed_names)
        says = (
            f"{write.write.name!r} changes {listed(changed_names)}, which is part of the "
            f"{'PartitionKey' if moves else 'RowKey'} of {declared_set.name}, {often(write.write.rate)}."
        )
        better = (
            "Use values that never change as the key, such as a number, with an index for those that do; or move "
            "entities with PartitionMove."
            if moves
            else "Use values that never change as the key, with an index in the partition for those that do."
        )
        pattern = "partition_move" if moves else "intra_partition_index"
        yield KEY_CHANGES.finding(
            Severity.WARNING,
            part_of(declared_set.name, write.write.name),
            says,
            better,
            pattern=pattern,
            fields=changed_names,
        )


def _colliding(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    if kind_of(declared_set).has_unique_keys:
        return
    pieces = [piece for half in _halves(declared_set.key) for piece in half if piece.name]
    fields = [declared_set.shape.fields.get(piece.name or "", Field()) for piece in pieces]
    clocks = [piece for piece in pieces if piece.is_clock]
    names = [piece.name or "" for piece in pieces]
    own = [p for p, f in zip(pieces, fields, strict=True) if not p.is_clock and _is_own(f, names)]
    if own:
        return
    if not clocks or all(field.distinct is not None for field in fields):
        yield from _by_chance(declared_set, names)
        return
    span = min(_length(piece) for piece in clocks)
    rate = sum(write.write.busiest for write in context.writes_of(declared_set) if write.write.operation == "insert")
    meets = rate * span * _share(declared_set, [piece for piece in pieces if not piece.is_clock])
    other_names = [piece.name or "" for piece in pieces if not piece.is_clock]
    coincidence = coincidence_of(declared_set.shape, other_names)
    average = sum(write.write.rate for write in context.writes_of(declared_set) if write.write.operation == "insert")
    # Two entities of the same microsecond hardly ever agree in the other fields
    in_a_year = average * span * coincidence * average * _SECONDS["Y"] if span >= 1 else 0.0
    if meets < _POSSIBLE and in_a_year < 1:
        return
    severity = Severity.SERIOUS if meets >= _CERTAIN or in_a_year >= _MANY else Severity.WARNING
    says = (
        f"The key of {declared_set.name} consists of {listed(names)}: at the peak, {number(meets)} other entities "
        "have the same one "
        f"within a {_spoken(span)}."
    )
    better = f"Append an id to the timestamp in the RowKey, such as {{{declared_set.shape.entity}Id:uuid}}."
    yield COLLIDING_KEYS.finding(severity, declared_set.name, says, better)


def _is_own(field: Field, names: list[str]) -> bool:
    """Whether the values of a field are unique among entities that agree in the other key fields."""
    return field.distinct is None and field.type != "boolean" and (field.within is None or field.within in names)


def _by_chance(declared_set: DeclaredSet, names: list[str]) -> Iterator[Finding]:
    """Yield a finding if entities whose values occur independently have the same key.

    A field of the RowKey that numbers or identifies something, such as a line of an order, is assumed to make keys
    unique.
    """
    shape = declared_set.shape
    of_row = [piece.name for piece in _halves(declared_set.key)[1] if piece.name] or names
    if shape.count <= 1 or not names or any(_identifies(shape.fields.get(name, Field()), name) for name in of_row):
        return
    pairs, combinations = pairs_alike(shape, names), math.prod(values_of(shape, name).count for name in names)
    # If there is about one entity for each combination of values, the combinations are not random
    if pairs < 1 or combinations <= _ALL * shape.count:
        return
    says = (
        f"The key of {declared_set.name} consists of {listed(names)}, of which no combination is unique: among "
        f"{entities(shape.count)}, about {number(pairs)} pairs have the same key."
    )
    better = f"Append an id to the RowKey that tells them apart, such as {{{shape.entity}Id:uuid}}."
    yield COLLIDING_KEYS.finding(Severity.SERIOUS, declared_set.name, says, better)


_NUMBERING: Final = re.compile(r"(id|no|nr|number|code|key|sku|slot|index|isbn|iban|version)$", re.IGNORECASE)


def _identifies(field: Field, name: str) -> bool:
    """Whether a field distinguishes entities that agree in the rest of the key."""
    if field.within is not None or field.order == "rising":
        return field.order == "rising"
    is_counted = field.type in ("int32", "int64", "guid", "datetime", "boolean")
    return is_counted or bool(_NUMBERING.search(name))


def pairs_alike(shape: Shape, names: Sequence[str]) -> float:
    """Return the expected number of entity pairs with the same values, if the fields are independent."""
    return shape.count * (shape.count - 1) / 2 * coincidence_of(shape, names)


def _share(declared_set: DeclaredSet, pieces: list[Piece]) -> float:
    share = 1.0
    for piece in pieces:
        share *= values_of(declared_set.shape, piece.name or "").share(1)
    return share


def _length(piece: Piece) -> float:
    """Return the number of seconds that a formatted time stays the same."""
    directives = re.findall("%(.)", piece.spec)
    return _SECONDS.get(directives[-1], _TICK) if directives else _TICK


def _spoken(span: float) -> str:
    names = {31_557_600.0: "year", 2_629_800.0: "month", 86_400.0: "day", 3600.0: "hour", 60.0: "minute", 1.0: "second"}
    return names.get(span, "microsecond")


def _halves(key: Key) -> tuple[list[Piece], list[Piece]]:
    return list(pieces_of(key.partition_template)), list(pieces_of(key.row_template))


def _unsafe(declared_set: DeclaredSet) -> Iterator[Finding]:
    for key in keys_of(declared_set):
        for piece in (*_halves(key)[0], *_halves(key)[1]):
            field = declared_set.shape.fields.get(piece.name or "", Field())
            if piece.name and not piece.spec and field.type == "string" and _WITH_SLASHES.search(piece.name):
                says = (
                    f"{piece.name} is part of a key of {declared_set.name}, and is likely to contain '/', '?' or '#'."
                )
                better = (
                    f"Write it as {{{piece.name}:escape}}, which escapes what a key cannot contain and keeps the order."
                )
                yield UNSAFE_KEY.finding(Severity.WARNING, declared_set.name, says, better, fields=[piece.name])
                return


TEXT_ORDER: Final = Rule(
    name="text-order",
    finds="numbers or dates are stored in a key as text, and queried by range or order",
    severity="a warning",
    why="Keys are strings: numbers only sort as numbers if they are padded to one length.",
    guide="Sorting data in the Table service",
    pattern="compound_key",
)
NARROW_NUMBER: Final = Rule(
    name="narrow-number",
    finds="a number in a key has too few digits for the declared growth",
    severity="serious",
    why="Numbers are padded to a fixed length so that they sort; one with more digits is rejected.",
    guide="Sorting data in the Table service",
    pattern="compound_key",
)


def _wrong_order(context: RuleContext) -> Iterator[Finding]:
    """Yield findings about the order of the keys of each set."""
    for declared_set in context.design.sets:
        yield from _text(context, declared_set)
        yield from _narrow(context, declared_set)


def keys_of(declared_set: DeclaredSet) -> list[Key]:
    """Return the keys of a set's entities and indexes."""
    return [declared_set.key, *(profile.layout.key for _, profile in declared_set.profiles() if profile.layout)]


def _text(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    in_keys = {name for key in keys_of(declared_set) for name in key.row_fields}
    wanted: dict[str, str] = {}
    for query in context.queries_of(declared_set):
        by_order = [query.query.order.removeprefix("-")] if query.query.order else []
        ranged = [name for name, how in query.known.items() if how != "="]
        for name in (*ranged, *by_order):
            wanted.setdefault(name, query.query.name)
    is_reported = False
    for name, field in declared_set.shape.fields.items():
        if field.type == "string" and field.order == "rising" and name in wanted and name in in_keys:
            says = f"{name} increases but is text: {wanted[name]!r} gets '10' before '9', and '01.02.' before '31.01.'."
            better = f"Store it as a number or a timestamp, and write the key as {{{name}:010d}} or {{{name}:ticks}}."
            yield TEXT_ORDER.finding(Severity.WARNING, declared_set.name, says, better, fields=[name])
            is_reported = True
    if not is_reported:
        yield from islice(chain.from_iterable(map(_unsorted, context.queries_of(declared_set))), 1)


def _unsorted(query: MeasuredQuery) -> Iterator[Finding]:
    """Yield a finding if a range of values is not a range of keys."""
    key, measured_set = key_of(query), query.measured
    if waste_severity(measured_set) is None or unindexed(query):
        return
    for position, name in enumerate(key.row_fields):
        if query.query.known.get(name) == "range" and not is_sorted(key, position):
            says = (
                f"{name} is text in the middle of a RowKey, so rows do not sort by it: {query.query.name!r} reads "
                f"{entities(measured_set.examined)} to return {number(wanted(measured_set))}."
            )
            better = f"Write it as {{{name}:escape}}, which keeps the order, or store a number or a timestamp."
            yield TEXT_ORDER.finding(Severity.WARNING, query.of.name, says, better, fields=[name])
            return


def _narrow(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    seen_names: set[str] = set()
    for key in keys_of(declared_set):
        for piece in (*pieces_of(key.partition_template), *pieces_of(key.row_template)):
            if (
                piece.name
                and piece.width
                and piece.spec[-1:] == "d"
                and not piece.is_clock
                and piece.name not in seen_names
            ):
                seen_names.add(piece.name)
                digits = piece.width - piece.spec.startswith("+")
                yield from _one_narrow(context, declared_set, piece.name, digits)


def _one_narrow(context: RuleContext, declared_set: DeclaredSet, name: str, digits: int) -> Iterator[Finding]:
    field = declared_set.shape.fields.get(name)
    if field is None:
        return
    # A field that is numbered within another one restarts for each of its values
    within = field.within
    share = values_of(declared_set.shape, within).share(1) if within and within in declared_set.shape.fields else 1.0
    now = field.distinct or math.ceil(declared_set.shape.count * share)
    growth = 0.0 if field.distinct else declared_set.shape.growth * share
    most = 10**digits - 1
    if now + growth * context.design.years <= most:
        return
    when = years_from_now((most - now) / growth if now < most and growth else 0)
    says = (
        f"{name} has {digits} digits in the key of {declared_set.name}, so it ends at {number(most)}, "
        f"which is reached {when}."
    )
    wide = len(str(int(now + growth * context.design.years))) + 2
    better = f"Write it as {{{name}:0{wide}d}}; widening a key later means rewriting every entity."
    yield NARROW_NUMBER.finding(Severity.SERIOUS, declared_set.name, says, better, fields=[name])


_FLAWS: Final = {
    "unpadded": UNPADDED,
    "both-keys": BOTH_KEYS,
    "overlap": OVERLAPPING,
    "ambiguous": AMBIGUOUS,
    "forbidden": UNSAFE_KEY,
    "too-few": COLLIDING_KEYS,
}
_SERIOUS: Final = ("overlap", "forbidden", "too-few")


def _flawed(context: RuleContext) -> Iterator[Finding]:
    """Yield the corrections that reading the design made, each kind once per key."""
    reported: set[tuple[str, str]] = set()
    for flaw in context.design.flaws:
        if (flaw.kind, flaw.subject) in reported:
            continue
        reported.add((flaw.kind, flaw.subject))
        is_serious = flaw.kind in _SERIOUS or (flaw.kind == "unpadded" and _is_sorted_by(context, flaw))
        severity = Severity.SERIOUS if is_serious else Severity.WARNING
        yield _FLAWS[flaw.kind].finding(severity, flaw.subject, flaw.says, flaw.better, fields=flaw.fields)


def _is_sorted_by(context: RuleContext, flaw: Flaw) -> bool:
    """Whether a query reads a range of the flawed field, or sorts by it."""
    whole = flaw.subject.partition(": ")[0]
    return any(
        query.known.get(name, "=") != "=" or (query.query.order or "").lstrip("-") == name
        for name in flaw.fields
        for query in context.queries()
        if query.of.name == whole
    )


RULES: Final = (
    KEY_CHANGES,
    UNPADDED,
    BOTH_KEYS,
    OVERLAPPING,
    AMBIGUOUS,
    COLLIDING_KEYS,
    UNSAFE_KEY,
    TEXT_ORDER,
    NARROW_NUMBER,
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield findings about the keys of each set and about their order."""
    yield from _flawed(context)
    yield from _unsound_keys(context)
    yield from _wrong_order(context)
