"""Read entities of several types from one table, each as an instance of its class."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple, cast

from ..argument_types import checked
from ..entity import Entity
from ..entity_set.compatibility import EVERY_ROW
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import adapter_or_none, as_stored, entity_of, mappings_of, primary_layout
from ..entity_set.named_table import names_of
from ..entity_set.range_query import bounding_range, condition, conditional_range, filled_page
from ..errors import BadDesign, BadFilter, UnrecognizedEntity
from ..filters import Filter, QueryClass
from ..key import Key, KeyRange
from ..key.key import fields_of
from ..limits import MAX_KEY_UNITS_LOOSE
from ..recipe import Account, Account_co, Pattern, bound_async, recipe, stream
from ..sdk.table import Page


class _Selection(NamedTuple):
    """The rows that a range of several sets returns."""

    filter: Filter
    ranges: Sequence[KeyRange]
    """The range of each set: the query also reads what is between them."""

    def has(self, row: Entity) -> bool:
        return any(keys.contains(row.partition_key or "", row.row_key or "") for keys in self.ranges)


class EntityTypes(Pattern[Account_co]):
    """Read entities of several types from one table, each as an instance of its class.

    Use it for types that share a partition, such as a department and its employees, so that one transaction can change
    both and one query can read both. Each type has a set with its own keys, which also writes its entities. Types that
    share their keys, such as subclasses, belong in one set with the model `OneOf`.

    >>> from dataclasses import dataclass
    >>> from tablepatterns import EntityGroupTransaction, EntitySet, Key, connect
    >>> @dataclass
    ... class Department:
    ...     department: str
    ...     employees: int = 0
    >>> @dataclass
    ... class Employee:
    ...     department: str
    ...     employee_id: int
    >>> storage = connect()
    >>> departments = EntitySet(storage, "Staff", Key("{department}", "DEPARTMENT"), model=Department)
    >>> key = Key("{department}", "EMPLOYEE_{employee_id:06d}")
    >>> employees = EntitySet(storage, "Staff", key, model=Employee)
    >>> _ = EntityGroupTransaction(storage, "Staff").commit(
    ...     departments.inserting(Department("Sales", 1)), employees.inserting(Employee("Sales", 223))
    ... )
    >>> list(EntityTypes(departments, employees).range(department="Sales"))
    [Department(department='Sales', employees=1), Employee(department='Sales', employee_id=223)]

    Rows of the sets' derived data are left out. What fits no set, or not the model of its set, is returned as an
    `Entity`. The set `others` reads and writes every entity of the table as it is, without its derived data.

    :param sets: the sets, all of one table; the entities of a set without a model are returned as `Entity`
    :param unknown: `"raise"` to raise `UnrecognizedEntity` for what fits no set or model
    :raises BadDesign: the sets are not of one table, or two have the same key

    Guide: working with heterogeneous entity types; inheritance.
    """

    @checked
    def __init__(self, *sets: EntitySet[Account_co, Any], unknown: Literal["raw", "raise"] = "raw") -> None:
        _check_sets(sets)
        self.sets = sets
        self.unknown = unknown
        super().__init__(cast("Account_co", sets[0].account))
        every_row = Key(*EVERY_ROW, max_units=MAX_KEY_UNITS_LOOSE)
        self.others: EntitySet[Account_co] = EntitySet(cast("Account_co", self.account), sets[0].table.name, every_row)

    @recipe
    async def get(self, partition_key: str, row_key: str) -> object | None:
        """Return the entity with these keys, of any type, or None. Cost: 1 transaction, a point query.

        :raises BadKey: a key has a character that keys must not have
        """
        keys = self.others.key.format({"PartitionKey": partition_key, "RowKey": row_key})
        row = await self.others.table.get(*keys)
        return None if row is None else await self._instance(row)

    @stream
    async def range(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        **fields: Any,
    ) -> AsyncIterator[object]:
        """Yield the entities of all types in a partition, in key order.

        Cost: 1 transaction per page of up to 1,000 rows, including rows of derived data, which are skipped.

        :param where: a further condition on stored properties
        :param fields: the fields of the partition, and row fields that the keys of all sets have
        :raises BadFilter: `where` would need a scan, or the sets do not store one of its fields in the same way

        The other parameters and errors are those of `EntitySet.range`.
        """
        selection = self._selection(fields_of(key, fields), where, allow)
        async for row in self.others.table.query(selection.filter):
            if selection.has(row) and (instance := await self._instance(row)) is not None:
                yield instance

    @recipe
    async def page(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        size: int = 1000,
        token: str | None = None,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        **fields: Any,
    ) -> Page[object]:
        """Return one page of a range, and the token of the next page.

        A page has `size` entities, unless the range or the service's page ends earlier. Cost: 1 transaction; if the
        range has rows of derived data, 1 for each further request that fills the page, and 1 to find its exact end.

        `size`, `token` and the errors are those of `EntitySet.page`, the other parameters those of `range`.
        """
        selection = self._selection(fields_of(key, fields), where, allow)

        async def choose(row: Entity) -> object | None:
            return await self._instance(row) if selection.has(row) else None

        table = self.others.table
        return await filled_page(table, selection.filter, size=size, token=token, select=None, choose=choose)

    def _selection(self, fields: Mapping[str, Any], where: Filter | None, allow: QueryClass) -> _Selection:
        ranges: list[KeyRange] = []
        conditions: set[Filter | None] = set()
        for entity_set in self.sets:
            _, key_fields = as_stored(entity_set, None, fields)
            ranges.append(entity_set.key.range(key_fields))
            if where is not None:
                mappings_of(entity_set).check_filter(where)
                own_condition = condition(primary_layout(entity_set), where, key_fields)
                conditions.add(names_of(entity_set.table).filter(own_condition))
        if len(conditions) > 1:
            rule = "the sets do not store its fields in the same way: some of them in their keys, or under other names"
            raise BadFilter("where", str(where), rule, "read each set, or give the field as a keyword")
        keys = bounding_range(ranges)
        if not any(name in entity_set.key.row_fields for entity_set in self.sets for name in fields):
            # An entity that fits no set may be anywhere in the partition
            keys = KeyRange.beginning_with(keys.partition_key, "")
            ranges = [keys]
        own_where = conditions.pop() if conditions else None
        return _Selection(conditional_range(keys, own_where, allow), ranges)

    async def _instance(self, row: Entity) -> object | None:
        """Return the instance of a row, or its entity; None for a row of derived data."""
        keys = (row.partition_key or "", row.row_key or "")
        entity_set = next((entity_set for entity_set in self.sets if entity_set.key.matches(*keys)), None)
        if entity_set is None:
            if any(derived_data.primary_keys_of(key, row) is not None for key, derived_data in self._derived()):
                return None
            if self.unknown == "raise":
                text = f"the entity {keys} fits the key of none of the sets"
                raise UnrecognizedEntity(f"{text}; pass its set too, or update the program", keys)
            return await entity_of(_awaited(self.others), row)
        row = names_of(entity_set.table).row(row)
        entity = await entity_of(_awaited(entity_set.without_model()), row)
        adapter = adapter_or_none(entity_set)
        if entity is None or adapter is None:
            return entity
        try:
            return cast("object", adapter.instance_of(entity))
        except UnrecognizedEntity:
            if self.unknown == "raise":
                raise
            return entity

    def _derived(self) -> Iterator[tuple[Key, Any]]:
        for entity_set in self.sets:
            table = entity_set.table.name
            for derived_data in entity_set.derived:
                if derived_data.table(table).lower() == table.lower():
                    yield entity_set.key, derived_data


def _awaited(entities: EntitySet[Any]) -> EntitySet[Account]:
    return cast("EntitySet[Account]", bound_async(entities))


def _check_sets(sets: tuple[EntitySet[Any, Any], ...]) -> None:
    if not sets:
        raise BadDesign("sets", (), "there are none", "pass the set of each type")
    for one, other in combinations(sets, 2):
        if one.account is not other.account or one.table.name.lower() != other.table.name.lower():
            rule = f"another set is on {one.table.name!r}, and all must be on one table of one account"
            raise BadDesign("sets", other.table.name, rule, "read the sets of other tables by themselves")
        if one.key == other.key:
            rule = "two sets have this key, so their entities cannot be distinguished"
            raise BadDesign("sets", one.key.row_template, rule, "use one set, with model=OneOf(...)")
