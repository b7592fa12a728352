"""Describe what readers of each access pattern can see, and the state after a crash between two requests.

These are the guarantees of the recipes that answer an access pattern; docs/guarantees.md says how they are tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from tablepatterns.entity_set.derived import Derived
from tablepatterns.filters import QueryClass

from .capacity.load import moves_away, touched, via_of
from .design.archives import is_of_archive
from .design.model import ArchivePolicy, DeclaredSet, Design, Query, Write
from .kinds import kind_of
from .measure.writes import shares_partition
from .model import Consistency, Measured

LEASE: Final = 60
"""The default lease of a set: the seconds after which a worker receives the message of a crashed writer."""

_LATE: Final = f"usually updated before the write returns; if the writer crashes, by a worker after {LEASE} s"
_NOTHING: Final = "no partial change"
_NO_NEED: Final = "no repair needed"
_WORKER: Final = "a worker, from the queue"
_REPAIR: Final = "verify and repair, if a process stalled for more than half the lease"


class _Part(NamedTuple):
    """One statement about an access pattern; empty texts are left out."""

    reads: str
    crash: str = ""
    repaired_by: str = ""


def promises(design: Design, measured_sets: Iterable[Measured]) -> tuple[Consistency, ...]:
    """Return the consistency of each access pattern, in the order of `measured_sets`."""
    return tuple(_promise(design, call) for call in measured_sets)


def _promise(design: Design, call: Measured) -> Consistency:
    access = call.access
    if isinstance(access, Query):
        parts = list(_query(design, call.of, call, access))
    else:
        parts = list(_write(design, call.of, access))
    reads = _joined(part.reads for part in parts)
    crash, repaired_by = _joined(part.crash for part in parts), _joined(part.repaired_by for part in parts)
    return Consistency(call.of, access, reads, crash or _NOTHING, repaired_by or _NO_NEED)


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))


def _query(design: Design, declared_set: DeclaredSet, call: Measured, query: Query) -> Iterator[_Part]:
    if query.archived:
        yield _Part("an entity that a worker has moved; until then the set has it, and sometimes both have it")
        return
    via = via_of(declared_set, call)
    if via is None:
        yield _Part(*kind_of(declared_set).visibility)
        yield from _copied_into(design, declared_set)
    else:
        profile = declared_set.profile(via)
        subject = profile.called
        if via.is_eventual:
            reads = f"eventually consistent {subject}, {_LATE}{_UNTIL_THEN[subject]}"
            yield _Part(reads, *_behind(declared_set, [via]))
        else:
            yield _Part(f"always exact {subject}: they change in the transaction of the entity")
        if profile.layout is not None and profile.layout.is_eventual and not profile.layout.is_complete:
            yield _Part("properties that the index lacks are read from the entity later")
    if call.requests > 1 and call.query_class is not QueryClass.POINT:
        yield _Part("read in several requests, not as a snapshot")
    if any(name in declared_set.in_blobs() for name in query.select or declared_set.in_blobs()):
        yield _Part("large values as of when the entity was read")


_UNTIL_THEN: Final = {
    "copies": "; until then an old copy, or none",
    "lists": "; never an entity without the value, but one may be missing",
    "totals": "",
}


def _copied_into(design: Design, declared_set: DeclaredSet) -> Iterator[_Part]:
    for other_set in design.sets:
        for derived, profile in other_set.profiles():
            is_here = derived.table(other_set.table).lower() == declared_set.table.lower()
            if profile.copied and profile.key == declared_set.key and is_here:
                exact = f"are eventually consistent: {_LATE}" if derived.is_eventual else "are always exact"
                yield _Part(f"{', '.join(profile.copied)}, copied from other entities, {exact}")


def _write(design: Design, declared_set: DeclaredSet, write: Write) -> Iterator[_Part]:
    if is_of_archive(declared_set, write):
        yield _archived(declared_set, declared_set.archive)
        return
    derived_data = touched(declared_set, write)
    local = ", ".join(derived.name for derived in derived_data if not derived.is_eventual)
    if kind_of(declared_set).is_wide:
        yield _Part(*kind_of(declared_set).visibility)
    else:
        yield _Part(f"the change immediately, with {local}: one transaction" if local else "the change immediately")
    if elsewhere := [derived for derived in derived_data if derived.is_eventual]:
        names = ", ".join(derived.name for derived in elsewhere)
        yield _Part(f"{names}: eventually consistent, {_LATE}", *_behind(declared_set, elsewhere))
    if moves_away(declared_set, write):
        yield _Part(
            "while it moves, the entity is in at least one place, sometimes in both",
            "an entity in both places, and a message in the intents queue",
            _WORKER,
        )
    large = declared_set.in_blobs()
    if write.operation != "delete" and any(name in large for name in write.changes or large):
        yield _Part("", "an orphaned blob; never an entity without its blob", "collect_orphans")
    if write.atomic_with:
        yield _together(design, declared_set, write)


def _behind(declared_set: DeclaredSet, derived: Sequence[Derived]) -> tuple[str, str]:
    names = ", ".join(derived.name for derived in derived)
    crash = f"stale rows of {names}, and a message in the intents queue"
    if any(declared_set.is_unique(derived) for derived in derived):
        crash += "; possibly a reserved index key"
    return crash, f"{_WORKER}; {_REPAIR}"


def _archived(declared_set: DeclaredSet, policy: ArchivePolicy | None) -> _Part:
    place = "" if policy is None else policy.place
    return _Part(
        f"the entity in {declared_set.name}, in {place}, or in both until a worker has moved it",
        f"an entity in {declared_set.name}, or in both places, and a message in the archive's queue",
        f"{_WORKER}; after five deliveries, the message moves to the poison queue",
    )


def _together(design: Design, declared_set: DeclaredSet, write: Write) -> _Part:
    other_sets = [
        other_set for other_set in design.sets if any(other.name in write.atomic_with for other in other_set.writes)
    ]
    names = ", ".join(write.atomic_with)
    if shares_partition([declared_set, *other_sets]):
        return _Part(f"atomic with {names}: one entity group transaction")
    return _Part(
        f"not isolated from {names}: readers can see some steps and not others",
        "the steps before the crash, and a message for the others",
        "a worker, which retries from the first step; after five deliveries, the message moves to the poison queue",
    )
