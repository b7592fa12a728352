"""Compute how many entities the archives of a design move, and declare the moves as writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .model import ArchivePolicy, DeclaredSet, Design, Moves, Query, Write

DAY: Final = 86_400
YEAR_DAYS: Final = 365.25
YEAR: Final = YEAR_DAYS * DAY
"""Seconds of a year."""


def archive_name(policy: ArchivePolicy) -> str:
    """Return the name of the write that archives an entity.

    >>> archive_name(ArchivePolicy(to="FormerEmployees", after_days=365))
    'archive to FormerEmployees'
    """
    return f"archive to {policy.place}"


def is_of_archive(declared: DeclaredSet, access: Query | Write) -> bool:
    """Whether an access pattern is the move of an entity to the archive of the set."""
    return declared.archive is not None and access.name == archive_name(declared.archive)


def archive_set(design: Design, declared: DeclaredSet) -> DeclaredSet | None:
    """Return the set that holds archived entities; None if there is no archive, or blobs hold them."""
    policy = declared.archive
    return None if policy is None else next((each for each in design.sets if each.name == policy.to), None)


def archive_write(declared: DeclaredSet) -> Write | None:
    """Return the write that moves an entity to the archive of a set with known moves; None if there is no archive."""
    policy = declared.archive
    if policy is None:
        return None
    rate = declared.shape.moves.archived / YEAR if policy.rate is None else policy.rate
    peak = None if policy.peak is None else max(rate, policy.peak)
    return Write(archive_name(policy), "delete", rate=rate, peak=peak)


def with_moves(design: Design) -> Design:
    """Return a design with the number of entities that its archives move in a year.

    As many entities are archived as are added, unless a rate is declared; if none are added, the existing ones are
    archived evenly. The declared growth of an archive includes what it receives.
    """
    if not any(each.archive for each in design.sets):
        return design
    received = dict.fromkeys((each.name for each in design.sets), 0.0)
    moves: dict[str, Moves] = {}
    for declared in _sources_first(design):
        came = received[declared.name]
        moves[declared.name] = found = _moves(declared, came, design.years)
        if declared.archive is not None and declared.archive.to in received:
            received[declared.archive.to] += found.archived
    sets = (replace(each, shape=replace(each.shape, moves=moves[each.name])) for each in design.sets)
    return replace(design, sets=tuple(sets))


def _sources_first(design: Design) -> list[DeclaredSet]:
    """Return the sets, each after those that are archived to it."""
    found: list[DeclaredSet] = []
    left = list(design.sets)
    while left:
        waits = {each.archive.to for each in left if each.archive is not None}
        # In a cycle, which is reported, each set waits for another
        ready = [each for each in left if each.name not in waits] or left[:1]
        found += ready
        names = [each.name for each in ready]
        left = [each for each in left if each.name not in names]
    return found


def _moves(declared: DeclaredSet, received: float, years: float) -> Moves:
    shape, policy, retention = declared.shape, declared.archive, declared.retention
    inserted, deleted = (_rate(declared, operation) * YEAR for operation in ("insert", "delete"))
    added = max(shape.growth, inserted - deleted + received)
    if policy is None:
        if retention is not None:
            # Until the archive holds what it receives within the retention
            room = received * retention.days / YEAR_DAYS - shape.count
            received_net = max(0.0, min(received, room / years))
            return Moves(received, 0.0, max(0.0, received_net - shape.growth))
        return Moves(received, 0.0, max(0.0, added - shape.growth) if received else 0.0)
    if policy.rate is not None:
        archived = min(policy.rate * YEAR, added + shape.count / years)
        return Moves(received, archived, added - archived - shape.growth)
    days = policy.after_days or YEAR_DAYS
    if retention is not None and retention.days <= days:
        return Moves(received)
    return Moves(received, added or shape.count / days * YEAR_DAYS, -shape.growth)


def _rate(declared: DeclaredSet, operation: str) -> float:
    return sum(write.rate for write in declared.writes if write.operation == operation)
