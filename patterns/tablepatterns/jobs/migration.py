"""Find the rows of a table that fit neither the key of a set nor its model, and rewrite those of earlier versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..entity import Entity
from ..entity_set.derived import TOMBSTONE, Derived, Keys, keys_of
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import adapter_or_none, check_not_moved, derived_rows, entity_of
from ..entity_set.shared_rows import Totals
from ..errors import BadInput, BadKey, EntityNotFound, TablePatternsError, UnrecognizedEntity, message_of
from ..key import Key
from ..rate_limit import Pool
from ..recipe import Account, declared_rows
from ..retry import RETRY_FOR, check_retry_for
from .job import job
from .walk import TablePage, Walk, WalkReport, walk_name
from .workers import Workers


@dataclass(frozen=True)
class Migration(WalkReport):
    """The progress or the result of one call of `migrate`; earlier calls are not included.

    :param seen: how many entities were read
    :param rewritten: how many of them were of an earlier version and have been rewritten
    :param token: the token to `resume` from, also in another process; None at the end
    """

    seen: int = 0
    rewritten: int = 0
    token: str | None = None


class _IsCurrent(Exception):
    """Another writer has already rewritten the entity. Callers never see this error."""


@job
async def migrate(
    entity_set: EntitySet[Account, Any],
    /,
    *,
    resume: str | None = None,
    progress: Callable[[Migration], None] | None = None,
    max_per_second: float | None = None,
    max_concurrency: int = 8,
    retry_for: float = RETRY_FOR,
    workers: int | Workers | None = None,
) -> Migration:
    """Rewrite the entities of earlier versions of the model in its current version, while writers keep running.

    Reads upgrade entities in any case; after `migrate` you can remove earlier upgrades from `versions`. Each entity is
    written with its derived rows, conditional on its ETag, so running it again is safe.

    Cost: 1 transaction for each page of up to 1,000 rows of the table, and 1 read and 1 write for each entity of an
    earlier version.

    :param progress: called after each page with the result so far, whose `token` resumes from there
    :raises BadInput: the set has no model
    :raises UnrecognizedEntity: an upgraded entity does not fit the model; entities before it are already rewritten

    The other parameters and errors are those of `backfill`.

    Guide: writing efficiently; working with heterogeneous entity types (type and version of an entity).
    """
    adapter, rows, entities = adapter_or_none(entity_set), derived_rows(entity_set), entity_set.without_model()
    if adapter is None:
        rule = "the set has no model, so its entities have no versions"
        raise BadInput("set", entity_set.table.name, rule, "pass model=... and versions=[...] to the set")
    check_not_moved(entity_set, "migrate")
    check_retry_for(retry_for)
    pool, model = Pool(entity_set.account, max_per_second, max_concurrency), adapter.model

    def upgrade(entity: Entity) -> None:
        if adapter.version_of(entity) == model.version:
            raise _IsCurrent
        # Checked before the write, so that an upgrade cannot store what the model cannot read
        adapter.value_of(entity)
        adapter.upgrade(entity, {})

    async def rewrite(keys: Keys) -> bool:
        """Rewrite one entity; return False if another writer has already rewritten or deleted it."""
        try:
            await entities.update(upgrade, rows.key.parse(*keys), retry_for=retry_for)
        except (_IsCurrent, EntityNotFound):
            return False
        except UnrecognizedEntity as error:
            adapter.report(error)
            return False
        return True

    async def rewrite_stale(page: TablePage) -> Migration:
        primary_rows = [row for row in page.rows if rows.is_primary(row)]
        versions = {keys_of(row): adapter.convert_recognized(row, adapter.version_of) for row in primary_rows}
        stale = [keys for keys, version in versions.items() if version is not None and version < model.version]
        return Migration(len(primary_rows), sum(await pool.map(rewrite, stale)))

    name = walk_name("migrate", rows, f"{model.name}.{model.version}")
    call = partial(migrate, max_concurrency=max_concurrency, retry_for=retry_for)
    walk = Walk(name, [rows.primaries], rewrite_stale, Migration())
    return await walk.run(pool, resume, progress, workers, call)


@dataclass(frozen=True)
class Misfit:
    """A row that fits neither a key of the set nor its model."""

    row: Keys
    reason: str


@dataclass(frozen=True)
class RowCheck(WalkReport):
    """The progress or the result of one check; earlier calls are not included.

    :param rows: how many rows were read, with those of derived data
    :param earlier: how many entities were written in an earlier version of the model
    :param token: the token to `resume` from, also in another process; None at the end
    """

    rows: int = 0
    entities: int = 0
    earlier: int = 0
    misfits: tuple[Misfit, ...] = ()
    token: str | None = None


@job
async def check_rows(
    entity_set: EntitySet[Account, Any],
    /,
    *,
    resume: str | None = None,
    progress: Callable[[RowCheck], None] | None = None,
    max_per_second: float | None = None,
    max_concurrency: int = 8,
    workers: int | Workers | None = None,
) -> RowCheck:
    """Read the table of a set, and report all rows that do not fit; nothing is written.

    Rows of its derived data, and of other sets that this connection declares, belong there. Cost: 1 transaction for
    each page of up to 1,000 rows, and that of reading large properties.
    """
    rows, plain, adapter = derived_rows(entity_set), entity_set.without_model(), adapter_or_none(entity_set)
    primaries, declared = rows.primaries, declared_rows(entity_set.account)
    derived = [kind for kind in entity_set.derived if rows.table_of(kind) is primaries]
    pool = Pool(entity_set.account, max_per_second, max_concurrency)

    def is_known(row: Entity) -> bool:
        """Whether it is a row of derived data, or of another set that the connection declares."""
        is_declared = declared.kind_of(primaries.name, *keys_of(row)) is not None
        return is_declared or any(_is_row_of(kind, rows.key, row) for kind in derived)

    async def check_row(row: Entity) -> RowCheck:
        keys = keys_of(row)
        if TOMBSTONE in row:
            return RowCheck(1)
        try:
            rows.key.parse(*keys)
        except BadKey as error:
            return RowCheck(1, misfits=() if is_known(row) else (Misfit(keys, message_of(error)),))
        is_earlier, misfits = False, tuple[Misfit, ...]()
        try:
            entity = await entity_of(plain, row)
            if entity is not None and adapter is not None:
                is_earlier = adapter.version_of(entity) < adapter.model.version
                adapter.value_of(entity)
        except TablePatternsError as error:
            misfits = (Misfit(keys, message_of(error)),)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # An upgrade or a check of the user's model
            misfits = (Misfit(keys, f"{type(error).__name__}: {error}"),)
        return RowCheck(1, 1, int(is_earlier), misfits)

    async def check_page(page: TablePage) -> RowCheck:
        return sum(await pool.map(check_row, page.rows), RowCheck())

    walk = Walk(walk_name("check", rows), [primaries], check_page, RowCheck())
    return await walk.run(pool, resume, progress, workers, partial(check_rows, max_concurrency=max_concurrency))


def _is_row_of(derived: Derived, key: Key, row: Entity) -> bool:
    is_of_totals = isinstance(derived, Totals) and derived.layout.matches(*keys_of(row))
    return is_of_totals or derived.primary_keys_of(key, row) is not None
