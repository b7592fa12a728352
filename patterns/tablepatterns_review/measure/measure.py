"""Run every access pattern of a design on an in-memory account, and measure its cost by the ledger.

Sets of up to `MOST` entities are generated completely, and their figures are exact means over weighted calls. Larger
sets are sampled so that, if possible, the declared number of entities share each value; figures that still depend on
the number of entities are scaled by the expected values of the sample and the whole set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Final

from tablepatterns.entity_set.derived import Derived
from tablepatterns.errors import BadInput, EntityAlreadyExists, EntityNotFound
from tablepatterns.filters import Comparison, QueryClass
from tablepatterns.storage import connect
from tablepatterns_engine import Clock, Engine

from ..capacity.contention import RETRY_REQUESTS, retries_of
from ..capacity.day import SECONDS
from ..capacity.load import key_of, touched
from ..capacity.sizes import entry_size
from ..design.archives import archive_write, is_of_archive, with_moves
from ..design.model import RETENTION, DeclaredLog, DeclaredSet, Design, Query, Write
from ..kinds.periods import PERIOD_DAYS
from ..model import Measured
from .account import SampleAccount, SampleDesign, declared_sizes, rejection, sample_design, set_up
from .logs import measured_log
from .questions import Answer, Question, answer, call_text, questions, sample_call
from .sample import NOW, equal, found_by, scaled_results, width_of
from .scaling import PAGE_READS, CallCost, SizedDesign, class_of, mean, metered, scaled
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
_EMPTY_TABLE: Final = "ReviewNoRows"
"""The name of a table that stays empty."""


def measure(design: Design, *, most: int = MOST, known: Measurements | None = None) -> tuple[Measured, ...]:
    """Run every access pattern of a design, and return the cost of each, in declaration order.

    The same design gives the same figures. No request leaves the process.

    :param design: the design
    :param most: the maximum number of entities per set
    :param known: what was measured before
    :raises BadDesign: the parts of a set cannot work together
    :raises BadInput: declared values cannot be stored
    """
    return rated(design, calls_of(design, most=most, known=known))


@dataclass(frozen=True)
class SampleCost:
    """What an access pattern takes with a sample.

    :param rejected: why it is rejected; None if it is not
    :param follows: whether the derived data that it writes is eventually consistent
    :param sample: the number of sample entities
    :param empty: the size of a response without entities
    """

    took: CallCost
    rejected: str | None
    follows: bool
    sample: int
    empty: float = 0.0


class Measurements:
    """What was measured in one review. Sets that are the same in another design are not measured again.

    The others share an account, since the number of its rows changes the timestamps, and so the bytes of a response.

    :param on_measured: called after each access pattern, with how many have been measured
    """

    def __init__(self, on_measured: Callable[[int], None] | None = None) -> None:
        self._known: list[tuple[SampleDesign, Mapping[str, Sequence[SampleCost]]]] = []
        self._on_measured = on_measured
        self.count = 0
        """How many access patterns have been measured."""

    def counted(self, cost: SampleCost) -> SampleCost:
        """Return a cost that has just been measured, and count it."""
        self.count += 1
        if self._on_measured is not None:
            self._on_measured(self.count)
        return cost

    def of(self, sample: SampleDesign) -> list[SampleCost]:
        """Return what each access pattern of a sample takes, in declaration order."""
        found, new = dict[str, Sequence[SampleCost]](), list[SampleDesign]()
        for part in map(sample.part, independent(sample.design)):
            costs = next((costs for known, costs in self._known if known == part), None)
            found.update(costs or {})
            new += [part] if costs is None else []
        if new:
            measured = run_calls(sample.part({each.name for part in new for each in part.design.sets}), self)
            self._known += [(part, {each.name: measured[each.name] for each in part.design.sets}) for part in new]
            found.update(measured)
        return [cost for each in sample.design.sets for cost in found[each.name]]


def calls_of(design: Design, *, most: int = MOST, known: Measurements | None = None) -> tuple[Measured, ...]:
    """Return what one call of each access pattern takes if no other call is made: the rates have no effect.

    :param known: what was measured before
    """
    design = with_implied_writes(design)
    sample, declared = sample_design(design, most), declared_sizes(design)
    costs = (known or Measurements()).of(sample)
    sizes, pairs = sample.sizes, zip(_pairs(design), costs, strict=True)
    return (*(_scaled(declared, sizes, of, access, cost) for (of, access), cost in pairs), *_of_logs(design))


def independent(design: Design) -> list[set[str]]:
    """Return the names of the sets, in groups of which none reads or writes what another stores."""
    groups = list[tuple[set[object], set[str]]]()
    atomic = {name for declared in design.sets for write in declared.writes for name in write.atomic_with}
    for declared in design.sets:
        uses, names = _uses(declared, atomic), {declared.name}
        for group in [each for each in groups if not each[0].isdisjoint(uses)]:
            groups.remove(group)
            uses, names = uses | group[0], names | group[1]
        groups.append((uses, names))
    return [names for _, names in groups]


def _uses(declared: DeclaredSet, atomic: Collection[str]) -> set[object]:
    """Return what a set may share with others: tables, containers, an archive, copied fields and transactions.

    :param atomic: the writes that are in transactions of other sets
    """
    stores = {("table", declared.table), *(each.placement.store_name(declared.table) for each in declared.derived)}
    found = {(kind, name.lower()) for kind, name in stores}
    copied = {id(profile.filled_from or each) for each, profile in declared.profiles()}
    named = {each.name for each in declared.writes}.intersection(atomic)
    writes = {("write", name) for name in named.union(*(each.atomic_with for each in declared.writes))}
    archives = [declared.archive.to] if declared.archive is not None and declared.archive.to is not None else []
    return {*found, *copied, *writes, *(("set", name) for name in (declared.name, *archives))}


def _pairs(design: Design) -> Iterator[tuple[DeclaredSet, Query | Write]]:
    for declared in design.sets:
        yield from ((declared, query) for query in declared.queries)
        yield from ((declared, write) for write in declared.writes)


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


def _scaled(
    declared: SizedDesign, made: SizedDesign, of: DeclaredSet, access: Query | Write, cost: SampleCost
) -> Measured:
    """Return what a call takes with the declared number of entities, from its cost with a sample."""
    if isinstance(access, Write):
        return _write(declared, made, of, access, cost)
    if access.archived:
        return _archived(of, access, cost)
    found, took = answer(of, access), cost.took
    asked = scaled_results(access, of.shape, made.shapes[of.name])
    likely, expected = made.expected(of, asked, found), declared.expected(of, access, found)
    all_of_it = scaled(found, took, likely, expected, cost.empty, has_declared_results=access.results is not None)
    if found.way == "totals" and found.via is not None:
        all_of_it = replace(all_of_it, bytes_out=all_of_it.bytes_out + _longer(declared, made, of, found.via))
    all_of_it = replace(all_of_it, partitions=all_of_it.partitions if took.partitions else expected.partitions)
    return Measured(
        of=of,
        access=access,
        how=call_text(found, access),
        via=None if found.via is None else found.via.name,
        query_class=class_of(access, found, took),
        follows=found.follows,
        sample=cost.sample,
        rejected=cost.rejected,
        matching=found_by(of.shape, access) if found.client else None,
        **all_of_it.figures,
    )


def _archived(declared: DeclaredSet, query: Query, cost: SampleCost) -> Measured:
    """Return the cost of reading an entity from the archive."""
    return Measured(
        of=declared,
        access=query,
        how="Archive.get(...)",
        via=None,
        query_class=QueryClass.POINT,
        follows=True,
        sample=cost.sample,
        rejected=cost.rejected,
        **cost.took.figures,
    )


def _write(declared: SizedDesign, made: SizedDesign, of: DeclaredSet, write: Write, cost: SampleCost) -> Measured:
    others, took = atomic_writes(declared.design, of, write), cost.took
    is_archived = is_of_archive(of, write)
    if _drops_tables(of, write):
        call = "drop_expired()"
    else:
        call = how(of, write, [each for each, _ in others])
        writes = [(of, write), *others]
        more = sum(_longer(declared, made, each, via) for each, one in writes for via in touched(each, one))
        # A list is read and written in full
        took = replace(took, bytes_in=took.bytes_in + more, bytes_out=took.bytes_out + more)
    return Measured(
        of=of,
        access=write,
        how=call,
        via=None,
        query_class=None,
        follows=cost.follows,
        sample=cost.sample,
        is_implied=is_archived or is_of_retention(of, write),
        rejected=cost.rejected,
        **took.figures,
    )


def _drops_tables(declared: DeclaredSet, write: Write) -> bool:
    """Whether a write drops the tables of expired periods, instead of deleting entities."""
    if is_of_archive(declared, write) or not is_of_retention(declared, write):
        return False
    return declared.retention is not None and declared.retention.by == "table"


def _longer(declared: SizedDesign, made: SizedDesign, of: DeclaredSet, via: Derived) -> float:
    """Return how many more bytes a list of entities takes with all entities than in the sample."""
    key = key_of(via, of.key)
    size = entry_size(of, via)
    if key is None or not size:
        return 0.0
    names = [name for name in key.fields if name in of.shape.fields]
    there, here = (equal(world.shapes[of.name], names, 0.0, names) for world in (declared, made))
    # Sent as UTF-8, but stored as UTF-16
    return max(0.0, there - here) * size / 2


# ------------------------------------------------------------------ running the calls on a sample


def run_calls(of: SampleDesign, known: Measurements) -> dict[str, list[SampleCost]]:
    """Run every access pattern of a sample, and return the cost of each, by the name of its set.

    :param known: counts them
    """
    # A frozen clock, since timestamps are part of the payload
    engine = Engine(clock=Clock(NOW), page_examines=PAGE_READS)
    engine.tables.create(_EMPTY_TABLE)
    with connect(engine) as storage:
        stand = set_up(of, storage)
        empty = _empty(stand)
        asked = {
            each.name: [known.counted(_asked(stand, each, query, empty)) for query in each.queries]
            for each in of.design.sets
        }
        # Last, since they change the data
        sources = {name: Source(made) for name, made in stand.samples.items()}
        written = {
            each.name: [known.counted(_written(stand, each, write, sources)) for write in each.writes]
            for each in of.design.sets
        }
    return {each.name: [*asked[each.name], *written[each.name]] for each in of.design.sets}


def _empty(stand: SampleAccount) -> float:
    """Return the size of a response without entities."""
    any_set = next(iter(stand.kept.values()))
    with metered(stand.storage) as taken:
        any_set.raw(_EMPTY_TABLE, Comparison("PartitionKey", "eq", ""))
    return taken.taken.bytes_out


def _asked(stand: SampleAccount, declared: DeclaredSet, query: Query, empty: float) -> SampleCost:
    size, rejected = len(stand.samples[declared.name].stored), stand.rejected.get(declared.name)
    if query.archived:
        archive, key = stand.archives[declared.name], stand.kept[declared.name].key_of(archived_entity(stand, declared))
        with metered(stand.storage) as metering:
            reason = rejection(partial(archive.get, key))
        return SampleCost(metering.taken, rejected or reason, True, size)
    found = answer(declared, query)
    each = sample_questions(stand, declared, query, found, _how_many(stand, declared, query, found))
    taken: list[tuple[CallCost, float]] = []
    for one in each:
        took, reason = _run(stand, declared, query, found, one)
        rejected = reason or rejected
        taken.append((took, one.weight))
    return SampleCost(mean(taken), rejected, found.follows, size, empty)


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


def _written(stand: SampleAccount, declared: DeclaredSet, write: Write, sources: Mapping[str, Source]) -> SampleCost:
    """Write several entities, and return the average cost, or the reason of a rejection.

    If an index key exists, or an entity does not, another entity is written instead.
    """
    writes = [(declared, write), *atomic_writes(stand.made.design, declared, write)]
    size = len(stand.samples[declared.name].stored)
    follows = is_of_archive(declared, write) or _follows(stand, [each for each, _ in writes])
    if _drops_tables(declared, write):
        # Listing the tables, and deleting one
        return SampleCost(CallCost(requests=2, transactions=2), None, follows, size)
    taken: list[CallCost] = []
    rejected = stand.rejected.get(declared.name)
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
    return SampleCost(mean([(each, 1 / len(taken)) for each in taken]), rejected, follows, size)


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


def _how_many(stand: SampleAccount, declared: DeclaredSet, query: Query, found: Answer) -> int:
    if found.way in ("get", "find", "totals"):
        return 2
    likely = stand.made.expected(declared, query, found)
    work = likely.returned * max(1.0, width_of(declared) / _WIDE) + 3 * likely.requests
    return max(1, min(_QUESTIONS, int(_WORK / work)))


def _run(
    stand: SampleAccount, declared: DeclaredSet, query: Query, found: Answer, question: Question
) -> tuple[CallCost, str | None]:
    """Make a call, and return its cost, or the reason of a rejection."""
    ask = sample_call(declared, query, found, stand.samples[declared.name], question, declared.shape)
    kept = stand.kept[declared.name]
    if ask.way in ("range", "find"):
        kept.prepare(ask)
    with metered(stand.storage) as taken:
        rejected = rejection(lambda: kept.ask(ask))
    return taken.taken, rejected
