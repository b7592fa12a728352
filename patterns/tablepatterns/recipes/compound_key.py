"""Store related entities under their parent's key, so that one query finds a parent's children."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ..argument_types import checked
from ..entity import Entity
from ..entity_set.commit import E
from ..entity_set.derived import Derived, RowLayout
from ..entity_set.entity_set import EntitySet
from ..entity_set.mapping import PropertyMapping
from ..entity_set.named_table import as_stored
from ..entity_set.range_query import range_filter
from ..key import Key
from ..key.key import fields_of
from ..models.options import OneOf, OnUnrecognized, Upgrade
from ..recipe import Account_co, recipe, stream


class ChildSet(EntitySet[Account_co, E]):
    """Keep an entity's related entities in its partition, with RowKeys that begin with its own.

    Use it for children that are read by parent, such as an employee's reviews by year: one review is a point query, all
    of them are one range query, and an employee and a review can change in one transaction.

    >>> from tablepatterns import ChildSet, EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> reviews = ChildSet(storage, "Employees", employees.key, "_{Year:04d}")
    >>> for year in (2012, 2013):
    ...     _ = reviews.insert({"Department": "Sales", "EmployeeId": 123, "Year": year, "ManagerRating": 4})
    >>> reviews.get(Department="Sales", EmployeeId=123, Year=2012).row_key
    'empid_000123_2012'
    >>> [review["Year"] for review in reviews.children(Department="Sales", EmployeeId=123)]
    [2012, 2013]

    The child's RowKey is the parent's, whose last field has a fixed width, a separator, and the child's own fields, by
    which children are sorted. Inserting a child does not check that its parent exists.

    Cost: that of the `EntitySet` methods; `children` is 1 storage transaction per page of up to 1,000, and `family`
    reads a parent with all its children at the same cost.

    :param table: the name of the parents' table
    :param parent: the key of the parents
    :param child: the template of what follows the parent's RowKey: a separator and the child's own fields
    :param derived: what to derive from each child
    :param model: the class of the children, as for `EntitySet`; `family` returns the parent as an entity
    :raises BadDesign: the parent's RowKey does not end with a field of fixed width, or the parts cannot be combined

    The other parameters are those of `EntitySet`. Guide: compound key pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table: str,
        parent: Key,
        child: str,
        *,
        derived: Iterable[Derived] = (),
        mappings: Iterable[PropertyMapping] = (),
        model: type[E] | OneOf[E] | None = None,
        versions: Iterable[tuple[int, Upgrade]] = (),
        on_unrecognized: OnUnrecognized = "raise",
    ) -> None:
        super().__init__(
            account,
            table,
            parent.extended(child),
            derived=derived,
            mappings=mappings,
            model=model,
            versions=versions,
            on_unrecognized=on_unrecognized,
        )
        self.parent = parent

    _pattern: ClassVar[str] = "compound_key"

    @stream
    def children(
        self, key: Mapping[str, Any] | None = None, /, *, select: Sequence[str] | None = None, **parent: Any
    ) -> AsyncIterator[E]:
        """Yield the children of one parent, in the order of their own key fields.

        On the Cosmos DB Table API the order is undefined. Cost: 1 transaction per page of up to 1,000.

        :param parent: a value for every field of the parent's key
        :raises BadKey: a field of the parent's key is missing, or its value cannot be part of a key

        The other parameters are those of `range`.
        """
        key_fields = fields_of(key, parent)
        self.parent.format((self._layer or self)._stored_key(key_fields))
        return self.range(key_fields, select=select)

    @recipe
    async def family(self, key: Mapping[str, Any] | None = None, /, **parent: Any) -> tuple[Entity | None, list[E]]:
        """Return a parent and its children, read together; the parent is None if it does not exist.

        The parent is read-only here: to change it, read it from its own set. On the Cosmos DB Table API the order of
        the children is undefined. Cost: 1 transaction per page of up to 1,000 rows.

        The parameters and errors are those of `children`.
        """
        parent_entity: Entity | None = None
        children: list[E] = []
        parents = RowLayout(self.parent)
        key_fields = (self._layer or self)._stored_key(fields_of(key, parent))
        async for row in self.table.query(range_filter(self.parent.family(key_fields))):
            if parents.fits(row):
                parent_entity = parents.entity(as_stored(self.table, row))
            elif (child := self._primary.decode_copy(row)) is not None:
                entity = await self._read(child, self._primary)
                instance = entity if self._layer is None else self._layer.adapter.recognized_instance(entity)
                if instance is not None:
                    children.append(instance)
        return parent_entity, children
