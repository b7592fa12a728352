"""Which rows the writes of a set change, and how often they are retried."""

from __future__ import annotations

from typing import Final

from tablepatterns.entity_set.derived import Derived

from .distribution import Zipf, coincidence_of, names_one
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


def inserted_at(declared_set: DeclaredSet) -> str | None:
    """Return the field with the time at which an entity was inserted: a timestamp that rises, and never changes."""
    key, updates = declared_set.key.fields, [write for write in declared_set.writes if write.operation == "update"]
    for name, field in declared_set.shape.fields.items():
        is_changed = any(name in write.changes or (not write.changes and name not in key) for write in updates)
        if field.type == "datetime" and field.order == "rising" and not is_changed:
            return name
    return None


def rate_of(declared_set: DeclaredSet, operation: WriteOperation) -> float:
    """Return how many entities per second the declared writes insert, update or delete."""
    return sum(write.rate for write in declared_set.writes if write.operation == operation)


ROUND_TRIP: Final = 0.02
"""The assumed seconds between two requests of a writer in the account's region."""
RETRY_REQUESTS: Final = 2
"""The requests of a retry: the read, and the rejected write."""


def retries_at(rate: float) -> float:
    """Return the average number of retries of a change, if writers change the row `rate` times per second.

    An attempt reads the row and writes it a round trip later. It conflicts with the changes in the round trips before
    and after that write.

    >>> retries_at(25)
    1.0
    """
    return 2 * rate * ROUND_TRIP


def retries_of(declared_set: DeclaredSet, write: Write) -> float:
    """Return the average number of retries of one call of a write, at its average rate.

    Rows of lists and totals are retried too: in the entity's partition with the whole transaction, otherwise by the
    writer that updates them afterwards.
    """
    retries = 0.0
    if write.operation == "update" and write.writers > 1 and not write.overwrite:
        retries += retries_at(write.rate * Zipf(max(1, declared_set.shape.count), write.skew).coincidence)
    for derived in touched(declared_set, write):
        profile = declared_set.profile(derived)
        writes = [write for write in declared_set.writes if derived in touched(declared_set, write)]
        if profile.is_shared and max(write.writers for write in writes) > 1:
            rate = sum(write.rate for write in writes)
            retries += retries_at(rate * _coincidence(declared_set, profile.groups) / profile.spread)
    return retries


def _coincidence(declared_set: DeclaredSet, names: tuple[str, ...]) -> float:
    if names_one(declared_set.shape, names):
        return 1 / max(1, declared_set.shape.count)
    return coincidence_of(declared_set.shape, names)
