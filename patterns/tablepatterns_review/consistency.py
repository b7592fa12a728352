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
from .measure.log_pace import pace_of
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


def promises(design: Design, measured: Iterable[Measured]) -> tuple[Consistency, ...]:
    """Return the consistency of each access pattern, in the order of `measured`.

    :param design: the design
    :param measured: the access patterns as measured

    Guide: eventual consistency; entity group transactions.
    """
    return tuple(_promise(design, each) for each in measured)


def _promise(design: Design, measured: Measured) -> Consistency:
    access, declared = measured.access, measured.of
    if isinstance(declared, DeclaredLog):
        parts = [_logged(declared, access)]
    elif isinstance(access, Query):
        parts = _query(design, declared, measured, access)
    else:
        parts = _write(design, declared, access)
    crash, repaired_by = (_joined(getattr(part, name) for part in parts) for name in ("crash", "repaired_by"))
    reads = _joined(part.reads for part in parts)
    return Consistency(declared, access, reads, crash or _NOTHING, repaired_by or _NO_NEED)


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
    lost = (
        "the buffer is lost"
        if pace.buffered == 1
        else f"up to {counted(pace.buffered, 'entry')} in the buffer are lost"
    )
    after = f", {span(pace.seconds)} after its first entry" if pace.buffered > 1 else ""
    return _Part(
        f"each entry once its buffer is flushed{after}",
        f"{lost}; no blob is damaged",
        "not repaired; with write_through, none is lost",
    )


# -- Queries


def _query(design: Design, declared: DeclaredSet, measured: Measured, query: Query) -> list[_Part]:
    if query.archived:
        return [_Part("an entity that a worker has moved; until then the set has it, and sometimes both have it")]
    via = next((each for each in declared.derived if each.name == measured.via), None)
    parts = [_primary(declared) if via is None else _derived(declared, via)]
    layout = None if via is None else declared.profile(via).layout
    if layout is not None and layout.is_eventual and not layout.is_complete:
        parts.append(_Part("properties that the index lacks are read from the entity later"))
    if via is None:
        parts += [_filled(*each) for each in _copied_into(design, declared)]
    if _is_of_several(measured):
        parts.append(_Part("read in several requests, not as a snapshot"))
    if any(name in declared.in_blobs() for name in query.select or declared.in_blobs()):
        parts.append(_Part("large values as of when the entity was read"))
    return parts


def _is_of_several(measured: Measured) -> bool:
    """Whether a result is combined from several responses."""
    return measured.requests > 1 and measured.query_class is not QueryClass.POINT


def _primary(declared: DeclaredSet) -> _Part:
    return _Part(*kind_of(declared).visibility)


def _derived(declared: DeclaredSet, via: Derived) -> _Part:
    """Describe what a reader of derived rows sees."""
    what = declared.profile(via).called
    if not via.is_eventual:
        return _Part(f"always exact {what}: they change in the transaction of the entity")
    crash, repaired_by = _behind(declared, [via])
    return _Part(f"eventually consistent {what}, {_LATE}{_UNTIL_THEN[what]}", crash, repaired_by)


_UNTIL_THEN: Final = {
    "copies": "; until then an old copy, or none",
    "lists": "; never an entity without the value, but one may be missing",
    "totals": "",
}


def _copied_into(design: Design, declared: DeclaredSet) -> list[tuple[Derived, RowProfile]]:
    """Return the copies that other sets keep in the entities of this one."""
    return [
        (each, profile)
        for other in design.sets
        for each, profile in other.profiles()
        if profile.copied and profile.key == declared.key and each.table(other.table).lower() == declared.table.lower()
    ]


def _filled(copies: Derived, profile: RowProfile) -> _Part:
    names = ", ".join(profile.copied)
    if copies.is_eventual:
        return _Part(f"{names}, copied from other entities, are eventually consistent: {_LATE}")
    return _Part(f"{names}, copied from other entities, are always exact")


# -- Writes


def _write(design: Design, declared: DeclaredSet, write: Write) -> list[_Part]:
    if is_of_archive(declared, write):
        return [_archived(declared, declared.archive)]
    parts = [_own(declared, write)]
    elsewhere = [each for each in touched(declared, write) if each.is_eventual]
    if elsewhere:
        names = ", ".join(each.name for each in elsewhere)
        crash, repaired_by = _behind(declared, elsewhere)
        parts.append(_Part(f"{names}: eventually consistent, {_LATE}", crash, repaired_by))
    if moves_away(declared, write):
        parts.append(_moved())
    large = declared.in_blobs()
    if write.operation != "delete" and any(name in large for name in write.changes or large):
        parts.append(_Part("", "an orphaned blob; never an entity without its blob", "collect_orphans"))
    if write.atomic_with:
        parts.append(_together(design, declared, write))
    return parts


def _own(declared: DeclaredSet, write: Write) -> _Part:
    """Describe what readers see of a write in its own partition."""
    if kind_of(declared).is_wide:
        return _primary(declared)
    local = [each.name for each in touched(declared, write) if not each.is_eventual]
    if local:
        return _Part(f"the change immediately, with {', '.join(local)}: one transaction")
    return _Part("the change immediately")


def _behind(declared: DeclaredSet, derived: Sequence[Derived]) -> tuple[str, str]:
    """Describe rows elsewhere after a crash, and what repairs them."""
    names = ", ".join(each.name for each in derived)
    crash = f"stale rows of {names}, and a message in the intents queue"
    if any(declared.is_unique(each) for each in derived):
        crash += "; possibly a reserved index key"
    return crash, f"{_WORKER}; {_REPAIR}"


def _moved() -> _Part:
    return _Part(
        "while it moves, the entity is in at least one place, sometimes in both",
        "an entity in both places, and a message in the intents queue",
        _WORKER,
    )


def _archived(declared: DeclaredSet, policy: ArchivePolicy | None) -> _Part:
    place = "" if policy is None else policy.place
    return _Part(
        f"the entity in {declared.name}, in {place}, or in both until a worker has moved it",
        f"an entity in {declared.name}, or in both places, and a message in the archive's queue",
        f"{_WORKER}; after five deliveries, the message moves to the poison queue",
    )


def _together(design: Design, declared: DeclaredSet, write: Write) -> _Part:
    """Describe what readers see of writes that must succeed or fail together."""
    others = [each for each in design.sets for other in each.writes if other.name in write.atomic_with]
    names = ", ".join(write.atomic_with)
    if shares_partition([declared, *others]):
        return _Part(f"atomic with {names}: one entity group transaction")
    return _Part(
        f"not isolated from {names}: readers can see some steps and not others",
        "the steps before the crash, and a message for the others",
        "a worker, which retries from the first step; after five deliveries, the message moves to the poison queue",
    )
