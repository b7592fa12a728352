"""Delete the entities that match a filter, up to 100 per transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from ..argument_types import checked
from ..entity import Entity
from ..entity_set.commit import commit
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import as_stored, check_not_moved, derived_rows, entity_of, rows_filter
from ..errors import BadInput, EntityChanged, EntityNotFound, LimitExceeded
from ..filters import Filter, QueryClass
from ..jobs.ranges import SelectedRows
from ..jobs.walk import TablePage, Walk, WalkReport, walk_name
from ..jobs.workers import Workers
from ..key.key import via_and_fields
from ..limits import MAX_TRANSACTION_OPERATIONS
from ..rate_limit import Pool
from ..recipe import Account_co, Pattern, recipe
from ..retry import RETRY_FOR


@dataclass(frozen=True)
class Deleted(WalkReport):
    """How many entities were deleted, in how many transactions, or left, since another writer was faster."""

    entities: int = 0
    transactions: int = 0
    left: int = 0
    token: str | None = field(default=None, repr=False)


class BulkDelete(Pattern[Account_co]):
    """Delete the entities that match a filter or a key range, with everything that the set derives from them.

    Use it if the entities to delete do not have a table of their own, such as sign-in records older than 60 days. If
    there is one table per day (`PeriodTables`), a single request deletes them.

    >>> from datetime import datetime, timezone
    >>> from tablepatterns import EntitySet, Key, QueryClass, connect, prop
    >>> logins = EntitySet(connect(), "Logins", Key("{User}", "{At:ticks}"))
    >>> for day in range(1, 31):
    ...     _ = logins.insert({"User": "jo", "At": datetime(2014, 6, day, tzinfo=timezone.utc), "Day": day})
    >>> BulkDelete(logins).delete(prop("Day") < 20, allow=QueryClass.TABLE_SCAN)
    Deleted(entities=19, transactions=1, left=0)

    Consistency: an entity is deleted with its derived rows in the partition, or not at all. One that another writer has
    changed since it was read is left and counted. The whole call is not atomic: after an error, another call continues.

    Cost: 1 storage transaction per page of up to 1,000 found, and for each partition 1 per 100 rows, derived ones
    included. An entity that another writer changed costs up to 14 more.

    :param entity_set: the entities to delete from
    :param max_per_second: how many entities a second, evenly spaced; None for no limit
    :raises BadInput: `max_per_second` is not above zero

    Guide: high volume delete pattern; entity group transactions.
    """

    @checked
    def __init__(self, entity_set: EntitySet[Account_co, Any], *, max_per_second: float | None = None) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        check_not_moved(entity_set, "BulkDelete")
        self.entity_set = entity_set.without_model()
        self._as_stored = partial(as_stored, entity_set)
        self.max_per_second = max_per_second
        self._most = max(1, MAX_TRANSACTION_OPERATIONS // (1 + len(self.entity_set.derived)))
        self._pool = Pool(self.account, max_per_second, 1)

    @recipe
    async def delete(
        self,
        where: Filter | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        allow: QueryClass = QueryClass.RANGE,
        retry_for: float = RETRY_FOR,
        resume: str | None = None,
        progress: Callable[[Deleted], None] | None = None,
        workers: int | Workers | None = None,
        **fields: Any,
    ) -> Deleted:
        """Delete the entities of a key range, or those that match a filter, and return the counts.

        Give key fields as for `EntitySet.range`; only the rows of that range are read. For consistency and cost see the
        class.

        :param where: any filter; with key fields, a further condition on the entities of the range
        :param allow: the worst class of query to allow; `QueryClass.TABLE_SCAN` allows every filter
        :param retry_for: the seconds to keep retrying a transaction when others write shared rows
        :raises BadInput: there is neither a filter nor a field

        The other parameters are those of `tablepatterns.jobs.backfill`, the other errors those of `EntitySet.range`.
        """
        own_where, key_fields = via_and_fields(where, key, fields)
        call = partial(_delete, where=own_where, key=key_fields, allow=allow, retry_for=retry_for)
        condition, key_fields = self._as_stored(own_where, key_fields)
        if condition is None and not key_fields:
            raise BadInput("where", where, "it needs a filter or key fields", "to delete everything, delete the table")
        rows, matching = derived_rows(self.entity_set), rows_filter(self.entity_set, condition, key_fields, allow)

        async def delete_page(page: TablePage) -> Deleted:
            partitions: dict[str, list[Entity]] = {}
            for row in filter(rows.is_primary, page.rows):
                partitions.setdefault(row["PartitionKey"], []).append(row)
            report = Deleted()
            for partition in partitions.values():
                for start in range(0, len(partition), self._most):
                    # Large properties are read here, of one transaction at a time
                    batch = [await entity_of(self.entity_set, row) for row in partition[start : start + self._most]]
                    await self._pool.pace.turn(len(batch))
                    report += await self._delete([entity for entity in batch if entity is not None], retry_for)
            return report

        name = walk_name("delete", rows, str(matching))
        walk = Walk(name, [SelectedRows(self.entity_set.table, matching)], delete_page, Deleted())
        return await walk.run(self._pool, resume, progress, workers, call)

    async def _delete(self, batch: list[Entity], retry_for: float) -> Deleted:
        """Delete entities of one partition in one transaction, or split them in halves if that is not possible."""
        writes = map(self.entity_set.deleting, batch)
        try:
            await commit(self.account, self.entity_set.table, *writes, retry_for=retry_for)
        except (EntityChanged, EntityNotFound, LimitExceeded) as error:
            if len(batch) > 1:
                middle = len(batch) // 2
                first = await self._delete(batch[:middle], retry_for)
                return first + await self._delete(batch[middle:], retry_for)
            if isinstance(error, LimitExceeded):
                raise
            return Deleted(left=1)
        return Deleted(len(batch), 1)


def _delete(entity_set: Any, *, where: Any, key: Any, max_per_second: float | None, **options: Any) -> Any:
    """Delete in another process, which has its own set."""
    return BulkDelete(entity_set, max_per_second=max_per_second).delete(where, key, **options)
