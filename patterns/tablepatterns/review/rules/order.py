"""Order: keys whose order is not that of the values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...entity_set.derived import Index
from ...figures import number, years_from_now
from ...key import Key
from ..design.model import DeclaredSet
from ..key_parts import pieces_of
from ..model import Finding, Severity
from .asked import terms_of
from .known import Known
from .rule import Rule

TEXT_ORDER: Final = Rule(
    name="text-order",
    finds="numbers or dates are kept in a key as text, and are asked for by range or order",
    severity="a warning",
    why="Keys are strings: numbers sort as numbers only if they are of one length, padded with zeros.",
    guide="Sorting data in the Table service",
    pattern="compound_key",
)
NARROW_NUMBER: Final = Rule(
    name="narrow-number",
    finds="a number in a key has fewer digits than the declared growth needs",
    severity="serious",
    why="A number is padded to a fixed length so that it sorts; one with more digits would not, and is refused.",
    guide="Sorting data in the Table service",
    pattern="compound_key",
)
RULES: Final = (TEXT_ORDER, NARROW_NUMBER)


def found(known: Known) -> Iterator[Finding]:
    """Hand out what is wrong with the order of the keys of each set."""
    for declared in known.design.sets:
        yield from _text(known, declared)
        yield from _narrow(known, declared)


def keys_of(declared: DeclaredSet) -> list[Key]:
    """Return the keys of a set: that of its entities, and those of its indexes."""
    return [declared.key, *(each.key for each in declared.derived if isinstance(each, Index))]


def _text(known: Known, declared: DeclaredSet) -> Iterator[Finding]:
    in_keys = {name for key in keys_of(declared) for name in key.row_fields}
    wanted: dict[str, str] = {}
    for asked in known.queries_of(declared):
        by_order = [asked.query.order.removeprefix("-")] if asked.query.order else []
        for name in (*terms_of(asked.query, declared.key).ranged, *by_order):
            wanted.setdefault(name, asked.query.name)
    for name, field in declared.shape.fields.items():
        if field.type == "string" and field.order == "rising" and name in wanted and name in in_keys:
            says = f"{name} rises and is text: {wanted[name]!r} gets '10' before '9', and '01.02.' before '31.01.'."
            better = f"Store it as a number or an instant, and write the key as {{{name}:010d}} or {{{name}:ticks}}."
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
    if field is None or field.within is not None:
        return
    now = field.distinct or declared.shape.count
    growth = 0.0 if field.distinct else declared.shape.growth
    most = 10**digits - 1
    if now + growth * known.design.years <= most:
        return
    when = years_from_now((most - now) / growth if now < most and growth else 0)
    says = f"{name} has {digits} digits in the key of {declared.name}, and so ends at {number(most)}: reached {when}."
    wide = len(str(int(now + growth * known.design.years))) + 2
    better = f"Write it as {{{name}:0{wide}d}}; a key cannot be widened later without writing every entity anew."
    yield NARROW_NUMBER.finding(Severity.SERIOUS, declared.name, says, better)
