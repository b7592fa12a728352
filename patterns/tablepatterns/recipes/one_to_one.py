"""Relate two entities one to one, by equal keys, or by the keys that each stores of the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..argument_types import checked
from ..entity import Entity
from ..entity_set.commit import commit
from ..entity_set.derived import Keys
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import check_both_sync, check_not_moved, check_read_from, primary_keys, set_identity
from ..errors import BadDesign, BadInput
from ..recipe import Account, Account_co, Pattern, recipe
from ..retry import RETRY_FOR


class OneToOne(Pattern[Account_co]):
    """Find the partner of an entity: by its key (implicit), or by the keys that each stores of the other (explicit).

    Use it to store a large or private part of an entity separately, so that it is read only when needed, or is out of
    reach of a shared access signature.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> staff = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> photos = EntitySet(storage, "Photos", Key("{EmployeeId:06d}", "photo_{Department}"))
    >>> jones = staff.insert({"Department": "Sales", "EmployeeId": 223})
    >>> _ = photos.insert({"Department": "Sales", "EmployeeId": 223, "Photo": b"GIF89a"})
    >>> OneToOne(staff, photos).second_of(jones)["Photo"]
    b'GIF89a'

    Consistency: an explicit link exists as long as both sides name each other. After a crash between the two writes
    there is none, and linking again is safe. If two callers link one entity to different partners, only one succeeds.

    Cost: `second_of` and `first_of` 1 storage transaction; `link` and `unlink` 2, or 1 if both are in one partition of
    one table.

    :param first: the first set
    :param second: the second set
    :param links: the two properties that hold the partner's keys; None for partners with equal keys
    :raises BadDesign: the keys are not made of the same fields, or the links are not two properties outside of them

    Guide: one-to-one relationships.
    """

    @checked
    def __init__(
        self,
        first: EntitySet[Account_co, Any],
        second: EntitySet[Account_co, Any],
        *,
        links: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(cast("Account_co", first.account))
        for entity_set in (first, second):
            check_not_moved(entity_set, "OneToOne")
        check_both_sync("second", first.account, second.account)
        self.first: EntitySet[Account] = first.without_model()
        self.second: EntitySet[Account] = second.without_model()
        self.links = links
        if links is None and set(first.key.fields) != set(second.key.fields):
            rule = f"it does not have the same fields as {first.key}"
            raise BadDesign("second", second.key, rule, "use the same fields in both keys, or give links")
        if links is not None and (links[0] == links[1] or {*links}.intersection(first.key.fields, second.key.fields)):
            rule = f"these are two properties outside of the keys {first.key} and {second.key}"
            raise BadDesign("links", links, rule, "name two other properties")

    @recipe
    async def second_of(self, first: Mapping[str, Any]) -> Entity | None:
        """Return the partner, in the second set, of an entity of the first, or None. Cost: 1 transaction."""
        check_read_from(self.first, first)
        return await self._partner(self.first, self.second, first)

    @recipe
    async def first_of(self, second: Mapping[str, Any]) -> Entity | None:
        """Return the partner, in the first set, of an entity of the second, or None. Cost: 1 transaction."""
        check_read_from(self.second, second)
        return await self._partner(self.second, self.first, second)

    @recipe
    async def link(self, first: Entity, second: Entity, *, retry_for: float = RETRY_FOR) -> None:
        """Link two entities; both get their new ETags. Cost: 2 transactions; 1 in one partition of one table.

        :param first: as it was read from the first set
        :param second: as it was read from the second set
        :param retry_for: as for `EntitySet.replace`
        :raises BadInput: one of them has another partner, or was not read completely; or partners have equal keys
        :raises EntityChanged: one of them changed since it was read; there is no new link
        """
        names, keys = self._names_and_keys(first, second)
        for entity, partner in zip((first, second), reversed(keys), strict=True):
            partner_key = tuple(entity.get(name) for name in names)
            if partner_key not in ((None, None), partner):
                raise BadInput("entity", entity.key, f"it has another partner, {partner_key}", "unlink those two first")
        for entity, partner in zip((first, second), reversed(keys), strict=True):
            entity.update(zip(names, partner, strict=True))
        await self._write(first, second, retry_for)

    @recipe
    async def unlink(self, first: Entity, second: Entity, *, retry_for: float = RETRY_FOR) -> None:
        """End a link; both get their new ETags. Cost: 2 transactions; 1 in one partition of one table.

        If the link was not completed, the side that was written is cleared; a side that names another partner is left.

        :param retry_for: as for `EntitySet.replace`
        :raises BadInput: neither names the other
        :raises EntityChanged: one of them changed since it was read; if that is the second, the link has ended
        """
        names, keys = self._names_and_keys(first, second)
        sides = [(self.first, first, keys[1]), (self.second, second, keys[0])]
        linked_sides = [(owner, entity) for owner, entity, key in sides if tuple(map(entity.get, names)) == key]
        if not linked_sides:
            raise BadInput("entity", keys[0], f"it is not linked to {keys[1]}", "read both again")
        for _, entity in linked_sides:
            entity.update(dict.fromkeys(names))
        if len(linked_sides) == 1:
            ((owner, entity),) = linked_sides
            await owner.replace(entity, retry_for=retry_for)
        else:
            await self._write(first, second, retry_for)

    async def _write(self, first: Entity, second: Entity, retry_for: float) -> None:
        tables = {set_identity(entity_set)[:2] for entity_set in (self.first, self.second)}
        if len(tables) == 1 and primary_keys(self.first, first)[0] == primary_keys(self.second, second)[0]:
            writes = self.first.replacing(first), self.second.replacing(second)
            await commit(self.account, self.first.table, *writes, retry_for=retry_for)
            return
        await self.first.replace(first, retry_for=retry_for)
        await self.second.replace(second, retry_for=retry_for)

    async def _partner(
        self, own_set: EntitySet[Account], partners: EntitySet[Account], entity: Mapping[str, Any]
    ) -> Entity | None:
        if self.links is None:
            return await partners.get({name: entity.get(name) for name in partners.key.fields})
        partition_key, row_key = (entity.get(name) for name in self.links)
        # A value that another program stored there is not a link
        if not isinstance(partition_key, str) or not isinstance(row_key, str):
            return None
        if not partners.key.matches(partition_key, row_key):
            return None
        partner = await partners.get(**partners.key.parse(partition_key, row_key))
        if partner is None:
            return None
        back = tuple(partner.get(name) for name in self.links)
        return partner if back == primary_keys(own_set, entity) else None

    def _names_and_keys(self, first: Entity, second: Entity) -> tuple[tuple[str, str], tuple[Keys, Keys]]:
        check_read_from(self.first, first)
        check_read_from(self.second, second)
        if self.links is None:
            rule = "these sets are linked by equal keys"
            raise BadInput("links", None, rule, "insert both entities; there is nothing to link")
        return self.links, (primary_keys(self.first, first), primary_keys(self.second, second))
