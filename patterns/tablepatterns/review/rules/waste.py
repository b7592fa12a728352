"""Waste: how much is read for an access pattern that is not wanted, and from where on that matters."""

from __future__ import annotations

import math
from typing import Final

from ...figures import number
from ...filters import QueryClass
from ...limits import MAX_PAGE_ENTITIES, MAX_QUERY_TIME, PARTITION_ENTITIES_PER_SECOND
from ..design.model import DeclaredSet, Query
from ..measure.sample import asked_values, values_of
from ..model import Measured, Severity
from ..zipf import Zipf

HEAVY: Final = 0.5 * PARTITION_ENTITIES_PER_SECOND
"""Entities per second, read in vain, that take half of what one partition can do: serious."""
NOTICEABLE: Final = 0.01 * PARTITION_ENTITIES_PER_SECOND
"""A hundredth of it, wherever they are: a warning."""
SLOW: Final = PARTITION_ENTITIES_PER_SECOND * MAX_QUERY_TIME.total_seconds()
"""Entities that take longer to read than the service works on a page: the query is cut into several."""
ONCE_A_DAY: Final = 1 / 86_400
ONCE_AN_HOUR: Final = 1 / 3600
_WANTED: Final = 0.5
"""A query that returns half of what it reads is no waste: a scan is the right way to ask for it."""
LEVELS: Final = (
    f"serious from {number(HEAVY)} entities a second read in vain, in one partition or by scans of the table; a "
    f"warning from {number(NOTICEABLE)}, or of {number(SLOW)} at once; a note where it is rare"
)


def wanted(measured: Measured) -> float:
    """Return how many of the entities that one call returns are wanted: no more than the query takes."""
    take = measured.access.take if isinstance(measured.access, Query) else None
    return measured.returned if take is None else min(measured.returned, float(take))


def in_vain(measured: Measured) -> float:
    """Return how many entities one call reads that are not wanted."""
    return max(0.0, measured.examined - wanted(measured))


def _share(measured: Measured) -> float:
    """Return the share of a query's work that comes to its busiest partition; a scan of the table counts as a whole."""
    query, declared = measured.access, measured.of
    if not isinstance(query, Query) or query.filter is not None or measured.query_class is QueryClass.TABLE_SCAN:
        return 1.0
    asked = [name for name, how in query.known.items() if how == "="]
    return math.prod(_busiest(declared, name, asked, query.skew) for name in declared.key.partition_fields)


def _busiest(declared: DeclaredSet, name: str, asked: list[str], skew: float) -> float:
    """Return the share of the work that the first value of a field has: it is asked for most, and has most entities."""
    asked_for = asked_values(declared.shape, name, asked, skew)
    return Zipf(asked_for.count, asked_for.exponent + values_of(declared.shape, name).exponent).share(1)


def severity_of(measured: Measured) -> Severity | None:
    """Return how much it matters what an access pattern reads in vain; None where it does not."""
    waste = in_vain(measured)
    if wanted(measured) >= _WANTED * measured.examined:
        return None
    work = waste * measured.access.busiest
    if work * _share(measured) >= HEAVY:
        return Severity.SERIOUS
    if work >= NOTICEABLE or (waste >= SLOW and measured.access.rate >= ONCE_AN_HOUR):
        return Severity.WARNING
    if waste > MAX_PAGE_ENTITIES and measured.access.rate >= ONCE_A_DAY:
        return Severity.NOTE
    return None
