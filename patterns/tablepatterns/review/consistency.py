"""State what readers of each access pattern may see, and what a crash between two requests leaves.

It is what the recipes guarantee, in their words, for the data that answer an access pattern. What was explored of it,
and how far, is in docs/guarantees.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..entity_set.derived import Derived, Index
from ..filters import QueryClass
from ..recipes.denormalize import CopiedFields
from ..recipes.index_entities import IndexEntity
from ..recipes.large_properties.large_properties import LargeProperties
from ..recipes.summary import Summary
from .capacity.load import moves_away, touches
from .design.model import DeclaredSet, Design, Query, Write
from .measure.writes import shares_partition
from .model import Measured, Promise

LEASE: Final = 60
"""Seconds after which the message of a writer that died comes to a worker, as a set has it by default."""

_LATE: Final = f"as a rule before the write returns, and if the writer dies {LEASE} s later, when a worker looks"
_NOTHING: Final = "nothing half done"
_NO_NEED: Final = "nothing has to be mended"
_WORKER: Final = "a worker, which gets the message"
_REPAIR: Final = "where a process stalled for longer than half the lease: verify finds it, repair mends it"


@dataclass(frozen=True)
class _Part:
    """One thing to say of an access pattern; an empty text says nothing."""

    reads: str
    crash: str = ""
    mended: str = ""


def promises(design: Design, measured: Iterable[Measured]) -> tuple[Promise, ...]:
    """Return what each access pattern promises, in the order in which they were measured.

    :param design: the design
    :param measured: how each access pattern is answered

    Guide: eventual consistency; entity group transactions.
    """
    return tuple(_promise(design, each) for each in measured)


def _promise(design: Design, measured: Measured) -> Promise:
    access = measured.access
    parts = _query(design, measured, access) if isinstance(access, Query) else _write(design, measured.of, access)
    crash, mended = (_joined(getattr(part, name) for part in parts) for name in ("crash", "mended"))
    reads = _joined(part.reads for part in parts)
    return Promise(measured.of, access, reads, crash or _NOTHING, mended or _NO_NEED)


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))


# -- Queries


def _query(design: Design, measured: Measured, query: Query) -> list[_Part]:
    declared = measured.of
    via = next((each for each in declared.derived if each.name == measured.via), None)
    parts = [_primary(declared) if via is None else _derived(declared, via)]
    if isinstance(via, Index) and via.is_eventual and getattr(via, "include", None) is not None:
        parts.append(_Part("what the copies do not hold is read from the primary rows, as it is then"))
    if via is None:
        parts += [_filled(each) for each in _copied_into(design, declared)]
    if _is_of_several(measured):
        parts.append(_Part("what is read by several requests is not of one instant"))
    if any(name in _large(declared) for name in query.select or _large(declared)):
        parts.append(_Part("large values as they were when the entity was read"))
    return parts


def _is_of_several(measured: Measured) -> bool:
    """Whether an answer is put together of several."""
    return measured.requests > 1 and measured.query_class is not QueryClass.POINT


def _large(declared: DeclaredSet) -> Sequence[str]:
    return [name for each in declared.mappings if isinstance(each, LargeProperties) for name in each.fields]


def _primary(declared: DeclaredSet) -> _Part:
    match declared.pattern:
        case "wide_entity":
            return _Part(
                "all of the last change or nothing of it",
                "of a value too large for one transaction, rows that nobody sees",
                "the next whole write that has seen them, or sweep",
            )
        case "data_series":
            return _Part("the last write of each point; one that was never set is None")
        case "period_tables":
            return _Part("the last write, of the periods that are kept")
        case "partition_spread":
            return _Part("the last write, in every bucket")
        case _:
            return _Part("the last write")


def _derived(declared: DeclaredSet, via: Derived) -> _Part:
    """Return what a reader of derived rows gets."""
    if not via.is_eventual:
        if isinstance(via, Summary):
            return _Part("totals that are exact at any time: they change in one transaction with the entities")
        what = "lists" if isinstance(via, IndexEntity) else "copies"
        return _Part(f"{what} that are exact at any time: they change in one transaction with the entity")
    crash, mended = _behind(declared, [via])
    if isinstance(via, IndexEntity):
        reads = f"lists that follow, {_LATE}; no entity that has another value by now, but one may be missing"
    elif isinstance(via, Summary):
        reads = f"totals that follow, {_LATE}"
    else:
        reads = f"copies that follow, {_LATE}: an old copy may be found, or none"
    return _Part(reads, crash, mended)


def _copied_into(design: Design, declared: DeclaredSet) -> list[CopiedFields]:
    """Return what other sets copy into the entities of this one."""
    return [
        each
        for other in design.sets
        for each in other.derived
        if isinstance(each, CopiedFields)
        and each.key == declared.key
        and each.table(other.table).lower() == declared.table.lower()
    ]


def _filled(copies: CopiedFields) -> _Part:
    names = ", ".join(copies.copies.values())
    if copies.is_eventual:
        return _Part(f"{names}, copied from other entities, follow, {_LATE}")
    return _Part(f"{names}, copied from other entities, are exact at any time")


# -- Writes


def _write(design: Design, declared: DeclaredSet, write: Write) -> list[_Part]:
    parts = [_own(declared, write)]
    elsewhere = [each for each in declared.derived if each.is_eventual and touches(each, write)]
    if elsewhere:
        names = ", ".join(each.name for each in elsewhere)
        crash, mended = _behind(declared, elsewhere)
        parts.append(_Part(f"{names} follow, {_LATE}", crash, mended))
    if moves_away(declared, write):
        parts.append(_moved())
    if write.operation != "delete" and any(name in _large(declared) for name in write.changes or _large(declared)):
        parts.append(
            _Part("", "a blob that no entity has the address of, never an address without its blob", "collect_orphans")
        )
    if write.atomic_with:
        parts.append(_together(design, declared, write))
    return parts


def _own(declared: DeclaredSet, write: Write) -> _Part:
    """Return what is seen of a write in its own partition."""
    if declared.pattern == "wide_entity":
        return _primary(declared)
    local = [each.name for each in declared.derived if not each.is_eventual and touches(each, write)]
    if local:
        return _Part(f"the change at once, with {', '.join(local)}: one transaction")
    return _Part("the change at once")


def _behind(declared: DeclaredSet, derived: Sequence[Derived]) -> tuple[str, str]:
    """Return what a crash leaves of rows elsewhere, and what mends it."""
    names = ", ".join(each.name for each in derived)
    crash = f"rows of {names} that are out of line, and a message that says so"
    if any(isinstance(each, Index) and each.is_unique for each in derived):
        crash += "; a key that is reserved for an entity that may not come"
    return crash, f"{_WORKER}; {_REPAIR}"


def _moved() -> _Part:
    return _Part(
        "on its way to another key the entity is seen in both places, never in none",
        "an entity in both places, and a message that says so",
        _WORKER,
    )


def _together(design: Design, declared: DeclaredSet, write: Write) -> _Part:
    """Return what is seen of writes that belong together."""
    others = [each for each in design.sets for other in each.writes if other.name in write.atomic_with]
    names = ", ".join(write.atomic_with)
    if shares_partition([declared, *others]):
        return _Part(f"together with {names}, all at once: one entity group transaction")
    return _Part(
        f"with {names} nothing is isolated: who looks in between sees some steps done and others not",
        "the steps before the crash are done, and a message asks for the others",
        "a worker, which begins again from the first step; after five deliveries the message is on the poison queue",
    )
