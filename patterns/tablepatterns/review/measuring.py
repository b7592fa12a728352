"""Measuring: every access pattern of a design carried out on an account in memory, and what it took by the ledger.

Of a set with up to `MOST` entities all are made, and the figures are exact: means over the questions, each as often as
it is asked. Of a larger one a sample is made in which as many entities as declared share a value, where that can be;
what then still depends on the number of entities is scaled by what the declaration lets expect of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from ..deriving.derived import Index
from ..entity_set import EntitySet
from ..errors import BadInput, EntityAlreadyExists
from ..filters import Comparison, QueryClass
from ..recipes.data_series import DataSeries
from ..recipes.partition_spread import PartitionSpread
from ..recipes.period_tables import PeriodTables
from ..storage import Storage, connect
from ..testing import Clock, Engine
from .answering import Answer, answer, shown
from .asking import Question, ask_of, questions
from .building import Keeper, built
from .declared import DeclaredSet, Design, Query, Shape, Write
from .expecting import PERIOD_DAYS, Expected, World
from .keeping import BY_RECIPE, Kept, Plain, Spread
from .keeping_otherwise import Periods, Series, Wide
from .outcome import Measured
from .population import scaled_results, shrunk
from .sampling import NOW, Sample, bytes_of, sample
from .taking import Taken, mean, taking
from .writing import Part, Source, carry_out, how, shares_partition

MOST: Final = 1_000
"""So many entities of a set are made at most."""
_MOST_BYTES: Final = 8_000_000
_MOST_TABLES: Final = 400
_YEAR: Final = 365.25
_WORK: Final = 1_500
"""About how many rows all questions of one access pattern may return."""
_QUESTIONS: Final = 16
_ATTEMPTS: Final = 4
_BY_CLASS: Final = {each.label: each for each in QueryClass}
_NOBODY: Final = "ReviewNobody"
"""A table that stays empty."""


@dataclass(frozen=True)
class _Stand:
    """A design on an account: what is declared, and what was made of it."""

    storage: Storage
    declared: World
    made: World
    kept: dict[str, Kept]
    samples: dict[str, Sample]


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
        stand = _stand(design, storage, most)
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


def _stand(design: Design, storage: Storage, most: int) -> _Stand:
    keepers = built(design, storage)
    kept = {name: _kept(storage, keeper) for name, keeper in keepers.items()}
    shapes = {each.name: _sample_shape(each, kept[each.name], most) for each in design.sets}
    tables = {each.name: _tables(each) for each in design.sets}
    fewer = {name: min(number, _MOST_TABLES) for name, number in tables.items()}
    samples = dict[str, Sample]()
    for each in design.sets:
        span = timedelta(days=_span(each) * fewer[each.name] / tables[each.name])
        keys = [each.key, *(via.key for via in each.derived if isinstance(via, Index))]
        samples[each.name] = sample(f"{design.name}\n{each.name}", shapes[each.name], keys, span=span)
        kept[each.name].load(samples[each.name].stored)
    declared = World(design, {each.name: each.shape for each in design.sets}, tables)
    return _Stand(storage, declared, World(design, shapes, fewer), kept, samples)


def _kept(storage: Storage, keeper: Keeper) -> Kept:
    match keeper:
        case EntitySet():
            return Plain(storage, keeper)
        case PartitionSpread():
            return Spread(storage, keeper)
        case PeriodTables():
            return Periods(storage, keeper)
        case DataSeries():
            return Series(storage, keeper)
        case _:
            return Wide(storage, keeper)


def _sample_shape(declared: DeclaredSet, kept: Kept, most: int) -> Shape:
    most = min(most, max(20, _MOST_BYTES // max(1, bytes_of(declared.shape))))
    return shrunk(declared.shape, min(most, BY_RECIPE) if kept.needs_recipe else most)


def _span(declared: DeclaredSet) -> float:
    """Return how many days ago the oldest entity came."""
    if declared.retention is not None:
        return declared.retention.days
    growth = declared.shape.growth
    return _YEAR if growth <= 0 else max(1.0, min(10 * _YEAR, declared.shape.count / growth * _YEAR))


def _tables(declared: DeclaredSet) -> int:
    if declared.pattern != "period_tables":
        return 1
    return max(1, round(_span(declared) / PERIOD_DAYS[str(declared.settings.get("period", "day"))]))


def _query(stand: _Stand, declared: DeclaredSet, query: Query) -> Measured:
    found, shape, made = answer(declared, query), stand.made.shapes[declared.name], stand.samples[declared.name]
    asked = scaled_results(query, declared.shape, shape)
    likely, expected = stand.made.expected(declared, asked, found), stand.declared.expected(declared, query, found)
    names = _single(declared, query)
    first = [] if found.key is None else [name for name in found.key.partition_fields if name in names]
    each = questions(shape, query, made, names, first or names[:1], _how_many(likely, found))
    taken = [(_carried_out(stand, declared, asked, found, one, shape), one.weight) for one in each]
    took = mean(taken)
    scaled = _scaled(took, likely, expected, _empty(stand, declared))
    return Measured(
        of=declared,
        access=query,
        how=shown(found, query),
        via=None if found.via is None else found.via.name,
        query_class=_class(query, found, took),
        requests=scaled.requests,
        transactions=scaled.transactions,
        examined=scaled.examined,
        returned=scaled.returned,
        written=scaled.written,
        bytes_in=scaled.bytes_in,
        bytes_out=scaled.bytes_out,
        queue_operations=scaled.queue_operations,
        blob_reads=scaled.blob_reads,
        blob_writes=scaled.blob_writes,
        partitions=scaled.partitions if took.partitions else expected.partitions,
        follows=found.follows,
        sample=len(made.stored),
    )


def _write(stand: _Stand, declared: DeclaredSet, write: Write, sources: Mapping[str, Source]) -> Measured:
    others = [_named(stand.made.design, declared, name) for name in write.together]
    took = _written(stand, [(declared, write), *others], sources)
    return Measured(
        of=declared,
        access=write,
        how=how(declared, write, [each for each, _ in others]),
        via=None,
        query_class=None,
        requests=took.requests,
        transactions=took.transactions,
        examined=took.examined,
        returned=took.returned,
        written=took.written,
        bytes_in=took.bytes_in,
        bytes_out=took.bytes_out,
        queue_operations=took.queue_operations,
        blob_reads=took.blob_reads,
        blob_writes=took.blob_writes,
        partitions=took.partitions,
        follows=_follows(stand, [declared, *(each for each, _ in others)]),
        sample=len(stand.samples[declared.name].stored),
    )


def _written(stand: _Stand, writes: Sequence[tuple[DeclaredSet, Write]], sources: Mapping[str, Source]) -> Taken:
    """Carry out writes, and return what they took; where an index key is taken, with another entity."""
    took = Taken()
    for _ in range(_ATTEMPTS):
        parts = _parts(stand, writes, sources)
        done = False
        with taking(stand.storage) as taken, suppress(EntityAlreadyExists):
            if parts:
                carry_out(stand.storage, parts)
            done = True
        took = taken.taken
        if done:
            break
    return took


def _parts(stand: _Stand, writes: Sequence[tuple[DeclaredSet, Write]], sources: Mapping[str, Source]) -> list[Part]:
    """Return the writes about the next entities, which share a partition where they can; none if one has no entity."""
    found = list[Part]()
    like: dict[str, Any] = {}
    together = shares_partition([declared for declared, _ in writes])
    for declared, write in writes:
        part = Part.of(declared, stand.kept[declared.name], write, sources[declared.name], like)
        if part is None:
            return []
        if together:
            like = {name: part.fields[name] for name in declared.key.partition_fields}
        found.append(part)
    return found


def _named(design: Design, declared: DeclaredSet, name: str) -> tuple[DeclaredSet, Write]:
    for each in design.sets:
        for write in each.writes:
            if write.name == name and each is not declared:
                return each, write
    raise BadInput("together", name, "no other set has a write of this name", "name one of another set")


def _follows(stand: _Stand, sets: Sequence[DeclaredSet]) -> bool:
    """Whether something is written that follows only eventually."""
    elsewhere = any(via.is_elsewhere for each in sets for via in stand.kept[each.name].parts)
    return elsewhere or (len(sets) > 1 and not shares_partition(sets))


def _class(query: Query, found: Answer, took: Taken) -> QueryClass | None:
    """Return the worst class of the queries, by what they search."""
    worst = max((_BY_CLASS[label] for label in took.classes), default=None)
    if worst is QueryClass.RANGE and found.is_scan(query):
        return QueryClass.PARTITION_SCAN
    if worst is QueryClass.PARTITION_SCAN and found.takes(query) is not None and not found.where:
        # The first rows of a partition are a range of it: no more are read than are wanted
        return QueryClass.RANGE
    return worst


def _single(declared: DeclaredSet, query: Query) -> list[str]:
    """Return the fields of which a question gives one value; a filter gives those of the partition."""
    if query.filter is not None:
        return list(declared.key.partition_fields)
    return [name for name, how in query.known.items() if how == "="]


def _how_many(likely: Expected, found: Answer) -> int:
    if found.way in ("get", "find", "totals"):
        return 2
    return max(1, min(_QUESTIONS, int(_WORK / (likely.returned + 3 * likely.requests))))


def _carried_out(
    stand: _Stand, declared: DeclaredSet, query: Query, found: Answer, question: Question, shape: Shape
) -> Taken:
    ask = ask_of(declared, query, found, stand.samples[declared.name], question, shape)
    kept = stand.kept[declared.name]
    if ask.way in ("range", "find") and isinstance(kept, Spread):
        # The first request of an object looks how its entities are spread
        kept.ask(replace(ask, take=1))
    with taking(stand.storage) as taken:
        kept.ask(ask)
    return taken.taken


def _empty(stand: _Stand, declared: DeclaredSet) -> float:
    """Return the bytes of an answer without entities."""
    with taking(stand.storage) as taken:
        stand.kept[declared.name].raw(_NOBODY, Comparison("PartitionKey", "eq", ""))
    return taken.taken.bytes_out


def _scaled(took: Taken, likely: Expected, expected: Expected, empty: float) -> Taken:
    """Return what a call would take with all declared entities."""
    if likely == expected:
        return took
    more = expected.requests - likely.requests
    returned = took.returned * expected.returned / likely.returned
    each = max(0.0, took.bytes_out - took.requests * empty) / took.returned if took.returned else 0.0
    requests = max(1.0, took.requests + more)
    return replace(
        took,
        requests=requests,
        transactions=max(1.0, took.transactions + more),
        examined=max(returned, took.examined * expected.examined / likely.examined),
        returned=returned,
        bytes_in=took.bytes_in * requests / took.requests,
        bytes_out=requests * empty + each * returned,
        partitions=took.partitions * expected.partitions / likely.partitions,
        blob_reads=took.blob_reads * (returned / took.returned if took.returned else 1.0),
    )
