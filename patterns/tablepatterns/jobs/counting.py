"""Count entities, and add up their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import inf, isfinite
from typing import Any

from ..entity_set.derived import keys_of
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import as_stored, primary_layout, rows_filter
from ..errors import BadProperty
from ..filters import Filter, QueryClass
from ..rate_limit import Pool
from ..recipe import Account
from .job import job
from .ranges import SelectedRows
from .walk import TablePage, Walk, WalkReport
from .workers import Workers


class Totals(dict[str, Any]):
    """Values by name; adding two of these adds the values of the same name."""

    def __add__(self, other: Mapping[str, Any]) -> Totals:
        sums = {name: self[name] + other[name] if name in self else other[name] for name in other}
        return Totals({**self, **sums})


@dataclass(frozen=True)
class Counts(WalkReport):
    """How many entities there are, and the sums of their properties; earlier calls are not included.

    :param sums: by the name of the property; the sum of integers is an integer
    :param partitions: the same for each PartitionKey, if you asked for it
    :param token: the token to `resume` from, also in another process; None at the end
    """

    entities: int = 0
    sums: Totals = field(default_factory=Totals)
    partitions: Totals = field(default_factory=Totals)
    token: str | None = field(default=None, repr=False)


@job
async def count(
    entity_set: EntitySet[Account, Any],
    /,
    where: Filter | None = None,
    *,
    sum_of: Sequence[str] = (),
    by_partition: bool = False,
    resume: str | None = None,
    progress: Callable[[Counts], None] | None = None,
    max_per_second: float | None = None,
    workers: int | Workers | None = None,
) -> Counts:
    """Count the entities of a set, and add up properties, by reading the whole table.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> from tablepatterns.jobs import count
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "{EmployeeId:06d}"))
    >>> for number in (1, 2):
    ...     _ = employees.insert({"Department": "Sales", "EmployeeId": number, "Age": 30 + number})
    >>> count(employees, sum_of=["Age"]).sums
    {'Age': 63}

    If you need a total often, keep it with a `Summary`. Cost: 1 transaction for each page of up to 1,000 rows.

    :param where: which entities to count; the service reads all of them
    :param sum_of: the names of properties to add up; entities without the property are skipped
    :param by_partition: whether to count each partition by itself, too; memory: a report for each partition
    :param max_per_second: how many entities a second, evenly spaced; None for no limit
    :raises BadProperty: a value is not a number, or is infinite

    The other parameters and errors are those of `backfill`. Guide: table scans.
    """
    pool, layout = Pool(entity_set.account, max_per_second, 1), primary_layout(entity_set)
    matching = rows_filter(entity_set.without_model(), as_stored(entity_set, where, {})[0], {}, QueryClass.TABLE_SCAN)

    async def count_page(page: TablePage) -> Counts:
        report = Counts()
        for row in page.rows:
            await pool.pace.turn()
            entity = layout.decode_copy(row)
            if entity is not None:
                values = ((name, entity[name]) for name in sum_of if entity.get(name) is not None)
                sums = Totals({name: _exact(name, value, row) for name, value in values})
                own = Counts(1, sums)
                report += replace(own, partitions=Totals({keys_of(row)[0]: own})) if by_partition else own
        return report

    name = f"count {entity_set.table.name.lower()} {entity_set.key!r} {matching} {sorted(sum_of)} {by_partition}"
    readers = [SelectedRows(entity_set.table, matching, layout.selected(sum_of))]
    call = partial(count, where=where, sum_of=sum_of, by_partition=by_partition)

    def report_rounded(report: Counts) -> Any:
        return None if progress is None else progress(_round_sums(report))

    return _round_sums(await Walk(name, readers, count_page, Counts()).run(pool, resume, report_rounded, workers, call))


def _exact(name: str, value: Any, row: Any) -> int | Fraction:
    """Return a number as one whose sums do not depend on the order in which workers add it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        rule = f"only finite numbers have a sum; the row is {keys_of(row)}"
        raise BadProperty(name, type(value).__name__, rule, "name another property, or filter")
    return Fraction(value) if isinstance(value, float) else int(value)


def _round_sums(report: Counts) -> Counts:
    partitions = Totals({name: _round_sums(counts) for name, counts in report.partitions.items()})
    sums = Totals({name: _number(value) for name, value in report.sums.items()})
    return replace(report, sums=sums, partitions=partitions)


def _number(value: int | Fraction) -> int | float:
    try:
        return float(value) if isinstance(value, Fraction) else value
    except OverflowError:
        return inf if value > 0 else -inf
