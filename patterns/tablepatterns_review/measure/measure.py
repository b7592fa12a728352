"""Run every access pattern of a design on an in-memory account, and measure its cost by the ledger.

Sets of up to `MOST` entities are generated completely, and their figures are exact means over weighted calls. Larger
sets are sampled so that, if possible, the declared number of entities share each value; figures that still depend on
the number of entities are scaled by the expected values of the sample and the whole set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Any, Final, TypeAlias

from tablepatterns.entity_set.derived import Derived
from tablepatterns.errors import EntityAlreadyExists, EntityNotFound
from tablepatterns.filters import Comparison, QueryClass
from tablepatterns.storage import connect
from tablepatterns_engine import Clock, Engine

from ..design.distribution import equal, found_by, scaled_results
from ..design.model import DAY, RETENTION, DeclaredSet, Design, Query, Write
from ..design.writes import RETRY_REQUESTS, archive_write, is_of_archive, rate_of, retries_of, touched, with_moves
from ..kinds import kind_of
from ..kinds.recipes import rejection
from ..plans.estimate import PAGE_READS, SizedDesign
from ..plans.planner import Way, best_way, known_fields
from ..plans.sizes import entry_size
from ..result import Measured
from .account import SampleAccount, SampleDesign, declared_sizes, sample_design, set_up
from .questions import questions, sample_call
from .sample import NOW, width_of
from .scaling import CallCost, class_of, mean, metered, scaled
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
_LATER: Final = 4
"""The estimated transactions of a copy that follows later: the intent, its deletion, the copy and a check."""
_EMPTY_TABLE: Final = "ReviewNoRows"
"""The name of a table that stays empty."""


def measure(design: Design, *, most: int = MOST, measurements: Measurements | None = None) -> tuple[Measured, ...]:
    """Run every access pattern, with up to `most` entities per set; return each cost, in declaration order."""
    return rated(design, calls_of(design, most=most, measurements=measurements))


@dataclass(frozen=True)
class SampleCost:
    """What an access pattern takes with a sample.

    :param follows: whether the derived data that it writes is eventually consistent
    :param sample: the number of sample entities
    :param empty: the size of a response without entities
    :param listed: how many sample entities are on each list that the write changes, by set and derived data
    """

    took: CallCost
    rejected: str | None
    follows: bool
    sample: int
    empty: float = 0.0
    listed: Mapping[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])


class Measurements:
    """What was measured in one review. Sets that are the same in another design are not measured again.

    Sets that share nothing have accounts of their own, so that the figures of a set do not depend on the others.
    """

    def __init__(self, on_measured: Callable[[int], None] | None = None) -> None:
        self._known: defaultdict[tuple[str, ...], list[_Known]] = defaultdict(list)
        self._on_measured = on_measured
        self.count = 0
        """How many access patterns have been measured."""

    def counted(self, cost: SampleCost) -> SampleCost:
        self.count += 1
        if self._on_measured is not None:
            self._on_measured(self.count)
        return cost

    def of(self, sample: SampleDesign) -> list[SampleCost]:
        """Return what each access pattern of a sample takes, in declaration order."""
        costs_by_set = dict[str, Sequence[SampleCost]]()
        for part in map(sample.part, independent(sample.design)):
            known_parts = self._known[_names(part)]
            costs = next((costs for known, costs in known_parts if known == part), None)
            if costs is None:
                costs = run_calls(part, self, dict(self._scaled_queries(part)))
                known_parts.append((part, costs))
            costs_by_set |= costs
        return [cost for declared_set in sample.design.sets for cost in costs_by_set[declared_set.name]]

    def _scaled_queries(self, part: SampleDesign) -> Iterator[tuple[tuple[str, str], SampleCost]]:
        """Yield what queries take beside other derived data, if they do not use it: their cost is known, and scaled."""
        bare = [_without_derived(of) for of in part.design.sets]
        for known, costs in self._known[_names(part)]:
            if [_without_derived(of) for of in known.design.sets] != bare or known.tables != part.tables:
                continue
            for old, of in zip(known.design.sets, part.design.sets, strict=True):
                for query, cost in zip(old.queries, costs[of.name], strict=False):
                    way = best_way(of, query)
                    if way == best_way(old, query) and not query.archived:
                        took = scaled(way, cost.took, known.estimate(old, way), part.estimate(of, way), cost.empty)
                        yield (of.name, query.name), replace(cost, took=took)


_Known: TypeAlias = tuple[SampleDesign, Mapping[str, Sequence[SampleCost]]]
"""A sample, and what each access pattern of its sets takes."""


def _names(part: SampleDesign) -> tuple[str, ...]:
    return tuple(declared_set.name for declared_set in part.design.sets)


def _without_derived(declared_set: DeclaredSet) -> DeclaredSet:
    return replace(declared_set, derived=(), writes=())


def calls_of(design: Design, *, most: int = MOST, measurements: Measurements | None = None) -> tuple[Measured, ...]:
    """Return what one call of each access pattern takes if no other call is made: the rates have no effect."""
    design = with_implied_writes(design)
    sample, sized_design = sample_design(design, most), declared_sizes(design)
    costs = (measurements or Measurements()).of(sample)
    pairs = zip(design.accesses(), costs, strict=True)
    return tuple(_scaled(sized_design, sample, of, access, cost) for (of, access), cost in pairs)


def estimated(design: Design) -> tuple[Measured, ...]:
    """Return what one call of each access pattern takes by estimate; no entity is generated, and no call is made."""
    whole = with_implied_writes(design)
    sizes = declared_sizes(whole)
    calls = (_estimated(sizes, of, access) for of, access in whole.accesses())
    return rated(design, tuple(calls))


def _estimated(sizes: SizedDesign, of: DeclaredSet, access: Query | Write) -> Measured:
    if isinstance(access, Query) and not access.archived:
        way = best_way(of, access)
        rows = sizes.estimate(of, way)
        took = CallCost(rows.requests, rows.requests, rows.examined, rows.returned, partitions=rows.partitions)
        return _measured_call(of, access, SampleCost(took, None, way.is_eventual, 0), way)
    derived = touched(of, access) if isinstance(access, Write) else []
    later = sum(via.is_eventual for via in derived)
    is_read_first = isinstance(access, Query) or (access.operation == "update" and not access.overwrite)
    requests = 1.0 + (is_read_first and isinstance(access, Write)) + _LATER * later
    took = CallCost(requests, requests, float(is_read_first), written=1.0 + len(derived), partitions=1.0 + later)
    return _measured_call(of, access, SampleCost(took, None, later > 0, 0))


def _measured_call(of: DeclaredSet, access: Query | Write, cost: SampleCost, way: Way | None = None) -> Measured:
    return Measured(
        of=of,
        access=access,
        how="Archive.get(...)" if way is None else way.call,
        via=None if way is None or way.via is None else way.via.name,
        query_class=None if isinstance(access, Write) else QueryClass.POINT if way is None else way.query_class,
        follows=cost.follows,
        sample=cost.sample,
        rejected=cost.rejected,
        is_implied=isinstance(access, Write) and (is_of_archive(of, access) or is_of_retention(of, access)),
        **cost.took.figures,
    )


def independent(design: Design) -> list[set[str]]:
    """Return the names of the sets, in groups of which none reads or writes what another stores."""
    groups = list[tuple[set[object], set[str]]]()
    atomic = {name for declared_set in design.sets for write in declared_set.writes for name in write.atomic_with}
    for declared_set in design.sets:
        uses, names = _uses(declared_set, atomic), {declared_set.name}
        for group in [group for group in groups if not group[0].isdisjoint(uses)]:
            groups.remove(group)
            uses, names = uses | group[0], names | group[1]
        groups.append((uses, names))
    return [names for _, names in groups]


def _uses(declared_set: DeclaredSet, atomic: Collection[str]) -> set[object]:
    """Return what a set may share with others; `atomic` has the writes that are in transactions of other sets."""
    own = declared_set.table
    stores = [("table", own), *(derived.placement.store_name(own) for derived in declared_set.derived)]
    found = {(kind, name.lower()) for kind, name in stores}
    copied = {id(profile.filled_from or derived) for derived, profile in declared_set.profiles()}
    named = {write.name for write in declared_set.writes}.intersection(atomic)
    writes = {("write", name) for name in named.union(*(write.atomic_with for write in declared_set.writes))}
    sets = {("set", declared_set.name)}
    if declared_set.archive is not None and declared_set.archive.to is not None:
        sets.add(("set", declared_set.archive.to))
    return {*found, *copied, *writes, *sets}


def rated(design: Design, calls: Sequence[Measured]) -> tuple[Measured, ...]:
    """Return the measured calls at the rates of a design, maybe not those measured: with retries, and counted once."""
    design = with_implied_writes(design)
    return tuple(
        _counted_once(_retried(replace(call, of=declared_set, access=access)), design)
        for (declared_set, access), call in zip(design.accesses(), calls, strict=True)
    )


def _retried(call: Measured) -> Measured:
    if isinstance(call.access, Query) or call.rejected or call.is_implied:
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
    sets = (replace(of, writes=(*of.writes, *_implied_writes(of))) for of in with_moves(design).sets)
    return replace(design, sets=tuple(sets))


def _implied_writes(declared_set: DeclaredSet) -> Iterator[Write]:
    retention, moves, move = declared_set.retention, declared_set.shape.moves, archive_write(declared_set)
    if retention is not None:
        inserted, deleted = rate_of(declared_set, "insert"), rate_of(declared_set, "delete")
        expired = (inserted + moves.received_rate) - (deleted + moves.archived_rate)
        if not (inserted or deleted or moves.received_rate or moves.archived_rate):
            # Without declared inserts, the existing ones are deleted evenly
            expired = declared_set.shape.count / retention.days / DAY
        period = kind_of(declared_set).period_days(declared_set)
        if retention.by == "table" and period is not None:
            expired = 1 / period / DAY
        if expired > 0:
            yield Write(RETENTION.format(f"{retention.days:g}"), "delete", rate=expired)
    if move is not None:
        yield move


def is_of_retention(declared_set: DeclaredSet, access: Query | Write) -> bool:
    retention = declared_set.retention
    return retention is not None and access.name == RETENTION.format(f"{retention.days:g}")


def _counted_once(measured_set: Measured, design: Design) -> Measured:
    """Return the cost of a write, without its calls in the transactions of others, which are counted there."""
    name, rate = measured_set.access.name, measured_set.access.rate
    others = (write for of in design.sets if of.name != measured_set.of.name for write in of.writes)
    within = sum(write.rate for write in others if name in write.atomic_with)
    if isinstance(measured_set.access, Query) or not within or not rate:
        return measured_set
    return replace(measured_set, share=max(0.0, 1 - within / rate))


def _scaled(
    declared: SizedDesign, sample: SizedDesign, of: DeclaredSet, access: Query | Write, cost: SampleCost
) -> Measured:
    """Return what a call takes with the declared number of entities, from its cost with a sample."""
    if isinstance(access, Write):
        return _scaled_write(declared, of, access, cost)
    if access.archived:
        return _measured_call(of, access, cost)
    way = best_way(of, access)
    of_sample = replace(way, query=scaled_results(access, of.shape, sample.shapes[of.name]))
    likely, expected = sample.estimate(of, of_sample), declared.estimate(of, way)
    figures = scaled(way, cost.took, likely, expected, cost.empty, has_declared_results=access.results is not None)
    if way.method == "totals" and way.via is not None:
        here = equal(sample.shapes[of.name], way.key_fields, access.skew, way.key_fields)
        figures = replace(figures, bytes_out=figures.bytes_out + _longer(declared, of, way.via, here))
    return replace(
        _measured_call(of, access, cost, way),
        query_class=class_of(way, cost.took),
        matching=found_by(of.shape, access) if way.client_fields else None,
        **{**figures.figures, **({} if cost.took.partitions else {"partitions": expected.partitions})},
    )


def _scaled_write(declared: SizedDesign, of: DeclaredSet, write: Write, cost: SampleCost) -> Measured:
    call = _measured_call(of, write, cost)
    if _drops_tables(of, write):
        return replace(call, how="drop_expired()")
    others = atomic_writes(declared.design, of, write)
    lists = ((each, via) for each, other_write in [(of, write), *others] for via in touched(each, other_write))
    # A list is read and written in full
    more = sum(_longer(declared, each, via, cost.listed.get((each.name, via.name), 0.0)) for each, via in lists)
    text = how(of, write, [other_set for other_set, _ in others])
    return replace(call, how=text, bytes_in=call.bytes_in + more, bytes_out=call.bytes_out + more)


def _drops_tables(declared_set: DeclaredSet, write: Write) -> bool:
    """Whether a write drops the tables of expired periods, instead of deleting entities."""
    is_expiry = is_of_retention(declared_set, write) and not is_of_archive(declared_set, write)
    return is_expiry and declared_set.retention is not None and declared_set.retention.by == "table"


def _longer(declared: SizedDesign, of: DeclaredSet, via: Derived, here: float) -> float:
    """Return how many more bytes a list of entities takes with all entities than with those of the sample, `here`."""
    names, size = _of_list(of, via), entry_size(of, via)
    if names is None or not size:
        return 0.0
    # Sent as UTF-8, but stored as UTF-16
    return max(0.0, equal(declared.shapes[of.name], names, None, names) - here) * size / 2


def _of_list(declared_set: DeclaredSet, via: Derived) -> list[str] | None:
    """Return the fields whose values the entities on a list share; None if there is no list in a table."""
    key = declared_set.profile(via).table_key
    return None if key is None else [name for name in key.fields if name in declared_set.shape.fields]


def _listed(stand: SampleAccount, parts: Sequence[Part]) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield how many stored entities of the sample are on each list that writes change."""
    for part in parts:
        stored = stand.samples[part.declared.name].stored
        for via in touched(part.declared, part.write):
            names = _of_list(part.declared, via)
            if names is None or not entry_size(part.declared, via):
                continue
            values = [part.fields.get(name) for name in names]
            alike = sum([row.get(name) for name in names] == values for row in stored)
            yield (part.declared.name, via.name), alike


# ------------------------------------------------------------------ running the calls on a sample


def run_calls(
    of: SampleDesign, measurements: Measurements, unchanged: Mapping[tuple[str, str], SampleCost]
) -> dict[str, list[SampleCost]]:
    """Run every access pattern of a sample, and return the cost of each, by the name of its set.

    :param unchanged: the costs of queries that are known
    """
    # A frozen clock, since timestamps are part of the payload
    engine = Engine(clock=Clock(NOW), page_examines=PAGE_READS)
    engine.tables.create(_EMPTY_TABLE)
    with connect(engine) as storage:
        stand = set_up(of, storage)
        any_set = next(iter(stand.kept.values()))
        nothing = partial(any_set.raw, _EMPTY_TABLE, Comparison("PartitionKey", "eq", ""))
        empty = metered(storage, nothing)[0].bytes_out
        costs: dict[str, list[SampleCost]] = {declared_set.name: [] for declared_set in of.design.sets}
        for declared_set in of.design.sets:
            for query in declared_set.queries:
                known = unchanged.get((declared_set.name, query.name))
                cost = known or measurements.counted(_asked(stand, declared_set, query, empty))
                costs[declared_set.name].append(cost)
        # Last, since they change the data
        sources = {name: Source(sample) for name, sample in stand.samples.items()}
        for declared_set in of.design.sets:
            for write in declared_set.writes:
                costs[declared_set.name].append(measurements.counted(_written(stand, declared_set, write, sources)))
    return costs


def _asked(stand: SampleAccount, declared_set: DeclaredSet, query: Query, empty: float) -> SampleCost:
    size, rejected = len(stand.samples[declared_set.name].stored), stand.rejected.get(declared_set.name)
    if query.archived:
        took, reason = metered(stand.storage, partial(rejection, read_of_archive(stand, declared_set)))
        return SampleCost(took, rejected or reason, True, size)
    way = best_way(declared_set, query)
    weighted_costs: list[tuple[CallCost, float]] = []
    sample, sample_set = stand.samples[declared_set.name], stand.kept[declared_set.name]
    for number, weight in sample_questions(stand, declared_set, way, _how_many(stand, declared_set, way)):
        ask = sample_call(declared_set, way, sample, number, declared_set.shape)
        call_cost, reason = metered(stand.storage, partial(rejection, partial(sample_set.ask, ask)))
        rejected = reason or rejected
        weighted_costs.append((call_cost, weight))
    return SampleCost(mean(weighted_costs), rejected, way.is_eventual, size, empty)


def read_of_archive(stand: SampleAccount, declared_set: DeclaredSet) -> Callable[[], object]:
    """Return the call that reads the sample entity of a set that is in its archive."""
    key = stand.kept[declared_set.name].key_of(stand.samples[declared_set.name].spare[-1])
    return partial(stand.archives[declared_set.name].get, key)


def sample_questions(stand: SampleAccount, declared_set: DeclaredSet, way: Way, most: int) -> list[tuple[int, float]]:
    """Return about `most` entities of the sample, by number, that stand for all those asked for, with weights."""
    sample, shape = stand.samples[declared_set.name], stand.made.shapes[declared_set.name]
    known = known_fields(declared_set, way.query)
    names = [name for name, how in known.items() if how == "=" and name in sample.ranks]
    if way.query.filter is not None and not names:
        # The other values of a filter are those of one entity, which may be in any partition
        names = list(declared_set.key.partition_fields)
    first = [] if way.key is None else [name for name in way.key.partition_fields if name in names]
    return questions(shape, way.query, sample, names, first or names[:1], most)


def _written(
    stand: SampleAccount, declared_set: DeclaredSet, write: Write, sources: Mapping[str, Source]
) -> SampleCost:
    """Write several entities, and return the average cost, or the reason of a rejection.

    If an index key exists, or an entity does not, another entity is written instead.
    """
    writes = [(declared_set, write), *atomic_writes(stand.made.design, declared_set, write)]
    size = len(stand.samples[declared_set.name].stored)
    sets = [written_set for written_set, _ in writes]
    is_eventual = any(via.is_eventual for written_set in sets for via in written_set.derived)
    is_divided = len(sets) > 1 and not shares_partition(sets)
    follows = is_of_archive(declared_set, write) or is_eventual or is_divided
    if _drops_tables(declared_set, write):
        # Listing the tables, and deleting one
        return SampleCost(CallCost(requests=2, transactions=2), None, follows, size)
    call_costs: list[CallCost] = []
    listed = defaultdict[tuple[str, str], list[int]](list)
    rejected = stand.rejected.get(declared_set.name)
    for _ in range(_ATTEMPTS):
        parts = parts_of(stand, writes, sources)
        with suppress(EntityAlreadyExists, EntityNotFound):
            took, reason = metered(stand.storage, partial(rejection, partial(execute, stand.storage, parts)))
            rejected = reason or rejected
            call_costs.append(took)
            for name, length in _listed(stand, parts):
                listed[name].append(length)
        if rejected is not None or len(call_costs) == _WRITES:
            break
    cost = mean([(call_cost, 1 / len(call_costs)) for call_cost in call_costs])
    means = {name: fmean(lengths) for name, lengths in listed.items()}
    return SampleCost(cost, rejected, follows, size, listed=means)


def parts_of(
    stand: SampleAccount, writes: Sequence[tuple[DeclaredSet, Write]], sources: Mapping[str, Source]
) -> list[Part]:
    """Return the writes of the next entities, in one partition if possible."""
    parts = list[Part]()
    like: dict[str, Any] = {}
    share = shares_partition([declared_set for declared_set, _ in writes])
    for declared_set, write in writes:
        archive = stand.archives.get(declared_set.name)
        part = Part.of(declared_set, stand.kept[declared_set.name], write, sources[declared_set.name], like, archive)
        if share:
            like = {name: part.fields[name] for name in declared_set.key.partition_fields}
        parts.append(part)
    return parts


def atomic_writes(design: Design, declared_set: DeclaredSet, write: Write) -> list[tuple[DeclaredSet, Write]]:
    others = [(other, one) for other in design.sets if other is not declared_set for one in other.writes]
    return [pair for name in write.atomic_with for pair in others if pair[1].name == name]


def _how_many(stand: SampleAccount, declared_set: DeclaredSet, way: Way) -> int:
    if way.method in ("get", "find", "totals"):
        return 2
    likely = stand.made.estimate(declared_set, way)
    work = likely.returned * max(1.0, width_of(declared_set) / _WIDE) + 3 * likely.requests
    return max(1, min(_QUESTIONS, int(_WORK / work)))
