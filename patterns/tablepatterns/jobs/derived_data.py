"""Backfill, verify, repair and recount the derived data of a set, while writers keep running."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from ..entity import Entity
from ..entity_set.derived import Derived, Keys, Primary, keys_of
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import adapter_or_none, check_own, derived_rows
from ..entity_set.reconcile import DerivedRows, Finding
from ..entity_set.shared_rows import Totals, recount_totals
from ..errors import BadDesign, BadInput, BadKey
from ..key.key import fields_of
from ..rate_limit import Pool
from ..recipe import Account
from ..retry import RETRY_FOR, contended
from .job import job
from .repairer import Repairer
from .walk import TablePage, Walk, WalkReport, walk_name
from .workers import Workers


@dataclass(frozen=True)
class Drift:
    """A derived row that is inconsistent with an entity.

    :param finding: what is wrong with the row
    :param derived: the name of the derived data
    :param row: the keys of the derived row
    :param owner: the keys of the entity's primary row
    """

    finding: Finding
    derived: str
    row: Keys
    owner: Keys


@dataclass(frozen=True)
class Report(WalkReport):
    """The progress or the result of one call; earlier calls are not included.

    :param entities: how many entities were checked
    :param rows: how many derived rows were checked for orphans
    :param drifts: the inconsistent rows
    :param token: the token to `resume` from, also in another process; None at the end
    """

    entities: int = 0
    rows: int = 0
    drifts: tuple[Drift, ...] = ()
    token: str | None = None

    @property
    def is_clean(self) -> bool:
        """Whether no inconsistent row was found."""
        return not self.drifts

    @property
    def repairable(self) -> list[Drift]:
        """The inconsistent rows that `repair` can correct; it leaves those that two entities claim."""
        return [drift for drift in self.drifts if drift.finding is not Finding.CONTESTED]

    def of(self, finding: Finding) -> list[Drift]:
        """Return the inconsistent rows of one kind."""
        return [drift for drift in self.drifts if drift.finding is finding]


ProgressCallback: TypeAlias = Callable[[Report], None]
"""A function that is called after each page with a report of the work so far."""


_LOOKS: Final = 3
"""How often an entity that keeps changing is checked again; its writers keep its rows consistent."""


class Inspector:
    def __init__(self, rows: DerivedRows, derived: Derived) -> None:
        self._rows = rows
        self._derived = derived

    def entities(self, page: Iterable[Entity]) -> dict[Keys, Primary]:
        primaries = [self._rows.primary_of(row) for row in page if self._rows.is_primary(row)]
        return {primary.row: primary for primary in primaries if self._rows.can_derive(self._derived, primary)}

    def keys(self, primary: Primary) -> list[Keys]:
        return [] if primary.fields is None else self._derived.keys(self._rows.key, primary.fields)

    async def lacks(self, primary: Primary, known_rows: Mapping[Keys, Entity]) -> list[Drift]:
        """Return the inconsistent rows of an entity. Cost: 1 transaction for each row that is not in `known_rows`."""
        drifts: list[Drift | None] = []
        for keys in self.keys(primary):
            row = known_rows.get(keys) or await self._rows.table_of(self._derived).get(*keys)
            comparison = await self._rows.compare(self._derived, keys, row, primary)
            if comparison.finding is not Finding.RIGHT:
                drifts.append(await self.drift(keys, primary.row))
        return [drift for drift in drifts if drift is not None]

    async def orphans(self, row: Entity, known_primaries: Mapping[Keys, Primary]) -> list[Drift] | None:
        """Return the orphaned parts of a row; None if the row is not of this kind.

        Cost: 1 transaction for each entity that is not in `known_primaries`.
        """
        owners = self._derived.primary_keys_of(self._rows.key, row)
        if owners is None:
            return None
        keys = keys_of(row)
        drifts: list[Drift | None] = []
        for owner in owners:
            primary = known_primaries.get(owner) or await self._rows.primary(owner)
            if not self._rows.wants(self._derived, keys, primary):
                drifts.append(await self.drift(keys, owner))
        return [drift for drift in drifts if drift is not None]

    async def drift(self, keys: Keys, owner: Keys) -> Drift | None:
        """Compare a row with an entity, and retry if the entity changes. Cost: 3 transactions per attempt."""
        table = self._rows.table_of(self._derived)
        before = await self._rows.primary(owner)
        for _ in range(_LOOKS):
            comparison = await self._rows.compare(self._derived, keys, await table.get(*keys), before)
            after = await self._rows.primary(owner)
            if after.etag == before.etag:
                is_right = comparison.finding is Finding.RIGHT
                return None if is_right else Drift(comparison.finding, self._derived.name, keys, owner)
            before = after
        return None


@job
async def backfill(
    entity_set: EntitySet[Account, Any],
    /,
    derived: Derived,
    *,
    resume: str | None = None,
    progress: ProgressCallback | None = None,
    max_per_second: float | None = None,
    max_concurrency: int = 8,
    retry_for: float = RETRY_FOR,
    workers: int | Workers | None = None,
) -> Report:
    """Create the derived rows that older entities lack, after you add derived data to a set.

    Declare the derived data first, in every program that writes; if it is in the primary's partition, also as
    `backfilling`. Correct rows stay as they are, so running it again is safe.

    >>> from tablepatterns import EntitySet, IntraPartitionIndex, Key, connect
    >>> from tablepatterns.jobs import backfill, verify
    >>> storage, key = connect(), Key("{Department}", "empid_{EmployeeId:06d}")
    >>> _ = EntitySet(storage, "Employees", key).insert({"Department": "Sales", "EmployeeId": 1, "Email": "jo@x.org"})
    >>> by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    >>> employees = EntitySet(storage, "Employees", key, derived=[by_email], backfilling=[by_email])
    >>> backfill(employees, by_email).entities
    1
    >>> verify(employees, by_email).is_clean
    True

    Cost: a transaction for each page of up to 1,000 rows of the table. In the primary's partition, one for each 100
    rows to write, of which one per entity guards against concurrent changes, and two for each entity whose rows exist
    already. Outside the primary's partition, for 100 entities 201 table + 4 queue transactions, equivalent to 245 table
    operations, if the queue is created too; 401 table + 2 queue transactions, equivalent to 423 table operations, if
    their rows exist already.

    :param entity_set: the set, or a pattern that has one
    :param derived: one of the set's own
    :param resume: the token of a report of an earlier call, to continue it; None to start
    :param progress: called after each page with a report, whose `token` resumes from there
    :param max_per_second: how many entities a second, evenly spaced; None for no limit
    :param max_concurrency: how many entities at a time
    :param retry_for: the seconds to keep retrying while others write the same entity
    :param workers: how many ranges of keys to work on at a time, in this process; or `Workers`, for processes
    :raises BadInput: the set does not derive this, or a number is not above zero
    :raises TooMuchContention: others kept writing the same entity; earlier entities stay done
    :raises BadDesign: the derived data is a `Summary` in the partition: use `recount`
    :raises BadToken: the token is from other work
    :raises RangesFailed: with workers, some ranges failed at every try; the others are done

    Guide: writing efficiently; eventually consistent transactions.
    """
    _check_verifiable(entity_set, derived)
    pool, rows = Pool(entity_set.account, max_per_second, max_concurrency), derived_rows(entity_set)
    inspector, repairer = Inspector(rows, derived), Repairer(entity_set, derived, pool, retry_for)

    async def create_rows(page: TablePage) -> Report:
        entities = inspector.entities(page.rows)
        missing_rows = [(entity, keys) for entity in entities.values() if (keys := inspector.keys(entity))]
        await repairer.repair(missing_rows, are_absent=True)
        return Report(len(entities))

    walk = Walk(walk_name("backfill", rows, derived.name), [rows.primaries], create_rows, Report())
    call = partial(_by_name, backfill, derived.name, max_concurrency=max_concurrency, retry_for=retry_for)
    return await walk.run(pool, resume, progress, workers, call)


@job
async def verify(
    entity_set: EntitySet[Account, Any],
    /,
    derived: Derived,
    *,
    resume: str | None = None,
    progress: ProgressCallback | None = None,
    max_per_second: float | None = None,
    max_concurrency: int = 8,
    workers: int | Workers | None = None,
) -> Report:
    """Compare derived data with all entities, and report the differences; nothing is written.

    Each difference is checked again before it is reported. Data outside the primary's partition may be reported while a
    writer is still updating it, and be consistent seconds later.

    Cost: 1 transaction for each page of 1,000 rows. For each entity and each derived row 1, unless both are on one
    page; 3 for each row that looks wrong.

    :param progress: called after each page with a report of what was found so far

    The other parameters and errors are those of `backfill`. Guide: eventually consistent transactions.
    """
    pool = Pool(entity_set.account, max_per_second, max_concurrency)
    call = partial(_by_name, verify, derived.name, max_concurrency=max_concurrency)
    return await _comparison(entity_set, derived, pool).run(pool, resume, progress, workers, call)


@job
async def repair(
    entity_set: EntitySet[Account, Any],
    /,
    derived: Derived,
    report: Report | None = None,
    *,
    resume: str | None = None,
    progress: ProgressCallback | None = None,
    max_per_second: float | None = None,
    max_concurrency: int = 8,
    retry_for: float = RETRY_FOR,
    workers: int | Workers | None = None,
) -> int:
    """Correct the differences in a report, and return how many rows that were.

    Each row is read again, and updated to match its entity. If two entities have the same key, the row is not changed:
    give one of them another value.

    Cost: 4 transactions for each row; outside the primary's partition, 2 more for some hundred rows.

    :param report: what `verify` returned; None to compare and correct the table page by page
    :param progress: called after each page that was corrected with a report of what was found so far

    The other parameters and errors are those of `backfill`. Guide: eventually consistent transactions.
    """
    pool = Pool(entity_set.account, max_per_second, max_concurrency)
    comparison, repairer = _comparison(entity_set, derived, pool), Repairer(entity_set, derived, pool, retry_for)

    async def correct(report: Report) -> None:
        rows_by_owner = defaultdict[Keys, list[Keys]](list)
        for drift in report.repairable:
            if drift.derived == derived.name:
                rows_by_owner[drift.owner].append(drift.row)
        await repairer.repair((Primary(entity_set.key, owner, None), rows) for owner, rows in rows_by_owner.items())

    async def compare_and_correct(page: TablePage) -> Report:
        report = await comparison.process(page)
        await correct(report)
        return report

    if report is None:
        walk = Walk(comparison.name, comparison.tables, compare_and_correct, Report())
        call = partial(_by_name, repair, derived.name, max_concurrency=max_concurrency, retry_for=retry_for)
        report = await walk.run(pool, resume, progress, workers, call)
    else:
        await correct(report)
    return len({drift.row for drift in report.repairable if drift.derived == derived.name})


@job
async def recount(
    entity_set: EntitySet[Account, Any],
    via: Totals,
    key: Mapping[str, Any] | None = None,
    /,
    *,
    retry_for: float = RETRY_FOR,
    **fields: Any,
) -> list[Keys]:
    """Recompute the totals of a partition from its entities, and correct them, while writers keep running.

    Use it for a summary that is newer than the entities, or after writes without the set. Returns the keys of the rows
    that were corrected. Cost: 1 transaction per 1,000 entities, 1 for each 1,000 rows of totals, 1 for each row to
    correct; all of it again if a writer changed a row during the recount.

    :param via: a summary in the partition, one of the set's own
    :param retry_for: the seconds to keep retrying while others write the totals
    :param fields: a value for every field of the PartitionKey, or as a mapping `key`
    :raises BadInput: the summary is not this set's, or is outside the partition
    :raises BadKey: a field is missing, or does not belong to the PartitionKey
    :raises TooMuchContention: writers changed the totals during every attempt

    The other parameters are those of `backfill`. Guide: denormalization pattern.
    """
    check_own(entity_set, via)
    if via.is_eventual:
        rule = "its rows list their entities, so that each can be checked by itself"
        raise BadInput("summary", via.name, rule, "use verify, and repair")
    partition, adapter = fields_of(key, fields), adapter_or_none(entity_set)
    if adapter is not None:
        partition = adapter.model.key_fields(partition, via.layout)
    for name in partition:
        if name not in entity_set.key.partition_fields:
            rule = f"a partition is counted as a whole, by {', '.join(entity_set.key.partition_fields)}"
            raise BadKey(name, partition[name], rule, "leave it out")
    attempt = partial(recount_totals, entity_set.table, entity_set.key, via, partition)
    return await contended(entity_set.account, attempt, retry_for)


def _by_name(job: Any, name: str, pattern: Any, **options: Any) -> Any:
    """Do a job on derived data in another process, which has its own objects."""
    entity_set = getattr(pattern, "entity_set", pattern)
    return job(entity_set, next(kind for kind in entity_set.derived if kind.name == name), **options)


def _comparison(entity_set: EntitySet[Account, Any], derived: Derived, pool: Pool) -> Walk[Report]:
    """Return the walk that compares all entities, and all derived rows in case they are orphans."""
    _check_verifiable(entity_set, derived)
    rows = derived_rows(entity_set)
    derived_table, inspector = rows.table_of(derived), Inspector(rows, derived)
    tables = [rows.primaries] if derived_table is rows.primaries else [rows.primaries, derived_table]

    async def compare(page: TablePage) -> Report:
        entities = inspector.entities(page.rows) if page.table == 0 else {}
        of_derived = page.rows if tables[page.table] is derived_table else ()
        stored_rows = {keys_of(row): row for row in of_derived}

        async def compare_entity(entity: Primary) -> list[Drift]:
            await pool.pace.turn()
            return await inspector.lacks(entity, stored_rows)

        calls: list[Coroutine[Any, Any, list[Drift] | None]] = [*map(compare_entity, entities.values())]
        calls += [inspector.orphans(row, entities) for row in stored_rows.values()]
        drifts = await pool.gather(*calls)
        derived_count = sum(of_row is not None for of_row in drifts[len(entities) :])
        return Report(len(entities), derived_count, tuple(drift for of_row in drifts for drift in of_row or ()))

    return Walk(walk_name("verify", rows, derived.name), tables, compare, Report())


def _check_verifiable(entity_set: EntitySet[Account, Any], derived: Derived) -> None:
    check_own(entity_set, derived)
    if not derived.is_verifiable:
        rule = "each of its rows combines several entities"
        raise BadDesign("derived", derived.name, rule, "use recount, which reads them all")
