"""Compute the load of each partition over a day, and whether it exceeds the target. No request is made.

The day is simulated in virtual time, in steps of five minutes. Each access pattern follows a curve that is lowest at
midnight and highest at noon, with the declared mean and peak; all peaks coincide, which is the worst case. Calls are
distributed over partitions by the declared fields and skews, using expected values, so that a design always has the
same load. A call counts as the entities that it reads and writes, at least one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from tablepatterns.limits import ACCOUNT_TRANSACTIONS_PER_SECOND, PARTITION_ENTITIES_PER_SECOND

from ..design.model import Design
from ..result import AccountLoad, Measured, PartitionLoad, TableLoad
from .day import STEP, STEPS, day_curve
from .load import Load, loads_of
from .partitions import Share, shares

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
