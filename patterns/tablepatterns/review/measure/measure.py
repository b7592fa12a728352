"""Run every access pattern of a design on an in-memory account, and measure its cost by the ledger.

Of a set with up to `MOST` entities all are made, and the figures are exact: means over the questions, each as often as
it is asked. Of a larger one a sample is made in which as many entities as declared share a value, where that can be;
what then still depends on the number of entities is scaled by what the declaration lets expect of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from ...errors import BadInput, EntityAlreadyExists, EntityNotFound
from ...filters import Comparison
from ...storage import connect
from ...testing import Clock, Engine
from ..design.model import DeclaredSet, Design, Query, Shape, Write
from ..model import Measured
from .account import Stand, stood
from .questions import Answer, Question, answer, ask_of, questions, shown
from .sample import NOW, scaled_results, width_of
from .scaling import Expected, Taken, class_of, mean, scaled, taking
from .sets import Spread
from .writes import Part, Source, carry_out, how, shares_partition

MOST: Final = 1_000
"""So many entities of a set are made at most."""
_WORK: Final = 1_500
"""About how many rows all questions of one access pattern may return."""
_QUESTIONS: Final = 16
_WIDE: Final = 20
"""From so many properties on, a row counts for more than one."""
_ATTEMPTS: Final = 4
_NOBODY: Final = "ReviewNobody"
"""A table that stays empty."""


def measure(design: Design, *, most: int = MOST) -> tuple[Measured, ...]:
    """Carry out every access pattern of a design, and return what each took, in the order of their declaration.

    The same design gives the same figures. No request leaves the process.

    :param design: the design
    :param most: how many entities of a set are made at most
    :raises BadDesign: the parts of a set cannot work together
    :raises BadInput: declared values cannot be stored as they are
    """
    # A clock that stands still: stamps are a part of what is sent
    engine = Engine(clock=Clock(NOW))
    engine.tables.create(_NOBODY)
    with connect(engine) as storage:
        stand = stood(design, storage, most)
        found = list[Measured]()
        for declared in design.sets:
            found += [_query(stand, declared, query) for query in declared.queries]
        # Last, since they change what is there
        sources = {name: Source(made) for name, made in stand.samples.items()}
        for declared in design.sets:
            found += [_write(stand, declared, write, sources) for write in declared.writes]
    order = {id(access): at for at, access in enumerate(_accesses(design))}
    return tuple(sorted(found, key=lambda each: order[id(each.access)]))


def _accesses(design: Design) -> list[Query | Write]:
    found: list[Query | Write] = []
    for each in design.sets:
        found += [*each.queries, *each.writes]
    return found


def _query(stand: Stand, declared: DeclaredSet, query: Query) -> Measured:
    found, shape, made = answer(declared, query), stand.made.shapes[declared.name], stand.samples[declared.name]
    asked = scaled_results(query, declared.shape, shape)
    likely, expected = stand.made.expected(declared, asked, found), stand.declared.expected(declared, query, found)
    names = _single(declared, query)
    first = [] if found.key is None else [name for name in found.key.partition_fields if name in names]
    each = questions(shape, query, made, names, first or names[:1], _how_many(declared, likely, found))
    taken = [(_carried_out(stand, declared, asked, found, one, shape), one.weight) for one in each]
    took = mean(taken)
    all_of_it = scaled(found, took, likely, expected, _empty(stand, declared), is_told=query.results is not None)
    all_of_it = replace(all_of_it, partitions=all_of_it.partitions if took.partitions else expected.partitions)
    return Measured(
        of=declared,
        access=query,
        how=shown(found, query),
        via=None if found.via is None else found.via.name,
        query_class=class_of(query, found, took),
        follows=found.follows,
        sample=len(made.stored),
        **all_of_it.figures,
    )


def _write(stand: Stand, declared: DeclaredSet, write: Write, sources: Mapping[str, Source]) -> Measured:
    others = [_named(stand.made.design, declared, name) for name in write.atomic_with]
    took = _written(stand, [(declared, write), *others], sources)
    return Measured(
        of=declared,
        access=write,
        how=how(declared, write, [each for each, _ in others]),
        via=None,
        query_class=None,
        follows=_follows(stand, [declared, *(each for each, _ in others)]),
        sample=len(stand.samples[declared.name].stored),
        **took.figures,
    )


def _written(stand: Stand, writes: Sequence[tuple[DeclaredSet, Write]], sources: Mapping[str, Source]) -> Taken:
    """Carry out writes, and return what they took; where an index key is taken, with another entity."""
    took = Taken()
    for _ in range(_ATTEMPTS):
        parts = _parts(stand, writes, sources)
        done = False
        with taking(stand.storage) as taken, suppress(EntityAlreadyExists, EntityNotFound):
            if parts:
                carry_out(stand.storage, parts)
            done = True
        took = taken.taken
        if done:
            break
    return took


def _parts(stand: Stand, writes: Sequence[tuple[DeclaredSet, Write]], sources: Mapping[str, Source]) -> list[Part]:
    """Return the writes about the next entities, which share a partition where they can; none if one has no entity."""
    found = list[Part]()
    like: dict[str, Any] = {}
    share = shares_partition([declared for declared, _ in writes])
    for declared, write in writes:
        part = Part.of(declared, stand.kept[declared.name], write, sources[declared.name], like)
        if part is None:
            return []
        if share:
            like = {name: part.fields[name] for name in declared.key.partition_fields}
        found.append(part)
    return found


def _named(design: Design, declared: DeclaredSet, name: str) -> tuple[DeclaredSet, Write]:
    for each in design.sets:
        for write in each.writes:
            if write.name == name and each is not declared:
                return each, write
    raise BadInput("atomic_with", name, "no other set has a write of this name", "name one of another set")


def _follows(stand: Stand, sets: Sequence[DeclaredSet]) -> bool:
    """Whether something is written that follows only eventually."""
    elsewhere = any(via.is_eventual for each in sets for via in stand.kept[each.name].parts)
    return elsewhere or (len(sets) > 1 and not shares_partition(sets))


def _single(declared: DeclaredSet, query: Query) -> list[str]:
    """Return the fields of which a question gives one value; a filter gives those of the partition."""
    if query.filter is not None:
        return list(declared.key.partition_fields)
    return [name for name, how in query.known.items() if how == "="]


def _how_many(declared: DeclaredSet, likely: Expected, found: Answer) -> int:
    if found.way in ("get", "find", "totals"):
        return 2
    work = likely.returned * max(1.0, width_of(declared) / _WIDE) + 3 * likely.requests
    return max(1, min(_QUESTIONS, int(_WORK / work)))


def _carried_out(
    stand: Stand, declared: DeclaredSet, query: Query, found: Answer, question: Question, shape: Shape
) -> Taken:
    ask = ask_of(declared, query, found, stand.samples[declared.name], question, shape)
    kept = stand.kept[declared.name]
    if ask.way in ("range", "find") and isinstance(kept, Spread):
        # The first request of an object looks how its entities are spread
        kept.ask(replace(ask, take=1))
    with taking(stand.storage) as taken:
        kept.ask(ask)
    return taken.taken


def _empty(stand: Stand, declared: DeclaredSet) -> float:
    """Return the bytes of an answer without entities."""
    with taking(stand.storage) as taken:
        stand.kept[declared.name].raw(_NOBODY, Comparison("PartitionKey", "eq", ""))
    return taken.taken.bytes_out
