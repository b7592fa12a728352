"""The data that rules work on: a design with its measured queries and writes, and which of their reads are needless."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, cast

from tablepatterns.filters import QueryClass
from tablepatterns.key import Key
from tablepatterns.limits import (
    ACCOUNT_TRANSACTIONS_PER_SECOND,
    MAX_PAGE_ENTITIES,
    MAX_QUERY_TIME,
    PARTITION_ENTITIES_PER_SECOND,
)

from ..capacity.growth import grown
from ..design.distribution import Zipf, asked_values, equal_names, values_of
from ..design.model import DAY, DeclaredSet, Design, Match, Query, Write
from ..plans.estimate import pages
from ..plans.planner import is_in_order, known_fields
from ..result import AccountLoad, Bill, LimitUse, Measured, Severity, TableLoad
from .rule import RULES


@dataclass(frozen=True)
class RuleContext:
    design: Design
    measured: tuple[Measured, ...]
    heats: tuple[TableLoad, ...]
    account: AccountLoad
    in_sight: tuple[LimitUse, ...]
    bill: Bill

    @cached_property
    def queries(self) -> Sequence[Measured[Query]]:
        return [cast("Measured[Query]", call) for call in self.measured if isinstance(call.access, Query)]

    @cached_property
    def writes(self) -> Sequence[Measured[Write]]:
        return [cast("Measured[Write]", call) for call in self.measured if isinstance(call.access, Write)]

    def queries_of(self, declared_set: DeclaredSet) -> list[Measured[Query]]:
        return [query for query in self.queries if query.of.name == declared_set.name]

    def writes_of(self, declared_set: DeclaredSet) -> list[Measured[Write]]:
        return [write for write in self.writes if write.of.name == declared_set.name]

    def writer(self, name: str) -> Measured[Write] | None:
        return next((write for write in self.writes if write.access.name == name), None)

    def entities_then(self, declared_set: DeclaredSet) -> float:
        """Return how many entities a set has at the end of the declared growth."""
        return grown(declared_set.shape, self.design.years)


def key_of(query: Measured[Query]) -> Key:
    """Return the key of the rows that a query reads."""
    layout = None if query.derived is None else query.of.profile(query.derived).layout
    return query.of.key if layout is None else layout.key


def known_of(query: Measured[Query]) -> Mapping[str, Match]:
    """Return the fields that a query, or its filter, gives values for, and how."""
    return known_fields(query.of, query.access)


def unindexed_fields(query: Measured[Query]) -> Sequence[str]:
    """Return the fields of a query that the key of the rows cannot answer, so that the rows are searched for them."""
    matches, key = known_of(query), key_of(query)
    key_names = set(key.partition_fields)
    if all(matches.get(name) == "=" for name in key.partition_fields):
        for name in key.row_fields:
            if name in matches:
                key_names.add(name)
            if matches.get(name) != "=":
                break
    return [name for name in sorted(matches, key=lambda name: matches[name] != "=") if name not in key_names]


def has_order(query: Measured[Query]) -> bool:
    """Whether the rows are stored in the order that the query wants."""
    order, key = query.access.order, key_of(query)
    is_one_partition = all(known_of(query).get(name) == "=" for name in key.partition_fields)
    return order is None or (is_one_partition and is_in_order(key, known_of(query), order))


HEAVY: Final = 0.5 * PARTITION_ENTITIES_PER_SECOND
"""Needless reads in entities per second from which a finding is serious: half the target of a partition."""
NOTICEABLE: Final = 0.01 * PARTITION_ENTITIES_PER_SECOND
"""Needless reads in entities per second, on average and over all partitions, from which a finding is a warning."""
_AT_PEAK: Final = 10 * NOTICEABLE
"""The same at the peak."""
_PAGES: Final = 25 * NOTICEABLE
"""The same, on average, for a query that reads one page of one partition: an index would take one request, too."""
SLOW: Final = PARTITION_ENTITIES_PER_SECOND * MAX_QUERY_TIME.total_seconds()
"""The entities that the service reads within the time limit of a page; a query that reads more takes several pages."""
ONCE_A_DAY: Final = 1 / DAY
ONCE_AN_HOUR: Final = 1 / 3600
_JOB: Final = 0.1 * PARTITION_ENTITIES_PER_SECOND
"""The same for a job, which reads for up to a tenth of the time between two runs."""
_NEEDED: Final = 0.5
"""A query that returns at least this share of what it reads has no finding: a scan is right for it."""
_NEEDED_OF_PAGE: Final = 1 / 3
"""The same for a query that reads one page of one partition."""


def needed_entities(call: Measured) -> float:
    """Return how many of the returned entities the caller needs, at most `take`; a frequent count is one total."""
    take = call.access.take if isinstance(call.access, Query) else None
    if is_frequent_count(call.access):
        take = 1
    return float(min(count for count in (call.returned, call.matching, take) if count is not None))


def is_frequent_count(access: Query | Write) -> bool:
    return isinstance(access, Query) and access.count_only and access.rate >= ONCE_AN_HOUR


def _share(call: Measured) -> float:
    """Return the share of a query's work on the busiest partition; 1 for a scan of the table."""
    query, declared_set = call.access, call.of
    is_scan = call.query_class is QueryClass.TABLE_SCAN
    if not isinstance(query, Query) or query.filter is not None or is_scan:
        return 1.0
    share, shape = 1.0, declared_set.shape
    for name in declared_set.key.partition_fields:
        # The most frequent value has the most queries and the most entities
        asked_for = asked_values(shape, name, equal_names(query), query.skew)
        share *= Zipf(asked_for.count, asked_for.exponent + values_of(shape, name).exponent).share(1)
    return share


def waste_severity(call: Measured) -> Severity | None:
    """Return the severity of an access pattern's needless reads; None if they do not matter."""
    # Pages that are skipped have a finding of their own
    needed = needed_entities(call) + (call.access.skip if isinstance(call.access, Query) else 0)
    waste = call.examined - needed
    is_page = call.query_class is not QueryClass.TABLE_SCAN and call.requests <= 1 and waste <= MAX_PAGE_ENTITIES
    if needed >= (_NEEDED_OF_PAGE if is_page else _NEEDED) * call.examined:
        return None
    work = waste * call.access.busiest
    if work * _share(call) >= HEAVY or work >= ACCOUNT_TRANSACTIONS_PER_SECOND:
        return Severity.SERIOUS
    if call.access.rate < ONCE_AN_HOUR and work < _JOB:
        return Severity.NOTE if waste > MAX_PAGE_ENTITIES and call.access.rate >= ONCE_A_DAY else None
    mean = waste * call.access.rate
    is_costly = mean >= _PAGES if is_page else mean >= NOTICEABLE or work >= _AT_PEAK
    if is_costly or (waste >= SLOW and call.access.rate >= ONCE_AN_HOUR):
        return Severity.WARNING
    if waste > MAX_PAGE_ENTITIES and call.access.rate >= ONCE_A_DAY:
        return Severity.NOTE
    return None


def is_read_one_by_one(call: Measured) -> bool:
    """Whether a query reads a list and then so many entities, one by one, that it should read copies instead."""
    via = call.derived
    is_list = via is not None and call.of.profile(via).finder == "find_all"
    return is_list and call.returned * call.access.busiest >= RULES["second-read"].figures["lists"]


def without_waste(call: Measured) -> Iterator[Measured]:
    """Yield a call as if it read only what it returns; nothing for a table scan, which needs other keys for that."""
    if waste_severity(call) is None:
        # Entities of a list that are read one by one have a finding of their own
        listed = pages(call.returned, call.returned) if is_read_one_by_one(call) else call.requests
        yield call if listed == call.requests else replace(call, requests=listed, transactions=listed)
    elif call.query_class is not QueryClass.TABLE_SCAN:
        needed = needed_entities(call)
        requests = min(call.requests, pages(needed, needed))
        yield replace(call, examined=needed, returned=needed, requests=requests, transactions=requests)
