"""Load a whole year of flights with different numbers of indexes, compared with SDK calls that write the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import Final, TypeVar

from tablepatterns import BulkLoad

from ..environment import environment
from ..results import Year, YearLoad
from .bulk import DERIVED, Call, TracedStorage, bare
from .flights import flights, year

T = TypeVar("T")

_LOADS: Final = ("one index", "three indexes")


def whole_year(count: int | None) -> Year:
    """Load the year with one index and with three.

    :param count: the number of flights; None for all
    """
    return Year(environment(), [_load(name, count) for name in _LOADS])


def _load(name: str, count: int | None) -> YearLoad:
    calls = list[Call]()
    load = BulkLoad(flights(TracedStorage(calls), *DERIVED[name]))
    loaded, seconds, cpu = _timed(lambda: load.load(islice(year(), count)))
    work = bare(calls)
    _, bare_seconds, bare_cpu = _timed(work)
    return YearLoad(name, loaded.entities, loaded.transactions, seconds, cpu, bare_seconds, bare_cpu)


def _timed(work: Callable[[], T]) -> tuple[T, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    done = work()
    return done, round(time.perf_counter() - wall, 3), round(time.process_time() - cpu, 3)
