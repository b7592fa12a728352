"""Find the rows of a table that fit neither the key of a set nor its model, page by page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..entity import Entity
from ..entity_set.derived import TOMBSTONE, Keys, keys_of
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import adapter_or_none, derived_rows, entity_of
from ..entity_set.shared_rows import Totals
from ..errors import BadKey, TablePatternsError, message_of
from ..rate_limit import Pool
from ..recipe import Account, declared_rows
from .job import job
from .walk import TablePage, Walk, WalkReport, walk_name
from .workers import Workers


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
    rows, checker = derived_rows(entity_set), _Checker(entity_set)
    pool = Pool(entity_set.account, max_per_second, max_concurrency)

    async def check_page(page: TablePage) -> RowCheck:
        return sum(await pool.map(checker.check_row, page.rows), RowCheck())

    walk = Walk(walk_name("check", rows), [rows.primaries], check_page, RowCheck())
    return await walk.run(pool, resume, progress, workers, partial(check_rows, max_concurrency=max_concurrency))


class _Checker:
    """Looks at the rows of a set's table, one by one."""

    def __init__(self, entity_set: Any) -> None:
        self._rows, self._adapter = derived_rows(entity_set), adapter_or_none(entity_set)
        self._plain = entity_set.without_model()
        primaries = self._rows.primaries
        self._derived = [kind for kind in entity_set.derived if self._rows.table_of(kind) is primaries]
        self._declared = declared_rows(entity_set.account)

    async def check_row(self, row: Entity) -> RowCheck:
        keys = keys_of(row)
        if TOMBSTONE in row:
            return RowCheck(1)
        if not self._rows.is_primary(row):
            is_known = self._is_known(row, keys)
            return RowCheck(1, misfits=() if is_known else (Misfit(keys, _reason_of_key(self._rows.key, keys)),))
        is_earlier, adapter = False, self._adapter
        try:
            entity = await entity_of(self._plain, row)
            if entity is not None and adapter is not None:
                version = adapter.version_of(entity)
                is_earlier = version < adapter.model.version
                adapter.value_of(entity)
        except TablePatternsError as error:
            reason = message_of(error)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # An upgrade or a check of the user's model
            reason = f"{type(error).__name__}: {error}"
        else:
            return RowCheck(1, 1, int(is_earlier))
        return RowCheck(1, 1, int(is_earlier), (Misfit(keys, reason),))

    def _is_known(self, row: Entity, keys: Keys) -> bool:
        """Whether it is a row of derived data, or of another set that the connection declares."""
        return self._declared.kind_of(self._rows.primaries.name, *keys) is not None or any(
            kind.primary_keys_of(self._rows.key, row) is not None
            or (isinstance(kind, Totals) and kind.layout.matches(*keys))
            for kind in self._derived
        )


def _reason_of_key(key: Any, keys: Keys) -> str:
    try:
        key.parse(*keys)
    except BadKey as error:
        return message_of(error)
    return "it is not a row of this set"
