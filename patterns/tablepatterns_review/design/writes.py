"""Which rows the writes of a set change."""

from __future__ import annotations

from tablepatterns.entity_set.derived import Derived

from .model import DeclaredSet, Write, WriteOperation


def touches(declared_set: DeclaredSet, derived: Derived, write: Write) -> bool:
    """Whether a write changes derived rows: every insert and delete, and an update of their fields."""
    if write.operation != "update" or not write.changes:
        return True
    layout = declared_set.profile(derived).layout
    if layout is not None:
        return layout.include is None or not {*layout.include, *layout.key.fields}.isdisjoint(write.changes)
    return not set(derived.reads).isdisjoint(write.changes)


def touched(declared_set: DeclaredSet, write: Write) -> list[Derived]:
    return [derived for derived in declared_set.derived if touches(declared_set, derived, write)]


def moves(declared_set: DeclaredSet, derived: Derived, write: Write) -> bool:
    """Whether a write changes the key of a derived row."""
    layout = declared_set.profile(derived).layout
    if layout is None or write.operation != "update":
        return False
    return not set(layout.key.fields).isdisjoint(write.changes or layout.key.fields)


def moves_away(declared_set: DeclaredSet, write: Write) -> bool:
    """Whether a write moves the entity to another partition."""
    return write.operation == "update" and not set(declared_set.key.partition_fields).isdisjoint(write.changes)


def rate_of(declared_set: DeclaredSet, operation: WriteOperation) -> float:
    """Return how many entities per second the declared writes insert, update or delete."""
    return sum(write.rate for write in declared_set.writes if write.operation == operation)
