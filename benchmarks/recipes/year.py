"""Load a whole year of flights with an index, compared with SDK calls that write the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import Final, TypeVar

from tablepatterns import BulkLoad, connect

from ..environment import environment
from ..results import Year, YearLoad
from .bulk import DERIVED, Call, TracedStorage, bare
from .flights import flights, year

T = TypeVar("T")

_LOAD: Final = "one index"


def whole_year(count: int | None) -> Year:
    """Load the year with one index.

    :param count: the number of flights; None for all
    """
    facts, calls = environment(), list[Call]()
    # A client that records its calls makes them as the SDK does, so this load is not measured
    BulkLoad(flights(TracedStorage(calls), *DERIVED[_LOAD])).load(islice(year(), count))
    load = BulkLoad(flights(connect(), *DERIVED[_LOAD]))
    loaded, seconds, cpu = _timed(lambda: load.load(islice(year(), count)))
    _, bare_seconds, bare_cpu = _timed(bare(calls))
    return Year(facts, [YearLoad(_LOAD, loaded.entities, loaded.transactions, seconds, cpu, bare_seconds, bare_cpu)])


def _timed(work: Callable[[], T]) -> tuple[T, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    done = work()
    return done, round(time.perf_counter() - wall, 3), round(time.process_time() - cpu, 3)
