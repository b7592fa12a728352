"""Run every access pattern of a design on an in-memory account, and measure its cost by the ledger.

Sets of up to `MOST` entities are generated completely, and their figures are exact means over weighted calls. Larger
sets are sampled so that, if possible, the declared number of entities share each value; figures that still depend on
the number of entities are scaled by the expected values of the sample and the whole set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final

from ...entity_set.derived import Derived
from ...errors import BadInput, EntityAlreadyExists, EntityNotFound
from ...filters import Comparison, QueryClass
from ...storage import connect
from ...testing import Clock, Engine
from ..capacity.contention import RETRY_REQUESTS, retries_of
from ..capacity.day import SECONDS
from ..capacity.load import key_of, touched
from ..capacity.sizes import entry_size
from ..design.archives import archive_write, is_of_archive, with_moves
from ..design.model import RETENTION, DeclaredLog, DeclaredSet, Design, Query, Shape, Write
from ..model import Measured
from .account import SampleAccount, rejection, set_up
from .logs import measured_log
from .questions import Answer, Question, answer, questions, sample_call, shown
from .sample import NOW, equal, found_by, scaled_results, width_of
from .scaling import PAGE_READS, PERIOD_DAYS, CallCost, Expected, class_of, mean, metered, scaled
from .writes import Part, Source, execute, how, shares_partition

MOST: Final = 1_000
"""The maximum number of generated entities per set."""
_WORK: Final = 1_500
"""The approximate number of rows that all calls of an access pattern may return."""
_QUESTIONS: Final = 16
_WIDE: Final = 20
"""The number of properties above which a row counts as more than one."""
_ATTEMPTS: Final = 8
_WRITES: Final = 4
"""The number of entities written to measure a write."""
_NOBODY: Final = "ReviewNobody"
"""The name of a table that stays empty."""


def measure(design: Design, *, most: int = MOST) -> tuple[Measured, ...]:
    """Run every access pattern of a design, and return the cost of each, in declaration order.

    The same design gives the same figures. No request leaves the process.

    :param design: the design
    :param most: the maximum number of entities per set
    :raises BadDesign: the parts of a set cannot work together
    :raises BadInput: declared values cannot be stored
    """
    return rated(design, calls_of(design, most=most))


def calls_of(design: Design, *, most: int = MOST) -> tuple[Measured, ...]:
    """Return what one call of each access pattern takes if no other call is made: the rates have no effect."""
    design = with_implied_writes(design)
    # A frozen clock, since timestamps are part of the payload
    engine = Engine(clock=Clock(NOW), page_examines=PAGE_READS)
    engine.tables.create(_NOBODY)
    with connect(engine) as storage:
        stand = set_up(design, storage, most)
        found = list[Measured]()
        for declared in design.sets:
            found += [_query(stand, declared, query) for query in declared.queries]
        # Last, since they change the data
        sources = {name: Source(made) for name, made in stand.samples.items()}
        for declared in design.sets:
            found += [_write(stand, declared, write, sources) for write in declared.writes]
    # Sets may share an access pattern
    order = {(id(declared), id(access)): at for at, (declared, access) in enumerate(design.accesses())}
    found.sort(key=lambda each: order[id(each.of), id(each.access)])
    return (*found, *_of_logs(design))


def _of_logs(design: Design) -> Iterator[Measured]:
    return chain.from_iterable(map(measured_log, design.logs))


def rated(design: Design, calls: Sequence[Measured]) -> tuple[Measured, ...]:
    """Return what was measured of calls at the rates of a design: with their retries, and counted once.

    :param design: the design that was measured, maybe with other rates
    """
    design = with_implied_writes(design)
    of_sets = replace(design, logs=())
    pairs = zip(of_sets.accesses(), (each for each in calls if isinstance(each.of, DeclaredSet)), strict=True)
    found = (
        _counted_once(_retried(replace(call, of=declared, access=access)), design) for (declared, access), call in pairs
    )
    # How many entries a flush of a log has depends on the rates
    return (*found, *_of_logs(design))


def _retried(call: Measured) -> Measured:
    """Return a write with the retries that concurrent writers cause."""
    if isinstance(call.access, Query) or isinstance(call.of, DeclaredLog) or call.rejected or call.is_implied:
        return call
    retries = retries_of(call.of, call.access)
    return replace(
        call,
        retries=retries,
        requests=call.requests + retries * RETRY_REQUESTS,
        transactions=call.transactions + retries * RETRY_REQUESTS,
        # In a retry, the read is executed and the write is rejected
        examined=call.examined + retries,
    )


def with_implied_writes(design: Design) -> Design:
    """Return a design with the deletes of its retentions, unless it declares them, and the moves of its archives."""
    return replace(design, sets=tuple(_with_move(_with_deletes(each)) for each in with_moves(design).sets))


def _with_move(declared: DeclaredSet) -> DeclaredSet:
    write = archive_write(declared)
    return declared if write is None else replace(declared, writes=(*declared.writes, write))


def _with_deletes(declared: DeclaredSet) -> DeclaredSet:
    retention = declared.retention
    if retention is None:
        return declared
    inserted, deleted = (
        sum(write.rate for write in declared.writes if write.operation == operation)
        for operation in ("insert", "delete")
    )
    inserted += declared.shape.moves.received_rate
    deleted += declared.shape.moves.archived_rate
    # As many entities are deleted as inserted; without declared inserts, the existing ones are deleted evenly
    expired = inserted - deleted if inserted or deleted else declared.shape.count / retention.days / SECONDS
    if retention.by == "table":
        expired = 1 / PERIOD_DAYS[str(declared.settings.get("period", "day"))] / SECONDS
    if expired <= 0:
        return declared
    implied = Write(RETENTION.format(f"{retention.days:g}"), "delete", rate=expired)
    return replace(declared, writes=(*declared.writes, implied))


def is_of_retention(declared: DeclaredSet | DeclaredLog, access: Query | Write) -> bool:
    """Whether an access pattern is the deletion that follows from the retention."""
    if isinstance(declared, DeclaredLog):
        return isinstance(access, Write) and access.operation == "delete"
    retention = declared.retention
    return retention is not None and access.name == RETENTION.format(f"{retention.days:g}")


def _counted_once(measured: Measured, design: Design) -> Measured:
    """Return the cost of a write, without its calls in the transactions of others, which are counted there."""
    name, rate = measured.access.name, measured.access.rate
    within = sum(
        write.rate
        for declared in design.sets
        for write in declared.writes
        if declared.name != measured.of.name and name in write.atomic_with
    )
    if isinstance(measured.access, Query) or not within or not rate:
        return measured
    return replace(measured, share=max(0.0, 1 - within / rate))


def _query(stand: SampleAccount, declared: DeclaredSet, query: Query) -> Measured:
    if query.archived:
        return _archived(stand, declared, query)
    found, shape, made = answer(declared, query), stand.made.shapes[declared.name], stand.samples[declared.name]
    asked = scaled_results(query, declared.shape, shape)
    likely, expected = stand.made.expected(declared, asked, found), stand.declared.expected(declared, query, found)
    each = sample_questions(stand, declared, query, found, _how_many(declared, likely, found))
    taken: list[tuple[CallCost, float]] = []
    rejected = stand.rejected.get(declared.name)
    for one in each:
        took, reason = _run(stand, declared, asked, found, one, shape)
        rejected = reason or rejected
        taken.append((took, one.weight))
    took = mean(taken)
    all_of_it = scaled(
        found, took, likely, expected, _empty(stand, declared), has_declared_results=query.results is not None
    )
    if found.way == "totals" and found.via is not None:
        all_of_it = replace(all_of_it, bytes_out=all_of_it.bytes_out + _longer(stand, declared, found.via))
    all_of_it = replace(all_of_it, partitions=all_of_it.partitions if took.partitions else expected.partitions)
    return Measured(
        of=declared,
        access=query,
        how=shown(found, query),
        via=None if found.via is None else found.via.name,
        query_class=class_of(query, found, took),
        follows=found.follows,
        sample=len(made.stored),
        rejected=rejected,
        matching=found_by(declared.shape, query) if found.client else None,
        **all_of_it.figures,
    )


def _archived(stand: SampleAccount, declared: DeclaredSet, query: Query) -> Measured:
    """Read an entity from the archive."""
    archive, key = stand.archives[declared.name], stand.kept[declared.name].key_of(archived_entity(stand, declared))
    with metered(stand.storage) as taken:
        rejected = rejection(partial(archive.get, key))
    return Measured(
        of=declared,
        access=query,
        how="Archive.get(...)",
        via=None,
        query_class=QueryClass.POINT,
        follows=True,
        sample=len(stand.samples[declared.name].stored),
        rejected=stand.rejected.get(declared.name) or rejected,
        **taken.taken.figures,
    )


def archived_entity(stand: SampleAccount, declared: DeclaredSet) -> Mapping[str, Any]:
    """Return the sample entity of a set that is in its archive, for queries of the archive."""
    return stand.samples[declared.name].spare[-1]


def sample_questions(
    stand: SampleAccount, declared: DeclaredSet, query: Query, found: Answer, most: int
) -> list[Question]:
    """Return the questions that stand for all of an access pattern, about entities of the sample.

    :param found: how the set answers it
    :param most: about how many
    """
    names = _single(declared, query)
    first = [] if found.key is None else [name for name in found.key.partition_fields if name in names]
    made, shape = stand.samples[declared.name], stand.made.shapes[declared.name]
    return questions(shape, query, made, names, first or names[:1], most)


def _write(stand: SampleAccount, declared: DeclaredSet, write: Write, sources: Mapping[str, Source]) -> Measured:
    others = atomic_writes(stand.made.design, declared, write)
    is_archived = is_of_archive(declared, write)
    is_implied = is_archived or is_of_retention(declared, write)
    if not is_archived and is_implied and declared.retention is not None and declared.retention.by == "table":
        # Listing the tables, and deleting one
        took, rejected = CallCost(requests=2, transactions=2), None
        call = "drop_expired()"
    else:
        took, rejected = _written(stand, [(declared, write), *others], sources)
        call = how(declared, write, [each for each, _ in others])
    return Measured(
        of=declared,
        access=write,
        how=call,
        via=None,
        query_class=None,
        follows=is_archived or _follows(stand, [declared, *(each for each, _ in others)]),
        sample=len(stand.samples[declared.name].stored),
        is_implied=is_implied,
        rejected=rejected,
        **took.figures,
    )


def _written(
    stand: SampleAccount, writes: Sequence[tuple[DeclaredSet, Write]], sources: Mapping[str, Source]
) -> tuple[CallCost, str | None]:
    """Write several entities, and return the average cost, or the reason of a rejection.

    If an index key exists, or an entity does not, another entity is written instead.
    """
    taken: list[CallCost] = []
    rejected = stand.rejected.get(writes[0][0].name)
    for _ in range(_ATTEMPTS):
        parts = parts_of(stand, writes, sources)
        is_done = False
        with metered(stand.storage) as one, suppress(EntityAlreadyExists, EntityNotFound):
            rejected = rejection(partial(execute, stand.storage, parts)) or rejected
            is_done = True
        if is_done:
            taken.append(one.taken)
        if rejected is not None or len(taken) == _WRITES:
            break
    took = mean([(each, 1 / len(taken)) for each in taken])
    more = sum(_longer(stand, declared, via) for declared, write in writes for via in touched(declared, write))
    # A list is read and written in full
    return replace(took, bytes_in=took.bytes_in + more, bytes_out=took.bytes_out + more), rejected


def _longer(stand: SampleAccount, declared: DeclaredSet, via: Derived) -> float:
    """Return how many more bytes a list of entities takes with all entities than in the sample."""
    key = key_of(via, declared.key)
    size = entry_size(declared, via)
    if key is None or not size:
        return 0.0
    names = [name for name in key.fields if name in declared.shape.fields]
    there, here = (equal(world.shapes[declared.name], names, 0.0, names) for world in (stand.declared, stand.made))
    # Sent as UTF-8, but stored as UTF-16
    return max(0.0, there - here) * size / 2


def parts_of(
    stand: SampleAccount, writes: Sequence[tuple[DeclaredSet, Write]], sources: Mapping[str, Source]
) -> list[Part]:
    """Return the writes of the next entities, in one partition if possible."""
    found = list[Part]()
    like: dict[str, Any] = {}
    share = shares_partition([declared for declared, _ in writes])
    for declared, write in writes:
        archive = stand.archives.get(declared.name)
        part = Part.of(declared, stand.kept[declared.name], write, sources[declared.name], like, archive)
        if share:
            like = {name: part.fields[name] for name in declared.key.partition_fields}
        found.append(part)
    return found


def atomic_writes(design: Design, declared: DeclaredSet, write: Write) -> list[tuple[DeclaredSet, Write]]:
    """Return the writes of other sets that must succeed or fail with this one."""
    return [_named(design, declared, name) for name in write.atomic_with]


def _named(design: Design, declared: DeclaredSet, name: str) -> tuple[DeclaredSet, Write]:
    for each in design.sets:
        for write in each.writes:
            if write.name == name and each is not declared:
                return each, write
    raise BadInput("atomic_with", name, "no other set has a write of this name", "name one of another set")


def _follows(stand: SampleAccount, sets: Sequence[DeclaredSet]) -> bool:
    """Whether a write has eventually consistent derived data."""
    elsewhere = any(via.is_eventual for each in sets for via in stand.kept[each.name].parts)
    return elsewhere or (len(sets) > 1 and not shares_partition(sets))


def _single(declared: DeclaredSet, query: Query) -> list[str]:
    """Return the fields that a call gives single values for; for a filter, those of the partition."""
    if query.filter is not None:
        return list(declared.key.partition_fields)
    return [name for name, how in query.known.items() if how == "="]


def _how_many(declared: DeclaredSet, likely: Expected, found: Answer) -> int:
    if found.way in ("get", "find", "totals"):
        return 2
    work = likely.returned * max(1.0, width_of(declared) / _WIDE) + 3 * likely.requests
    return max(1, min(_QUESTIONS, int(_WORK / work)))


def _run(
    stand: SampleAccount, declared: DeclaredSet, query: Query, found: Answer, question: Question, shape: Shape
) -> tuple[CallCost, str | None]:
    """Make a call, and return its cost, or the reason of a rejection."""
    ask = sample_call(declared, query, found, stand.samples[declared.name], question, shape)
    kept = stand.kept[declared.name]
    if ask.way in ("range", "find"):
        kept.prepare(ask)
    with metered(stand.storage) as taken:
        rejected = rejection(lambda: kept.ask(ask))
    return taken.taken, rejected


def _empty(stand: SampleAccount, declared: DeclaredSet) -> float:
    """Return the size of a response without entities."""
    with metered(stand.storage) as taken:
        stand.kept[declared.name].raw(_NOBODY, Comparison("PartitionKey", "eq", ""))
    return taken.taken.bytes_out
