"""Rewrite entities of earlier model versions page by page, resumable after each page."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..argument_types import check_has_run, check_least, checked
from ..entity import Entity
from ..errors import EntityNotFound, UnrecognizedEntity
from ..models.model import Model
from ..rate_limit import Pace
from ..retry import RETRY_FOR, check_retry_for
from .derived import Keys
from .maintenance import Mark, pages
from .moved_sets import check_unmoved
from .reconcile import DerivedRows


class Upgrader(Protocol):
    """What a migration needs from the adapter of a set's model."""

    @property
    def model(self) -> Model[Any]: ...

    def version_of(self, entity: Entity) -> int: ...

    def upgrade(self, entity: Entity, changes: Mapping[str, Any]) -> None: ...

    def report(self, error: UnrecognizedEntity) -> None: ...


@dataclass(frozen=True)
class Migration:
    """The progress or the result of one call of `EntitySet.migrate`; earlier calls are not included.

    :param seen: how many entities were read
    :param rewritten: how many of them were of an earlier version and have been rewritten
    :param token: the token to `resume` from, also in another process; None at the end
    """

    seen: int = 0
    rewritten: int = 0
    token: str | None = None


class _IsCurrent(Exception):
    """Another writer has already rewritten the entity. Callers never see this error."""


class Migrator:
    """Rewrites entities in the current version of a set's model.

    :param entities: the set, without its model, as recipes see it
    :param rows: the set's rows
    :param adapter: the adapter of the set's model
    """

    def __init__(self, entities: Any, rows: DerivedRows, adapter: Upgrader) -> None:
        self._entities = entities
        self._rows = rows
        self._adapter = adapter

    @checked
    async def migrate(
        self,
        *,
        resume: str | None = None,
        progress: Callable[[Migration], None] | None = None,
        max_per_second: float | None = None,
        max_concurrency: int = 8,
        retry_for: float = RETRY_FOR,
    ) -> Migration:
        """Rewrite all entities of earlier versions; see `EntitySet.migrate`."""
        check_unmoved(self._entities._identity, "migrate")
        check_least("max_concurrency", max_concurrency, 1)
        check_retry_for(retry_for)
        model, rows, entities = self._adapter.model, self._rows, self._entities
        pace = Pace(entities.account, max_per_second)
        mark = Mark.parse(resume, f"migrate {rows.primaries.name.lower()} {rows.key!r} {model.name}.{model.version}")
        migration = Migration()
        async for _, items, following in pages([rows.primaries], mark, pace):
            primary_rows = [row for row in items if rows.is_primary(row)]
            stale = [(row["PartitionKey"], row["RowKey"]) for row in primary_rows if self._is_stale(row)]
            calls: list[Coroutine[Any, Any, bool]] = [self._rewrite(keys, pace, retry_for) for keys in stale]
            rewrites = await entities.account.gather(*calls, max_concurrency=max_concurrency)
            token = following.text() if following else None
            migration = replace(
                migration,
                seen=migration.seen + len(primary_rows),
                rewritten=migration.rewritten + sum(rewrites),
                token=token,
            )
            if progress is not None:
                check_has_run("progress", progress(migration))
        return migration

    async def _rewrite(self, keys: Keys, pace: Pace, retry_for: float) -> bool:
        """Rewrite one entity; return False if another writer has already rewritten or deleted it."""
        await pace.turn()
        try:
            await self._entities.update(self._upgrade, self._rows.key.parse(*keys), retry_for=retry_for)
        except (_IsCurrent, EntityNotFound):
            return False
        except UnrecognizedEntity as error:
            self._adapter.report(error)
            return False
        return True

    def _is_stale(self, row: Entity) -> bool:
        try:
            return self._adapter.version_of(row) < self._adapter.model.version
        except UnrecognizedEntity as error:
            self._adapter.report(error)
            return False

    def _upgrade(self, entity: Entity) -> None:
        adapter = self._adapter
        if adapter.version_of(entity) == adapter.model.version:
            raise _IsCurrent
        # Checked before the write, so that an upgrade cannot store what the model cannot read
        adapter.model.value(entity, adapter.version_of(entity))
        adapter.upgrade(entity, {})
