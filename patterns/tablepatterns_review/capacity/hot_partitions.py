"""Compute the load of each partition over a day, and whether it exceeds the target. No request is made.

The day is simulated in virtual time, in steps of five minutes. Each access pattern follows a curve that is lowest at
midnight and highest at noon, with the declared mean and peak; all peaks coincide, which is the worst case. Calls are
distributed over partitions by the declared fields and skews, using expected values, so that a design always has the
same load. A call counts as the entities that it reads and writes, at least one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias, cast

from tablepatterns.entity_set.derived import Derived
from tablepatterns.filters import QueryClass
from tablepatterns.limits import ACCOUNT_TRANSACTIONS_PER_SECOND, PARTITION_ENTITIES_PER_SECOND

from ..design.distribution import busiest_share, equal_names, names_one, skewed_field
from ..design.model import DAY, DeclaredSet, Design, Query, Write
from ..design.writes import archive_set, is_of_archive, moves, rate_of, touched
from ..kinds import kind_of
from ..result import AccountLoad, Measured, PartitionLoad, TableLoad
from .partitions import STEP, STEPS, Choice, Partitions, Share, day_curve, shares


@dataclass(frozen=True)
class Load:
    """The load of an access pattern on the partitions of a key.

    :param work: entities read and written per call
    :param in_every_bucket: whether every bucket takes all of this work, like a read of the first entities,
        which reads the first of every bucket
    """

    table: str
    partitions: Partitions
    choice: Choice
    skew: float | None
    curve: Sequence[float]
    work: float
    in_every_bucket: bool = False

    def in_bucket(self, buckets: int) -> float:
        if self.in_every_bucket:
            return self.work
        # A read of a partition reads every bucket, even if it has few entities
        return max(1.0, self.work / buckets) if self.choice == "partition" else self.work / buckets


def work_of(measured_set: Measured) -> float:
    """Return the work of a call: the entities read and written, at least one."""
    return max(1.0, measured_set.examined + measured_set.written)


_Part: TypeAlias = tuple[str, Partitions, Choice, float]
"""A table with the partitions of rows, what a call uses, and its work there."""


def loads_of(design: Design, call: Measured) -> Iterator[Load]:
    """Yield the loads of an access pattern on the partitions of the set and of its derived rows."""
    access, curve = call.access, day_curve(call.rate, call.busiest)
    is_read_of_first = isinstance(access, Query) and access.take is not None
    if isinstance(access, Query):
        parts, known = _read(design, call.of, call, access), equal_names(access)
    else:
        parts, known = _written(design, call.of, call, access), []
    for table, partitions, choice, work in parts:
        if work > 0:
            in_every_bucket = is_read_of_first and choice == "partition"
            # The skew of a field of the RowKey says nothing about partitions
            is_of_row = skewed_field(call.of.shape, known) not in partitions.names
            skew = None if is_of_row and choice == "partition" else access.skew
            choice = "row" if is_of_row and choice == "entity" else choice
            if call.kind == "delete" and skew is None:
                # Old entities are deleted, those of any period
                skew = 0.0
            yield Load(table, partitions, choice, skew, curve, work, in_every_bucket)


def partitions_of(declared_set: DeclaredSet, via: Derived | None = None) -> Partitions:
    key = None if via is None else declared_set.profile(via).table_key
    buckets = 1 if key is not None else _buckets(declared_set)
    inserts = rate_of(declared_set, "insert")
    shape = declared_set.shape
    if not shape.count:
        # A set that is still empty is simulated as after a year
        shape = replace(shape, count=round(shape.net_growth) or round(inserts * DAY))
    return Partitions.of(key or declared_set.key, shape, inserts=inserts, buckets=buckets)


def _buckets(declared_set: DeclaredSet) -> int:
    """Return the number of buckets over which the entities of a partition are spread evenly.

    Those with the same values in the fields that choose the bucket are in the same one.
    """
    buckets = kind_of(declared_set).buckets(declared_set)
    by = cast("Sequence[str]", declared_set.settings.get("by") or ())
    names = [name for name in by if name not in declared_set.key.partition_fields]
    if not by or names_one(declared_set.shape, names):
        return buckets
    return max(1, min(buckets, int(1 / busiest_share(declared_set.shape, names))))


def _read(design: Design, declared_set: DeclaredSet, call: Measured, query: Query) -> Iterator[_Part]:
    work, via = work_of(call), call.derived
    if query.archived:
        target = archive_set(design, declared_set)
        if target is not None:
            yield target.table, partitions_of(target), "entity", work
        return
    profile = None if via is None else declared_set.profile(via)
    is_list = profile is not None and profile.finder == "find_all"
    is_apart = via is not None and via.is_eventual and declared_set.profile(via).table_key is not None
    own = declared_set.table if via is None else via.table(declared_set.table)
    if is_list and via is not None and via.is_eventual:
        if is_apart:
            yield own, partitions_of(declared_set, via), "partition", 1.0
            work -= 1.0
        yield declared_set.table, partitions_of(declared_set), "all", work
        return
    has_part = profile is not None and profile.layout is not None and profile.layout.include is not None
    if has_part and is_apart and 0 < call.returned < call.examined and call.requests > 1:
        # A copy does not have all requested fields, so the entity of each is read, too
        work -= call.returned
        yield declared_set.table, partitions_of(declared_set), "all", call.returned
    choice: Choice = "partition"
    # The list and each entity are read, but the requested value is shared by many entities
    if not is_list and call.query_class in (QueryClass.POINT, QueryClass.TABLE_SCAN):
        choice = "entity" if call.query_class is QueryClass.POINT else "all"
    yield own, partitions_of(declared_set, via if is_apart else None), choice, work


def _written(design: Design, declared_set: DeclaredSet, call: Measured, write: Write) -> Iterator[_Part]:
    remaining = work_of(call)
    choice: Choice = "new" if write.operation == "insert" else "entity"
    own = (declared_set.table, partitions_of(declared_set), choice, remaining)
    for table, partitions, kind, most in (*_besides(design, declared_set, write, choice), own):
        work = min(most, remaining)
        remaining -= work
        yield table, partitions, kind, work


def _besides(design: Design, declared_set: DeclaredSet, write: Write, choice: Choice) -> Iterator[_Part]:
    """Yield the other partitions that a write changes, with the work that there is at most."""
    for derived in touched(declared_set, write):
        if derived.is_eventual and declared_set.profile(derived).table_key is not None:
            # A shared row is read before it is written; a row that moves is written in two places
            most = 2.0 if derived.shares_rows or moves(declared_set, derived, write) else 1.0
            yield derived.table(declared_set.table), partitions_of(declared_set, derived), choice, most
    target = archive_set(design, declared_set) if is_of_archive(declared_set, write) else None
    if target is not None:
        yield target.table, partitions_of(target), "new", 1.0
        insert = replace(write, operation="insert")
        yield from _besides(design, replace(target, archive=None), insert, "new")
    for other_set in design.sets:
        for other_write in other_set.writes:
            if other_write.name in write.atomic_with and other_set is not declared_set:
                is_new = other_write.operation == "insert"
                yield other_set.table, partitions_of(other_set), "new" if is_new else "entity", 1.0


SHOWN: Final = 12
"""The number of partitions of a table that are listed individually."""
SHOWN_IN_TURN: Final = 24
"""The same, if one replaces another: the hours of a day."""
_MOST_BUCKETS: Final = 1024
_COOL: Final = 0.5
"""The share of the target below which a partition is not hot."""
_WORTH: Final = 0.9
"""Doubling the buckets must reduce the load at least to this share."""


_Loads: TypeAlias = list[tuple[Load, Share]]
"""The loads of a partition, each with its share."""


def table_loads(design: Design, calls: Iterable[Measured]) -> tuple[TableLoad, ...]:
    """Return the load of each table that the calls use, in the order of the design."""
    by_table = defaultdict[str, list[Load]](list, {declared_set.table: [] for declared_set in design.sets})
    for call in calls:
        for load in loads_of(design, call):
            by_table[load.table].append(load)
    heats = [_heat(table, tuple(loads)) for table, loads in by_table.items()]
    return tuple(heat for heat in heats if heat is not None)


@lru_cache(maxsize=512)
def _heat(table: str, loads: tuple[Load, ...]) -> TableLoad | None:
    total = sum(load.work * sum(load.curve) for load in loads)
    if not total:
        return None
    partitions, target = _partitions(loads), float(PARTITION_ENTITIES_PER_SECOND)
    rates = _rates(partitions)
    busiest = sorted(rates, key=lambda name: (-max(rates[name]), -sum(rates[name])))
    hottest, hottest_rates = partitions[busiest[0]], rates[busiest[0]]
    peak = max(hottest_rates)
    buckets, spread_peak = _spread(hottest, hottest_rates.index(peak), peak, target)
    # Another partition replaces one that is determined by time
    follows_time = any(load.partitions.clock is not None for load, _ in hottest)
    shown_names = busiest[: SHOWN_IN_TURN if follows_time else SHOWN]
    over = (seconds_until_over(partition_rates, target, STEP) for partition_rates in rates.values())
    return TableLoad(
        table=table,
        step=float(STEP),
        partitions=tuple(PartitionLoad(table, name, rates[name], sum(rates[name]) / total) for name in shown_names),
        others=max(0, _count(loads) - len(shown_names)),
        target=target,
        headroom=target / peak,
        over_target_from=min((seconds for seconds in over if seconds is not None), default=None),
        follows_time=follows_time,
        buckets=buckets,
        spread_peak=spread_peak,
    )


def _partitions(loads: Iterable[Load]) -> Mapping[str, _Loads]:
    partitions: defaultdict[str, _Loads] = defaultdict(list)
    for load in loads:
        for name, share in shares(load.partitions, load.choice, load.skew):
            partitions[name].append((load, share))
    return partitions


def _rates(partitions: Mapping[str, _Loads]) -> Mapping[str, tuple[float, ...]]:
    """Return the entities per second of each step; partitions with the same loads share them."""
    rates_of_loads: dict[tuple[tuple[int, Share], ...], tuple[float, ...]] = {}
    rates = dict[str, tuple[float, ...]]()
    for name, loads in partitions.items():
        key = tuple((id(load), share) for load, share in loads)
        rates[name] = rates_of_loads.get(key) or rates_of_loads.setdefault(key, _rates_of(loads))
    return rates


def _rates_of(loads: _Loads) -> tuple[float, ...]:
    rates = [0.0] * STEPS
    for load, share in loads:
        steps, work = slice(share.first, share.last), load.work * share.of
        rates[steps] = [rate + calls * work for rate, calls in zip(rates[steps], load.curve[steps], strict=True)]
    return tuple(rates)


def _count(loads: Iterable[Load]) -> int:
    """Return the number of partitions; sets with the same template share them."""
    counts: dict[tuple[str, int], int] = {}
    for load in loads:
        kind = load.partitions.template, load.partitions.buckets
        counts[kind] = max(counts.get(kind, 0), load.partitions.count)
    return sum(counts.values())


def _spread(loads: _Loads, step: int, peak: float, target: float) -> tuple[int, float]:
    """Return the smallest power of two of buckets with which a partition is not hot, and its peak then.

    If reads keep it hot regardless of the number of buckets, return the number beyond which the load hardly changes.
    """
    there = [(load, share) for load, share in loads if share.first <= step < share.last]
    best, spread_peak, buckets = 1, peak, 1
    while spread_peak >= _COOL * target and buckets < _MOST_BUCKETS:
        buckets *= 2
        rate = sum(load.curve[step] * load.in_bucket(buckets) * share.of for load, share in there)
        if rate <= spread_peak * _WORTH:
            best, spread_peak = buckets, rate
    return best, spread_peak


def account_load(calls: Iterable[Measured]) -> AccountLoad:
    """Return the requests of the account, including those of workers."""
    requests = defaultdict[tuple[float, float], float](float)
    for call in calls:
        requests[call.rate, call.busiest] += max(call.requests, call.transactions)
    rates = [0.0] * STEPS
    for (average, busiest), number in requests.items():
        curve = day_curve(average, busiest)
        rates = [rate + calls_per_second * number for rate, calls_per_second in zip(rates, curve, strict=True)]
    return AccountLoad(float(STEP), tuple(rates), float(ACCOUNT_TRANSACTIONS_PER_SECOND))


def seconds_until_over(rates: Sequence[float], target: float, step: float) -> float | None:
    """Return the seconds until the load first exceeds the target; None if it never does."""
    return next((number * step for number, rate in enumerate(rates) if rate > target), None)
