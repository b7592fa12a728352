"""Find keys that change, collide, cannot be written or do not sort as their values do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from ...figures import number, often, years_from_now
from ...key import Key
from ..design.model import DeclaredSet, Field
from ..key_parts import Piece, pieces_of
from ..measure.sample import values_of
from ..model import Finding, Severity
from .known import Known, terms_of
from .rule import Rule, listed, part_of

_CERTAIN: Final = 0.1
_POSSIBLE: Final = 0.001
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
)
COLLIDING_KEYS: Final = Rule(
    name="colliding-keys",
    finds="two entities can have the same key",
    severity=f"serious if one in ten collides, a warning from one in {number(1 / _POSSIBLE)}",
    why="PartitionKey and RowKey together must be unique: add an id to a timestamp.",
    guide="Compound key pattern; log data anti-pattern (date, time and message id)",
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


def _unsound_keys(known: Known) -> Iterator[Finding]:
    """Yield what is wrong with the keys of each set."""
    for declared in known.design.sets:
        yield from _changing(known, declared)
        yield from _colliding(known, declared)
        yield from _unsafe(declared)


def _changing(known: Known, declared: DeclaredSet) -> Iterator[Finding]:
    for done in known.writes_of(declared):
        changed = [name for name in done.write.changes if name in declared.key.fields]
        if done.write.operation != "update" or not changed:
            continue
        moves = any(name in declared.key.partition_fields for name in changed)
        says = (
            f"{done.write.name!r} changes {listed(changed)}, which is part of the "
            f"{'PartitionKey' if moves else 'RowKey'} of {declared.name}, {often(done.write.rate)}."
        )
        better = (
            "Use values that never change as the key, such as a number, with an index for those that do; or move "
            "entities with PartitionMove."
            if moves
            else "Use values that never change as the key, with an index in the partition for those that do."
        )
        pattern = "partition_move" if moves else "intra_partition_index"
        yield KEY_CHANGES.finding(
            Severity.WARNING, part_of(declared.name, done.write.name), says, better, pattern=pattern
        )


def _colliding(known: Known, declared: DeclaredSet) -> Iterator[Finding]:
    if _is_logged_with_id(declared):
        return
    pieces = [piece for half in _halves(declared.key) for piece in half if piece.name]
    fields = [declared.shape.fields.get(piece.name or "", Field()) for piece in pieces]
    clocks = [piece for piece in pieces if piece.is_clock]
    own = [p for p, f in zip(pieces, fields, strict=True) if f.distinct is None and not p.is_clock]
    if own or not clocks or all(field.distinct is not None for field in fields):
        # Where all values are counted, the design is refused if they are too few
        return
    span = min(_length(piece) for piece in clocks)
    rate = sum(each.write.busiest for each in known.writes_of(declared) if each.write.operation == "insert")
    meets = rate * span * _share(declared, [piece for piece in pieces if not piece.is_clock])
    if meets < _POSSIBLE:
        return
    severity = Severity.SERIOUS if meets >= _CERTAIN else Severity.WARNING
    names = listed([piece.name or "" for piece in pieces])
    says = (
        f"The key of {declared.name} consists of {names}: at the peak, {number(meets)} other entities "
        "have the same one "
        f"within a {_spoken(span)}."
    )
    better = f"Append an id to the timestamp in the RowKey, such as {{{declared.shape.entity}Id:uuid}}."
    yield COLLIDING_KEYS.finding(severity, declared.name, says, better)


def _is_logged_with_id(declared: DeclaredSet) -> bool:
    return declared.pattern in ("log_tail", "data_series", "wide_entity")


def _share(declared: DeclaredSet, pieces: list[Piece]) -> float:
    share = 1.0
    for piece in pieces:
        share *= values_of(declared.shape, piece.name or "").share(1)
    return share


def _length(piece: Piece) -> float:
    """Return for how many seconds a moment has the same key."""
    directives = re.findall("%(.)", piece.spec)
    return _SECONDS.get(directives[-1], _TICK) if directives else _TICK


def _spoken(span: float) -> str:
    names = {31_557_600.0: "year", 2_629_800.0: "month", 86_400.0: "day", 3600.0: "hour", 60.0: "minute", 1.0: "second"}
    return names.get(span, "microsecond")


def _halves(key: Key) -> tuple[list[Piece], list[Piece]]:
    return list(pieces_of(key.partition_template)), list(pieces_of(key.row_template))


def _unsafe(declared: DeclaredSet) -> Iterator[Finding]:
    for key in keys_of(declared):
        for piece in (*_halves(key)[0], *_halves(key)[1]):
            field = declared.shape.fields.get(piece.name or "", Field())
            if piece.name and not piece.spec and field.type == "string" and _WITH_SLASHES.search(piece.name):
                says = f"{piece.name} is part of a key of {declared.name}, and is likely to contain '/', '?' or '#'."
                better = (
                    f"Write it as {{{piece.name}:escape}}, which escapes what a key cannot contain and keeps the order."
                )
                yield UNSAFE_KEY.finding(Severity.WARNING, declared.name, says, better)
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


def _wrong_order(known: Known) -> Iterator[Finding]:
    """Yield what is wrong with the order of the keys of each set."""
    for declared in known.design.sets:
        yield from _text(known, declared)
        yield from _narrow(known, declared)


def keys_of(declared: DeclaredSet) -> list[Key]:
    """Return the keys of a set: that of its entities, and those of its indexes."""
    return [declared.key, *(profile.layout.key for _, profile in declared.profiles() if profile.layout)]


def _text(known: Known, declared: DeclaredSet) -> Iterator[Finding]:
    in_keys = {name for key in keys_of(declared) for name in key.row_fields}
    wanted: dict[str, str] = {}
    for asked in known.queries_of(declared):
        by_order = [asked.query.order.removeprefix("-")] if asked.query.order else []
        for name in (*terms_of(asked.query, declared.key).ranged, *by_order):
            wanted.setdefault(name, asked.query.name)
    for name, field in declared.shape.fields.items():
        if field.type == "string" and field.order == "rising" and name in wanted and name in in_keys:
            says = f"{name} increases but is text: {wanted[name]!r} gets '10' before '9', and '01.02.' before '31.01.'."
            better = f"Store it as a number or a timestamp, and write the key as {{{name}:010d}} or {{{name}:ticks}}."
            yield TEXT_ORDER.finding(Severity.WARNING, declared.name, says, better)


def _narrow(known: Known, declared: DeclaredSet) -> Iterator[Finding]:
    seen: set[str] = set()
    for key in keys_of(declared):
        for piece in (*pieces_of(key.partition_template), *pieces_of(key.row_template)):
            if piece.name and piece.spec.endswith("d") and piece.width and piece.name not in seen:
                seen.add(piece.name)
                digits = piece.width - piece.spec.startswith("+")
                yield from _one_narrow(known, declared, piece.name, digits)


def _one_narrow(known: Known, declared: DeclaredSet, name: str, digits: int) -> Iterator[Finding]:
    field = declared.shape.fields.get(name)
    if field is None:
        return
    # A field that is numbered within another starts again with each value of that one
    within = field.within
    share = values_of(declared.shape, within).share(1) if within and within in declared.shape.fields else 1.0
    now = field.distinct or math.ceil(declared.shape.count * share)
    growth = 0.0 if field.distinct else declared.shape.growth * share
    most = 10**digits - 1
    if now + growth * known.design.years <= most:
        return
    when = years_from_now((most - now) / growth if now < most and growth else 0)
    says = (
        f"{name} has {digits} digits in the key of {declared.name}, so it ends at {number(most)}, "
        f"which is reached {when}."
    )
    wide = len(str(int(now + growth * known.design.years))) + 2
    better = f"Write it as {{{name}:0{wide}d}}; widening a key later means rewriting every entity."
    yield NARROW_NUMBER.finding(Severity.SERIOUS, declared.name, says, better)


RULES: Final = (
    KEY_CHANGES,
    COLLIDING_KEYS,
    UNSAFE_KEY,
    TEXT_ORDER,
    NARROW_NUMBER,
)


def found(known: Known) -> Iterator[Finding]:
    """Yield what is wrong with the keys of each set and with their order."""
    yield from _unsound_keys(known)
    yield from _wrong_order(known)
