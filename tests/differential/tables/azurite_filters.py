"""The entities that Azurite may find or miss, unlike the service, because it compares values like JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from tablepatterns import Int64, Ticks
from tablepatterns.filters import And, Comparison, Filter, Not, Or, Value
from tablepatterns_engine.tables.entities import Entity

_TICKS_PER_MILLISECOND = 10_000


def is_uncertain(wanted: Filter, entity: Entity) -> bool:
    """Return whether some comparison of a filter comes out otherwise on Azurite, or may, for this entity."""
    return any(_deviates(entity.get(each.name), each) for each in comparisons(wanted))


def meets_another_number(wanted: Filter, entity: Entity) -> bool:
    """Return whether a filter compares a literal of 64 bits with a number of this entity that has another type."""
    values = [entity.get(each.name) for each in comparisons(wanted) if type(each.value) is Int64]
    return any(type(value) in (int, float, bool) for value in values)


def has_no_property(wanted: Filter | None) -> bool:
    """Return whether a filter consists of constants."""
    return wanted is not None and next(comparisons(wanted), None) is None


def comparisons(wanted: Filter) -> Iterator[Comparison]:
    """Yield the comparisons in a filter."""
    match wanted:
        case Comparison():
            yield wanted
        case Not(term=term):
            yield from comparisons(term)
        case And(terms=terms) | Or(terms=terms):
            for term in terms:
                yield from comparisons(term)
        case _:
            return


def _deviates(value: Value | None, comparison: Comparison) -> bool:
    literal = comparison.value
    if isinstance(literal, float) and "e" in repr(literal):
        # An exponent makes the literal the name of a property, which no entity has
        return True
    if value is None:
        return False
    if type(value) is not type(literal):
        return True
    if isinstance(value, Ticks) and isinstance(literal, Ticks):
        return value // _TICKS_PER_MILLISECOND == literal // _TICKS_PER_MILLISECOND
    return isinstance(value, (UUID, bytes)) and comparison.operator not in ("eq", "ne")
