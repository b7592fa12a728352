"""What a pattern provides so that it has the calls of a set: how it reads and writes its entities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from ..entity import Modify, modify, replace_fields
from ..errors import (
    NOT_SHOWN,
    BadInput,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    ReferenceNotFound,
    TooMuchContention,
)
from ..filters import Filter, QueryClass
from ..limits import MAX_PAGE_ENTITIES
from ..recipe import Account
from ..retry import RETRY_FOR, Overtaken, contended
from ..sdk.operation import ANY
from ..sdk.table import Page
from .commit import E, Write
from .derived import Fields, Index

if TYPE_CHECKING:
    from .shared_rows import Lists, Totals

T = TypeVar("T")


class Selection(NamedTuple):
    """The entities that a read returns: one, or those of a range."""

    fields: Fields
    via: Index | None = None
    where: Filter | None = None
    allow: QueryClass = QueryClass.RANGE
    select: Sequence[str] | None = None
    retry_for: float = RETRY_FOR
    """The seconds to keep retrying a read that takes several pages, where they must be consistent."""


class SetHooks(Generic[E]):
    """Reads and writes the entities of a set, once the arguments of a call are checked.

    A pattern must read one entity and a range, create an entity, and change and remove one that it has read. From these
    follow the other writes. What it cannot do raises `BadInput`.
    """

    account: Account

    @abstractmethod
    async def _one(self, selection: Selection) -> E | None:
        """Return the entity with a key, or with a key in an index; None if there is none."""

    @abstractmethod
    def _items(self, selection: Selection, size: int) -> AsyncGenerator[E, None]:
        """Yield the entities of a range, read in pages of up to `size`."""

    @abstractmethod
    async def _create(self, entity: Any, /, retry_for: float) -> E: ...

    @abstractmethod
    async def _change(self, entity: Any, /, changes: Fields | None, retry_for: float) -> E:
        """Write an entity that was read, unless it changed since.

        :param changes: the fields to overwrite; None to write the entity as it is now
        """

    @abstractmethod
    async def _remove(self, entity: Any, /, retry_for: float) -> None:
        """Delete an entity that was read, unless it changed since."""

    @abstractmethod
    def _key_of(self, entity: Any, /) -> Fields:
        """Return the fields that name the stored entity."""

    def _stored_key(self, fields: Fields) -> Fields:
        return fields

    # ------------------------------------------------------------------ reads that a pattern may do better

    async def _current(self, key: Fields, retry_for: float) -> E | None:
        return await self._one(Selection(key, retry_for=retry_for))

    async def _many(self, keys: Iterable[Fields], max_concurrency: int) -> list[E | None]:
        reads = [self._one(Selection(fields)) for fields in keys]
        return await self.account.gather(*reads, max_concurrency=max_concurrency, independent=True)

    async def _page(self, selection: Selection, size: int, token: str | None) -> Page[E]:
        self._reject("page", "a token continues the read of one partition, and this reads several", "use range or take")

    async def _first(self, selection: Selection, count: int) -> list[E]:
        entities: list[E] = []
        if count:
            async with aclosing(self._items(selection, min(count, MAX_PAGE_ENTITIES))) as items:
                async for entity in items:
                    entities.append(entity)
                    if len(entities) == count:
                        break
        return entities

    def _matching(
        self, where: Filter | None, allow: QueryClass, select: Sequence[str] | None
    ) -> AsyncGenerator[E, None]:
        self._reject("query", "it reads by key only", "use get or get_many")

    async def _keys_with(self, via: Lists, fields: Fields) -> list[Fields]:
        self._reject_derived("keys_of")

    async def _listed(self, via: Lists, fields: Fields, max_concurrency: int) -> list[E]:
        self._reject_derived("find_all")

    async def _totals(self, via: Totals, fields: Fields, retry_for: float) -> Fields:
        self._reject_derived("totals")

    # ------------------------------------------------------------------ writes that a pattern may do better

    async def _upsert(self, entity: Any, /, retry_for: float, *, in_part: bool) -> E:
        """Create an entity, or replace the stored one, or its given fields only."""
        key = self._key_of(entity)

        async def write(current: Any) -> E:
            if current is None:
                return await self._create(entity, retry_for)
            if in_part:
                changes = {name: value for name, value in entity.items() if name not in key}
                return await self._change(current, changes, retry_for)
            return await self._change(replace_fields(current, entity), None, retry_for)

        return await self._from_current(key, write, retry_for)

    async def _overwrite(self, entity: Any, /, changes: Fields | None, etag: str, retry_for: float) -> E:
        """Replace the stored entity, or the fields of `changes`, if it has an ETag; `ANY` for any ETag."""

        async def write(current: Any) -> E:
            if changes is None:
                replace_fields(current, entity)
            return await self._change(current, changes, retry_for)

        return await self._on_condition(self._key_of(entity), etag, write, retry_for)

    async def _remove_any(self, entity: Any, /, etag: str, retry_for: float) -> None:
        """Delete the stored entity if it has an ETag; `ANY` for any ETag."""
        remove = partial(self._remove, retry_for=retry_for)
        await self._on_condition(self._key_of(entity), etag, remove, retry_for)

    async def _update(self, change: Modify, key: Fields, retry_for: float) -> E:
        write = partial(self._change, changes=None, retry_for=retry_for)
        return await self._from_current(key, write, retry_for, change)

    async def _rename(self, entity: Any, /, fields: Fields, retry_for: float) -> E:
        self._reject("rename", "its keys do not change", "insert a new entity, and delete the old one")

    # ------------------------------------------------------------------ changes for a transaction

    def _plan_insert(self, entity: Any, /) -> Write[E]:
        self._reject_plan("inserting")

    def _plan_change(self, entity: Any, /, changes: Fields | None) -> Write[E]:
        self._reject_plan("replacing" if changes is None else "merging")

    def _plan_removal(self, entity: Any, /) -> Write[E]:
        self._reject_plan("deleting")

    def _plan_rename(self, entity: Any, /, fields: Fields) -> tuple[Write[E], Write[E]]:
        self._reject_plan("renaming")

    def _reject_plan(self, call: str) -> NoReturn:
        self._reject(call, "its writes are not one transaction of a partition", "write the entities one by one")

    def _reject_derived(self, call: str) -> NoReturn:
        self._reject(call, "nothing is derived from its entities", "use an EntitySet with derived data")

    def _reject(self, call: str, rule: str, hint: str) -> NoReturn:
        raise BadInput(f"{type(self).__name__}.{call}", NOT_SHOWN, rule, hint)

    # ------------------------------------------------------------------ the read before a write

    async def _on_condition(self, key: Fields, etag: str, write: Callable[[Any], Awaitable[T]], retry_for: float) -> T:
        """Read the stored entity, whose old fields a write needs, and write it if it has an ETag."""
        if etag == ANY:
            return await self._from_current(key, lambda current: write(existing(current, key)), retry_for)
        current = existing(await self._current(key, retry_for), key)
        if current.etag != etag:
            raise EntityChanged(f"the entity {current.key} has changed since it had the ETag {etag}; read it again")
        return await write(current)

    async def _from_current(
        self, key: Fields, write: Callable[[Any], Awaitable[T]], retry_for: float, change: Modify | None = None
    ) -> T:
        """Read the entity and write it, and retry if another writer was faster."""

        async def attempt() -> T:
            current: Any = await self._current(key, retry_for)
            if change is not None:
                # Outside the try block, since an error of the caller's function is not a conflict
                modify(existing(current, key), change)
            try:
                return await write(current)
            except (DuplicateIndexValue, ReferenceNotFound, TooMuchContention):
                raise
            except (EntityChanged, EntityAlreadyExists) as error:
                raise Overtaken from error
            except EntityNotFound as error:
                if current is None:
                    raise
                raise Overtaken from error

        return await contended(self.account, attempt, retry_for)


def existing(current: Any, fields: Fields) -> Any:
    if current is None:
        raise EntityNotFound(f"there is no entity {dict(fields)}; insert it, or use insert_or_replace")
    return current
