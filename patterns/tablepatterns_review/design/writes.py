"""What the writes and the archives of a set change: rows, how often writes are retried, and the entities that move."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tablepatterns.entity_set.derived import Derived

from .distribution import Zipf, coincidence_of, names_one
from .key_parts import dates_of
from .model import DAY, YEAR, YEAR_DAYS, ArchivePolicy, DeclaredSet, Design, Moves, Query, Write, WriteOperation


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
    return write.operation == "update" and not set(declared_set.key.partition_fields).isdisjoint(write.changes)


def inserted_at(declared_set: DeclaredSet) -> str | None:
    """Return the field with the time at which an entity was inserted: a timestamp that rises, and never changes.

    That is an instant, if there is one, and not a date.
    """
    fields, dates = declared_set.shape.fields, dates_of(declared_set.key)
    updates = (write for write in declared_set.writes if write.operation == "update")
    changed_names = {name for write in updates for name in write.changes or fields.keys() - {*declared_set.key.fields}}
    rising = (name for name, field in fields.items() if field.type == "datetime" and field.order == "rising")
    return min((name for name in rising if name not in changed_names), key=lambda name: name in dates, default=None)


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
        retries += retries_at(write.rate * Zipf(max(1, declared_set.shape.count), write.skew or 0.0).coincidence)
    for derived in touched(declared_set, write):
        profile = declared_set.profile(derived)
        writes = [write for write in declared_set.writes if derived in touched(declared_set, write)]
        if profile.is_shared and max(write.writers for write in writes) > 1:
            rate = sum(write.rate for write in writes)
            shape, names = declared_set.shape, profile.groups
            same_row = 1 / max(1, shape.count) if names_one(shape, names) else coincidence_of(shape, names)
            retries += retries_at(rate * same_row / profile.spread)
    return retries


def archive_name(policy: ArchivePolicy) -> str:
    """Return the name of the write that archives an entity.

    >>> archive_name(ArchivePolicy(to="FormerEmployees", after_days=365))
    'archive to FormerEmployees'
    """
    return f"archive to {policy.place}"


def is_of_archive(declared_set: DeclaredSet, access: Query | Write) -> bool:
    """Whether an access pattern is the move of an entity to the archive of the set."""
    return declared_set.archive is not None and access.name == archive_name(declared_set.archive)


def archive_set(design: Design, declared_set: DeclaredSet) -> DeclaredSet | None:
    """Return the set that holds archived entities; None if there is no archive, or blobs hold them."""
    policy = declared_set.archive
    return None if policy is None else next((of for of in design.sets if of.name == policy.to), None)


def archive_write(declared_set: DeclaredSet) -> Write | None:
    """Return the write that moves an entity to the archive of a set with known moves; None if there is no archive."""
    policy = declared_set.archive
    if policy is None:
        return None
    rate = declared_set.shape.moves.archived_rate
    peak = None if policy.peak is None else max(rate, policy.peak)
    return Write(archive_name(policy), "delete", rate=rate, peak=peak)


def with_moves(design: Design) -> Design:
    """Return a design with the number of entities that its archives move in a year.

    As many entities are archived as are added, unless a rate is declared; if none are added, the existing ones are
    archived evenly, and replaced. The declared growth of an archive includes what it receives.
    """
    if not any(declared_set.archive for declared_set in design.sets):
        return design
    received = {declared_set.name: (0.0, 0.0) for declared_set in design.sets}
    moves: dict[str, Moves] = {}
    for declared_set in _sources_first(design):
        moves[declared_set.name] = moves_of_set = _moves(declared_set, *received[declared_set.name])
        if declared_set.archive is not None and declared_set.archive.to in received:
            entities, rate = received[declared_set.archive.to]
            received[declared_set.archive.to] = (entities + moves_of_set.archived, rate + moves_of_set.archived_rate)
    sets = (replace(of, shape=replace(of.shape, moves=moves[of.name])) for of in design.sets)
    return replace(design, sets=tuple(sets))


def _sources_first(design: Design) -> list[DeclaredSet]:
    """Return the sets, each after those that are archived to it."""
    ordered, remaining = list[DeclaredSet](), list(design.sets)
    while remaining:
        waits = {of.archive.to for of in remaining if of.archive is not None}
        # In a cycle, which is reported, each set waits for another
        ready = [of for of in remaining if of.name not in waits] or remaining[:1]
        ordered += ready
        remaining = [of for of in remaining if of not in ready]
    return ordered


def _moves(declared_set: DeclaredSet, received: float, received_rate: float) -> Moves:
    shape, policy, retention = declared_set.shape, declared_set.archive, declared_set.retention
    rates = max(0.0, rate_of(declared_set, "insert") - rate_of(declared_set, "delete") + received_rate)
    added = max(shape.growth, received) or rates * YEAR
    here = Moves(received, received_rate=received_rate, net=max(0.0, received - shape.growth))
    if policy is None or policy.is_late(retention):
        # With a retention, until there are as many as are received within its days
        most = None if retention is None or not received else received * retention.days / YEAR_DAYS
        return replace(here, most=most)
    if policy.rate is None:
        steady = shape.count / (policy.after_days or YEAR_DAYS) / DAY
        rate = rates or added / YEAR or steady
        return replace(here, archived=added or rate * YEAR, archived_rate=rate, net=-shape.growth)
    # The declared rates may be those of more entities than the declared growth
    archived = policy.rate * YEAR * (added / YEAR / rates if rates else 1.0)
    archived = min(archived, added + shape.count)
    return replace(here, archived=archived, archived_rate=policy.rate, net=added - archived - shape.growth)
