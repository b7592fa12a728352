"""How the two tables of a move differ, and how entities of one become the copy of those of the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from ...entity import Entity, replace_fields, same_value
from ...entity_set.derived import Index, Keys, has_fields, keys_of
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import entity_of, primary_keys
from ...errors import (
    NOT_SHOWN,
    BadInput,
    BadMessage,
    BadProperty,
    BadToken,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    message_of,
)
from ...jobs.walk import Mark, WalkReport
from ...messages.lease import Lease
from ...recipe import Account
from ...retry import Overtaken, contended, overtaken_by
from .fence import fenced_table, under_lease


class Mismatch(Enum):
    """How an entity and its copy differ."""

    MISSING = "missing"
    """The entity has no copy."""
    STALE = "stale"
    """The copy differs from the entity."""
    ORPHANED = "orphaned"
    """The copy belongs to no entity."""
    SAME_KEY = "same key"
    """Another entity has the same key in the other table."""
    NO_KEY = "no key"
    """The other table cannot store the entity, because a field of its key is missing or invalid."""
    REJECTED = "rejected"
    """The other set rejects the copy, such as by a unique index."""


@dataclass(frozen=True)
class Difference:
    """An entity of the primary table that the other table does not show as it is.

    :param entity: the keys of the entity in the primary table; None if a copy does not have the fields of these keys
    :param copy: the keys in the other table; None if they cannot be made of the entity
    :param other: the keys of the other entity that has the same key in the other table, if there is one
    :param reason: why the copy cannot be stored
    """

    mismatch: Mismatch
    entity: Keys | None
    copy: Keys | None = None
    other: Keys | None = None
    reason: str = ""

    @property
    def is_repairable(self) -> bool:
        """Whether `repair` can correct it; if not, the entity itself must change."""
        is_copied = self.mismatch in (Mismatch.MISSING, Mismatch.STALE, Mismatch.ORPHANED)
        return is_copied and self.entity is not None and self.copy is not None


@dataclass(frozen=True)
class RekeyReport(WalkReport):
    """The progress and the result of one call, without earlier calls.

    :param entities: how many entities of the primary table were read
    :param copies: how many rows of the other table were written, or by `verify` checked for orphans
    :param differences: what is different, and for `copy` what could not be copied
    :param token: the token to `resume` from here, also in another process; None at the end
    """

    entities: int = 0
    copies: int = 0
    differences: tuple[Difference, ...] = ()
    token: str | None = None

    @property
    def is_clean(self) -> bool:
        """Whether no difference was found."""
        return not self.differences

    @property
    def repairable(self) -> list[Difference]:
        """The differences that `repair` can correct."""
        return [difference for difference in self.differences if difference.is_repairable]

    def of(self, mismatch: Mismatch) -> list[Difference]:
        """Return the differences of one kind."""
        return [difference for difference in self.differences if difference.mismatch is mismatch]


RekeyProgress: TypeAlias = Callable[[RekeyReport], None]
"""Called after each page with a report of what was done so far."""


@dataclass(frozen=True)
class Verification:
    """A run of `verify`, which may be resumed; `is_clean` if earlier calls found no difference."""

    id: str
    mark: Mark
    is_clean: bool = True

    def token(self, mark: Mark, report: RekeyReport) -> str:
        return f"{self.id}-{int(self.is_clean and report.is_clean)}-{mark.text()}"

    @classmethod
    def parse(cls, token: str, kind: str) -> Verification:
        run_id, _, remainder = token.partition("-")
        clean, _, mark = remainder.partition("-")
        if clean not in ("0", "1"):
            raise BadToken("resume", token, "it is not a token of verify", "begin without one")
        return cls(run_id, Mark.parse(mark, f"verify {kind}"), clean == "1")


_ATTEMPTS: Final = 3
"""How often an entity that changes is compared again: its writers update its copy."""


@dataclass(frozen=True)
class Claim:
    """The rows that the change of one entity may make stale, by their keys in both tables."""

    old: tuple[Keys, ...] = ()
    new: tuple[Keys, ...] = ()

    def plain(self) -> dict[str, Any]:
        return {"old": [list(keys) for keys in self.old], "new": [list(keys) for keys in self.new]}

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> list[Claim]:
        try:
            return [cls(_all_keys(claim["old"]), _all_keys(claim["new"])) for claim in body["entities"]]
        except (KeyError, TypeError, ValueError) as error:
            rule = 'it has "entities" with their keys in the "old" and the "new" table'
            hint = "process it with the version of the library that sent it"
            raise BadMessage("rekey", NOT_SHOWN, rule, hint) from error


def _all_keys(rows: Iterable[Sequence[object]]) -> tuple[Keys, ...]:
    return tuple((str(partition_key), str(row_key)) for partition_key, row_key in rows)


def keys_or_none(entity_set: EntitySet[Any], fields: Mapping[str, Any]) -> Keys | None:
    """Return the keys of an entity in a set; None if a field of the key is missing or invalid."""
    with suppress(BadInput):
        return primary_keys(entity_set, fields)
    return None


@dataclass(frozen=True)
class Mirror:
    """Copies the entities of one set to another; `source` is that of the primary table, without its model."""

    source: EntitySet[Account]
    target: EntitySet[Account]
    is_new_primary: bool
    """Whether the source is the new table."""

    def sources(self, claim: Claim) -> tuple[Keys, ...]:
        return claim.new if self.is_new_primary else claim.old

    def targets(self, claim: Claim) -> tuple[Keys, ...]:
        return claim.old if self.is_new_primary else claim.new

    def claim(self, source: Keys | None, target: Keys | None) -> Claim:
        sources, targets = ((keys,) if keys else () for keys in (source, target))
        return Claim(targets, sources) if self.is_new_primary else Claim(sources, targets)

    async def fence(self, claim: Claim, retry_for: float) -> None:
        """Make every earlier request for the rows that a claim names fail, also if it arrives later.

        Call it before a message of another process is processed: that process may stall with a request for these rows,
        and nothing else would correct what such a request writes after the message is deleted. Cost: 2 transactions for
        each row.
        """

        async def attempt() -> None:
            places = dict.fromkeys(self.targets(claim))
            for keys in self.sources(claim):
                entity = await get_row(self.source, keys)
                place = None if entity is None else self.place(keys, entity)
                if place is not None and not isinstance(place, Difference):
                    places[place] = None
            for entity_set, rows in ((self.source, self.sources(claim)), (self.target, places)):
                table = fenced_table(entity_set)
                for keys in rows if table.is_fenced() else ():
                    await table.bump(keys)

        await contended(self.source.account, attempt, retry_for)

    async def settle(
        self,
        lease: Lease,
        claim: Claim,
        retry_for: float,
        known_entities: Mapping[Keys, Entity | None] | None = None,
        absent: Iterable[Keys] = (),
    ) -> list[Difference]:
        """Update the copies that a claim names, until their entities have not changed during the update.

        The process must have the message that names the claim: as long as the message exists, the phase in which this
        set is the primary one does not end.

        :param known_entities: entities just written, by their keys, None for a deleted one; these are not read first
        :param absent: the keys of copies that most likely do not exist; these are not read first
        :return: the entities that cannot be copied
        """
        entities_by_key: dict[Keys, Entity | None] = dict(known_entities or {})
        expected_absent = set(absent)

        async def attempt() -> list[Difference]:
            entities = {
                keys: entities_by_key.pop(keys) if keys in entities_by_key else await get_row(self.source, keys)
                for keys in self.sources(claim)
            }
            problems = await self._settled(lease, claim, entities, expected_absent)
            for keys, entity in entities.items():
                entities_by_key[keys] = now = await get_row(self.source, keys)
                if (now and now.etag) != (entity and entity.etag):
                    raise Overtaken
            return problems

        return await contended(self.source.account, attempt, retry_for)

    async def _settled(
        self, lease: Lease, claim: Claim, entities: Mapping[Keys, Entity | None], absent: set[Keys]
    ) -> list[Difference]:
        problems: list[Difference] = []
        copies: dict[Keys, tuple[Keys, Entity]] = {}
        for keys, entity in entities.items():
            if entity is None:
                continue
            copy_key = self.place(keys, entity)
            if isinstance(copy_key, Difference):
                problems.append(copy_key)
            elif copy_key in copies:
                problems.append(Difference(Mismatch.SAME_KEY, keys, copy_key, copies[copy_key][0]))
            else:
                copies[copy_key] = keys, entity
        # First the copies that are needed, so that an entity with a new key always has one
        duplicates: list[Keys] = []
        for place, (keys, entity) in copies.items():
            problem = await self._put(lease, place, keys, entity, is_absent=place in absent)
            if isinstance(problem, DuplicateIndexValue):
                duplicates.append(place)
            else:
                problems += [problem] if problem else []
        for place in self.targets(claim):
            if place not in copies:
                await self._remove(lease, place, entities.keys())
        for place in duplicates:
            # The copy that has the unique value may have been the entity's own, under its key before the change
            keys, entity = copies[place]
            problem = await self._put(lease, place, keys, entity, is_absent=False)
            if isinstance(problem, DuplicateIndexValue):
                if not await self._is_duplicate(place, keys, entity):
                    raise Overtaken from problem
                problem = Difference(Mismatch.REJECTED, keys, place, reason=message_of(problem))
            problems += [problem] if problem else []
        return problems

    async def _is_duplicate(self, place: Keys, keys: Keys, entity: Entity) -> bool:
        """Whether another entity has the value of a unique index, and not only a copy that is about to be updated."""
        for index in self.target.derived:
            if not isinstance(index, Index) or not has_fields(index.key, entity):
                continue
            value = {name: entity[name] for name in index.key.fields}
            copy_row = await self.target.find(index, value)
            owner = None if copy_row is None else self.owner(copy_row)
            if copy_row is None or owner == keys or copy_row.key == place:
                continue
            holder = None if owner is None else await get_row(self.source, owner)
            if owner is None or (holder is not None and all(holder.get(name) == value[name] for name in value)):
                return True
        return False

    def place(self, keys: Keys, entity: Entity) -> Keys | Difference:
        """Return the keys of an entity's copy, or why it can have none."""
        try:
            return primary_keys(self.target, entity)
        except BadInput as error:
            return Difference(Mismatch.NO_KEY, keys, reason=message_of(error))

    async def _put(
        self, lease: Lease, place: Keys, keys: Keys, entity: Entity, *, is_absent: bool
    ) -> Difference | DuplicateIndexValue | None:
        """Make the row at a place the copy of an entity; return what prevents it."""
        copy_row = None if is_absent else await get_row(self.target, place)
        difference = await self._difference(copy_row, place, keys, entity)
        if difference is None or difference.mismatch is Mismatch.SAME_KEY:
            return difference
        await lease.renew_if_due()
        try:
            if copy_row is None:
                await under_lease(self.target, lease).insert(dict(entity))
            else:
                await self.target.replace(replace_fields(copy_row, entity))
        except DuplicateIndexValue as error:
            return error
        except EntityAlreadyExists as error:
            if is_absent:
                return await self._put(lease, place, keys, entity, is_absent=False)
            raise Overtaken from error
        except (EntityChanged, EntityNotFound) as error:
            raise Overtaken from error
        except BadInput as error:
            return Difference(Mismatch.REJECTED, keys, place, reason=message_of(error))
        return None

    async def _remove(self, lease: Lease, place: Keys, owners: Collection[Keys | None]) -> None:
        """Delete the row at a place, if it is the copy of one of these entities, which have none there."""
        copy_row = await get_row(self.target, place)
        if copy_row is None or self.owner(copy_row) not in owners:
            return
        await lease.renew_if_due()
        with overtaken_by(EntityChanged, EntityNotFound):
            await self.target.delete(copy_row)

    def owner(self, copy_row: Entity) -> Keys | None:
        """Return the keys of the entity that a row is the copy of; None if the row does not have their fields."""
        return keys_or_none(self.source, copy_row)

    async def _has(self, owner: Keys, place: Keys) -> bool:
        entity = await get_row(self.source, owner)
        return entity is not None and self.place(owner, entity) == place

    async def entity_difference(self, row: Entity) -> Difference | None:
        """Compare a row of the primary table with its copy. Cost: 1 transaction; 3 more for a difference."""
        keys, entity = keys_of(row), await entity_of(self.source, row)
        if entity is None or await self._compared(keys, entity) is None:
            return None
        before = await get_row(self.source, keys)
        for _ in range(_ATTEMPTS):
            difference = None if before is None else await self._compared(keys, before)
            after = await get_row(self.source, keys)
            if difference is None or (after and after.etag) == (before and before.etag):
                return difference
            before = after
        return None

    async def _compared(self, keys: Keys, entity: Entity) -> Difference | None:
        place = self.place(keys, entity)
        if isinstance(place, Difference):
            return place
        return await self._difference(await get_row(self.target, place), place, keys, entity)

    async def _difference(self, copy_row: Entity | None, place: Keys, keys: Keys, entity: Entity) -> Difference | None:
        if copy_row is None:
            return Difference(Mismatch.MISSING, keys, place)
        if same(copy_row, entity):
            return None
        owner = self.owner(copy_row)
        if owner != keys and (owner is None or await self._has(owner, place)):
            return Difference(Mismatch.SAME_KEY, keys, place, owner)
        return Difference(Mismatch.STALE, keys, place)

    async def copy_difference(self, row: Entity) -> Difference | None:
        """Return the difference of a copy that belongs to no entity. Cost: 1 transaction; 3 more for an orphan."""
        place, copy_row = keys_of(row), await entity_of(self.target, row)
        if copy_row is None:
            return None
        owner = self.owner(copy_row)
        if owner is not None and await self._has(owner, place):
            return None
        now = await get_row(self.target, place)
        if now is None:
            return None
        owner = self.owner(now)
        if owner is None:
            return Difference(Mismatch.ORPHANED, None, place, reason="it lacks a field of the other key")
        return None if await self._has(owner, place) else Difference(Mismatch.ORPHANED, owner, place)


def same(fields: Mapping[str, Any], other_fields: Mapping[str, Any]) -> bool:
    """Whether two entities have the same fields, as their sets return them."""
    try:
        return same_value(fields, other_fields)
    except BadProperty:
        # A mapping may return values that no property could have
        return dict(fields) == dict(other_fields)


async def get_row(entity_set: EntitySet[Account], keys: Keys) -> Entity | None:
    """Return the entity with these keys, or None. Cost: 1 transaction."""
    return await entity_set.get(entity_set.key.parse(*keys))
