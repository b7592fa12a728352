"""One to one: the partner of an entity, by a convention of the keys, or by the keys that each holds of the other.

Status: ready
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..argument_types import checked
from ..entity import Entity
from ..entity_set.commit import commit
from ..entity_set.derived import Keys
from ..entity_set.entity_set import EntitySet
from ..errors import BadDesign, BadInput
from ..recipe import Account, Account_co, Pattern, recipe
from ..retry import RETRY_FOR


class OneToOne(Pattern[Account_co]):
    """Find the partner of an entity: by its key (implicit), or by the keys that each holds of the other (explicit).

    Goal: the large or the private part of an employee as an entity of its own, which is read only when needed, or which
    a shared access signature of the other does not reach.

    Keys: implicit, the keys of both are made of the same fields. Explicit, any: each entity holds the PartitionKey and
    the RowKey of the other, in the properties `links`.

    Guarantees: a partner is found with one point query. An explicit link holds once both sides say so, and ends as soon
    as one does not: who dies between the two writes leaves no link, and linking again does no harm. Both writes are on
    condition of the ETags of what was read, so of two that link one entity to different ones only one succeeds.

    Does not: keep a partner from being deleted. Forget what was begun: an entity whose link was not finished names a
    partner that does not name it; `second_of` and `first_of` give none, and `unlink` clears it.

    Cost: `second_of` and `first_of` 1 storage transaction; `link` and `unlink` 2, or 1 where both are in one partition
    of one table.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> staff = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> photos = EntitySet(storage, "Photos", Key("{EmployeeId:06d}", "photo_{Department}"))
    >>> jones = staff.insert({"Department": "Sales", "EmployeeId": 223})
    >>> _ = photos.insert({"Department": "Sales", "EmployeeId": 223, "Photo": b"GIF89a"})
    >>> OneToOne(staff, photos).second_of(jones)["Photo"]
    b'GIF89a'
    >>> cars = EntitySet(storage, "Cars", Key("{Maker}", "{Number}"))
    >>> drives = OneToOne(staff, cars, links=("PartnerPartitionKey", "PartnerRowKey"))
    >>> drives.link(jones, cars.insert({"Maker": "Fiat", "Number": "B-XY 1"}))
    >>> drives.second_of(jones)["Number"]
    'B-XY 1'

    :param first: the one set
    :param second: the other set
    :param links: the two properties that hold the keys of the partner; None where the key tells it
    :raises BadDesign: implicit, and the keys are not made of the same fields

    Guide: one-to-one relationships.
    """

    @checked
    def __init__(
        self,
        first: EntitySet[Account_co],
        second: EntitySet[Account_co],
        *,
        links: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(cast("Account_co", first.account))
        self.first: EntitySet[Account] = first
        self.second: EntitySet[Account] = second
        self.links = links
        if links is None and set(first.key.fields) != set(second.key.fields):
            rule = f"the key of a partner would not be known from {first.key}"
            raise BadDesign("second", second.key, rule, "make both keys of the same fields, or give links")

    @recipe
    async def second_of(self, first: Mapping[str, Any]) -> Entity | None:
        """Return the partner in the second set of an entity of the first, or None. Cost: 1 transaction."""
        self.first.identity.check(first)
        return await self._partner(self.first, self.second, first)

    @recipe
    async def first_of(self, second: Mapping[str, Any]) -> Entity | None:
        """Return the partner in the first set of an entity of the second, or None. Cost: 1 transaction."""
        self.second.identity.check(second)
        return await self._partner(self.second, self.first, second)

    @recipe
    async def link(self, first: Entity, second: Entity, *, retry_for: float = RETRY_FOR) -> None:
        """Make two entities each other's partners; both get their new ETags.

        Cost: 2 transactions; 1 in one partition of one table.

        :param first: as it was read from the first set
        :param second: as it was read from the second set
        :param retry_for: as for `EntitySet.replace`
        :raises BadInput: one of them has another partner, or was not read whole; or the key tells the partner
        :raises EntityChanged: one of them changed since it was read; there is no new link
        """
        self._check(first, second)
        names = self._names()
        keys = _keys_of(self.first, first), _keys_of(self.second, second)
        for entity, partner in zip((first, second), reversed(keys), strict=True):
            held = tuple(entity.get(name) for name in names)
            if held not in ((None, None), partner):
                rule = f"it has the partner {held}, or was to have it"
                raise BadInput("entity", entity.key, rule, "unlink the two first")
        for entity, partner in zip((first, second), reversed(keys), strict=True):
            entity.update(zip(names, partner, strict=True))
        await self._write(first, second, retry_for)

    @recipe
    async def unlink(self, first: Entity, second: Entity, *, retry_for: float = RETRY_FOR) -> None:
        """End a link; both get their new ETags. Cost: 2 transactions; 1 in one partition of one table.

        Of a link that was begun and not finished it clears the side that was written: one that names another is left.

        :param retry_for: as for `EntitySet.replace`
        :raises BadInput: neither names the other
        :raises EntityChanged: one of them changed since it was read; if that is the second, the link has ended
        """
        self._check(first, second)
        names = self._names()
        keys = _keys_of(self.first, first), _keys_of(self.second, second)
        sides = [(self.first, first, keys[1]), (self.second, second, keys[0])]
        linked = [(owner, each) for owner, each, other in sides if tuple(map(each.get, names)) == other]
        if not linked:
            raise BadInput("entity", keys[0], f"it is not linked to {keys[1]}", "read both anew")
        for _, entity in linked:
            entity.update(dict.fromkeys(names))
        if len(linked) == 1:
            ((owner, entity),) = linked
            await owner.replace(entity, retry_for=retry_for)
        else:
            await self._write(first, second, retry_for)

    def _check(self, first: Entity, second: Entity) -> None:
        self.first.identity.check(first)
        self.second.identity.check(second)

    async def _write(self, first: Entity, second: Entity, retry_for: float) -> None:
        same_table = self.first.table.name.lower() == self.second.table.name.lower()
        if same_table and _keys_of(self.first, first)[0] == _keys_of(self.second, second)[0]:
            writes = self.first.replacing(first), self.second.replacing(second)
            await commit(self.account, self.first.table, *writes, retry_for=retry_for)
            return
        await self.first.replace(first, retry_for=retry_for)
        await self.second.replace(second, retry_for=retry_for)

    async def _partner(
        self, own: EntitySet[Account], others: EntitySet[Account], entity: Mapping[str, Any]
    ) -> Entity | None:
        if self.links is None:
            return await others.get({name: entity.get(name) for name in others.key.fields})
        partition_key, row_key = (entity.get(name) for name in self.links)
        # What another program keeps there is no link
        if not isinstance(partition_key, str) or not isinstance(row_key, str):
            return None
        if not others.key.matches(partition_key, row_key):
            return None
        found = await others.get(**others.key.parse(partition_key, row_key))
        if found is None:
            return None
        back = tuple(found.get(name) for name in self.links)
        return found if back == _keys_of(own, entity) else None

    def _names(self) -> tuple[str, str]:
        if self.links is None:
            rule = "the key of an entity tells its partner's"
            raise BadInput("links", None, rule, "insert both; there is nothing to link")
        return self.links


def _keys_of(owner: EntitySet[Account], entity: Mapping[str, Any]) -> Keys:
    return owner.key.format(owner.primary.key_fields(entity))
