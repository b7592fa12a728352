"""Describe what readers of each access pattern can see, and the state after a crash between two requests.

These are the guarantees of the recipes that answer an access pattern; docs/guarantees.md says how they are tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tablepatterns.entity_set.derived import Derived, RowProfile
from tablepatterns.figures import counted, span
from tablepatterns.filters import QueryClass

from .capacity.load import moves_away, touched
from .design.archives import is_of_archive
from .design.model import ArchivePolicy, DeclaredLog, DeclaredSet, Design, Query, Write
from .kinds import kind_of
from .kinds.log import pace_of
from .measure.writes import shares_partition
from .model import Consistency, Measured

LEASE: Final = 60
"""The default lease of a set: the seconds after which a worker receives the message of a crashed writer."""

_LATE: Final = f"usually updated before the write returns; if the writer crashes, by a worker after {LEASE} s"
_NOTHING: Final = "no partial change"
_NO_NEED: Final = "no repair needed"
_WORKER: Final = "a worker, from the queue"
_REPAIR: Final = "verify and repair, if a process stalled for more than half the lease"


@dataclass(frozen=True)
class _Part:
    """One statement about an access pattern; empty texts are left out."""

    reads: str
    crash: str = ""
    repaired_by: str = ""


def promises(design: Design, measured_sets: Iterable[Measured]) -> tuple[Consistency, ...]:
    """Return the consistency of each access pattern, in the order of `measured_sets`.

    :param design: the design
    :param measured_sets: the access patterns as measured

    Guide: eventual consistency; entity group transactions.
    """
    return tuple(_promise(design, measured_set) for measured_set in measured_sets)


def _promise(design: Design, measured_set: Measured) -> Consistency:
    access, declared_part = measured_set.access, measured_set.of
    if isinstance(declared_part, DeclaredLog):
        parts = [_logged(declared_part, access)]
    elif isinstance(access, Query):
        parts = _query(design, declared_part, measured_set, access)
    else:
        parts = _write(design, declared_part, access)
    crash, repaired_by = (_joined(getattr(part, name) for part in parts) for name in ("crash", "repaired_by"))
    reads = _joined(part.reads for part in parts)
    return Consistency(declared_part, access, reads, crash or _NOTHING, repaired_by or _NO_NEED)


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))


# -- Blob logs


def _logged(log: DeclaredLog, access: Query | Write) -> _Part:
    """Return what readers see of a log, and what a crash of its writer, or of what deletes it, leaves."""
    if isinstance(access, Query):
        return _Part("each flushed entry once, in time order; each hour as of when its blobs are listed")
    if access.operation == "delete":
        return _Part("the hours that are retained", "some of the expired blobs", "the next drop_before")
    if log.write_through:
        return _Part("each entry once append has returned")
    pace = pace_of(log, log.write(access))
    loss = (
        "the buffer is lost"
        if pace.buffered == 1
        else f"up to {counted(pace.buffered, 'entry')} in the buffer are lost"
    )
    after = f", {span(pace.seconds)} after its first entry" if pace.buffered > 1 else ""
    return _Part(
        f"each entry once its buffer is flushed{after}",
        f"{loss}; no blob is damaged",
        "not repaired; with write_through, none is lost",
    )


# -- Queries


def _query(design: Design, declared_set: DeclaredSet, measured_set: Measured, query: Query) -> list[_Part]:
    if query.archived:
        return [_Part("an entity that a worker has moved; until then the set has it, and sometimes both have it")]
    via = next((derived for derived in declared_set.derived if derived.name == measured_set.via), None)
    parts = [_primary(declared_set) if via is None else _derived(declared_set, via)]
    layout = None if via is None else declared_set.profile(via).layout
    if layout is not None and layout.is_eventual and not layout.is_complete:
        parts.append(_Part("properties that the index lacks are read from the entity later"))
    if via is None:
        parts += [_filled(*pair) for pair in _copied_into(design, declared_set)]
    if _is_of_several(measured_set):
        parts.append(_Part("read in several requests, not as a snapshot"))
    if any(name in declared_set.in_blobs() for name in query.select or declared_set.in_blobs()):
        parts.append(_Part("large values as of when the entity was read"))
    return parts


def _is_of_several(measured_set: Measured) -> bool:
    """Whether a result is combined from several responses."""
    return measured_set.requests > 1 and measured_set.query_class is not QueryClass.POINT


def _primary(declared_set: DeclaredSet) -> _Part:
    return _Part(*kind_of(declared_set).visibility)


def _derived(declared_set: DeclaredSet, via: Derived) -> _Part:
    """Describe what a reader of derived rows sees."""
    subject = declared_set.profile(via).called
    if not via.is_eventual:
        return _Part(f"always exact {subject}: they change in the transaction of the entity")
    crash, repaired_by = _behind(declared_set, [via])
    return _Part(f"eventually consistent {subject}, {_LATE}{_UNTIL_THEN[subject]}", crash, repaired_by)


_UNTIL_THEN: Final = {
    "copies": "; until then an old copy, or none",
    "lists": "; never an entity without the value, but one may be missing",
    "totals": "",
}


def _copied_into(design: Design, declared_set: DeclaredSet) -> list[tuple[Derived, RowProfile]]:
    """Return the copies that other sets keep in the entities of this one."""
    return [
        (derived, profile)
        for other_set in design.sets
        for derived, profile in other_set.profiles()
        if profile.copied
        and profile.key == declared_set.key
        and derived.table(other_set.table).lower() == declared_set.table.lower()
    ]


def _filled(copies: Derived, profile: RowProfile) -> _Part:
    names = ", ".join(profile.copied)
    if copies.is_eventual:
        return _Part(f"{names}, copied from other entities, are eventually consistent: {_LATE}")
    return _Part(f"{names}, copied from other entities, are always exact")


# -- Writes


def _write(design: Design, declared_set: DeclaredSet, write: Write) -> list[_Part]:
    if is_of_archive(declared_set, write):
        return [_archived(declared_set, declared_set.archive)]
    parts = [_own(declared_set, write)]
    elsewhere = [derived for derived in touched(declared_set, write) if derived.is_eventual]
    if elsewhere:
        names = ", ".join(derived.name for derived in elsewhere)
        crash, repaired_by = _behind(declared_set, elsewhere)
        parts.append(_Part(f"{names}: eventually consistent, {_LATE}", crash, repaired_by))
    if moves_away(declared_set, write):
        parts.append(_moved())
    large = declared_set.in_blobs()
    if write.operation != "delete" and any(name in large for name in write.changes or large):
        parts.append(_Part("", "an orphaned blob; never an entity without its blob", "collect_orphans"))
    if write.atomic_with:
        parts.append(_together(design, declared_set, write))
    return parts


def _own(declared_set: DeclaredSet, write: Write) -> _Part:
    """Describe what readers see of a write in its own partition."""
    if kind_of(declared_set).is_wide:
        return _primary(declared_set)
    local = [derived.name for derived in touched(declared_set, write) if not derived.is_eventual]
    if local:
        return _Part(f"the change immediately, with {', '.join(local)}: one transaction")
    return _Part("the change immediately")


def _behind(declared_set: DeclaredSet, derived: Sequence[Derived]) -> tuple[str, str]:
    """Describe rows elsewhere after a crash, and what repairs them."""
    names = ", ".join(derived.name for derived in derived)
    crash = f"stale rows of {names}, and a message in the intents queue"
    if any(declared_set.is_unique(derived) for derived in derived):
        crash += "; possibly a reserved index key"
    return crash, f"{_WORKER}; {_REPAIR}"


def _moved() -> _Part:
    return _Part(
        "while it moves, the entity is in at least one place, sometimes in both",
        "an entity in both places, and a message in the intents queue",
        _WORKER,
    )


def _archived(declared_set: DeclaredSet, policy: ArchivePolicy | None) -> _Part:
    place = "" if policy is None else policy.place
    return _Part(
        f"the entity in {declared_set.name}, in {place}, or in both until a worker has moved it",
        f"an entity in {declared_set.name}, or in both places, and a message in the archive's queue",
        f"{_WORKER}; after five deliveries, the message moves to the poison queue",
    )


def _together(design: Design, declared_set: DeclaredSet, write: Write) -> _Part:
    """Describe what readers see of writes that must succeed or fail together."""
    other_sets = [
        declared_set
        for declared_set in design.sets
        for other_write in declared_set.writes
        if other_write.name in write.atomic_with
    ]
    names = ", ".join(write.atomic_with)
    if shares_partition([declared_set, *other_sets]):
        return _Part(f"atomic with {names}: one entity group transaction")
    return _Part(
        f"not isolated from {names}: readers can see some steps and not others",
        "the steps before the crash, and a message for the others",
        "a worker, which retries from the first step; after five deliveries, the message moves to the poison queue",
    )
