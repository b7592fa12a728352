"""Store the fields of a model under other names: the rest of a set knows them by the names of the fields."""

# A table with names of its own is made of another one
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..entity import Entity
from ..errors import BadDesign, LimitExceeded
from ..filters import And, Comparison, Filter, Not
from ..filters.expression import Junction, Or
from ..limits import MAX_ENTITY_BYTES
from ..sdk.operation import Operation
from ..sdk.table import Page, Table
from .derived import Derived


class StoredNames:
    """The names of fields, and of the properties that store them; other properties keep their names.

    >>> names = StoredNames({"email": "Email"})
    >>> names.renamed({"email": "a", "Age": 1}), names.stored("email")
    ({'Email': 'a', 'Age': 1}, 'Email')

    :param names: the stored name of each field that is stored under another name
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._stored = dict(names)
        for name in names:
            # A stored property with the name of a field that is stored elsewhere is not that field
            if name not in names.values():
                self._stored[f"{name}__stored"] = name
        self._fields = {stored: name for name, stored in self._stored.items()}
        self._growth = 2 * sum(max(0, len(stored) - len(name)) for name, stored in self._stored.items())

    def stored(self, name: str) -> str:
        """Return the name of the property of a field."""
        return self._stored.get(name, name)

    def check_shared(self, derived: Iterable[Derived]) -> None:
        """Reject names of properties that another set reads or writes too, by names of its own.

        :raises BadDesign: a field is stored under another name
        """
        for each in derived:
            for name in sorted(each._shared_names):
                if name in self._stored or name in self._fields:
                    rule = "another set reads or writes the property too, and does not know the names of this model"
                    raise BadDesign(f"derived {each.name}", name, rule, "store the field under its own name")

    def renamed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return fields as properties."""
        return {self._stored.get(name, name): value for name, value in fields.items()}

    def operation(self, given: Operation) -> Operation:
        """Return a write of fields as one of properties.

        :raises LimitExceeded: with the stored names, the row is too large
        """
        becomes = None if given.becomes is None else self.renamed(given.becomes)
        found = replace(given, entity=self.renamed(given.entity), becomes=becomes, measured_size=None)
        if given.size + self._growth > MAX_ENTITY_BYTES and found.size > MAX_ENTITY_BYTES:
            rule = f"an entity has at most {MAX_ENTITY_BYTES} (1 MiB)"
            raise LimitExceeded("size of the entity in bytes", found.size, rule, "keep large values in blobs")
        return found

    def row(self, row: Entity) -> Entity:
        """Turn a row of properties into one of fields, and return it."""
        properties = dict(row)
        row.clear()
        row.update({self._fields.get(name, name): value for name, value in properties.items()})
        return row

    def filter(self, where: Filter | None) -> Filter | None:
        """Return a filter of fields as one of properties."""
        match where:
            case Comparison():
                return replace(where, name=self.stored(where.name))
            case Not(term=term):
                found = self.filter(term)
                return where if found is None else Not(found)
            case Junction(terms=terms):
                each = [found for term in terms if (found := self.filter(term)) is not None]
                return (And if isinstance(where, And) else Or)(*each)
            case _:
                return where

    def names(self, select: Sequence[str] | None) -> Sequence[str] | None:
        """Return the properties to read for some fields."""
        return None if select is None else [self.stored(name) for name in select]


def named_like(table: Table, other: Table) -> Table:
    """Return another table with the names that a table has, if it has some."""
    return NamedTable(other, table._names) if isinstance(table, NamedTable) else other


def as_stored(table: Table, row: Entity) -> Entity:
    """Return a row of a table that is of another set, with the names of its properties."""
    if isinstance(table, NamedTable):
        properties = table._names.renamed(row)
        row.clear()
        row.update(properties)
    return row


def check_unnamed(table: Table, what: str) -> None:
    """Reject a set with stored names where another pattern replaces its table.

    :raises BadDesign: the fields of its model have stored names
    """
    if isinstance(table, NamedTable):
        rule = f"{what} cannot rename the fields of a model"
        raise BadDesign("factory", table.name, rule, "use the names of the fields, without Stored")


class NamedTable(Table):
    """A table whose rows are read and written by the names of fields."""

    def __init__(self, table: Table, names: StoredNames) -> None:
        super().__init__(table._client, table._hook, table._batches)
        self._names = names

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        """Read one entity by its keys, or None. Cost: 1 transaction, a point query."""
        row = await super().get(partition_key, row_key, self._names.names(select))
        return None if row is None else self._names.row(row)

    async def page(
        self, where: Filter | None, *, size: int, token: str | None = None, select: Sequence[str] | None = None
    ) -> Page[Entity]:
        """Read one page of a query. Cost: 1 transaction."""
        names = self._names
        page = await super().page(names.filter(where), size=size, token=token, select=names.names(select))
        return Page(tuple(map(names.row, page.items)), page.token)

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Carry out all operations in one entity group transaction, or none of them; return what is stored now."""
        return await super().submit(*map(self._names.operation, operations))

    async def _rows(self, operations: Sequence[Operation]) -> list[Entity | None]:
        # Compared with what was sent, which has the names of properties
        return [await super(NamedTable, self).get(*operation.key) for operation in operations]
