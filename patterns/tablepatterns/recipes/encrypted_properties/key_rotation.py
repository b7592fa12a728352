"""Re-encrypt entities under the current key, so that an old key can be retired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from ...argument_types import checked
from ...entity import Entity
from ...entity_set.derived import Keys, keys_of
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import check_not_moved
from ...entity_set.mapping import Fields
from ...entity_set.named_table import names_of
from ...errors import DecryptionFailed, EntityNotFound
from ...jobs.ranges import PageReader, SelectedRows
from ...jobs.walk import Mark, TablePage, Walk, WalkReport, read_pages
from ...jobs.workers import Workers, call_method
from ...limits import MAX_PAGE_ENTITIES
from ...rate_limit import Pool
from ...recipe import Account_co, Pattern, recipe
from ...retry import RETRY_FOR, check_retry_for
from ..stored_entities import StoredEntities, entity_rows, mapping_of
from ..wide_entity.wide_entity import WideEntity
from .encrypted_properties import ENCRYPTED_WITH, EncryptedProperties, Header

PLAIN: Final = ""
"""The key id under which `in_use` counts rows with unencrypted values."""


@dataclass(frozen=True)
class RotationProgress(WalkReport):
    """How many entities were checked, and encrypted again; the token resumes the rotation, and is None at the end."""

    seen: int = 0
    rewritten: int = 0
    token: str | None = None


class KeyRotation(Pattern[Account_co]):
    """Re-encrypt entities under the current key, so that an old key can be retired.

    Use it when a key is old or may have leaked. First deploy the new key in front of the old one to every writer; then
    call `rotate`. Retire the old key once `in_use` no longer counts it.

    >>> from tablepatterns import EntitySet, Key, LocalKey, connect
    >>> old, new = LocalKey.generate("1"), LocalKey.generate("2")
    >>> storage, key = connect(), Key("{Department}", "{Name}")
    >>> before = EntitySet(storage, "Staff", key, mappings=[EncryptedProperties(["Salary"], keys=old)])
    >>> _ = before.insert({"Department": "Sales", "Name": "Jones", "Salary": 90_000})
    >>> staff = EntitySet(storage, "Staff", key, mappings=[EncryptedProperties(["Salary"], keys=[new, old])])
    >>> rotation = KeyRotation(staff)
    >>> rotation.rotate()
    RotationProgress(seen=1, rewritten=1, token=None)
    >>> rotation.in_use()
    {'2': 1}

    Consistency: each entity is written with its derived data on condition of what was read, so no concurrent change is
    lost. Current entities are skipped, so you may repeat an interrupted rotation. Newly declared properties and a new
    key for blind indexes are applied too.

    Cost: 1 storage transaction for 1,000 rows of the table, and 2 for each entity that is rewritten, besides the cost
    of its derived data. Large values go to new blobs. Wide entities take 1 more each, to read their parts.

    :param entity_set: the set or wide entity with an `EncryptedProperties` mapping
    :param max_concurrency: how many entities are written at a time
    :raises BadDesign: there is no such mapping

    Guide: encrypting table data (client side).
    """

    @checked
    def __init__(
        self, entity_set: EntitySet[Account_co, Any] | WideEntity[Account_co, Any], *, max_concurrency: int = 8
    ) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        check_not_moved(entity_set, "KeyRotation")
        self.encrypted = mapping_of(entity_set, EncryptedProperties)
        self.entity_set = entity_set.without_model()
        self.max_concurrency = max_concurrency

    @recipe
    async def rotate(
        self,
        *,
        resume: str | None = None,
        progress: Callable[[RotationProgress], None] | None = None,
        max_per_second: float | None = None,
        retry_for: float = RETRY_FOR,
        workers: int | Workers | None = None,
    ) -> RotationProgress:
        """Read all entities, and re-encrypt those that are not current.

        :param resume: the token of an interrupted rotation
        :param progress: called after each page of the table, with a token that resumes from there
        :param max_per_second: how many entities to rewrite a second, evenly spaced; None for no limit
        :param retry_for: the seconds to keep retrying an entity while others write it
        :param workers: how many ranges of keys to work on at a time, in this process; or `Workers`, whose source
            returns the set
        :raises BadInput: `max_per_second` is not above zero
        :raises DecryptionFailed: an entity cannot be decrypted; those before it are done
        :raises DerivedDataMismatch: a part of a wide entity is missing
        :raises TooMuchContention: another writer was faster during every attempt
        :raises BadToken: the token is not of a rotation of this set
        """
        check_retry_for(retry_for)
        pool, rows = Pool(self.account, max_per_second, self.max_concurrency), self._rows

        async def rewrite(key: Keys) -> bool:
            """Write an entity unchanged; return False if it has been deleted."""
            try:
                # The write itself encrypts again
                await self.entity_set.update(lambda _: None, rows.fields_of(key), retry_for=retry_for)
            except EntityNotFound:
                return False
            return True

        async def rotate_page(page: TablePage) -> RotationProgress:
            stored_rows = await self._stored([row for row in page.rows if rows.is_primary(row)])
            stale = [key for key, stored in stored_rows if not self.encrypted.is_current(stored, key)]
            return RotationProgress(len(stored_rows), sum(await pool.map(rewrite, stale)))

        name, readers = rows.table.name, self._readers([rows.table.name])
        walk = Walk(f"rotate {name.lower()}", readers, rotate_page, RotationProgress())
        rotation = partial(KeyRotation, max_concurrency=self.max_concurrency)
        call = partial(call_method, name="rotate", of=rotation, retry_for=retry_for)
        return await walk.run(pool, resume, progress, workers, call)

    @recipe
    async def in_use(self) -> dict[str, int]:
        """Count the rows by the id of their key, and rows with unencrypted values under `""`.

        Copies of entities, and encrypted rows of other sets in the same tables, are counted too. A wide entity counts
        once. Cost: 1 transaction per 1,000 rows, and 1 for each wide entity.

        :raises DecryptionFailed: a header cannot be read
        :raises DerivedDataMismatch: a part of a wide entity is missing
        """
        counts = Counter[str]()
        async for page, _ in read_pages(self._readers(sorted(self._rows.tables)), Mark("in use"), MAX_PAGE_ENTITIES):
            kids = [self._kid(key, stored) for key, stored in await self._stored(page.rows)]
            counts.update(kid for kid in kids if kid is not None)
        return dict(counts)

    def _readers(self, tables: Iterable[str]) -> list[PageReader]:
        selected = self._rows.selected(self._names())
        own = self._rows.table
        return [SelectedRows(names_of(own).named(self.account.table(name)), select=selected) for name in tables]

    async def _stored(self, page: Sequence[Entity]) -> list[tuple[Keys, Fields]]:
        """Return the encrypted properties and header of each row, or of all parts of each wide entity."""
        rows = self._rows
        if not rows.moves:
            return [(keys_of(row), row) for row in page]
        heads = [keys_of(row) for row in page if rows.is_primary(row)]
        reads = [rows.stored(key, self._names()) for key in heads]
        stored_entities = await self.account.gather(*reads, max_concurrency=self.max_concurrency, independent=True)
        derived_rows = [(keys_of(row), row) for row in page if rows.key_of(row) is None]
        return [
            *derived_rows,
            *((key, stored) for key, stored in zip(heads, stored_entities, strict=True) if stored is not None),
        ]

    def _names(self) -> list[str]:
        return [ENCRYPTED_WITH, *self.encrypted.fields]

    @property
    def _rows(self) -> StoredEntities:
        return entity_rows(self.entity_set)

    def _kid(self, key: Keys, stored: Fields) -> str | None:
        if ENCRYPTED_WITH not in stored:
            return None if self.encrypted.is_current(stored, key) else PLAIN
        try:
            return Header.parse(stored[ENCRYPTED_WITH]).wrapped.kid
        except ValueError as error:
            raise DecryptionFailed(f"{ENCRYPTED_WITH} of the row {key} cannot be read: {error}") from error
